"""Error bars of several answers together: all at once, and of what is computed from two of them.

Touches ``mechanisms/linear``.
"""
