"""Noise of products of bodies, made of the noise of each.

Touches ``laws``.
"""
