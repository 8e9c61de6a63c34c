"""Continuous laws rounded to a lattice: density falling with the gauge of a body, one file per law.

Touches ``geometry`` and ``numeric``; knows no metric.
"""
