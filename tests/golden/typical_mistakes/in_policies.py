"""Mistakes in policy files, and in naming them."""

from __future__ import annotations

from pathlib import Path

import dxgeom as dx
from golden.typical_mistakes.mistake import POLICY, QUERIES, Mistake, file, policy

SEX, EPSILON, STEP = "[F, M]", "epsilon: 0.5", "step: 5"
RANGE = "{range: [0, 100], step: 5}"

IN_POLICIES = {
    "a decimal comma inside braces": Mistake(
        lambda: policy(RANGE, "{range: [0, 100], step: 2,5}"),
        "a comma begins another key",
        "'2,5'",
        "policy.yaml:5:34",
        "a decimal has a point: '2,5' is 2.5",
    ),
    "a value glued to its colon": Mistake(
        lambda: policy(EPSILON, "epsilon:0.5"),
        "stands a space",
        "'epsilon:0.5'",
        "policy.yaml:8:5",
        "write epsilon: 0.5",
    ),
    "a no-break space behind a colon": Mistake(
        lambda: policy(EPSILON, "epsilon:\u00a00.5"),
        "stands a space",
        "a no-break space",
        "policy.yaml:8:5",
        "write epsilon: 0.5",
    ),
    "a no-break space before a value": Mistake(
        lambda: policy(SEX, "[F,\u00a0M]"), "is none", "a no-break space", "policy.yaml:4:13", "type a plain space"
    ),
    "no-break spaces as indentation": Mistake(
        lambda: policy(f"    {EPSILON}", f"\u00a0\u00a0\u00a0\u00a0{EPSILON}"),
        "is none",
        "a no-break space",
        "policy.yaml:8:1",
        "type a plain space",
    ),
    "typographic quotes around values": Mistake(
        lambda: policy(SEX, "[“F”, “M”]"), "are letters like others", "'“F”'", "policy.yaml:4:11", "write 'F'"
    ),
    "typographic quotes around a name": Mistake(
        lambda: policy("[sex, age]", "[‘sex’, age]"),
        "are letters like others",
        "'‘sex’'",
        "policy.yaml:7:14",
        "write 'sex'",
    ),
    "null among values": Mistake(
        lambda: policy(SEX, "[F, M, null]"), "an empty cell is not", "lists the word 'null'", "'sex'", "says 'missing'"
    ),
    "one value only": Mistake(
        lambda: policy(SEX, "[F]"), "which every record has", "one value only", "'sex'", "list the others, or leave"
    ),
    "a step that does not divide its range": Mistake(
        lambda: policy(STEP, "step: 7"),
        "does not divide its range",
        "0 to 100",
        "'age'",
        "take a step that divides 100",
    ),
    "an epsilon of 1000": Mistake(
        lambda: policy(EPSILON, "epsilon: 1000"),
        "is mostly from 0.01 to 3",
        "hides nothing",
        "line 7",
        "write a smaller one",
    ),
    "an epsilon in per cent": Mistake(
        lambda: policy(EPSILON, "epsilon: 50 %"), "written as a decimal", "'50 %'", "policy.yaml:8:14", "is 0.5"
    ),
    "an epsilon with a comma": Mistake(
        lambda: policy(EPSILON, "epsilon: 0,5"), "a decimal has a point", "'0,5'", "policy.yaml:8:14", "is 0.5"
    ),
    "an epsilon as a fraction": Mistake(
        lambda: policy(EPSILON, "epsilon: 1/2"), "written as a decimal", "'1/2'", "policy.yaml:8:14", "is 0.5"
    ),
    "an epsilon in words": Mistake(
        lambda: policy(EPSILON, "epsilon: half"),
        "an epsilon is a number above 0",
        "found 'half'",
        "policy.yaml:8:14",
        "such as 0.5",
    ),
    "an epsilon of 0": Mistake(
        lambda: policy(EPSILON, "epsilon: 0"), "must be above 0", "found '0'", "policy.yaml:8:14", "such as 0.5"
    ),
    "a negative epsilon": Mistake(
        lambda: policy(EPSILON, "epsilon: -1"), "must be above 0", "found '-1'", "policy.yaml:8:14", "such as 0.5"
    ),
    "a key misspelt": Mistake(
        lambda: policy(EPSILON, "epsilom: 0.5"), "is not known here", "'epsilom'", "policy.yaml:8:5", "did you mean"
    ),
    "a key twice": Mistake(
        lambda: policy(EPSILON, "epsilon: 0.5\n    epsilon: 1"),
        "is here twice",
        "'epsilon'",
        "policy.yaml:9:5",
        "keep one",
    ),
    "tabs as indentation": Mistake(
        lambda: policy(f"    {EPSILON}", f"\t{EPSILON}"),
        "not well-formed YAML",
        "cannot start any token",
        "policy.yaml:8:1",
        "indent with spaces",
    ),
    "a bracket that is not closed": Mistake(
        lambda: policy(SEX, "[F, M"),
        "not well-formed YAML",
        "expected",
        "policy.yaml:5:8",
        "look for a missing bracket",
    ),
    "a rule about an unknown attribute": Mistake(
        lambda: policy("[sex, age]", "[sexe, age]"),
        "there is no attribute",
        "'sexe'",
        "policy.yaml:7:14",
        "did you mean 'sex'",
    ),
    "an attribute without a rule": Mistake(
        lambda: policy("[sex, age]", "[sex]"), "no rule", "'age'", "policy.yaml:5:5", "add a rule"
    ),
    "a value twice": Mistake(
        lambda: policy(SEX, "[F, M, F]"), "twice", "the value 'F'", "policy.yaml:4:17", "remove one"
    ),
    "a range that runs downwards": Mistake(
        lambda: policy("[0, 100]", "[100, 0]"), "a range runs upwards", "100 to 0", "policy.yaml:5:18", "write [0, 100]"
    ),
    "kilometres on numbers": Mistake(
        lambda: policy(EPSILON, "epsilon: 0.5\n    per: 10 km"),
        "'age' holds plain numbers",
        "found '10 km'",
        "policy.yaml:9:5",
        "write a bare number",
    ),
    "no rules": Mistake(
        lambda: policy("rules:\n  - change: [sex, age]\n    epsilon: 0.5\n", ""),
        "is missing",
        "the key 'rules'",
        "policy.yaml:1:1",
        "write 'rules:'",
    ),
    "a file that is not there": Mistake(
        lambda: dx.load_policy("polcy.yaml"),
        "the file cannot be opened",
        "there is no 'polcy.yaml'",
        "in the folder FOLDER",
        "did you mean 'policy.yaml'",
    ),
    "a folder for a file": Mistake(
        lambda: dx.load_policy("."), "not a regular file", "it is a folder", ".:1:1", "name the file in it"
    ),
    "a policy in UTF-16": Mistake(
        lambda: dx.load_policy(file("word.yaml", POLICY.encode("utf-16"))),
        "is not UTF-8 text",
        "it looks like UTF-16",
        "in line 1",
        "iconv -f UTF-16 -t UTF-8",
    ),
    "a policy in Latin-1": Mistake(
        lambda: dx.load_policy(file("old.yaml", POLICY.replace("clinic", "Köln").encode("latin-1"))),
        "is not UTF-8 text",
        "it looks like Latin-1",
        "in line 1",
        "iconv -f WINDOWS-1252 -t UTF-8",
    ),
    "a data file that is not there": Mistake(
        lambda: policy(SEX, "{points: towns.csv, key: id, latitude: lat, longitude: lon}"),
        "in the policy's own folder",
        "No such file",
        "policy.yaml:4:19",
        "name a CSV file",
    ),
    "the text of a policy for its path": Mistake(
        lambda: dx.load_policy(POLICY),
        "a file's name has one line",
        "a text of several",
        "the policy",
        "dx.parse_policy",
    ),
    "the path of a policy for its text": Mistake(
        lambda: dx.parse_policy("policy.yaml"), "a policy is a mapping", "'policy.yaml'", "policy:1:1", "dx.load_policy"
    ),
    "queries for a policy": Mistake(
        lambda: dx.load_policy(file("asked.yaml", QUERIES)),
        "is not known here",
        "this is a queries file",
        "asked.yaml:1:1",
        "the policy is another file",
    ),
    "a table for a policy": Mistake(
        lambda: dx.load_policy(Path("data.csv")),
        "a policy is a mapping",
        "a table of data",
        "data.csv:1:1",
        "the order is policy, data, queries",
    ),
}
