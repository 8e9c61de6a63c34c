"""Keys that nobody listed in tables on servers: grouped there, held against the threshold here, and charged there."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from services.tables import PostgresTables, as_parquet, as_spark, as_sqlite
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.engines.counted_tables import KeyTable, key_counts
from dxgeom.errors import BudgetExceeded
from dxgeom.universe.workloads.groups import groups_of_column, unlisted_groups

TEXTS = [
    "9",
    "10",
    "home",
    " home",
    "Home",
    "für €",
    "it's",
    "a\tb",
    "日本",
    "e\u0301",
    "é",
    "(all)",
    "%s",
    "\\N",
    "'--",
]
PEOPLE: dict[str, Any] = {
    "single": "one row each",
    "rows": {"column": "user", "count": "rows", "at_most": 2, "order": "time"},
}


def stated(people: Any) -> dict[str, Any]:
    return {
        "policy": "searches",
        "universe": {"attributes": {"words": {"open": "text"}, "country": ["DE", "FR"]}},
        "rules": [{"presence": True, "epsilon": 1}],
        "people": people,
        "unconnected": "allow",
        "budget": 9,
        "delta": "1e-6",
    }


def policy_of(people: Any) -> dx.Policy:
    return dx.Policy.from_dict(stated(people))


def rows_of(seed: int, rows: int = 300) -> pa.Table:
    """Some texts are empty or missing, and some countries are none of the policy's."""
    draw = np.random.default_rng(seed)
    words = [TEXTS[place] if place < len(TEXTS) else ("", None)[place % 2] for place in draw.integers(0, 17, rows)]
    return pa.table(
        {
            "words": pa.array(words, pa.string()),
            "country": draw.choice(["DE", "FR", "XX"], rows, p=[0.6, 0.35, 0.05]).tolist(),
            "user": draw.integers(0, 90, rows),
            "time": draw.permutation(rows),
        }
    )


def counted(table: Any, policy: dx.Policy) -> KeyTable:
    universe = policy.universe
    columns = unlisted_groups(universe, 0), groups_of_column(universe, 1, universe.attributes[1].columns[0])
    return key_counts(table, columns, outside="drop")


def told(found: KeyTable) -> Any:
    return found.words, found.keys.tolist(), found.counts.tolist(), found.total, found.dropped


@pytest.mark.parametrize("people", PEOPLE.values(), ids=PEOPLE)
@pytest.mark.parametrize(
    "engine",
    [
        "parquet",
        "SQLite",
        pytest.param("PostgreSQL", marks=pytest.mark.service("postgres")),
        pytest.param("Spark", marks=pytest.mark.service("spark")),
    ],
)
def test_counts_are_those_of_the_rows(engine: str, people: Any, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    table, policy = rows_of(len(people)), policy_of(people)
    if engine == "PostgreSQL":
        kept: Any = PostgresTables(request.getfixturevalue("postgres")).keep(table, tmp_path)
    elif engine == "Spark":
        kept = as_spark(request.getfixturevalue("spark"), table, tmp_path)
    else:
        kept = (as_sqlite if engine == "SQLite" else as_parquet)(table, tmp_path)
    found = counted(kept, policy)
    assert told(found) == told(counted(table, policy))
    # By hand: of a person the first two rows in time, where these are of the policy.
    cells = zip(*(table[name].to_pylist() for name in ("words", "country", "user", "time")), strict=True)
    met: dict[int, int] = {}
    by_hand: dict[tuple[str, str], int] = {}
    for words, country, user, _ in sorted(cells, key=lambda row: row[3]):
        met[user] = met.get(user, 0) + 1
        if words and country != "XX" and (people == "one row each" or met[user] <= 2):
            by_hand[words, country] = by_hand.get((words, country), 0) + 1
    keys = {(found.words[key // 2], ("DE", "FR")[key % 2]): count for key, count in zip(*told(found)[1:3], strict=True)}
    assert keys == by_hand


def _frequent(frequent: int) -> pa.Table:
    words = ["home"] * frequent + [f"own {number}" for number in range(40)] + ["zebra"] * frequent
    many = len(words)
    return pa.table(
        {"words": words, "country": ["DE"] * many, "user": np.arange(many), "time": np.zeros(many, np.int64)}
    )


def released(table: Any, ledger: str) -> dict[str, list[Any]]:
    policy = policy_of(PEOPLE["rows"])
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["words", "country"], "delta": "4e-7"}]}, policy)
    plan = dx.plan(policy.compile(), tasks)
    found: dict[str, list[Any]] = plan.release(table, ledger=ledger, spend=1, id="once").to_arrow().to_pydict()
    again = plan.release(table, ledger=ledger, spend=1, id="once")
    assert again.repeated and again.to_arrow().to_pydict() == found
    plan.release(table, ledger=ledger, spend=1)
    with pytest.raises(BudgetExceeded, match=r"'delta' of policy 'searches' is 1e-6: 8e-7 is spent"):
        plan.release(table, ledger=ledger, spend=1)
    chances = dx.ledger.verify_ledger(ledger).chances.values()
    assert [one.total for one in chances] == [Fraction(4, 10**7), Fraction(8, 10**7)]
    return found


@pytest.mark.service("postgres")
def test_a_table_and_a_ledger_on_one_server(postgres: Any, tmp_path: Path) -> None:
    table, ledger = PostgresTables(postgres).keep(_frequent(200), tmp_path), postgres.new_ledger()
    (tmp_path / "policy.yaml").write_text(json.dumps(stated(PEOPLE["rows"])))
    begun = CliRunner().invoke(app, ["ledger", "init", ledger, "--policy", str(tmp_path / "policy.yaml")])
    assert begun.exit_code == 0, begun.output
    found = released(table, ledger)
    assert (found["words"], found["country"]) == (["home", "zebra"], ["DE", "DE"])
    assert all(low <= 200 <= high for low, high in zip(found["low"], found["high"], strict=True))


@pytest.mark.service("spark")
def test_a_table_on_spark_and_a_ledger_in_a_file(spark: Any, tmp_path: Path) -> None:
    found = released(as_spark(spark, _frequent(200), tmp_path), str(tmp_path / "privacy.db"))
    assert (found["words"], found["country"]) == (["home", "zebra"], ["DE", "DE"])
