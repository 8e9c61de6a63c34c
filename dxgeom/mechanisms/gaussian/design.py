"""Weights of differences and of answers, on a working set: what the search for a covariance walks through.

Very many differences over what is promised for each are laid out in float64 only a block at a time. Covariances are
found with Φ(A, C) = tr (A^½·C·A^½)^½, concave in both, and its derivatives; to the end by a primal-dual interior point
method that lays no matrix out.

A = Σ q_e v_e v_eᵀ of weights on differences, C = Σ λ_k c_k c_kᵀ of weights on answers. Among all Σ with
v_eᵀΣ⁻¹v_e ≤ 1, tr CΣ is at least Φ(A, C)²/Σ q for every q ≥ 0: no Gaussian noise has less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.numeric.qhull import far_apart

_ENTRIES: Final = 1 << 18
Places: TypeAlias = NDArray[np.int64] | slice


@final
@dataclass(frozen=True, eq=False)
class PairedShifts:
    """Differences ``columns[first[e]] − columns[second[e]]``, of few ``columns`` (R, m), which are not laid out."""

    columns: NDArray[Any]
    first: NDArray[np.int64]
    second: NDArray[np.int64]

    def __getitem__(self, places: Places) -> NDArray[Any]:
        """These, laid out."""
        return np.asarray(self.columns[self.first[places]] - self.columns[self.second[places]])

    def among(self, places: Places) -> PairedShifts:
        """These alone."""
        return PairedShifts(self.columns, self.first[places], self.second[places])


@final
@dataclass(frozen=True, eq=False)
class ScaledPoints:
    """Points v_e = ``shifts[e]``/``promise[e]``, in ``units`` (m,) of each coordinate. ``shifts``: (E, m), or as pairs;
    ``distance_bounds`` (E,)."""

    shifts: NDArray[Any] | PairedShifts
    distance_bounds: NDArray[np.float64]
    units: NDArray[np.float64]

    @classmethod
    def of(cls, points: NDArray[np.float64]) -> ScaledPoints:
        """Points (E, m) as they are."""
        return cls(points, np.ones(len(points)), np.ones(points.shape[1]))

    def __len__(self) -> int:
        return len(self.distance_bounds)

    @property
    def width(self) -> int:
        """m, the number of coordinates."""
        return len(self.units)

    def among(self, places: Places) -> ScaledPoints:
        """The points at these places alone."""
        paired = isinstance(self.shifts, PairedShifts)
        shifts = self.shifts.among(places) if paired else self.shifts[places]  # type: ignore[union-attr]
        return ScaledPoints(shifts, self.distance_bounds[places], self.units)

    def rows(self, places: Places) -> NDArray[np.float64]:
        """The points at these places, float64."""
        return np.asarray(self.shifts[places] / self.distance_bounds[places, None] / self.units)

    def blocks(self) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """All of them, some millions of entries at a time."""
        yield from ((here, self.rows(here)) for here in self._places())

    def _places(self) -> Iterator[slice]:
        step = max(1, _ENTRIES // self.width)
        for start in range(0, len(self), step):
            yield slice(start, min(start + step, len(self)))

    def largest(self) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """(m,) twice: the largest magnitude of each coordinate, and a point that has it."""
        sizes, places = np.zeros(self.width), np.zeros(self.width, dtype=np.int64)
        for here, points in self.blocks():
            magnitudes = np.abs(points)
            tops = magnitudes.argmax(axis=0)
            found = magnitudes[tops, np.arange(self.width)]
            # What is not a number stays, and is refused where it is looked at.
            places = np.where(found > sizes, here.start + tops, places)
            sizes = np.maximum(sizes, found)
        return sizes, places

    def lengths(self, onto: NDArray[Any]) -> NDArray[np.float64]:
        """(E,): ‖v_e·onto‖², in the precision of ``onto`` (m, n)."""
        found = np.empty(len(self))
        if isinstance(self.shifts, PairedShifts):
            # A product for each column, and a subtraction for each point.
            turned = (self.shifts.columns / self.units).astype(onto.dtype) @ onto
            for here in self._places():
                steps = turned[self.shifts.first[here]] - turned[self.shifts.second[here]]
                found[here] = np.einsum("ek,ek->e", steps, steps) / self.distance_bounds[here] ** 2
            return found
        for here, points in self.blocks():
            turned = points.astype(onto.dtype, copy=False) @ onto
            found[here] = np.einsum("ek,ek->e", turned, turned)
        return found


_SINGLE: Final = 48
"""Dimensions from which on products are in single precision, where roots are not further apart than this."""
_TAME: Final = 1e-6


@final
@dataclass(frozen=True, eq=False)
class Curvature:
    """−(second derivatives of 2Φ), positive semidefinite: what it does to directions, never laid out.

    ``rows`` (n, m), ``kernel`` (m, m) and ``signs`` (n,): entry e, f is ±Σ_ij r_ei r_ej r_fi r_fj·kernel_ij. In single
    precision in many dimensions: nothing but the length of a search rests on it.
    """

    rows: NDArray[Any]
    kernel: NDArray[Any]
    signs: NDArray[np.float64]

    @property
    def diagonal(self) -> NDArray[np.float64]:
        """(n,)."""
        squares = self.rows**2
        return np.asarray(np.einsum("ei,ei->e", squares @ self.kernel, squares, dtype=np.float64))

    def times(self, direction: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,): the product with a direction (n,), in O(n·m²)."""
        weighted = self.rows * (self.signs * direction).astype(self.rows.dtype)[:, None]
        middle = (weighted.T @ self.rows) * self.kernel
        return np.asarray(self.signs * np.einsum("ei,ei->e", self.rows @ middle, self.rows, dtype=np.float64))


@final
@dataclass(frozen=True, eq=False)
class Fidelity:
    """Φ where A = U·diag(y²)·Uᵀ and C = 1, in coordinates in which C is the identity.

    ``roots`` (m,): y. ``places`` (n, m): Uᵀv_e of the differences in hand; ``answers`` (K, m): Uᵀc_k.
    Of 2Φ: derivatives by q_e are :attr:`loads`, g_e = v_eᵀΣ⁻¹v_e, and by λ_k :attr:`variances`, c_kᵀΣc_k, with
    Σ = U·diag(y)·Uᵀ, which is the best covariance once all loads are 1 or less.
    """

    roots: NDArray[np.float64]
    places: NDArray[np.float64]
    answers: NDArray[np.float64]

    @property
    def value(self) -> float:
        """Φ."""
        return float(self.roots.sum())

    @property
    def loads(self) -> NDArray[np.float64]:
        """(n,): g."""
        return np.asarray((self.places**2) @ (1 / self.roots))

    @property
    def variances(self) -> NDArray[np.float64]:
        """(K,)."""
        return np.asarray((self.answers**2) @ self.roots)

    def curvature(self, with_answers: bool) -> Curvature:
        """By q and, ``with_answers``, by λ after it.

        By q_e, q_f: Σ_ij a_i a_j a'_i a'_j/(y_i y_j (y_i + y_j)); by λ: Σ_ij b_i b_j b'_i b'_j y_i y_j/(y_i + y_j);
        mixed: −Σ_ij a_i a_j b_i b_j/(y_i + y_j).
        """
        halves = np.sqrt(self.roots)
        parts = [self.places / halves]
        if with_answers:
            parts.append(self.answers * halves)
        # With b·√y beside a/√y the mixed terms are those of one square, but for their sign.
        signs = np.concatenate([np.full(len(part), 1.0 - 2.0 * place) for place, part in enumerate(parts)])
        kernel = 1 / np.add.outer(self.roots, self.roots)
        kind: Any = np.float32 if len(halves) > _SINGLE and self.roots[-1] > _TAME * self.roots[0] else np.float64
        return Curvature(np.vstack(parts).astype(kind), kernel.astype(kind), signs)


def fidelity_at(
    weights: NDArray[np.float64],
    points: NDArray[np.float64],
    costs: NDArray[np.float64],
    answers: NDArray[np.float64],
    rough: bool = False,
) -> tuple[Fidelity, NDArray[np.float64]]:
    """Φ at weights q (n,) of ``points`` (n, m) and λ (K,), ``costs``, of ``answers`` (K, m), which span ℝᵐ; and the
    matrix (m, m) that takes a point to its place.

    Singular values are taken of the factors, so that small roots are as exact as large ones; ``rough`` ones, which
    take a tenth of the time, of their squares.
    """
    triangle = _triangle_of(answers * np.sqrt(costs)[:, None])
    turned = (points * np.sqrt(weights)[:, None]) @ triangle.T
    if rough:
        roots, axes = _rough_roots(turned)
    else:
        _, roots, rows = np.linalg.svd(np.asarray(np.linalg.qr(turned, mode="r")))
        axes = rows.T
    onto = triangle.T @ axes
    there = np.linalg.solve(triangle.T, answers.T).T @ axes
    return Fidelity(np.maximum(roots, roots[0] * 1e-300), points @ onto, there), onto


def _triangle_of(answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """(m, m): R with RᵀR = Σ_k c_k c_kᵀ."""
    return np.asarray(np.linalg.qr(answers, mode="r"))


def _rough_roots(turned: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Singular values (m,) of a matrix (n, m), falling, and its right singular vectors as columns, by its square."""
    squares, axes = np.linalg.eigh(turned.T @ turned)
    return np.sqrt(np.maximum(squares[::-1], squares[-1] * 1e-28)), axes[:, ::-1]


_SEEN: Final = 4
"""Differences for each dimension that the first ones are chosen from."""
_POWER: Final = 1.5
_SLOWER: Final = 0.5
"""Where costs move, too, weights follow them, and both would swing."""
_NEW: Final = 0.2
_LEAST: Final = 1e-6
_WIDE: Final = 128
_DENSE: Final = 8
"""Columns have at most so many pairs for each difference, where all are looked at by inner products."""
_LIGHTEST: Final = 1e-3


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Points and answers (K, m) in units near 1; ``worst``: whether the worst answer counts, or their total."""

    points: ScaledPoints
    answers: NDArray[np.float64]
    worst: bool


@final
@dataclass(frozen=True, eq=False)
class Design:
    """``working`` (n,): places of differences; ``weights`` (n,) theirs; ``costs`` (K,) of the answers, of sum 1 where
    the worst counts, else ones. ``frame``: how many of the first differences are kept for good, since they span all
    dimensions."""

    working: NDArray[np.int64]
    weights: NDArray[np.float64]
    costs: NDArray[np.float64]
    frame: int

    def fidelity(self, problem: Problem, rough: bool = False) -> tuple[Fidelity, NDArray[np.float64]]:
        """Φ, and the matrix that takes a point to its place."""
        return fidelity_at(self.weights, problem.points.rows(self.working), self.costs, problem.answers, rough)

    def gap(self, problem: Problem, found: Fidelity, largest: float) -> float:
        """Relative, where the ``largest`` load is this: the covariance stretched by it, over the bound of Φ."""
        reach = float(found.variances.max()) * float(self.costs.sum()) if problem.worst else found.value
        return largest * reach * float(self.weights.sum()) / found.value**2 - 1

    def of(self, kept: NDArray[np.bool_], added: NDArray[np.int64]) -> Design:
        """Without those not kept, and with others, which are not among them, at a small weight."""
        kept = kept | (np.arange(len(kept)) < self.frame)
        mean = float(self.weights.mean())
        working = np.concatenate([self.working[kept], np.setdiff1d(added, self.working[kept])])
        weights = np.full(len(working), _NEW * mean)
        weights[: kept.sum()] = np.maximum(self.weights[kept], _LEAST * mean)
        return replace(self, working=working, weights=weights)


def first_design(problem: Problem, largest: NDArray[np.int64]) -> Design:
    """Equal weights on as many differences as dimensions, each far from the span of those before, of a part of all,
    and on those that are ``largest`` (m,) in some coordinate.

    Raises: CertificateRefused when float64 cannot tell that they span all dimensions.
    """
    points, size = problem.points, problem.points.width
    frame = np.empty(0, dtype=np.int64)
    for seen in (_SEEN, 5 * _SEEN):
        step = max(1, len(points) // (seen * size))
        part = np.unique(np.concatenate([largest, np.arange(0, len(points), step)]))
        frame = np.unique(part[far_apart(points.rows(part))])
        if len(frame) == size:
            break
    else:
        raise CertificateRefused("the differences do not span as many dimensions as are noisy, as float64 sees them")
    working = np.concatenate([frame, np.setdiff1d(largest, frame)])
    costs = np.full(len(problem.answers), 1 / len(problem.answers) if problem.worst else 1.0)
    return Design(working, np.ones(len(working)), costs, size)


def is_wide(problem: Problem) -> bool:
    """Whether a round takes long. Where it does not, rounds are what they were: recorded plans rest on their digits."""
    return problem.points.width >= _WIDE


def multiplied(problem: Problem, design: Design, times: int) -> Design:
    """Weights multiplied by powers of their loads, and costs by powers of their variances, some times: slow at the end,
    and soon near the optimum. Source: Titterington 1976; Yu 2010."""
    points = problem.points.rows(design.working)
    if is_wide(problem) and not problem.worst:
        return replace(design, weights=_weighed(points @ _triangle_of(problem.answers).T, design.weights, times))
    weights, costs = design.weights, design.costs
    for _ in range(times):
        found, _ = fidelity_at(weights, points, costs, problem.answers, rough=True)
        weights = _raised(weights, found.loads, _SLOWER if problem.worst else _POWER)
        if problem.worst:
            costs = costs * found.variances**_SLOWER
            costs = costs / costs.sum()
    return replace(design, weights=weights, costs=costs)


def _weighed(turned: NDArray[np.float64], weights: NDArray[np.float64], times: int) -> NDArray[np.float64]:
    """Where costs stay: ``turned`` (n, m), the points in coordinates in which the answers are orthonormal."""
    for _ in range(times):
        roots, axes = _rough_roots(turned * np.sqrt(weights)[:, None])
        weights = _raised(weights, ((turned @ axes) ** 2) @ (1 / roots), _POWER)
    return weights


def _raised(weights: NDArray[np.float64], loads: NDArray[np.float64], power: float) -> NDArray[np.float64]:
    return np.asarray(weights * (loads * (weights.sum() / float(weights @ loads))) ** power)


@final
class WeighedColumns:
    """Weights on all differences of few columns at once, none of which is laid out: A is found from the columns and a
    matrix of weights between them, and loads from inner products of columns. For totals of answers."""

    def __init__(self, problem: Problem, shifts: PairedShifts) -> None:
        self._answers, self._triangle = problem.answers, _triangle_of(problem.answers)
        self._columns = (shifts.columns / problem.points.units) @ self._triangle.T
        self._there = np.linalg.solve(self._triangle.T, problem.answers.T).T
        self._inverse_squares = 1 / problem.points.distance_bounds**2
        self._first, self._second = shifts.first, shifts.second
        self.weights = np.ones(len(self._first))

    @classmethod
    def of(cls, problem: Problem) -> WeighedColumns | None:
        """None where differences are laid out, few of the pairs are among them, or the worst answer counts."""
        shifts = problem.points.shifts
        if problem.worst or not isinstance(shifts, PairedShifts):
            return None
        return cls(problem, shifts) if len(shifts.columns) ** 2 <= _DENSE * len(shifts.first) else None

    @property
    def work(self) -> float:
        """Multiplications of a look: a matrix's eigenvectors, and products with the columns."""
        count, width = self._columns.shape
        return 10.0 * float(width) ** 3 + 2.0 * float(count) * float(width) * float(count + width)

    def at_once(self) -> tuple[Fidelity, NDArray[np.float64], NDArray[np.float64]]:
        """Φ with these weights, without the places of differences; what takes a point to its place; all loads (E,)."""
        count = len(self._columns)
        each = np.bincount(self._first * count + self._second, self.weights * self._inverse_squares, count**2)
        between = each.reshape(count, count)
        between = between + between.T
        square = self._columns.T @ (np.diag(between.sum(axis=1)) - between) @ self._columns
        squares, axes = np.linalg.eigh(square)
        roots, axes = np.sqrt(np.maximum(squares[::-1], squares[-1] * 1e-28)), axes[:, ::-1]
        turned = self._columns @ (axes / np.sqrt(roots))
        inner = turned @ turned.T
        own = np.diag(inner)
        loads = own[self._first] + own[self._second] - 2 * inner[self._first, self._second]
        nowhere = np.zeros((0, len(roots)))
        return Fidelity(roots, nowhere, self._there @ axes), self._triangle.T @ axes, loads * self._inverse_squares

    def raise_by(self, loads: NDArray[np.float64]) -> None:
        """Weights times powers of loads, as :func:`multiplied` has them."""
        self.weights = _raised(self.weights, loads, _POWER)

    def drop_light(self) -> None:
        """Weights that hardly count become 0."""
        self.weights = np.where(self.weights < _LIGHTEST * self.weights.mean(), 0.0, self.weights)

    @property
    def design(self) -> Design:
        """These weights, where they are not 0."""
        working = np.flatnonzero(self.weights)
        return Design(working, self.weights[working], np.ones(len(self._answers)), 0)


_STEPS: Final = 40
_BACK: Final = 0.98
_MOST_PRODUCTS: Final = 200
_RESIDUAL: Final = 1e-5
"""Relative, squared: Newton steps need not be solved for better than this."""
_SLACK: Final = 0.05
_OFF: Final = 0.1
_LEAST_STEP: Final = 1e-14

Vector = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class Centre:
    """Weights and costs with multipliers for both, in one row: of n differences, and of the answers behind them where
    the worst counts. ``level``: of the constraint that costs add up to 1. ``work``: multiplications so far."""

    design: Design
    unknown: Vector
    slacks: Vector
    level: float
    work: float


class _Move(NamedTuple):
    change: Vector
    turn: Vector
    level: float
    ahead: float
    back: float


def on_central_path(
    problem: Problem, design: Design, aim: float, work: float
) -> tuple[Centre, Fidelity, NDArray[np.float64]]:
    """Newton steps on the working set until its own gap is at most ``aim``, or so many multiplications are done; Φ
    there, and what takes points to places.

    Source: Mehrotra 1992; Nocedal & Wright 2006, ch. 19.
    """
    points = problem.points.rows(design.working)
    centre, found, onto = _warm(problem, design, points, aim)
    for _ in range(_STEPS):
        if centre.work > work or centre.design.gap(problem, found, float(found.loads.max())) <= aim:
            break
        stepped = _stepped(problem, centre, found)
        if not np.all(np.isfinite(stepped.unknown)) or np.any(stepped.unknown <= 0):
            break
        centre = stepped
        found, onto = fidelity_at(centre.design.weights, points, centre.design.costs, problem.answers)
    return centre, found, onto


def _warm(problem: Problem, design: Design, points: Vector, aim: float) -> tuple[Centre, Fidelity, NDArray[np.float64]]:
    """Near the central path where the design's own gap belongs: complementary products are alike."""
    found, _ = fidelity_at(design.weights, points, design.costs, problem.answers)
    largest = float(found.loads.max())
    gap = max(design.gap(problem, found, largest), aim)
    weights, loads = design.weights * largest**2, found.loads / largest
    variances = found.variances * largest
    level = float(variances.max()) * (1 + gap)
    many = len(design.costs) if problem.worst else 0
    middle = gap * float(weights.sum()) / (len(weights) + many)
    weights = np.maximum(weights, middle / np.maximum(1 - loads, _SLACK) / 3)
    slacks = np.maximum(1 - loads, middle / weights)
    costs = design.costs
    if many:
        room = level - variances
        costs = np.maximum(costs, middle / np.maximum(room, _SLACK * level) / 3)
        costs = costs / costs.sum()
        slacks = np.append(slacks, np.maximum(room, middle / costs))
    design = replace(design, weights=weights, costs=costs)
    found, onto = fidelity_at(weights, points, costs, problem.answers)
    return Centre(design, np.append(weights, costs[:many]), slacks, level, 0.0), found, onto


def _stepped(problem: Problem, centre: Centre, found: Fidelity) -> Centre:
    """A step ahead to see how far it goes, and one that makes up for what that leaves out."""
    count, unknown, slacks = len(centre.design.weights), centre.unknown, centre.slacks
    many = len(unknown) - count
    gradient = np.append(1 - found.loads, centre.level - found.variances[:many])
    solved, products = _solver(found.curvature(many > 0), slacks / unknown)
    ones = np.append(np.zeros(count), np.ones(many))
    across = solved(ones) if many else ones

    def moved(side: Vector) -> _Move:
        """The step for products of unknowns and slacks that become ``side``."""
        change, level = solved(side / unknown - gradient), 0.0
        if many:
            level = (float(ones @ change) - (1 - float(unknown[count:].sum()))) / float(ones @ across)
            change = change - level * across
        turn = side / unknown - slacks - slacks / unknown * change
        return _Move(change, turn, level, _room(unknown, change), _room(slacks, turn))

    middle = float(unknown @ slacks) / len(unknown)
    first = moved(np.zeros(len(unknown)))
    then = (unknown + first.ahead * first.change) @ (slacks + first.back * first.turn) / len(unknown)
    # Where the gradient is off still, slacks have to stay large enough to make up for it.
    off = float(np.abs(unknown * (gradient - slacks)).mean())
    aimed = max(middle * min(1.0, (float(then) / middle) ** 3), min(_OFF * off, middle))
    move = moved(aimed - first.ahead * first.back * first.change * first.turn)
    ahead, back = min(1.0, _BACK * move.ahead), min(1.0, _BACK * move.back)
    unknown, slacks = unknown + ahead * move.change, slacks + back * move.turn
    costs = unknown[count:] if many else centre.design.costs
    design = replace(centre.design, weights=unknown[:count], costs=costs)
    work = centre.work + 4.0 * products() * len(unknown) * problem.points.width**2
    return Centre(design, unknown, np.maximum(slacks, _LEAST_STEP), centre.level + ahead * move.level, work)


def _solver(curvature: Curvature, added: Vector) -> tuple[Callable[[Vector], Vector], Callable[[], int]]:
    """Solves (curvature + diag(added))·x = side by conjugate gradients, scaled to a unit diagonal; and how many
    products that has taken."""
    scales, products = 1 / np.sqrt(curvature.diagonal + added), [0]

    def solved(side: Vector) -> Vector:
        left = side * scales
        found, along, size = np.zeros_like(left), left, float(left @ left)
        least = size * (_RESIDUAL if curvature.rows.dtype == np.float32 else _RESIDUAL**2)
        for _ in range(_MOST_PRODUCTS):
            if not size > least:
                break
            product = scales * (curvature.times(scales * along) + added * scales * along)
            products[0] += 1
            length = size / float(along @ product)
            found, left = found + length * along, left - length * product
            now = float(left @ left)
            along, size = left + now / size * along, now
        return found * scales

    return solved, lambda: products[0]


def _room(values: Vector, changes: Vector) -> float:
    """How far the change can be followed, at most a little beyond all of it, before a value is none."""
    falling = changes < 0
    return min(1 / _BACK, float((values[falling] / -changes[falling]).min(initial=np.inf)))
