"""The reference of error codes: every wrong example gets its code, every right one loads, no code is missing."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from reference.project import ROOT
from typer.testing import CliRunner

from dxgeom.cli.main import app
from dxgeom.errors import FileMistakes
from dxgeom.policy.policy import parse_policy
from dxgeom.policy.source.mistakes import CODES
from dxgeom.queries.queries_file import parse_queries

REFERENCE = ROOT / "docs" / "reference" / "errors.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ABOUT_QUERIES = ("records", "body", "queries", "tasks")


class Section(NamedTuple):
    code: str
    text: str
    language: str
    wrong: str
    right: str


def read():
    head, *rest = re.split(r"^### ", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = []
    for text in rest:
        (language, wrong), (_, right) = BLOCK.findall(text)
        sections.append(Section(text[:5], text, language, wrong, right))
    blocks = BLOCK.findall(head)
    (policy,) = [text for language, text in blocks if language == "yaml"]
    return policy, [text for language, text in blocks if language == "csv"], sections


POLICY, TABLES, SECTIONS = read()


def by_key(text):
    """The lines of each top-level key."""
    parts = re.split(r"^(?=[a-z]+:)", text, flags=re.MULTILINE)
    return {part.split(":")[0]: part for part in parts if part}


def load(example, folder):
    """The example's keys in place of the usual policy's; its queries, if it has any, over that policy."""
    shown = by_key(example)
    written = {**by_key(POLICY), **{key: text for key, text in shown.items() if key not in ABOUT_QUERIES}}
    policy = parse_policy("".join(written.values()), folder=folder)
    queries = "".join(text for key, text in shown.items() if key in ABOUT_QUERIES)
    return parse_queries(queries, policy, folder=folder) if queries else policy


@pytest.fixture
def folder(tmp_path):
    inner = tmp_path / "policies" / "clinic"
    inner.mkdir(parents=True)
    for name, text in zip(("places.csv", "twice.csv", "roads.csv"), TABLES, strict=True):
        (inner / name).write_text(text, encoding="utf-8")
    (inner / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return inner


FILES = [section for section in SECTIONS if section.language == "yaml"]


@pytest.mark.parametrize("section", FILES, ids=lambda section: section.code)
def test_a_wrong_example_gets_its_code_and_no_other(section, folder):
    with pytest.raises(FileMistakes) as caught:
        load(section.wrong, folder)
    assert {mistake.code for mistake in caught.value.diagnostics} == {section.code}


@pytest.mark.parametrize("section", FILES, ids=lambda section: section.code)
def test_a_right_example_loads(section, folder):
    assert load(section.right, folder) is not None


def test_an_example_that_is_a_command_gets_its_code_or_runs(folder, monkeypatch):
    (section,) = [section for section in SECTIONS if section.language == "sh"]
    monkeypatch.chdir(folder.parent.parent)
    wrong, right = (CliRunner().invoke(app, line.split()[1:]) for line in (section.wrong, section.right))
    assert (wrong.exit_code, right.exit_code) == (1, 0)
    assert f": {section.code}: " in wrong.stderr


def test_no_code_is_missing_and_each_stands_with_its_meaning():
    assert [section.code for section in SECTIONS] == sorted(CODES)
    for section in SECTIONS:
        assert CODES[section.code].lower() in section.text.lower()
