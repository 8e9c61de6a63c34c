"""Queries files over universes too large to count every possible record: whole tables of counts, read and written."""
