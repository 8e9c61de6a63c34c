"""``dxgeom release``."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import pytest
from reference.project import POLICIES
from typer.testing import CliRunner

from dxgeom.cli.main import app

POLICY, QUERIES = str(POLICIES / "clinic" / "policy.yaml"), str(POLICIES / "clinic" / "queries.yaml")
ROWS = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18" for k in range(60)]


def table(folder: Path, *more: str, header: str = "gender,native,age") -> str:
    path = folder / "patients.csv"
    path.write_text("\n".join([header, *ROWS, *more]) + "\n", encoding="utf-8")
    return str(path)


def arguments(folder: Path, data: str, *more: str, spend: str = "0.4") -> list[str]:
    return ["release", POLICY, data, QUERIES, "--ledger", str(folder / "privacy.db"), "--spend", spend, "--all", *more]


def test_a_release_shows_answers_with_error_bars_and_what_remains(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path)))
    assert (result.exit_code, result.stderr) == (0, "")
    for part in ("60 records", "not native", "male", "± at 95 %", "spent      0.4, remaining 0.6 of 1", "privacy.db"):
        assert part in result.stdout


def test_the_json_of_a_release_has_exact_answers_intervals_and_the_account(tmp_path: Path) -> None:
    options = ("--format", "json", "--level", "0.9", "--purpose", "report")
    result = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path), *options, spend="1/3"))
    document = json.loads(result.stdout)
    assert (document["spent"], document["remaining"], document["records"]) == ("1/3", "2/3", 60)
    assert (document["level"], document["secure_randomness"]) == (0.9, True)
    for answer in document["answers"]:
        low, high = answer["interval"]
        assert low < answer["value"] < high
        assert float(Fraction(answer["exact"])) == answer["value"]


def test_the_csv_of_a_release_is_its_table(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path), "--format", "csv", "--level", "0.9"))
    assert (result.exit_code, result.stderr) == (0, "")
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert list(rows[0]) == ["query", "name", "value", "low", "high", "rmse", "bias", "unit", "exact"]
    assert [row["name"] for row in rows][:2] == ["not native", "male"]
    for row in rows:
        assert float(row["low"]) < float(row["value"]) < float(row["high"])
    twice = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path), "--format", "csv", "--consistent"))
    assert twice.exit_code == 2
    assert "take --estimate for a table" in twice.stderr


def test_releasing_beyond_the_budget_exits_with_3_and_leaves_the_ledger_as_it_was(tmp_path: Path) -> None:
    data = table(tmp_path)
    assert CliRunner().invoke(app, arguments(tmp_path, data)).exit_code == 0
    before = (tmp_path / "privacy.db").read_bytes()
    result = CliRunner().invoke(app, arguments(tmp_path, data, "--format", "json", spend="0.7"))
    assert (result.exit_code, json.loads(result.stdout)["error"]["kind"]) == (3, "BudgetExceeded")
    assert "0.6 remains" in result.stderr
    assert (tmp_path / "privacy.db").read_bytes() == before


def test_rows_outside_the_universe_are_refused_or_dropped_when_asked(tmp_path: Path) -> None:
    data = table(tmp_path, "X,Yes,above 18")
    refused = CliRunner().invoke(app, arguments(tmp_path, data))
    assert refused.exit_code == 1
    assert not (tmp_path / "privacy.db").exists()
    dropped = CliRunner().invoke(app, arguments(tmp_path, data, "--drop-outside"))
    assert dropped.exit_code == 0
    assert "60 records; left out as outside the universe: 1" in dropped.stdout


def test_a_column_may_say_how_many_records_a_row_stands_for(tmp_path: Path) -> None:
    path = tmp_path / "groups.csv"
    path.write_text("gender,native,age,people\nM,Yes,above 18,40\nF,No,below 18,2\n", encoding="utf-8")
    options = ("--count-column", "people", "--format", "json")
    result = CliRunner().invoke(app, arguments(tmp_path, str(path), *options))
    assert json.loads(result.stdout)["records"] == 42


@pytest.mark.parametrize("wrong", ["policy", "data", "queries", "column", "level", "records"])
def test_no_mistake_touches_the_ledger(tmp_path: Path, wrong: str) -> None:
    given = arguments(
        tmp_path, table(tmp_path, header="gender,native,years" if wrong == "column" else "gender,native,age")
    )
    if wrong in ("policy", "data", "queries"):
        given[["policy", "data", "queries"].index(wrong) + 1] = str(tmp_path / "nowhere.csv")
    if wrong == "level":
        given += ["--level", "0.999999999999", "--mechanism", "hull"]
    if wrong == "records":
        given += ["--records", "61"]
    result = CliRunner().invoke(app, [*given, "--format", "json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["message"]
    assert result.stderr
    assert not (tmp_path / "privacy.db").exists()


def test_a_ledger_that_cannot_be_written_exits_with_1(tmp_path: Path) -> None:
    given = arguments(tmp_path / "nowhere", table(tmp_path))
    result = CliRunner().invoke(app, given)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "folder does not exist" in result.stderr


def test_a_ledger_in_memory_is_refused_because_it_would_forget(tmp_path: Path) -> None:
    given = [":memory:" if "privacy.db" in part else part for part in arguments(tmp_path, table(tmp_path))]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 2
    assert "forgotten" in result.stderr


def test_answers_that_agree_are_shown_beside_the_released_ones(tmp_path: Path) -> None:
    data = table(tmp_path)
    shown = CliRunner().invoke(app, arguments(tmp_path, data, "--consistent", spend="0.1"))
    assert shown.exit_code == 0
    assert "estimate" in shown.stdout and "standard deviations of the released answers" in shown.stdout
    options = ("--consistent", "--nonnegative", "--integers", "--format", "json")
    document = json.loads(CliRunner().invoke(app, arguments(tmp_path, data, *options, spend="0.1")).stdout)
    assert all(Fraction(one["exact"]).denominator == 1 for one in document["consistent"]["answers"])
    assert document["consistent"]["errors"]["rmse"] is None
    assert len(document["answers"]) == len(document["consistent"]["answers"])


def test_signs_and_integers_are_asked_of_answers_that_agree(tmp_path: Path) -> None:
    wrong = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path), "--integers"))
    assert wrong.exit_code == 2 and "--consistent" in wrong.output
    assert not (tmp_path / "privacy.db").exists()


WARNING = "releases about the same data in another ledger are not counted"


def test_the_first_release_of_a_ledger_says_that_others_are_not_counted(tmp_path: Path) -> None:
    data = table(tmp_path)
    first, second = (CliRunner().invoke(app, arguments(tmp_path, data, spend="0.1")) for _ in range(2))
    assert f"warning    this ledger is new: {WARNING}" in first.stdout
    assert WARNING not in second.stdout
    shown = CliRunner().invoke(app, ["ledger", "show", str(tmp_path / "privacy.db"), "--entry", "1", "--all"])
    assert WARNING in shown.stdout
    (tmp_path / "privacy.db").rename(tmp_path / "elsewhere.db")
    again = CliRunner().invoke(app, arguments(tmp_path, data, "--format", "json", spend="0.1"))
    assert json.loads(again.stdout)["ledger"]["warning"].endswith(WARNING)
    both = (str(tmp_path / name) for name in ("privacy.db", "elsewhere.db"))
    entries = [
        ["ledger", "show", path, "--format", "json", "--entry", number] for path, number in zip(both, "12", strict=True)
    ]
    told = [json.loads(CliRunner().invoke(app, words).stdout) for words in entries]
    assert ["warning" in entry for entry in told] == [True, False]


def test_the_data_set_can_be_named_at_the_release(tmp_path: Path) -> None:
    """Spends add across its editions, and what a policy or a ledger says of the data is not overridden."""
    data = table(tmp_path)
    for edition, left in (("/2026-01", "0.9"), ("/2026-02", "0.8"), ("", "0.7")):
        result = CliRunner().invoke(app, arguments(tmp_path, data, "--dataset", f"visits{edition}", spend="0.1"))
        assert f"remaining {left} of 1" in result.stdout
    refused = CliRunner().invoke(app, arguments(tmp_path, data, "--dataset", "census", spend="0.1"))
    assert (refused.exit_code, "kept for data set 'visits', and this is 'census'" in refused.stderr) == (1, True)
    entries = CliRunner().invoke(app, ["ledger", "show", str(tmp_path / "privacy.db"), "--format", "json"])
    told = json.loads(entries.stdout)["entries"]
    assert [entry["edition"] for entry in told] == ["2026-01", "2026-02", None]
    stated = tmp_path / "stated.yaml"
    stated.write_text(Path(POLICY).read_text(encoding="utf-8") + "dataset: {name: visits, edition: 2026-01}\n")
    for name, allowed in (("visits", True), ("visits/2026-01", True), ("visits/2026-02", False), ("census", False)):
        words = ["release", str(stated), *arguments(tmp_path, data, "--dataset", name, spend="0.1")[2:]]
        result = CliRunner().invoke(app, words)
        assert (result.exit_code == 0) is allowed
        assert ("a policy states is not overridden" in result.stderr) is not allowed


@pytest.mark.parametrize("name", ["", "/", "/2026", "visits/"])
def test_a_data_set_without_a_name_is_not_understood(tmp_path: Path, name: str) -> None:
    result = CliRunner().invoke(app, arguments(tmp_path, table(tmp_path), "--dataset", name))
    assert result.exit_code == 2
    assert "name and edition as in visits/2026-01" in result.stderr
    assert not (tmp_path / "privacy.db").exists()
