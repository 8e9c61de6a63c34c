"""Axes: how far the values of an attribute are from each other, along a line, on a map, or along a graph.

Touches ``universe``'s words, ``metrics`` and ``numeric``; knows neither rules nor attributes.
"""
