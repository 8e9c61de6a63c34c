"""Histograms learnt from private answers by multiplicative weights, with bounds on how far off they can be.

Touches ``selection``, ``linear`` and everything below them.
"""
