"""What Python hands over where a file would name a data file: graphs, data frames and geometries, as such files.

Touches ``policy/syntax`` and ``policy/source``; knows packages by what their objects can do and imports none.
"""
