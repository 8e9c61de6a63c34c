"""Words in, words out: one file per command.

Touches every room; no other room touches it.
"""
