"""Shortest paths between values and records, rule by rule; the distances that they have. Touches ``policy/resolve``."""
