"""Histograms from data engines: a table in, one exact count per record type out."""
