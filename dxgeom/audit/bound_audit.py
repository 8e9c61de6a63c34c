"""How near a plan is to the best noise, found anew: a bound that none is below, proved in integers alone.

For weights w of differences v that have to be hidden at distances d, normal noise has a total squared error of at least
(tr A^{1/2})²/Σ w·d², A = Σ w·v·vᵀ. For any Q and any D > 0 the trace is at least Σ D_j·B_jj over the root of
‖Qᵀ·Q‖·‖D·B·D‖, B = Qᵀ·A·Q. Weights, Q and D come from float64 as whole numbers and only make the bound near; all else
is exact. Nothing is used of how the plan's own bound was found.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
from flint import fmpz_mat
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.planner.plan import Plan
from dxgeom.privacy.measures import PURE

Floats = NDArray[np.float64]
_WORK: Final = 4e6
"""So many products of whole numbers are made, of what is the fewer, answers that change or differences, twice and the
other once: below two CPU s."""
_MOST_PAIRS: Final = 1 << 17
_BITS: Final = 40
_FINE: Final = 50
_STEPS: Final = 60
_STRIDE: Final = 1.5
_FLAT: Final = 1e-7
_UPWARD: Final = Fraction(1) + Fraction(1, 1 << 40)
"""Distances are rounded down where they are kept, and not by more than this."""


@final
class BoundAgain(NamedTuple):
    """``bound``: what the ``loss`` of no additive noise that stretches to every spend is below; *rounded down*.
    ``title``: what both are of; ``differences``: how many have a weight. ``stated``: the plan's own bound, where it was
    at hand. ``task``: of a file of tasks."""

    bound: float
    loss: float
    title: str
    differences: int
    stated: float | None
    task: str = ""

    @property
    def gap(self) -> float:
        """The loss over the bound."""
        return self.loss / self.bound if self.bound > 0 else math.inf if self.loss > 0 else 1.0

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        stated = "" if self.stated is None else f"; the plan states {self.stated:.6g}, by a route of its own"
        of = f"task '{self.task}': " if self.task else ""
        return (
            f"{of}no additive noise that stretches to any part of the budget has a {self.title} below "
            f"{self.bound:.6g}, proved anew from weights of {self.differences:,} differences in whole numbers: the "
            f"plan's {self.loss:.6g} is within a factor {self.gap:.4g} of it{stated}"
        )


@final
class _Asked(NamedTuple):
    """What a plan errs in: ``weights`` (K, N) of records in steps, ``steps`` (K,), ``counted`` (K,) what squared errors
    count; whether the ``worst`` of them, and the ``title`` of that."""

    weights: NDArray[np.int64]
    steps: tuple[Fraction, ...]
    counted: Floats
    worst: bool
    title: str


def bound_again(plan: Plan, metric: VerifiedMetric) -> BoundAgain | None:
    """The bound of a plan that is noise on a list of queries, on whole tables or on boxes; None for others, for answers
    to changed queries, and where too much would have to be looked at.

    Raises: CertificateRefused for a plan that states a bound above its own loss.
    """
    if not _is_looked_at(plan):
        return None
    at_hand = plan.file is None and (not plan.answers_a_list or plan.comparison.bound_at_hand)
    stated = plan.lower_bound if at_hand else None
    if stated is not None and stated > plan.loss * (1 + 1e-9):
        raise CertificateRefused(f"the plan states the bound {stated:.6g}, which is above its own loss {plan.loss:.6g}")
    try:
        asked = _of_a_list(plan) if plan.answers_a_list else _of_counts(plan)
        if metric.absent is not None:
            asked.weights[:, metric.absent] = 0
        found = _differences(asked.weights, metric)
    except TooLarge:
        return None
    if found is None:
        return None
    changes, distances = found
    moving = np.asarray(changes.any(axis=1))
    few, many = sorted((int(moving.sum()), len(distances)))
    if float(few) ** 2 * many > _WORK:
        return None
    rows, unit = _rows(asked, moving)
    proved = _proved(rows, changes[moving], distances)
    if proved is None:
        return None
    total = proved * unit**2 * (2 if metric.privacy == PURE else 1)
    bound = max(0.0, math.nextafter(float(total / (len(moving) if asked.worst else 1)), 0.0))
    return BoundAgain(bound, plan.loss, asked.title, len(distances), stated)


def _is_looked_at(plan: Plan) -> bool:
    """Whether it is noise on the very queries, and on tables and boxes only so many as may be laid out."""
    mechanism = plan.mechanism
    if plan.answers_a_list:
        squares = plan.objective.size is None
        return isinstance(mechanism, AdditiveMechanism) and mechanism.change is None and squares
    if not isinstance(mechanism, LatticeNoise) or not plan.queries.universe.indexable:
        return False
    if isinstance(mechanism, TableMechanism) and mechanism.public:  # noise is on less than the tables
        return False
    return bool(float(plan.queries.count) * plan.queries.universe.record_types <= _WORK)


def _of_a_list(plan: Plan) -> _Asked:
    queries, objective = plan.mechanism.sensitivity.queries, plan.objective
    counted = np.ones(len(queries.names)) if objective.factors is None else objective.factors
    return _Asked(queries.numerators.copy(), tuple(queries.steps), counted, objective.name == "max", objective.title)


def _of_counts(plan: Plan) -> _Asked:
    """Of whole tables and boxes, one by one."""
    queries, worst = plan.queries, plan.objective == "max"
    steps, counted = (Fraction(1),) * queries.count, queries.costs[queries.owners]
    return _Asked(queries.tables.matrix().copy(), steps, counted, worst, "worst MSE" if worst else "total MSE")


def _differences(weights: NDArray[np.int64], metric: VerifiedMetric) -> tuple[NDArray[np.int64], Floats] | None:
    """(K, E) what pairs of records change, each difference once, and (E,) at most how far apart its nearest are; None
    where nothing is to be hidden, or pairs are too many."""
    changes, distances, pairs = [], [], 0
    for block in metric.metric.generating_pairs():
        pairs += len(block.first)
        if pairs > _MOST_PAIRS or float(pairs) * len(weights) > 10 * _WORK:
            return None
        change = (weights[:, block.first] - weights[:, block.second]).T
        moved = change.any(axis=1)
        changes.append(change[moved])
        distances.append(block.bound[moved])
    if not sum(map(len, changes)):
        return None
    every, far = np.concatenate(changes), np.concatenate(distances)
    # The same difference the other way round is no other one.
    signs = np.sign(every[np.arange(len(every)), (every != 0).argmax(axis=1)])
    once, places = distinct_rows(every * signs[:, None])
    nearest = np.full(len(once), np.inf)
    np.minimum.at(nearest, places, far)
    return once.T, nearest


def _rows(asked: _Asked, moving: NDArray[np.bool_]) -> tuple[list[int], Fraction]:
    """What the row of each answer that is ``moving`` is multiplied by, its step times the root of what its squares
    count, rounded down to whole multiples of one number, which is the second."""
    roots = [Fraction(math.nextafter(math.nextafter(math.sqrt(one), 0.0), 0.0)) for one in asked.counted.tolist()]
    exact = [step * root for step, root, moves in zip(asked.steps, roots, moving.tolist(), strict=True) if moves]
    unit = max(exact) / (1 << _BITS)
    return [int(one / unit) if unit else 0 for one in exact], unit


def _proved(rows: list[int], changes: NDArray[np.int64], distances: Floats) -> Fraction | None:
    """(tr A^{1/2})²/Σ w·d² from below, exactly: of the rows times the changes; None where these are all zero, or
    beyond float64."""
    with np.errstate(over="ignore", divide="ignore"):
        scaled = changes * np.array([float(row) for row in rows])[:, None] / distances
        near = 1 / distances
    if not (np.isfinite(scaled).all() and np.isfinite(near).all() and scaled.any()):
        return None
    weights = _sought(scaled / np.abs(scaled).max())
    roots = np.sqrt(weights) / distances
    whole = [int(one) for one in np.rint(roots / roots.max() * 2.0**_BITS).tolist()]
    matrix = fmpz_mat(
        [
            [row * change * root for change, root in zip(own, whole, strict=True)]
            for row, own in zip(rows, changes.tolist(), strict=True)
        ]
    )
    hidden = [(root * Fraction(far) * _UPWARD) ** 2 for root, far in zip(whole, distances.tolist(), strict=True)]
    return _root_trace_squared(matrix) / sum(hidden, Fraction(0))


def _sought(points: Floats) -> Floats:
    """(E,): weights that add up to one, for which the sum of the singular values of √w·points is large."""
    if len(points) > points.shape[1]:  # as many rows as columns have the same singular values
        points = np.linalg.qr(points).R
    weights = np.full(points.shape[1], 1 / points.shape[1])
    for _ in range(_STEPS):
        values, turned = np.linalg.eigh((points * weights) @ points.T)
        kept = values > _FLAT**2 * values[-1]
        along = (turned[:, kept] / values[kept] ** 0.25).T @ points
        worth = np.sum(along * along, axis=0)
        weights = weights * (worth / worth.max()) ** _STRIDE
        weights /= weights.sum()
    return weights


def _root_trace_squared(matrix: Any) -> Fraction:
    """The square of tr (M·Mᵀ)^{1/2}, from below, exactly; ``matrix``: of integers (K, E)."""
    if matrix.nrows() > matrix.ncols():  # the other product has the same trace
        matrix = matrix.transpose()
    gram = matrix * matrix.transpose()
    size = gram.nrows()
    power = max(int(gram[k, k]).bit_length() for k in range(size))
    near = np.array([[int(gram[i, j]) * 2**200 >> power for j in range(size)] for i in range(size)], dtype=object)
    values, turned = np.linalg.eigh((near / 2**200).astype(np.float64))
    kept = values > _FLAT**2 * values[-1]
    directions = np.rint(turned[:, kept] * 2.0**_FINE).astype(np.int64)
    # 1/√λ in units of 2^−(_FINE + half), where λ is near values·2^power.
    half = (power + 1) // 2
    scales = [int(one) for one in np.rint(2.0 ** (_FINE + half - power / 2) / np.sqrt(values[kept])).tolist()]
    turn = fmpz_mat(directions.tolist())
    inner, square = turn.transpose() * gram * turn, turn.transpose() * turn
    shift = 2 * _FINE
    trace = Fraction(sum(scale * int(inner[j, j]) for j, scale in enumerate(scales)), 1 << (_FINE + half + shift))
    for_scales = [[one * other * int(inner[i, j]) for j, other in enumerate(scales)] for i, one in enumerate(scales)]
    stretched = _norm(for_scales, 2 * (_FINE + half) + shift)
    longest = _norm([[int(entry) for entry in row] for row in square.tolist()], shift)
    return trace**2 / (stretched * longest)


def _norm(entries: list[list[int]], power: int) -> Fraction:
    """At least the norm of this matrix over 2^power: 1 and the length of all that it differs from the unit by."""
    one = 1 << power
    squares = sum((entry - (one if i == j else 0)) ** 2 for i, row in enumerate(entries) for j, entry in enumerate(row))
    return 1 + Fraction(math.isqrt(squares) + 1, one)
