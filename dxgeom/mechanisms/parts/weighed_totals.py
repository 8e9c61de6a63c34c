"""Strategies for prefixes along one line, which hardly any normal noise errs less than: by weights of changes.

A record with the t-th of n values moves the totals t, …, n by one, which is q_t = M·e_t, M the lower triangle of ones.
A step to the next value moves total t alone. Weights D₀ of records and D₁ of steps, over their distances squared, make
A = M·D₀·Mᵀ + D₁, and the best noise has the covariance A^{1/2}, up to its scale, for the best weights. With
N = M⁻¹ and costs c of squared errors, roots on both sides, A + s is M·T_s·Mᵀ between these roots, where
T_s = D₀ + N·(D₁ + s/c)·Nᵀ is tridiagonal. The inverse root of A is an integral of inverses of A + s, here a sum over
powers of four, off by less than 2⁻¹⁸; so all it takes are inverses of tridiagonal matrices.

The precision of the noise is Nᵀ·S·N, S = Σ_k w_k·T_k⁻¹, whose triangular root F follows value by value from the last
one on. V = M·F⁻¹·Z is drawn with whole multiples of a power of two near M·F⁻¹. What is proved is proved of these.
See decision 078.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, uneven
from dxgeom.mechanisms.parts.values_in_a_row import largest_within
from dxgeom.noise.triangular import LAID_OUT, TriangularNormals
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import Closed, cached_property

Floats = NDArray[np.float64]

_MOST_NODES: Final = 64
_FARTHEST: Final = 400
_TAIL: Final = 5
"""Powers of four beyond the eigenvalues on either side: what is left out is 2⁻⁵ of an end's own part, and only ends
have it."""
_SPREAD: Final = 2.0**-44
_SHARE: Final = 2 / math.pi * math.log(2)
BITS: Final = 40
_LARGEST_SCALE: Final = 2.0**100
MARGIN: Final = 2.0**-20
"""By how much more than one proof says noise is enlarged: above what rounding to other multiples can change."""
STRIDE: Final = 1.8
"""The power by which weights are raised in proportion to what they are worth; beyond 2 they may swing."""
ENOUGH: Final = 3e-4
ROUNDS: Final = 150
LEAST: Final = 1e-12
_LONGEST_BOUND: Final = 1 << 17
"""Of more values what a bound is found from takes half a gigabyte."""
_FEW_ROUNDS: Final = 6
_FINER: Final = 9
"""Powers of four more on either side, for a bound."""
_ROUNDED: Final = 2.0**-32
SHRUNK: Final = 1 - 2.0**-16
"""What the rule of trapezoids and all roundings leave of a bound at the least."""


class WeighedChanges(NamedTuple):
    """``records`` (m,), ``steps`` (m,), ``costs`` (m,) and ``nodes``, as a :class:`WeighedStrategy` has them."""

    records: Floats
    steps: Floats
    costs: Floats
    nodes: tuple[int, int]


class _Inverses(NamedTuple):
    """Of each T_k, (n, K): ``diagonal``, of its inverse; ``falls``: what its entries below are times from one row to
    the next, (T⁻¹)_ij = falls_i·…·falls_{j+1}·diagonal_j."""

    diagonal: Floats
    falls: Floats


@final
@dataclass(frozen=True)
class WeighedStrategy(Closed):
    """Noise in the totals of ``size`` values by weights of changes.

    ``records`` (m,): weights of records over their distance squared; ``steps`` (m,): the same of steps from a value to
    the next, the last 0 unless there is one more value. ``costs`` (m,): of squared errors. Where m is size − 1 the last
    total, all records, is asked by nobody and has noise that hides it at next to no cost. ``nodes``: the first power
    of four and how many.

    Guarantee: whatever the weights are, privacy is what :meth:`hides` proves of the matrix that is drawn with. That is
    the same on every machine: single operations of float64 in one order, rounded to multiples of a power of two.
    """

    size: int
    records: tuple[float, ...]
    steps: tuple[float, ...]
    costs: tuple[float, ...]
    nodes: tuple[int, int]

    def __post_init__(self) -> None:
        numbers = (*self.records, *self.steps, *self.costs)
        whole = type(self.size) is int and {*map(type, self.nodes)} == {int} and {*map(type, numbers)} == {float}
        if not (whole and 1 < self.size <= LAID_OUT and len(self.records) in (self.size, self.size - 1)):
            raise CertificateRefused(f"noise by weights is in 2 to {LAID_OUT:,} totals, each with its weight")
        if not len(self.records) == len(self.steps) == len(self.costs):
            raise CertificateRefused("there are as many weights of records, of steps and costs of squared errors")
        if not all(0 < one < 2.0**300 for one in (*self.records, *self.costs)) or not all(
            0 <= one < 2.0**300 for one in self.steps
        ):
            raise CertificateRefused("weights and costs are positive, and those of steps not negative")
        first, count = self.nodes
        if not (-_FARTHEST <= first <= _FARTHEST and 0 < count <= _MOST_NODES):
            raise CertificateRefused(f"weights are taken at up to {_MOST_NODES} powers of four, found {self.nodes}")

    @property
    def in_words(self) -> str:
        """What is measured, for a reader."""
        return "in running totals, by weights of changes: hardly any normal noise errs less"

    @property
    def identity(self) -> tuple[object, ...]:
        """What a fingerprint holds of it."""
        return "weights", self.size, self.records, self.steps, self.costs, self.nodes

    @property
    def changes(self) -> WeighedChanges:
        """Its weights, costs and powers of four."""
        return WeighedChanges(np.array(self.records), np.array(self.steps), np.array(self.costs), self.nodes)

    @property
    def asked(self) -> int:
        """How many totals anybody asks for."""
        return len(self.records)

    @cached_property
    def _inverse_root(self) -> Floats:
        """(m, m): M·F⁻¹ over its least diagonal entry."""
        order = self.nodes[1]
        inverses, weights = _inverses(self.changes), _node_weights(self.nodes)
        outs, roots = _root(inverses, weights)
        found, state = np.zeros((self.asked, self.asked)), np.zeros((order, self.asked))
        for row in range(self.asked):
            if row:
                own = state[:, :row]
                own += inverses.diagonal[row - 1][:, None] * found[row - 1, :row]
                own *= inverses.falls[row][:, None]
                found[row, :row] = -_summed(outs[row][:, None] * own) / roots[row]
            found[row, row] = 1 / roots[row]
        for row in range(1, self.asked):
            found[row, :row] += found[row - 1, :row]
        return np.asarray(found / np.diag(found).min())

    @cached_property
    def least(self) -> float:
        """The least diagonal entry of M·F⁻¹, which is 1 in the noise of scale 1."""
        return float((1 / _root(_inverses(self.changes), _node_weights(self.nodes))[1]).min())

    def matrix(self, scale: float) -> Floats:
        """(size, size): what noise is drawn with, whole multiples of a power of two. Raises: CertificateRefused."""
        if not 0 < scale <= _LARGEST_SCALE:
            raise CertificateRefused("the scale of noise in running totals is positive, and at most 2¹⁰⁰")
        unit = 2.0 ** (math.frexp(scale)[1] - BITS)
        found = np.zeros((self.size, self.size))
        own = found[: self.asked, : self.asked]
        np.multiply(self._inverse_root, scale / unit, out=own)
        np.rint(own, out=own)
        if not np.all(np.abs(own) < 2.0**52):
            raise CertificateRefused("these weights make no noise: their triangular root is lost in rounding")
        own *= unit
        if self.asked < self.size:
            found[-1, -1] = scale * 2.0**20
        return found

    def law(self, scale: float, step: float) -> TriangularNormals:
        """The noise in the running totals, in lattice steps of this size, a power of two."""
        return TriangularNormals(self.matrix(scale) / step)

    def hides(self, scale: float, bounds: LineBounds) -> bool:
        """Whether noise of this scale hides what ``bounds`` promise; lengths *rounded up*, distances down."""
        try:
            return hidden_along(self.law(scale, 1.0), bounds)
        except (CertificateRefused, TooLarge):
            return False

    def within(self, scale: float, bounds: LineBounds) -> Iterator[Fraction]:
        """For each of the spans the square of what any change within it reveals at most, over its number's;
        *rounded up*. Raises: CertificateRefused, TooLarge."""
        return within_along(self.law(scale, 1.0), bounds)

    def least_scale(self, bounds: LineBounds) -> float:
        """Nearly the smallest scale that :meth:`hides`, which whoever takes it has proved. Raises: CertificateRefused,
        TooLarge."""
        return told_along(self.law(1.0, 1.0), bounds) * (1 + MARGIN)

    def variances(self, scale: float, lower: NDArray[np.int64], upper: NDArray[np.int64]) -> Floats:
        """(K,): of the noise in how many records lie from ``lower`` (K,) to below ``upper`` (K,), up to the rounding of
        float64."""
        matrix = self._unit_matrix
        if not np.any(lower):
            return self._of_totals[upper - 1] * scale**2
        found = np.empty(len(lower))
        for place, (low, high) in enumerate(zip(lower.tolist(), upper.tolist(), strict=True)):
            row = matrix[high - 1] - (matrix[low - 1] if low else 0.0)
            found[place] = row @ row
        return found * scale**2

    @property
    def _unit_matrix(self) -> Floats:
        return self.matrix(1.0)

    @cached_property
    def _of_totals(self) -> Floats:
        matrix = self._unit_matrix
        return np.asarray(np.einsum("ij,ij->i", matrix, matrix))


def lengths_along(law: TriangularNormals) -> tuple[float, Floats]:
    """Of the longest record, and (n − 1,) of each step to the next value, what noise in running totals hides them as;
    *rounded up*."""
    near, off = law.preimages
    up = 1 + (law.dimension + 8) * 2.0**-51
    records = np.linalg.norm(near, axis=0) * up + off
    moved = np.linalg.norm(np.diff(near, axis=1), axis=0) * up + off[1:] + off[:-1]
    # A difference of columns is rounded itself, by 2⁻⁵³ of both at most.
    moved += (records[1:] + records[:-1]) * 2.0**-52
    return float(records.max()) * up, moved * up


def within_along(law: TriangularNormals, bounds: LineBounds) -> Iterator[Fraction]:
    """For each of the spans the square of what any change within it reveals at most, over its number's;
    *rounded up*."""
    for width, epsilon in bounds.spans:
        yield Fraction(largest_within(*law.preimages, bounds.classes, width)) / epsilon**2


def hidden_along(law: TriangularNormals, bounds: LineBounds) -> bool:
    """Whether this noise in running totals hides what ``bounds`` promise; lengths *rounded up*, distances down.

    Any two values are no further apart than both records are long. Raises: CertificateRefused, TooLarge.
    """
    record, steps = lengths_along(law)
    if any(told > 1 for told in within_along(law, bounds)):
        return False
    if bounds.presence is not None and record > round_down(bounds.presence):
        return False
    if bounds.apart is None:
        return True
    return 2 * record <= round_down(bounds.apart) or (bounds.line and bool(np.all(steps <= bounds.steps(len(steps)))))


def told_along(law: TriangularNormals, bounds: LineBounds) -> float:
    """How many times more than ``bounds`` promise this noise reveals, nearly. Raises: CertificateRefused, TooLarge."""
    record, steps = lengths_along(law)
    wanted = [math.sqrt(told) for told in within_along(law, bounds)]
    wanted += [] if bounds.presence is None else [record / float(bounds.presence)]
    if bounds.apart is not None:
        longest = float((steps / bounds.steps(len(steps))).max(initial=0.0)) if bounds.line else math.inf
        wanted.append(min(longest, 2 * record / float(bounds.apart)))
    return max(wanted, default=0.0)


def _summed(numbers: Floats) -> Floats:
    """Over the first axis, half onto half: in one order on every machine."""
    while len(numbers) > 1:
        half = (len(numbers) + 1) // 2
        shorter = numbers[:half].copy()
        shorter[: len(numbers) - half] += numbers[half:]
        numbers = shorter
    return np.asarray(numbers[0])


def _node_weights(nodes: tuple[int, int]) -> Floats:
    """(K,): √s over powers of four s, times the step of the rule, so that Σ w/(λ + s) is nearly λ^{−1/2}."""
    first, count = nodes
    return _SHARE * np.array([2.0**power for power in range(first, first + count)])


def _inverses(changes: WeighedChanges) -> _Inverses:
    """Of T_s = D₀ + N·(D₁ + s/c)·Nᵀ, for every power of four s: sums and quotients of positive numbers alone."""
    records, (first, count) = changes.records, changes.nodes
    powers = np.array([4.0**power for power in range(first, first + count)])
    links = changes.steps[:, None] + powers / changes.costs[:, None]
    size = len(records)
    # What is left of each diagonal entry once the rows after it, or before it, are gone.
    after, before = np.zeros_like(links), np.zeros_like(links)
    after[-1] = records[-1] + links[-1]
    for row in range(size - 2, -1, -1):
        after[row] = records[row] + links[row] * after[row + 1] / (links[row] + after[row + 1])
    before[0] = records[0]
    for row in range(1, size):
        before[row] = records[row] + links[row - 1] * before[row - 1] / (links[row - 1] + before[row - 1])
    diagonal, falls = after.copy(), np.zeros_like(links)
    diagonal[1:] += links[:-1] * before[:-1] / (links[:-1] + before[:-1])
    falls[1:] = links[:-1] / (after[1:] + links[:-1])
    return _Inverses(1 / diagonal, falls)


def _root(inverses: _Inverses, weights: Floats) -> tuple[Floats, Floats]:
    """(m, K) and (m,): F_jj = roots_j and F_ij = outs_i·falls_i·…·falls_{j+1}·diagonal_j with FᵀF = S, S_ij that with
    weights in place of outs_i.

    From the last row on, X_i what rows after the i-th say of its state: f² = w·δ − δᵀ·X·δ and outs = (w − X·δ)/f.
    Raises: CertificateRefused where rounding leaves nothing of f².
    """
    size, order = inverses.diagonal.shape
    outs, roots, later = np.zeros((size, order)), np.zeros(size), np.zeros((order, order))
    for row in range(size - 1, -1, -1):
        own = inverses.diagonal[row]
        rest = weights - _summed(later * own[:, None])
        square = float(_summed(rest * own))
        if not 0 < square < math.inf:
            raise CertificateRefused("these weights make no noise: their triangular root is lost in rounding")
        roots[row] = math.sqrt(square)
        outs[row] = rest / roots[row]
        later += outs[row][:, None] * outs[row]
        later *= inverses.falls[row][:, None] * inverses.falls[row]
    return outs, roots


def nodes_for(records: Floats, steps: Floats, costs: Floats) -> tuple[int, int]:
    """Powers of four around all eigenvalues of A, with tails, as far as float64 tells them apart."""
    size = len(records)
    largest = float(costs.max()) * (size * size * float(records.max()) + float(steps.max()))
    least = float(costs.min()) * (float(records.min()) / 4 + float(steps.min()))
    least = max(least, largest * _SPREAD)
    first = math.floor(math.log(least) / math.log(4)) - _TAIL
    count = math.ceil(math.log(largest) / math.log(4)) + _TAIL - first
    return first, min(count, _MOST_NODES)


class _Worth(NamedTuple):
    """What noise by these weights makes of records and of steps, over their distances, all over its total error."""

    records: Floats
    steps: Floats
    excess: float


def gauges(changes: WeighedChanges) -> tuple[Floats, Floats]:
    """(m,) each: the squared lengths that noise by these weights hides records as, and steps."""
    inverses, nodes = _inverses(changes), _node_weights(changes.nodes)
    # e_t is q_t − q_{t+1}, and the last one q_t.
    diagonal, after = inverses.diagonal, np.zeros_like(inverses.diagonal)
    after[:-1] = diagonal[1:] - 2 * inverses.falls[1:] * diagonal[:-1]
    return diagonal @ nodes, (diagonal + after) @ nodes


def _worth(changes: WeighedChanges, distances: tuple[float, Floats], weights: tuple[Floats, Floats]) -> _Worth:
    records, steps = gauges(changes)
    records /= distances[0] ** 2
    steps = steps / distances[1] ** 2
    told = weights[1] > 0
    total = float(records @ weights[0] + steps @ weights[1])
    most = max(float(records.max()), float(steps[told].max(initial=0.0)))
    return _Worth(records / total, steps / total, most / total - 1)


def first_weights(asked: int, ratio: float, moved: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """(asked,) each: of records, and of the steps that are ``moved``, at ``ratio`` times the distance of a record, with
    which a search begins. Steps matter as they cost beside records; of records mostly the first ones."""
    share = 1.0 if math.isinf(ratio) else 1 / (1 + (0.1 / ratio) ** 2)
    records = 1 / (1.0 + np.arange(asked))
    records *= share / records.sum()
    return records, np.where(moved, (1 - share) / max(1, int(moved.sum())), 0.0)


def weighed_strategies(size: int, bounds: LineBounds, costs: Floats) -> Iterator[WeighedStrategy]:
    """The one whose weights were found, for prefixes with these ``costs`` (size,), the last 0 where nobody asks for all
    records. None where there are too many values, or changes between any two of them are promised more than presence
    says.

    Of its squared errors the total is mostly within 3·10⁻⁴ of what no normal noise errs less than: as near to that as
    150 rounds come, which is not near where costs differ by a factor of millions. How near is known by the bound.
    """
    best: tuple[float, WeighedChanges] | None = None
    for worth, changes in _rounds(size, bounds, costs) if size <= LAID_OUT else ():
        if best is None or worth.excess < best[0]:
            best = worth.excess, changes
    if best is not None:
        records, steps, each = (tuple(one.tolist()) for one in best[1][:3])
        yield WeighedStrategy(size, records, steps, each, best[1].nodes)


def _rounds(size: int, bounds: LineBounds, costs: Floats) -> Iterator[tuple[_Worth, WeighedChanges]]:
    """Weights, and what they are worth, each time raised in proportion to that, until they are worth enough."""
    asked = size - (costs[-1] == 0)
    presence = None if bounds.presence is None else float(bounds.presence)
    if not (size > 1 and asked and presence and np.all(costs[:asked] > 0)):
        return
    apart = np.append(bounds.steps(size - 1), np.inf)[:asked]
    moved = apart < 2 * presence
    if np.any(moved) and not bounds.line:
        return
    costs, distances = np.asarray(costs[:asked] / costs[:asked].max()), (presence, np.where(moved, apart, 1.0))
    records, steps = first_weights(asked, float(np.where(moved, apart, np.inf).min()) / presence, moved)
    for _ in range(ROUNDS):
        own, other = records / distances[0] ** 2, steps / distances[1] ** 2
        changes = WeighedChanges(own, other, costs, nodes_for(own, other, costs))
        worth = _worth(changes, distances, (records, steps))
        yield worth, changes
        if worth.excess < ENOUGH:
            break
        records = records * worth.records**STRIDE
        steps = steps * np.maximum(worth.steps, 0.0) ** STRIDE
        whole = float(records.sum() + steps.sum())
        records = np.maximum(records / whole, LEAST / asked)
        steps = np.where(moved, np.maximum(steps / whole, LEAST / asked), 0.0)


def prefixes_bound_by_weights(size: int, presence: float, gaps: Floats | None, costs: Floats) -> float:
    """What the total squared error of prefixes with these ``costs`` (size,) is not below, for any normal noise.

    Args: ``presence``: how far a record is from none; ``gaps`` (size − 1,): neighbouring values from each other.
    Definition: (tr A^{1/2})²/Σ p, A of weights p of changes, each over its squared distance. Of more values than noise
    by weights is for, six rounds of the search are made: near the best weights the bound hardly changes with them.
    Guarantee: *rounded down*. The rule of trapezoids is not above the integral by more than 2⁻¹⁸, and all that float64
    rounds are fewer than 2²⁰ operations of positive numbers in a row, and a difference. 0 where no weights are sought,
    and beyond 2¹⁷ values.
    """
    apart = None if gaps is None else Fraction(float(gaps.min()))
    bounds = LineBounds(Fraction(presence), apart, gaps is not None, gaps=uneven(gaps))
    if size <= LAID_OUT:
        tried = [one.changes for one in weighed_strategies(size, bounds, costs)]
    else:
        rounds = _rounds(size, bounds, costs) if size <= _LONGEST_BOUND else iter(())
        tried = [changes for _, changes in itertools.islice(rounds, _FEW_ROUNDS)]
    if not tried:
        return 0.0
    found = tried[-1]
    whole = float(np.sum(found.records)) * presence**2 + weight_of_steps(found, presence, gaps)
    return root_trace_of(found) ** 2 / whole * float(costs.max()) * SHRUNK


def weight_of_steps(changes: WeighedChanges, presence: float, gaps: Floats | None) -> float:
    """Σ of the weights of steps, each of these ``gaps`` apart (size − 1,); the last one as far as ``presence``."""
    told = np.full(len(changes.steps), presence)
    if gaps is not None:
        told[: len(gaps)] = gaps[: len(told)]
    return float(changes.steps @ np.where(changes.steps > 0, told, 0.0) ** 2)


def root_trace_of(changes: WeighedChanges) -> float:
    """tr (C^{1/2}·A·C^{1/2})^{1/2} of these weights and costs C; times :data:`SHRUNK` its square is *rounded
    down*."""
    first, count = changes.nodes
    finer = changes._replace(nodes=(first - _FINER, min(count + 2 * _FINER, _MOST_NODES)))
    inverses, nodes = _inverses(finer), _node_weights(finer.nodes)
    records, steps = finer.records, finer.steps
    diagonal, after = inverses.diagonal @ nodes, np.zeros(len(records))
    between = (inverses.falls[1:] * inverses.diagonal[:-1]) @ nodes
    after[:-1] = diagonal[1:]
    trace = records @ diagonal + steps @ (diagonal + after) - 2 * float(steps[:-1] @ between)
    trace -= _ROUNDED * float(records @ diagonal + 2 * steps @ (diagonal + after))
    return max(0.0, float(trace))
