"""Least squares from noisy totals: where they stand in a matrix, a public ridge, a repair, and intervals that count
noise and sampling.

What a regression learned, as a table of coefficients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown


@final
@dataclass(frozen=True, eq=False)
class TotalsLayout:
    """Σ z·zᵀ over the records, z = (1, features, response), from totals of which each stands in some of its cells.

    ``size``: the length q of z. ``cells`` (m,): for each total, which cells (i, j), i ≤ j, it is. A cell of none is 0
    for every record, but for (0, 0), which is the number of records: public where no total is that.
    """

    size: int
    cells: tuple[tuple[tuple[int, int], ...], ...]

    @cached_property
    def counts_records(self) -> bool:
        """Whether the number of records is one of the totals, and so private."""
        return any((0, 0) in own for own in self.cells)

    @cached_property
    def products(self) -> NDArray[np.int64]:
        """Places of the totals that are products of two different numbers of a record."""
        return np.array([k for k, own in enumerate(self.cells) if any(0 < i < j for i, j in own)], dtype=np.int64)

    def matrices(self, totals: NDArray[np.float64]) -> NDArray[np.float64]:
        """(…, q, q) of totals (…, m)."""
        rows, columns, owners = self._placed
        found = np.zeros((*totals.shape[:-1], self.size, self.size))
        found[..., rows, columns] = found[..., columns, rows] = totals[..., owners]
        return found

    @cached_property
    def _placed(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        each = [(i, j, owner) for owner, own in enumerate(self.cells) for i, j in own]
        rows, columns, owners = np.array(each, dtype=np.int64).T
        return rows, columns, owners


class NoisyTotals(Protocol):
    """Totals that were, or will be, released with noise, in units in which every number is within [−1, 1]."""

    @property
    def layout(self) -> TotalsLayout:
        """Where they stand."""

    def covariance(self, spend: Fraction) -> NDArray[np.float64]:
        """(m, m): second moments of their errors, up to the rounding of float64."""

    def simulate(self, count: int, spend: Fraction, generator: np.random.Generator) -> NDArray[np.float64]:
        """(count, m): their errors by the noise's law in float64: for figures, never for release."""


_SIMULATED: Final = 4000
_USUAL_SIGNAL: Final = 1 / 40
"""The usual variance of a scaled predictor, a tenth, times the usual square of its coefficient, a quarter."""
_UNEVEN: Final = 1.5
"""Residuals may vary more for some records than for others, which second moments do not tell: the intercept of ages of
Adult's people has 1.12 times the sampling variance that even residuals would have. What is more is caution."""
_SEED: Final = 20_200_101
"""Intervals are made of simulated noise; a fixed seed makes them a function of what was released."""


class Totals(NamedTuple):
    """``gram`` (p + 1, p + 1): Σ z zᵀ of z = (1, x); ``cross`` (p + 1,): Σ y·z; ``square``: Σ y². Or many of each."""

    gram: NDArray[np.float64]
    cross: NDArray[np.float64]
    square: NDArray[np.float64]


def arranged(layout: TotalsLayout, totals: NDArray[np.float64], records: float) -> Totals:
    """Totals (…, m) as matrices; ``records``: their public number, 0 for totals of noise alone."""
    whole = layout.matrices(totals)
    if not layout.counts_records:
        whole[..., 0, 0] = records
    return Totals(whole[..., :-1, :-1], whole[..., :-1, -1], whole[..., -1, -1])


@final
@dataclass(frozen=True, eq=False)
class NoisyLeastSquares:
    """The coefficients of y on (1, x), all within [−1, 1], from totals with noise: post-processing of a release.

    Definition: β̂ = (G + P)⁻¹c. Of the slopes, with G₀ their matrix after the intercept was eliminated, G₀ + P is
    G₀ + ρI with eigenvalues below ρ lifted to ρ, so that it is positive definite whatever the noise; the intercept is
    free. ρ = σ√(p + 1), σ the noise's deviation in one product, or σ²/(n/40) where
    that is more, or ``ridge``: public. ``records``: n, or None where it is private, and one of the totals.
    """

    noise: NoisyTotals
    released: tuple[Fraction, ...]
    records: int | None
    spend: Fraction
    ridge: Fraction | None = None
    intercept: bool = True

    @cached_property
    def totals(self) -> Totals:
        """What was released, without the row of the constant where there is no intercept."""
        found = np.array([float(x) for x in self.released])
        return self._signal_shares(arranged(self.noise.layout, found, float(self.records or 0)))

    @cached_property
    def number(self) -> float:
        """The number of records, noisy where it is private, and at least 1."""
        noisy = float(self.noise.layout.matrices(np.array([float(x) for x in self.released]))[0, 0])
        return max(1.0, noisy if self.records is None else float(self.records))

    @cached_property
    def strength(self) -> float:
        """ρ."""
        if self.ridge is not None:
            return float(self.ridge)
        variance = float(np.median(np.diag(self.noise.covariance(self.spend))[self.noise.layout.products]))
        return max(float(np.sqrt(variance * len(self.totals.gram))), variance / (self.number * _USUAL_SIGNAL))

    @cached_property
    def matrix(self) -> NDArray[np.float64]:
        """G + P: symmetric, positive definite."""
        whole = self.totals.gram.copy()
        free = int(self.intercept)  # the constant's own total is exact, and its coefficient is not held back
        whole[:free, :free] = self.number
        beside = whole[free:, :free] @ whole[:free, free:] / self.number
        kept = whole[free:, free:] - beside
        least = max(self.strength, np.finfo(np.float64).tiny)
        sizes, axes = np.linalg.eigh(kept + self.strength * np.eye(len(kept)))
        whole[free:, free:] = (axes * np.maximum(sizes, least)) @ axes.T + beside
        return np.asarray(whole, dtype=np.float64)

    @cached_property
    def coefficients(self) -> NDArray[np.float64]:
        """β̂ (p + 1,), or (p,) without an intercept."""
        return np.asarray(np.linalg.solve(self.matrix, self.totals.cross), dtype=np.float64)

    def intervals(self, level: float, back: NDArray[np.float64]) -> NDArray[np.float64]:
        """(r, 2): of each row of ``back``·β, β the coefficients in the population that records are drawn from.

        *Approximate*. With V the noise, β̂ − β = (G + P)⁻¹(V_c − V_G·β + s − P·β), s the sum of records'
        residuals times their predictors. V is simulated by its law and s as normal with 1.5 times the residuals'
        variance, as these may be uneven, both at β̂; what ridge and repair pull is added to the quantile in full.
        """
        generator = np.random.default_rng(_SEED)
        drawn = self.noise.simulate(_SIMULATED, self.spend, generator)
        rows = self._signal_shares(arranged(self.noise.layout, drawn, 0.0))
        off = rows.cross - rows.gram @ self.coefficients
        sampling = generator.standard_normal(off.shape) @ self._root.T * np.sqrt(_UNEVEN * self.residual_variance)
        inverse = np.linalg.inv(self.matrix)
        moves = (off + sampling) @ (back @ inverse).T
        pulled = back @ inverse @ (self.matrix - self.totals.gram) @ self.coefficients
        reach = np.quantile(np.abs(moves), level, axis=0) + np.abs(pulled)
        middle = back @ self.coefficients
        return np.column_stack([middle - reach, middle + reach])

    @cached_property
    def residual_variance(self) -> float:
        """Of one response around its prediction, raised by twice the deviation that noise gives it; at most 1."""
        beta, (gram, cross, square) = self.coefficients, self.totals
        found = square - 2 * beta @ cross + beta @ gram @ beta
        noise = np.sqrt(np.diag(self.noise.covariance(self.spend)).max()) * (1 + np.abs(beta).sum()) ** 2
        return float(np.clip((found + 2 * noise) / self.number, 0.0, 1.0))

    @cached_property
    def _root(self) -> NDArray[np.float64]:
        """A root of the matrix of predictors, made positive semidefinite."""
        sizes, axes = np.linalg.eigh(self.totals.gram)
        return np.asarray(axes * np.sqrt(np.maximum(sizes, 0.0)))

    def _signal_shares(self, totals: Totals) -> Totals:
        if self.intercept:
            return totals
        return Totals(totals.gram[..., 1:, 1:], totals.cross[..., 1:], totals.square)


APPROXIMATE: Final = (
    "intervals are approximate: they count the noise, by its law, and the sampling of records, as normal, and add what "
    "the ridge pulls in full"
)
UNKNOWN: Final = "no intervals are known for coefficients of a perturbed objective"


class Coefficient(NamedTuple):
    """One coefficient: ``value`` of the response, or of its log-odds, for ``unit`` of the feature; ``low``, ``high``:
    its interval, None where none is known."""

    name: str
    unit: str
    value: float
    low: float | None
    high: float | None


@final
@dataclass(frozen=True, eq=False)
class Coefficients(ShownAnswers):
    """The intercept, where all numbers are in the middle of their ranges, and what each feature adds.

    ``response``: what is predicted, in words; ``values`` (p + 1,); ``units`` (p + 1,): what each is for; ``worth``
    (p + 1,): a coefficient is that of the encoded feature times this. ``bars``: gives intervals (p + 1, 2) at a level,
    None where none are known. ``ridge``: how strongly they were held back. ``question``: the plan's fingerprint.
    """

    never_joint = "intervals of coefficients are each on its own: leave joint out"
    no_bars = Unknown(UNKNOWN, "linear regressions have some")
    no_rmse = no_biases = Unknown(
        "what is known of a coefficient's error is its interval", "take intervals(), which linear regressions have"
    )

    response: str
    names: tuple[str, ...] = field()
    units: tuple[str, ...]
    values: NDArray[np.float64] = field()
    worth: NDArray[np.float64] = field(repr=False)
    bars: Callable[[float], NDArray[np.float64]] | None = field(repr=False)
    ridge: float
    question: str = field(repr=False)

    @property
    def question_fingerprint(self) -> str:
        return self.question

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(p + 1, 2): *approximate*. Raises: UnsupportedCombination for ``joint``, and where none are known."""
        self.require_joint(joint=joint)
        if self.bars is None:
            raise self.no_bars.refusal
        return self.bars(level)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(p + 1,): *approximate*, as :meth:`intervals`, which are even on both sides."""
        low, high = self.intervals(level, joint=joint).T
        return np.asarray((high - low) / 2)

    def table(self, level: float = 0.95) -> tuple[Coefficient, ...]:
        """A row for each."""
        bars = [(None, None)] * len(self.names) if self.bars is None else self.bars(level).tolist()
        each = zip(self.names, self.units, self.values.tolist(), bars, strict=True)
        return tuple(Coefficient(name, unit, value, low, high) for name, unit, value, (low, high) in each)

    @cached_property
    def by_name(self) -> Mapping[str, Coefficient]:
        return {one.name: one for one in self.table()}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("error", self.note),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """Ready for JSON."""
        self.require_joint(joint=joint)
        return {
            "response": self.response,
            "level": level,
            "coefficients": [one._asdict() for one in self.table(level)],
            "ridge": self.ridge,
            "note": self.note,
        }

    @property
    def note(self) -> str:
        """What is known of their errors, in a sentence."""
        return UNKNOWN if self.bars is None else APPROXIMATE

    def lines(self, level: float = 0.95) -> list[str]:
        """For a reader: a table."""
        rows = [[one.name, one.unit, f"{one.value:.4g}", interval_in_words(one)] for one in self.table(level)]
        head = [self.response, "for", "coefficient", f"{level:.0%} interval"]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        laid = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (head, *rows)]
        return ["  ".join(row).rstrip() for row in laid]


def interval_in_words(one: Coefficient) -> str:
    """ "0.1 to 0.2", and "-" where nothing is known."""
    return "-" if one.low is None or one.high is None else f"{one.low:.4g} to {one.high:.4g}"
