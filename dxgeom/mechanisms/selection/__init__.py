"""Picking one of finitely many candidates, and small databases picked among all of their size.

Touches ``linear``, ``contract`` and ``noise``.
"""
