"""Bounds: what a rule states about pairs of values, or of records; each kind says all about itself.

Touches ``axes`` and ``metrics``.
"""
