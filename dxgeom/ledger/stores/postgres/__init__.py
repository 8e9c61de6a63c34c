"""A ledger in a schema of a PostgreSQL database, for many machines; needs psycopg, which is asked for when it is used.

Touches ``ledger/stores`` and the definition of the rows.
"""
