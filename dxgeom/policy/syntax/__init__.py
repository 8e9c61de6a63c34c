"""The grammar as data models, which keys go together, and the way back to text.

Touches ``source``.
"""
