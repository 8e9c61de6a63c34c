"""Plan files and ledgers of every kind of question and noise, as version 0.2.1 wrote them: what is made of them now is
the same; answers and fingerprints byte for byte, error bars up to the rounding of float64."""

from __future__ import annotations

import json
from functools import cache

import pytest

import dxgeom as dx
from dxgeom.ledger.history import verify_ledger
from golden.kinds import keeping
from golden.kinds.other_releases import other_releases
from golden.kinds.recipes import VARIANTS
from golden.recording import SEARCHED, here_as_recorded

OTHERS = {(ledger, name): release for ledger, name, release in other_releases()}
LEDGERS = sorted(path.stem for path in keeping.LEDGERS.iterdir())
SOLVED = ("optimal", "bracketed", "of a database", "parallel")
"""Answers whose probabilities a linear programme finds in float64."""
FITTED = "adaptive"
"""Answers that are a model's, which a search in float64 fits to what was measured."""
NOT_AS_WRITTEN = {
    "words, stacked in Python": "'rounding' has an empty 'stepped'",
}
"""Plans that version 0.2.1 told otherwise by ``to_json`` than their files have it; saved again, they are the same."""


def variant(name):
    rest = name.partition(", ")[2]
    return max((one for one in VARIANTS if rest.startswith(f"{one}, ")), key=len, default="")


def seldom(names, often):
    """The names, of which those that are tried often are not marked."""
    return [pytest.param(name, marks=[] if often(name) else pytest.mark.long) for name in names]


def is_read_often(name):
    return variant(name) in ("", "pure", "concentrated, presence")


def is_released_often(name):
    """Every noise once, but for those that take longest."""
    normal = variant(name) == "concentrated, presence" and name.endswith("gaussian")
    seldom = name.endswith(("rejection", "body")) or (variant(name) == "" and name != "words, every word")
    seldom = seldom or name.startswith(FITTED)
    return (variant(name) in ("", "pure") or normal) and not seldom


@cache
def first_of_ledgers():
    """The first plan that was released into each ledger."""
    return {keeping.ledger_of(name): name for name in sorted(keeping.names(), reverse=True)}


def is_shown_often(name):
    """One of each ledger that is quickly shown, and tasks of several kinds."""
    slow = ("cells", "intervals", FITTED)
    quick = name == first_of_ledgers()[keeping.ledger_of(name)] and not name.startswith(slow)
    return quick or name.startswith("tasks, pure, s") or name == "words, every word"


@cache
def loaded(name):
    return dx.load_plan(keeping.plan_file(name))


def without(document, *keys):
    return {key: value for key, value in document.items() if key not in keys}


@pytest.mark.parametrize("name", seldom(keeping.names(), is_read_often))
def test_a_recorded_plan_is_loaded_and_saved_again_byte_for_byte(name, tmp_path):
    text = keeping.plan_file(name).read_text("ascii")
    document, plan = json.loads(text), loaded(name)
    assert (plan.fingerprint, plan.digest) == (document["fingerprint"], document["digest"])
    assert plan.to_json() == text or name in NOT_AS_WRITTEN
    dx.save_plan(plan.plan, tmp_path / "again.json", policy=plan.policy, spend=plan.spend)
    again = (tmp_path / "again.json").read_text("ascii")
    assert keeping.same(*(without(json.loads(one), "digest") for one in (again, text)))


def told_of(name):
    """What its ledger has of a release, and what is shown of it."""
    shown = keeping.recorded_words(keeping.ledger_of(name))["entries"].values()
    return keeping.recorded(keeping.ledger_of(name))[name], next(one for one in shown if one["key"] == name)


@pytest.mark.parametrize("name", seldom(keeping.names(), is_released_often))
def test_a_recorded_plan_gives_the_recorded_answers(name, tmp_path):
    if name.startswith(FITTED) and not here_as_recorded():
        pytest.skip("a model is fitted in float64, and this machine rounds otherwise than the one that recorded")
    with keeping.at_noon():
        keeping.released(loaded(name), name, tmp_path / "ledger.db")
    found, (recorded, shown) = keeping.stored(tmp_path / "ledger.db")[name], told_of(name)
    assert keeping.same(found["kept"], recorded["kept"])
    assert keeping.same(keeping.since(recorded, found), shown["since"])


@pytest.mark.parametrize("name", seldom(keeping.names(), is_shown_often))
def test_a_recorded_release_is_found_again_and_shown_as_it_was(name, tmp_path):
    path, (recorded, shown) = keeping.copied(keeping.ledger_of(name), tmp_path), told_of(name)
    before = path.read_bytes()
    again = keeping.found_again(loaded(name), name, path).as_dict()
    assert again["repeated"]
    assert again["remaining"] == recorded["remaining"]
    assert keeping.same(keeping.since(recorded, again), shown["since"])
    assert keeping.same(keeping.shown_release(name, path), shown["release"])
    require_shown(path, again["ledger"]["entry"], shown, recorded)
    assert path.read_bytes() == before


def require_shown(path, entry, told, stored):
    """That the entry of a ledger is shown as it was; what was refused may be shown by now."""
    for how, lines in told["entry"].items():
        assert not lines or keeping.lines_of(path, "ledger", "show", path, "--entry", entry, "--format", how) == lines
    if stored is not None:
        lines = keeping.lines_of(path, "ledger", "show", path, "--entry", entry, "--format", "json")
        assert json.loads("\n".join(lines))["answer"] == stored


@pytest.mark.parametrize("ledger", LEDGERS)
def test_a_recorded_ledger_holds_and_is_shown_as_it_was(ledger, tmp_path):
    path = keeping.copied(ledger, tmp_path)
    before = path.read_bytes()
    verify_ledger(str(path))
    assert keeping.lines_of(path, "ledger", "verify", path)
    shown = keeping.recorded_words(ledger)
    for how, lines in shown["whole"].items():
        assert keeping.lines_of(path, "ledger", "show", path, "--format", how) == lines
    for entry, told in shown["entries"].items():
        if "release" not in told:
            require_shown(path, entry, told, keeping.recorded(ledger).get(told["key"]))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("ledger", "name"),
    [pytest.param(*one, marks=[pytest.mark.long] if one[0].startswith("mechanisms") else []) for one in OTHERS],
)
def test_what_has_no_plan_file_is_released_and_found_again_as_recorded(ledger, name, tmp_path):
    with keeping.at_noon():
        OTHERS[ledger, name](tmp_path / "new.db", name)
    found, recorded = keeping.stored(tmp_path / "new.db")[name], keeping.recorded(ledger)[name]
    since = keeping.since(recorded, found)
    # What holds of errors, and what an answer is about: releases say it since they were recorded.
    since = {place: now for place, now in since.items() if place.rpartition(".")[2] not in ("notes", "query", "group")}
    if name in (*SEARCHED, *SOLVED) and "plan_fingerprint" in since:
        pytest.skip("its law is searched for, and this machine, or where its numbers lay in memory, led to another")
    assert not since
    assert keeping.same(found["kept"], recorded["kept"])
    path = keeping.copied(ledger, tmp_path)
    before = path.read_bytes()
    again = OTHERS[ledger, name](path, name)
    assert again.repeated
    assert path.read_bytes() == before
