"""Engine logs: prefixes, then one file an engine."""
