"""Plan files of keys that nobody listed: whoever changes one gets what the changed words say, or nothing."""

from __future__ import annotations

import copy
import json
from fractions import Fraction

import pytest
from reference.forger import with_own_seals

import dxgeom as dx
from dxgeom.errors import PlanError
from dxgeom.ledger.history import verify_ledger
from dxgeom.plan_files.text.json_text import document_text

POLICY = {
    "policy": "pages",
    "universe": {"attributes": {"page": {"open": "text"}, "country": ["DE", "FR"]}},
    "rules": [{"presence": True, "epsilon": 1}],
    "budget": 9,
    "delta": "1e-3",
    "people": {"column": "user", "count": "rows", "at_most": 5, "order": "time"},
    "unconnected": "allow",
}
TASK = ("queries", "written", "tasks", 0)
ROWS = {"user": [*range(80)], "time": [1] * 80, "page": ["home"] * 80, "country": ["DE"] * 80}


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("plans") / "plan.json"
    policy = dx.Policy.from_dict(POLICY)
    tasks = dx.queries_from_dict({"tasks": [{"keys": ["page", "country"], "delta": "1e-6"}]}, policy)
    dx.save_plan(dx.plan(policy.compile(), tasks), path, policy=policy)
    return json.loads(path.read_text())


def changed(document, place, value):
    found = copy.deepcopy(document)
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    if value is None:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return found


def loaded(document, tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(document_text(document))
    return dx.load_plan(path)


def test_the_file_as_it_is_loads(document, tmp_path):
    (part,) = loaded(document, tmp_path).parts
    assert part.mechanism.delta == Fraction(1, 10**6)


FORGED = [
    ((*TASK, "delta"), "1e-2"),  # more than the policy allows
    ((*TASK, "delta"), "1"),
    ((*TASK, "delta"), "0"),
    ((*TASK, "delta"), "-1e-6"),
    ((*TASK, "delta"), "1e-400"),
    ((*TASK, "delta"), "nan"),
    ((*TASK, "delta"), 1e-6),
    ((*TASK, "delta"), ["1e-6"]),
    ((*TASK, "delta"), None),
    ((*TASK, "spurious"), "1"),
    ((*TASK, "at_least"), "2"),
    ((*TASK, "threshold"), "2"),
    ((*TASK, "rollup"), {"country": "0.5"}),
    ((*TASK, "keys"), ["page", "page"]),
    (("parts", 0, "threshold"), 2),
    (("parts", 0, "rows"), 1),
    (("parts", 0, "name"), "keys 2"),
    (("policy", "written", "delta"), None),
    (("policy", "written", "delta"), "1e-7"),  # less than the question's
    (("policy", "written", "delta"), "1"),
    (("policy", "written", "people", "at_most"), "5000"),
    (("policy", "written", "people", "at_most"), "0"),
    (("policy", "written", "people", "order"), None),  # a person may have any number of keys
    (("policy", "written", "people", "count"), "once"),
]


@pytest.mark.parametrize(("place", "value"), FORGED)
@pytest.mark.parametrize("sealed", [False, True])
def test_what_says_what_cannot_be_is_refused(document, tmp_path, place, value, sealed):
    forged = changed(document, place, value)
    with pytest.raises(PlanError):
        loaded(with_own_seals(forged) if sealed else forged, tmp_path)


OTHERS = [
    ((*TASK, "delta"), "1e-4", Fraction(1, 10**4), 5),
    ((*TASK, "delta"), "1e-9", Fraction(1, 10**9), 5),
    (("policy", "written", "people", "at_most"), "1", Fraction(1, 10**6), 1),
    (("policy", "written", "people"), "one row each", Fraction(1, 10**6), 1),
    (("policy", "written", "delta"), "0.5", Fraction(1, 10**6), 5),
    (("policy", "written", "rules", 0, "epsilon"), "3", Fraction(1, 10**6), 5),
]


@pytest.mark.parametrize(("place", "value", "delta", "rows"), OTHERS)
def test_what_says_something_else_is_another_plan_with_a_threshold_of_its_own(
    document, tmp_path, place, value, delta, rows
):
    """And where the policy is another, so is the account: the ledger of this one refuses it."""
    forged, spend = changed(document, place, value), Fraction(1)
    with pytest.raises(PlanError):
        loaded(forged, tmp_path)
    resealed = with_own_seals(forged)
    (part,) = loaded(resealed, tmp_path).parts
    mechanism = part.mechanism
    assert (mechanism.delta, mechanism.rows) == (delta, rows)
    threshold = mechanism.threshold(spend)
    assert mechanism.own(spend).delta(threshold) <= delta < mechanism.own(spend).delta(threshold - 1)
    assert resealed["fingerprint"] != document["fingerprint"]
    assert (resealed["policy"]["fingerprint"] != document["policy"]["fingerprint"]) == (place[0] == "policy")


@pytest.mark.long
def test_a_larger_delta_is_charged_as_such_and_another_policy_is_refused(document, tmp_path):
    ledger = str(tmp_path / "privacy.db")
    loaded(document, tmp_path).release(ROWS, ledger=ledger, spend=1)
    larger = with_own_seals(changed(document, (*TASK, "delta"), "1e-4"))
    loaded(larger, tmp_path).release(ROWS, ledger=ledger, spend=1)
    chances = [one.chance for one in verify_ledger(ledger).chances.values()]
    assert chances == [Fraction(1, 10**6), Fraction(1, 10**4)]
    other = with_own_seals(changed(document, ("policy", "written", "people", "at_most"), "1"))
    with pytest.raises(dx.errors.LedgerError, match="is kept for policy"):
        loaded(other, tmp_path).release(ROWS, ledger=ledger, spend=1)
