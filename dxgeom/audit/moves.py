"""What a metric protects, as moves that make up all changes of a record, and how much of a distance noise gives each.

Laplace noise of scale b hides numbers that are Σ|s| apart up to Σ|s|/b. Normal noise in what siblings have above their
first hides them up to the length of what is left without their mean, over its deviation; squares of these add up. What
the other attributes of a record add to a move is taken at its most, block by block: in integers and rationals; along
bases of attributes, which are undone in balls, in float64 and too large by more than all roundings. In running totals
what a record adds, through the law's own map undone, is a vector for each value; near their distance two are compared
in integers or in balls.

Noise in weighted sums has a scale of its own in every number. The plan's proof multiplies the largest column sums of
factors; here all combinations of values are gone through, over all products together, likewise in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.audit.counted_blocks import AboveFirst, FirstOfTwo, InTotals, NoisyBlock, Weighed
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.metrics.combinations import CapMetric, GroupedMetric, PresenceMetric, SumMetric
from dxgeom.metrics.families import DiscreteMetric
from dxgeom.metrics.metric import Metric, PairBlock
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.toeplitz import ONE, ToeplitzNormals
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals, TriangularNormals
from dxgeom.numeric.exact_numbers import at_most_one, value_rounded_up
from dxgeom.numeric.rounding import round_down, round_up


@final
@dataclass(frozen=True, eq=False)
class Moves:
    """``parts``: of each attribute the metric of its values alone; None where they have none but a ceiling.
    ``together``: attributes whose values may all change at this distance. ``presence``: of a record and none.
    """

    sizes: tuple[int, ...]
    parts: tuple[Metric | None, ...]
    together: tuple[tuple[tuple[int, ...], Fraction], ...]
    presence: Fraction | None

    def ceiling(self, axis: int) -> Fraction | None:
        """No two values of the attribute are further apart than this, by another move than its own."""
        ceilings = [distance for places, distance in self.together if axis in places]
        return min([*ceilings, *([] if self.presence is None else [2 * self.presence])], default=None)

    def along(self, axis: int) -> Iterator[PairBlock]:
        """Pairs of values that a move of the attribute alone is made of, those below its ceiling."""
        part, ceiling = self.parts[axis], self.ceiling(axis)
        highest = math.inf if ceiling is None else math.nextafter(float(ceiling), math.inf)
        for pairs in () if part is None else part.generating_pairs():
            kept = pairs.bound < highest
            yield PairBlock(pairs.first[kept], pairs.second[kept], pairs.bound[kept])

    @cached_property
    def labels(self) -> tuple[NDArray[np.int64], ...]:
        """Of each attribute the component of every value: within one all changes are at a finite distance."""
        return tuple(self._labels(axis) for axis in range(len(self.sizes)))

    def _labels(self, axis: int) -> NDArray[np.int64]:
        part, values = self.parts[axis], np.arange(self.sizes[axis])
        if self.ceiling(axis) is not None:
            return np.zeros_like(values)
        found = np.full_like(values, -1)
        while part is not None and np.any(found < 0):
            first = int((found < 0).argmax())
            near = np.isfinite(part.distance(np.full_like(values, first), values)) & (found < 0)
            found[near], found[first] = first, first
        return values if part is None else found


def moves_of(metric: Metric, sizes: Sequence[int]) -> Moves:
    """The moves of attributes with these numbers of values. Raises: TooLarge for a metric that has no such form."""
    presence = metric.epsilon if isinstance(metric, PresenceMetric) else None
    inner = metric.inner if isinstance(metric, PresenceMetric) else metric
    together: list[tuple[tuple[int, ...], Fraction]] = []
    everything = tuple(range(len(sizes)))
    while isinstance(inner, CapMetric) and len(sizes) > 1:
        together.append((everything, inner.epsilon))
        inner = inner.inner
    parts: tuple[Metric | None, ...]
    if inner.size != math.prod(sizes):
        raise TooLarge("this audit knows no moves of a metric that has other possible records than the attributes make")
    if len(sizes) == 1:
        parts = (inner,)
    elif isinstance(inner, GroupedMetric) and inner.shape == tuple(sizes):
        together += [(group.places, group.epsilon) for group in inner.groups]
        parts = inner.parts
    elif isinstance(inner, SumMetric) and inner.shape == tuple(sizes):
        parts = inner.parts
    elif isinstance(inner, DiscreteMetric):
        together.append((everything, inner.epsilon))
        parts = (None,) * len(sizes)
    else:
        raise TooLarge("this audit knows no moves of which the metric's changes of a record are made")
    return Moves(tuple(sizes), parts, tuple(together), presence)


Codes: TypeAlias = NDArray[np.int64]
NEAR: Final = 1e-9
"""Relative: what is so near to its distance is summed in rationals; float64 is off by far less for all else."""
_MOST_NEAR: Final = 500_000
_AT_ONCE: Final = 1 << 14


def require_moves(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That every move is hidden, of which all changes are made; in a sentence.

    Raises: CertificateRefused; TooLarge where very many moves use up just their distance.
    """
    loads = _Loads(noisy)
    for axis in range(len(moves.sizes)):
        kinds, part, ceiling = loads.kinds(axis), moves.parts[axis], moves.ceiling(axis)
        if kinds is None or not isinstance(part, DiscreteMetric):
            for first, second, bounds in loads.merged_pairs(moves, axis):
                loads.require_within(loads.moved(axis, first, second), bounds)
        elif ceiling is None or part.epsilon < ceiling:
            loads.require_within(loads.moved(axis, *kinds), np.full(len(kinds[0]), round_down(part.epsilon)))
    for places, distance in moves.together:
        if moves.presence is None or distance < 2 * moves.presence:
            loads.require_length([loads.farthest(axis) for axis in places], distance)
    if moves.presence is not None:
        loads.require_length([loads.used(loads.alone)], moves.presence)
    return "every move of one attribute is hidden whatever a record has of the others, in rationals: so is every change"


@final
class _Loads:
    """Raises: CertificateRefused for noise that is not all of one kind, or of another form."""

    def __init__(self, noisy: Sequence[NoisyBlock]) -> None:
        self._blocks = [one.block for one in noisy]
        self.normal = any(isinstance(law, DifferencedNormals) for one in noisy for law in one.laws)
        self.rates = [self._rate(one) for one in noisy]
        self.alone = [math.prod(along.most for along in block.along) for block in self._blocks]

    def _rate(self, noisy: NoisyBlock) -> Fraction:
        """What a size of 1 uses up of a distance, or of its square; *exact*."""
        block, scales = noisy.block, []
        radices = [one.over for one in block.along if one.over > 1]
        absolute = any(isinstance(one, FirstOfTwo) for one in block.along)  # whose squares are others
        for law in noisy.laws:
            if isinstance(law, LaplaceNoise) and not self.normal and not radices:
                scales.append(float(law.scales.min()))
            elif isinstance(law, DifferencedNormals) and law.shape == tuple(radices) and not absolute:
                scales.append(law.scale)
            else:
                raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        rate = block.steps / Fraction(min(scales))
        return rate**2 / math.prod(radices) if self.normal else rate

    def used(self, sizes: Sequence[int]) -> Fraction:
        """What these (L,) use up, block by block; *exact*."""
        return sum((size * rate for size, rate in zip(sizes, self.rates, strict=True)), Fraction(0))

    def moved(self, axis: int, first: Codes, second: Codes) -> NDArray[np.int64]:
        """(n, L): of moves from told values to others, whatever a record has of the other attributes."""
        found = np.zeros((len(first), len(self._blocks)), dtype=np.int64)
        for place, (block, alone) in enumerate(zip(self._blocks, self.alone, strict=True)):
            if axis in block.axes:
                along = block.along[block.axes.index(axis)]
                found[:, place] = along.apart(first, second) * (alone // along.most)
        return found

    def merged_pairs(self, moves: Moves, axis: int) -> Iterator[PairBlock]:
        """The moves along an attribute between told values, some at once."""
        own = [block.merged[axis] for block in self._blocks if axis in block.axes]
        for first, second, bounds in moves.along(axis) if own else ():
            for start in range(0, len(first), _AT_ONCE):
                part = slice(start, start + _AT_ONCE)
                yield PairBlock(own[0][first[part]], own[0][second[part]], bounds[part])

    def kinds(self, axis: int) -> tuple[Codes, Codes] | None:
        """A move of each kind that sizes depend on; None where more than kinds is needed. Values 0 and w differ when
        divided by w or less, and by no more: for widths that divide each other there are no other kinds."""
        own = [block for block in self._blocks if axis in block.axes]
        along = [block.along[block.axes.index(axis)] for block in own]
        values = max((int(block.merged[axis].max()) for block in own), default=0)
        widths = sorted({width for one in along for width in one.widths or () if width <= values})
        if any(one.widths is None for one in along) or any(larger % smaller for smaller, larger in pairwise(widths)):
            return None
        return np.zeros(len(widths), dtype=np.int64), np.array(widths, dtype=np.int64)

    def farthest(self, axis: int) -> Fraction:
        """What the furthest move of an attribute uses up at most. Raises: TooLarge."""
        kinds = self.kinds(axis)
        if kinds is None:
            raise TooLarge("noise at cuts is audited where distances add up over attributes")
        return max(map(self.used, self.moved(axis, *kinds).tolist()), default=Fraction(0))

    def require_within(self, sizes: NDArray[np.int64], distances: NDArray[np.float64]) -> None:
        """That each of these (n, L) uses up no more than its distance (n,), *exactly*."""
        limits = distances**2 if self.normal else distances
        floats = sizes @ np.array([float(rate) for rate in self.rates])
        open_still = ~(floats <= limits * (1 - NEAR))
        near, which = np.unique(sizes[open_still], axis=0, return_inverse=True)
        if len(near) > _MOST_NEAR:
            raise TooLarge(
                f"more than {_MOST_NEAR:,} changes are too near to their distances to be told apart in float64"
            )
        least = np.full(len(near), np.inf)
        np.minimum.at(least, which.ravel(), distances[open_still])
        for row, distance in zip(near.tolist(), least.tolist(), strict=True):
            self.require_length([self.used(row)], Fraction(distance))

    def require_length(self, parts: Sequence[Fraction], distance: Fraction) -> None:
        """That moves that use up so much each are no longer together: lengths add up, which are roots of squares."""
        if self.normal and len(parts) > 1:
            roots = [fmpq(*(one / distance**2).as_integer_ratio()) for one in parts]
            holds = at_most_one(lambda: sum((arb(one).sqrt() for one in roots), arb(0))) is True
        else:
            holds = sum(parts, Fraction(0)) <= (distance**2 if self.normal else distance)
        if not holds:
            raise CertificateRefused(
                f"the noise does not hide what the metric protects: a change of a record at the distance "
                f"{float(distance):.9g} uses up more"
            )


PRECISION: Final = 256
_LEAST: Final = 1e-200
_ROUNDED: Final = 1 + 2.0**-50
_NUMBERS_AT_ONCE: Final = 1 << 24


@final
class _Turned:
    """What each told value is along each vector of an ``image`` (n - 1, L) of normal numbers, within errors: the
    second, third, … above the first, undone in balls.

    Where all vectors have the same noise it hides what is left of the values' numbers without their mean.
    """

    def __init__(self, image: NDArray[np.float64]) -> None:
        self.size, self.alike = len(image) + 1, image.shape[1] > len(image)
        if not self.alike:
            undoing = arb_mat(image.tolist()).inv()
            rows = [[-sum(row, arb(0)) for row in undoing.tolist()], *undoing.transpose().tolist()]
            self._values = np.array([[float(entry.mid()) for entry in row] for row in rows])
            widths = np.array([[value_rounded_up(arb(entry.rad())) for entry in row] for row in rows])
            self._errors = np.maximum(widths + np.abs(self._values) * 2.0**-52, _LEAST)
        elif not np.array_equal(image, np.hstack([-np.ones((len(image), 1)), np.eye(len(image))])):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")

    @cached_property
    def alone(self) -> NDArray[np.float64]:
        """(n, L), or (1, 1): squares of what a record is, *rounded up*."""
        if self.alike:
            return np.array([[round_up(Fraction(self.size - 1, self.size))]])
        return _squares(np.abs(self._values), self._errors)

    def moved(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.float64]:
        """(E, L), or (E, 1): likewise of one that moves from one value to another."""
        if self.alike:
            return np.where(first == second, 0.0, 2.0)[:, None]
        sizes = np.abs(self._values[first] - self._values[second]) * _ROUNDED
        squares = _squares(sizes, self._errors[first] + self._errors[second])
        return np.where((first == second)[:, None], 0.0, squares)


def _squares(sizes: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.maximum((sizes + errors * _ROUNDED) ** 2 * _ROUNDED, _LEAST))


@final
class _Part:
    """A block, what values are along each of its attributes, and what a square of 1 uses up of a squared distance."""

    def __init__(self, noisy: NoisyBlock, known: dict[tuple[int, bytes], _Turned]) -> None:
        law, *others = noisy.laws
        sizes = [one.numbers for one in noisy.block.along]
        above = all(isinstance(one, AboveFirst) and one.groups == one.width == 1 for one in noisy.block.along)
        formed = above and not others
        if not (formed and isinstance(law, KroneckerNormals) and [len(one) for one in law.maps] == sizes):
            raise CertificateRefused("the noise in a block of numbers is of another form than the numbers")
        self.block = noisy.block
        self.turned = [
            known.setdefault((axis, one.tobytes()), known.get((axis, one.tobytes())) or _Turned(one))
            for axis, one in zip(noisy.block.axes, law.maps, strict=True)
        ]
        with np.errstate(all="raise"):
            self.rates = (noisy.block.steps / law.spreads) ** 2

    def others(self, axis: int) -> int:
        """How many values of the other attributes, or vectors, there are together."""
        return math.prod(
            max(one.alone.shape) for place, one in zip(self.block.axes, self.turned, strict=True) if place != axis
        )

    def used(self, axis: int | None, moved: NDArray[np.float64]) -> NDArray[np.float64]:
        """(E,): what moves (E, L) along an axis, or a record alone, use up in the block at most, of others' values."""
        place = None if axis is None else self.block.axes.index(axis)
        table = self.rates[None] if place is None else np.moveaxis(self.rates, place, 0)
        found = np.tensordot(moved, table, axes=1)
        for number, one in enumerate(self.turned):
            if number != place:
                found = np.tensordot(found, one.alone, axes=([1], [1]))
        return np.asarray(found.reshape(len(found), -1).max(axis=1))


def require_along_bases(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """Every move, with the most that the other attributes can add to it, block by block.

    Raises: CertificateRefused; TooLarge for metrics with a bound for several attributes together.
    """
    if moves.together:
        raise TooLarge("noise along bases is audited where distances add up over attributes")
    known: dict[tuple[int, bytes], _Turned] = {}
    with ctx.workprec(PRECISION):
        parts = [_Part(one, known) for one in noisy]
    looked_at = 0
    for axis in range(len(moves.sizes)):
        own = [one for one in parts if axis in one.block.axes]
        at_once = _NUMBERS_AT_ONCE // max((one.others(axis) for one in own), default=1)
        if not at_once:
            raise TooLarge("noise along bases of so many vectors is not audited")
        for first, second, bounds in moves.along(axis) if own else ():
            looked_at += len(bounds)
            for start in range(0, len(bounds), at_once):
                some = slice(start, start + at_once)
                one, other = (own[0].block.merged[axis][values[some]] for values in (first, second))
                turned = [part.turned[part.block.axes.index(axis)] for part in own]
                used = [part.used(axis, along.moved(one, other)) for part, along in zip(own, turned, strict=True)]
                _require(np.sum(used, axis=0), bounds[some], parts)
    if moves.presence is not None:
        used = [one.used(None, np.ones((1, 1))) for one in parts]
        _require(np.sum(used, axis=0), np.array([round_down(moves.presence)]), parts)
    return (
        f"all {looked_at:,} moves of one attribute are hidden along the bases, whatever a record has of the others, in "
        "balls: so is every change"
    )


def _require(squares: NDArray[np.float64], distances: NDArray[np.float64], parts: Sequence[_Part]) -> None:
    """All roundings, of sums of so many products in any order, are counted in one factor."""
    widest = max((sum(one.rates.shape) + 8 * one.rates.ndim for one in parts), default=0)
    roundings = 1 + (widest + len(parts) + 32) * 2.0**-52
    if not np.all(squares * roundings <= distances**2):
        raise CertificateRefused("the noise does not hide what the metric protects: it is too narrow along some basis")


MOST_TOTALS: Final = 2000
VECTORS_AT_ONCE: Final = 512


def require_along_totals(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That every move is hidden, of which all changes are made; in a sentence. Raises: CertificateRefused, TooLarge."""
    law = next(law for one in noisy for law in one.laws)
    vectors = _of_triangle(noisy) if isinstance(law, TriangularNormals) else _OfTotals(noisy)
    axis, codes = noisy[0].block.axes[0], noisy[0].block.merged
    alike = [distance for places, distance in moves.together if axis in places]
    part, values = moves.parts[axis], np.arange(vectors.size)
    if isinstance(part, DiscreteMetric):
        # Of any two values as much is hidden, so of any two totals.
        alike.append(part.epsilon)
    else:
        for pairs in moves.along(axis):
            vectors.require(codes[axis][pairs.first], codes[axis][pairs.second], pairs.bound)
    for value in values.tolist() if alike else ():
        vectors.require(values[:value], np.full(value, value), np.full(value, round_down(min(alike))))
    if moves.presence is not None:
        vectors.require(values, None, np.full(len(values), round_down(moves.presence)))
    return "every move along the attribute of the totals is hidden, no other moves them: so is every change"


def require_in_a_row(noisy: Sequence[NoisyBlock], over: OverPeriods) -> str:
    """That every change within so many values in a row is hidden, one record of each; in a sentence.

    No change Σ s_t·v_t with s from -1 to 1 is longer than √Σ|v_t·v_u|. Raises: CertificateRefused, TooLarge.
    """
    law, block = next(law for one in noisy for law in one.laws), noisy[0].block
    vectors = _of_triangle(noisy) if isinstance(law, TriangularNormals) else _OfTotals(noisy)
    if block.axes != (over.axis,):
        raise CertificateRefused("what is promised of several periods is about another attribute than the totals")
    codes = np.asarray(block.merged[over.axis])
    for width, epsilon in over.spans:
        for start in range(max(1, len(codes) - width + 1)):
            if not vectors.together(codes[start : start + width], epsilon):
                raise CertificateRefused("the noise does not hide what is promised of several periods in a row")
    return f"every change within so many periods in a row is hidden: {', '.join(str(one) for one, _ in over.spans)}"


_ONE_LAW: Final = "noise in running totals has one law, of the totals of one attribute"


def _only_law(noisy: Sequence[NoisyBlock]) -> NoiseLaw:
    """Raises: CertificateRefused unless there is one, of one attribute's totals; TooLarge."""
    laws = [law for one in noisy for law in one.laws]
    if len(laws) != 1 or not isinstance(noisy[0].block.along[0], InTotals):
        raise CertificateRefused(_ONE_LAW)
    if laws[0].dimension > MOST_TOTALS:
        raise TooLarge(f"running totals of more than {MOST_TOTALS:,} values are not laid out for this audit")
    return laws[0]


def _of_triangle(noisy: Sequence[NoisyBlock]) -> OfTriangle:
    """Raises: CertificateRefused for noise of another form; TooLarge."""
    law = _only_law(noisy)
    if not isinstance(law, TriangularNormals):
        raise CertificateRefused(_ONE_LAW)
    return OfTriangle(law.factor, noisy[0].block.steps)


@final
class OfTriangle:
    """Of each value what a noise's triangular matrix makes of its totals, undone: in float64, and near a distance in
    balls."""

    def __init__(self, factor: NDArray[np.float64], steps: int) -> None:
        self._factor, self.size, self._steps = factor, len(factor), steps
        added = self._steps * np.tri(self.size)
        with np.errstate(all="ignore"):  # of what is no number here balls decide
            self._laid_out = np.linalg.solve(self._factor, added)
            left = np.linalg.norm(self._factor @ self._laid_out - added, axis=0)
            # The inverse is what is laid out, of differences; twice for what it lacks itself.
            self._off = left * (4 * float(np.linalg.norm(self._laid_out)) / self._steps)

    def lengths(self, one: NDArray[np.int64], other: NDArray[np.int64] | None) -> NDArray[np.float64]:
        """Of these vectors, or of how far they are from others; off by a billionth of what they are."""
        with np.errstate(all="ignore"):
            vectors, off = self._laid_out[:, one], self._off[one]
            if other is not None:
                vectors, off = vectors - self._laid_out[:, other], off + self._off[other]
            return np.asarray(np.linalg.norm(vectors, axis=0) + off)

    def require(self, one: NDArray[np.int64], other: NDArray[np.int64] | None, bounds: NDArray[np.float64]) -> None:
        """Raises: CertificateRefused unless they are no further apart, or where there is no other, no longer."""
        for start in range(0, len(one), VECTORS_AT_ONCE):
            here = slice(start, start + VECTORS_AT_ONCE)
            lengths = self.lengths(one[here], None if other is None else other[here])
            far = ~(lengths <= bounds[here] * (1 - NEAR))
            for place in np.flatnonzero(far).tolist():
                at = start + place
                length = self.in_balls(int(one[at]), None if other is None else int(other[at]))
                if not bool(length <= arb(float(bounds[at]))):
                    raise CertificateRefused("the noise does not hide what the metric protects: totals move too far")

    @property
    def longest(self) -> float:
        """No value is longer; *rounded up*."""
        return float(np.max(np.linalg.norm(self._laid_out, axis=0) * (1 + self.size * 2.0**-51) + self._off))

    def together(self, codes: NDArray[np.int64], epsilon: Fraction) -> bool:
        """Whether no change in one record of each of these is longer; near that, not sure counts as no."""
        found, off = self._laid_out[:, codes], self._off[codes]
        lengths = np.linalg.norm(found, axis=0) + off
        slack = float(lengths.sum()) * (2 * float(off.sum()) + float(lengths.sum()) * self.size * 2.0**-50)
        return float(np.abs(found.T @ found).sum()) * (1 + 2.0**-30) + slack <= float(epsilon) ** 2

    def in_balls(self, one: int, other: int | None) -> arb:
        """How far they are apart, by solving row by row."""
        found: list[arb] = []
        with ctx.workprec(PRECISION):
            for place, row in enumerate(self._factor):
                moved = self._steps * ((place >= one) - (other is not None and place >= other))
                known = zip(row[:place].tolist(), found, strict=True)
                before = sum((arb(own) * beside for own, beside in known if own), arb(0))
                found.append((arb(moved) - before) / arb(float(row[place])))
            return sum((each * each for each in found), arb(0)).sqrt()


@final
class _OfTotals:
    """Of each value, through a Toeplitz matrix. Raises: CertificateRefused for noise of another form; TooLarge."""

    def __init__(self, noisy: Sequence[NoisyBlock]) -> None:
        law = _only_law(noisy)
        if not isinstance(law, ToeplitzNormals):
            raise CertificateRefused(_ONE_LAW)
        self._law, self.size, self._steps = law, law.dimension, noisy[0].block.steps
        place = np.arange(self.size)
        lags = place[:, None] - place
        whole = np.where(lags >= 0, self._law.series[np.maximum(lags, 0)] / ONE, 0.0)
        differences = np.eye(self.size) - np.eye(self.size, k=-1)
        added = self._steps * np.tril(np.ones((self.size, self.size)))
        with np.errstate(all="ignore"):  # of what is no number here the exact square decides
            self._laid_out = (whole / self._law.lengths) @ (differences @ added)

    def require(self, one: NDArray[np.int64], other: NDArray[np.int64] | None, bounds: NDArray[np.float64]) -> None:
        """Raises: CertificateRefused unless they are no further apart, or where there is no other, no longer."""
        for start in range(0, len(one), VECTORS_AT_ONCE):
            here = slice(start, start + VECTORS_AT_ONCE)
            with np.errstate(all="ignore"):
                vectors = self._laid_out[:, one[here]]
                if other is not None:
                    vectors = vectors - self._laid_out[:, other[here]]
                far = ~(np.linalg.norm(vectors, axis=0) <= bounds[here] * (1 - NEAR))
            for place in np.flatnonzero(far).tolist():
                at = start + place
                square = self._exactly(int(one[at]), None if other is None else int(other[at]))
                if square > Fraction(float(bounds[at])) ** 2:
                    raise CertificateRefused("the noise does not hide what the metric protects: totals move too far")

    def together(self, codes: NDArray[np.int64], epsilon: Fraction) -> bool:
        """Whether no change in one record of each of these is longer. Where no coefficient is below 0 all of them at
        once are the longest: in float64, and near the number in balls; else not sure counts as no."""
        found = self._laid_out[:, codes]
        if np.any(self._law.series < 0):
            lengths = float(np.linalg.norm(found, axis=0).sum())
            told = float(np.abs(found.T @ found).sum()) + lengths**2 * self.size * 2.0**-50
            return told * (1 + 2.0**-30) <= float(epsilon) ** 2
        if float(np.linalg.norm(found.sum(axis=1))) <= float(epsilon) * (1 - NEAR):
            return True
        series, total = self._law.series.tolist(), arb(0)
        with ctx.workprec(PRECISION):
            shares = [(place, arb(self._steps) / arb(float(self._law.lengths[place]))) for place in codes.tolist()]
            for row in range(self.size):
                total += sum((arb(series[row - place]) * one for place, one in shares if place <= row), arb(0)) ** 2
            return bool(total / ONE**2 <= arb(epsilon.numerator) ** 2 / arb(epsilon.denominator) ** 2)

    def _exactly(self, one: int, other: int | None) -> Fraction:
        """The square of how far they are apart, of the coefficients and lengths as they are."""
        series: list[int] = self._law.series.tolist()
        chosen = [(1, one)] if other is None else [(1, one), (-1, other)]
        columns = [
            (Fraction(sign * self._steps, ONE) / Fraction(float(self._law.lengths[place])), place)
            for sign, place in chosen
        ]
        found = Fraction(0)
        for share, place in columns:
            for times, beside in columns:
                low = max(place, beside)
                both = zip(series[low - place : self.size - place], series[low - beside :], strict=False)
                found += share * times * sum(first * second for first, second in both)
        return found


_MOST_CELLS: Final = 1 << 26
_UPWARD: Final = 1 + 2.0**-34
"""Sums of non-negative numbers, of at most a million each, are off by less."""


def weighs_sums(noisy: Sequence[NoisyBlock]) -> bool:
    """Whether noise is in such numbers."""
    return any(isinstance(one, Weighed) for each in noisy for one in each.block.along)


def require_weighed(noisy: Sequence[NoisyBlock], moves: Moves) -> str:
    """That no record that comes or goes uses up more than its distance, in a sentence.

    Raises: CertificateRefused; TooLarge where other changes are nearer than twice that, or told values very many.
    """
    presence, told = moves.presence, {axis: own for one in noisy for axis, own in one.block.merged.items()}
    if presence is None or any(distance < 2 * presence for _, distance in moves.together):
        raise TooLarge("noise in weighted sums is audited where records come and go, and none are nearer than that")
    for axis, own in told.items():
        for first, second, bounds in moves.along(axis):
            if np.any((own[first] != own[second]) & (bounds < float(2 * presence))):
                raise TooLarge("noise in weighted sums is audited where no two values are nearer than by absence")
    axes = sorted(told)
    sizes = [int(told[axis].max()) + 1 for axis in axes]
    if math.prod(sizes) > _MOST_CELLS:
        raise TooLarge(f"{math.prod(sizes):,} combinations of values are not gone through in an audit")
    loads = np.zeros(sizes)
    for block, laws in noisy:
        if not all(isinstance(one, LaplaceNoise) for one in laws):
            raise CertificateRefused("the noise in weighted sums is of another form than the numbers")
        scales = np.concatenate([one.scales for one in laws if isinstance(one, LaplaceNoise)])
        table = (block.steps / scales).reshape([one.numbers for one in block.along])
        for place, one in enumerate(block.along):
            if not isinstance(one, Weighed):
                raise CertificateRefused("the noise in weighted sums is of another form than the numbers")
            table = np.moveaxis(np.tensordot(table, np.abs(one.rows).astype(np.float64), axes=(place, 0)), -1, place)
        own_sizes = iter(table.shape)
        loads = loads + table.reshape([next(own_sizes) if axis in block.axes else 1 for axis in axes])
    if not float(loads.max()) * _UPWARD <= round_down(presence):
        raise CertificateRefused("the noise does not hide a record that comes or goes")
    return f"a record that comes or goes is hidden, whichever of {loads.size:,} combinations of values it has"
