"""Noise in the answers themselves: what each pair of possible records shifts of it, and how far that is in the law's
norm.

Lengths are rationals, or balls where maps have to be undone; float64 only tells which ones are far from their distance.

Where a policy says 'hold', rings of people who change places are followed person by person: through some classes in
some order each person leaves one for the next. What one person adds to a shift depends on no other, so that rings are
sums over people, of which the least distance of anybody in it is kept. The plan gathers the same shifts class by class,
from who leaves and who comes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, islice, pairwise, permutations
from typing import Any, Final, NamedTuple, final

import numpy as np
from flint import arb, arb_mat, ctx, fmpq, fmpq_mat
from numpy.typing import NDArray

from dxgeom.audit.covariance_audit import audit_jumps
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.metrics.generating_pairs import are_many
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.numeric.arrays import distinct_rows
from dxgeom.numeric.exact_numbers import ExactNumber, at_most_one, rational, rational_matrix, total
from dxgeom.universe.public_counts import NONE

_NEAR: Final = 1e-6
_MOST_NEAR: Final = 50_000
_MOST_WORK: Final = 2_000_000_000
_AT_ONCE: Final = 1 << 22
_MOST_KINDS_SQUARED: Final = 1 << 25
_MOST_LISTED: Final = 1 << 24
"""Numbers: of more, changes are looked at as they come, and those that are alike more than once."""
_MOST_RATIONAL: Final = 24
_MOST_THROUGH_A_TRIANGLE: Final = 1 << 27
"""Weights, of each answer and record;"""
_MOST_IN_BALLS: Final = 400
"""and so many answers are undone in balls, where float64 does not tell."""
_MOST_RECORDS_IN_RINGS: Final = 1024
_MOST_RING_ENTRIES: Final = 20_000_000
_LEAST_OF_A_STEP: Final = 512


def carried(mechanism: AdditiveMechanism) -> NDArray[np.int64]:
    """(m, N): the integer weights of the answers that carry a coordinate of the noise each, as the mechanism says.

    That all other answers follow from these is for whoever drives the release to see.
    Raises: CertificateRefused where some coordinate belongs to no answer; TooLarge.
    """
    mixing, tables, law = mechanism.mixing, mechanism.sensitivity.queries.tables, mechanism.law
    if isinstance(law, TriangularNormals) and tables.count * tables.size > _MOST_THROUGH_A_TRIANGLE:
        raise TooLarge(
            f"noise through a triangular matrix in {tables.count:,} answers is not held against {tables.size:,} single "
            "records here: that it hides them is proved where it is made and read"
        )
    dimension = 0 if law is None else law.dimension
    if isinstance(mixing, DiagonalMixing) and len(mixing.noisy) == tables.count:
        rows = mixing.coordinates
    elif mechanism.mixing_matrix.shape == (tables.count, dimension):
        shares = mechanism.mixing_matrix
        alone = (shares != 0).sum(axis=1, keepdims=True) == 1
        rows = np.array(
            [own[0] for column in (alone & (shares == 1)).T if len(own := np.flatnonzero(column))], dtype=int
        )
    else:
        rows = np.zeros(0, dtype=int)
    if len(rows) != dimension:
        raise CertificateRefused("the noise has other coordinates than those that the answers take")
    return np.asarray(tables.matrix()[rows])


def require_hidden_shifts(
    law: NoiseLaw | None, weights: NDArray[np.int64], metric: Metric, held: VerifiedMetric | None = None
) -> str:
    """That the noise hides what pairs of possible records shift of it, those that all distances are made of.

    Args: ``held``: where distances are held for who knows public counts, whose rings of people are hidden, too.
    Raises: CertificateRefused; TooLarge where they are too many.
    """
    if not len(weights):
        return "no answer has noise, and none needs any: of records none tells more than how many a component has"
    each = (0 if law is None else law.dimension * (1 + law.facets)) + 1
    kinds = _kinds(weights, metric, max(1, _MOST_WORK // each))
    rings = None if held is None else ring_shifts(weights, held)
    ringed = "" if rings is None else f", and rings of people through classes in {rings.orders:,} orders"
    said = f"all {kinds.looked_at:,} pairs of possible records that distances are made of{ringed} are hidden, exactly"
    listed = rings is not None or isinstance(law, GaussianWithJumps) or len(kinds.first) * len(weights) <= _MOST_LISTED
    if law is not None and not listed:
        _require_short(law, kinds.parts())
        return f"{said}; {len(kinds.first):,} pairs of kinds that answers tell apart"
    shifts, distances = np.zeros((0, len(weights)), dtype=np.int64), np.zeros(0)
    for part, bounds in kinds.parts():
        shifts, distances = least_of_each(np.vstack([shifts, part]), np.concatenate([distances, bounds]))
    if rings is not None:
        joined = np.vstack([shifts, rings.shifts]), np.concatenate([distances, rings.distances])
        shifts, distances = least_of_each(*joined)
    if isinstance(law, GaussianWithJumps):
        # Of very many kinds under one distance a plan lists those only between which the others lie.
        audit_jumps(law, shifts, distances, some_may_stand=are_many(len(np.unique(weights, axis=1).T)))
    elif law is not None and len(shifts):
        _require_short(law, [(shifts, distances)])
    elif np.any(np.isfinite(distances)):
        raise CertificateRefused("without noise an answer shows a change that the metric protects")
    return f"{said}; {len(shifts):,} different changes"


class _Kinds(NamedTuple):
    """``columns`` (R, m): what a record of each kind weighs; pairs ``first``, ``second`` of different kinds, with the
    least of their ``bounds``, and of how many pairs of records."""

    columns: NDArray[np.int64]
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    bounds: NDArray[np.float64]
    looked_at: int

    def parts(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """What the pairs shift, and their distances: so many at once as fit."""
        step = max(1, _AT_ONCE // max(1, self.columns.shape[1]))
        for start in range(0, len(self.first), step):
            part = slice(start, start + step)
            yield self.columns[self.first[part]] - self.columns[self.second[part]], self.bounds[part]


def _kinds(weights: NDArray[np.int64], metric: Metric, most: int) -> _Kinds:
    """The pairs that distances are made of, by what their records weigh. Raises: TooLarge, as soon as it is known."""
    columns, kind = distinct_rows(np.ascontiguousarray(weights.T))
    size, looked_at = len(columns), 0
    few = size**2 <= _MOST_KINDS_SQUARED
    least = np.full(size**2 if few else 0, np.inf)
    found = [(np.zeros(0, dtype=np.int64), np.zeros(0))]
    for pairs in metric.generating_pairs():
        looked_at += len(pairs.first)
        if min(looked_at, size * (size - 1)) > most:
            raise TooLarge(
                f"more than {most:,} pairs of possible records that {len(weights):,} answers tell apart are not held "
                "against noise of this kind: that it hides them is proved where it is made and read. A plan of fewer "
                "answers, or of coarser groups of values, can be audited"
            )
        places = kind[pairs.first] * size + kind[pairs.second]
        if few:
            np.minimum.at(least, places, pairs.bound)
        else:
            found.append((places, pairs.bound))
    if few:
        places = np.flatnonzero(np.isfinite(least))
        bounds = least[places]
    else:
        places, bounds = map(np.concatenate, zip(*found, strict=True))
    first, second = np.divmod(places, max(1, size))
    told = first != second
    return _Kinds(columns, first[told], second[told], bounds[told], looked_at)


class RingShifts(NamedTuple):
    """The different shifts (E, m) of rings but none, the least distance of each, and through how many orders of
    classes rings were followed."""

    shifts: NDArray[np.int64]
    distances: NDArray[np.float64]
    orders: int


def ring_shifts(weights: NDArray[np.int64], metric: VerifiedMetric) -> RingShifts:
    """Of the rings of which the policy holds its distances. Args: ``weights`` (m, N), of the numbers with noise.

    Raises: TooLarge; CertificateRefused where the policy's classes are not those of its counts.
    """
    members, people = _members(metric)
    moves = {
        pair: _moves(weights, metric, members[pair[0]], members[pair[1]])
        for pair in permutations(range(len(members)), 2)
    }
    found, entries, orders = [(np.zeros((0, len(weights)), dtype=np.int64), np.zeros(0))], 0, 0
    for size in range(2, people + 1):
        for chosen in combinations(range(len(members)), size):
            for rest in permutations(chosen[1:]):
                order, orders = (chosen[0], *rest, chosen[0]), orders + 1
                shifts, distances = np.zeros((1, len(weights)), dtype=np.int64), np.array([np.inf])
                for step in pairwise(order):
                    own, apart = moves[step]
                    entries += max(len(shifts) * own.size, _LEAST_OF_A_STEP)
                    if entries > _MOST_RING_ENTRIES:
                        raise TooLarge("rings of people are too many to be followed person by person")
                    sums = (shifts[:, None] + own[None]).reshape(-1, len(weights))
                    shifts, distances = least_of_each(sums, np.minimum(distances[:, None], apart[None]).ravel())
                found.append((shifts, distances))
        shifts, distances = least_of_each(*map(np.concatenate, zip(*found, strict=True)))
        found = [(shifts, distances)]
    # A ring in which nobody is at a finite distance from another hides nobody.
    moved = found[0][0].any(axis=1) & np.isfinite(found[0][1])
    return RingShifts(found[0][0][moved], found[0][1][moved], orders)


def joined_by_rings(metric: VerifiedMetric, labels: NDArray[np.int64]) -> NDArray[np.int64]:
    """(N,): ``labels`` of components, joined where rings change how many lie in each: what is shown without noise may
    tell of no records of one class apart, if some ring that is hidden goes through it.

    Raises: TooLarge, CertificateRefused as :func:`ring_shifts`.
    """
    members, people = _members(metric)
    near = np.array([[_somebody_near(metric, one, other) for other in members] for one in members], dtype=bool)
    np.fill_diagonal(near, False)
    # Of three people one may come from anywhere.
    through = near.any(axis=1) if people < 3 else np.full(len(members), near.any())
    joined = labels.copy()
    for place in np.flatnonzero(through).tolist():
        own = joined[members[place]]
        joined[np.isin(joined, own)] = own.min()
    return joined


def _somebody_near(metric: VerifiedMetric, one: NDArray[np.int64], other: NDArray[np.int64]) -> bool:
    return bool(np.any(np.isfinite(metric.metric.distance(one[:, None], other[None, :]))))


def _members(metric: VerifiedMetric) -> tuple[list[NDArray[np.int64]], int]:
    """The records of each class, and how many people rings have at most. Raises: as :func:`ring_shifts`."""
    known = metric.known
    if known is None or metric.size > _MOST_RECORDS_IN_RINGS:
        raise TooLarge(
            f"rings of people are followed for at most {_MOST_RECORDS_IN_RINGS:,} possible records of a whole policy"
        )
    labels = _classes(metric)
    members = [np.flatnonzero(labels == one) for one in range(int(labels.max()) + 1)]
    return members, min(known.held_people, len(members))


def least_of_each(
    shifts: NDArray[np.int64], distances: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The different shifts, each with its least distance."""
    if not len(shifts):
        return shifts, distances
    different, which = distinct_rows(shifts)
    least = np.full(len(different), np.inf)
    np.minimum.at(least, which, distances)
    return different, least


def _classes(metric: VerifiedMetric) -> NDArray[np.int64]:
    """(N,): the class of each record, held against the sets of the counts. Raises: CertificateRefused."""
    known, universe = metric.known, metric.universe
    if known is None or universe is None:
        raise TooLarge("whose rings are held is not known without the policy's counts")
    labels = known.classes.of_elements(universe)
    sets = np.full((len(labels), len(known.counts)), NONE, dtype=np.int64)
    for place, one in enumerate(known.counts):
        shape = [size if axis in one.axes else 1 for axis, size in enumerate(universe.layout)]
        sets[:, place] = universe.laid_out(one.cells.reshape(shape))
        if universe.absent is not None:
            sets[universe.absent, place] = NONE
    somebody = labels != NONE
    pairs = np.unique(np.column_stack([labels, sets])[somebody], axis=0)
    if not len(np.unique(pairs[:, 0])) == len(pairs) == len(np.unique(sets[somebody], axis=0)):
        raise CertificateRefused("the classes whose rings are hidden are not those that the policy's counts tell apart")
    return labels


def _moves(
    weights: NDArray[np.int64], metric: VerifiedMetric, leave: NDArray[np.int64], reach: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """What somebody shifts who leaves the one class for the other, and the least distance for each: infinite ones too,
    since such people may stand in for somebody who is hidden."""
    gone, come = (each.ravel() for each in np.meshgrid(leave, reach, indexing="ij"))
    apart = np.asarray(metric.metric.distance(gone, come), dtype=np.float64)
    return least_of_each((weights[:, come] - weights[:, gone]).T, apart)


def _require_short(law: NoiseLaw, parts: Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]) -> None:
    """Raises: CertificateRefused unless all shifts (E, m) are within their distances (E,) in the law's norm;
    TooLarge where very many are so near to theirs that float64 does not tell."""
    if isinstance(law, TriangularNormals) and law.dimension > _MOST_IN_BALLS:
        _require_short_through(law, parts)
        return
    exact, looked_at, loose = _ExactLengths(), 0, max(_NEAR, _looseness(law))
    for shifts, distances in parts:
        few = np.array_split(shifts, 1 + shifts.size // _AT_ONCE)
        floats = np.concatenate([_floats(law, part.astype(np.float64)) for part in few])
        near = np.flatnonzero(~(floats <= distances * (1 - loose)))
        looked_at += len(near)
        if looked_at > _MOST_NEAR:
            raise TooLarge(
                f"more than {_MOST_NEAR:,} changes are too near to their distances to be told apart in float64"
            )
        for place in near.tolist():
            shift, distance = [fmpq(step) for step in shifts[place].tolist()], rational(float(distances[place]))
            if at_most_one(lambda shift=shift, distance=distance: exact.of(law, shift) / distance) is not True:  # type: ignore[misc]
                raise CertificateRefused(
                    f"the noise does not hide what the metric protects: a change of a record at the distance "
                    f"{distances[place]:.9g} uses up more, {floats[place]:.9g}"
                )


def _require_short_through(
    law: TriangularNormals, parts: Iterable[tuple[NDArray[np.int64], NDArray[np.float64]]]
) -> None:
    """The same through a large triangle L, without balls.

    x = Y·w solves L·x = w nearly, and what is left, r = w − L·x, is as long as ‖L⁻¹‖·‖r‖ at most. With Y near L⁻¹,
    ‖L⁻¹‖ ≤ ‖Y‖/(1 − ‖L·Y − 1‖). A sum of m products is off by (m + 2)·2⁻⁵³ of both lengths (Higham 2002, (3.13)).
    Raises: as :func:`_require_short`.
    """
    factor, unit = law.factor, (law.dimension + 4) * 2.0**-52
    whole, near = float(np.linalg.norm(factor)), np.linalg.inv(factor)
    beside = float(np.linalg.norm(near))
    left = float(np.linalg.norm(factor @ near - np.eye(law.dimension)))
    left += unit * (whole * beside + math.sqrt(law.dimension))
    if not left < 0.5:
        raise TooLarge("the inverse of this triangular matrix is lost in rounding")
    undone, sure = beside / (1 - left) * (1 + 2.0**-30), True
    for shifts, distances in parts:
        for few in np.array_split(np.arange(len(shifts)), 1 + shifts.size // _AT_ONCE):
            moved = shifts[few].T.astype(np.float64)
            found = near @ moved
            lengths = np.linalg.norm(found, axis=0)
            rest = np.linalg.norm(factor @ found - moved, axis=0)
            off = undone * (rest + unit * (whole * lengths + np.linalg.norm(moved, axis=0)))
            if np.any((lengths - off) * (1 - 2.0**-40) > distances[few]):
                raise CertificateRefused(
                    "the noise does not hide what the metric protects: a change of a record moves answers too far"
                )
            sure = sure and bool(np.all((lengths + off) * (1 + 2.0**-40) <= distances[few]))
    if not sure:  # of no change before all have been looked at
        raise TooLarge("some changes are too near to their distances to be told apart in float64")


def _floats(law: NoiseLaw, shifts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(E,): lengths of shifts (E, m) in a law's norm, up to the rounding of float64."""
    match law:
        case LaplaceNoise():
            return np.asarray(np.abs(shifts) @ (1 / law.scales))
        case GaussianNoise() | TriangularNormals():
            return np.asarray(np.linalg.norm(np.linalg.solve(_axes(law), shifts.T), axis=0))
        case LinearImageNoise():
            return _floats(law.inner, (np.linalg.pinv(law.map) @ shifts.T).T)
        case ProductNoise():
            split = np.split(shifts, np.cumsum([part.dimension for part in law.parts])[:-1], axis=1)
            return np.asarray(np.sum([_floats(part, own) for part, own in zip(law.parts, split, strict=True)], axis=0))
        case _:
            return law.known_body.gauge(shifts)


def _axes(law: GaussianNoise | TriangularNormals) -> NDArray[np.float64]:
    """(m, m): what standard normal numbers go through; one and the same object each time."""
    return law.factor if isinstance(law, TriangularNormals) else law.body.axes


def _looseness(law: NoiseLaw) -> float:
    """By how much, relatively, a float length may be off where maps have to be undone."""
    match law:
        case ProductNoise():
            return max(map(_looseness, law.parts))
        case LinearImageNoise():
            return _looseness(law.inner) + float(np.linalg.cond(law.map)) * law.map.size * 1e-15
        case GaussianNoise() | TriangularNormals():
            return float(np.linalg.cond(_axes(law))) * _axes(law).size * 1e-15
        case _:
            return 0.0


@final
class _ExactLengths:
    """Lengths in a law's norm: rational, or balls at the precision in force; what maps are undone by is found once."""

    def __init__(self) -> None:
        self._undoing = dict[tuple[int, int], Any]()

    def of(self, law: NoiseLaw, shift: Sequence[ExactNumber]) -> ExactNumber:
        """Raises: TooLarge."""
        match law:
            case LaplaceNoise():
                sizes: list[Any] = [abs(step) for step in shift]
                both = zip(sizes, law.scales.tolist(), strict=True)
                return total(size / rational(scale) for size, scale in both if size != 0)
            case GaussianNoise() | TriangularNormals():
                return arb(total(part**2 for part in self._undone(_axes(law), shift))).sqrt()
            case LinearImageNoise():
                return self.of(law.inner, self._undone(law.map, shift))
            case ProductNoise():
                left = iter(shift)
                return total(self.of(part, [*islice(left, part.dimension)]) for part in law.parts)
        exact = [step for step in shift if isinstance(step, fmpq)]
        if len(exact) < len(shift):
            raise TooLarge(f"this audit undoes maps around a {type(law).__name__} up to {_MOST_RATIONAL} dimensions")
        return law.known_body.exact_gauge(exact)

    def _undone(self, image: NDArray[np.float64], shift: Sequence[ExactNumber]) -> list[ExactNumber]:
        """u with image·u = shift: the only one, or the shortest; rational where the image is small."""
        rational_one = len(image) <= _MOST_RATIONAL and all(isinstance(step, fmpq) for step in shift)
        key = id(image), 0 if rational_one else ctx.prec
        if key not in self._undoing:
            matrix: Any = rational_matrix(image.tolist()) if rational_one else arb_mat(image.tolist())
            turned = matrix.transpose()
            square = matrix.nrows() == matrix.ncols()
            self._undoing[key] = matrix.inv() if square else turned * (matrix * turned).inv()
        column = [[step if rational_one else arb(step)] for step in shift]
        side: Any = fmpq_mat if rational_one else arb_mat
        return [row[0] for row in (self._undoing[key] * side(column)).tolist()]
