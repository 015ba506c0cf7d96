"""Runs the rules: needs, confidence, cause graph, ranking."""
