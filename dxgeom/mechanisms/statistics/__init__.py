"""Sums of polynomials of bounded numbers, with noise shaped by what one record can change.

Touches ``contract``, ``noise``, ``geometry``.
"""
