"""Sums of log-odds on a grid, beside every sequence of signs in balls: never a smaller δ, and hardly a larger one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx

from dxgeom.privacy.composition import UNITS, Composition, law_of_sum

SEQUENCES = [
    (0.3,),
    (0.7, 0.7, 0.2),
    (1.1, 0.05, 0.05, 0.05, 2.0),
    (1e-9, 2e-9, 2e-9),
    (30.0, 0.5),
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
]


def counted(epsilons):
    return tuple((one, epsilons.count(one)) for one in sorted(set(epsilons)))


def every_sign(epsilons):
    """(loss, chance under the first record) of each sequence of signs, as balls."""
    for signs in itertools.product((1, -1), repeat=len(epsilons)):
        loss, chance = arb(0), arb(1)
        for sign, one in zip(signs, epsilons, strict=True):
            loss += sign * arb(one)
            chance /= 1 + (-sign * arb(one)).exp()
        yield loss, chance


@pytest.mark.parametrize("epsilons", SEQUENCES)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.37, 0.81])
def test_no_delta_is_below_that_of_every_sequence_of_signs(epsilons, share):
    with ctx.workprec(300):
        at = share * sum(epsilons)
        exact = arb(0)
        for loss, chance in every_sign(epsilons):
            gain = 1 - (arb(at) - loss).exp()
            exact += chance * gain if bool(gain > 0) else 0
        found = Composition(pure=counted(epsilons)).delta(at)
        assert bool(arb(found) >= exact)
        assert found <= float(exact) * (1 + 1e-4) + 1e-15


@pytest.mark.parametrize("epsilons", SEQUENCES)
def test_both_records_have_all_their_chances(epsilons):
    """Under the second record the law is the first's, weighed by the odds: both add up to one, and hardly more."""
    law = law_of_sum(counted(epsilons))
    with ctx.workprec(300):
        first = [arb(chance) / 2**UNITS for chance in law.chances.coeffs()]
        losses = [arb(loss) for loss in law.losses]
        second = sum((chance * (-loss).exp() for chance, loss in zip(first, losses, strict=True)), arb(0))
        assert 1 <= float(sum(first, arb(0))) + law.beyond / 2**UNITS <= 1 + 1e-20
        assert 1 - 1e-9 <= float(second) <= 1 + 1e-9


def test_a_coarser_law_tells_no_less():
    law = law_of_sum(counted((0.03,) * 50 + (0.2,) * 9))
    coarse = law.coarser(500)
    assert coarse.chances.length() <= 502 < law.chances.length()
    for epsilon in (0.0, 0.4, 1.3):
        deltas = [
            sum(
                float(chance) / 2**UNITS * max(0.0, -math.expm1(epsilon - loss))
                for chance, loss in zip(one.chances.coeffs(), one.losses, strict=True)
            )
            for one in (law, coarse)
        ]
        assert deltas[0] * (1 - 1e-12) <= deltas[1] <= deltas[0] * 1.01


def test_ten_thousand_releases_with_a_hundred_epsilons_are_told_nearly_as_by_their_normal_limit():
    epsilons = np.round(np.linspace(0.0001, 0.01, 100), 5)
    told = Composition.of(np.repeat(epsilons, 100))
    gaussian = Composition.of(gaussian=np.repeat(epsilons, 100))
    assert told.epsilon(1e-6) == pytest.approx(gaussian.epsilon(1e-6), rel=1e-3)
    assert told.right_guess() == pytest.approx(gaussian.right_guess(), rel=1e-4)


@pytest.mark.parametrize("epsilon", [5e-324, 1e-200, 1e-9, 40.0, 4e5])
def test_tiny_and_huge_spends_have_curves(epsilon):
    told = Composition.of([epsilon, epsilon / 3 or epsilon, epsilon])
    assert 0 <= told.delta(0.0) <= 1 and told.epsilon(1e-6) <= told.ceiling
    assert 0.5 <= told.right_guess() <= 1 / (1 + math.exp(-epsilon * 7 / 3)) + 1e-15
