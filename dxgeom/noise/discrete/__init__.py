"""Laws on integers and on finite choices, drawn from random bits without floating point.

Touches ``geometry``, ``numeric`` and the lazy bits of ``laws``.
"""
