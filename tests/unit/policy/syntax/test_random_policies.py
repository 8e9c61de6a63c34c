"""Policies drawn from all words of the language, right and wrong: mistakes are told, and nothing else goes wrong."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings
from reference.json_schema import is_valid
from reference.plain_policy import exact_distances
from reference.random_documents import documents, sound, with_files, words_of, words_of_schema

import dxgeom as dx
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.policy.syntax.schema import policy_schema
from dxgeom.universe.universe import Universe

SCHEMA = policy_schema()
CELLS = (
    "x",
    "xyz",
    "q0",
    "g1",
    "n2",
    "0",
    "1",
    "2.5",
    "2024-01-08",
    "2024-01-09 23:30:00+00:00",
    "7.5",
    "",
    None,
    "é",
    "-1e9",
)
drawing = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_files(tmp_path_factory.mktemp("files"))


def read(document: Any, folder: Path) -> Policy | None:
    try:
        policy = dx.Policy.from_dict(document, folder=folder)
    except dx.PolicyError as error:
        assert error.diagnostics
        assert all(one.code.startswith("DX") and one.message for one in error.diagnostics)
        return None
    return policy


@pytest.mark.long
def test_no_word_of_the_language_is_forgotten(folder):
    """Each key is drawn wherever the schema has it, and each word is part of a policy that is right."""
    drawn: set[tuple[str, str]] = set()
    right: set[str] = set()
    known = {*words_of_schema(SCHEMA)}
    assert len(known) > 100
    assert {("PeopleSyntax", "order"), ("NearestSyntax", "at_most"), ("RangeSyntax", "zone"), ("", "weekday")} < known

    @settings(drawing, max_examples=2000)
    @given(sound() | documents())
    def draw(document: Any) -> None:
        used = {*words_of(document, SCHEMA, SCHEMA)}
        if used <= drawn and {word for _, word in used} <= right:
            return
        drawn.update(used)
        if read(document, folder) is not None:
            right.update(word for _, word in used)

    for rounds in range(10):  # one after another, as long as a word is missing
        if drawn < known or {word for _, word in known} - right:
            seed(rounds)(draw)()
    assert known - drawn == set()
    assert {word for _, word in known} - right == set()


@settings(drawing, max_examples=150)
@given(documents())
def test_whatever_is_stated_is_read_or_told_to_be_wrong(folder, document):
    policy = read(document, folder)
    if policy is None:
        return
    assert is_valid(document, SCHEMA)
    again = parse_policy(policy.to_yaml(), folder=folder)
    assert (again.fingerprint, again.to_yaml()) == (policy.fingerprint, policy.to_yaml())
    assert policy.review().as_dict() and policy.data_set == again.data_set
    try:
        metric = policy.compile()
    except dx.UnsupportedCombination:
        return
    assert metric.fingerprint == again.compile().fingerprint
    planned = dx.plan(metric, dx.parse_queries("queries: [{count: 'true'}]", policy))
    try:
        rehearsed = planned.rehearse(spend="1/4")
    except dx.UnsupportedCombination as error:
        assert policy.resolved.document.known and "public numbers say all" in str(error)
        return
    assert rehearsed.rehearsal and len(rehearsed.values) == 1


def test_an_attribute_that_may_be_missing_is_advised_as_any_other():
    found = {"policy": "p", "universe": {"attributes": {"w": {"values": ["x", "y"], "missing": "public"}}}, "rules": []}
    with pytest.raises(dx.PolicyError, match=r"DX150(.|\n)*add a rule 'change: w'"):
        dx.Policy.from_dict(found)


def twins_know(document: Any) -> bool:
    """The twin reads graphs with lengths and named nodes only."""
    stated = document["universe"]["attributes"].values()
    return all({"length", "nodes"} <= {*one} for one in stated if "graph" in one)


@pytest.mark.long
@settings(drawing, max_examples=300)
@given(documents().filter(twins_know))
def test_the_metric_is_that_of_the_exact_twin(folder, document):
    policy = read(document, folder)
    if policy is None or policy.universe.size > 150:
        return
    people = policy.universe.reading.people
    rows = 1 if people is None or people.count != "rows" else people.at_most
    every = np.arange(policy.universe.size)
    found = policy.compile().distance(every[:, None], every[None, :])
    for row, exact in zip(found.tolist(), exact_distances(policy, folder), strict=True):
        for one, of_a_person in zip(row, exact, strict=True):
            other = of_a_person / rows
            assert one == other or other * (1 - 1e-9) - 1e-12 <= one <= other


@settings(drawing, max_examples=80)
@given(documents())
def test_every_row_is_read_or_told_to_be_outside(folder, document):
    policy = read(document, folder)
    if policy is None:
        return
    universe: Universe = policy.universe
    reading = universe.reading
    columns = [column for one in reading.attributes for column in one.columns]
    choose = random.Random(str(sorted(columns)))
    table = {column: [choose.choice(CELLS) for _ in range(30)] for column in columns}
    table |= {"who": [str(row % 7 + 1) for row in range(30)], "at": [str(row) for row in range(30)]}
    try:
        found = histogram_of_table(pa.table(table), universe, outside="drop")
    except dx.DataError as error:
        assert str(error)
        return
    assert found.counts.sum() == found.total
