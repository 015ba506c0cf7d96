"""Helpers of the tests: facts in a compact notation, and the carriers that bring them."""
