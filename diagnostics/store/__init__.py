"""The DuckDB store: native series and samples, settings, events."""
