"""Exact numbers, directed rounding, randomness, and adapters to numerical libraries."""
