"""Exact numbers, directed rounding, randomness, and adapters to numerical libraries that many rooms use.

Knows no metric, no body and no policy; touches only ``errors`` and the libraries it adapts.
"""
