"""Benchmark results, one file a tool."""
