"""Queries files over universes too large to count every record type: whole tables of counts, read and written."""
