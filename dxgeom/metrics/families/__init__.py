"""The metrics that stand on their own: one file per family.

Touches ``numeric`` and :mod:`dxgeom.metrics.metric`; never another family's pairs.
"""
