"""What is computed from a verified metric: differences along generating pairs, Lipschitz constants, extents, parts.

Touches ``checking`` and everything below it, and tables of weights; knows no noise.
"""
