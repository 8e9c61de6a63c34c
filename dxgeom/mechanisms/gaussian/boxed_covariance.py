"""Normal noise in the answers to thousands of counts in boxes: nearly the best covariance, with nothing laid out for
each box and each record.

Weights p of records make A = Σ p_i·w_i·w_iᵀ, w_i what a record of kind i moves. The best noise has the covariance A^½
for the best weights, up to its scale, and no noise that stretches errs less than (tr A^½)² for any. An entry of A are
the weights of what two boxes have in common; lengths of records are read off in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.gaussian.mechanism import NAME
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.lengths_in_boxes import BoxPairs, length_of_records, required_presence
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.work import require_affordable
from dxgeom.universe.workloads.box_queries import BoxQueries

Floats = NDArray[np.float64]

_POWERS: Final = (2.0, 1.5)
"""The powers of their loads by which weights are raised, first and second, and from there on:"""
_POWER: Final = 1.0
_QUICK_ROUNDS: Final = 3
_ROUNDS: Final = 12
_OF_A_ROUND: Final = 5
"""Multiplications for the cube of the answers: of eigenvectors, and of a product of matrices;"""
_IN_THE_END: Final = 8
"""and of three inverses, a triangular root and its proof."""
_CLOSE: Final = 1e-3
_RAISED: Final = (1.05, 1.1, 1.2)
"""Records whose load is more than so many times the mean are hidden by noise of their own, each tried."""
_FLAT: Final = 1e-12
_LIGHTEST: Final = 1e-9
_WHOLE: Final = 2.0**40
"""Weights are whole multiples of one over this, so that their sums are exact."""
_BITS: Final = 30
_MARGINS: Final = (2.0**-20, 2.0**-12)
"""By how much more than the load noise is enlarged: above what rounding to whole multiples can change."""


@final
@dataclass(frozen=True, eq=False)
class BoxedCovariance:
    """``mechanism``: the noise; ``weights``: of kinds of records, at most 1 in all; ``costs`` (K,): of squared errors;
    ``presence``: how far a record is from none."""

    mechanism: AdditiveMechanism
    pairs: BoxPairs = field(repr=False)
    weights: Floats = field(repr=False)
    costs: Floats = field(repr=False)
    presence: float

    @property
    def weighed(self) -> tuple[Floats, float]:
        """A (K, K) of the roots of costs and these weights, and what it is off by, as a length of all entries: no noise
        that stretches has a total error below (tr A^½)² over the squared distance."""
        found = _with_costs(self.pairs.of_cells(self.weights), np.sqrt(self.costs))
        return found, 2.0**-50 * float(np.linalg.norm(found)) * (1 + 2.0**-20)


class _Look(NamedTuple):
    """``root``: A^½, of trace ``total``; ``loads`` of the kinds of records under noise of that covariance."""

    root: Floats
    total: float
    loads: Floats
    weights: Floats

    @property
    def excess(self) -> float:
        return float(self.loads.max()) / self.total


def boxed_covariance(
    sensitivity: Sensitivity, boxes: BoxQueries, factors: Floats | None, work: float, *, quick: bool
) -> BoxedCovariance:
    """The noise, with the total of squared errors, times ``factors`` (K,), made small, in so much ``work``.

    Args: ``boxes``: what the queries count.
    Guarantee: that it hides every record, and that these are the boxes, is proved of the finished mechanism, see
    :func:`load_in_boxes`.
    Raises: TooLarge for other promises than of records that come and go, and where it takes more work;
    CertificateRefused.
    """
    presence, count = required_presence(sensitivity, boxes.merged), boxes.count
    cube = float(count) ** 3
    require_affordable(f"a covariance of {count:,} boxes", (_IN_THE_END + _OF_A_ROUND) * cube, work)
    rounds = min(_QUICK_ROUNDS if quick else _ROUNDS, int((work / cube - _IN_THE_END) / _OF_A_ROUND))
    pairs, costs = BoxPairs.of(boxes), np.ones(count) if factors is None else np.asarray(factors, dtype=np.float64)
    if not np.all(costs > 0):
        raise TooLarge("a covariance of so many boxes is sought where every error counts")
    costs = costs / costs.max()
    roots = np.sqrt(costs)
    looks = [*_looks(pairs, roots, rounds)]
    covariance = _nearly_best(pairs, roots, min(looks, key=lambda one: one.excess * one.total**2))
    law = _hiding(pairs, _with_costs(covariance, 1 / roots), presence, sensitivity)
    mechanism = AdditiveMechanism(NAME, sensitivity, law, DiagonalMixing(np.ones(count, dtype=bool)))
    scale = 1.0 if factors is None else float(np.max(factors))
    weights = max(looks, key=lambda one: one.total).weights
    return BoxedCovariance(mechanism, pairs, weights, costs * scale, presence)


def _with_costs(matrix: Floats, roots: Floats) -> Floats:
    return np.asarray(matrix * roots * roots[:, None])


def _looks(pairs: BoxPairs, roots: Floats, rounds: int) -> Iterator[_Look]:
    """From even weights on, raised by powers of their loads."""
    weights = np.full(pairs.shape, 1.0)
    for place in range(rounds):
        weights = np.maximum(weights / weights.sum(), _LIGHTEST / weights.size)
        weights = np.floor(weights / weights.sum() * _WHOLE) / _WHOLE
        values, axes = np.linalg.eigh(_with_costs(pairs.of_cells(weights), roots))
        halves = np.sqrt(np.maximum(values, values[-1] * _FLAT))
        loads = pairs.at_cells(_with_costs((axes / halves) @ axes.T, roots))
        look = _Look((axes * halves) @ axes.T, float(halves.sum()), loads, weights)
        yield look
        if look.excess < 1 + _CLOSE:
            return
        weights = weights * np.maximum(loads / look.total, 0) ** (_POWERS[place] if place < len(_POWERS) else _POWER)


def _nearly_best(pairs: BoxPairs, roots: Floats, look: _Look) -> Floats:
    """(K, K): the covariance, costs among it, after which less is left to scale: records whose load is far above the
    mean have some noise of their own, which costs little where few boxes hold them."""
    best, found = look.total * float(look.loads.max()), look.root
    for times in _RAISED:
        most = times * look.total
        own = np.maximum(0.0, 1 / most - 1 / np.maximum(look.loads, most / 2))
        if not np.any(own > 0):
            continue
        wider = look.root + _with_costs(pairs.of_cells(own), roots)
        loads = pairs.at_cells(_with_costs(np.asarray(np.linalg.inv(wider), dtype=np.float64), roots))
        if float(np.trace(wider)) * float(loads.max()) < best:
            best, found = float(np.trace(wider)) * float(loads.max()), wider
    return found


def _hiding(pairs: BoxPairs, covariance: Floats, presence: float, sensitivity: Sensitivity) -> TriangularNormals:
    """The noise of this covariance of counts, in lattice steps, as large as it has to be.

    Raises: CertificateRefused.
    """
    steps = np.array([float(1 / step) for step in sensitivity.queries.steps])
    try:
        root = np.asarray(np.linalg.cholesky((covariance + covariance.T) / 2), dtype=np.float64)
    except np.linalg.LinAlgError:
        root = np.zeros_like(covariance)
    load = length_of_records(pairs, _in_whole_multiples(root)) / presence if np.all(np.diag(root) > 0) else math.inf
    for margin in _MARGINS:
        if not 0 < load < math.inf:
            break
        root = root * (load * (1 + margin))
        own = _in_whole_multiples(root)
        load = length_of_records(pairs, own) / presence * (1 + 2.0**-50)
        if load <= 1:
            return TriangularNormals(own * steps[:, None])
    raise CertificateRefused("the covariance of these boxes is too badly scaled to prove that its noise hides a record")


def _in_whole_multiples(root: Floats) -> Floats:
    """Whole multiples, below 2³⁰, of a power of two, for files to be short."""
    unit = 2.0 ** (math.frexp(float(np.abs(root).max()))[1] - _BITS)
    return np.asarray(np.rint(root / unit) * unit)
