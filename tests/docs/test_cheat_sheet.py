"""What the cheat sheet shows can be written: its policy, its queries, its odds, its commands."""

from __future__ import annotations

import re

import pytest
import typer
from reference.project import ROOT

from dxgeom.cli.main import app
from dxgeom.policy.policy import parse_policy
from dxgeom.queries.queries_file import parse_queries
from dxgeom.wording.numbers import guesses, odds

SHEET = (ROOT / "docs" / "reference" / "cheat-sheet.md").read_text(encoding="utf-8")
YAML = re.findall(r"^```yaml\n(.*?)^```$", SHEET, re.MULTILINE | re.DOTALL)


@pytest.fixture
def policy(tmp_path):
    (tmp_path / "places.csv").write_text("id,lat,lon\na,48.1,11.6\nb,52.5,13.4\n", encoding="utf-8")
    return parse_policy(YAML[0], folder=tmp_path)


def test_its_policy_and_its_queries_are_read(policy):
    assert policy.name == "clinic" and len(policy.rules) == 4
    assert parse_queries(YAML[1], policy)


def test_its_odds_and_guesses_are_those_of_the_review_page():
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.,]+ to 1) \| ([\d,]+) \|$", SHEET, re.MULTILINE)
    assert len(rows) == 5
    for epsilon, said, right in rows:
        assert (odds(float(epsilon)), f"{guesses(float(epsilon)):,}") == (said, right)


def test_its_commands_and_options_are_there():
    commands = typer.main.get_command(app)
    shown = re.findall(r"`dxgeom ([^`]+)`", SHEET)
    assert len(shown) == 10
    for line in shown:
        found, words = commands, line.split()
        while hasattr(found, "commands"):
            found = found.commands[words.pop(0)]
        known = {option for one in found.params for option in one.opts}
        assert {word for word in words if word.startswith("-")} <= known
