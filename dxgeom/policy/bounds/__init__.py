"""What a rule states about pairs of values, in exact numbers of the attribute's own measure.

Touches ``axes``.
"""
