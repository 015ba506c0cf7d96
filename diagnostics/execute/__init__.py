"""Answers (signal, statistic, window) for all replicas at once."""
