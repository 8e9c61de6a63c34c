"""Bodies built around points or around a set known by its support function.

Touches ``bodies`` and ``facets``.
"""
