"""Normal noise that now and then jumps far along a shift that it has to hide, so that it bounds odds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.inversion import BEYOND, MOST_WAVES, quantile, waves_beside_normal
from dxgeom.noise.jump_shifts import JumpShifts, freeze_integers
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import FLOAT_ERROR, Evaluation, IdealDraws, exponentials, legible
from dxgeom.numeric.arrays import kinds_of_rows
from dxgeom.numeric.exact_numbers import exact_middle, rational
from dxgeom.numeric.randomness import Randomness, fair_bits
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property

REACHES_PER_UNIT: Final = 16
"""A reach s² is a whole number of sixteenths,"""
LEAST_REACH: Final = 2 * REACHES_PER_UNIT
"""at least 2, where the proof begins,"""
LARGEST_REACH: Final = 64 * REACHES_PER_UNIT
"""and none is larger than this: there jumps are so rare already that they cost nothing."""
RATE_BITS: Final = 64
"""A rate is a whole number of 2⁻⁶⁴."""
_PRECISION: Final = 128


@cache
def rates_of_reaches() -> NDArray[np.uint64]:
    """(LARGEST_REACH + 1,): for every reach s² in sixteenths the rate R(s²) in units of 2⁻⁶⁴; 0 below 2, where none is
    known.

    Definition: R(s²) = 2e^(−s²/2)·((1 + 1/s²)/(e·s²) + 4/(e²s⁴)). Guarantee: *rounded up*, in ball arithmetic.
    Source: ``docs/decisions/046-gaussian-noise-with-jumps.md``.
    """
    rates = np.zeros(LARGEST_REACH + 1, dtype=np.uint64)
    with ctx.workprec(_PRECISION):
        for reach in range(LEAST_REACH, LARGEST_REACH + 1):
            rates[reach] = _whole_above(_rate(arb(fmpq(reach, REACHES_PER_UNIT))))
    rates.setflags(write=False)
    return rates


def float_rates(reaches: NDArray[np.float64]) -> NDArray[np.float64]:
    """R of any s² > 0, up to the rounding of float64: for searches, which prove nothing."""
    share = (1 + 1 / reaches) / (np.e * reaches) + 4 / (np.e * reaches) ** 2
    return np.asarray(2 * np.exp(-reaches / 2) * share)


def _rate(reach: arb) -> arb:
    euler = arb(1).exp()
    return 2 * (-reach / 2).exp() * ((1 + 1 / reach) / (euler * reach) + 4 / (euler * reach) ** 2)


def _whole_above(rate: arb) -> int:
    """The least whole number of 2⁻⁶⁴ that is certainly not below it."""
    # The upper end of the ball is exact.
    return math.ceil(exact_middle((rate * (1 << RATE_BITS)).upper()))


_UNUSED: Final = np.uint64(2**64 - 1)
"""Where a row has fewer jumps than others: a word of which nothing is read."""


class DrawnJumps(NamedTuple):
    """The jumps of B draws, as many columns as the most that a row has.

    ``many`` (B,): how many jumps each row has. (B, J) each: ``places`` of shifts; ``away``, whether the reach is added
    or taken off; ``onward``, the same of the exponential, whose uniform begins with ``words``.
    """

    many: NDArray[np.int64]
    places: NDArray[np.int64]
    away: NDArray[np.bool_]
    onward: NDArray[np.bool_]
    words: NDArray[np.uint64]

    def rounds(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
        """For each turn the rows that jump then, where to, and which turn it is."""
        for turn in range(self.places.shape[1]):
            rows = np.flatnonzero(self.many > turn)
            yield rows, self.places[rows, turn], turn


def drawn_jumps(cumulative: NDArray[np.uint64], count: int, randomness: Randomness) -> DrawnJumps:
    """The jumps of ``count`` draws.

    Definition: a uniform word below ``cumulative[-1]`` is a jump, along the shift e with cumulative[e − 1] ≤ word <
    cumulative[e]; the first word that is not ends the row. So a row has j jumps with probability (1 − r)·r^j, each
    along e with probability ρ_e/r. Guarantee: *exact*, given uniform random words.
    """
    turns: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    rows = np.arange(count)
    while rows.size:
        words = randomness.words(len(rows))
        jumping = words < cumulative[-1]
        rows = rows[jumping]
        if rows.size:
            turns.append((rows, np.searchsorted(cumulative, words[jumping], side="right")))
    shape = (count, len(turns))
    many, places = np.zeros(count, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    away, onward = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    words = np.full(shape, _UNUSED)
    for turn, (jumping_rows, found) in enumerate(turns):
        many[jumping_rows] += 1
        places[jumping_rows, turn] = found
        signs = fair_bits(2 * len(found), randomness).reshape(2, -1)
        away[jumping_rows, turn], onward[jumping_rows, turn] = signs
        words[jumping_rows, turn] = randomness.words(len(found))
    return DrawnJumps(many, places, away, onward, words)


def simulated_jumps(
    cumulative: NDArray[np.uint64], reaches: NDArray[np.float64], count: int, generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """The same in float64, turn by turn: rows, places and lengths, of ``reaches`` (E,)."""
    ends = cumulative * 2.0**-64
    rows = np.arange(count)
    while True:
        uniforms = generator.random(len(rows))
        jumping = uniforms < ends[-1]
        rows = rows[jumping]
        if not rows.size:
            return
        places = np.minimum(np.searchsorted(ends, uniforms[jumping], side="right"), len(ends) - 1)
        signs = generator.integers(0, 2, len(rows)) * 2 - 1
        yield rows, places, signs * reaches[places] + generator.laplace(size=len(rows))


_STEPS: Final = 48
_USUAL: Final = 34
"""The place where the valley is mostly, from 1 on: who begins there looks at few."""
_MOST: Final = 0.99
"""Jumps are at most this much of what a moment's series adds up to, so that float64 tells the sum well."""
_OUTWARD: Final = 1 + 1e-9


def chernoff_widths(
    variances: NDArray[np.float64],
    along: NDArray[np.float64],
    reaches: NDArray[np.float64],
    rates: NDArray[np.float64],
    missed: float,
) -> NDArray[np.float64]:
    """(n,): a t that each |a·V| exceeds with probability ``missed`` at most: *rounded up*, never the least.

    Definition: P[|a·V| > t] ≤ 2e^(−θt)·M(θ) for every θ from 0 to 1/max|a·x_e|, M(θ) = e^(θ²v/2)·(1 − r)/(1 − S(θ))
    with S(θ) = Σ ρ_e·cosh(θ·s_e²·a·x_e)/(1 − (θ·a·x_e)²) < 1; nearly the least of them over θ, which has one valley
    since log M is convex.
    Args: ``variances`` (n,): v = aᵀΣa; ``along`` (n, E): |a·x_e|; ``reaches`` (E,): s_e²; ``rates`` (E,): ρ_e.
    Source: Chernoff 1952.
    """
    furthest = np.max(along * (1 + reaches), axis=1, initial=0.0)
    scales = np.maximum(np.sqrt(variances), furthest)
    places = np.geomspace(1e-2, 1e2, _STEPS)

    known = np.full((len(scales), _STEPS + 2), np.nan)
    known[:, [0, -1]] = np.inf

    def width(rows: NDArray[np.int64], steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """At the places ``steps`` from 1 on; there is nothing below the first, and nothing above the last."""
        new = np.isnan(known[rows, steps])
        if new.any():
            rising = places[steps[new] - 1] / scales[rows[new]]
            known[rows[new], steps[new]] = _bounded(variances, along, reaches, rates, rows[new], rising, missed)
        return np.asarray(known[rows, steps])

    noisy = np.flatnonzero(scales > 0)
    at = np.full(len(noisy), _USUAL)
    moving = np.arange(len(noisy))
    while moving.size:
        rows, here = noisy[moving], at[moving]
        own, below = width(rows, here), width(rows, here - 1)
        turn = np.where((below <= own) & (here > 1), -1, 0)
        rest = turn == 0  # nobody looks above where it falls below
        turn[rest] = width(rows[rest], here[rest] + 1) < own[rest]
        at[moving] += turn
        moving = moving[turn != 0]
    found = np.zeros(len(scales))
    found[noisy] = known[noisy, at] * _OUTWARD
    return found


def _bounded(
    variances: NDArray[np.float64],
    along: NDArray[np.float64],
    reaches: NDArray[np.float64],
    rates: NDArray[np.float64],
    rows: NDArray[np.int64],
    rising: NDArray[np.float64],
    missed: float,
) -> NDArray[np.float64]:
    """(n,): Chernoff's bound of these rows at the θ ``rising``; infinite where its series is near 1."""
    series = np.ones(len(rows))
    near = rising * along[rows].max(axis=1, initial=0.0) < _MOST
    grown = rising[near, None] * along[rows[near]]
    series[near] = np.sum(rates * np.cosh(grown * reaches) / (1 - grown**2), axis=1)
    fits = series <= _MOST
    left = math.log1p(-float(rates.sum()))
    moments = (rising * np.sqrt(variances[rows])) ** 2 / 2 + left - np.log1p(-np.where(fits, series, 0.0))
    return np.where(fits, (math.log(2 / missed) + np.maximum(moments, 0.0)) / rising, np.inf)


_CANCELLED: Final = 1e-12
"""More than what float64 loses of some hundred terms that cancel, even twenty times as long as they mostly are."""
_MOST_JUMPS: Final = 256
"""What float64 adds up of more jumps is not vouched for."""
_MOST_TOTAL: Final = (1 << RATE_BITS) // 20 * 19
"""r stays below 19/20: beyond it float64 does not tell 1 − r well, and draws take long."""
_UPWARD: Final = 1 + 2.0**-50
_DOWNWARD: Final = 1 - 2.0**-30
_UNLIKELY: Final = 110.0
_TOGETHER: Final = 1 << 17
"""Jumps in some directions that are looked at at once."""
_FEW: Final = 48
"""Coordinates that leave few kinds of jumps to tell apart; a ratio has about two."""


def _groups(rows: NDArray[np.float64]) -> Iterator[NDArray[np.int64]]:
    """Places of rows that have at most ``_FEW`` coordinates together; rows of more are one group.

    So few coordinates tell few kinds of jumps apart.
    """
    uses = rows != 0
    wide = uses.sum(axis=1) > _FEW
    start, together = 0, np.zeros(rows.shape[1], dtype=bool)
    few = np.flatnonzero(~wide)
    for place, row in enumerate(few.tolist()):
        joined = together | uses[row]
        if np.count_nonzero(joined) > _FEW:
            yield few[start:place]
            start, joined = place, uses[row]
        together = joined
    yield from (group for group in (few[start:], np.flatnonzero(wide)) if group.size)


@final
@dataclass(frozen=True, eq=False)
class GaussianWithJumps(NoiseLaw):
    """V = G + Σ_{i ≤ J} T_i·x_{e_i}: a normal vector G, and J jumps along shifts x_e, long T_i = ±s_e² + Laplace(1).

    Odds are bounded: the law is *purely* private. Along x_e the normal part alone falls too steeply beyond its own
    variance; there the jumps, each about as far out as that, take over.

    Definition: Σ is the covariance of ``gaussian``; x_e are the ``shifts``; s_e² = reaches[e]/16; ρ_e is R(s_e²) of
    :func:`rates_of_reaches`, a whole number of 2⁻⁶⁴; r = Σρ_e < 1. P[J = j] = (1 − r)·r^j, e_i is e with probability
    ρ_e/r, signs are fair, and all are independent. ``reaches`` (E,): integers from 32 to 1024.
    Guarantees: adding t·x_e to V changes the odds of any set by at most e^|t|, *exactly*: x_eᵀΣ⁻¹x_e ≤ 1/s_e² is proved
    for the very numbers held, with rounding counted against it, and so is r < 1. ``draw`` rounds the ideal sum once,
    *exactly*. Raises: NotANormBall for numbers of no such law; CertificateRefused where they do not bound odds.
    Source: ``docs/decisions/046-gaussian-noise-with-jumps.md``.
    """

    gaussian: GaussianNoise
    shifts: JumpShifts
    reaches: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_integers(self, "reaches")
        formed = self.shifts.width == self.gaussian.dimension and self.reaches.shape == (self.shifts.count,)
        if not (formed and self.reaches.min() >= LEAST_REACH and self.reaches.max() <= LARGEST_REACH):
            raise NotANormBall(
                "jumps go along shifts of as many coordinates as the normal part has, and reach from 2 to 64"
            )
        lengths = self.shifts.lengths(self.gaussian.body)
        if not np.all(lengths * np.sqrt(self._float_reaches) * _UPWARD <= self.shifts.distances):
            raise CertificateRefused("the normal part of this noise is too narrow for the reach of some jump")
        if not self.total < _MOST_TOTAL:
            raise CertificateRefused("noise of so narrow a normal part would have to jump without end")

    @classmethod
    def around(cls, gaussian: GaussianNoise, shifts: JumpShifts) -> GaussianWithJumps:
        """The law with the largest reaches that can be proved, up to their sixteenths, and so with the fewest jumps.

        Raises: CertificateRefused where some reach is below 2, or jumps would not end.
        """
        if shifts.width != gaussian.dimension:
            raise NotANormBall("jumps go along shifts of as many coordinates as the normal part has")
        lengths = np.maximum(shifts.lengths(gaussian.body), np.finfo(np.float64).tiny)
        with np.errstate(over="ignore"):
            squares = (shifts.distances / lengths) ** 2 * _DOWNWARD * REACHES_PER_UNIT
        reaches = np.floor(np.minimum(squares, LARGEST_REACH)).astype(np.int64)
        if reaches.min() < LEAST_REACH:
            raise CertificateRefused("the normal part of this noise is too narrow for jumps along some shift")
        return cls(gaussian, shifts, reaches)

    @property
    def body(self) -> None:
        """The hull of all ±x_e, whose norm is the least Σ|c_e| with Σ c_e·x_e = w: known by these points only."""
        return

    @cached_property
    def total(self) -> int:
        """r in units of 2⁻⁶⁴, as a Python integer, which does not overflow."""
        times = np.bincount(self.reaches, minlength=LARGEST_REACH + 1).tolist()
        return sum(rate * many for rate, many in zip(rates_of_reaches().tolist(), times, strict=True))

    @property
    def rate(self) -> float:
        """r: the chance of a first jump, and of one more after each."""
        return self.total / (1 << RATE_BITS)

    @property
    def dimension(self) -> int:
        return self.gaussian.dimension

    @cached_property
    def second_moment(self) -> NDArray[np.float64]:
        """Σ + Σ_e ρ_e·(s_e⁴ + 2)·x_e·x_eᵀ/(1 − r)."""
        weights = self._float_rates * (self._float_reaches**2 + 2) / (1 - self.rate)
        return self.shifts.added_to(self.gaussian.second_moment, weights)

    @cached_property
    def amplitude(self) -> float:
        """More jumps than are counted here have a chance below e⁻¹¹⁰; each is as long as its reach and an exponential,
        of which the largest is thought 1 or more."""
        jumps = math.ceil(_UNLIKELY / -math.log(self.rate))
        longest = max(float(np.abs(self.shifts.points(here)).max()) for here in self.shifts.blocks())
        return self.gaussian.amplitude + longest * jumps * (1 + float(self._float_reaches.max()))

    def size_in_words(self, hidden: str) -> str:
        return f"{self.dimension:,} dimensions, and jumps along {hidden}"

    def loss_upper_bounds(self, shifts: NDArray[np.float64], errors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Tight for the differences that it jumps along; for others mostly far above the norm."""
        return self.shifts.bounds(shifts, errors)

    def projection(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.vstack([self.shifts.points(here) @ onto.T for here in self.shifts.blocks()])
        return np.vstack([points, -points])

    def widths_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64]:
        """By Chernoff's bound: a proof for every chance, some tenths above the least."""
        # Products of m terms, whose rounding is counted: what cancels is not lost.
        slack = (self.dimension + 4) * UNIT_ROUNDOFF
        axes, sizes = self.gaussian.body.axes, np.abs(rows)
        variances = np.sum((np.abs(rows @ axes) + sizes @ np.abs(axes) * slack) ** 2, axis=1)
        found = np.empty(len(rows))
        for group, here, points, reaches, rates in self._in_groups(rows):
            along = np.abs(here @ points.T) + np.abs(here) @ np.abs(points).T * slack
            some = max(1, _TOGETHER // max(len(reaches), 1))
            for start in range(0, len(group), some):
                own, part = group[start : start + some], along[start : start + some]
                found[own] = chernoff_widths(variances[own], part, reaches, rates, missed)
        return found

    def quantiles_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64] | None:
        """E[cos(u·a·V)] = e^(−u²v/2)·(1 − r)/(1 − Σ_e ρ_e·cos(u·s_e²·a·x_e)/(1 + (u·a·x_e)²))."""
        if missed < BEYOND:
            return None
        axes, found = self.gaussian.body.axes, np.zeros(len(rows))
        # Of what cancels in float64, so much may be left.
        sizes = np.linalg.norm(np.abs(rows) @ np.abs(axes), axis=1)
        deviations, furthest = np.linalg.norm(rows @ axes, axis=1), self.widths_along(rows, BEYOND)
        for group, here, points, reaches, rates in self._in_groups(rows):
            along = np.abs(here @ points.T)
            sizes[group] += (np.abs(here) @ np.abs(points).T * (1 + reaches)).max(axis=1, initial=0.0)
            for place, moved in zip(group.tolist(), along, strict=True):
                if furthest[place] == 0:
                    continue
                end, deviation = float(furthest[place]), float(deviations[place])
                many, rest = waves_beside_normal(deviation, end)
                if many > MOST_WAVES:
                    return None
                moving, turns = np.flatnonzero(moved), np.arange(1, many + 1) * (math.pi / end)
                turned = turns[:, None] * moved[moving]
                stopped = (1 - np.cos(turned * reaches[moving]) / (1 + turned**2)) @ rates[moving]
                waves = np.exp(-((turns * deviation) ** 2) / 2) / (1 + stopped / (1 - self.rate))
                found[place] = quantile(waves, rest, end, missed)
        return np.asarray(found + sizes * _CANCELLED)

    def _in_groups(self, rows: NDArray[np.float64]) -> Iterator[tuple[NDArray[Any], ...]]:
        """Places, entries in the coordinates that are used, and kinds of jumps over these, of each group of rows."""
        for group in _groups(rows):
            used = np.flatnonzero(rows[group].any(axis=0))
            yield group, rows[np.ix_(group, used)], *self._kinds_over(used)

    def _kinds_over(
        self, used: NDArray[np.int64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """(n, u) points, (n,) reaches, (n,) rates: of all jumps, as these u coordinates alone tell them apart.

        Jumps of one reach that move them alike are one, at the sum of their rates, and so are all that move none.
        """
        if len(used) > _FEW:
            laid = [self.shifts.points(here)[:, used] for here in self.shifts.blocks()]
            return np.vstack(laid), self._float_reaches, self._float_rates
        columns = self.shifts.columns[:, used]
        columns_of = kinds_of_rows(columns)[1]
        numbers = (self.shifts.distances.view(np.int64), self.reaches)
        ends = (columns_of[self.shifts.first], columns_of[self.shifts.second])
        # Of jumps between columns that look alike here one is enough: there are mostly few.
        early, alike = kinds_of_rows(np.column_stack([*ends, *numbers]))
        steps = columns[self.shifts.first[early]] - columns[self.shifts.second[early]]
        moving, still = np.flatnonzero(steps.any(axis=1)), np.flatnonzero(~steps.any(axis=1))
        first, kinds = kinds_of_rows(np.column_stack([steps[moving], *(own[early[moving]] for own in numbers)]))
        first, which = moving[first], np.empty(len(steps), dtype=np.int64)
        which[moving] = kinds
        if still.size:
            # One kind more, in order of appearance, as sums over kinds are.
            place = int(np.searchsorted(first, still[0]))
            first = np.insert(first, place, still[0])
            which[moving] += kinds >= place
            which[still] = place
        points = steps[first] / self.shifts.distances[early[first], None]
        # What does not move lies at zero, where its reach is of no account.
        rates = np.bincount(which[alike], self._float_rates).astype(np.float64)
        return points, self._float_reaches[early[first]], rates

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        noise = self.gaussian.simulate(count, generator)
        for rows, places, lengths in simulated_jumps(self._cumulative, self._float_reaches, count, generator):
            noise[rows] += lengths[:, None] * self.shifts.points(places)
        return noise

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        inner = self.gaussian.ideal(count, randomness)
        jumps = drawn_jumps(self._cumulative, count, randomness)
        clear = inner.legible & legible(jumps.words) & (jumps.many <= _MOST_JUMPS)
        normal = inner.words.shape[1]

        def evaluation(row: int) -> Evaluation:
            own = inner.evaluation(row)

            def evaluate(uniforms: list[arb]) -> list[arb]:
                return self._exactly_added(own(uniforms[:normal]), uniforms[normal:], jumps, row)

            return evaluate

        words = np.hstack([inner.words, jumps.words])
        return IdealDraws(*self._added(inner, jumps), clear, words, evaluation)

    def _added(self, inner: IdealDraws, jumps: DrawnJumps) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The sums in float64, and how far they can be off, (B, m) each.

        The exponential of a jump is off by 2⁻⁴³·(1 + E) at most; its length, the point, their product by half a unit in
        the last place each; a sum of J + 1 terms by J half units of their sizes together, J ≤ 256. All this is below
        2⁻⁴² of what is added up here; doubled.
        """
        values, errors = inner.values.copy(), inner.errors + np.abs(inner.values) * 2.0**-44
        for rows, places, turn in jumps.rounds():
            exponential, reach = exponentials(jumps.words[rows, turn]), self._float_reaches[places]
            lengths = np.where(jumps.away[rows, turn], reach, -reach)
            lengths = lengths + np.where(jumps.onward[rows, turn], exponential, -exponential)
            points = self.shifts.points(places)
            values[rows] += lengths[:, None] * points
            errors[rows] += (reach + exponential + 1)[:, None] * np.abs(points) * (4 * FLOAT_ERROR)
        return values, errors

    def _exactly_added(self, normal: list[arb], uniforms: list[arb], jumps: DrawnJumps, row: int) -> list[arb]:
        """The same sum in ball arithmetic, of a row's uniforms."""
        values = list(normal)
        for turn in range(int(jumps.many[row])):
            place = jumps.places[row, turn : turn + 1]
            reach = arb(fmpq(int(self.reaches[place[0]]), REACHES_PER_UNIT))
            exponential = -uniforms[turn].log()
            length = reach if jumps.away[row, turn] else -reach
            length = length + (exponential if jumps.onward[row, turn] else -exponential)
            length = length / arb(rational(float(self.shifts.distances[place[0]])))
            steps = self.shifts.steps(place)[0].tolist()
            values = [value + step * length if step else value for value, step in zip(values, steps, strict=True)]
        return values

    @cached_property
    def _cumulative(self) -> NDArray[np.uint64]:
        """(E,): sums of the rates up to and with each shift's, in units of 2⁻⁶⁴; they are below 2⁶⁴."""
        return np.cumsum(rates_of_reaches()[self.reaches], dtype=np.uint64)

    @cached_property
    def _float_reaches(self) -> NDArray[np.float64]:
        return self.reaches / REACHES_PER_UNIT

    @cached_property
    def _float_rates(self) -> NDArray[np.float64]:
        return np.asarray(rates_of_reaches()[self.reaches] * 2.0**-RATE_BITS, dtype=np.float64)
