"""No array that a finished mechanism is made of, or has worked out, can be written to: nor what it is a view of."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from reference.mechanisms import CASES
from reference.ranged_workloads import METRICS, built, policy_of, workloads
from reference.writable import writable

import dxgeom as dx
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidates import names

MEMORIES = {"JumpShifts._measured", "LayeredIntegerNoise._balls", "PairedChanges._pool", "PairedChanges._tops"}
"""Lists that grow while they are used."""


def of_another_process(mechanism):
    """A copy; None of what does not travel."""
    try:
        return pickle.loads(pickle.dumps(mechanism))
    except TypeError:
        return None


def left_open(mechanism):
    return [path for path in writable(mechanism) if ".".join(path.split(".")[-2:]) not in MEMORIES]


@pytest.mark.parametrize("name", CASES)
def test_every_kind_of_mechanism_is_read_only_after_it_has_answered(name):
    case = CASES[name]
    mechanism = case.make()
    mechanism.check(case.data, case.spend)
    mechanism.draw(case.data, case.spend, InsecureSeededRandomness(1))
    assert mechanism.fingerprint
    assert not left_open(mechanism)
    assert not left_open(of_another_process(mechanism))


@pytest.mark.parametrize(("privacy", "presence"), METRICS)
def test_noise_of_every_name_is_read_only_after_it_has_answered(privacy, presence):
    policy, found = policy_of(privacy, presence), set()
    for queries in workloads(policy.universe).values():
        sensitivity = sensitivity_of(policy.compile(), queries)
        for name in names():
            mechanism = None if name in found else built(name, sensitivity)
            if mechanism is not None:
                found.add(name)
                mechanism.draw(np.arange(policy.universe.size) % 3, Fraction(1), InsecureSeededRandomness(1))
                assert mechanism.variances().size
                assert mechanism.rounding_share >= 0
                assert not left_open(mechanism), name
                assert not left_open(of_another_process(mechanism)), name
    assert len(found) > 5


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_what_reads_whole_tables_is_read_only_after_it_has_answered(privacy):
    policy = policy_of(privacy, presence=False, lines=(0,))
    tables = dx.universe.MarginalQueries.of(policy.universe, [("a0",), ("a0", "a1")])
    boxes = dx.universe.BoxQueries.of(policy.universe, [{"a0": (0, 2)}, {"a0": (1, 3), "a1": (0, 2)}, {"a1": (1, 3)}])
    for queries in (tables, boxes):
        mechanism = dx.plan(policy.compile(), queries).mechanism
        cells = tuple(np.full(np.prod(shape), 12 // np.prod(shape)) for shape in mechanism.queries.shapes)
        made = type("Made", (), {"cells": cells, "total": 12})()
        mechanism.check(made, Fraction(1))
        mechanism.draw(made, Fraction(1), InsecureSeededRandomness(1))
        assert mechanism.variances.size
        assert not left_open(mechanism)


def test_the_walk_finds_what_is_open():
    class Holder:
        """Of a module of the package, as far as the walk can tell."""

    Holder.__module__ = "dxgeom.made.up"
    holder, base = Holder(), np.arange(4)
    view = base[1:]
    view.setflags(write=False)
    holder.view, holder.numbers, holder.counts = view, [1], {"a": np.zeros(2)}
    assert [*writable(holder)] == ["Holder.view", "Holder.numbers", "Holder.counts"]
    assert isinstance(holder.counts, Mapping)
