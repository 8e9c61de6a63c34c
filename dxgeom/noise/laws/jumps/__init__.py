"""Normal noise that now and then jumps far along a shift that it has to hide, so that it bounds odds.

Touches ``noise/laws``.
"""
