"""Mechanisms on a line, on the plane, and on spaces of whole datasets.

Touches ``finite``, ``contract``, ``noise`` and everything below them.
"""
