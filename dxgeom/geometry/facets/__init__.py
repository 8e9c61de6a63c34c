"""The ridges and cones of polytopes in exact integers, and hulls grown corner by corner.

Touches only ``numeric``.
"""
