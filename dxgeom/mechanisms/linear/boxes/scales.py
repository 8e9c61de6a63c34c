"""How much noise each block gets: by one dual variable for each kind of change; and the proof, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.boxes.question import BoxQuestion
from dxgeom.mechanisms.linear.marginals.assembly import measurement_shares
from dxgeom.mechanisms.linear.marginals.laplace_scales import rates_of_tables
from dxgeom.mechanisms.linear.marginals.program import Budgets, least_cost_rates
from dxgeom.numeric.sealed import cached_property

_BITS: Final = 200
_LARGEST: Final = 2.0**200
_MARGINS: Final = (0.0, 1e-14, 1e-12, 1e-10, 1e-7)
_MOST_TOLD: Final = 4_000_000


@final
@dataclass(frozen=True, eq=False)
class BlockTables:
    """The blocks as tables with Laplace noise, each of which tells of the blocks below it."""

    question: BoxQuestion

    @property
    def count(self) -> int:
        """How many blocks there are."""
        return len(self.question.blocks)

    @cached_property
    def cells(self) -> NDArray[np.float64]:
        """(blocks,): how many numbers each has."""
        each = [
            [one.cells(level) for one, level in zip(self.question.factors, block, strict=True)]
            for block in self.question.blocks
        ]
        return np.asarray(np.prod(np.array(each, dtype=np.float64), axis=1))

    @property
    def protected(self) -> NDArray[np.bool_]:
        """(blocks,): whether a record can move it at a finite distance."""
        return self.question.protected

    @property
    def measurable(self) -> NDArray[np.int64]:
        """The protected blocks."""
        return np.flatnonzero(self.protected)

    @cached_property
    def measurements(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Every protected block, with each that tells of it, and how many of its numbers add up to one.

        Raises: TooLarge.
        """
        levels = np.array(self.question.blocks)
        if len(levels) ** 2 > _MOST_TOLD:
            raise TooLarge(f"{len(levels):,} blocks are too many to tell which tells of which: ask for fewer boxes")
        spread = np.ones((len(levels), len(levels)))
        for place, factor in enumerate(self.question.factors):
            own = np.array(
                [[factor.tells(one, other) for other in range(factor.levels)] for one in range(factor.levels)]
            )
            spread *= own[levels[:, place][:, None], levels[:, place]]
        spread[~self.protected] = 0
        spread[:, ~self.protected] = 0
        outer, inner = np.nonzero(spread)
        return inner, outer, spread[outer, inner]

    @cached_property
    def laplace_budgets(self) -> Budgets:
        """Of the rates 1/b of ``measurable``."""
        return self.question.budgets(self.measurable)


def best_scales(question: BoxQuestion) -> NDArray[np.float64]:
    """(blocks,): standard deviations of normal noise, or scales of Laplace noise; 0 for blocks that are not measured,
    or need no noise. Normal ones are the best there are for these factors; Laplace ones a local optimum.

    Guarantee: proved to be enough, see :func:`require_enough`.
    Raises: CertificateRefused, TooLarge.
    """
    scales, weights = np.zeros(len(question.blocks)), question.weights
    if question.normal:
        among = np.flatnonzero(question.protected & (weights > 0))
        if among.size:
            scales[among] = 1 / np.sqrt(least_cost_rates(question.budgets(among), weights[among], 1).rates)
    elif np.any(question.protected):
        rates = rates_of_tables(BlockTables(question), weights[question.protected]).rates[: len(scales)]
        scales[rates > 0] = 1 / rates[rates > 0]
        scales[~_taken(question, scales)] = 0
    for margin in _MARGINS:
        if _within(question, scales * (1 + margin)):
            return np.asarray(scales * (1 + margin))
    raise CertificateRefused("these scales are too badly conditioned to prove that they honour the metric")


def _taken(question: BoxQuestion, scales: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(blocks,): whether some box takes anything of the block's measured numbers. Others would get noise of any size,
    such as no integer holds."""
    taken = np.zeros(len(scales), dtype=bool)
    for number, shares in measurement_shares(BlockTables(question), scales).items():
        if question.weights[number] > 0:
            taken[list(shares)] = True
    return taken


def require_enough(question: BoxQuestion, scales: NDArray[np.float64]) -> None:
    """Raises: CertificateRefused unless noise of these scales honours every limit: Σ share/σ² ≤ d² for normal noise,
    else Σ share/b ≤ d, over blocks that are measured; in integers, each summand rounded up."""
    proper = scales.shape == (len(question.blocks),) and bool(np.all((scales >= 0) & (scales <= _LARGEST)))
    if not (proper and _within(question, scales)):
        raise CertificateRefused("noise in the blocks of these boxes does not hide what the metric protects")


def _within(question: BoxQuestion, scales: NDArray[np.float64]) -> bool:
    exact = [Fraction(scale) for scale in scales.tolist()]
    for own, limit in zip(question.shares, question.limits, strict=True):
        used = 0
        for number, share in own:
            if exact[number]:
                part = share / (exact[number] ** 2 if question.normal else exact[number])
                used += -(-(part.numerator << _BITS) // part.denominator)
        if used > int((limit * limit if question.normal else limit) * 2**_BITS):
            return False
    return True


def block_variances(question: BoxQuestion, scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """(blocks,): of what is new in each, put together from all that tells of it."""
    if question.normal:
        return np.asarray(scales**2)
    inner, outer, spread = BlockTables(question).measurements
    used = scales[outer] > 0
    precision = np.bincount(inner[used], 1 / (2 * spread[used] * scales[outer[used]] ** 2), len(scales))
    return np.asarray(np.where(precision > 0, 1 / np.where(precision > 0, precision, 1.0), 0.0))
