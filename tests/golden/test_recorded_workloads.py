"""Fingerprints of random workloads by every constructor are those that version 0.2.1 gave them: a new fingerprint would
be a new budget."""

from __future__ import annotations

import pytest
from reference.random_workloads import EACH, MAKERS, blocks, digests

import dxgeom as dx
from golden.kinds.keeping import HERE

RECORDED = dict(line.split(": ") for line in (HERE / "workloads.txt").read_text("ascii").splitlines())
FEW = 10
"""Of so many first ones of each sort the quick tests make sure."""


def require_as_recorded(chosen):
    found = {name: " ".join(digests(*block)) for name, *block in blocks() if chosen(block[1])}
    assert found == {name: RECORDED[name] for name in found}


def test_the_first_random_workloads_have_the_recorded_fingerprints():
    require_as_recorded(lambda first: first < FEW)


@pytest.mark.long
def test_all_other_random_workloads_have_the_recorded_fingerprints():
    require_as_recorded(lambda first: first >= FEW)


def test_every_constructor_of_workloads_is_recorded():
    made = {name for name in vars(dx.LinearQueries) if isinstance(vars(dx.LinearQueries)[name], classmethod)}
    assert {f"LinearQueries.{name}" for name in made if not name.startswith("_")} <= set(MAKERS)
    assert {name.split(",")[0] for name in RECORDED} == set(MAKERS)
    assert len(RECORDED) * 10 == 2 * EACH * len(MAKERS)
