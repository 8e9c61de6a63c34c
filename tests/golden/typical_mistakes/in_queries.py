"""Mistakes in queries files."""

from __future__ import annotations

import dxgeom as dx
from golden.typical_mistakes.mistake import POLICY, POSTCODES, QUERIES, Mistake, queries

IN_QUERIES = {
    "a policy for queries": Mistake(
        lambda: queries(POLICY),
        "is not known here",
        "this is a policy",
        "queries.yaml:1:1",
        "the queries are another file",
    ),
    "a table for queries": Mistake(
        lambda: dx.load_queries("data.csv", dx.load_policy("policy.yaml")),
        "a queries file is a mapping",
        "a table of data",
        "data.csv:1:1",
        "the order is policy, data, queries",
    ),
    "the text of queries for their path": Mistake(
        lambda: dx.load_queries(QUERIES, dx.load_policy("policy.yaml")),
        "a file's name has one line",
        "a text of several",
        "the queries",
        "dx.parse_queries",
    ),
    "typographic quotes in a condition": Mistake(
        lambda: queries("queries:\n  - count: sex == ‘F’\n"),
        "has no meaning here",
        "'‘'",
        "queries.yaml:2:19",
        "type plain ones",
    ),
    "a single equals sign": Mistake(
        lambda: queries("queries:\n  - count: sex = 'F'\n"),
        "has no meaning here",
        "'='",
        "queries.yaml:2:16",
        "compare with ==",
    ),
    "a word without quotes": Mistake(
        lambda: queries("queries:\n  - count: sex == F\n"),
        "a column is compared with a value",
        "found two columns",
        "queries.yaml:2:19",
        "put text in quotes",
    ),
    "an unknown column": Mistake(
        lambda: queries("queries:\n  - count: gender == 'F'\n"),
        "there is no column",
        "'gender'",
        "queries.yaml:2:12",
        "known here: 'sex', 'age'",
    ),
    "an unknown value": Mistake(
        lambda: queries("queries:\n  - count: sex == 'female'\n"),
        "has no value",
        "'female'",
        "queries.yaml:2:19",
        "known here: 'F', 'M'",
    ),
    "a number compared with words": Mistake(
        lambda: queries("queries:\n  - count: postcode == 1\n", POSTCODES),
        "'postcode' holds words",
        "found a number",
        "queries.yaml:2:24",
        "put the value in quotes",
    ),
    "the sum of words": Mistake(
        lambda: queries("queries:\n  - sum: sex\n"),
        "holds words",
        "'sex'",
        "queries.yaml:2:10",
        "count the records with each",
    ),
    "the median of words": Mistake(
        lambda: queries("queries:\n  - median: sex\n"),
        "which have no order",
        "'sex' holds words",
        "queries.yaml:2:13",
        "quantiles are of numbers or dates",
    ),
    "a median misspelt": Mistake(
        lambda: queries("queries:\n  - medain: age\n"),
        "a query asks for one of",
        "found none of them",
        "queries.yaml:2:5",
        "did you mean 'median'",
    ),
    "two queries of one name": Mistake(
        lambda: queries("queries:\n  - {name: n, count: sex == 'F'}\n  - {name: n, count: sex == 'M'}\n"),
        "there are two queries",
        "called 'n'",
        "queries.yaml:3:5",
        "give one a 'name'",
    ),
    "counts and medians in one file": Mistake(
        lambda: queries("queries:\n  - median: age\n  - count: sex == 'F'\n"),
        "a file asks for the ones or the others",
        "quantiles",
        "queries.yaml:2:5",
        "into a file of their own",
    ),
    "a condition across the colon": Mistake(
        lambda: queries("queries:\n  - count sex == 'F'\n"),
        "a query is a mapping such as",
        "found 'count sex",
        "queries.yaml:2:5",
        "write a colon and a space",
    ),
}
