"""Noise for counts in very many boxes: measured along trees of each attribute's values, or along its line.

Touches ``mechanisms/linear`` and its ``marginals``.
"""
