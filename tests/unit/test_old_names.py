"""Old public names work for one version more: each is a row, with what it is called now."""

from __future__ import annotations

from fractions import Fraction
from importlib import import_module

import pytest

import dxgeom as dx
from dxgeom.doors import OLD
from dxgeom.old_names import OldName

CLASSES = {
    "dxgeom.disclosure.all_releases:AttributeLoss": {"told": "disclosed_loss"},
    "dxgeom.ledger.ledger:Ledger": {"told": "disclosed_loss"},
    "dxgeom.planner.release:Release": {"booking": "receipt"},
    "dxgeom.planner.plan:Plan": {"currencies": "privacy_measures"},
    "dxgeom.lab.secrets:SecretAnswer": {"told": "in_words"},
}


@pytest.mark.parametrize("old", sorted(OLD))
def test_a_room_opens_what_had_another_name(old):
    if "picture" in old:
        pytest.importorskip("matplotlib")
    (room, _, name), (home, _, new) = old.rpartition("."), OLD[old].rpartition(".")
    with pytest.warns(DeprecationWarning, match=OLD[old]):
        assert getattr(import_module(room), name) is getattr(import_module(home), new)
    listed = getattr(import_module(home), "__all__", dir(import_module(home)))
    assert new in listed and name not in import_module(room).__all__


@pytest.mark.parametrize(("place", "old"), [(place, old) for place, names in CLASSES.items() for old in names])
def test_a_class_answers_to_what_it_was_called(place, old):
    module, _, name = place.partition(":")
    owner, new = getattr(import_module(module), name), CLASSES[place][old]
    assert isinstance(vars(owner)[old], OldName) and vars(owner)[old].new == new
    fields = getattr(owner, "__dataclass_fields__", {})
    assert (hasattr(owner, new) or new in fields) and old not in fields

    class Bare:
        pass

    thing = Bare()
    setattr(thing, new, 7)
    with pytest.warns(DeprecationWarning, match=f"{old} is called {new} now"):
        assert vars(owner)[old].__get__(thing, owner) == 7


def test_a_ledger_is_opened_with_the_old_keyword():
    given = {"policy_fingerprint": "f", "policy_name": "p", "budget": Fraction(1)}
    with (
        pytest.warns(DeprecationWarning, match="privacy_measure="),
        dx.Ledger.open(":memory:", currency="concentrated", **given) as ledger,
    ):
        assert ledger.account.privacy_measure == "concentrated"
