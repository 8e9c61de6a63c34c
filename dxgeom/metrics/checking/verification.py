"""From a metric to a verified one: the only door, and mechanisms accept nothing else."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from fractions import Fraction
from itertools import pairwise
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DxgeomError, NotAMetric, UnsupportedCombination
from dxgeom.metrics.checking.certificate import MetricCertificate
from dxgeom.metrics.checking.matrix_check import Progress, certify_matrix, fingerprint_of, matrix_of
from dxgeom.metrics.combinations.cap import CapMetric
from dxgeom.metrics.combinations.grouped import GroupedMetric
from dxgeom.metrics.combinations.largest_change import MaxMetric
from dxgeom.metrics.combinations.presence import PresenceMetric
from dxgeom.metrics.combinations.product import SumMetric
from dxgeom.metrics.combinations.reordered import ReorderedMetric
from dxgeom.metrics.families.dense import DenseMetric
from dxgeom.metrics.families.discrete import DiscreteMetric
from dxgeom.metrics.families.graph import GraphMetric
from dxgeom.metrics.families.line import LineMetric
from dxgeom.metrics.families.partition import PartitionMetric
from dxgeom.metrics.families.points import PointsMetric
from dxgeom.metrics.families.star import StarMetric
from dxgeom.metrics.families.values import ValueSensitivityMetric
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_down
from dxgeom.universe.universe import Universe

_DOOR = object()
_COORDINATE_RANGE = (1e-100, 1e100)
"""Squares of larger coordinates could overflow, of smaller ones lose their digits: the distance could be too large."""


@final
@dataclass(frozen=True, eq=False)
class VerifiedMetric:
    """A metric whose axioms were established; only :func:`verify` and ``verify_metric`` make one.

    ``fingerprint``: names the meaning it came from (a policy, a matrix), so that a ledger can tell.
    ``budget``: releases may spend this multiple of the metric in total. ``universe``: the records that the indices
    mean, None for a bare matrix.
    """

    metric: Metric
    certificate: MetricCertificate
    title: str
    fingerprint: str
    budget: Fraction
    universe: Universe | None = None
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("a VerifiedMetric is made by verify_metric or by compiling a policy, never by hand")
        if self.budget <= 0:
            raise DxgeomError(f"a budget is a positive multiple of the metric, found {self.budget}")
        if self.universe is not None and self.universe.size != self.metric.size:
            raise UnsupportedCombination(
                f"a metric on {self.metric.size:,} records does not fit a universe of {self.universe.size:,}"
            )
        if self.universe is not None and isinstance(self.metric, PresenceMetric) and self.universe.absent is None:
            raise UnsupportedCombination("this metric has an absent record, the universe has none")

    @property
    def size(self) -> int:
        """The number of record types, the absent one included where there is one."""
        return self.metric.size

    @property
    def absent(self) -> int | None:
        """The index that means no record; None where the number of records is public."""
        if self.universe is not None:
            return self.universe.absent
        return self.metric.inner.size if isinstance(self.metric, PresenceMetric) else None

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        """d(i, j), elementwise over index arrays, *rounded down*.

        Raises: IndexError when an index is outside 0..size-1.
        """
        for indices in (np.asarray(i), np.asarray(j)):
            if indices.size and (indices.min() < 0 or indices.max() >= self.size):
                raise IndexError(f"record indices run from 0 to {self.size - 1}")
        return self.metric.distance(i, j)


def verify(
    metric: Metric, *, title: str, fingerprint: str, budget: Fraction, universe: Universe | None = None
) -> VerifiedMetric:
    """Establish the axioms: by theorem from checked defining data, or pair by pair for a matrix.

    Raises: NotAMetric with a witness where there is one; UnsupportedCombination for a universe that does not fit.
    """
    return VerifiedMetric(metric, _certify(metric), title, fingerprint, budget, universe, _DOOR)


def verify_metric(
    matrix: ArrayLike,
    *,
    title: str = "matrix",
    budget: Fraction | int = 1,
    universe: Universe | None = None,
    progress: Progress | None = None,
    first: bool = False,
) -> VerifiedMetric:
    """The triangle-inequality checker for a distance matrix that came from elsewhere.

    Args: ``matrix`` (N, N) of floats, integers, or exact rationals (``Fraction``); ∞ allowed, NaN refused.
    ``universe``: what the indices mean, when queries about it are to be answered. ``first``: stop at the first rows
    that show a violation. ``progress``: called with the rows done and the number of rows.
    Guarantee: integers and rationals are decided *exactly*; float64 input may miss the triangle inequality by a
    relative 2⁻⁴⁸ (its own rounding), which the certificate then says.
    Raises: NotAMetric with the worst witness ``(i, k, j)`` and the count of each broken axiom; UnsupportedCombination
    for a universe that does not fit.
    """
    entries, factor = matrix_of(matrix)
    certificate = certify_matrix(entries, factor, progress, first)
    if factor != 1:
        entries = np.array([[_scaled(entry, factor) for entry in row] for row in entries])
    metric = DenseMetric(entries)
    return VerifiedMetric(
        metric, certificate, title, fingerprint_of(entries, factor), Fraction(budget), universe, _DOOR
    )


def _scaled(entry: float, factor: Fraction) -> float:
    return float(entry) if np.isinf(entry) else round_down(Fraction(entry) * factor)


def _certify(metric: Metric) -> MetricCertificate:
    match metric:
        case DiscreteMetric(epsilon=epsilon):
            _require(epsilon > 0, f"epsilon is positive, found {epsilon}")
            reason = "a constant off the diagonal is a metric"
        case ValueSensitivityMetric(epsilons=epsilons):
            _require(min(epsilons) > 0, f"every epsilon is positive, found {min(epsilons)}")
            reason = "closure of min(ε_a, ε_b), in closed form"
        case StarMetric(epsilons=epsilons):
            _require(min(epsilons) > 0, f"every epsilon is positive, found {min(epsilons)}")
            reason = "ε_i + ε_j: paths through a centre that is no record"
        case LineMetric(positions=positions, rate=rate):
            _require(rate > 0, f"a rate is positive, found {rate}")
            rising = all(low < high for low, high in pairwise(positions))
            _require(rising, "positions on a line increase strictly")
            reason = "rate times the absolute difference of numbers"
        case PointsMetric():
            reason = _points_reason(metric)
        case GraphMetric(bounds=bounds):
            _require(bool(np.all(np.isfinite(bounds) & (bounds >= 0))), "edge bounds are finite and not negative")
            _require(_within(metric.first, metric.size) and _within(metric.second, metric.size), "edges join nodes")
            reason = f"shortest paths over {bounds.size:,} edges"
        case DenseMetric(matrix=matrix):
            return certify_matrix(matrix)
        case SumMetric(parts=parts):
            return MetricCertificate(
                "sum over attributes",
                metric.size,
                "a sum of metrics is a metric",
                parts=tuple(map(_certify, parts)),
            )
        case GroupedMetric():
            return _certify_groups(metric)
        case MaxMetric(parts=parts):
            reason = "the largest of several metrics is a metric"
            return MetricCertificate("largest change", metric.size, reason, parts=tuple(map(_certify, parts)))
        case ReorderedMetric(inner=inner):
            _require(sorted(metric.order) == list(range(len(metric.shape))), "an order lists every attribute once")
            _require(inner.size == metric.size, "attributes in another order make as many records")
            reason = "attributes in another order"
            return MetricCertificate("reordered", metric.size, reason, parts=(_certify(inner),))
        case PartitionMetric(blocks=blocks, epsilon=epsilon):
            _require(epsilon > 0, f"epsilon is positive, found {epsilon}")
            reason = f"a constant inside each of {len(np.unique(blocks)):,} blocks is a metric"
        case PresenceMetric(inner=inner, epsilon=epsilon):
            _require(epsilon > 0, f"epsilon is positive, found {epsilon}")
            reason = f"{float(epsilon):g} to the absent record, so min(d, {2 * float(epsilon):g}) between the others"
            return MetricCertificate("presence", metric.size, reason, parts=(_certify(inner),))
        case CapMetric(inner=inner, epsilon=epsilon):
            _require(epsilon > 0, f"epsilon is positive, found {epsilon}")
            return MetricCertificate(
                "cap",
                metric.size,
                f"min(d, {float(epsilon):g}) of a metric is a metric",
                parts=(_certify(inner),),
            )
        case _:
            raise UnsupportedCombination(f"no proof is known here that a {type(metric).__name__} is a metric")
    return MetricCertificate(_FORMS[type(metric)], metric.size, reason)


_FORMS: dict[type[Metric], str] = {
    DiscreteMetric: "discrete",
    ValueSensitivityMetric: "value sensitivities",
    StarMetric: "individuals",
    LineMetric: "line",
    PointsMetric: "points",
    GraphMetric: "graph",
    PartitionMetric: "partition",
}


def _certify_groups(metric: GroupedMetric) -> MetricCertificate:
    for group in metric.groups:
        _require(group.epsilon > 0, f"epsilon is positive, found {group.epsilon}")
        places = set(group.places)
        inside = bool(places) and sorted(places) == list(group.places) and places <= set(range(len(metric.parts)))
        _require(inside, "a group lists some of the parts, each once, in their order")
    reason = f"closure of a sum and {len(metric.groups)} groups' constants, in closed form"
    return MetricCertificate("groups over a sum", metric.size, reason, parts=tuple(map(_certify, metric.parts)))


def _points_reason(metric: PointsMetric) -> str:
    _require(metric.rate > 0 and metric.floor >= 0, "a rate is positive and a floor is not negative")
    coordinates = metric.coordinates
    furthest = float(np.max(np.abs(coordinates), initial=0.0))
    low, high = _COORDINATE_RANGE
    _require(furthest == 0 or low <= furthest <= high, f"the largest coordinate lies between {low:g} and {high:g}")
    if metric.geometry == "great circle":
        on_earth = (np.abs(coordinates) <= (90, 360)).all()
        _require(bool(on_earth), "latitudes lie between -90 and 90 degrees, longitudes between -360 and 360")
    floor = f"max({float(metric.floor):g}, ·) of " if metric.floor else ""
    return f"{floor}rate times the {metric.geometry} distance, computed from below"


def _within(nodes: NDArray[np.int64], size: int) -> bool:
    return nodes.size == 0 or bool(nodes.min() >= 0 and nodes.max() < size)


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise NotAMetric(rule, ())
