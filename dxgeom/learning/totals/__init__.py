"""Sufficient statistics with noise, and what is made of them without looking at data again.

Touches ``mechanisms``, ``noise``.
"""
