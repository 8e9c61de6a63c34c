"""From a policy to features, what its neighbours can change of them, and mechanisms.

Touches ``policy``, ``universe``, ``metrics``.
"""
