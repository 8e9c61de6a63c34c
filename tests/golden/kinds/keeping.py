"""What is kept of every kind of question and noise, as version 0.2.1 wrote it, and what the package does with it now.

``plans``: plan files. ``tables``: what they are released from. ``ledgers``: the releases, each under the name of its
plan; and such that have no plan file. ``workloads.txt``: fingerprints. These are never recorded anew. ``shown``: what
the command line shows of each entry; and ``since``, what is told of a release otherwise than its ledger has it, by the
place in its document. Where such a change is meant, ``shown`` is recorded anew, and its diff says what was changed.

Answers start from the numbers in plan files, never from a search, and noise is rounded exactly from random bits: so
answers, fingerprints and files have to be the same on any machine. Error bars are float64, whose last digits are the
machine's: such figures are held to NEAR.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime, tzinfo
from functools import cache
from pathlib import Path
from typing import Any, final
from unittest.mock import patch

from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app

HERE = Path(__file__).parent
PLANS, TABLES, LEDGERS, SHOWN = (HERE / folder for folder in ("plans", "tables", "ledgers", "shown"))
WORKLOADS = HERE / "workloads.txt"
SEED = 21
SPEND = "1/3"
"""Of plans that state none."""
NEAR = 1e-9
TIME = datetime.fromisoformat("2026-11-23T12:00:00+00:00")
_CLOCKS = ("planner.releases.answer_once", "ledger.sqlite_store", "ledger.ledger")


@final
class _Noon(datetime):
    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return TIME.astimezone(tz)


@contextmanager
def at_noon() -> Iterator[None]:
    """The time of everything recorded."""
    with ExitStack() as patches:
        for module in _CLOCKS:
            patches.enter_context(patch(f"dxgeom.{module}.datetime", _Noon))
        yield


def names() -> list[str]:
    """Of all plan files."""
    return sorted(path.stem for path in PLANS.iterdir())


def plan_file(name: str) -> Path:
    return PLANS / f"{name}.json"


def ledger_of(name: str) -> str:
    """The ledger that a plan was released into: one for each kind of question, and each way of counting privacy."""
    kind, _, rest = name.partition(", ")
    return f"{kind}, {'concentrated' if rest.startswith('concentrated') else 'pure'}"


def table_of(name: str) -> Path:
    special = {"words, a list of records": "posts.csv"}
    return TABLES / special.get(name, "readings.csv" if name.endswith("series") else "people.csv")


def released(plan: Any, name: str, ledger: str | Path) -> Any:
    """The release of a plan from a file into a ledger, under its name."""
    return plan.release(table_of(name), ledger=ledger, spend=_spend(plan), id=name, insecure_test_seed=SEED)


def found_again(plan: Any, name: str, ledger: Path) -> Any:
    """The release that the ledger has under a plan's name: no data are read, and no noise is drawn."""
    return plan.release(TABLES / "nothing.csv", ledger=ledger, spend=_spend(plan), id=name, insecure_test_seed=SEED + 1)


def _spend(plan: Any) -> str | None:
    return SPEND if plan.spend is None else None


def stored(ledger: Path) -> dict[str, dict[str, Any]]:
    """What a ledger has stored, by the name of each release; read without the package."""
    query = "SELECT key, content FROM entries JOIN answers ON answers.entry = entries.number WHERE key NOT NULL"
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro&immutable=1", uri=True)) as connection:
        return {key: json.loads(content) for key, content in connection.execute(query)}


@cache
def recorded(ledger: str) -> dict[str, dict[str, Any]]:
    return stored(LEDGERS / f"{ledger}.ledger")


@cache
def recorded_words(ledger: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SHOWN / f"{ledger}.json").read_text("utf-8"))
    return found


def copied(ledger: str, folder: Path) -> Path:
    return Path(shutil.copy(LEDGERS / f"{ledger}.ledger", folder / "ledger.db"))


def lines_of(path: Path, *words: Any) -> list[str]:
    """What a command prints, with a word for the ledger's place; nothing where it is refused."""
    every = ("--all",) if words[-1] == "text" and (words[0] == "release" or words[:2] == ("ledger", "show")) else ()
    result = CliRunner().invoke(app, [*map(str, words), *every])
    return result.stdout.replace(os.path.realpath(path), "LEDGER").splitlines() if result.exit_code == 0 else []


def shown(path: Path) -> dict[str, Any]:
    """All that is shown of a ledger: the whole, each entry, and each release of a plan that the ledger has."""
    book = dx.ledger.read_ledger(str(path)).entries
    whole = {how: lines_of(path, "ledger", "show", path, "--format", how) for how in ("text", "json", "csv")}
    return {"whole": whole, "entries": {str(one.number): shown_entry(path, one.number, one.key) for one in book}}


def shown_entry(path: Path, entry: int, key: str | None) -> dict[str, Any]:
    """An entry of a ledger as it is shown; as JSON it is compared with what the ledger has."""
    words = ("ledger", "show", path, "--entry", entry, "--format")
    told: dict[str, Any] = {"key": key, "entry": {how: lines_of(path, *words, how) for how in ("text", "csv")}}
    if key is not None and plan_file(key).exists():
        told["release"] = shown_release(key, path)
        told["since"] = since(stored(path)[key], found_again(dx.load_plan(plan_file(key)), key, path).as_dict())
    return told


def shown_release(name: str, path: Path) -> dict[str, list[str]]:
    """A release that the ledger has, as 'dxgeom release' shows it again."""
    spend = () if json.loads(plan_file(name).read_text("ascii"))["spend"] else ("--spend", SPEND)
    words = ("release", plan_file(name), table_of(name), "--ledger", path, "--id", name, *spend, "--format")
    return {how: lines_of(path, *words, how) for how in ("text", "csv")}


def since(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What a document of a release says by now, by its place, where it once said something else."""
    # Of what is public a sentence is the same wherever it stands: tests/unit/policy/explain/test_people.py. An estimate
    # is made of what was released, anew each time.
    apart = ("remaining", "kept", "repeated", "ledger", "public", "estimate")
    return dict(_changes(*({key: one[key] for key in one if key not in apart} for one in (before, now)), ""))


def _changes(before: Any, now: Any, place: str) -> Iterator[tuple[str, Any]]:
    now = list(now) if isinstance(now, tuple) else now
    if isinstance(before, dict) and isinstance(now, dict):
        for key in dict.fromkeys((*before, *now)):
            yield from _changes(before.get(key), now.get(key), f"{place}.{key}" if place else key)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for number, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from _changes(one, other, f"{place}[{number}]")
    elif not same(before, now):
        yield place, now


def same(one: Any, other: Any) -> bool:
    """Whether two documents are the same, figures up to NEAR, as another machine may round otherwise."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if one == other:
        return True
    if isinstance(one, str):
        cells, others = one.split(","), other.split(",")
        return len(cells) == len(others) and all(
            a == b or ("." in a and _near(a, b)) for a, b in zip(cells, others, strict=True)
        )
    return isinstance(one, float) and _near(one, other)


def _near(one: float | str, other: float | str) -> bool:
    """Whether two figures, or texts of figures, are about the same."""
    try:
        return math.isclose(float(one), float(other), rel_tol=NEAR)
    except ValueError:
        return False
