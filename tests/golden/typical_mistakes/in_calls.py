"""Mistakes in calls of Python and on the command line."""

from __future__ import annotations

from fractions import Fraction

import dxgeom as dx
from golden.typical_mistakes.mistake import DATA, POLICY, QUERIES, Mistake, command, file, plan, release


def loaded() -> dx.Policy:
    return dx.parse_policy(POLICY)


def over_budget() -> object:
    for _ in range(3):
        release("data.csv", ledger="clinic.db")
    return "released three times"


RELEASE = ("--ledger", "clinic.db", "--spend", "1")

IN_CALLS = {
    "a ledger that is made": Mistake(
        lambda: dx.Ledger("s.db"),
        "is opened and not made",
        "of type str",
        "a ledger",
        "plan.release(…, ledger='my.db')",
    ),
    "a record as on the command line": Mistake(
        lambda: loaded().explain("sex=F,age=10", "sex=M,age=10"),
        "a record is its number or a mapping",
        "found a str",
        "a record",
        "write a dict such as {'sex': 'F', 'age': '0'}",
    ),
    "a record of an unknown attribute": Mistake(
        lambda: loaded().explain({"sx": "F"}, {"sex": "M"}),
        "there is no attribute",
        "'sx'",
        "attribute",
        "did you mean",
    ),
    "a policy that is not compiled": Mistake(
        lambda: dx.plan(loaded(), dx.parse_queries(QUERIES, loaded())),
        "is of type VerifiedMetric",
        "found one of type Policy",
        "'metric'",
        "compile a policy",
    ),
    "metric and queries swapped": Mistake(
        lambda: dx.plan(dx.parse_queries(QUERIES, loaded()), loaded().compile()),
        "the metric comes first",
        "swapped",
        "'metric' and 'queries'",
        "dx.plan(metric, queries)",
    ),
    "table and queries swapped": Mistake(
        lambda: dx.compile_and_release("policy.yaml", "queries.yaml", "data.csv", ledger=":memory:", spend=1),
        "a queries file is a mapping",
        "a table of data",
        "data.csv:1:1",
        "the order is policy, data, queries",
    ),
    "a spend with a comma": Mistake(
        lambda: release("data.csv", spend="0,5"), "a positive number", "found '0,5'", "the spend", "is 0.5"
    ),
    "a spend in per cent": Mistake(
        lambda: release("data.csv", spend="50 %"), "a positive number", "found '50 %'", "the spend", "is 0.5"
    ),
    "a spend of 0": Mistake(
        lambda: release("data.csv", spend=0), "a positive number", "found 0", "the spend", "such as 0.25 or 1/4"
    ),
    "more than the budget": Mistake(
        over_budget,
        "the budget of policy 'clinic' is 2",
        "2 is spent, 0 remains",
        "policy 'clinic'",
        "no further release is possible",
    ),
    "an unknown mechanism": Mistake(
        lambda: dx.plan(loaded().compile(), dx.parse_queries(QUERIES, loaded()), mechanism="laplase"),
        "there is no mechanism",
        "'laplase'",
        "mechanism",
        "laplace",
    ),
    "an unknown objective": Mistake(
        lambda: command("plan", "policy.yaml", "queries.yaml", "--objective", "gaussian"),
        "is not one of 'balanced', 'mse', 'max'",
        "'gaussian'",
        "'--objective'",
        "Try 'dxgeom plan --help'",
    ),
    "an epsilon for a spend": Mistake(
        lambda: command("plan", "policy.yaml", "queries.yaml", "--epsilon", "1"),
        "No such option",
        "--epsilon",
        "dxgeom plan",
        "write --spend",
    ),
    "a seed for a release": Mistake(
        lambda: command("release", "policy.yaml", "data.csv", "queries.yaml", *RELEASE, "--seed", "1"),
        "No such option",
        "--seed",
        "dxgeom release",
        "write --rehearse",
    ),
    "data and queries swapped": Mistake(
        lambda: command("release", "policy.yaml", "queries.yaml", "data.csv", *RELEASE),
        "a queries file is a mapping",
        "a table of data",
        "data.csv:1:1",
        "the order is policy, data, queries",
    ),
    "policy and queries swapped": Mistake(
        lambda: command("plan", "queries.yaml", "policy.yaml"),
        "is not known here",
        "this is a queries file",
        "queries.yaml:1:1",
        "is named first",
    ),
    "a record before the policy": Mistake(
        lambda: command("explain", "sex=F", "policy.yaml", "sex=M"),
        "a record is a number",
        "found 'policy.yaml'",
        "'RECORD'",
        "the policy is named first",
    ),
    "a release without a ledger": Mistake(
        lambda: command("release", "policy.yaml", "data.csv", "queries.yaml", "--spend", "1"),
        "only a rehearsal goes without",
        "is missing",
        "--ledger",
        "rehearsal",
    ),
    "another number of records on the command line": Mistake(
        lambda: command(
            "release",
            "policy.yaml",
            file("many.csv", DATA + "F,10\n" * 98),
            file("mean.yaml", "queries:\n  - mean: age\n"),
            *RELEASE,
            "--records",
            "7",
        ),
        "a table of 7 records",
        "this one has 100",
        "--records",
        "--records 100",
    ),
    "a level in per cent": Mistake(
        lambda: command("plan", "policy.yaml", "queries.yaml", "--level", "95"),
        "lies strictly between 0 and 1",
        "found '95'",
        "'--level'",
        "such as 0.95",
    ),
    "a file that would be overwritten": Mistake(
        lambda: command("plan", "policy.yaml", "queries.yaml", "--output", "data.csv"),
        "is not overwritten",
        "exists",
        "'data.csv'",
        "name a new file",
    ),
    "a command misspelt": Mistake(
        lambda: command("chek", "policy.yaml"), "No such command", "'chek'", "dxgeom", "check"
    ),
    "distances that are none": Mistake(
        lambda: dx.verify_metric([[0, 1, 5], [1, 0, 1], [5, 1, 0]]),
        "the triangle inequality fails",
        "= 5 >",
        "d(2, 0)",
        "take the shortest-path closure",
    ),
    "a float for an exact number": Mistake(
        lambda: dx.Ledger.open("other.db", policy_fingerprint="a" * 64, policy_name="p", budget=0.1),  # type: ignore[arg-type],
        "is an exact fraction",
        "found float 0.1",
        "the budget",
        "write for instance Fraction('0.1')",
    ),
    "another policy's ledger": Mistake(
        lambda: (
            release("data.csv", ledger="clinic.db"),
            plan(POLICY.replace("0.5", "0.25")).release("data.csv", ledger="clinic.db", spend=Fraction(1)),
        ),
        "it is kept for policy 'clinic'",
        "this is policy 'clinic'",
        "'clinic.db'",
        "begin a new ledger in another file",
    ),
}
