"""Opening a table: whatever the user holds becomes one relation with known columns and types.

Touches DuckDB, Ibis, Arrow and ``engines/failures.py``; knows no universe.
"""
