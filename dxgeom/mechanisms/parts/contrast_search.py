"""The normal noise with the least total error for queries that are products, in blocks that values alike leave.

Let values of each attribute be in classes of values that a workload treats alike. Averaged over all reorderings of
these the best covariance falls apart: for each choice of attributes with a class each there is one block, which is that
of what is left of the class's values without their mean, by the classes of all other attributes. A block is one
covariance, as often as there are independent differences. With weights p of kinds of records, D the diagonal of what
they weigh in a block, and G what its covariance costs, the least of tr(G·Σ) + tr(D·Σ⁻¹) is Σ⁻¹ = X with X·D·X = G, and
(Σ tr (D^{1/2}·G·D^{1/2})^{1/2})² is below every total error. What decides nothing about privacy is in float64.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.bounds.root_trace import MatrixBall, products_off_by, root_trace_below
from dxgeom.mechanisms.bounds.weighed_pairs import shared_out
from dxgeom.mechanisms.linear.distance_bounds import AnyChange
from dxgeom.mechanisms.parts.contrasts import MOST_JOINED, MOST_RECORDS, ContrastPart, hidden_of
from dxgeom.mechanisms.parts.products import ProductQueries
from dxgeom.numeric.arrays import distinct_rows, kinds_of_rows

Floats = NDArray[np.float64]
_MOST_BLOCKS: Final = 1 << 12
_LARGEST: Final = 2**61
"""Sums of squares of weights are below it, in 64-bit integers."""
_LEAST_ROOT: Final = 1e-4
"""Of the largest: what no answer takes of is measured no more finely."""
_FLAT: Final = 1e-3
_LEAST_WEIGHT: Final = 1e-9
_NEAR: Final = 1.002
"""A search ends where the total is so near to its bound."""
_FINE: Final = 2.0**27
_ROOM: Final = 1 + 2.0**-30
_DOWNWARD: Final = 1 - 2.0**-40
_LOOK: Final = 12
"""Multiplications of a look, over the cube of a block's size;"""
_FEWEST: Final = 4
_MOST_LOOKS: Final = 200
_PUBLIC: Final = 4.0
"""How finely a public number of records is measured once more, beside the largest square of a record."""
QUICK_WORK: Final = 2e10
THOROUGH_WORK: Final = 4e11
"""Multiplications of a search."""


@final
class _Block(NamedTuple):
    """``chosen``: of each attribute the class whose values are contrasted, or None; ``kinds``: of each of the others
    the kind of every class. ``cost`` (d, d): of the covariance; ``here``: kinds of records that add to it, to
    ``joined`` of its combinations each, and so much of a square, ``whole``; so many ``queries`` see it."""

    chosen: tuple[int | None, ...]
    kinds: tuple[NDArray[np.int64] | None, ...]
    cost: Floats
    here: NDArray[np.int64]
    joined: NDArray[np.int64]
    whole: float

    queries: int

    def weighed(self, weights: Floats) -> Floats:
        """(d,): what kinds of records of such weights have of each combination."""
        return np.asarray(np.bincount(self.joined, weights[self.here], len(self.cost)) * self.whole)

    @property
    def plain(self) -> bool:
        """Whether nothing is contrasted: the block that sees how many records there are."""
        return all(one is None for one in self.chosen)


@final
class Look(NamedTuple):
    """``total``: of the noise, made as large as it has to be, if a record of norm 1 may come or go; ``bound``: what
    none has less than. ``weights`` of kinds of records, their ``squares``; ``inverses`` of covariances."""

    total: float
    bound: float
    weights: Floats
    squares: Floats
    inverses: list[Floats]


@final
class ContrastSearch:
    """``change``: bounds on what changes of records cost.

    Raises: TooLarge where too many kinds of values are left, or too many blocks.
    """

    def __init__(self, queries: ProductQueries, costs: Floats, change: AnyChange) -> None:
        self._change, self._axes = change, [*queries.weights]
        self._told = {axis: own.shape[1] for axis, own in queries.weights.items()}
        self._alike = alike_values(queries, costs)
        self._sizes = {axis: np.bincount(own) for axis, own in self._alike.items()}
        self._shape = tuple(len(self._sizes[axis]) for axis in self._axes)
        if math.prod(self._shape) > MOST_RECORDS:
            raise TooLarge(f"{math.prod(self._shape):,} kinds of records; at most {MOST_RECORDS:,} are looked at")
        self._blocks = [*self._made(queries, costs)]
        self._even = reduce(np.multiply.outer, self._sizes.values(), np.array(1.0)).ravel()

    def _made(self, queries: ProductQueries, costs: Floats) -> Iterator[_Block]:
        means, beside = [], []
        for axis, weights in queries.weights.items():
            if (int(np.abs(weights).max(initial=0)) * weights.shape[1]) ** 2 >= _LARGEST:
                raise TooLarge("noise in products is sought where weights along an attribute have few digits")
            spread = np.eye(len(self._sizes[axis]), dtype=np.int64)[self._alike[axis]]
            sums, squares = weights @ spread, weights**2 @ spread
            means.append(sums / self._sizes[axis])
            beside.append((squares * self._sizes[axis] - sums**2) / self._sizes[axis])
        for chosen in self._choices(beside):
            scale = costs.copy()
            for own, kind in zip(beside, chosen, strict=True):
                scale = scale if kind is None else scale * own[:, kind]
            if np.any(scale > 0):
                yield self._block(chosen, [own[scale > 0] for own in means], scale[scale > 0])

    def _choices(self, beside: Sequence[Floats]) -> list[tuple[int | None, ...]]:
        """Of which attributes a query sees differences, and in which classes of values."""
        found = dict[tuple[int | None, ...], None]()
        for pattern in distinct_rows(np.concatenate([own > 0 for own in beside], axis=1).astype(np.int64))[0]:
            each = np.split(pattern, np.cumsum(self._shape)[:-1])
            kinds = [[None, *np.flatnonzero(own).tolist()] for own in each]
            if len(found) + math.prod(map(len, kinds)) > 2 * _MOST_BLOCKS:
                raise TooLarge(f"noise in products of more than {_MOST_BLOCKS:,} blocks is not sought")
            found |= dict.fromkeys(product(*kinds))
        return [*found]

    def _block(self, chosen: tuple[int | None, ...], means: Sequence[Floats], scale: Floats) -> _Block:
        roots, kinds = np.sqrt(scale)[:, None], list[NDArray[np.int64] | None]()
        here, joined, whole = np.ones(self._shape, dtype=bool), np.zeros(self._shape, dtype=np.int64), 1.0
        for place, (axis, kind) in enumerate(zip(self._axes, chosen, strict=True)):
            spread = [-1 if one == place else 1 for one in range(len(self._axes))]
            if kind is not None:
                whole *= 1 - 1 / int(self._sizes[axis][kind])
                here = here & (np.arange(self._shape[place]) == kind).reshape(spread)
                kinds.append(None)
                continue
            first, own = kinds_of_rows(np.ascontiguousarray(means[place].T))
            if roots.shape[1] * len(first) > MOST_JOINED:
                raise TooLarge(
                    f"these queries tell {roots.shape[1] * len(first):,} or more combinations of values apart; "
                    f"one covariance is sought for at most {MOST_JOINED:,}"
                )
            columns = means[place][:, np.unique(own, return_index=True)[1]]
            roots = (roots[:, :, None] * columns[:, None, :]).reshape(len(roots), -1)
            joined = joined * len(first) + own.reshape(spread)
            kinds.append(own)
        places = np.flatnonzero(here.ravel())
        return _Block(chosen, tuple(kinds), roots.T @ roots, places, joined.ravel()[places], whole, len(scale))

    def _look(self, weights: Floats) -> Look:
        """The best noise for these weights of kinds of records, where their squares add up to no more, weighed."""
        squares, total, bound, inverses = np.zeros(len(weights)), 0.0, 0.0, []
        for one in self._blocks:
            weighed = np.sqrt(one.weighed(weights))
            matrix = one.cost * weighed * weighed[:, None]
            least = _FLAT * math.sqrt(max(float(np.trace(matrix)), 1e-300))  # where only their number is seen
            if one.plain and self._change.presence is None:
                matrix = _without_mean(matrix, weighed)
            values, turned = np.linalg.eigh(matrix)
            values = np.maximum(values, 0.0)
            roots = np.sqrt(values)
            bound += float(roots.sum())
            roots = np.maximum(roots, _LEAST_ROOT * max(float(roots.max()), least))
            inverse = (turned * roots) @ turned.T / weighed / weighed[:, None]
            total += float((values / roots).sum())
            squares[one.here] += one.whole * np.diag(inverse)[one.joined]
            inverses.append(inverse)
        return Look(total * float(squares.max()), bound**2, weights, squares, inverses)

    def found(self, work: float) -> Look:
        """The best of as many looks as so many multiplications are enough for."""
        looks = int(work / sum(_LOOK * float(len(one.cost)) ** 3 + len(one.here) for one in self._blocks))
        best = last = self._look(self._even / self._even.sum())
        for _ in range(min(max(looks, _FEWEST), _MOST_LOOKS)):
            weights = last.weights * last.squares / last.squares.max()
            weights = np.maximum(weights / weights.sum(), _LEAST_WEIGHT)
            last = self._look(weights / weights.sum())
            best = min(best, last, key=lambda one: one.total)
            if best.total <= _NEAR * last.bound:
                break
        return best

    def parts(self, look: Look) -> list[ContrastPart]:
        """The noise in whole numbers, no larger than it has to be. Raises: TooLarge, CertificateRefused."""
        longest = float(look.squares.max())
        made = [self._part(one, inverse, longest) for one, inverse in zip(self._blocks, look.inverses, strict=True)]
        change = self._change
        hidden = hidden_of(made, self._told, alone=change.presence is not None, apart=change.least is not None)
        wider = max(
            math.sqrt(square) / float(distance)
            for square, distance in ((hidden.alone, change.presence), (hidden.apart, change.least))
            if distance is not None
        )
        return [one.times(wider * _ROOM) for one in made]

    def _part(self, block: _Block, inverse: Floats, longest: float) -> ContrastPart:
        if block.plain and self._change.presence is None:  # how many records there are is public
            inverse = inverse + _PUBLIC * longest
        root = np.linalg.cholesky(np.linalg.inv(inverse))
        unit = float(np.abs(root).max()) / _FINE
        whole = np.tril(np.rint(root / unit)).astype(np.int64)
        np.fill_diagonal(whole, np.maximum(np.diag(whole), 1))
        contrasted, summed = [], []
        for axis, kind, kinds in zip(self._axes, block.chosen, block.kinds, strict=True):
            if kind is not None:
                contrasted.append((axis, np.flatnonzero(self._alike[axis] == kind)))
            elif kinds is not None and kinds.max() > 0:
                summed.append((axis, kinds[self._alike[axis]]))
        return ContrastPart(tuple(contrasted), tuple(summed), whole, unit)

    def bound(self, look: Look) -> float:
        """What no normal noise errs less than in all; *rounded down*.

        Weights of kinds of records are spread evenly over the records of each, so that the matrix of decision 070 has
        these very blocks, each as often as there are independent differences. Of records drawn alike the means are
        taken off, which only the block without differences sees.
        """
        weights, found = shared_out(look.weights), [0.0]
        if self._change.presence is not None:
            found.append(self._root_trace(weights, centred=False) / float(self._change.presence))
        if self._change.most is not None:
            # Of two that are drawn alike; they are the same with a chance that is taken off.
            whole, same = math.fsum(weights.tolist()), math.fsum((weights**2 / self._even).tolist())
            drawn = math.sqrt(2 * whole / (whole**2 - same * _DOWNWARD))
            found.append(self._root_trace(weights, centred=True) * drawn / float(self._change.most))
        return max(found) ** 2 * _DOWNWARD

    def _root_trace(self, weights: Floats, *, centred: bool) -> float:
        total = 0.0
        for one in self._blocks:
            weighed = np.sqrt(one.weighed(weights))
            matrix = one.cost * weighed * weighed[:, None]
            off = 16 * products_off_by(4 * len(self._even) + len(matrix) + 64 + 4 * one.queries)
            radius = off * float(np.trace(matrix))
            if centred and one.plain:
                matrix = _without_mean(matrix, weighed)
            total += root_trace_below(MatrixBall((matrix + matrix.T) / 2, radius))
        return total * _DOWNWARD


def _without_mean(matrix: Floats, roots: Floats) -> Floats:
    """The matrix without the direction of these roots of weights, that of how many records there are."""
    mean = roots / np.linalg.norm(roots)
    matrix = matrix - np.outer(mean, mean @ matrix)
    return np.asarray(matrix - np.outer(matrix @ mean, mean))


def alike_values(queries: ProductQueries, costs: NDArray[np.float64]) -> Mapping[int, NDArray[np.int64]]:
    """(values,) of each attribute: the class of every value, in order of appearance; *exact*.

    Args: ``costs`` (K,): what the square of each answer's error over its unit counts. Guarantee: with any two values of
    a class exchanged the queries are the same, each with its cost, in another order.
    """
    each = {axis: distinct_rows(own)[1] for axis, own in queries.weights.items()}
    priced = np.unique(costs, return_inverse=True)[1].ravel()
    found = {}
    for axis, weights in queries.weights.items():
        rest = np.stack([priced, *(own for other, own in each.items() if other != axis)], axis=1)
        found[axis] = _classes(weights, distinct_rows(np.ascontiguousarray(rest.astype(np.int64)))[1])
    return found


def _classes(weights: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Of values whose weights are (K, values), where queries are of kinds ``rest`` (K,) without them."""
    classes = np.full(weights.shape[1], -1)
    firsts: list[int] = []
    known: dict[bytes, list[int]] = {}
    for value in range(len(classes)):
        # Only values that get the same weights, counted by kind, can be alike.
        looks = weights[np.lexsort((weights[:, value], rest)), value].tobytes()
        like = next((one for one in known.get(looks, []) if _exchange(weights, rest, firsts[one], value)), None)
        if like is None:
            like = len(firsts)
            firsts.append(value)
            known.setdefault(looks, []).append(like)
        classes[value] = like
    return classes


def _exchange(weights: NDArray[np.int64], rest: NDArray[np.int64], one: int, other: int) -> bool:
    """Whether exchanging two values reorders the queries; so it does for any two that can be exchanged with a third."""
    moved = np.flatnonzero(weights[:, one] != weights[:, other])
    before = weights[moved]
    after = before.copy()
    after[:, [one, other]] = before[:, [other, one]]
    kinds = rest[moved].tolist()
    return Counter(zip(kinds, map(bytes, before), strict=True)) == Counter(zip(kinds, map(bytes, after), strict=True))
