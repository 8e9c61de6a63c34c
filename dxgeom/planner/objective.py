"""What a plan makes small: all squared errors together, or the worst of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.linear.shapes.hull import SensitivityHull
from dxgeom.mechanisms.linear.shapes.lower_bound import (
    coordinate_bounds,
    determinant_bound,
    rotation_bound,
    volume_bound,
)
from dxgeom.mechanisms.linear.shapes.round_spaces import RoundSpace
from dxgeom.planner.amounts import Amount, exact_amount

ObjectiveName: TypeAlias = Literal["mse", "max", "rmse"]
_SIGNIFICANT_DIGITS = 6


@final
@dataclass(frozen=True)
class Objective:
    """The total ("mse") or the largest ("max") of the answers' mean squared errors, each times its importance.

    ``importance`` (K,): positive; None for all alike. ``wanted`` (K,): the root mean squared errors that answers may
    have, where they were asked for.
    """

    name: Literal["mse", "max"]
    importance: tuple[Fraction, ...] | None = None
    wanted: tuple[Fraction, ...] | None = None

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """What it is a figure of, for a table."""
        kind = {"mse": "total", "max": "worst"}[self.name]
        return f"{kind} MSE" if self.importance is None else f"{kind} weighted MSE"

    @property
    def factors(self) -> NDArray[np.float64] | None:
        """The importance as float64 (K,)."""
        return None if self.importance is None else np.array([float(factor) for factor in self.importance])

    def loss(self, variances: NDArray[np.float64]) -> float:
        """The objective's value at these mean squared errors (K,)."""
        weighted = variances if self.factors is None else variances * self.factors
        return float(weighted.sum() if self.name == "mse" else weighted.max())

    def lower_bound(self, sensitivity: Sensitivity, hull: SensitivityHull | None, space: RoundSpace | None) -> float:
        """What no additive noise that stretches to every spend can get below: each answer has its own bound, and the
        total has several; the worst answer is no better than the average.

        ``space``: with this objective's importance for weights.
        """
        totals = [0.0] if hull is None else [volume_bound(hull, self.factors)]
        if space is not None:
            totals += [rotation_bound(space), determinant_bound(space)]
        share = 1 if self.name == "mse" else len(sensitivity.queries.names)
        return max(self.loss(coordinate_bounds(sensitivity)), max(totals) / share)

    def least_spend(self, mechanism: AdditiveMechanism, rounding: NDArray[np.float64]) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every answer is as exact as was asked.

        Args: ``rounding`` (K,): how far values that stand for many numbers can move answers; left out where infinite.
        Raises: UnsupportedCombination when no errors were asked for, or rounding and bias alone exceed one.
        """
        if self.wanted is None:
            raise UnsupportedCombination("the least spend is for plans that were asked for certain 'errors'")
        wanted = np.array([float(error) for error in self.wanted]) ** 2
        known = np.where(np.isfinite(rounding), rounding, 0.0)
        left = wanted - mechanism.rounding_variances - (mechanism.biases + known) ** 2
        if np.any(left <= 0):
            cause = "rounding to the lattice" if mechanism.change is None else "the bias of changed queries"
            cause = "values that stand for many numbers" if np.any(known) else cause
            raise UnsupportedCombination(
                f"an error asked for is smaller than what {cause} causes; ask for a larger one"
            )
        spend = float(np.sqrt(np.max(mechanism.ideal_variances / left))) * (1 + 1e-12)
        if spend == 0:
            return Fraction(0)
        unit = Fraction(10) ** (math.floor(math.log10(spend)) + 1 - _SIGNIFICANT_DIGITS)
        return math.ceil(Fraction(spend) / unit) * unit


def objective_of(
    name: ObjectiveName,
    queries: int,
    stated: tuple[Fraction, ...] | None,
    importance: Sequence[Amount] | None,
    errors: Sequence[Amount] | None,
) -> Objective:
    """The objective that these arguments of a plan mean; ``stated`` is the queries' own importance.

    Raises: UnsupportedCombination.
    """
    if name not in get_args(ObjectiveName):
        raise UnsupportedCombination(f"there is no objective '{name}'; known are {', '.join(get_args(ObjectiveName))}")
    if errors is not None:
        if importance is not None:
            raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
        wanted = _one_each(errors, queries, "errors", "wanted error")
        return Objective("max", tuple(1 / error**2 for error in wanted), wanted)
    chosen = stated if importance is None else _one_each(importance, queries, "importance", "importance")
    # The root of a mean is smallest where the total is.
    return Objective("max" if name == "max" else "mse", chosen)


def _one_each(amounts: Sequence[Amount], queries: int, argument: str, what: str) -> tuple[Fraction, ...]:
    require(amounts, (Sequence, np.ndarray), argument, f"give a list with one {what} for each query")
    if len(amounts) != queries:
        raise UnsupportedCombination(f"there is one {what} for each of {queries:,} queries, found {len(amounts):,}")
    return tuple(exact_amount(amount, what) for amount in amounts)
