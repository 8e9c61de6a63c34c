"""Tasks in a queries file: what else than queries may be asked of a table, a file per kind.

Touches the readers of queries, and what ``policy`` reads texts with.
"""
