"""A new kind of bound is one class that says what it states; metric, review, forms and explanation follow from it."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dxgeom.metrics.metric import Metric, PairBlock, all_pairs
from dxgeom.policy.axes import Amount
from dxgeom.policy.bounds.bound import Bound, Stated, closed, in_units
from dxgeom.policy.lower.blocks import describe
from dxgeom.policy.lower.lowered import lower_attribute, lower_records, unprotected
from dxgeom.policy.policy import Policy, parse_policy

TEXT = """policy: toy
universe: {attributes: {ward: [a, b, c, d, e], sex: [F, M]}}
rules:
  - {change: ward, epsilon: 7}
  - {change: sex, epsilon: 0.5}
"""


@dataclass(frozen=True)
class Ring(Bound):
    """ε for values that are neighbours on a ring of so many codes."""

    count: int
    epsilon: Fraction

    def between(self, start: int, end: int) -> Amount:
        return self.epsilon if abs(start - end) in (1, self.count - 1) else math.inf

    def as_written(self, unit: int | None) -> Stated:
        step = in_units([self.epsilon], unit)
        return lambda one, other: np.where(np.isin(abs(one - other), (1, self.count - 1)), step, math.inf)

    def metric(self, size: int) -> Metric:
        pairs = (PairBlock(one, other, self.of_pairs(one, other)) for one, other in all_pairs(size))
        known = ((block, np.isfinite(block.bound)) for block in pairs)
        return closed(size, (PairBlock(*(column[kept] for column in block)) for block, kept in known))

    @property
    def denominator(self) -> int:
        return self.epsilon.denominator

    @property
    def data(self) -> list[Any]:
        return ["ring", self.count, str(self.epsilon)]


def with_ring(policy: Policy, ring: Ring) -> Policy:
    """The policy whose first rule states the ring instead, lowered as every policy is."""
    first, *others = policy.rules
    resolved = replace(policy.resolved, rules=(replace(first, bounds=(("ward", ring),)), *others))
    description = describe(resolved)
    parts = tuple(map(lower_attribute, description.parts))
    metric = lower_records(description, parts)
    return Policy("toy", resolved, description, parts, metric, unprotected(description, parts))


def test_a_new_bound_runs_end_to_end():
    plain = parse_policy(TEXT)
    toy = with_ring(plain, Ring(5, Fraction(1, 3)))
    assert toy.fingerprint != plain.fingerprint
    for a, b in itertools.product(range(5), repeat=2):
        steps = min(abs(a - b), 5 - abs(a - b))
        distance = toy.compile().distance(2 * a, 2 * b)
        assert Fraction(float(distance)) <= Fraction(steps, 3)
        assert math.isclose(distance, steps / 3, rel_tol=1e-12)
    told = toy.explain({"ward": "a", "sex": "F"}, {"ward": "c", "sex": "M"})
    assert told.distance == Fraction(2, 3) + Fraction(1, 2)
    assert [(hop.start, hop.end) for hop in told.hops] == [("a", "b"), ("b", "c"), ("F", "M")]
    found = toy.review()
    assert found.attributes[0].diameter == float(toy.compile().distance(0, 4))
    assert not found.rules[0].idle
    assert not found.rules[0].redundant
    assert toy.forms()[0].form == "graph"


def test_a_new_bound_meets_the_others():
    policy = with_ring(parse_policy(TEXT.replace("sex, epsilon", "[sex, ward], epsilon")), Ring(5, Fraction(2, 5)))
    assert policy.explain({"ward": "a", "sex": "F"}, {"ward": "c", "sex": "F"}).distance == Fraction(1, 2)
    [lowered] = policy.review().tightened
    assert (lowered.line, lowered.pairs) == (5, 5)
    assert len(policy.forms()) == 3
