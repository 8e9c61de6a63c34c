"""People with any number of rows: how they count, and how each person's weight is spread over possible records.

Knows no distances: where the order of records matters, it is handed in.
"""
