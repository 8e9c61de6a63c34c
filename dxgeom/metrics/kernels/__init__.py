"""Compiled and vectorised loops of the room ``metrics``: arrays in, arrays out, directed rounding where it matters.

Touches only ``numeric``.
"""
