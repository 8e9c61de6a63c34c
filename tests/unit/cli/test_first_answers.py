"""Four newcomers with their own tables: how many commands, edits and lines it takes them to the first answer."""

from __future__ import annotations

import random
import re
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app

pytestmark = pytest.mark.long
HOUSE = re.compile(r"\b(universe|record types?|curator|idle|tightened|generating|facet|mechanism|lattice)\b", re.I)
"""No such word is met before the first answer."""


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


class Newcomer:
    """Runs commands and changes files, and counts both."""

    def __init__(self) -> None:
        self.commands, self.edits, self.seen = 0, 0, ""

    def runs(self, *words: object, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*map(str, words)])
        assert result.exit_code == code, result.output
        self.commands, self.seen = self.commands + 1, self.seen + result.output
        return result.output

    def edits_file(self, name: str, old: str, new: str) -> None:
        text = Path(name).read_text("utf-8")
        assert text.count(old) == 1, text
        Path(name).write_text(text.replace(old, new), "utf-8")
        self.edits += 1

    def has_met_no_house_word(self) -> None:
        assert HOUSE.findall(self.seen) == []


def test_a_data_officer_of_a_hospital_with_a_semicolon_file():
    chosen, lines = random.Random(1), ["Pat-Nr;Geschlecht;Alter;Ankunft;Wohnort;Wartezeit min;Aufgenommen"]
    for k in range(900):
        day = f"{1 + k % 28:02d}.{1 + k % 12:02d}.2025 {k % 24:02d}:{k % 60:02d}"
        who, sex = 20000 + (k if k < 600 else chosen.randrange(600)), "X" if k == 7 else ("F", "M", "f ")[k % 3]
        lines.append(f"{who};{sex};{k % 97};{day};Ort {k % 300};{k % 500},{k % 10};{'ja' if k % 3 else 'nein'}")
    Path("aufnahmen.csv").write_text("\n".join(lines) + "\n", "utf-8")
    officer = Newcomer()
    words = ["--person", "Pat-Nr", "--values", "Geschlecht=F,M,D", "--values", "Aufgenommen=ja,nein"]
    words += ["--range", "Wartezeit min=0:600", "--range", "Ankunft=2025-01-01:2025-12-31", "--leave-out", "Wohnort"]
    officer.runs("init", "aufnahmen.csv", "--accept", *words)
    assert "FILL IN" not in Path("policy.yaml").read_text("utf-8"), Path("policy.yaml").read_text("utf-8")
    page = officer.runs("check", "policy.yaml", "--table", "aufnahmen.csv", code=1)
    assert "'X'" in page and "unlisted: other" in page, page
    officer.edits_file("policy.yaml", "values: [F, M, D]", "values: [F, M, D], unlisted: D")
    officer.runs("check", "policy.yaml", "--table", "aufnahmen.csv")
    told = officer.runs(
        "release", "policy.yaml", "aufnahmen.csv", "policy-queries.yaml", "--ledger", "l.db", "--spend", "0.5"
    )
    assert "600 people" in told and "±" in told
    assert (officer.commands, officer.edits) == (4, 1)
    officer.has_met_no_house_word()


def test_a_statistician_is_shown_what_is_of_no_use_before_it_is_paid_for():
    pd.DataFrame(
        {"person": range(300), "region": [f"r{k % 5}" for k in range(300)], "income": [k * 30 for k in range(300)]}
    ).to_csv("survey.csv", index=False)
    statistician = Newcomer()
    statistician.runs(
        "init",
        "survey.csv",
        "--accept",
        "--one-row-each",
        "--values",
        "region=r0,r1,r2,r3,r4",
        "--range",
        "income=0:20000",
    )
    Path("asked.yaml").write_text(
        "records: 300\nqueries:\n  - {mean: income}\n  - {sum: income, by: region}\n  - {count: region == 'r1'}\n"
    )
    told = statistician.runs("plan", "policy.yaml", "asked.yaml", "--spend", "0.02")
    assert "of no use" in told
    assert not Path("l.db").exists()
    statistician.has_met_no_house_word()


def test_a_data_scientist_in_a_notebook_asks_frames_in_six_lines():
    frame: Any = pd.DataFrame({"carrier": ["AA", "UA", "DL"] * 200, "delay": [k % 90 for k in range(600)]})
    attributes = {"carrier": ["AA", "UA", "DL"], "delay": {"range": [0, 120], "step": 10, "whole": True}}
    rules = [{"change": ["carrier", "delay"], "epsilon": 1}]
    policy = dx.Policy.from_dict({"policy": "flights", "universe": {"attributes": attributes}, "rules": rules})
    asked = dx.queries_from_dict({"queries": [{"count": True, "by": "carrier"}]}, policy)
    release = dx.plan(policy.compile(), asked).release(frame, ledger="flights.db", spend="1/2")
    assert [abs(value - 200) < 100 for value in release.to_pandas()["value"]] == [True] * 3
    assert "±" in release._repr_html_()


def test_a_data_engineer_with_a_database_drafts_from_its_schema():
    base = sqlite3.connect("shop.db")
    with base:
        base.execute(
            "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, channel TEXT NOT NULL "
            "CHECK (channel IN ('web', 'app', 'shop')), items INTEGER NOT NULL)"
        )
        rows = [(k, 4000 + k // 2, ("web", "app", "shop")[k % 3], 1 + k % 9) for k in range(400)]
        base.executemany("INSERT INTO orders VALUES (?, ?, ?, ?)", rows)
    base.close()
    engineer = Newcomer()
    engineer.runs("init", "sqlite:///shop.db#orders", "--person", "customer_id", "--accept")
    text = Path("policy.yaml").read_text("utf-8")
    assert "channel: [web, app, shop]" in text and "400" not in text
    while "FILL IN" in Path("policy.yaml").read_text("utf-8"):
        engineer.edits_file("policy.yaml", "FILL IN", "[1, 20]")
    engineer.runs("check", "policy.yaml", "--table", "sqlite:///shop.db#orders")
    spend = ("--ledger", "l.db", "--spend", "1/2")
    answers = engineer.runs("release", "policy.yaml", "sqlite:///shop.db#orders", "policy-queries.yaml", *spend)
    assert "200 people" in answers and engineer.edits <= 3 and engineer.commands == 3
    engineer.has_met_no_house_word()
