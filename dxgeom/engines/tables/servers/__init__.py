"""Tables on servers: PostgreSQL and Spark. They group rows there; what comes flows through DuckDB here.

Touches psycopg and pyspark, which are loaded when a table of theirs is opened.
"""
