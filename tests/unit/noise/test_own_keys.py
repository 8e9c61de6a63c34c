"""δ of keys that one person alone has: against every split, against exact divergences, and as tight as it can be."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.own_keys import MOST_SPLIT, OwnKeys, own_keys
from dxgeom.noise.rare_events import RareLaplace, RareNormal
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness

ONE = Fraction(1)


def laplace(scale, factor=ONE):
    return RareLaplace(scale, factor, 1)


def normal(scale, factor=ONE):
    return RareNormal(scale, factor, 1)


def tail(noise, threshold):
    """P(round(V) ≥ threshold), in float64, by the textbook's formulas."""
    edge, size = threshold - 0.5, noise.scale * float(noise.factor)
    if isinstance(noise, RareNormal):
        return 0.5 * math.erfc(edge / (size * math.sqrt(2)))
    return 0.5 * math.exp(-edge / size) if edge >= 0 else 1 - 0.5 * math.exp(edge / size)


def splits(rows, least=1):
    """All ways to write at most so many rows as a sum, without order."""
    yield ()
    for first in range(least, rows + 1):
        for rest in splits(rows - first, first):
            yield (first, *rest)


def by_hand(noises, rows, threshold):
    """The largest chance of all splits, each key with the noise that shows it most."""
    worst = {own: max(tail(one, threshold - own) for one in noises) for own in range(1, rows + 1)}
    return max(1 - math.prod(1 - worst[own] for own in split) for split in splits(rows))


CASES = [
    (noises, rows, threshold)
    for noises in ((laplace(1.0),), (laplace(4.0),), (normal(2.0),), (laplace(0.5), laplace(3.0)), (normal(5.0),))
    for rows in (1, 2, 6)
    for threshold in (1, 4, 15)
]


@pytest.mark.parametrize(("noises", "rows", "threshold"), CASES)
def test_delta_is_that_of_the_worst_split(noises, rows, threshold):
    exact = by_hand(noises, rows, threshold)
    assert float(OwnKeys(noises, rows).delta(threshold)) == pytest.approx(exact, rel=1e-9)


def test_delta_is_rounded_up():
    """One row at scale 1 and θ = 1 is reported with chance 1 − ½e^(−½); by rational bounds of the exponential."""
    low = sum((Fraction(-1, 2) ** k / math.factorial(k) for k in range(40)), Fraction(0)) - Fraction(1, 10**40)
    exact = 1 - low / 2
    found = OwnKeys((laplace(1.0),), 1).delta(0 + 1)
    # θ − w = 0: P(V ≥ −½) = 1 − ½e^(−½).
    assert exact - Fraction(1, 10**39) <= found <= exact * (1 + Fraction(1, 10**9))


def test_neither_one_key_nor_many_are_always_worst():
    best = {
        (scale, rows): max(
            splits(rows), key=lambda split: 1 - math.prod(1 - tail(laplace(scale), 30 - w) for w in split)
        )
        for scale, rows in ((1.0, 4), (4.0, 6))
    }
    assert best == {(1.0, 4): (4,), (4.0, 6): (1, 1, 1, 1, 1, 1)}


@pytest.mark.parametrize("noise", [laplace(1.0), laplace(4.0, Fraction(3, 2)), normal(2.5)])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(1, 10**4), Fraction(1, 10**12)])
def test_the_threshold_is_the_least_that_keeps_delta(noise, rows, delta):
    own = OwnKeys((noise,), rows)
    threshold = own.threshold(delta)
    assert own.delta(threshold) <= delta
    assert threshold == 1 or own.delta(threshold - 1) > delta


def outcomes(noise, counts, threshold, reach):
    """The law of what is reported of keys that have these counts: a value from the threshold to a reach, or nothing."""
    each = []
    for count in counts:
        if not count:
            each.append({None: 1.0})
            continue
        law = {value: tail(noise, value - count) - tail(noise, value + 1 - count) for value in range(threshold, reach)}
        law[reach] = tail(noise, reach - count)
        law[None] = 1 - tail(noise, threshold - count)
        each.append(law)
    keys = itertools.product(*each)
    return {key: math.prod(law[one] for law, one in zip(each, key, strict=True)) for key in keys}


def divergence(one, other, epsilon):
    """The hockey-stick: how much more likely than e^ε times the other's the worst set of answers is."""
    return sum(max(0.0, chance - math.exp(epsilon) * other.get(key, 0.0)) for key, chance in one.items())


def worst_divergence(noise, rows, threshold, others):
    """The largest hockey-stick, in both directions, of all tables that differ in one person's rows among few keys:
    a person is there or not, or has other keys."""
    places = len(others)
    own = [counts for counts in itertools.product(range(rows + 1), repeat=places) if sum(counts) <= rows]
    laws = {counts: outcomes(noise, np.add(counts, others).tolist(), threshold, threshold + 40) for counts in own}
    found = 0.0
    for one, other in itertools.permutations(own, 2):
        epsilon = sum(abs(a - b) for a, b in zip(one, other, strict=True)) / noise.scale
        found = max(found, divergence(laws[one], laws[other], epsilon))
    return found


@pytest.mark.parametrize(
    ("noise", "rows", "delta", "others"),
    [
        (laplace(1.0), 2, Fraction(1, 100), (0, 0)),
        (laplace(1.0), 2, Fraction(1, 100), (0, 3)),
        (laplace(2.0), 2, Fraction(1, 20), (0, 0)),
        (laplace(2.0), 2, Fraction(1, 20), (1, 0)),
        (laplace(4.0), 1, Fraction(1, 50), (0, 2)),
        pytest.param(laplace(4.0), 3, Fraction(1, 50), (0, 0, 0), marks=pytest.mark.long),
        pytest.param(laplace(1.5), 3, Fraction(1, 50), (0, 0, 1), marks=pytest.mark.long),
    ],
)
def test_no_two_tables_are_told_apart_beyond_the_promise(noise, rows, delta, others):
    """Exact (ε, δ) between all tables that differ in one person; below that threshold it fails where she is alone."""
    threshold = OwnKeys((noise,), rows).threshold(delta)
    slack = 1e-12  # sums of float64, and values beyond the reach, which are put together
    assert worst_divergence(noise, rows, threshold, others) <= float(delta) + slack
    if not any(others):
        too_low = worst_divergence(noise, rows, threshold - 1, others)
        assert too_low > float(delta) + slack  # a threshold planted too low is caught


@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_chances_are_those_of_the_noise_that_is_drawn(kind):
    """χ² of 20,000 draws against the exact chances, with three degrees of freedom: false alarms 1 in 10⁶."""
    if kind == "laplace":
        noise, law = laplace(2.0, Fraction(3, 2)), LaplaceNoise(np.array([2.0]))
    else:
        from dxgeom.geometry.round_bodies import Ellipsoid

        noise, law = normal(2.0, Fraction(3, 2)), GaussianNoise(Ellipsoid(np.array([[2.0]])))
    drawn = law.draw(20_000, InsecureSeededRandomness(5), noise.factor)[:, 0]
    edges = (-2, 0, 3)
    own = OwnKeys((noise,), 1)
    above = [1.0, *(float(own.chance(noise, edge)) for edge in edges), 0.0]
    seen = [len(drawn), *(int((drawn >= edge).sum()) for edge in edges), 0]
    chances, counts = -np.diff(above) * len(drawn), -np.diff(seen)
    assert float(((counts - chances) ** 2 / chances).sum()) < 30.7


def test_equal_noises_are_one_and_thresholds_of_them_do_not_count():
    events = (RareLaplace(2.0, ONE, 7), RareLaplace(2.0, ONE, 9), RareLaplace(1.0, ONE, 7))
    assert own_keys(events, 3).noises == (laplace(2.0), laplace(1.0))


def test_what_no_delta_is_known_of_is_refused():
    with pytest.raises(UnsupportedCombination, match="at least one row"):
        OwnKeys((laplace(1.0),), 0)
    with pytest.raises(TooLarge, match="at_most"):
        OwnKeys((laplace(1.0),), MOST_SPLIT + 1)
    for delta in (Fraction(0), Fraction(1)):
        with pytest.raises(UnsupportedCombination, match="above 0 and below 1"):
            OwnKeys((laplace(1.0),), 1).threshold(delta)
    with pytest.raises(TooLarge, match="64-bit"):
        OwnKeys((laplace(1e18),), 1).threshold(Fraction(1, 10**300))
