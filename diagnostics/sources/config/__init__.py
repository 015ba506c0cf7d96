"""Configuration as evidence: launch commands, manifests, engine answers."""
