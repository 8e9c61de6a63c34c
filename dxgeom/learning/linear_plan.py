"""A linear regression under a policy, planned before any data are read: least squares from sums that are linear
queries, so whatever can answer queries can answer these.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.learning.least_squares import Coefficients, NoisyLeastSquares, TotalsLayout
from dxgeom.learning.policy_model import metric_of
from dxgeom.learning.policy_rows import EncodedAttribute, FeatureRows, encoded, feature_rows
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.choose import plan
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.policy.policy import Policy
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe

_GRID: Final = 2**16
_SMALL: Final = 2**12
_SAME: Final = 1e-12
Cell = tuple[int, int]


@final
@dataclass(frozen=True, eq=False)
class TotalsQueries:
    """Σ z·zᵀ, z = (1, features, response), as queries: each sum once, however many cells it stands in."""

    queries: LinearQueries
    layout: TotalsLayout


@final
@dataclass(frozen=True, eq=False)
class _Numbers:
    """An attribute's numbers, ``whole`` (d, values) of them over ``parts``; ``first``: the place of the first in z."""

    name: str
    names: tuple[str, ...]
    whole: NDArray[np.int64]
    parts: int
    first: int


def totals_queries(
    universe: Universe, encodings: Sequence[EncodedAttribute], response: EncodedAttribute
) -> TotalsQueries:
    """The queries of a regression of ``response``, one number, on what these attributes are encoded as.

    Guarantee: weights are *exact* products of the encoded numbers, which are within [−1, 1]; those over more than 2¹²
    parts are moved to multiples of 2⁻¹⁶ first, value by value, whatever the data.
    Raises: TooLarge; UnsupportedCombination for queries that the universe cannot have.
    """
    blocks, place = [], 1
    for one in (*encodings, response):
        if one.groups:
            blocks.append(_numbers(one, place))
            place += one.table.shape[1]
    number = _Part(LinearQueries.kronecker(("records",), universe, {}), (((0, 0),),))
    parts = [number] if universe.presence else []
    parts += [_moments_of(universe, block) for block in blocks]
    parts += [_products(universe, first, second) for first, second in itertools.combinations(blocks, 2)]
    kept = [part for part in parts if part.cells]
    queries = LinearQueries.stack([part.queries for part in kept])
    return TotalsQueries(queries, TotalsLayout(place, tuple(cells for part in kept for cells in part.cells)))


@final
@dataclass(frozen=True, eq=False)
class _Part:
    queries: LinearQueries
    cells: tuple[tuple[Cell, ...], ...]


def _moments_of(universe: Universe, block: _Numbers) -> _Part:
    """An attribute's numbers and their products with each other; what is the same for every value, only once."""
    rows: dict[tuple[Fraction, ...], tuple[str, list[Cell]]] = {}
    for name, cell, row in _each_own(block):
        if any(row):
            rows.setdefault(row, (name, []))[1].append(cell)
    unit = Fraction(1, block.parts**2)
    whole = np.array([[int(entry / unit) for entry in row] for row in rows], dtype=np.int64)
    names = tuple(name for name, _ in rows.values())
    return _Part(
        LinearQueries.kronecker(names, universe, {block.name: whole}, unit),
        tuple(tuple(cells) for _, cells in rows.values()),
    )


def _each_own(block: _Numbers) -> Iterator[tuple[str, Cell, tuple[Fraction, ...]]]:
    size, start = len(block.names), block.first
    for j in range(size):
        row = tuple(Fraction(int(x), block.parts) for x in block.whole[j])
        yield block.names[j], (0, start + j), row
    for j, k in itertools.combinations_with_replacement(range(size), 2):
        products = block.whole[j].astype(object) * block.whole[k]
        row = tuple(Fraction(int(x), block.parts**2) for x in products)
        yield f"{block.names[j]}·{block.names[k]}", (start + j, start + k), row


def _products(universe: Universe, first: _Numbers, second: _Numbers) -> _Part:
    pairs = list(itertools.product(range(len(first.names)), range(len(second.names))))
    names = tuple(f"{first.names[j]}·{second.names[k]}" for j, k in pairs)
    factors = {first.name: first.whole, second.name: second.whole}
    queries = LinearQueries.kronecker(names, universe, factors, Fraction(1, first.parts * second.parts))
    return _Part(queries, tuple(((first.first + j, second.first + k),) for j, k in pairs))


def _numbers(one: EncodedAttribute, place: int) -> _Numbers:
    """In as few parts as they are exact in, else in 2¹⁶."""
    near = [Fraction(x).limit_denominator(_SMALL) for x in one.table.ravel().tolist()]
    parts = math.lcm(*(x.denominator for x in near))
    exact = all(abs(float(x) - y) <= _SAME for x, y in zip(near, one.table.ravel().tolist(), strict=True))
    parts = parts if exact and parts <= _SMALL else _GRID
    whole = np.rint(one.table.T * parts).astype(np.int64)
    names = tuple(name for group in one.groups for name in group.names)
    return _Numbers(one.name, names, np.ascontiguousarray(whole), parts, place)


_PART: Final = 1 / 10
"""The usual variance of a scaled predictor."""


@final
@dataclass(frozen=True, eq=False)
class PlannedTotals:
    """The totals that a plan answers: see :class:`NoisyTotals`."""

    mechanism: AdditiveMechanism
    layout: TotalsLayout

    def covariance(self, spend: Fraction) -> NDArray[np.float64]:
        """(m, m): up to the rounding of float64."""
        mixing, law = self.mechanism.float_mixing, self.mechanism.law
        found = np.diag(self.mechanism.rounding_variances)
        return found if law is None else found + mixing @ law.second_moment @ mixing.T / float(spend) ** 2

    def simulate(self, count: int, spend: Fraction, generator: np.random.Generator) -> NDArray[np.float64]:
        """(count, m): for figures, never for release."""
        law, mixing = self.mechanism.law, self.mechanism.float_mixing
        if law is None:
            return np.zeros((count, len(mixing)))
        return np.asarray(law.simulate(count, generator) @ mixing.T / float(spend))


@final
@dataclass(frozen=True, eq=False)
class LeastSquares:
    """What is decided of a fit: how its sums make the regression of ``response`` on ``rows``. ``ridge``: see
    :class:`NoisyLeastSquares`; None for one as large as the noise."""

    errors: PlannedTotals
    rows: FeatureRows = field(repr=False)
    response: EncodedAttribute = field(repr=False)
    ridge: Fraction | None = None

    @property
    def layout(self) -> TotalsLayout:
        """Where each sum stands."""
        return self.errors.layout

    @property
    def names(self) -> tuple[str, ...]:
        """The coefficients' names, the intercept first."""
        return ("intercept", *self.rows.names)

    def signal_kept(self, records: int, spend: Fraction) -> float:
        """The part of a coefficient that a fit can be expected to keep, against the noise: a rough, public count."""
        told = records * _PART
        deviations = np.sqrt(np.diag(self.errors.covariance(spend))[self.layout.products])
        return told / (told + float(np.median(deviations)))

    def scaled_back(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """A and b: intercept and coefficients of the encoded features are A·β + b, of the raw response."""
        half = float(self.response.half or 1)
        base = np.zeros(len(self.names))
        base[0] = float(self.response.middle)
        return half * np.eye(len(self.names)), base


@final
class LinearFitPlans(PlanKind):
    """Least squares of one attribute on others, from totals with the noise that suits the policy best. A plan has a
    part, that of the sums, with its candidates, their exact errors and a lower bound.

    Guarantee: that of the totals' mechanism; coefficients and their intervals are post-processing.
    """

    no_errors = Unknown("intervals of coefficients depend on the answer", "they are told with it")
    no_loss = Unknown("what is made small is the loss of the sums", "plan.totals has it, and its lower bound")
    no_list = Unknown("a fit is made of sums", "take what is told of them, plan.totals")

    def totals(self, plan: Plan) -> Plan:
        totals: Plan = plan.parts[0]
        return totals

    def _fit(self, plan: Plan) -> LeastSquares:
        fit: LeastSquares = plan.decided
        return fit

    def fingerprint(self, plan: Plan) -> str:
        fit = self._fit(plan)
        return canonical_digest(
            "linear regression", self.totals(plan).fingerprint, fit.response.name, fit.names, fit.ridge
        )

    def comparison(self, plan: Plan) -> CandidateComparison:
        """That of the sums."""
        return self.totals(plan).comparison

    def as_it_is(self, plan: Plan) -> Plan:
        return replace(plan, parts=(self.totals(plan).as_it_is(),))

    def inside(self, plan: Plan) -> tuple[Plan, ...]:
        return (self.totals(plan),)

    def records(self, plan: Plan) -> int | None:
        totals = self.totals(plan)
        return plan.records or totals.kind.records(totals)

    def purpose(self, plan: Plan) -> str:
        return f"a linear regression of {self._fit(plan).response.name} by {plan.mechanism.name}"

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        fit = self._fit(plan)
        variances = np.diag(fit.errors.covariance(spend))[fit.layout.products]
        return (
            f"estimate: the {plan.queries.count} sums, by {plan.mechanism.name}, have noise of about "
            f"{float(np.sqrt(np.median(variances))):.4g}, of numbers within 1 for each record; intervals of "
            "coefficients depend on the answer, and are told with it",
        )

    def blank(self, plan: Plan, records: int | None) -> Any:
        totals = self.totals(plan)
        return totals.kind.blank(totals, records)

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> Coefficients:
        planned = self._fit(plan)
        number = None if planned.layout.counts_records else records
        fit = NoisyLeastSquares(planned.errors, answer, number, spend, planned.ridge)
        back, base = planned.scaled_back()
        halves = planned.rows.halves
        units = np.array([1.0, *(1 / float(one or 1) for one in halves)])
        raw = back * units[:, None]
        return Coefficients(
            planned.response.name,
            planned.names,
            ("", *("1" if one is not None else "" for one in halves)),
            raw @ fit.coefficients + base,
            units,
            lambda level: fit.intervals(level, raw) + base[:, None],
            fit.strength,
            plan.fingerprint,
        )

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        fit = self._fit(plan)
        return {
            "kind": "fit",
            "fit": {"linear": fit.response.name, "by": [one.name for one in fit.rows.used]},
            "ridge": None if fit.ridge is None else str(fit.ridge),
            "totals": self.totals(plan).as_dict(),
            "fingerprint": plan.fingerprint,
        }

    def lines(self, plan: Plan) -> list[str]:
        fit = self._fit(plan)
        head = f"least squares of {fit.response.name} on {', '.join(fit.rows.names)}, from {plan.queries.count} sums"
        return [head, *self.totals(plan).lines()]


LINEAR: Final = LinearFitPlans()


def plan_linear(
    policy: Policy | VerifiedMetric,
    label: str,
    features: Sequence[str] | None = None,
    *,
    ridge: Amount | None = None,
    mechanism: str = "auto",
    thorough: bool = False,
) -> Plan:
    """A linear regression of the attribute ``label`` on ``features``, all others where they are left out.

    Args: ``policy``: what dx.load_policy gives, or what it compiles to. ``mechanism``: of the totals, a candidate of
    :func:`dxgeom.plan`; left out, the one of the least total squared error, with Gaussian noise among them where the
    policy counts concentrated privacy. ``thorough``: as for :func:`dxgeom.plan`.
    Guarantee: reads no data. Whatever the policy says of people, presence, values that are missing and attributes made
    of others holds here too: a fit is a release of linear queries.
    Raises: UnsupportedCombination; TooLarge for a universe of which no histogram can be made, as :func:`dxgeom.plan`.
    """
    metric = metric_of(policy, label)
    if metric.universe is None:
        raise UnsupportedCombination("a model is told from attributes, and this metric knows no records")
    kept = None if ridge is None else exact_amount(ridge, "ridge")

    def planned(asked: LinearQueries) -> Plan:
        return plan(metric, asked, objective="mse", mechanism=mechanism, thorough=thorough)

    return linear_plan_of(metric.universe, label, features, kept, planned)


def linear_plan_of(
    universe: Universe,
    label: str,
    features: Sequence[str] | None,
    ridge: Fraction | None,
    planned: Callable[[LinearQueries], Plan],
    records: int | None = None,
) -> Plan:
    """The same, of sums that are ``planned`` by whoever knows how."""
    if universe.listed is not None:
        raise UnsupportedCombination(
            "a model is told from attributes, each on its own, and this policy's records are a table: list its "
            "attributes in the policy"
        )
    rows = feature_rows(universe, label, features, beside_first=True)
    response = _response(universe, label)
    asked = totals_queries(universe, rows.used, response)
    totals = planned(asked.queries)
    fit = LeastSquares(PlannedTotals(totals.mechanism, asked.layout), rows, response, ridge)
    return Plan(LINEAR, totals.metric, totals.queries, totals.mechanism, records, (totals,), fit)


def _response(universe: Universe, label: str) -> EncodedAttribute:
    """Raises: UnsupportedCombination for what is no number, the same for everybody, or missing for some."""
    attribute = universe.attribute(label)
    if attribute.missing is not None:
        raise UnsupportedCombination(
            f"'{label}' may be missing, and least squares has no number for such a record: predict another attribute, "
            "or state a policy in which it is not missing"
        )
    if not isinstance(attribute.columns[0], NumberColumn) or attribute.size < 2:
        raise UnsupportedCombination(f"a linear regression predicts numbers, two at least; '{label}' has none")
    return encoded(attribute)
