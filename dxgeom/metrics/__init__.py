"""Distances between record types, and the proof that they are metrics. ``metric`` is what every family offers."""
