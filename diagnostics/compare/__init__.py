"""What differs between two stretches of time or two deployments, and whether a change helped."""
