"""Slow, obvious twins of fast paths, written from the definitions."""
