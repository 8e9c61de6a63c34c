"""What a plan makes small: all squared errors together, each unit's by itself or not, or the worst of them.

How much each answer's error counts while shapes are sought: none is lost sight of, the worst are looked at most.

What a plan's objective cannot be below, by name, each against another class of mechanisms.

Answers whose error exceeds all that they could be: nobody learns anything from them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.gaussian.mechanism import CAUTION, gaussian_bound, gaussian_space, unbiased_bound
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.parts.table_candidates import MarginalSpace, marginal_space, unbiased_tables_bound
from dxgeom.mechanisms.shapes.hulls import (
    SensitivityHull,
    coordinate_bounds,
    second_moment_bound,
    volume_bound,
)
from dxgeom.mechanisms.shapes.round_spaces import RoundSpace, round_space
from dxgeom.mechanisms.shapes.strategy import Effort, best_strategy, rotated_laplace
from dxgeom.planner.amounts import Amount
from dxgeom.planner.objectives.aims import Errors, each_error, each_importance
from dxgeom.planner.objectives.error_sizes import SIZES, ErrorSize
from dxgeom.privacy.measures import CONCENTRATED, privacy_measure_of
from dxgeom.universe.columns import plain
from dxgeom.universe.queries import LinearQueries

SizeName: TypeAlias = Literal["l1", "l2", "linf", "quantile-90", "quantile-95", "quantile-99"]
ObjectiveName: TypeAlias = Literal["balanced", "mse", "max", "rmse", SizeName]
OBJECTIVES: Final[tuple[str, ...]] = get_args(ObjectiveName)
_SIGNIFICANT_DIGITS = 6
_LEFT_OVER = 10


@final
@dataclass(frozen=True)
class Objective:
    """The total ("mse", "balanced") or the largest ("max") of the mean squared errors, each times its importance; or a
    size of the errors themselves, each times its importance, of :data:`dxgeom.planner.objectives.error_sizes.SIZES`.

    ``importance`` (K,): positive; None for all alike. ``wanted`` (K,): the root mean squared errors that answers may
    have, None for those that may have any; None as a whole where none was asked for. ``balance`` (K,): of a balanced
    one, by what an answer's squared error is multiplied for its unit's sake: one over the total that the unit's answers
    would have if nothing else were asked.
    """

    name: Literal["balanced", "mse", "max", SizeName]
    importance: tuple[Fraction, ...] | None = None
    wanted: tuple[Fraction | None, ...] | None = None
    balance: tuple[Fraction, ...] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        """What it is a figure of, for a table."""
        if self.size is not None:
            return self.size.title if self.importance is None else f"weighted {self.size.title}"
        if self.name == "balanced":
            return "balanced MSE"
        kind = {"mse": "total", "max": "worst"}[self.name]
        return f"{kind} MSE" if self.importance is None else f"{kind} weighted MSE"

    @property
    def size(self) -> ErrorSize | None:
        """What is made small where it is no squared error."""
        return SIZES.get(self.name)

    @cached_property
    def factors(self) -> NDArray[np.float64] | None:
        """What squared errors are multiplied with, as float64 (K,); None for all alike."""
        stated = [part for part in (self.importance, self.balance) if part is not None]
        return np.prod([[float(factor) for factor in part] for part in stated], axis=0) if stated else None

    @property
    def is_plain(self) -> bool:
        """Whether the noise of the hull, which is the same for all, is made for it: nothing counts more or is worst."""
        return self.name != "max" and self.size is None and self.importance is None

    def loss_of(self, mechanism: AdditiveMechanism) -> float:
        """The objective's value for a budget of 1, or what it is at most. Raises: TooLarge where neither is known."""
        return self.loss(mechanism.variances()) if self.size is None else self.size.of_noise(mechanism, self.factors)

    def is_exact(self, mechanism: AdditiveMechanism) -> bool:
        """Whether :meth:`loss_of` is the value itself; otherwise it is at most that."""
        return self.size is None or self.size.is_exact(mechanism)

    def loss(self, variances: NDArray[np.float64]) -> float:
        """The objective's value at these mean squared errors (K,); a size is that of independent Laplace numbers, and
        the sum of mean sizes of no other symmetric numbers of log-concave density is below it."""
        if self.size is not None:
            return self.size.of_scales(np.sqrt(variances / 2) * (1.0 if self.factors is None else self.factors))
        weighted = variances if self.factors is None else variances * self.factors
        return float(weighted.max() if self.name == "max" else weighted.sum())

    def lower_bound(self, sensitivity: Sensitivity, hull: SensitivityHull | None, space: RoundSpace | None) -> float:
        """What no additive noise that stretches to every spend can get below: each answer has its own bound, and the
        total has several; the worst answer is no better than the average. Of a size, for pure privacy: no error of one
        answer is seldomer large than that of Laplace noise of its own scale (decision 084); 0 otherwise.

        ``space``: with this objective's importance for weights.
        """
        if self.size is not None:
            if sensitivity.metric.privacy == CONCENTRATED:
                return 0.0
            scales = np.sqrt(coordinate_bounds(sensitivity) / 2) * (1.0 if self.factors is None else self.factors)
            return self.size.least(scales)
        totals = [0.0] if hull is None else [volume_bound(hull, self.factors)]
        if space is not None:
            totals.append(second_moment_bound(space))
        share = len(sensitivity.queries.names) if self.name == "max" else 1
        return max(self.loss(coordinate_bounds(sensitivity)), max(totals) / share)

    def least_spend(self, mechanism: AdditiveMechanism, rounding: NDArray[np.float64]) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every answer is as exact as was asked for it.

        Args: ``rounding`` (K,): how far values that stand for many numbers can move answers; left out where infinite.
        Raises: UnsupportedCombination when no errors were asked for, or rounding and bias alone exceed one.
        """
        if self.wanted is None:
            raise UnsupportedCombination("the least spend is for plans that were asked for certain 'errors'")
        wanted = np.array([np.inf if error is None else float(error) for error in self.wanted]) ** 2
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


@final
@dataclass(frozen=True)
class UnitError:
    """The total mean squared error of a unit's answers, and how many times that is what it would be alone."""

    unit: str
    mse: float
    ratio: float

    def as_dict(self) -> dict[str, Any]:
        """The unit ready for JSON."""
        return {"unit": self.unit, "mse": self.mse, "times_alone": self.ratio}


def unit_errors(objective: Objective, queries: LinearQueries, variances: NDArray[np.float64]) -> tuple[UnitError, ...]:
    """Each unit's errors in a balanced objective, at these mean squared errors (K,)."""
    if objective.balance is None:
        return ()
    found = []
    for unit, places in queries.by_measure.items():
        total = float(variances[places].sum())
        found.append(UnitError(unit, total, total * float(objective.balance[places[0]])))
    return tuple(found)


def objective_of(
    name: ObjectiveName,
    queries: LinearQueries,
    importance: Sequence[Amount] | None,
    errors: Errors | None,
    bounds: NDArray[np.float64],
    alone: Callable[[Sequence[int]], float],
) -> Objective:
    """The objective that these arguments of a plan mean.

    Args: ``importance``: instead of the queries' own. ``bounds`` (K,): no answer has a mean squared error below these.
    ``alone``: the total mean squared error that the queries at some places would have if they were all that is asked.
    Raises: UnsupportedCombination.
    """
    if name not in OBJECTIVES:
        raise UnsupportedCombination(f"there is no objective '{name}'; known are {', '.join(OBJECTIVES)}")
    wanted = queries.errors if errors is None and name == "balanced" and any(queries.errors) else None
    wanted = wanted if errors is None else each_error(queries, errors)
    if wanted is not None:
        if name in SIZES:
            raise UnsupportedCombination(f"'errors' are wanted of answers one by one: leave objective '{name}' out")
        if importance is not None:
            raise UnsupportedCombination("'errors' already say how important each answer is; leave 'importance' out")
        return Objective("max", _error_weights(wanted, bounds), wanted)
    stated = queries.importance if importance is None else each_importance(queries, importance)
    if name == "balanced" and len(queries.by_measure) > 1:
        return Objective("balanced", stated, balance=_balance(queries, alone))
    # The root of a mean is smallest where the total is, and one unit needs no balance.
    return Objective("mse" if name == "balanced" or name == "rmse" else name, stated)


def _balance(queries: LinearQueries, alone: Callable[[Sequence[int]], float]) -> tuple[Fraction, ...]:
    """One over the total error that the answers of each one's unit would have alone; 1 where that is none."""
    factors = [Fraction(1)] * queries.count
    for places in queries.by_measure.values():
        total = alone(places)
        for place in places:
            factors[place] = _short(1 / total) if total > 0 else Fraction(1)
    return tuple(factors)


def _error_weights(wanted: tuple[Fraction | None, ...], bounds: NDArray[np.float64]) -> tuple[Fraction, ...]:
    """How important each answer is when some may have certain errors, and the others any.

    The others are counted as if they might be :data:`_LEFT_OVER` times as far off as they would be alone at the spend
    that the wanted errors need at the least, so that they take next to nothing from these.
    """
    needed = max(
        (float(bound) / float(error) ** 2 for bound, error in zip(bounds, wanted, strict=True) if error is not None),
        default=0.0,
    )
    return tuple(
        _left_over(needed, float(bound)) if error is None else 1 / error**2
        for error, bound in zip(wanted, bounds, strict=True)
    )


def _left_over(needed: float, bound: float) -> Fraction:
    """How important an answer is that may have any error; ``needed``: the least spend for the others, squared."""
    return _short(needed / (bound * _LEFT_OVER**2)) if needed > 0 and bound > 0 else Fraction(1)


def _short(number: float) -> Fraction:
    """A positive number to six digits, however small: errors of squares are of the fourth power of what is squared."""
    return Fraction(f"{number:.{_SIGNIFICANT_DIGITS - 1}e}")


_SMALL_WEIGHT: Final = 1e-3
_LEAST_SHIFT: Final = 1e-2


def error_weights(
    sensitivity: Sensitivity, weights: NDArray[np.float64] | None, effort: Effort, *, worst: bool
) -> NDArray[np.float64]:
    """(K,): the ``weights`` of squared errors, with a thousandth of the attention for every query's error next to its
    own sensitivity.

    A query in tiny units counts nothing in the total; without this its noise would be whatever suits the others.
    Where the ``worst`` answer counts, the answers' attention is shifted to those that come out worst.
    """
    factors = np.ones(len(sensitivity.queries.names)) if weights is None else weights
    own = factors * (sensitivity.of_each_query * sensitivity.queries.float_steps) ** 2
    found = np.asarray(factors * (1 + _SMALL_WEIGHT * own.mean() / np.where(own > 0, own, 1)))
    return _to_the_worst(sensitivity, found, factors, effort) if worst else found


def _to_the_worst(
    sensitivity: Sensitivity, found: NDArray[np.float64], factors: NDArray[np.float64], effort: Effort
) -> NDArray[np.float64]:
    """Multiplicative steps towards the weights at which all weighted errors are alike; the best of them."""
    best, least = found, np.inf
    for _ in range(effort.shifts):
        space = round_space(sensitivity, found)
        if space is None or space.dimension == 1:
            break
        errors = factors * rotated_laplace(space, best_strategy(space, effort)).variances()
        if errors.max() < least:
            best, least = found, float(errors.max())
        found = found * np.maximum(errors / errors.max(), _LEAST_SHIFT)
    return best


def bounds_of(sensitivity: Sensitivity, objective: Objective, known: float) -> Mapping[str, float]:
    """Lower bounds of the objective at spend 1, 0 where none is known.

    "gaussian": no Gaussian noise that honours the metric in the concentrated sense is below. "additive": no noise added
    to the exact answers that honours the metric and, stretched by 1/s, s times the metric for every s ≤ 1: the Gaussian
    bound, and for pure privacy the larger of twice that and of ``known``, the plan's own. "unbiased": no unbiased
    mechanism, additive or not, at every table that holds the records, whatever it is at other spends; weak for
    distances above 1. Rounding to the lattice only adds to an error. Up to the rounding of float64, which is counted
    against them.
    """
    if objective.size is not None:
        return {"gaussian": 0.0, "additive": known, "unbiased": 0.0}
    concentrated = sensitivity.metric.privacy == CONCENTRATED
    least = privacy_measure_of(sensitivity.metric.privacy).least_mean_square
    tables = _tables(sensitivity, objective)
    if tables is not None:
        found = tables.bound * CAUTION
        return {
            "gaussian": found,
            "additive": found if concentrated else max(known, least * found),
            "unbiased": unbiased_tables_bound(tables, concentrated) * CAUTION,
        }
    try:
        space = gaussian_space(sensitivity, objective.factors, objective.name == "max")
    except (TooLarge, NotANormBall, CertificateRefused):
        return {"gaussian": 0.0, "additive": known, "unbiased": 0.0}
    gaussian = known if concentrated and known > 0 else gaussian_bound(space)
    return {
        "gaussian": gaussian,
        "additive": gaussian if concentrated else max(known, least * gaussian),
        "unbiased": unbiased_bound(space, concentrated),
    }


def _tables(sensitivity: Sensitivity, objective: Objective) -> MarginalSpace | None:
    """Whole tables of counts, whose best covariance is known in closed form; None where the queries are none."""
    try:
        space = marginal_space(sensitivity, objective.factors, objective.name == "max")
    except TooLarge:
        return None
    return space if space.overlaps and space.optimal else None


_USEFUL = Fraction(1, 10)
"""An answer whose error is this part of its range is of some use."""


@final
@dataclass(frozen=True)
class UselessAnswer:
    """An answer's expected error, the range that it lies in whatever the records are, and the spend at which that error
    is a tenth of the range; None where no spend makes it so small."""

    name: str
    rmse: float
    low: Fraction
    high: Fraction
    spend: Fraction | None

    @property
    def in_words(self) -> str:
        """One sentence."""
        remedy = (
            "no spend helps, because rounding or bias alone is too large"
            if self.spend is None
            else f"at spend {plain(self.spend)} it would be a tenth of that range"
        )
        return (
            f"the answer to '{self.name}' is useless: its expected error {self.rmse:.4g} exceeds all that the answer "
            f"can be, {float(self.low):.6g} to {float(self.high):.6g}; {remedy}"
        )

    def as_dict(self) -> dict[str, Any]:
        """The warning ready for JSON."""
        return {
            "query": self.name,
            "rmse": self.rmse,
            "range": [float(self.low), float(self.high)],
            "useful_at_spend": None if self.spend is None else str(self.spend),
            "message": self.in_words,
        }


def useless_answers(
    queries: LinearQueries, mechanism: AdditiveMechanism, spend: Fraction, records: int | None
) -> tuple[UselessAnswer, ...]:
    """The answers whose expected error at a spend exceeds their range over all data of a public number of records.

    None are told where that number is private or not stated: nothing bounds the answers then.
    """
    if records is None:
        return ()
    errors = np.sqrt(mechanism.variances(spend))
    lowest, highest = queries.tables.extremes
    found = []
    for place, (name, unit) in enumerate(zip(queries.names, queries.units, strict=True)):
        low, high = unit * int(lowest[place]) * records, unit * int(highest[place]) * records
        if errors[place] > float(high - low):
            needed = _spend_for(mechanism, place, float(_USEFUL * (high - low)))
            found.append(UselessAnswer(name, float(errors[place]), low, high, needed))
    return tuple(found)


def _spend_for(mechanism: AdditiveMechanism, place: int, error: float) -> Fraction | None:
    """The spend, rounded up to two digits, at which one answer's error is so small."""
    left = error**2 - float(mechanism.lasting_errors[place])
    if left <= 0:
        return None
    spend = math.sqrt(float(mechanism.ideal_variances[place]) / left)
    unit = Fraction(10) ** (math.floor(math.log10(spend)) - 1)
    return math.ceil(Fraction(spend) / unit) * unit
