"""Carriers: each module turns one kind of input into a capture."""
