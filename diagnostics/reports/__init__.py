"""One file a format; all made from the report object."""
