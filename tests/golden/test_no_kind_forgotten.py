"""Every kind of question, of task, of noise and of answer has a recorded plan file, or a ledger, or a reason here."""

from __future__ import annotations

import json
from typing import get_args

import pytest
from reference.mechanisms import CASES

import dxgeom as dx
from dxgeom.kinds.registry import kinds
from dxgeom.lab.task import WORDS
from dxgeom.plan_files.box_plans import BoxNoisePart
from dxgeom.plan_files.codec import codec_of
from dxgeom.plan_files.laws import ALONG, IN_BOXES, JUMPS, KINDS, SCALES
from dxgeom.plan_files.table_plans import TableNoisePart
from dxgeom.planner.candidates import names as candidates
from dxgeom.planner.wish import NAMED_FAMILIES
from dxgeom.queries.syntax import KINDS as QUERY_WORDS
from dxgeom.queries.tasks.grammar import task_kinds
from golden.kinds import keeping
from golden.kinds.other_releases import FOR_ONE_SPEND, KEPT, other_releases
from golden.recording import HERE as ANSWERS

NOT_IN_FILES = {
    "DifferencedNormals": "a law of noise in tables, which follows from its scales",
    "KroneckerNormals": "a law of noise along bases, which follows from its scales and bases",
    "CrossPolytope": "its noise is written as LaplaceNoise",
    "FreeSum": "its noise is written as ProductNoise, of its parts'",
    "LinearImage": "its noise is written as LinearImageNoise",
}
SINCE = {
    "toeplitz-gaussian",
    "adaptive tables",
    "adaptive tables on a histogram",
    "noisy keys along a tree",
    "noisy keys that nobody listed",
}
"""Noise that is younger than what was recorded; tests/unit/mechanisms/parts/test_running_totals.py tries its files."""

ALONG_TIME = {"every", "total", "window", "against"}
"""Boxes along a policy's time, with the plans of other boxes; tests/unit/queries/test_over_time.py counts them."""


@pytest.fixture(scope="module")
def documents():
    return {name: json.loads(keeping.plan_file(name).read_text("ascii")) for name in keeping.names()}


def every(thing, key):
    """Whatever stands behind a key, anywhere in a document."""
    if isinstance(thing, dict):
        for name, value in thing.items():
            if name == key:
                yield value
            yield from every(value, key)
    elif isinstance(thing, list):
        for value in thing:
            yield from every(value, key)


def test_every_kind_of_plan_has_a_file():
    names = ("words, errors", "tables, pure, errors, marginal-laplace", "boxes, pure, errors", "quantiles, groups")
    found = {dx.load_plan(keeping.plan_file(name)).kind for name in (*names, "tasks, pure, select")}
    assert found == {kind for kind in kinds() if codec_of(kind) is not None}


def test_every_noise_on_listed_answers_has_a_file(documents):
    named = {name: one["mechanism"]["name"] for name, one in documents.items() if "mechanism" in one}
    present, once = ({named[name] for name in named if f", {how}, " in name} for how in ("presence", "once"))
    assert set(named.values()) == once == set(candidates()) - SINCE
    assert set(candidates()) - SINCE - present == {"changed-queries"}, "they need the public number of records"


def test_every_noise_in_tables_and_in_boxes_has_a_file(documents):
    for key, part in (("table_noise", TableNoisePart), ("box_noise", BoxNoisePart)):
        known = set(get_args(part.model_fields["name"].annotation)) - SINCE
        for how in ("", ", presence,", ", once,"):
            assert {one[key]["name"] for name, one in documents.items() if key in one and how in name} == known
    measured = [part for document in documents.values() for one in every(document, "measured") for part in one]
    assert "line" in measured
    assert any(isinstance(one, list) for one in measured)


def test_every_form_of_quantiles_has_a_file(documents):
    found = {form for one in documents.values() for forms in one.get("forms", ()) for form in forms}
    assert found == {"transport", "laplace"}


def test_every_law_and_every_body_has_a_file(documents):
    found = {kind for document in documents.values() for kind in every(document, "kind") if isinstance(kind, str)}
    assert {*KINDS, SCALES, JUMPS, ALONG, IN_BOXES} - found == set(NOT_IN_FILES)


def test_every_word_of_queries_and_of_tasks_has_a_file(documents):
    asked = [document["queries"]["written"] or {} for document in documents.values() if "queries" in document]
    queries = [query for written in asked for query in written.get("queries", ())]
    assert set(QUERY_WORDS) - ALONG_TIME <= {word for query in queries for word in query}
    tasks = [task for written in asked for task in written.get("tasks", ())]
    assert {kind.word for kind in task_kinds()} <= {word for task in tasks for word in task}
    for word, key, values in (
        ("select", "law", {"permute-and-flip", "exponential"}),
        ("small_database", "law", {"permute-and-flip", "exponential"}),
        ("fit", "", {"linear", "logistic"}),
    ):
        bodies = [task[word] for task in tasks if word in task]
        said = (
            {body.get(key, "permute-and-flip") for body in bodies} if key else {one for body in bodies for one in body}
        )
        assert values <= said


def test_every_plan_was_released_and_shown(documents):
    for name in documents:
        assert name in keeping.recorded(keeping.ledger_of(name))
        assert all(lines for lines in shown(name)["release"].values())


def shown(name):
    entries = keeping.recorded_words(keeping.ledger_of(name))["entries"]
    return next(one for one in entries.values() if one["key"] == name)


def test_every_answer_without_a_plan_file_is_in_a_ledger():
    others = {name for _, name, _ in other_releases()}
    assert set(CASES) - others - SINCE <= FOR_ONE_SPEND
    assert set(WORDS) <= others
    assert set(NAMED_FAMILIES) <= others
    for ledger, name, _ in other_releases():
        assert name in keeping.recorded(ledger)
    ledgers = {*map(keeping.ledger_of, keeping.names()), *KEPT, *(ledger for ledger, _, _ in other_releases())}
    assert (
        ledgers == {path.stem for path in keeping.LEDGERS.iterdir()} == {path.stem for path in keeping.SHOWN.iterdir()}
    )


def test_every_mechanism_is_recorded_by_itself_too():
    assert set(json.loads((ANSWERS / "mechanisms.json").read_text("utf-8"))) == set(CASES)
