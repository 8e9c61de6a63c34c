"""Noise added to linear queries: the lattice, the sensitivity (where metric meets workload), the check that noise hides it.

Touches ``contract``, ``noise``, ``geometry``, ``metrics``, ``universe``.
"""
