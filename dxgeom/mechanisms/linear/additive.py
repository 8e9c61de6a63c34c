"""Adding shaped noise to exact integer answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import FLOAT_BYTES, fraction_bytes
from dxgeom.mechanisms.contract.readers import HistogramMechanism, require_counts_of
from dxgeom.mechanisms.linear.containment import require_hiding
from dxgeom.mechanisms.linear.lattice import QueryChange
from dxgeom.mechanisms.linear.mixing import DiagonalMixing, IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, require_written_for
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import WIDEST, NoiseLaw
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.whole_tables import MarginalQueries


@final
@dataclass(frozen=True, eq=False)
class AdditiveMechanism(HistogramMechanism[tuple[Fraction, ...]]):
    """Answer k is released as ``steps[k]·(y_k + Σ_j mixing_matrix[k, j]·Z_j)`` with y_k an exact integer, Z = round(V).

    ``law``: of V in ℝᵐ, None when no answer needs noise. ``mixing``: its matrix (K, m) of rationals; a unit row for an
    answer that carries its own noise, a combination for one that follows from others, zeros for one that nobody can
    influence. Or :class:`DiagonalMixing` where no answer follows from others, or :class:`IntegerMixing` where hundreds
    do. ``change``: what was asked, where the sensitivity is that of other queries which are answered in its place; else
    None. Where queries are less public numbers, these are added to the answers.

    Guarantee: replacing record i by j changes the odds of any output by at most e^{d(i, j)} at spend 1, by
    e^{s·d(i, j)} at spend s, where V is stretched by 1/s. Under a metric of concentrated privacy D_α is at most
    α·(s·d(i, j))²/2, whether the law is Gaussian or not. Both round(V) and the combinations are post-processing.
    Raises: UnsupportedCombination for Gaussian noise under a metric of pure privacy.
    """

    holds_rings = True

    name: str
    sensitivity: Sensitivity = field(repr=False)
    law: NoiseLaw | None = field(repr=False)
    mixing: NDArray[Any] | DiagonalMixing | IntegerMixing = field(repr=False)
    change: QueryChange | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.law is not None and self.law.concentrated:
            require_for_normal_noise(self.metric.privacy)
        if isinstance(self.mixing, np.ndarray):
            # Sums of 64-bit integers would go around, and be no function of the noisy numbers any more.
            object.__setattr__(self, "mixing", np.array(self.mixing, dtype=object))
        seal(self)
        if self.metric.held and isinstance(self.mixing, IntegerMixing):
            raise TooLarge(
                "noise in numbers that answers share is not proved for 'hold': name noise on answers, such as laplace"
            )
        require_hiding(self)
        _ = self.reads

    @property
    def metric(self) -> VerifiedMetric:
        """The metric whose generating differences the noise hides."""
        return self.sensitivity.metric

    @property
    def absent(self) -> int | None:
        return self.sensitivity.absent

    @property
    def universe(self) -> Universe | None:
        return self.sensitivity.universe

    @property
    def reads(self) -> MarginalQueries | None:
        return self._reads

    @cached_property
    def _reads(self) -> MarginalQueries | None:
        universe, queries = self.universe, self.sensitivity.queries
        if universe is None or universe.indexable:
            return None
        return MarginalQueries.read_for(queries.tables, universe, queries.records)

    def check(self, data: Any, spend: Fraction) -> None:
        if self.reads is None:
            HistogramMechanism.check(self, data, spend)
            return
        require_counts_of(self.reads, data, self.shares, self.absent is not None)
        self.check_size(data.total, spend)

    @cached_property
    def fingerprint(self) -> str:
        asked = (self.metric.fingerprint, self.absent, self.sensitivity.queries)
        return canonical_digest("additive", self.name, *asked, self.law, self.mixing, self.change)

    @property
    def public_answers(self) -> tuple[tuple[str, Fraction], ...] | None:
        queries = self.sensitivity.queries
        if queries.public is None or not queries.public.implied.all():
            return None
        return tuple(zip(queries.names, queries.public.offsets, strict=True))

    @property
    def mixing_matrix(self) -> NDArray[Any]:
        """(K, m) rationals: how much of each coordinate of Z every answer gets."""
        return self.mixing if isinstance(self.mixing, np.ndarray) else self.mixing.matrix

    @cached_property
    def float_mixing(self) -> NDArray[np.float64]:
        """``mixing_matrix`` in answer units, float64 (K, m)."""
        steps = self.sensitivity.queries.float_steps[:, None]
        if isinstance(self.mixing, IntegerMixing):
            return np.asarray(self.mixing.floats * steps)
        if isinstance(self.mixing, DiagonalMixing):  # of thousands of answers, as fractions, it would take minutes
            coordinates = self.mixing.coordinates
            laid_out = np.zeros((len(steps), len(coordinates)))
            laid_out[coordinates, np.arange(len(coordinates))] = steps[coordinates, 0]
            return laid_out
        return np.asarray(self.mixing_matrix.astype(np.float64) * steps)

    @cached_property
    def lattice_widths(self) -> NDArray[np.float64]:
        """(K,): Σ_j |mixing_matrix[k, j]| in answer units; half of it bounds what rounding to the lattice adds, to that
        of a share where people count once."""
        if isinstance(self.mixing, DiagonalMixing):
            return np.asarray(self.mixing.noisy * self.sensitivity.queries.float_steps / self.shares)
        return np.asarray(np.abs(self.float_mixing).sum(axis=1) / self.shares)

    @cached_property
    def ideal_variances(self) -> NDArray[np.float64]:
        """(K,): mean squared error of each answer at spend 1 before rounding to the lattice, in its own unit
        squared."""
        queries = self.sensitivity.queries
        ideal = np.zeros(len(queries.names))
        if self.law is None:
            return ideal
        if self.law.laplace_scales is not None and isinstance(self.mixing, DiagonalMixing):
            coordinates = self.mixing.coordinates
            ideal[coordinates] = 2 * (self.law.laplace_scales * queries.float_steps[coordinates]) ** 2
            return ideal
        if isinstance(self.mixing, IntegerMixing):
            return self.law.variances_along(self.float_mixing)
        mixing_matrix = self.float_mixing
        return np.asarray(np.einsum("kj,kj->k", mixing_matrix @ self.law.second_moment, mixing_matrix))

    @cached_property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far the mean of an answer can be from the truth, by a choice made before any data was read."""
        return np.zeros(len(self.sensitivity.queries.names)) if self.change is None else self.change.biases

    @property
    def lasting_errors(self) -> NDArray[np.float64]:
        """(K,): the part of each mean squared error that no spend makes smaller: rounding to the lattice, and bias."""
        return np.asarray(self.rounding_variances + self.biases**2)

    @cached_property
    def rounding_variances(self) -> NDArray[np.float64]:
        """(K,): what rounding to the lattice adds, about g²/12 per noisy coordinate."""
        if self.law is None:
            return np.zeros(len(self.sensitivity.queries.names))
        if isinstance(self.mixing, DiagonalMixing):
            return np.asarray(self.lattice_widths**2 / 12)
        return np.asarray((self.float_mixing**2).sum(axis=1) / 12 / self.shares**2)

    def variances(self, spend: Fraction = Fraction(1)) -> NDArray[np.float64]:
        """(K,): mean squared error of each answer in its own unit squared.

        The ideal noise's moment is exact. Rounding to the lattice adds about g²/12 per noisy coordinate, less when a
        large spend makes the noise hardly wider than a step. Where changed queries are answered, it is the worst over
        all data: the square of the bias is added. Rounded weights are not in here: see ``weight_errors``.
        """
        return np.asarray(self.ideal_variances / float(spend) ** 2 + self.lasting_errors)

    def to_shapely(self, first: str, second: str, spend: Fraction = Fraction(1)) -> Any:
        """The unit ball of the noise seen on two answers, in their units, as a Shapely geometry.

        It holds whatever a change of one record at distance 1 can do to the two; a ``spend`` of 2 halves it.
        Guarantee: up to the rounding of float64. Raises: UnsupportedCombination for answers that there are none of.
        """
        from dxgeom.universe.polygons import hull_around

        names = self.sensitivity.queries.names
        for name in (first, second):
            if name not in names:
                raise UnsupportedCombination(f"no answer is called {shown(name)}: {did_you_mean(name, names)}")
        onto = self.float_mixing[[names.index(first), names.index(second)]]
        ball = np.zeros((1, 2)) if self.law is None else self.law.projection(onto)
        return hull_around(ball / float(spend))

    @property
    def rounding_share(self) -> float:
        """The part of the total mean squared error, at spend 1, that comes from rounding to the lattice."""
        total = float(self.variances().sum())
        return 0.0 if total == 0 else float(self.rounding_variances.sum()) / total

    def check_size(self, records: int, spend: Fraction) -> None:
        require_written_for(self.sensitivity.queries.records, records)
        if self.change is not None and self.change.records != records:
            raise DataError(
                f"the queries were changed for {self.change.records:,} records, these are {records:,} in the table; "
                f"the bias grows with that public number: plan with records={records} (--records {records})"
            )
        if self.law is not None:
            self.law.check_size(self.shares / spend, self._noise_bits)

    def answer_bytes(self, spend: Fraction) -> int:
        """An answer as shown has its value, two ends of an interval and an exact fraction, and is kept once more.

        Integer k is below 2⁵² · 2⁶³ before noise, and each coordinate of the noise has 63 bits, or 127 where people
        count once; so answer k is below step_k·(2¹¹⁵ + 2⁶³·Σ_j |mixing_kj|), over a divisor of step_k's denominator
        times those of its row, and times the shares of a person.
        """
        total = 0
        alike = Counter(zip(self.sensitivity.queries.steps, self._mixing_reach, strict=True))
        for (step, (reach, divisor)), answers in alike.items():
            largest = step.numerator * (divisor * 2**115 + reach * 2 ** (self._noise_bits + 1))
            below = step.denominator * divisor * self.shares
            total += answers * (2 * fraction_bytes(largest, below) + 4 * FLOAT_BYTES)
        return total + self._public_bytes

    @property
    def _public_bytes(self) -> int:
        """What public numbers add: a/b + c/d has no more digits than both, and those of d once more."""
        public = self.sensitivity.queries.public
        if public is None:
            return 0
        each = ((len(str(one.numerator)), len(str(one.denominator))) for one in public.offsets)
        return sum(2 * (above + 2 * below + 2) for above, below in each)

    @property
    def _noise_bits(self) -> int:
        return 62 if self.shares == 1 else WIDEST

    @property
    def _mixing_reach(self) -> Iterator[tuple[int, int]]:
        """(K,): Σ_j |mixing_kj| times the common denominator of row k, and that denominator."""
        if isinstance(self.mixing, DiagonalMixing):
            yield from repeat((1, 1), len(self.mixing.noisy))
            return
        if isinstance(self.mixing, IntegerMixing):
            yield from self.mixing.reach
            return
        for row in self.mixing:
            shares = [Fraction(share) for share in row if share]
            divisor = math.lcm(*(share.denominator for share in shares))
            yield int(sum(abs(share) for share in shares) * divisor), divisor

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Fraction, ...]]:
        rows = [[]] * count if self.law is None else self.law.draw_whole(count, randomness, 1 / spend)
        return self.answered(counts, rows)

    def answered(self, counts: NDArray[np.int64], rows: Iterable[list[int]]) -> list[tuple[Fraction, ...]]:
        """The answers with each of these ``rows`` of noise, each query's as an exact rational.

        Where people count once, sums are of shares, and so is the noise: both lie on the lattice of a share, a step
        over their number. Noise on the steps themselves would leave the fraction of each sum bare.
        """
        exact = self.sensitivity.queries.integer_answers(self._counted(counts))
        return [self.noisy(exact, noise) for noise in rows]

    def noisy(self, exact: Sequence[int], noise: list[int]) -> tuple[Fraction, ...]:
        """The answers with this noise (m,), from the exact ones in steps of a share (K,)."""
        queries = self.sensitivity.queries
        steps = [step / self.shares for step in queries.steps]
        answers = tuple(
            step * (integer + added)
            for step, integer, added in zip(steps, exact, _noise_of_each(self.mixing, noise), strict=True)
        )
        if queries.public is None:
            return answers
        return tuple(answer + known for answer, known in zip(answers, queries.public.offsets, strict=True))

    def unchanged_answers(self, data: Any) -> tuple[Fraction, ...]:
        """What was asked, exactly, where changed queries are answered in its place. **Not private.**"""
        asked = self.sensitivity.queries if self.change is None else self.change.unchanged
        each = zip(asked.steps, asked.integer_answers(self._counted(data)), strict=True)
        return tuple(step / self.shares * integer for step, integer in each)

    def _counted(self, data: Any) -> NDArray[np.int64] | Mapping[tuple[int, ...], NDArray[np.int64]]:
        """A histogram as it is, tables by the attributes that queries look at."""
        if self.reads is None:
            counts: NDArray[np.int64] = data
            return counts
        axes = [tuple(self.reads.columns[place].axis for place in one) for one in self.reads.attribute_sets]
        return dict(zip(axes, data.cells, strict=True))


def without_noise(name: str, sensitivity: Sensitivity) -> AdditiveMechanism:
    """The exact answers, where nobody protected can influence any of them."""
    nobody = np.zeros(len(sensitivity.queries.names), dtype=bool)
    return AdditiveMechanism(name, sensitivity, None, DiagonalMixing(nobody))


def _noise_of_each(mixing: NDArray[Any] | DiagonalMixing | IntegerMixing, noise: list[int]) -> list[Fraction]:
    if not isinstance(mixing, np.ndarray):
        return mixing.noise_of_each(noise)
    return [sum((share * z for share, z in zip(row, noise, strict=True) if share), Fraction(0)) for row in mixing]
