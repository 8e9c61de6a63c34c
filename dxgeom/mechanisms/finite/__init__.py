"""Mechanisms with finitely many secrets and answers, as exact tables of probabilities.

Touches ``contract``, ``metrics`` and ``numeric``.
"""
