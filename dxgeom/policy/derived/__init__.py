"""Derived columns: what a policy may say an attribute is made from, per row, a file per kind.

Touches ``source`` and ``universe``; knows neither kinds of attributes nor rules.
"""
