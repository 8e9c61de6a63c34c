"""Distances between record types, and the proof that they are metrics."""
