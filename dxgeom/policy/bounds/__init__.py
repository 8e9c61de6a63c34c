"""Bounds: what a rule states about pairs of values, or of records; one file per kind, each saying all about itself.

Touches ``axes`` and ``metrics``.
"""
