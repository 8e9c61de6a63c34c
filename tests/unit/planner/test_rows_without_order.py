"""Rows of people without an order, and one row each: what policies, releases, files and explanations say of them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.disclosure.all_releases import disclosed_loss
from dxgeom.engines.likenesses import repeated_identifiers
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.history import read_ledger
from dxgeom.policy.syntax.schema import policy_schema
from dxgeom.policy.syntax.writing import write_policy
from dxgeom.report.short_policy import policy_screen
from dxgeom.report.short_release import release_screen
from dxgeom.universe.people.people import MOST_SPREAD, SHARES, People

ROOMS = ["a", "b", "c"]
SPREAD = {"column": "user", "count": "rows", "at_most": 2}
VISITS = pa.table({"user": [1, 1, 1, 1, 2, 3, 3], "room": ["a", "a", "b", "c", "a", "b", "c"]})


def policy_of(people: Any = None, presence: bool = False) -> dx.Policy:
    rules: list[dict[str, Any]] = [{"change": "room", "epsilon": 1}]
    rules += [{"presence": True, "epsilon": "0.75"}] if presence else []
    told = {"policy": "visits", "universe": {"attributes": {"room": ROOMS}}, "rules": rules, "budget": 100}
    return dx.Policy.from_dict({**told, **({} if people is None else {"people": people})})


def plan_of(policy: dx.Policy) -> Any:
    asked: Any = dx.queries_from_dict({"queries": [{"marginal": ["room"]}]}, policy)
    return dx.plan(policy.compile(), asked, mechanism="laplace")


def test_a_release_counts_rows_and_says_what_they_are(tmp_path: Path) -> None:
    policy = policy_of(SPREAD)
    release = plan_of(policy).release(VISITS, ledger=tmp_path / "visits.db", spend=100, insecure_test_seed=1)
    # User 1 counts two: a half each of four rows.
    assert release.records == 5
    assert release.values == pytest.approx([2, 1.5, 1.5], abs=0.3)
    told = release.as_dict()
    assert told["records_are"] == "rows of people (at most 2 of each)"
    assert (told["dropped_rows"], told["dropped_people"]) == (None, 0)
    for said in ("never more than 2", "spread evenly", "Error bars cover neither", "up to 2 is public"):
        assert said in told["people"]
    with pytest.raises(UnsupportedCombination, match="spread over their rows"):
        release.consistent(integers=True)
    found = disclosed_loss(read_ledger(tmp_path / "visits.db"), policy)
    assert any("of every row that counts" in line for line in found.people) and found.of_any < 200


def test_noise_is_that_of_rows_in_order_and_people_who_count_once_get_a_part_of_it() -> None:
    ordered, once = ({**SPREAD, "order": "at"}, {"column": "user", "count": "once"})
    spread, same, less = (plan_of(policy_of(people)).rmse(1) for people in (SPREAD, ordered, once))
    assert spread == pytest.approx(same, rel=1e-4) and spread == pytest.approx(2 * less, rel=1e-4)


@pytest.mark.parametrize("presence", [False, True])
def test_a_policy_says_who_is_a_neighbour_and_what_is_public(presence: bool) -> None:
    text = "\n".join(policy_of(SPREAD, presence).review().lines())
    assert ("the number of rows is private" in text) == presence
    assert ("nothing limits what may be learnt of it" in text) != presence
    assert "as many, or at least 2 before and after" in text or presence
    assert "part in 2 of the earth mover's" in text


def test_two_people_are_a_part_of_the_earth_movers_distance_apart() -> None:
    room = [{"room": name} for name in ROOMS]
    here, there = policy_of(SPREAD), policy_of(SPREAD, presence=True)
    found = here.explain_people([room[0], room[0], room[1]], [room[0], room[1]])
    assert found.distance == Fraction(1, 6) and "1/6" in "\n".join(map(str, found.moves))
    # One row of two is on absence, and from there to a room 0.75 is the way.
    assert there.explain_people([room[0]], [room[0], room[1]]).distance == Fraction(3, 8)
    assert there.explain_people([], [room[2]] * 7).distance == Fraction(3, 4)
    with pytest.raises(DataError, match="is public here: compare people with as many each"):
        here.explain_people([room[0]], [room[0], room[1]])
    assert here.explain_people([room[0]] * 2, [room[1]] * 9).distance == 1


def test_plan_files_keep_how_rows_count(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(write_policy(json.loads(json.dumps(_document()))).content)
    (tmp_path / "q.yaml").write_text("queries:\n  - marginal: [room]\n")
    policy = dx.load_policy(tmp_path / "p.yaml")
    plan: Any = dx.plan(policy.compile(), dx.load_queries(tmp_path / "q.yaml", policy), mechanism="laplace")
    dx.save_plan(plan, tmp_path / "plan.json", policy=policy)
    again: Any = dx.load_plan(tmp_path / "plan.json")
    assert again.metric.people == People("user", "rows", 2) and again.fingerprint == plan.fingerprint
    seeded = {"ledger": ":memory:", "spend": 1, "insecure_test_seed": 3}
    assert again.release(VISITS, **seeded).values.tolist() == plan.release(VISITS, **seeded).values.tolist()


def _document() -> dict[str, Any]:
    rules = [{"change": "room", "epsilon": 1}]
    return {"policy": "visits", "universe": {"attributes": {"room": ROOMS}}, "rules": rules, "people": SPREAD}


def test_people_that_do_not_fit_are_refused() -> None:
    assert People("user", "rows", 3).digest == ["user", "rows", 3, None, SHARES]
    assert People("user", "rows", 3, "at").digest == ["user", "rows", 3, "at", 1]
    for at_most in (0, None, MOST_SPREAD + 1):
        with pytest.raises(UnsupportedCombination, match="at most 4,194,304 rows of a person"):
            People("user", "rows", at_most)
    assert People("user", "rows", MOST_SPREAD + 1, "at").most_rows == MOST_SPREAD + 1


def test_one_row_each_is_the_assumption_said_aloud_and_silences_the_warning() -> None:
    silent, aloud = policy_of(), policy_of("one row each")
    assert aloud.fingerprint == silent.fingerprint and aloud.universe.digest == silent.universe.digest
    assert repeated_identifiers(VISITS, silent.universe) == ("user",)
    assert repeated_identifiers(VISITS, aloud.universe) == ()
    for policy in (silent, aloud):
        assert "Assumed: every person has exactly one record." in "\n".join(policy.review().lines())
    assert "'people: one row each'" in plan_of(silent).release(VISITS, ledger=":memory:", spend=1).warnings[0]
    release = plan_of(aloud).release(VISITS, ledger=":memory:", spend=1)
    assert release.warnings == ()
    screens = [policy_screen(policy, policy.review()) for policy in (silent, aloud)]
    screens += [release_screen(release, policy=policy) for policy in (silent, aloud)]
    shown = [" ".join(" ".join(screen.lines()).split()) for screen in screens]
    stated = "Each row is another person's, as the policy states; nothing checks it."
    assert [stated in one for one in shown] == [False, True, False, True]
    assert ["▲ Each person" in one for one in shown] == [True, False, True, False]
    people = policy_schema()["properties"]["people"]
    assert {"const": "one row each"} in people["anyOf"] and len(people["anyOf"]) == 2
