"""Metrics made of metrics: sums, maxima, ceilings, groups, absence, another order of attributes.

Touches ``families``.
"""
