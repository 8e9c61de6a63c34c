"""Mistakes of four newcomers: a data officer, a statistician, a data scientist and a data engineer, a line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd

import dxgeom as dx
from golden.typical_mistakes.mistake import DATA, POLICY, Mistake, command, file, policy, queries, release

Row: TypeAlias = tuple[Callable[[], Any], str, str, str, str]
"""What is done, and the parts of its answer: the rule, what was found, where, and what to do."""
VISITS: Final = POLICY.replace("rules:", "    day: {dates: [2024-01-01, 2024-12-30], step: 7}\nrules:").replace(
    "[sex, age]", "[sex, age, day]"
)
SEX, AGE, RULE, EPSILON = "[F, M]", "{range: [0, 100], step: 5}", "change: [sex, age]", "epsilon: 0.5"


def edited(old: str, new: str) -> Callable[[], Any]:
    return lambda: policy(old, new)


def asked(query: str) -> Callable[[], Any]:
    return lambda: queries(f"queries:\n{query}\n", VISITS)


def released(content: str | bytes, name: str = "t.csv") -> Callable[[], Any]:
    return lambda: release(file(name, content))


def said(*words: str) -> Callable[[], Any]:
    return lambda: command(*words)


IN_THEIR_POLICIES: Final[dict[str, Row]] = {
    "rules below universe": (edited("rules:", "  rules:"), "not known here", "'rules'", ":6:3", "begin it at the left"),
    "attributes at the top": (
        edited("  attributes:", "attributes:"),
        "not known here",
        "'attributes'",
        ":3:1",
        "indent it by two spaces",
    ),
    "a dash without a space": (
        edited("- change", "-change"),
        "not well-formed YAML",
        "expected",
        ":8:5",
        "with a dash and a space",
    ),
    "a key one space to the left": (
        edited("    epsilon", "   epsilon"),
        "not well-formed YAML",
        "expected",
        ":8:4",
        "below each other",
    ),
    "an equals sign for a colon": (
        edited(EPSILON, "epsilon = 0.5"),
        "not well-formed YAML",
        "':'",
        ":8:5",
        "as in 'epsilon: 0.5'",
    ),
    "a quote that is not closed": (
        edited(SEX, "[F, 'M]"),
        "not well-formed YAML",
        "this quote is not closed",
        ":4:14",
        "close it",
    ),
    "a name with a colon": (
        edited("clinic", "clinic: 2024"),
        "not well-formed YAML",
        "mapping values",
        ":1:15",
        "in quotes",
    ),
    "a star for all attributes": (
        edited(RULE, "change: *"),
        "not well-formed YAML",
        "found '\\n'",
        ":7:14",
        "put a word that begins with *",
    ),
    "a delta": (
        edited(EPSILON, f"{EPSILON}\n    delta: 1e-6"),
        "not known here",
        "'delta'",
        ":9:5",
        "privacy: concentrated",
    ),
    "a sensitivity": (
        edited(EPSILON, f"{EPSILON}\n    sensitivity: 1"),
        "not known here",
        "'sensitivity'",
        ":9:5",
        "leave it out",
    ),
    "an epsilon for all": (edited("budget: 2", "epsilon: 2"), "not known here", "'epsilon'", ":9:1", "below a rule"),
    "attributes of a rule between commas": (
        edited(RULE, "change: sex, age"),
        "there is no attribute",
        "'sex, age'",
        ":7:13",
        "write [sex, age]",
    ),
    "an attribute for a change": (
        edited(RULE, "attribute: [sex, age]"),
        "not known here",
        "'attribute'",
        ":7:5",
        "write 'change: [one, other]'",
    ),
    "rules without dashes": (
        edited("  - change: [sex, age]\n    epsilon: 0.5", "  sex: 0.5"),
        "expected a list",
        "a mapping",
        ":7:3",
        "'- change: age'",
    ),
    "columns for attributes": (
        edited("attributes:", "columns:"),
        "not known here",
        "'columns'",
        ":3:3",
        "write 'attributes:'",
    ),
    "least and most": (
        edited(AGE, "{min: 0, max: 100}"),
        "none of its keys says",
        "'age'",
        ":5:11",
        "write {range: [0, 100], step: 5}",
    ),
    "a step among the ends": (
        edited(AGE, "{range: [0, 100, 5], step: 5}"),
        "2 entries are expected",
        "found 3",
        ":5:18",
        "write {range",
    ),
    "a number of bins": (
        edited(AGE, "{bins: 10}"),
        "expected a list",
        "'10'",
        ":5:17",
        "write {bins: [0, 18, 65, 120]}",
    ),
    "days as a range": (
        edited(AGE, "{range: [2024-01-01, 5], step: 7}"),
        "not a decimal",
        "'2024-01-01'",
        ":5:19",
        "days are written {dates",
    ),
    "bins and a range": (
        edited(AGE, "{bins: [0, 18], range: [0, 18], step: 1}"),
        "not known",
        "'bins'",
        ":5:11",
        "keep the one key",
    ),
    "values between commas": (edited(SEX, "F, M"), "attribute 'sex'", "found 'F, M'", ":4:10", "write [F, M]"),
    "values in braces": (edited(SEX, "{F, M}"), "none of its keys", "'sex'", ":4:11", "square brackets: write [F, M]"),
    "a type": (edited(SEX, "{type: words, values: [F, M]}"), "not known here", "'type'", ":4:11", "leave it out"),
    "a length without a number": (
        edited(EPSILON, f"{EPSILON}\n    per: step"),
        "a number and a unit",
        "'step'",
        ":9:10",
        "as in '10 km'",
    ),
    "another word for a separator": (
        edited("budget: 2", "reading: {sep: ';'}"),
        "not known here",
        "'sep'",
        ":9:11",
        'write separator: ";"',
    ),
    "another word for a kind of privacy": (
        edited("budget: 2", "privacy: zcdp"),
        "'pure' or 'concentrated'",
        "found 'zcdp'",
        ":9:10",
        "write that",
    ),
}

IN_THEIR_QUERIES: Final[dict[str, Row]] = {
    "a count of a star": (asked("  - count: '*'"), "no meaning here", "'*'", ":2:13", "write 'count: true'"),
    "a count of a column": (asked("  - count: sex"), "expected a comparison", "the end", ":2:15", "'marginal: column'"),
    "a count with where": (
        asked("  - count: true\n    where: age > 50"),
        "goes with sum",
        "not with count",
        ":3:5",
        "as in 'count: age >= 65'",
    ),
    "a list in parentheses": (
        asked("  - count: sex in ('F', 'M')"),
        "expected '['",
        "found '('",
        ":2:19",
        "in square brackets",
    ),
    "a list in braces": (asked("  - count: sex in {'F'}"), "no meaning here", "'{'", ":2:19", "in square brackets"),
    "a parenthesis that is not closed": (
        asked("  - count: (sex == 'F'"),
        "expected ')'",
        "the end",
        ":2:23",
        "close the",
    ),
    "a comma in a condition": (asked("  - count: age > 2,5"), "expected 'and'", "found ','", ":2:19", "has a point"),
    "a year for a day": (asked("  - count: day >= 2024"), "holds dates", "a number", ":2:19", "ask for year(day)"),
    "a day without quotes": (
        asked("  - count: day >= 2024-03-04"),
        "expected 'and'",
        "'-03'",
        ":2:23",
        "put a day in quotes",
    ),
    "a number beside all values": (
        asked("  - count: age > 300"),
        "no possible record",
        "satisfies",
        ":2:12",
        "compare with values that",
    ),
    "a number compared with a word": (
        asked("  - count: age > 'old'"),
        "holds numbers",
        "a text",
        ":2:18",
        "compare it with a number",
    ),
    "the sum of days": (asked("  - sum: day"), "only numbers", "'day' holds dates", ":2:10", "'median: column'"),
    "the sum of a product": (
        asked("  - sum: age * age"),
        "no column",
        "'age * age'",
        ":2:10",
        "an attribute of the policy",
    ),
    "two columns of one median": (
        asked("  - median: [age, day]"),
        "a single word",
        "'median'",
        ":2:13",
        "one query for each",
    ),
    "queries without dashes": (asked("  n: count"), "is a list", "'queries'", ":1:1", "with a dash and a space"),
    "a name as in SQL": (asked("  - count: sex == 'F'\n    as: n"), "not known here", "'as'", ":3:5", "write 'name:"),
}

IN_THEIR_TABLES: Final[dict[str, Row]] = {
    "a column that is missing": (
        released("sex\nF\n"),
        "has no column named 'age'",
        "found are 'sex'",
        "'t.csv'",
        "from: that",
    ),
    "a row that is too short": (
        released(f"{DATA}F\n"),
        "has 2 columns",
        "this row has 1",
        "line 4",
        "correct it, or take the line out",
    ),
    "a table that is not compressed": (
        released(DATA, "t.csv.gz"),
        "is not compressed",
        "not compressed",
        "'t.csv.gz'",
        "take .gz off",
    ),
    "a table that is no Parquet": (
        released(DATA, "t.parquet"),
        "is no Parquet file",
        "no Parquet",
        "'t.parquet'",
        "such as .csv",
    ),
    "the text of a table for its path": (
        lambda: release(DATA),
        "has one line",
        "a text of several",
        "a file's name",
        "pandas.read_csv(io.StringIO(text))",
    ),
    "a path from home": (
        lambda: release("~/data.csv"),
        "does not exist",
        "no folder FOLDER/~",
        "'~/data.csv'",
        "write the whole path",
    ),
    "one column of a frame": (
        lambda: release(pd.Series(["F"], name="sex")),
        "a table is",
        "found Series",
        "a table",
        "to_frame()",
    ),
    "an array of words": (
        lambda: release(np.array([["F", "10"]])),
        "one row of 42 counts",
        "holds words",
        "this array",
        "make a data frame",
    ),
}

IN_THEIR_CALLS: Final[dict[str, Row]] = {
    "a number of records in words": (
        said("plan", "policy.yaml", "queries.yaml", "--records", "many"),
        "Invalid",
        "--records",
        "'--records'",
        "such as 1000",
    ),
    "a delta on the command line": (
        said("plan", "policy.yaml", "queries.yaml", "--delta", "1"),
        "No such option",
        "--delta",
        "dxgeom plan",
        "leave it out",
    ),
    "a table by an option": (
        said("release", "policy.yaml", "--table", "data.csv"),
        "No such option",
        "--table",
        "dxgeom release",
        "POLICY TABLE",
    ),
    "a table to check without its option": (
        said("check", "policy.yaml", "data.csv"),
        "unexpected",
        "(data.csv)",
        "dxgeom check",
        "named by --table",
    ),
    "a plan by an option": (
        said("release", "--plan", "p.json"),
        "No such option",
        "--plan",
        "dxgeom release",
        "in the place of the policy",
    ),
    "a command of other tools": (
        said("validate", "policy.yaml"),
        "No such command",
        "'validate'",
        "dxgeom",
        "dxgeom check",
    ),
    "a version as a command": (said("version"), "No such command", "'version'", "dxgeom", "dxgeom --version"),
    "a plan as a workbook": (
        said("plan", "policy.yaml", "queries.yaml", "--output", "p.xlsx"),
        "no workbook",
        "p.xlsx",
        "'p.xlsx'",
        "another ending",
    ),
    "a policy's path for a policy": (
        lambda: dx.load_queries("queries.yaml", "policy.yaml"),  # type: ignore[arg-type]
        "is of type Policy",
        "one of type str",
        "'policy'",
        "dx.load_policy",
    ),
}

OF_NEWCOMERS: Final = {
    name: Mistake(*row)
    for rows in (IN_THEIR_POLICIES, IN_THEIR_QUERIES, IN_THEIR_TABLES, IN_THEIR_CALLS)
    for name, row in rows.items()
}
