"""From native series to canonical signals, and to the regimes of each replica."""
