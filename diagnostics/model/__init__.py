"""The vocabulary: samples, signals, findings, report. Imports nothing else of this package."""
