"""What is released is what was proved: one weight that is other than it was, and the noise is refused or hides it, too.

The judge drives the finished mechanism with unit noise, solves for the least shift of noise that moves all answers as a
change of a record does, and holds its norm against the distance.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest
from reference.forged import forged
from reference.least_shift import TOLERANCE, worst_excess
from reference.ranged_workloads import METRICS, built, policy_of, workloads

import dxgeom as dx
from dxgeom.errors import CertificateRefused, DxgeomError
from dxgeom.mechanisms.linear import containment
from dxgeom.mechanisms.linear.lengths_in_boxes import counted_boxes
from dxgeom.mechanisms.linear.mixing import IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts.box_candidates import in_answers
from dxgeom.mechanisms.parts.contrast_answers import in_contrasts
from dxgeom.mechanisms.parts.product_search import QUICK, sought_products
from dxgeom.mechanisms.parts.products import in_products, product_queries
from dxgeom.mechanisms.parts.table_candidates import (
    has_uneven_attributes,
    kronecker_gaussian,
    marginal_gaussian,
    marginal_laplace,
    marginal_space,
    proved,
)
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, totals_in_answers
from dxgeom.planner.boxes.as_candidates import BoxCandidates, ContrastCandidates, ProductCandidates
from dxgeom.planner.boxes.choosing import sought, sought_totals
from dxgeom.planner.candidates import names
from dxgeom.planner.objectives.objective import Objective

SPOILS = [Fraction(1, 2**20), Fraction(-1, 2), Fraction(1, 2), Fraction(-1), Fraction(1), Fraction(7)]
SPOILED = int(os.environ.get("DXGEOM_SPOILED", "2"))
"""How many weights of each workload are spoiled by each amount; make soak asks for more."""


def records_of(universe):
    return universe.size - (universe.absent is not None)


def spoiled(queries, generator, amount):
    """The same workload, but for one weight of one query and possible record; or one cell that is left out."""
    universe = queries.universe
    rows = np.array(
        [
            [Fraction(int(w)) * unit for w in row]
            for row, unit in zip(queries.tables.matrix(), queries.units, strict=True)
        ]
    )
    row, record = generator.integers(len(rows)), generator.integers(records_of(universe))
    rows[row, record] += amount
    return dx.LinearQueries.from_matrix(queries.names, rows, universe)


def private(mechanism):
    return worst_excess(mechanism) <= 1 + TOLERANCE


@pytest.mark.parametrize(("privacy", "presence"), METRICS)
@pytest.mark.parametrize("name", names())
def test_a_spoiled_weight_is_refused_or_hidden_by_noise_of_every_name(name, privacy, presence):
    policy = policy_of(privacy, presence)
    metric, generator = policy.compile(), np.random.default_rng([len(name), presence])
    for place, queries in enumerate(workloads(policy.universe).values()):
        amount = SPOILS[int(generator.integers(len(SPOILS)))]
        for asked in (queries, spoiled(queries, generator, amount)) if place % 2 == bool(presence) else ():
            mechanism = built(name, sensitivity_of(metric, asked))
            assert mechanism is None or private(mechanism)


def test_no_name_is_forgotten():
    """Each of them is built for some of these workloads, so that the test above judges it."""
    left = {*names()}
    for privacy, presence in METRICS[::-1]:
        policy = policy_of(privacy, presence)
        for queries in workloads(policy.universe).values():
            sensitivity = sensitivity_of(policy.compile(), queries)
            left -= {name for name in left if built(name, sensitivity) is not None}
    assert not left


def structured(policy, queries):
    """Every noise in measured numbers for a workload: its name, and how it is made for a sensitivity."""
    sensitivity, found = sensitivity_of(policy.compile(), queries), {}
    concentrated = sensitivity.metric.privacy == "concentrated"
    try:
        space = marginal_space(sensitivity, None, worst=False)
    except DxgeomError:
        space = None
    if space is not None:
        for name, make in (("marginal-laplace", marginal_laplace), ("marginal-gaussian", marginal_gaussian)):
            if concentrated or name == "marginal-laplace":
                scales = make(space).mixing.measured.scales
                found[name] = lambda other, name=name, scales=scales: proved(name, other_space(space, other), scales)
        if concentrated and has_uneven_attributes(space):
            known = kronecker_gaussian(space).mixing.measured
            found["kronecker-gaussian"] = lambda other: proved(
                "kronecker-gaussian", other_space(space, other), known.scales, known.bases
            )
    if BoxCandidates(sensitivity, None, worst=False).boxes:
        boxes = counted_boxes(sensitivity)
        for kind in ("boxes-laplace", "boxes-gaussian") if concentrated else ("boxes-laplace",):
            made = sought(sensitivity.metric, boxes, kind, False)[0]
            found[kind] = lambda other, made=made: in_answers(made, other)
        if concentrated and len(boxes.merged.columns) == 1:
            along = sought_totals(sensitivity.metric, boxes, worst=False)
            found[TOEPLITZ] = lambda other: totals_in_answers(along, other)
    if not concentrated and ProductCandidates(sensitivity, Objective("mse")).products:
        asked = product_queries(sensitivity)
        products, places = sought_products(asked, np.ones(len(asked.units)), Fraction(2), QUICK)
        found["product-laplace"] = lambda other: in_products(other, asked, products, places)
    if concentrated and ContrastCandidates(sensitivity, Objective("mse")).products:
        built_of = ContrastCandidates(sensitivity, Objective("mse")).built(quick=True).mixing.measured
        asked = product_queries(sensitivity)
        found["product-gaussian"] = lambda other, built_of=built_of: in_contrasts(other, asked, built_of.parts)
    return found


def other_space(space, sensitivity):
    return forged(space, sensitivity=sensitivity)


def is_rescaled(queries, other):
    """Whether every query is a multiple of the same one of the others: noise is in units of each query."""
    return all(
        np.array_equal(np.outer(row, other_row), np.outer(other_row, row))
        for row, other_row in zip(queries.tables.matrix(), other.tables.matrix(), strict=True)
    )


@pytest.mark.parametrize(("privacy", "presence"), METRICS)
@pytest.mark.parametrize("workload", ["a table", "tables", "boxes", "products", "intervals"])
def test_noise_that_was_proved_for_a_workload_is_refused_for_one_with_another_weight(workload, privacy, presence):
    """As if whoever recognised it had been wrong. Only a query of one cell, which is the same in another unit, may be
    accepted, with noise in that unit."""
    policy = policy_of(privacy, presence)
    queries, generator = workloads(policy.universe)[workload], np.random.default_rng(5)
    ways = structured(policy, queries)
    assert ways
    for _ in range(SPOILED):
        for amount in SPOILS:
            sensitivity = sensitivity_of(policy.compile(), spoiled(queries, generator, amount))
            for make in ways.values():
                try:
                    mechanism = make(sensitivity)
                except CertificateRefused:
                    continue
                assert is_rescaled(queries, sensitivity.queries)
                assert isinstance(mechanism.mixing, IntegerMixing) and private(mechanism)


@pytest.mark.parametrize(("privacy", "presence"), METRICS)
def test_a_query_that_counts_everybody_once_more_is_accepted_just_where_their_number_is_public(privacy, presence):
    policy = policy_of(privacy, presence)
    queries = workloads(policy.universe)["tables"]
    rows = queries.tables.matrix().copy()
    rows[3, : records_of(policy.universe)] += 1
    other = sensitivity_of(
        policy.compile(), dx.LinearQueries.from_matrix(queries.names, rows.tolist(), policy.universe)
    )
    for make in structured(policy, queries).values():
        if presence:
            with pytest.raises(CertificateRefused, match="not made of the numbers"):
                make(other)
        else:
            assert private(make(other))


@pytest.mark.parametrize(("privacy", "presence"), METRICS)
@pytest.mark.parametrize("workload", ["tables", "boxes", "products", "intervals"])
def test_one_other_coefficient_is_refused(workload, privacy, presence):
    """Any number of what answers take of the noise, by any amount, at either end of 64 bits, too.

    The last running total, and a part without differences or kinds, count everybody: where their number is public, any
    answer may take of their noise.
    """
    policy = policy_of(privacy, presence)
    queries, generator = workloads(policy.universe)[workload], np.random.default_rng(6)
    sensitivity = sensitivity_of(policy.compile(), queries)
    for name, make in structured(policy, queries).items():
        honest = make(sensitivity)
        mixing = honest.mixing
        everybody = set() if presence else counting_everybody(name, mixing)
        for amount in (1, -1, 2**40, 2**62, -(2**63)):
            for _ in range(2 * SPOILED):
                numerators = mixing.numerators.copy()
                place = tuple(generator.integers(numerators.shape))
                numerators[place] = (int(numerators[place]) + amount + 2**63) % 2**64 - 2**63  # as 64 bits go around
                other = IntegerMixing(numerators, mixing.divisors, mixing.measured)
                if place[1] in everybody:
                    assert private(with_mixing(honest, other))
                    continue
                with pytest.raises(CertificateRefused, match="not made of the numbers"):
                    with_mixing(honest, other)
        divisors = (2 * mixing.divisors[0], *mixing.divisors[1:])
        with pytest.raises(CertificateRefused, match="not made of the numbers"):
            with_mixing(honest, IntegerMixing(mixing.numerators, divisors, mixing.measured))


@pytest.mark.long
@pytest.mark.parametrize("presence", [False, True])
@pytest.mark.parametrize("entries", [1, 40])
def test_answers_are_looked_at_however_few_are_laid_out_at_once(monkeypatch, entries, presence):
    policy, generator = policy_of("pure", presence), np.random.default_rng(7)
    for queries in workloads(policy.universe).values():
        sensitivity = sensitivity_of(policy.compile(), queries)
        ways = structured(policy, queries).values()
        with monkeypatch.context() as small:
            small.setattr(containment, "_ENTRIES_AT_ONCE", entries)
            for make in ways:
                honest = make(sensitivity)
                numerators = honest.mixing.numerators.copy()
                numerators[tuple(generator.integers(numerators.shape))] += 1
                with pytest.raises(CertificateRefused, match="not made of the numbers"):
                    with_mixing(honest, IntegerMixing(numerators, honest.mixing.divisors, honest.mixing.measured))


def test_an_attribute_that_no_answer_looks_at_is_not_gone_through(monkeypatch):
    """It may have a million values, each at no finite distance from any other, and nothing is said of them."""
    attributes = {"who": {"range": [0, 9], "step": 1}, "b": {"values": ["x", "y"]}, "c": {"values": ["u", "v"]}}
    policy = dx.Policy.from_dict(
        {
            "policy": "small",
            "universe": {"attributes": attributes},
            "rules": [{"change": "b", "epsilon": 1}, {"change": "c", "epsilon": 1}],
            "budget": 9,
            "unconnected": "allow",
        }
    )
    queries = dx.queries_from_dict({"queries": [{"marginals": [["b", "c"]]}]}, policy)
    honest = marginal_laplace(marginal_space(sensitivity_of(policy.compile(), queries), None, worst=False))
    whole = containment.parts_of
    monkeypatch.setattr(containment, "parts_of", lambda metric, shape: (None, *whole(metric, shape)[1:]))
    assert with_mixing(honest, honest.mixing).mixing is honest.mixing
    numerators = honest.mixing.numerators.copy()
    numerators[0, 0] += 1
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        with_mixing(honest, IntegerMixing(numerators, honest.mixing.divisors, honest.mixing.measured))


def counting_everybody(name, mixing):
    """The places of measured numbers that are how many records there are."""
    if name == TOEPLITZ:
        return {mixing.numerators.shape[1] - 1}
    if name != "product-gaussian":
        return set()
    ends = np.cumsum([0, *(block.size for block in mixing.measured.blocks)]).tolist()
    return {ends[place] for place, block in enumerate(mixing.measured.blocks) if not block.axes}


def with_mixing(mechanism, mixing):
    return type(mechanism)(mechanism.name, mechanism.sensitivity, mechanism.law, mixing)


def test_noise_of_other_numbers_is_refused():
    """The law of a mechanism in measured numbers is that of its proof, and no equal one."""
    policy = policy_of("concentrated", False)
    sensitivity = sensitivity_of(policy.compile(), workloads(policy.universe)["tables"])
    one, other = (marginal_gaussian(marginal_space(sensitivity, None, worst)) for worst in (False, True))
    with pytest.raises(CertificateRefused, match="other noise"):
        type(one)(one.name, sensitivity, other.law, one.mixing)
    elsewhere = policy_of("concentrated", False, lines=()).compile()
    moved = sensitivity_of(elsewhere, workloads(policy.universe)["tables"])
    with pytest.raises(CertificateRefused, match="another metric"):
        type(one)(one.name, moved, one.law, one.mixing)
