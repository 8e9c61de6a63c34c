"""The shapes of noise a plan may choose from, and the bounds that no shape can beat.

Touches ``linear`` and everything below it.
"""
