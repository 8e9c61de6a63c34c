"""Errors to expect, from public facts: as if the records were spread evenly over the values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.laplace_quantiles import LaplaceQuantiles
from dxgeom.mechanisms.quantiles.largest_length import LargestLength
from dxgeom.mechanisms.quantiles.reach import UNREACHED
from dxgeom.mechanisms.quantiles.transport import TransportQuantiles

_KINDS = 2_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def evenly_spread(places: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """So many records over a tally's entries (M,), in the order of their places, as evenly as whole numbers go."""
    size = len(places)
    ends = np.array([records * entry // size for entry in range(size + 1)], dtype=np.int64)
    spread = np.empty(size, dtype=np.int64)
    spread[np.argsort(places, kind="stable")] = np.diff(ends)
    return spread


def expected_errors(
    mechanism: TransportQuantiles | LaplaceQuantiles, records: int, spend: Fraction = Fraction(1)
) -> NDArray[np.float64]:
    """(m,): the mean absolute error of each different rank if ``records`` records were spread evenly over the values.

    A model, not a bound: data are not looked at. In the attribute's own unit; before answers are put in order, and for
    Laplace noise, whatever the data, before the nearest value is taken, but never more than the values' range.
    Guarantee: up to the rounding of float64; for permute-and-flip *approximate within* a hundredth.
    """
    values = mechanism.question.values
    numbers = np.array([float(number - values.numbers[0]) for number in values.numbers])
    ranks = sorted(set(mechanism.question.ranks(records)))
    if isinstance(mechanism, LaplaceQuantiles):
        return np.full(len(ranks), min(mechanism.scale(spend), float(numbers[-1])))
    tally = evenly_spread(mechanism.reach.places_of_tally, records)
    lengths, rate = mechanism.reach.lengths(tally, ranks), mechanism.rate(spend)
    if mechanism.reach.adds_up or len(ranks) == 1:
        worths = np.where(lengths == UNREACHED, np.inf, lengths.astype(np.float64) * float(rate))
        alone = _exponential if mechanism.law == "exponential" else _permute_and_flip
        chances = np.array([alone(row) for row in worths])
    else:
        chances = LargestLength.of(lengths, rate).chances()
    by_value = np.zeros(values.count, dtype=np.int64)
    np.add.at(by_value, mechanism.reach.places_of_tally, tally)
    truth = numbers[np.searchsorted(np.cumsum(by_value), ranks)]
    return np.asarray((chances * np.abs(numbers - truth[:, None])).sum(axis=1))


def _exponential(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(T,): P ∝ e^(−length), lengths in nats, one of them 0."""
    weights = np.exp(-lengths)
    return np.asarray(weights / weights.sum())


def _permute_and_flip(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(T,): P(t) = p_t·∫ Π_{s≠t} (1 − u·p_s) du over [0, 1] for coins p = e^(−length), one of them 1.

    Of many different coins those within a two-thousandth of the logarithmic range are taken as one; the integral is
    by Gauss and Legendre on intervals that halve towards 0.
    """
    coins = np.exp(-np.minimum(lengths, 40.0))
    kinds, kind_of = np.unique(np.round(lengths, 6).clip(max=40.0), return_inverse=True)
    if len(kinds) > _KINDS:
        kinds, kind_of = np.unique(np.round(lengths.clip(max=40.0) * (_KINDS / 40.0)), return_inverse=True)
        kinds = kinds * (40.0 / _KINDS)
    number = np.bincount(kind_of)
    each = np.exp(-kinds)
    ends = np.append(2.0 ** -np.arange(60), 0.0)
    places = (ends[:-1, None] + ends[1:, None] + (ends[:-1] - ends[1:])[:, None] * _NODES).ravel() / 2
    widths = ((ends[:-1] - ends[1:])[:, None] * _WEIGHTS / 2).ravel()
    logs = np.log1p(-places[:, None] * each)
    integrals = (np.exp((logs @ number)[:, None] - logs) * widths[:, None]).sum(axis=0)
    chances = coins * integrals[kind_of]
    return np.asarray(np.where(np.isfinite(lengths), chances, 0.0) / chances[np.isfinite(lengths)].sum())
