"""Histograms from data engines: a table in, one exact count per possible record out.

The only room that knows DuckDB, Ibis and Arrow. Numbers are binned and equal rows are put together in the engine's own
SQL; only distinct groups come back, and are encoded here.

Rows of people, who may have many (``people.py``). What is stated of them is anything with the fields of
``CountedPeople``: ``column``, ``count`` ("once", "rows", "single"), ``at_most``, ``order``, and what these come to.

- *rows* in an order, *single*: ``histogram_of_table(table, universe, people=people)`` counts the first rows of each
  person by the order column, or the only ones. Rows outside, missing cells and the rest come after the choice.
- *once*, and *rows* without an order: ``whole_people`` hands over everybody, once each, in batches of whole people on
  every engine. What is made of them is not this room's business.

Refused: rows that name nobody, rows without a place in the order, two of a person at one place, a second row of a
person who has one; columns that are neither text nor whole numbers as persons. No message says how many rows there are.
"""
