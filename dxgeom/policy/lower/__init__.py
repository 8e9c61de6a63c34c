"""From exact bounds to the metric in its most structured form.

Touches ``resolve``, ``bounds`` and ``metrics``.
"""
