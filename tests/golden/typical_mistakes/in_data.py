"""Mistakes in tables, and in handing them over."""

from __future__ import annotations

import numpy as np
import pandas as pd

from golden.typical_mistakes.mistake import DATA, POLICY, POSTCODES, Mistake, file, plan, release


def frame(**columns: object) -> pd.DataFrame:
    return pd.DataFrame(columns)


TWO_LEVELS = pd.DataFrame([["F", 10]], columns=pd.MultiIndex.from_tuples([("a", "sex"), ("a", "age")]))

IN_DATA = {
    "postcodes read as numbers": Mistake(
        lambda: plan(POSTCODES, "queries:\n  - count: postcode == '01'\n").release(
            frame(postcode=[1, 2, 11]), ledger=":memory:", spend=1
        ),
        "outside the policy's universe",
        "postcode is '1', which is '01'",
        "data row 1",
        "dtype=str",
    ),
    "a table that is not there": Mistake(
        lambda: release("date.csv"), "does not exist", "'date.csv'", "in the folder FOLDER", "did you mean 'data.csv'"
    ),
    "cells between semicolons": Mistake(
        lambda: release(file("excel.csv", DATA.replace(",", ";"))),
        "separates its cells by commas",
        "by semicolons",
        "'excel.csv'",
        'reading: {separator: ";"}',
    ),
    "cells between tabs in a .csv file": Mistake(
        lambda: release(file("tabs.csv", DATA.replace(",", "\t"))),
        "separates its cells by commas",
        "by tabs",
        "'tabs.csv'",
        "reading: {separator: tab}",
    ),
    "numbers with commas": Mistake(
        lambda: release(file("comma.csv", 'sex,age\nF,"10,5"\n')),
        "a decimal has a point",
        "age is '10,5'",
        "data row 1 (line 2)",
        "is 10.5",
    ),
    "a table in UTF-16": Mistake(
        lambda: release(file("word.csv", DATA.encode("utf-16"))),
        "is not text in UTF-8",
        "it looks like UTF-16",
        "'word.csv'",
        "iconv -f UTF-16 -t UTF-8",
    ),
    "a table in Latin-1": Mistake(
        lambda: release(file("old.csv", (DATA + "Mé,20\n").encode("latin-1"))),
        "is not text in UTF-8",
        "it looks like Latin-1",
        "'old.csv'",
        "iconv -f WINDOWS-1252 -t UTF-8",
    ),
    "a workbook": Mistake(
        lambda: release(file("book.xlsx", b"PK\x03\x04")),
        "by python_calamine, which is not installed",
        "is a workbook",
        "'book.xlsx'",
        "pip install 'dxgeom[excel]'",
    ),
    "a policy for a table": Mistake(
        lambda: release("policy.yaml"),
        "is no table",
        "a file of policies or queries",
        "'policy.yaml'",
        "the order is policy, data, queries",
    ),
    "an empty file": Mistake(
        lambda: release(file("empty.csv", "")), "begin with a header", "is empty", "'empty.csv'", "names the columns"
    ),
    "a header without rows": Mistake(
        lambda: release(file("bare.csv", "sex,age\n")),
        "nothing to count",
        "has no rows",
        "'bare.csv'",
        "write a row for each record",
    ),
    "a value that the policy does not list": Mistake(
        lambda: release(frame(sex=["F", "X"], age=[10, 20])),
        "accepted are 'F', 'M'",
        "sex is 'X'",
        "data row 2",
        "Correct them",
    ),
    "a number beyond the range": Mistake(
        lambda: release(frame(sex=["F"], age=[130])),
        "accepted are numbers from 0 to 100",
        "age is '130'",
        "data row 1",
        "--drop-outside",
    ),
    "an empty cell": Mistake(
        lambda: release(file("gap.csv", "sex,age\nF,10\n,20\n")),
        "outside the policy's universe",
        "sex is missing",
        "data row 2 (line 3)",
        "the policy says how that counts",
    ),
    "a column of another name": Mistake(
        lambda: release(frame(Sex=["F"], age=[10])),
        "has no column named 'sex'",
        "the columns found are 'Sex', 'age'",
        "the table",
        "did you mean 'Sex'",
    ),
    "a column twice": Mistake(
        lambda: release(file("twice.csv", "sex,sex,age\nF,F,10\n")),
        "column names are distinct",
        "two columns named 'sex'",
        "'twice.csv'",
        "rename one of them",
    ),
    "a row that is too long": Mistake(
        lambda: release(file("long.csv", "sex,age\nF,10\nM,20,30\n")),
        "the header has 2 columns",
        "this row has 3",
        "line 3",
        "in double quotes",
    ),
    "a list of dictionaries": Mistake(
        lambda: release([{"sex": "F", "age": 10}]),
        "data are the path of a table",
        "found a list of dictionaries",
        "data",
        "pandas.DataFrame(rows)",
    ),
    "a dictionary of one person": Mistake(
        lambda: release({"sex": "F", "age": 10}),
        "data are the path of a table",
        "found a dictionary that is none",
        "data",
        "give a list of cells for each column's name",
    ),
    "a list of rows": Mistake(
        lambda: release([["F", 10], ["M", 20]]),
        "data are the path of a table",
        "found a list of rows",
        "data",
        "pandas.DataFrame(rows, columns=[…])",
    ),
    "columns of two levels": Mistake(
        lambda: release(TWO_LEVELS), "a column has one name", "2 levels", "this DataFrame", "name them anew"
    ),
    "columns in the index": Mistake(
        lambda: release(frame(sex=["F"], age=[10]).set_index("sex")),
        "has no column named 'sex'",
        "there is 'sex' in the index",
        "the table",
        "table.reset_index()",
    ),
    "complex numbers": Mistake(
        lambda: release(frame(sex=["F"], age=[1 + 2j])),
        "a cell is a word, a number or a date",
        "holds complex numbers",
        "column 'age'",
        "to_numpy().real",
    ),
    "a column of mixed types": Mistake(
        lambda: release(frame(sex=["F", 3], age=[10, 20])),
        "every cell of a column has the same type",
        "mixes types",
        "column 'sex'",
        "convert it first",
    ),
    "too few counts": Mistake(
        lambda: release(np.array([1, 2, 3])),
        "one row of 42 counts",
        "shape (3,)",
        "this array",
        "give a count for each possible record",
    ),
    "counts with halves": Mistake(
        lambda: release(np.full(42, 0.5)), "holds whole numbers", "holds float64", "this array", "convert it to int64"
    ),
    "a mean for another number of records": Mistake(
        lambda: plan(POLICY, "records: 7\nqueries:\n  - mean: age\n").release(
            frame(sex=["F"] * 100, age=[10] * 100), ledger=":memory:", spend=1
        ),
        "divides by that public number",
        "the table has 100",
        "'records' in the queries",
        "to 100",
    ),
}
