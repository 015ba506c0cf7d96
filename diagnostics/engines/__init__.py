"""Facts about serving engines, one file each: metric names, log fields, flags, versions."""
