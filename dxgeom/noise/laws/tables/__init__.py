"""Noise in the cells of a table, of which only a part is kept."""
