"""Charge, draw, store, show: what was paid for is found again, whatever fails afterwards."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas
import pytest
from reference.mechanisms import CASES

import dxgeom as dx
from dxgeom.errors import AlreadyCharged, DxgeomError, LedgerError
from dxgeom.ledger.entry import NEW_LEDGER
from dxgeom.ledger.history import read_answer, read_ledger, verify_ledger
from dxgeom.mechanisms.contract.composition import followed_by, in_sequence
from dxgeom.mechanisms.contract.mechanism import decoded_numbers, fraction_bytes, kept_numbers
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.selection.selections import selection

METRIC = dx.verify_metric([[0, 1], [1, 0]])
QUERIES = dx.LinearQueries.from_matrix(["those of a", "both"], [[1, 0], [1, 1]])


@pytest.fixture(scope="module")
def plan():
    return dx.plan(METRIC, QUERIES)


def raises(error):
    def function(*_):
        raise error

    return function


def test_a_key_returns_the_release_as_it_was_and_reads_no_data(tmp_path, plan):
    asked = {"ledger": tmp_path / "a.db", "spend": Fraction(1, 4), "id": "monday"}
    first = plan.release([30, 12], **asked)
    plan.release([30, 12], ledger=tmp_path / "a.db", spend=Fraction(1, 4))
    again = plan.release("nowhere.csv", **asked)
    assert (first.repeated, again.repeated) == (False, True)
    assert again.as_dict(0.8) == {**first.as_dict(0.8), "repeated": True}
    assert again.exact_values == first.exact_values
    assert np.array_equal(again.intervals(0.9), first.intervals(0.9))
    assert (again.time, again.spent, again.remaining) == (first.time, Fraction(1, 4), Fraction(3, 4))
    assert len(read_ledger(tmp_path / "a.db").entries) == 2


def test_a_key_of_another_plan_or_spend_is_refused_before_data_are_read(tmp_path, plan):
    place = tmp_path / "a.db"
    plan.release([30, 12], ledger=place, spend="0.25", id="monday")
    other = dx.plan(METRIC, dx.LinearQueries.from_matrix(["those of a"], [[1, 0]]))
    for wrong, spend, words in ((other, "0.25", "another plan"), (plan, "0.5", "another spend")):
        with pytest.raises(LedgerError, match=words):
            wrong.release("nowhere.csv", ledger=place, spend=spend, id="monday")
    assert len(read_ledger(place).entries) == 1


def test_a_key_that_was_charged_and_not_answered_is_not_drawn_again(tmp_path, plan, monkeypatch):
    asked = {"ledger": tmp_path / "a.db", "spend": Fraction(1, 4), "id": "monday"}
    with monkeypatch.context() as patch:
        patch.setattr(AdditiveMechanism, "draw", raises(MemoryError("no memory")))
        with pytest.raises(AlreadyCharged, match=r"MemoryError: no memory; entry 1 .*charged but not answered") as told:
            plan.release([30, 12], **asked)
        assert told.value.entry == 1
    with pytest.raises(LedgerError, match=r"'monday' was charged but not answered, as entry 1.*counts as spent"):
        plan.release([30, 12], **asked)
    assert read_ledger(tmp_path / "a.db").entries[-1].remaining == Fraction(3, 4)
    with pytest.raises(KeyboardInterrupt) as stopped, monkeypatch.context() as patch:
        patch.setattr(AdditiveMechanism, "draw", raises(KeyboardInterrupt()))
        plan.release([30, 12], ledger=tmp_path / "a.db", spend="0.25")
    assert "entry 2" in stopped.value.__notes__[0]


def test_a_release_says_its_entry_and_seal_and_the_ledger_agrees(tmp_path, plan):
    place = tmp_path / "our ledger.db"
    released = plan.release([30, 12], ledger=str(place), spend="0.25")
    booking = released.receipt
    assert released.as_dict()["ledger"] == {"file": str(place), "entry": 1, "seal": booking.seal, "warning": NEW_LEDGER}
    assert verify_ledger(place, seal=(booking.entry, booking.seal)).entries[0].spend == Fraction(1, 4)
    assert booking.command == f"dxgeom ledger show '{place}' --entry 1"
    with dx.Ledger.at(place, plan.mechanism.account) as ledger:
        second = plan.release([30, 12], ledger=ledger, spend="0.25")
    assert second.receipt.ledger == str(place)
    assert "ledger" not in plan.release([30, 12], ledger=":memory:", spend="0.25").as_dict()


def test_what_is_stored_is_what_is_shown(tmp_path, plan):
    place = tmp_path / "a.db"
    released = plan.release([30, 12], ledger=place, spend="0.25")
    stored = json.loads(read_answer(place, 1))
    assert stored.pop("kept") == [str(value) for value in released.exact_values]
    assert stored == {
        key: told for key, told in json.loads(released.to_json()).items() if key not in ("ledger", "format")
    }
    history = read_ledger(place)
    assert history.answers[1].size <= history.entries[0].reserved < 5 * history.answers[1].size


def test_the_public_form_has_nothing_that_only_the_curator_may_see(tmp_path):
    policy = dx.parse_policy("policy: p\nuniverse: {attributes: {x: [a, b]}}\nrules: [{change: x, epsilon: 1}]")
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"queries": [{"name": "a", "count": "x == 'a'"}]}, policy))
    table = pandas.DataFrame({"x": ["a"] * 30 + ["c"] * 7})
    where = tmp_path / "secret place.db"
    released = plan.release(
        table, ledger=where, spend="0.25", outside="drop", purpose="secret purpose", id="secret key"
    )
    public = json.dumps(released.public_dict())
    assert not [word for word in ("secret", "dropped", released.time, str(tmp_path)) if word in public]
    assert released.public_dict()["ledger"] == {"entry": 1, "seal": released.receipt.seal}
    assert released.public_dict()["answers"] == released.as_dict()["answers"]


def test_a_function_that_raises_does_not_cost_the_answer(tmp_path):
    pick = selection(METRIC, QUERIES)
    broken = followed_by(in_sequence([pick, followed_by(pick, lambda one: 1 // 0, "inner")]), tuple, "outer")
    place = tmp_path / "a.db"
    with pytest.raises(AlreadyCharged, match=r"ZeroDivisionError.*paid for and stored, as entry 1.*ledger show"):
        dx.release(broken, [3000, 1200], ledger=place, spend="0.25", id="monday")
    assert json.loads(read_answer(place, 1))["kept"] == [1, 1]
    mended = followed_by(in_sequence([pick, followed_by(pick, lambda one: one * 100, "inner")]), list, "outer")
    released = dx.release(mended, None, ledger=place, spend="0.25", id="monday")
    assert (released.answer, released.repeated) == ([1, 100], True)
    assert len(read_ledger(place).entries) == 1


def test_an_answer_that_has_no_form_is_stored_as_text(tmp_path):
    class Odd:
        def as_dict(self):
            raise ValueError("I never wanted to be seen")

        def __repr__(self):
            return "an odd answer"

    pick = selection(METRIC, QUERIES)
    object.__setattr__(pick, "draw", lambda *_: Odd())
    released = dx.release(pick, [30, 12], ledger=tmp_path / "a.db", spend="0.25", id="monday")
    assert repr(released.answer) == "an odd answer"
    stored = json.loads(read_answer(tmp_path / "a.db", 1))
    assert stored == {"not shown": "ValueError: I never wanted to be seen", "answer": "an odd answer"}
    with pytest.raises(LedgerError, match=r"entry 1 was kept as text.*ledger show"):
        dx.release(pick, [30, 12], ledger=tmp_path / "a.db", spend="0.25", id="monday")


def test_an_answer_is_stored_as_text_whatever_fails_in_writing_it_exactly(tmp_path):
    pick = selection(METRIC, QUERIES)
    object.__setattr__(pick, "encode_answer", lambda answer: list(None))
    released = dx.release(pick, [3000, 1200], ledger=tmp_path / "a.db", spend="0.25")
    stored = json.loads(read_answer(tmp_path / "a.db", 1))
    assert "kept" not in stored
    assert stored["answer"] == released.as_dict()["answer"]


def test_what_cannot_be_stored_is_not_shown(tmp_path, plan, monkeypatch):
    monkeypatch.setattr(dx.Ledger, "store", raises(LedgerError("the disk broke")))
    with pytest.raises(AlreadyCharged, match=r"the disk broke; entry 1 .* was charged but not answered"):
        plan.release([30, 12], ledger=tmp_path / "a.db", spend="0.25")


@pytest.mark.parametrize("wrong", [[30], "nowhere.csv", None])
def test_whatever_can_refuse_does_so_before_the_charge(tmp_path, plan, wrong):
    with pytest.raises(DxgeomError):
        plan.release(wrong, ledger=tmp_path / "a.db", spend="0.25", id="monday")
    with pytest.raises(DxgeomError):
        plan.release([30, 12], ledger=tmp_path / "a.db", spend="0.25", id="")
    with pytest.raises(TypeError, match="'id' is of type str"):
        plan.release([30, 12], ledger=tmp_path / "a.db", spend="0.25", id=7)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", CASES)
def test_the_answer_of_every_mechanism_is_stored_in_the_room_it_asked_for_and_made_again(tmp_path, name):
    case = CASES[name]
    mechanism = case.make()
    asked = {"ledger": tmp_path / "a.db", "spend": case.spend, "id": "monday"}
    first = dx.release(mechanism, case.data, **asked)
    again = dx.release(mechanism, None, **asked)
    assert again.as_dict() == {**first.as_dict(), "repeated": True}
    bare = mechanism.without_functions
    assert bare.encode_answer(bare.decode_answer(bare.encode_answer(drawn(bare, case)))) == bare.encode_answer(
        drawn(bare, case)
    )
    history = read_ledger(tmp_path / "a.db")
    assert history.answers[1].size <= history.entries[0].reserved


def drawn(mechanism, case):
    from dxgeom.numeric.randomness import InsecureSeededRandomness

    return mechanism.draw(case.data, case.spend, InsecureSeededRandomness(4))


def test_numbers_are_kept_exactly():
    answer = (1, Fraction(-7, 3), (Fraction(4), np.int64(2)), ())
    assert decoded_numbers(json.loads(json.dumps(kept_numbers(answer)))) == (1, Fraction(-7, 3), (4, 2), ())


def test_no_fraction_is_longer_than_its_bound():
    numbers = [
        *range(1, 70),
        *(base**power + more for base in (2, 10) for power in range(1, 90) for more in (-1, 0, 1)),
    ]
    for numerator in numbers:
        for denominator in numbers[::7]:
            assert len(f"-{numerator}/{denominator}") <= fraction_bytes(numerator, denominator)


def test_the_largest_answers_fit_the_room_that_was_made_for_them(plan):
    """2⁶³ − 1 records, of weights as large as they may be, and noise of 64 bits."""
    for mechanism in (plan.mechanism, dx.plan(METRIC, QUERIES, mechanism="hull").mechanism):
        weights = mechanism.sensitivity.queries.steps
        worst = tuple(-step * (Fraction(2**115) + Fraction(2**63) * 2 + Fraction(1, 3)) for step in weights)
        assert len(json.dumps(kept_numbers(worst))) < mechanism.answer_bytes(Fraction(1))
