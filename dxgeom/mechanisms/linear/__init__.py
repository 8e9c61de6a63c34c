"""Noise added to linear queries: the lattice, the sensitivity (where metric meets workload), and the containment check.

Touches ``contract``, ``noise``, ``geometry``, ``metrics``, ``universe``.
"""
