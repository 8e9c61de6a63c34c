"""Counts in whole tables, read in one pass without a count of every record type."""
