"""Normal noise with jumps along the shifts that it has to hide."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall
from dxgeom.noise.laws.gaussian import GaussianNoise
from dxgeom.noise.laws.jumps.drawn import DrawnJumps, drawn_jumps, simulated_jumps
from dxgeom.noise.laws.jumps.rates import (
    LARGEST_REACH,
    LEAST_REACH,
    RATE_BITS,
    REACHES_PER_UNIT,
    rates_of_reaches,
)
from dxgeom.noise.laws.jumps.shifts import JumpShifts, own_whole_numbers
from dxgeom.noise.laws.jumps.tails import chernoff_width
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.rounding import FLOAT_ERROR, Evaluation, IdealDraws, exponentials, legible
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import UNIT_ROUNDOFF
from dxgeom.numeric.sealed import cached_property

_MOST_JUMPS: Final = 256
"""What float64 adds up of more jumps is not vouched for."""
_MOST_TOTAL: Final = (1 << RATE_BITS) // 20 * 19
"""r stays below 19/20: beyond it float64 does not tell 1 − r well, and draws take long."""
_UPWARD: Final = 1 + 2.0**-50
_DOWNWARD: Final = 1 - 2.0**-30
_UNLIKELY: Final = 110.0


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
        own_whole_numbers(self, "reaches")
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
        moment = self.gaussian.second_moment
        weights = self._float_rates * (self._float_reaches**2 + 2) / (1 - self.rate)
        for here in self.shifts.blocks():
            points = self.shifts.points(here)
            moment = moment + (points * weights[here, None]).T @ points
        return np.asarray(moment)

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

    def shadow(self, onto: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.vstack([self.shifts.points(here) @ onto.T for here in self.shifts.blocks()])
        return np.vstack([points, -points])

    def widths_along(self, rows: NDArray[np.float64], missed: float) -> NDArray[np.float64]:
        """By Chernoff's bound: a proof for every chance, some tenths above the least."""
        # Products of m terms, whose rounding is counted: what cancels is not lost.
        slack = (self.dimension + 4) * UNIT_ROUNDOFF
        axes, sizes = self.gaussian.body.axes, np.abs(rows)
        variances = np.sum((np.abs(rows @ axes) + sizes @ np.abs(axes) * slack) ** 2, axis=1)
        along = np.empty((len(rows), self.shifts.count))
        for here in self.shifts.blocks():
            points = self.shifts.points(here).T
            along[:, here] = np.abs(rows @ points) + sizes @ np.abs(points) * slack
        each = zip(variances.tolist(), along, strict=True)
        return np.array(
            [chernoff_width(one, sizes, self._float_reaches, self._float_rates, missed) for one, sizes in each]
        )

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
