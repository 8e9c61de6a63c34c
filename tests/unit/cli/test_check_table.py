"""dxgeom check --table: every row is looked at; what does not fit is shown, with lines that mend it, and only there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.starting import table_page
from dxgeom.universe.people.people import PUBLIC_NUMBER

POLICY = """policy: stays
PEOPLE
universe:
  attributes:
    sex: {values: [F, M, D], missing: {epsilon: 0.5}}
    age: {range: [0, 110], step: 5, whole: true, clamp: true}
    day: {dates: [2025-01-01, 2025-12-31], step: 7}
    wait: {range: [0, 600], step: 50}
rules:
  - change: [sex, age, day, wait]
    epsilon: 1
budget: 1
"""
PEOPLE = "people: {column: Pat-Nr, count: once}"
GOOD = [f"{k // 2},{'FMD'[k % 3]},{k},2025-03-{1 + k % 28:02d},{k}" for k in range(40)]
PAGE = """▲ For your eyes: this page shows rows. Nothing is spent. Do not pass it on.

t.csv: 52 rows, 21 people (Pat-Nr); 31 rows are not a first one
  rows per person: half have 2, the largest 12; nobody is without a name

Does not fit: 8 rows (15 %), so a release would refuse the table
  sex     3  'X'                       2
             'x\\x1b'                   1   add: unlisted: other
  age     0  (4 lie outside 0 to 110 and are clamped: -1 4)
                   these look like markers
                   add: missing: {epsilon: 0.5, written: ["-1"]}
  day     3  '31.12.2025 08:00'        3
                   add: written: [2025-12-31, 31.12.2025 23:59]
  wait    2  '1,5'                     1   add: reading: {decimal: ","}
             '601'                     1   add: clamp: true

Fits, and worth knowing
  sex  1 empty (2 %), read as missing

The number of records is public: of a table that was filtered (WHERE ts >= ...)
it is how many passed, exactly.

exit code 1
next: add the lines, then run this again
"""


def run(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.yaml").write_text(POLICY.replace("PEOPLE", PEOPLE))
    Path("alone.yaml").write_text(POLICY.replace("PEOPLE\n", ""))
    Path("q.yaml").write_text("queries:\n  - {marginal: sex}\n")
    bad = ["X,1,2025-01-01,1", "X,2,2025-01-01,1", "x\x1b,3,2025-01-01,1"]
    bad += ["F,-1,2025-01-01,1"] * 4 + ["F,4,31.12.2025 08:00,1"] * 3 + ['F,5,2025-01-01,"1,5"', "F,6,2025-01-01,601"]
    rows = [*GOOD[1:], "0,,3,2025-01-02,1", *(f"777,{row}" for row in bad)]
    Path("t.csv").write_text("Pat-Nr,sex,age,day,wait\n" + "\n".join(rows) + "\n")
    Path("good.csv").write_text("Pat-Nr,sex,age,day,wait\n" + "\n".join(GOOD) + "\n")
    return tmp_path


def test_the_page_counts_reasons_and_says_what_to_add(table):
    result = run("check", "p.yaml", "--table", "t.csv")
    assert result.stdout == PAGE
    assert result.exit_code == 1
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_the_page_as_json(table):
    found = json.loads(run("check", "p.yaml", "--table", "t.csv", "--format", "json").stdout)
    assert (found["verdict"], found["rows"], found["refused"]) == ("refused", 52, 8)
    assert set(found) == {"verdict", "rows", "refused", "columns", "people", "public", "form"}
    assert found["public"] == PUBLIC_NUMBER
    assert found["columns"]["sex"] == [
        {
            "reason": "not listed",
            "rows": 3,
            "examples": [{"cell": "X", "rows": 2}, {"cell": "x\x1b", "rows": 1}],
            "line_to_add": "unlisted: other",
        }
    ]
    assert found["people"] == {
        "column": "Pat-Nr", "people": 21, "one": 0, "several": 21, "median": 2, "largest": 12, "nobody": 0,
        "reasons": [],
    }  # fmt: skip


def test_a_table_that_fits_says_so_and_whose_rows_repeat(table):
    result = run("check", "alone.yaml", "--table", "good.csv")
    assert result.exit_code == 0
    assert " ".join(result.stdout.split()).endswith(
        "good.csv: 40 rows fit. ▲ Pat-Nr repeats; each row is taken for another person. "
        f"add: people: {{column: Pat-Nr, count: once}} {PUBLIC_NUMBER}"
    )
    assert "Every row fits." in run("check", "p.yaml", "--table", "good.csv").stdout


@pytest.mark.parametrize(("file", "code"), [("t.csv", 1), ("good.csv", 0)])
def test_quiet_data_is_told_the_verdict_only(table, file, code):
    result = run("check", "p.yaml", "--table", file, "--quiet-data")
    assert result.exit_code == code
    assert result.stdout == f"the table {'does not fit' if code else 'fits'}\n"
    told = run("check", "p.yaml", "--table", file, "--quiet-data", "--format", "json").stdout
    assert json.loads(told) == {"verdict": "refused" if code else "fits"}


def test_a_release_refuses_before_it_plans_and_shows_no_cell(table, monkeypatch):
    def planning(*_, **__):
        raise AssertionError("it planned")

    monkeypatch.setattr("dxgeom.planner.choose.plan", planning)
    words = ("q.yaml", "--ledger", "l.db", "--spend", "0.5")
    alone = run("release", "alone.yaml", "t.csv", *words)
    assert alone.exit_code == 1
    assert alone.stderr == (
        "error: 8 of 52 rows do not fit the policy: sex 3, day 3, wait 2\n"
        "  dxgeom check alone.yaml --table t.csv shows them and the lines to add\n"
        "  Nothing was planned or spent.\n"
    )
    people = run("release", "p.yaml", "t.csv", *words)
    assert people.stderr.startswith("error: some rows do not fit the policy: sex, day, wait\n")
    assert "does not exist" in run("release", "p.yaml", "none.csv", *words).stderr
    Path("l.db").write_text("no ledger")
    assert "l.db" in run("release", "p.yaml", "good.csv", *words).stderr
    assert not any(character in people.stderr for character in "0123456789")


def test_marks_of_a_draft_are_counted_once(table):
    Path("d.yaml").write_text(
        "policy: d\npeople: FILL IN    # Pat-Nr?\nuniverse:\n  attributes:\n"
        "    day: {dates: [FILL IN, FILL IN], step: 7, zone: FILL IN}\n    sex: {values: FILL IN}\n"
    )
    result = run("check", "d.yaml")
    assert result.exit_code == 1
    lines = result.stderr.splitlines()
    assert lines[0] == "error: d.yaml: 5 places to fill in: line 2, 5 (three), 6"
    assert len(lines) == 5


@pytest.mark.parametrize("read", [False, True])
def test_a_total_at_the_end_is_left_out_and_not_made_to_fit(table, read):
    lines = ["ward,sex,age,day,wait", *(f"W{row}" for row in GOOD), "Total:,,,,1770"]
    Path("t.csv").write_text("\n".join(lines) + "\n")
    policy = POLICY.replace("PEOPLE\n", "").replace(", missing: {epsilon: 0.5}", "")
    if read:
        policy = policy.replace("sex: {", "ward: {values: [W0], unlisted: W0}\n    sex: {").replace(
            "[sex,", "[ward, sex,"
        )
    Path("p.yaml").write_text(policy)
    told = run("check", "p.yaml", "--table", "t.csv").stdout
    assert "missing:" not in told and "clamp" not in told
    assert ("take it out of the table" if read else 'reading: {ignore: {ward: ["Total:"]}}') in " ".join(told.split())


def test_compressed_text_that_is_cut_off_is_told_the_same_way_everywhere(table):
    Path("t.csv.gz").write_bytes(gzip.compress("\n".join(["Pat-Nr,sex,age,day,wait", *GOOD * 500]).encode())[:-900])
    for command in (("check", "p.yaml", "--table", "t.csv.gz"), ("init", "t.csv.gz")):
        told = run(*command).stderr
        assert "is damaged: its compressed text ends too early or is garbled. Fetch or compress" in told


def test_a_column_may_be_called_like_the_mark_of_a_draft(table):
    text = POLICY.replace("PEOPLE\n", "").replace("age", '"FILL IN"')
    Path("p.yaml").write_text(text)
    assert run("check", "p.yaml").exit_code == 0
    Path("p.yaml").write_text(text.replace("[F, M, D]", "FILL IN"))
    assert "1 place" in run("check", "p.yaml").stderr


def test_a_policy_at_an_address_is_told_as_a_table_is(table):
    for words in (("check", "https://example.org/p.yaml"), ("check", "p.yaml", "--table", "https://example.org/t.csv")):
        assert "an address elsewhere" in run(*words).stderr


def test_people_of_several_rows_are_a_reason_in_json_too(table):
    Path("single.yaml").write_text(POLICY.replace("PEOPLE", "people: {column: Pat-Nr, count: single}"))
    result = run("check", "single.yaml", "--table", "good.csv", "--format", "json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["verdict"], found["refused"]) == (1, "refused", 0)
    (reason,) = found["people"]["reasons"]
    assert reason["people"] == 20 and "nobody has two" in reason["reason"]
    assert reason["line_to_add"] == "people: {column: Pat-Nr, count: once}"
    assert (
        json.loads(run("check", "p.yaml", "--table", "good.csv", "--format", "json").stdout)["people"]["reasons"] == []
    )


def test_public_numbers_are_compared_for_whoever_holds_the_table(tmp_path):
    (tmp_path / "n.csv").write_text("a,count\nx,2\ny,1\n")
    (tmp_path / "p.yaml").write_text(
        "policy: p\nuniverse: {attributes: {a: [x, y], b: [u, v]}}\nrules: [{change: [a, b], epsilon: 1}]\n"
        "known: [{totals: a, numbers: n.csv}, {where: true, count: 3}]\n"
    )
    for rows, said in (
        ("x,u\nx,v\ny,u\n", "The public numbers of the policy are those of this table."),
        ("x,u\ny,v\ny,u\n", "  a x: 2 published, 1 here"),
    ):
        (tmp_path / "t.csv").write_text(f"a,b\n{rows}")
        arguments = ["check", str(tmp_path / "p.yaml"), "--table", str(tmp_path / "t.csv")]
        found = CliRunner().invoke(app, arguments)
        assert found.exit_code == 0
        assert said in found.output
        told = json.loads(CliRunner().invoke(app, [*arguments, "--format", "json"]).output)["public_numbers"]
        assert len(told) == (2 if "published" in said else 0)
        quiet = CliRunner().invoke(app, [*arguments, "--quiet-data"])
        assert "public" not in quiet.output


@pytest.mark.parametrize(
    ("part", "of", "said"),
    [(3000, 3000, "100 %"), (2999, 3000, "99 %"), (8, 52, "15 %"), (1, 3000, "0.033 %"), (1, 10**8, "below 0.01 %")],
)
def test_shares_of_rows_have_no_powers_of_ten(part, of, said):
    assert table_page._share(part, of) == said
