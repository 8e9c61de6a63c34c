"""What every mechanism promises; one that is missing among the cases fails the last tests."""

from __future__ import annotations

import json
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from reference.mechanisms import CASES, every_mechanism
from reference.project import GUIDE

import dxgeom as dx
from dxgeom.audit.observed_losses import observed_loss
from dxgeom.errors import BudgetExceeded, DataError, DxgeomError, UnsupportedCombination
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.composition import histogram_readers
from dxgeom.numeric.randomness import InsecureSeededRandomness

DOCUMENT = GUIDE / "mechanisms.md"
ERROR = 1e-10
pytestmark = pytest.mark.parametrize("name", CASES)


def plain(answer):
    """What can be compared of an answer."""
    return answer.as_dict() if hasattr(answer, "as_dict") else answer


@cache
def made(name):
    """One for all tests: a mechanism is frozen."""
    return CASES[name].make()


@pytest.fixture(scope="module")
def every():
    """All, made before a test that compares one with them is timed."""
    return {name: made(name) for name in CASES}


def opened(mechanism):
    account = mechanism.account
    return Ledger.open(
        ":memory:",
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        privacy_measure=account.privacy_measure,
        delta=account.delta,
    )


def audited(name, factor=1):
    """What an audit finds at ``factor`` times the spend for each of the other data, and what the spend allows."""
    case, mechanism = CASES[name], made(name)
    answers = [
        mechanism.draws(data, case.spend * factor, case.draws, InsecureSeededRandomness(seed))
        for seed, data in enumerate([case.data, *(other for other, _ in case.others)])
    ]
    for there, (other, distance) in zip(answers[1:], case.others, strict=True):
        views = [case.view(mechanism, sample, case.data, other) for sample in (answers[0], there)]
        yield observed_loss(*views, ERROR).nats, float(case.spend * distance)


def test_it_knows_its_name_and_has_a_fingerprint_of_its_own(name, every):
    mechanism = made(name)
    assert str(mechanism) == name
    assert mechanism.fingerprint == CASES[name].make().fingerprint
    assert [other for other in CASES if every[other].fingerprint == mechanism.fingerprint] == [name]


def test_a_release_charges_the_spend_and_then_draws_by_the_law(name):
    case = CASES[name]
    mechanism = made(name)
    with opened(mechanism) as ledger:
        release = dx.release(mechanism, case.data, ledger=ledger, spend=case.spend, insecure_test_seed=5)
        left = Fraction(1, 2) if case.affordable == 2 else pytest.approx(0.75**0.5, rel=1e-9)
        assert (release.spent, release.remaining, release.secure) == (Fraction(1, 2), left, False)
        drawn = mechanism.draw(case.data, case.spend, InsecureSeededRandomness(5))
        assert plain(release.answer) == plain(drawn)
        (entry,) = ledger.entries()
        assert (entry.purpose, entry.plan_fingerprint) == (f"one answer by {name}", mechanism.fingerprint)
        for _ in range(case.affordable - 1):
            dx.release(mechanism, case.data, ledger=ledger, spend=case.spend)
        with pytest.raises(BudgetExceeded):
            dx.release(mechanism, case.data, ledger=ledger, spend=case.spend)


def test_only_what_was_made_for_one_spend_knows_its_spend(name):
    case = CASES[name]
    mechanism = made(name)
    if mechanism.only_spend is None:
        with pytest.raises(UnsupportedCombination, match="say how much"):
            dx.release(mechanism, case.data, ledger=":memory:")
    else:
        assert dx.release(mechanism, case.data, ledger=":memory:").spent == case.spend
        with pytest.raises(UnsupportedCombination, match="made for a spend of 1/2"):
            dx.release(mechanism, case.data, ledger=":memory:", spend=1)


def test_what_is_no_data_costs_nothing(name):
    case = CASES[name]
    mechanism = made(name)
    with opened(mechanism) as ledger:
        for wrong in case.wrong:
            with pytest.raises(DataError):
                mechanism.check(wrong, case.spend)
            # A histogram may be handed over as a list of counts, too: it is made an array of 64-bit integers.
            if not (isinstance(wrong, list) and histogram_readers(mechanism)):
                with pytest.raises(DataError):
                    dx.release(mechanism, wrong, ledger=ledger, spend=case.spend)
        assert ledger.spent() == 0


def test_a_tiny_spend_is_served_or_costs_nothing(name):
    case = CASES[name]
    mechanism = made(name)
    with opened(mechanism) as ledger:
        try:
            served = dx.release(mechanism, case.data, ledger=ledger, spend="1e-29").spent
        except DxgeomError:
            served = 0
        assert ledger.spent() == served


def test_a_copy_in_another_process_would_draw_the_same(name):
    case = CASES[name]
    mechanism = case.make()
    copy = pickle.loads(pickle.dumps(mechanism))
    assert copy.fingerprint == mechanism.fingerprint
    draws = [one.draw(case.data, case.spend, InsecureSeededRandomness(9)) for one in (mechanism, copy)]
    assert plain(draws[0]) == plain(draws[1])


def test_a_release_can_be_written_as_json(name):
    case = CASES[name]
    mechanism = made(name)
    release = dx.release(mechanism, case.data, ledger=":memory:", spend=case.spend, insecure_test_seed=1)
    written = json.loads(release.to_json())
    assert (written["mechanism"], written["spent"], written["secure_randomness"]) == (name, "1/2", False)
    assert written["policy"]["title"] == mechanism.account.policy_name
    assert written["answer"] is not None


@pytest.mark.long
def test_no_audit_finds_more_than_was_promised(name):
    """A mechanism that keeps its promise fails with a chance of at most 1e-10 for each pair of data."""
    for found, allowed in audited(name):
        assert found <= allowed


@pytest.mark.long
def test_an_audit_would_notice_eight_times_the_loss(name):
    """So that the test before can fail. What serves one spend only is checked in exact rationals when it is made."""
    if made(name).only_spend is None:
        assert any(found > allowed for found, allowed in audited(name, factor=8))


def test_its_error_is_the_stated_one(name):
    """Six standard errors, or never above the stated bound: a correct mechanism fails with a chance of about 2e-9."""
    case = CASES[name]
    mechanism = made(name)
    answers = mechanism.draws(case.data, case.spend, case.draws, InsecureSeededRandomness(11))
    losses = np.array([case.loss(answer) for answer in answers])
    stated, spread = case.stated(mechanism, case.spend), 6 * losses.std() / np.sqrt(len(losses))
    if case.exact:
        assert abs(losses.mean() - stated) <= spread
    else:
        assert losses.mean() - spread <= stated


def test_its_guarantee_and_its_page_are_written(name):
    kind = type(made(name))
    assert "Guarantee:" in kind.__doc__
    assert f"`{kind.__name__}`" in DOCUMENT.read_text()


def test_it_is_there_because_no_mechanism_is_forgotten(name, every):
    assert type(made(name)) in set(map(type, every.values())) == every_mechanism()
