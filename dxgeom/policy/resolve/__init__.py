"""The policy in its universe: attributes with their values, every rule checked against them.

Touches ``syntax``, ``source``, ``bounds`` and ``axes``.
"""
