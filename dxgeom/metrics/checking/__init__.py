"""Is it a metric? The checks of matrices, edge lists and metrics by construction, the repair, and the certificate.

Touches ``families`` and ``combinations``. Only here is a ``VerifiedMetric`` made.
"""
