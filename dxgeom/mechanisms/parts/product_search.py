"""Which products to measure, and how finely: the total squared error of Laplace noise in products, made small.

Along one attribute a strategy is its values and a few weighted sums of them, with columns of sum 1 (McKenna et al.
2018, "p-identity"): A = [1; Θ]·D. Errors of a product multiply, so that each attribute is a problem of its own while
the others stay. Which queries share a product is found by splitting off those that look at an attribute in few classes.

Kernel: SciPy's L-BFGS-B.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import fmin_l_bfgs_b

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.parts.products import ProductQueries, ProductStrategy, StrategyFactor
from dxgeom.numeric.arrays import distinct_rows

Floats = NDArray[np.float64]
_FINE: Final = 2**20
"""Rates of one attribute add up to about this."""
_LEVELS: Final = (1, 2, 3, 5, 7, 11, 15, 23, 31, 63)
"""Entries of sums are whole numbers up to one of these, the first that is relatively as near as this:"""
_NEAR: Final = 0.02
_BITS: Final = 6
"""So many bits of the largest share are kept: shares that are near the best err hardly more."""
_ROOM: Final = 1 + 2.0**-30
"""Noise is larger by so much than it has to be, for audits in float64 to see that it is enough."""
_WORTH: Final = 0.995
_VALUES_PER_SUM: Final = 10
_MOST_SUMS: Final = 16
_NOTHING: Final = 2.0**-9
_MOST_KINDS: Final = 1024
"""Of more kinds of values of one attribute no strategy is sought: steps take their cube."""


@final
@dataclass(frozen=True)
class ProductEffort:
    """``rounds``: how often attributes are gone through, with so many ``steps`` each; ``last``: in the end."""

    rounds: int
    steps: int
    last: int


QUICK: Final = ProductEffort(2, 10, 30)
THOROUGH: Final = ProductEffort(8, 40, 400)


@final
@dataclass(frozen=True, eq=False)
class _Fitted:
    """The strategy of one product. ``total``: Σ costs·wᵀX⁻¹w, so that Laplace noise errs by twice that."""

    queries: NDArray[np.int64] = field(repr=False)
    total: float
    sums: Mapping[int, Floats] = field(repr=False)
    kinds: Mapping[int, NDArray[np.int64]] = field(repr=False)


def sought_products(
    queries: ProductQueries, costs: Floats, presence: Fraction, effort: ProductEffort
) -> tuple[list[ProductStrategy], NDArray[np.int64]]:
    """Products whose noise hides a record at distance ``presence``, and of which each answer is made.

    Args: ``costs`` (K,): what the square of each answer's error over its unit counts.
    Guarantee: shares are the best for these products: as the cube roots of what each errs by itself.
    Raises: TooLarge for too many values of one attribute.
    """
    for axis, own in queries.weights.items():
        if own.shape[1] > _MOST_KINDS:
            raise TooLarge(
                f"attribute {axis} has {own.shape[1]:,} kinds of values; at most {_MOST_KINDS:,} in products"
            )
    roots_of = _Roots(queries, costs, effort)
    tables = np.arange(len(queries.kinds))
    parts = [_fitted(queries, costs, part, effort, effort.last) for part in _split(roots_of, tables)]
    roots = np.array([max(part.total, 1e-300) for part in parts]) ** (1 / 3)
    shares = [Fraction(math.floor(share * 2**40), 2**40) for share in (roots / roots.sum()).tolist()]
    product_of = np.zeros(len(queries.units), dtype=np.int64)
    made = []
    for number, (part, share) in enumerate(zip(parts, shares, strict=True)):
        product_of[part.queries] = number
        factors = tuple((axis, _rounded(own, part.kinds[axis])) for axis, own in part.sums.items())
        largest = math.prod(factor.largest for _, factor in factors)
        size = float(largest / (max(share, Fraction(1, 2**40)) * presence)) * _ROOM
        made.append(ProductStrategy(factors, size))
    return made, product_of


def _split(roots_of: _Roots, tables: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Tables of weights that share a product each: split for as long as that makes the total smaller."""
    whole, best, pair = roots_of(tables), math.inf, None
    for one, other in _cuts(roots_of.queries.kinds[tables]):
        found = roots_of(tables[one]) + roots_of(tables[other])
        if found < best:
            best, pair = found, (tables[one], tables[other])
    if pair is None or best**3 > _WORTH * whole**3:
        yield tables
        return
    for part in pair:
        yield from _split(roots_of, part)


def _cuts(kinds: NDArray[np.int64]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
    """Of tables with so many classes of each attribute: those with few of one apart from those with more."""
    seen = set[bytes]()
    for own in kinds.T:
        for most in np.unique(own)[:-1].tolist():
            few = own <= most
            if few.tobytes() not in seen:
                seen.add(few.tobytes())
                yield few, ~few


@final
@dataclass(frozen=True, eq=False)
class _Roots:
    """Cube roots of what tables of weights err by in one product, each found once."""

    queries: ProductQueries
    costs: Floats
    effort: ProductEffort
    _known: dict[bytes, float] = field(default_factory=dict)

    def __call__(self, tables: NDArray[np.int64]) -> float:
        key = tables.tobytes()
        if key not in self._known:
            found = _fitted(self.queries, self.costs, tables, self.effort, self.effort.steps)
            self._known[key] = float(found.total ** (1 / 3))
        return self._known[key]


def _fitted(
    queries: ProductQueries, costs: Floats, tables: NDArray[np.int64], effort: ProductEffort, last: int
) -> _Fitted:
    """The strategy of the queries of these tables in one product: attribute after attribute, from a fixed seed."""
    places, generator = np.flatnonzero(np.isin(queries.table, tables)), np.random.default_rng(0)
    rows, which, kinds = dict[int, Floats](), dict[int, NDArray[np.int64]](), dict[int, NDArray[np.int64]]()
    scale = costs[places].astype(np.float64)
    for axis, weights in queries.weights.items():
        distinct, of_each = distinct_rows(weights[places])
        _, own = distinct_rows(np.ascontiguousarray(distinct.T))
        if own.max() == 0:  # the same for all values
            scale = scale * distinct[of_each, 0].astype(np.float64) ** 2
            continue
        first = np.unique(own, return_index=True)[1]
        rows[axis], which[axis], kinds[axis] = distinct[:, first].astype(np.float64), of_each, own
    sums = {axis: generator.random((_sums_for(each.shape[1]), each.shape[1])) for axis, each in rows.items()}
    errors = {axis: (each**2).sum(axis=1)[which[axis]] for axis, each in rows.items()}
    for turn in range(effort.rounds if len(rows) > 1 else 1):
        steps = last if turn == effort.rounds - 1 or len(rows) == 1 else effort.steps
        for axis, each in rows.items():
            others = math.prod((errors[other] for other in rows if other != axis), start=scale)
            square = each.T @ (np.bincount(which[axis], others, len(each))[:, None] * each)
            sums[axis] = _best_sums(square, sums[axis], steps)
            errors[axis] = np.einsum("ki,ij,kj->k", each, inverse_of(sums[axis]), each, optimize=True)[which[axis]]
    return _Fitted(places, float(np.sum(math.prod(errors.values(), start=scale))), sums, kinds)


def _sums_for(values: int) -> int:
    return min(max(1, values // _VALUES_PER_SUM), _MOST_SUMS)


def inverse_of(sums: Floats) -> Floats:
    """(AᵀA)⁻¹ of A = [1; Θ]·D, whose columns have sum 1."""
    columns = 1 + sums.sum(axis=0)
    inner = np.linalg.inv(np.eye(len(sums)) + sums @ sums.T)
    return np.asarray((np.eye(len(columns)) - sums.T @ inner @ sums) * columns * columns[:, None])


def _best_sums(square: Floats, begun: Floats, steps: int) -> Floats:
    """Θ ≥ 0 (p, n) with a locally least tr(``square``·(AᵀA)⁻¹)."""
    shape, whole = begun.shape, max(float(np.trace(square)), 1e-300)

    def loss(flat: Floats) -> tuple[float, Floats]:
        theta = flat.reshape(shape)
        columns = 1 + theta.sum(axis=0)
        inner = np.linalg.inv(np.eye(len(theta)) + theta @ theta.T)
        scaled = square * columns * columns[:, None] / whole
        turned = scaled @ theta.T @ inner
        value = float(np.trace(scaled) - np.sum(turned * theta.T))
        # Of B = (1 + ΘᵀΘ)⁻¹ = 1 − Θᵀ(1 + ΘΘᵀ)⁻¹Θ: d tr(S·B) = −2·(Θ·B·S·B)·dΘ, and S grows with the columns.
        middle = scaled - turned @ theta
        right = middle - theta.T @ (inner @ (theta @ middle))
        return value, (-2 * theta @ right + 2 * np.diag(middle) / columns).ravel()

    bounds = [(0.0, None)] * begun.size  # by its own function: what is around it takes a quarter of a short search
    found, _, _ = fmin_l_bfgs_b(loss, begun.ravel(), bounds=bounds, maxiter=steps, pgtol=1e-12)
    return np.asarray(found.reshape(shape))


def _rounded(sums: Floats, kinds: NDArray[np.int64]) -> StrategyFactor:
    """The strategy in whole numbers, columns of equal sums, and for its sums the shares of least squares."""
    shares = sums / (1 + sums.sum(axis=0))
    kept = shares[(shares > _NOTHING).sum(axis=1) > 1]  # a sum of one kind is that kind's own number
    found = [_in_levels(row) for row in kept]
    entries = np.array([row for row, _ in found], dtype=np.int64).reshape(-1, sums.shape[1])
    rates = np.array([rate for _, rate in found], dtype=np.int64)
    each = np.concatenate([np.maximum(_FINE - rates @ entries, _FINE >> 10), rates])
    rows = np.concatenate([np.eye(sums.shape[1]), entries])
    weighted = rows.T * (each / _FINE) ** 2
    best = np.linalg.solve(weighted @ rows, weighted)[:, sums.shape[1] :]
    bits = _BITS - math.floor(math.log2(float(np.abs(best).max()))) if best.size else 0
    return StrategyFactor(kinds, entries, each, np.rint(best * 2.0**bits).astype(np.int64), max(bits, 0))


def _in_levels(row: Floats) -> tuple[NDArray[np.int64], int]:
    """The row as whole numbers, in as few levels as come near, and the rate that each stands for."""
    for levels in _LEVELS:
        unit = float(row.max()) / levels
        entries = np.rint(row / unit)
        if float(np.linalg.norm(entries * unit - row)) <= _NEAR * float(np.linalg.norm(row)):
            break
    return entries.astype(np.int64), max(round(unit * _FINE), 1)
