"""Strategies for counts along one line: noise in running totals, independent through a triangular Toeplitz matrix.

A record with the j-th of n values adds 1 to the running totals j, …, n. Through C·diag(1/l)·P⁻¹ it becomes the j-th
column of C over l_j, C lower triangular with the coefficients of one power series. These are whole multiples of 2⁻⁶⁰,
and what is proved of them is proved in integers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.values_in_a_row import (
    largest_within,
    length_of_first,
    patterns,
    square_of_first,
    toeplitz_columns,
)
from dxgeom.noise.toeplitz import LONGEST, ONE, ToeplitzNormals, convolved
from dxgeom.noise.triangular import LAID_OUT
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Closed, cached_property

_ENTRIES: Final = 1 << 24
"""Columns have lengths of their own while what is found from them takes so many numbers; of more values, together."""
_MOST_WORK: Final = 2.0**36
_ROWS: Final = 256
_LARGEST: Final = 2.0**100
_LEAST_LEFT: Final = -14.0
_STEPS: Final = 22
_GOLDEN: Final = (math.sqrt(5) - 1) / 2
_AROUND: Final = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, -1))
_FINEST: Final = 0.03
"""How near logarithms of 1 − θ and 1 − α come to the best."""
_MARGINS: Final = (0.0, 2.0**-46, 2.0**-40, 2.0**-30)
"""By how much more than float64 says noise is enlarged, each tried when the one before was not enough."""


@final
@dataclass(frozen=True)
class LineBounds:
    """What a metric promises of values along an attribute: ``presence``: a record and none; ``apart``: two values that
    are told apart; with ``line`` neighbours, of whose steps all other changes are made. None: no promise.

    ``spans``: any change within so many codes in a row, one record of each, at the number beside; ``classes``: which
    value each code is taken for, rising. ``between``: two categories of one value, where totals are of such. ``gaps``:
    neighbours on a line that are not all as far apart, in float64, *rounded down*, where ``apart`` is the least. Any
    noise is held to all of these."""

    presence: Fraction | None
    apart: Fraction | None
    line: bool
    spans: tuple[tuple[int, Fraction], ...] = ()
    classes: tuple[int, ...] = ()
    between: Fraction | None = None
    gaps: tuple[float, ...] = ()

    def steps(self, count: int) -> NDArray[np.float64]:
        """(count,): how far neighbours are from each other, *rounded down*; infinite where nothing is promised."""
        if self.apart is None:
            return np.full(count, np.inf)
        return np.array(self.gaps) if self.gaps else np.full(count, round_down(self.apart))


def uneven(gaps: NDArray[np.float64] | None) -> tuple[float, ...]:
    """How far neighbours are apart, where that is not the same for all; else nothing."""
    return () if gaps is None or not len(gaps) or gaps.min() == gaps.max() else tuple(gaps.tolist())


@final
@dataclass(frozen=True)
class ToeplitzStrategy(Closed):
    """C of ``size`` coefficients of ((1 − αx)/((1 − x)·(1 − θx)))^(1/2), or where a ``window`` is stated of
    ((1 − x^window)/(1 − x))^(1/2); ``scaled``: every column of C has its own length, else the first one's.

    θ = α = 0 is the square root of running totals; θ = 1 is independent noise in each of them, the best under steps
    alone. α = 1, θ = 0 is independent noise in each count; between lie those for changes in several values in a row.
    Source: Fichtenberger, Henzinger & Upadhyay 2023 for θ = 0; see decision 069.
    """

    size: int
    theta: float = 0.0
    window: int | None = None
    scaled: bool = False
    alpha: float = 0.0

    def __post_init__(self) -> None:
        whole = {type(self.size), type(self.window)} <= {int, type(None)} and type(self.scaled) is bool
        shares = all(type(one) is float and 0 <= one <= 1 for one in (self.theta, self.alpha))
        if not (whole and shares and 0 < self.size <= LONGEST):
            raise CertificateRefused(
                f"noise in running totals has 1 to {LONGEST:,} values, a theta and an alpha from 0 to 1, found {self}"
            )
        if self.window is not None and not (1 < self.window <= self.size and self.theta == self.alpha == 0):
            raise CertificateRefused(f"a window is of two values or more, with a theta and an alpha of 0, found {self}")

    @property
    def in_words(self) -> str:
        """What is measured, for a reader."""
        more = f" and an alpha of {self.alpha:.4g}" if self.alpha else ""
        kind = f"a theta of {self.theta:.4g}{more}" if self.window is None else f"windows of {self.window:,} values"
        return f"in running totals, for {kind}{', each value with a length of its own' if self.scaled else ''}"

    @property
    def identity(self) -> tuple[object, ...]:
        """What a fingerprint holds of it."""
        more = (float(self.alpha),) if self.alpha else ()
        return self.size, float(self.theta), self.window, self.scaled, self.series, *more

    @cached_property
    def series(self) -> NDArray[np.int64]:
        """(size,): the coefficients in parts of 2⁶⁰, the same on every machine."""
        own = _roots(self.size, self.theta, self.alpha) if self.window is None else _window_root(self.size, self.window)
        return np.rint(own * ONE).astype(np.int64)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        """The first column of each run of columns with one length."""
        if not self.scaled:
            return (0,)
        runs = _ENTRIES // self.size
        if runs >= self.size:
            return tuple(range(self.size))
        # Lengths fall fastest near the end: so many values are left after the i-th run as (1 − i/runs)².
        left = (-(-self.size * (runs - place) ** 2 // runs**2) for place in range(runs))
        return tuple(sorted({self.size - one for one in left}))

    @cached_property
    def _squares(self) -> tuple[int, ...]:
        """Σ_{k<m} c_k² for m = 0, …, size, in parts of 2¹²⁰."""
        return tuple(accumulate((one * one for one in self.series.tolist()), initial=0))

    @cached_property
    def _neighbours(self) -> tuple[int, ...]:
        """Σ_{0<k<m} c_k·c_{k−1} for m = 1, …, size."""
        return tuple(accumulate((one * other for one, other in pairwise(self.series.tolist())), initial=0))

    def lengths(self, scale: float) -> NDArray[np.float64]:
        """(size,): those of the columns, times ``scale``; of a run of columns the first one's."""
        own = [math.sqrt(self._squares[self.size - start] / ONE**2) for start in self._starts]
        widths = np.diff([*self._starts, self.size])
        return np.repeat(np.array(own) * (scale * (1 + 2.0**-50)), widths)

    def law(self, scale: float, step: float) -> ToeplitzNormals:
        """The noise in the running totals, in lattice steps of this size."""
        return ToeplitzNormals(self.series, self.lengths(scale) / step)

    def hides(self, scale: float, bounds: LineBounds) -> bool:
        """Whether noise of this scale hides what ``bounds`` promise; *exactly*, in integers.

        Of a run of columns over one length the first is the longest, and so is its difference from the next: both are
        sums of squares of which later ones have fewer. Where no coefficient is below 0 no two columns are at an obtuse
        angle, and so their difference is no longer than √2 times the longer; else than twice.
        """
        if not (0 < scale <= _LARGEST):
            return False
        lengths = [Fraction(one) * ONE for one in self.lengths(scale)[list(self._starts)].tolist()]
        runs = list(zip(self._starts, [*self._starts[1:], self.size], lengths, strict=True))
        most = max(Fraction(self._squares[self.size - first]) / own**2 for first, _, own in runs)
        if bounds.presence is not None and most > bounds.presence**2:
            return False
        if any(told > 1 for told in self.within(scale, bounds)):
            return False
        if bounds.apart is None:
            return True
        obtuse = 2 if bool(np.all(self.series >= 0)) else 4
        return obtuse * most <= bounds.apart**2 or (
            bounds.line and max(self._steps(runs), default=Fraction(0)) <= bounds.apart**2
        )

    def within(self, scale: float, bounds: LineBounds) -> Iterator[Fraction]:
        """For each of the spans the square of what any change within it reveals at most, over its number's;
        *rounded up*. Raises: TooLarge.

        Where no coefficient is below 0 and columns have one length, no change is longer than one record more of each
        code, and of these none than the first: exactly, in integers. Else :func:`largest_within`.
        """
        lengths = self.lengths(scale)
        if not self.scaled and bool(np.all(self.series >= 0)):
            totals, own = [0, *accumulate(self.series.tolist())], Fraction(float(lengths[0])) * ONE
            for width, epsilon in bounds.spans:
                most = max(square_of_first(totals, runs) for runs in patterns(bounds.classes, width))
                yield Fraction(most) / (own * epsilon) ** 2
            return
        if bounds.spans and self.size > LAID_OUT:
            raise TooLarge(f"changes over several of more than {LAID_OUT:,} values are not looked at in this way")
        for width, epsilon in bounds.spans:
            columns = toeplitz_columns(self.series, ONE, lengths)
            off = np.linalg.norm(columns, axis=0) * 2.0**-50
            yield Fraction(largest_within(columns, off, bounds.classes, width)) / epsilon**2

    def _steps(self, runs: Sequence[tuple[int, int, Fraction]]) -> Iterable[Fraction]:
        """‖C_j/l_j − C_{j+1}/l_{j+1}‖² of each run's first two columns, and of its last and the next run's first."""
        for place, (first, beyond, own) in enumerate(runs):
            if beyond - first > 1:
                yield self._step(self.size - first, own, own)
            if beyond < self.size:
                yield self._step(self.size - beyond + 1, own, runs[place + 1][2])

    def _step(self, left: int, own: Fraction, other: Fraction) -> Fraction:
        both = self._squares[left] / own**2 + self._squares[left - 1] / other**2
        return both - 2 * self._neighbours[left - 1] / (own * other)

    def least_scale(self, bounds: LineBounds) -> float:
        """The smallest scale that :meth:`hides`, up to 1e-9. Raises: CertificateRefused."""
        wanted = [] if bounds.presence is None else [1 / float(bounds.presence)]
        if bounds.apart is not None:
            obtuse = math.sqrt(2 if bool(np.all(self.series >= 0)) else 4)
            lengths = [Fraction(one) * ONE for one in self.lengths(1.0)[list(self._starts)].tolist()]
            runs = list(zip(self._starts, [*self._starts[1:], self.size], lengths, strict=True))
            step = math.sqrt(max(self._steps(runs), default=Fraction(0))) if bounds.line else obtuse
            wanted.append(min(step, obtuse) / float(bounds.apart))
        wanted += [math.sqrt(told) for told in self.within(1.0, bounds)]
        for margin in _MARGINS:
            scale = max(wanted, default=0.0) * (1 + margin)
            if self.hides(scale, bounds):
                return scale
        raise CertificateRefused("noise in running totals does not hide what the metric protects, at any scale")

    def variances(self, scale: float, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
        """(K,): of the noise in how many records lie from ``lower`` (K,) to below ``upper`` (K,), up to the rounding of
        float64. Raises: TooLarge."""
        if not self.scaled:
            return of_one_length(self._unit.inverse, lower, upper) * (scale * float(self._unit.lengths[0])) ** 2
        if not np.any(lower):
            return self._of_totals[upper - 1] * scale**2
        rows = float(len(lower)) * self.size * math.log2(2 * self.size) * 8
        if min(rows, float(self.size) ** 3) > _MOST_WORK or (rows > self.size**3 and self.size**2 > _ENTRIES):
            raise TooLarge("errors of so many ranges are not found where columns have lengths of their own")
        if rows > self.size**3:
            moment = np.zeros((self.size + 1, self.size + 1))
            moment[1:, 1:] = self._unit.second_moment
            found = moment[upper, upper] + moment[lower, lower] - 2 * moment[lower, upper]
        else:
            parts = (slice(at, at + _ROWS) for at in range(0, len(lower), _ROWS))
            found = np.concatenate([_along(self._unit, lower[part], upper[part]) for part in parts])
        return np.asarray(found * scale**2)

    @cached_property
    def _unit(self) -> ToeplitzNormals:
        return self.law(1.0, 1.0)

    @cached_property
    def _of_totals(self) -> NDArray[np.float64]:
        """(size,): of each running total. With M the law's matrix, a run of columns over one length l adds l times the
        rows' difference from the run's first."""
        inverse, lengths, size = self._unit.inverse, self._unit.lengths, self.size
        squares, before, found = np.cumsum(inverse**2), np.zeros(size), np.empty(size)
        single = len(self._starts) == size
        for first, beyond in zip(self._starts, [*self._starts[1:], size], strict=True):
            own = float(lengths[first])
            before[:first] -= own * inverse[first - 1 :: -1] if first else 0.0
            if single:
                along = np.array([before[:first] @ inverse[first:0:-1]])
            else:
                along = convolved(inverse, before)[first:beyond]
            found[first:beyond] = before @ before + 2 * own * along + own**2 * squares[first:beyond]
            before[:beyond] += own * inverse[beyond - 1 :: -1]
        return found


def best_theta(
    size: int, bounds: LineBounds, lower: NDArray[np.int64], upper: NDArray[np.int64], costs: NDArray[np.float64]
) -> float:
    """The θ with the smallest total error, each times its cost, where columns have one length; up to what a search in
    1 − θ leaves open. It serves steps along a line: where these cost nothing beyond presence, 0.

    Raises: TooLarge as :meth:`ToeplitzStrategy.variances`.
    """
    root = _roots(size, 0.0)
    places = np.arange(size)

    def total(logarithm: float) -> float:
        theta = 1 - math.exp(logarithm)
        powers = root * theta**places
        series, inverse = convolved(root, powers), convolved(root, powers / (1.0 - 2 * places))
        steps = np.diff(series, prepend=0.0)
        wanted = [0.0 if one is None else 1 / float(one) for one in (bounds.presence, bounds.apart)]
        length = max(float(np.linalg.norm(series)) * wanted[0], float(np.linalg.norm(steps)) * wanted[1])
        return float(of_one_length(inverse, lower, upper) @ costs) * length**2

    if not bounds.line or bounds.apart is None:
        return 0.0
    low, high = _LEAST_LEFT, 0.0
    for _ in range(_STEPS):
        inner = high - (high - low) * _GOLDEN, low + (high - low) * _GOLDEN
        low, high = (low, inner[1]) if total(inner[0]) < total(inner[1]) else (inner[0], high)
    return 1 - math.exp((low + high) / 2)


def best_damped(
    size: int, bounds: LineBounds, lower: NDArray[np.int64], upper: NDArray[np.int64], costs: NDArray[np.float64]
) -> tuple[float, float]:
    """θ and α with the smallest total error, each times its cost, under changes within spans. Up to what a search
    leaves open.

    Raises: TooLarge as :meth:`ToeplitzStrategy.variances`.
    """
    found = [(runs, float(epsilon)) for width, epsilon in bounds.spans for runs in patterns(bounds.classes, width)]

    def total(logarithms: Sequence[float]) -> float:
        theta, alpha = (1 - math.exp(-abs(one)) for one in logarithms)
        series, inverse = _roots(size, theta, alpha), _roots(size, alpha, theta)
        wanted = [float(np.linalg.norm(series)) / float(bounds.presence)] if bounds.presence else []
        if bounds.apart is not None and bounds.line:
            wanted.append(float(np.linalg.norm(np.diff(series, prepend=0.0))) / float(bounds.apart))
        totals = np.append(0.0, np.cumsum(series))
        wanted += [length_of_first(totals, runs) / epsilon for runs, epsilon in found]
        return float(of_one_length(inverse, lower, upper) @ costs) * max(wanted, default=0.0) ** 2

    reach = math.log(8 * size)
    starts = [(reach * one / 4, reach * other / 4) for other in range(5) for one in range(other + 1)]
    least, place = min((total(one), one) for one in starts)
    step = reach / 8
    while step > _FINEST:
        around = [(place[0] + one * step, place[1] + other * step) for one, other in _AROUND]
        best, beside = min((total(one), one) for one in around)
        least, place, step = (best, beside, step) if best < least else (least, place, step / 2)
    return 1 - math.exp(-abs(place[0])), 1 - math.exp(-abs(place[1]))


def _along(law: ToeplitzNormals, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> NDArray[np.float64]:
    rows, each = np.zeros((len(lower), law.dimension)), np.arange(len(lower))
    rows[each, upper - 1] = 1
    rows[each[lower > 0], lower[lower > 0] - 1] = -1
    return law.variances_along(rows)


def of_one_length(
    inverse: NDArray[np.float64], lower: NDArray[np.int64], upper: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(K,): of differences of totals G = h∗N: Σ_{t<u−l} h_t² + Σ_{t<l} (h_{t+u−l} − h_t)². Raises: TooLarge."""
    squares, widths = np.append(0.0, np.cumsum(inverse**2)), upper - lower
    found = squares[widths].copy()
    inside = np.flatnonzero(lower > 0)
    apart = np.unique(widths[inside]).tolist()
    if float(len(apart)) * len(inverse) > _MOST_WORK / 16:
        raise TooLarge("errors of ranges of so many widths are not found")
    for width in apart:
        here = inside[widths[inside] == width]
        moved = np.cumsum((inverse[width:] - inverse[: len(inverse) - width]) ** 2)
        found[here] += moved[lower[here] - 1]
    return np.asarray(found)


def _roots(size: int, theta: float, alpha: float = 0.0) -> NDArray[np.float64]:
    """(size,): n·r_n = (n − ½)(1 + θ)·r_{n−1} − (n − 1)θ·r_{n−2}, from r_0 = 1, in this order of roundings; with α as
    :func:`_damped_roots`."""
    if alpha:
        return _damped_roots(size, theta, alpha)
    found, before, own = [1.0], 0.0, 1.0
    for place in range(1, size):
        before, own = own, ((place - 0.5) * (1 + theta) * own - (place - 1) * theta * before) / place
        found.append(own)
    return np.array(found)


def _damped_roots(size: int, theta: float, alpha: float) -> NDArray[np.float64]:
    """(size,): of ((1 − αx)/((1 − x)·(1 − θx)))^(1/2), from p·C′ = q·C with p = (1 − x)(1 − θx)(1 − αx), in this order
    of roundings. None is below 0: their logarithm has the coefficients (1 + θⁿ − αⁿ)/2n."""
    both, product, all_three = theta * alpha, 1 + theta + alpha, theta + alpha + theta * alpha
    found, last, before, own = [1.0], 0.0, 0.0, 1.0
    for place in range(1, size):
        first = (product * (place - 1) + (1 + theta - alpha) / 2) * own
        second = (all_three * (place - 2) + theta) * before
        third = both * (place - 2.5) * last
        last, before, own = before, own, max(0.0, (first - second + third) / place)
        found.append(own)
    return np.array(found)


def _window_root(size: int, window: int) -> NDArray[np.float64]:
    """(size,): of (1 − x)^(−1/2), less its multiples as (1 − x^window)^(1/2) has them."""
    root = _roots(size, 0.0)
    found, share = root.copy(), 1.0
    for place in range(1, -(-size // window)):
        share *= (place - 1.5) / place
        found[place * window :] += share * root[: size - place * window]
    return found
