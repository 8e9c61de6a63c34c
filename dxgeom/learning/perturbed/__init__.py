"""Objective perturbation: losses, features, noise on gradients, and the exact minimiser.

Touches ``mechanisms``, ``noise``.
"""
