"""Does one body hold another? Every verdict is a proof, or it is refused.

Touches ``bodies``.
"""
