"""What was recorded is answered still, byte for byte; ``python -m golden.record`` records anew, deliberately."""

from __future__ import annotations

from collections import Counter

import pytest
from reference.example_policies import TABLES
from reference.long_tests import PRIVACY, SLOTS, of_privacy, slot_of
from reference.project import LONG_TESTS, TESTS

from golden.recording import HERE, difference, mechanism_record, policy_record, read


def require_as_recorded(part, found):
    told = difference(read(part), found.told)
    fingerprints = difference(read("fingerprints")[part], found.fingerprints, hashed=True)
    assert not told, f"{part} answers otherwise than recorded\n{told}"
    assert not fingerprints, f"{part}: only fingerprints differ from those recorded\n{fingerprints}"


@pytest.mark.parametrize("name", TABLES)
def test_an_example_answers_as_recorded(name):
    require_as_recorded(name, policy_record(name))


def test_every_kind_of_mechanism_answers_as_recorded():
    require_as_recorded("mechanisms", mechanism_record())


def test_no_test_that_is_called_long_is_gone():
    for line in LONG_TESTS.read_text(encoding="utf-8").splitlines():
        file, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}(" in (TESTS.parent / file).read_text(encoding="utf-8"), line


def test_no_room_of_privacy_is_gone_and_seven_slots_hold_all_others_evenly():
    """A room that moves would be left out six days of seven."""
    assert all((TESTS.parent / one).exists() for one in PRIVACY)
    others = [one for one in LONG_TESTS.read_text(encoding="utf-8").splitlines() if not of_privacy(one)]
    slots = Counter(map(slot_of, others))
    assert set(slots) == set(range(SLOTS))
    assert max(slots.values()) < 2 * len(others) / SLOTS


def test_everything_recorded_is_compared():
    parts = {*TABLES, "mechanisms"}
    assert {path.stem for path in HERE.iterdir()} == {*parts, "fingerprints", "machine", "refusals"}
    assert set(read("fingerprints")) == parts
