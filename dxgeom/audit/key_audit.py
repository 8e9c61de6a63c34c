"""Noise on very many keys, audited: scales held against the policy's moves, what is reported made by a second route.

A record that changes its key from k to l lowers one count and raises another. Laplace noise of scales s on each hides
that where 1/s_k + 1/s_l is no more than the distance, normal noise of deviations s where 1/s_k² + 1/s_l² is no more
than its square. Keys have one scale in each of some products of values, so the most that other attributes can add to a
move is found by going through these products.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Final, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.audit.moves import Moves, moves_of
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.linear.key_counts import KeyCounts
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rare_events import RareEvents, RareLaplace, RareNormal
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.randomness import InsecureSeededRandomness, Randomness

Keys = NDArray[np.int64]
_TRIALS: Final = 16
_RECORDED: Final = 64
_WORK: Final = 200_000
_MOST_PAIRS: Final = 50_000_000
_MOST_EXACT: Final = 500_000
_AT_ONCE: Final = 1 << 14
_NEAR: Final = 1e-9
_PRECISION: Final = 160


def require_keys(mechanism: KeyCounts, metric: Metric) -> list[str]:
    """That keys are reported by their noisy counts alone, empty ones with the chance that these have, and that noise
    hides every move; in sentences.

    Guarantee: scales are held against distances in rationals; chances are compared in balls.
    Raises: CertificateRefused; TooLarge for metrics of other forms, or of very many moves.
    """
    columns = mechanism.columns_of_keys
    moves = moves_of(metric, columns[0].universe.shape)
    axes = [one.axis for one in columns]
    _require(len({*axes}) == len(axes), "an attribute is in a key twice")
    scales = scales_of(mechanism)
    for spend in (Fraction(1), Fraction(1, 3)):
        _require_chances(mechanism, scales, spend)
    trials = _require_reported(mechanism, scales)
    scales.require_hidden(moves, {one.axis: one.codes for one in columns}, axes, normal=mechanism.normal)
    how = "squares of the rates" if mechanism.normal else "rates"
    square = " squared" if mechanism.normal else ""
    return [
        "a key is reported for its count with noise alone, and one without a record with the chance that its noise "
        f"reaches the threshold: {trials} answers over random tables made by a second route, chances in balls",
        f"{how} of any two keys that a change moves come to no more than its distance{square}, in rationals",
    ]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"counts of keys are not what was proved: {what}")


@final
@dataclass(frozen=True, eq=False)
class Scales:
    """Of each attribute of a key the ``group`` of every value, and how many values each group has (``sizes``); by the
    groups of a key the ``scale`` of its noise, float64 taken exactly, in the order of the mechanism's ``blocks``."""

    groups: tuple[Keys, ...]
    sizes: tuple[Keys, ...]
    scale: NDArray[np.float64]
    order: tuple[tuple[int, ...], ...]
    values: tuple[tuple[Keys, ...], ...]

    def codes_of(self, keys: Keys) -> tuple[Keys, ...]:
        """The values of keys by their number, the last attribute's the fastest."""
        found: list[Keys] = []
        for own in reversed(self.groups):
            found.append(keys % len(own))
            keys = keys // len(own)
        return tuple(reversed(found))

    def places_of(self, keys: Keys) -> tuple[Keys, ...]:
        """The groups of keys."""
        return tuple(own[codes] for own, codes in zip(self.groups, self.codes_of(keys), strict=True))

    def keys_of(self, place: tuple[int, ...], positions: Keys) -> Keys:
        """The keys at positions of a product, counted through its values in their order, the last's the fastest."""
        codes: list[Keys] = []
        left = positions
        for own, group in zip(reversed(self.values), reversed(place), strict=True):
            members = own[group]
            codes.append(members[left % len(members)])
            left = left // len(members)
        number = np.zeros(len(positions), dtype=np.int64)
        for sizes, code in zip(self.groups, reversed(codes), strict=True):
            number = number * len(sizes) + code
        return number

    def require_hidden(self, moves: Moves, told: dict[int, Keys], axes: Sequence[int], *, normal: bool) -> None:
        """Raises: CertificateRefused, TooLarge."""
        power = 2 if normal else 1
        rates = np.array([1 / Fraction(own) ** power for own in self.scale.ravel().tolist()], dtype=object)
        used = _Used(rates.reshape(self.scale.shape), self.sizes, power)
        for place, axis in enumerate(axes):
            part, ceiling = moves.parts[axis], moves.ceiling(axis)
            if isinstance(part, DiscreteMetric):
                if ceiling is None or part.epsilon < ceiling:
                    used.require_any([place], part.epsilon)
                continue
            looked_at = 0
            for first, second, bounds in moves.along(axis):
                looked_at += len(first)
                if looked_at > _MOST_PAIRS:
                    raise TooLarge(f"more than {_MOST_PAIRS:,} moves of one attribute are not gone through in an audit")
                one, other = told[axis][first], told[axis][second]
                apart = one != other
                groups = self.groups[place]
                used.require_pairs(place, groups[one[apart]], groups[other[apart]], bounds[apart])
        for places, distance in moves.together:
            own = [place for place, axis in enumerate(axes) if axis in places]
            if own and (moves.presence is None or distance < 2 * moves.presence):
                used.require_any(own, distance)
        if moves.presence is not None:
            used.require(max(rates.tolist()), moves.presence)


@final
@dataclass(frozen=True, eq=False)
class _Used:
    """What noise on a key uses up of a distance, or of its square (``power`` 2), by the groups of its values; *exact*.
    ``sizes``: how many values each group has."""

    rates: NDArray[Any]
    sizes: tuple[Keys, ...]
    power: int

    def require(self, used: Fraction, distance: Fraction) -> None:
        if used > distance**self.power:
            raise CertificateRefused(
                f"the noise does not hide what the metric protects: a change of a record at the distance "
                f"{float(distance):.9g} uses up more"
            )

    def require_any(self, places: Sequence[int], distance: Fraction) -> None:
        """Of any two keys that differ in these attributes alone."""
        inner = [place for place in range(self.rates.ndim) if place not in places]
        table = self.rates.transpose([*places, *inner]).reshape(math.prod(len(self.sizes[one]) for one in places), -1)
        many = np.array([1], dtype=object)
        for place in places:
            many = np.multiply.outer(many, self.sizes[place].astype(object)).ravel()
        for column in table.T:
            largest = sorted(zip(column.tolist(), many.tolist(), strict=True), reverse=True)[:2]
            two = [rate for rate, number in largest for _ in range(min(number, 2))][:2]
            if len(two) == 2:
                self.require(two[0] + two[1], distance)

    def require_pairs(self, place: int, one: Keys, other: Keys, bounds: NDArray[np.float64]) -> None:
        """Of moves of one attribute between values of these groups, whatever values the others have."""
        table = np.moveaxis(self.rates, place, 0).reshape(self.rates.shape[place], -1)
        floats = table.astype(np.float64)
        near: dict[tuple[int, int], float] = {}
        at_once = max(1, (_AT_ONCE << 6) // floats.shape[1])
        for start in range(0, len(one), at_once):
            here = slice(start, start + at_once)
            used = (floats[one[here]] + floats[other[here]]).max(axis=1)
            for at in np.flatnonzero(~(used <= bounds[here] ** self.power * (1 - _NEAR))).tolist():
                pair = (int(one[start + at]), int(other[start + at]))
                near[pair] = min(near.get(pair, math.inf), float(bounds[start + at]))
        if len(near) * floats.shape[1] > _MOST_EXACT:
            raise TooLarge(f"more than {_MOST_EXACT:,} sums of rates are too near to their distances for an audit")
        for (first, second), bound in near.items():
            if math.isfinite(bound):
                self.require(max((table[first] + table[second]).tolist()), Fraction(bound))


def scales_of(mechanism: KeyCounts) -> Scales:
    """The scale of every key as blocks have it. Raises: CertificateRefused unless each key is in one block, by whose
    scale it has its noise."""
    number = [len(one.words) for one in mechanism.columns_of_keys]
    known: list[dict[bytes, int]] = [{} for _ in number]
    values: list[list[Keys]] = [[] for _ in number]
    order = []
    for block in mechanism.blocks:
        place = []
        for own, members, found in zip(known, block.members, values, strict=True):
            listed = np.asarray(members, dtype=np.int64)
            if listed.tobytes() not in own:
                own[listed.tobytes()] = len(found)
                found.append(listed)
            place.append(own[listed.tobytes()])
        order.append(tuple(place))
    groups = []
    for size, found in zip(number, values, strict=True):
        every = np.concatenate(found)
        _require(np.array_equal(np.sort(every), np.arange(size)), "values of a key have no scale, or several")
        _require(all(np.all(np.diff(own) > 0) for own in found), "values are not in their order")
        group = np.empty(size, dtype=np.int64)
        for place_of, own_members in enumerate(found):
            group[own_members] = place_of
        groups.append(group)
    shape = [len(found) for found in values]
    complete = len({*order}) == len(order) == math.prod(shape)
    _require(complete, "some keys are in no product of values with one scale, or in several")
    scale = np.empty(shape)
    for place_of_block, block in zip(order, mechanism.blocks, strict=True):
        _require(0 < block.scale < math.inf, "noise has no scale")
        scale[place_of_block] = block.scale
    sizes = tuple(np.array([len(own) for own in found], dtype=np.int64) for found in values)
    return Scales(tuple(groups), sizes, scale, tuple(order), tuple(map(tuple, values)))


def noise_of(mechanism: KeyCounts, scale: float) -> NoiseLaw:
    """The noise of a key by itself."""
    return GaussianNoise(Ellipsoid(np.array([[scale]]))) if mechanism.normal else LaplaceNoise(np.array([scale]))


def chance_of(mechanism: KeyCounts, stretched: arb, edge: arb) -> arb:
    """P(V ≥ edge) for edges from 0 on, in closed form, at the scale that noise has where so much is spent."""
    ratio = edge / stretched
    return (ratio / arb(2).sqrt()).erfc() / 2 if mechanism.normal else (-ratio).exp() / 2


def _event(mechanism: KeyCounts, scale: float, factor: Fraction, threshold: int) -> RareEvents:
    return (RareNormal if mechanism.normal else RareLaplace)(scale, factor, threshold)


def _require_chances(mechanism: KeyCounts, scales: Scales, spend: Fraction) -> None:
    """That the threshold follows from public numbers as stated, and each chance is that of the noise."""
    threshold, factor = mechanism.threshold(spend), mechanism.shares / spend
    with ctx.workprec(_PRECISION):
        expected, edge = arb(0), arb(fmpq(2 * threshold - 1, 2))
        for place, block in zip(scales.order, mechanism.blocks, strict=True):
            stretched = arb(float(scales.scale[place])) * arb(fmpq(factor.numerator, factor.denominator))
            chance = chance_of(mechanism, stretched, edge)
            drawn = _event(mechanism, block.scale, factor, threshold).chance
            _require(drawn.overlaps(chance), "keys without a record are reported with another chance")
            keys = math.prod(len(own[group]) for own, group in zip(scales.values, place, strict=True))
            expected += keys * chance
        if mechanism.spurious is not None:
            most = arb(fmpq(*mechanism.spurious.as_integer_ratio()))
            _require(bool(expected < most * (1 + arb(2) ** -40)), "more keys without a record are expected than stated")


@final
@dataclass(frozen=True, eq=False)
class RandomTable:
    """Counts of keys that nobody knew before."""

    keys: Keys
    counts: Keys
    total: int


def _require_reported(mechanism: KeyCounts, scales: Scales) -> int:
    """That answers are what a second route makes of the same draws, over tables that nobody knew before; how many."""
    spend, keys = Fraction(1), math.prod(len(own) for own in scales.groups)
    threshold = mechanism.threshold(spend)
    trials = max(1, min(_TRIALS, int(_WORK / (1 + mechanism.expected_spurious(spend)))))
    for _ in range(trials):
        # Every block has some keys; each value stands in some, beside random others.
        numbers = [np.array([secrets.randbelow(keys) for _ in range(_RECORDED)], dtype=np.int64)]
        numbers += [scales.keys_of(place, np.zeros(1, dtype=np.int64)) for place in scales.order]
        known = np.unique(np.concatenate(numbers))
        counts = np.array([1 + secrets.randbelow(2 * threshold) for _ in known], dtype=np.int64)
        data, seed = RandomTable(known, counts, int(counts.sum())), secrets.randbits(62)
        found = mechanism.drawn(data, spend / mechanism.shares, InsecureSeededRandomness(seed))
        expected = _made_again(mechanism, scales, data, threshold, InsecureSeededRandomness(seed))
        _require(found.divisor == mechanism.shares, "counts are in other parts of a person than they are shown in")
        alike = np.array_equal(found.keys, expected[0]) and np.array_equal(found.numerators, expected[1])
        _require(alike, "others are reported than those whose count with noise reaches the threshold")
    return trials


def _made_again(
    mechanism: KeyCounts, scales: Scales, data: RandomTable, threshold: int, randomness: Randomness
) -> tuple[Keys, Keys]:
    """Keys and counts, from draws in the order of blocks; which key has which noise is found by this audit."""
    factor, reported = Fraction(mechanism.shares), []
    places = np.stack(scales.places_of(data.keys))
    for place in scales.order:
        scale = float(scales.scale[place])
        here = np.flatnonzero(np.all(places == np.array(place)[:, None], axis=0))
        if len(here):
            noise = noise_of(mechanism, scale).draw(len(here), randomness, factor)[:, 0]
            for key, count, added in zip(
                data.keys[here].tolist(), data.counts[here].tolist(), noise.tolist(), strict=True
            ):
                if count + added >= threshold:
                    reported.append((key, count + added))
        size = math.prod(len(own[group]) for own, group in zip(scales.values, place, strict=True))
        empty = partial(_is_empty, scales, place, data.keys)
        hits = _event(mechanism, scale, factor, threshold).among(size, randomness, empty)
        numbers = scales.keys_of(place, hits.positions).tolist()
        reported += zip(numbers, hits.values.tolist(), strict=True)
    reported.sort()
    return (
        np.array([key for key, _ in reported], dtype=np.int64),
        np.array([count for _, count in reported], dtype=np.int64),
    )


def _is_empty(scales: Scales, place: tuple[int, ...], known: Keys, positions: Keys) -> NDArray[np.bool_]:
    return ~np.isin(scales.keys_of(place, positions), known)
