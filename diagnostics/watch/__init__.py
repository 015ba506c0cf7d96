"""Diagnose again and again: findings become incidents that open, go on and are resolved."""
