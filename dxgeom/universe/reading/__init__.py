"""How the rows of a table say which records they are: where each attribute's cells stand, and what they mean.

Touches attributes; carried by universes, carried out by engines.
"""
