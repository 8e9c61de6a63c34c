"""The bodies themselves: one file per kind, each with its gauge, support function and moments.

Touches ``facets``.
"""
