from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.queries import LinearQueries

POLICY = parse_policy("""
policy: small
universe:
  attributes:
    one: [a, b]
    two: {range: [0, 3], step: 1}
    three: [x, y, z]
rules:
  - {change: one, epsilon: 0.5}
  - {change: two, epsilon: 1, per: 2}
  - {change: three, values: {x: 0.25}, otherwise: 2}
""")
TABLES = LinearQueries.marginals(POLICY.universe, list(itertools.combinations(POLICY.universe.names, 2)))
COUNTS = np.random.default_rng(3).integers(0, 400, 24)


@pytest.mark.needs("mbi")
@pytest.mark.parametrize("rounds", [0, 2])
def test_the_estimate_answers_and_bounds_its_errors_as_any_synthetic_histogram(rounds):
    learnt = mwem(POLICY.compile(), TABLES, rounds=rounds).draw(COUNTS, Fraction(1), InsecureSeededRandomness(4))
    made = by_graphical_model(learnt)
    truth = np.array([int(total) for total in TABLES.answers(COUNTS)])
    assert made.measurements == learnt.measurements
    assert made.histogram.sum() == pytest.approx(COUNTS.sum())
    assert made.counts().sum() == len(made.record_types()) == COUNTS.sum()
    assert np.all(np.abs(made.answers - truth) <= made.error_bounds(1 - 1e-9))
    misfits = [
        (float(one.value) - made.answers[one.query]) ** 2 / (2 * one.scale**2) for one in made.measurements if one.scale
    ]
    assert np.mean(misfits) <= 0.81


def test_what_is_no_whole_marginal_is_refused():
    boxes = LinearQueries.boxes(POLICY.universe, [{"two": (0, 2)}, {"one": (0, 1)}])
    learnt = mwem(POLICY.compile(), boxes, rounds=0).draw(COUNTS, Fraction(1), InsecureSeededRandomness(4))
    with pytest.raises(UnsupportedCombination, match=r"LinearQueries\.marginals"):
        by_graphical_model(learnt)
