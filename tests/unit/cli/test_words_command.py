"""dxgeom words."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.wording.glossary import FIRST, NAMED, WORDS, word_of

TEN = ["policy", "attribute", "rule", "epsilon", "odds", "person", "question", "±", "budget", "ledger"]


def run(*words):
    return CliRunner().invoke(app, ["words", *words])


def test_the_ten_words_stand_first_and_nothing_else():
    result = run()
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split(":")[0] for line in lines if line.split(":")[0] in NAMED] == TEN == [one.term for one in FIRST]
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 20


def test_all_words_are_shown_when_asked_for():
    printed = " ".join(run("--all").stdout.split())
    assert all(f"{one.term}: {one.meaning}" in printed for one in WORDS)


@pytest.mark.parametrize("name", ["epsilon", "EPS", "Error bar", "record type"])
def test_a_word_is_found_by_every_name_it_has(name):
    one = NAMED[name.lower()]
    printed = " ".join(run(name).stdout.split())
    assert printed.startswith(f"words: {one.term} {one.meaning}")
    assert one.example in printed
    assert one.where in printed


def test_words_are_json_too():
    found = json.loads(run("budget", "--format", "json").stdout)
    assert found["title"] == "budget"
    assert found["facts"]["For example"].startswith("'budget: 1'")


def test_an_unknown_word_is_a_mistake_that_names_the_nearest():
    result = run("legder")
    assert result.exit_code == 2
    assert "did you mean 'ledger'?" in " ".join(result.output.split())


def test_every_word_has_one_name_of_its_own_and_a_sentence():
    names = [name for one in WORDS for name in (one.term, *one.also)]
    assert len(names) == len(set(names))
    for one in WORDS:
        assert one.meaning.endswith(".")
        assert one.example.endswith(".")
        assert max(map(len, map(str.split, one.meaning.split(". ")))) <= 18
        assert word_of(one.term) is one
