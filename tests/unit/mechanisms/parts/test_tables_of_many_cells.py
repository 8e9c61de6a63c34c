"""One whole table of so many cells that averages over several would leave no room in 64 bits: it is told as it is."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.mechanisms.parts import table_mechanism
from dxgeom.mechanisms.parts.scales import SHARES
from dxgeom.numeric.randomness import InsecureSeededRandomness

pytestmark = pytest.mark.long


def mechanism_of(sizes, asked, rules):
    attributes = {name: {"range": [0, size - 1], "step": 1, "whole": True} for name, size in sizes.items()}
    said = {"policy": "t", "universe": {"attributes": attributes}, "rules": rules, "unconnected": "allow"}
    policy = dx.Policy.from_dict(said)
    return dx.plan(policy.compile(), dx.universe.MarginalQueries.of(policy.universe, asked)).mechanism


def counted(cells):
    return SimpleNamespace(cells=(cells,), total=int(cells.sum()))


COMES_AND_GOES = [{"presence": True, "epsilon": 1}]
CHANGES = [{"change": "a", "epsilon": 1}, {"change": "b", "epsilon": 1}]


@pytest.mark.parametrize("rules", [COMES_AND_GOES, CHANGES])
def test_without_averages_a_table_is_counts_and_noise_exactly(rules, monkeypatch):
    """Made to be of too many cells, a small one answers what it measured, whatever the noise is."""
    monkeypatch.setattr(table_mechanism, "LEAST_ROOM", 2**50)
    own = mechanism_of({"a": 5, "b": 3}, [["a", "b"]], rules)
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 1000, 15)
    noise = {number: generator.integers(-50, 50, 15) for number in own.drawn_parts}
    answer = own.answered(counted(counts), noise)
    assert answer.divisors == (15 * own.step.denominator,)
    told = [Fraction(int(one), answer.divisors[0]) for one in answer.numerators[0]]
    (each,) = noise.values()
    # Where records only change, how many there are is exact, and noise does not move it.
    moved = 0 if rules is COMES_AND_GOES else Fraction(int(each.sum()), 15)
    assert told == [int(one) + (int(more) - moved) * own.step for one, more in zip(counts, each, strict=True)]
    monkeypatch.undo()
    assert mechanism_of({"a": 5, "b": 3}, [["a", "b"]], rules).divisors[0] % SHARES == 0


def test_tables_that_are_averaged_stay_averages(monkeypatch):
    monkeypatch.setattr(table_mechanism, "LEAST_ROOM", 2**50)
    own = mechanism_of({"a": 2, "b": 7, "c": 2}, [["a", "b"], ["b", "c"]], COMES_AND_GOES)
    several = any(len(shares) > 1 for shares in own._shares.values())
    assert several
    assert own.divisors[0] % SHARES == 0


@pytest.mark.parametrize("rules", [COMES_AND_GOES, CHANGES])
def test_two_million_cells_are_released_and_err_as_planned(rules):
    """The mean square of 2·10⁶ cells of Laplace noise is off by .16 % (one sigma); false alarms below 1e-8."""
    own = mechanism_of({"a": 10_000, "b": 200}, [["a", "b"]], rules)
    counts = np.zeros(2_000_000, dtype=np.int64)
    counts[:1000] = 1_000_000
    data = counted(counts)
    own.check(data, Fraction(1))
    answer = own.drawn(data, Fraction(1), InsecureSeededRandomness(7))
    errors = answer.counts(0) - counts
    assert np.mean(errors**2) == pytest.approx(float(own.mean_squares(Fraction(1))[0]), rel=0.01)
    assert abs(errors.mean()) < 6 * float(np.sqrt(own.variances[0])) / np.sqrt(2e6)
    assert answer.numerators[0].dtype == np.int64
