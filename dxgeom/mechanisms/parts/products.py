"""Laplace noise in products: of each attribute its values and weighted sums of them are measured, all in combination.

Queries as products of weights along attributes, read from their weights and held against them. Answers to such queries
from noise in products, exactly; and the proof of the noise, by column sums in integers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.distance_bounds import joint_distance_bounds_of
from dxgeom.mechanisms.linear.lattice import tables_over
from dxgeom.mechanisms.linear.mixing import Block, IntegerMixing, MeasuredNumbers, Weighing, lattice_step
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.arrays import distinct_rows, kinds_of_rows
from dxgeom.numeric.sealed import Sealed, cached_property, frozen_integers, seal
from dxgeom.universe.weight_table import WeightTable, are_classes, class_of_shared, shared_classes

NAME: Final = "product-laplace"
MOST_ENTRIES: Final = 1 << 26
"""How noise reaches answers is laid out up to so many numbers, of eight bytes each."""
MOST_NUMBERS: Final = 1 << 20
"""So many numbers are measured at most."""
_LARGEST_ENTRY: Final = 2**20
_LARGEST_RATE: Final = 2**40
_MOST_ATTRIBUTES: Final = 16
_UPWARD: Final = 1 + 2.0**-46
"""More than all roundings of a product of so many rates, and of a quotient by it."""
_LARGEST: Final = 2.0**61
_LEAST: Final = 2.0**-200
_MOST: Final = 2.0**200
"""With rates of 2⁴⁰ along 16 attributes no scale of a product of such a size is subnormal."""
_ENTRIES_AT_ONCE: Final = 1 << 16


@final
@dataclass(frozen=True, eq=False)
class StrategyFactor(Sealed):
    """What is measured along one attribute: how many records have each of n ``kinds`` of values, and p weighted sums.

    ``kinds`` (values,): of each told value its kind; ``sums`` (p, n): non-negative integers. ``rates`` (n + p,):
    positive integers, to which the noise of each number is inverse. ``shares`` (n, p), over 2**``bits``: what the
    number of a kind takes of how far each noisy sum is from that of the noisy numbers. Whatever they are, what is made
    of exact numbers is exact.
    Raises: CertificateRefused for other numbers.
    """

    kinds: NDArray[np.int64] = field(repr=False)
    sums: NDArray[np.int64] = field(repr=False)
    rates: NDArray[np.int64] = field(repr=False)
    shares: NDArray[np.int64] = field(repr=False)
    bits: int

    def __post_init__(self) -> None:
        for name in ("kinds", "sums", "rates", "shares"):
            object.__setattr__(self, name, frozen_integers(getattr(self, name)))
        proper = self.kinds.ndim == 1 and len(self.kinds) > 0 and are_classes(self.kinds, len(self.kinds))
        size = int(self.kinds.max()) + 1 if proper else 0
        sums = len(self.sums)
        proper = proper and self.sums.shape == (sums, size) and self.shares.shape == (size, sums)
        proper = proper and self.rates.shape == (size + sums,) and type(self.bits) is int and 0 <= self.bits <= 40
        if not (
            proper
            and self.sums.min(initial=0) >= 0
            and self.sums.max(initial=0) < _LARGEST_ENTRY
            and np.all((self.rates > 0) & (self.rates < _LARGEST_RATE))
            and np.all((self.shares > -(2**40)) & (self.shares < 2**40))
        ):
            raise CertificateRefused("a factor is of whole numbers, a rate for each value and each sum of values")

    @property
    def size(self) -> int:
        """How many kinds of values there are."""
        return int(self.kinds.max()) + 1

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """(n + p, values): what a record of each told value adds to each number."""
        return np.concatenate([np.eye(self.size, dtype=np.int64), self.sums])[:, self.kinds]

    @cached_property
    def largest(self) -> int:
        """The largest column sum of rows times rates; *exact*."""
        columns = self.rates[: self.size].astype(object) + self.rates[self.size :].astype(object) @ self.sums
        return int(np.max(columns))

    @cached_property
    def inverse(self) -> NDArray[Any]:
        """(n, n + p): integers C with C·rows = 2**bits times the identity, kind by kind; in Python's integers."""
        shares, sums = self.shares.astype(object), self.sums.astype(object)
        values = 2**self.bits * np.eye(self.size, dtype=np.int64).astype(object) - shares @ sums
        return np.concatenate([values, shares], axis=1)


@final
@dataclass(frozen=True, eq=False)
class ProductStrategy(Sealed):
    """All combinations of what is measured along some attributes, all others added up.

    ``factors``: by the attribute's place in the universe, rising. ``size``: of the noise; a number has a scale of that
    over the product of its rates.
    """

    factors: tuple[tuple[int, StrategyFactor], ...]
    size: float

    def __post_init__(self) -> None:
        axes, each = [axis for axis, _ in self.factors], {type(one) for _, one in self.factors}
        formed = type(self.factors) is tuple and {*map(type, axes)} <= {int} and each <= {StrategyFactor}
        formed = formed and axes == sorted({*axes}) and len(axes) <= _MOST_ATTRIBUTES
        if not (formed and type(self.size) is float and _LEAST < self.size < _MOST):
            raise CertificateRefused("a product has factors of different attributes, and noise of a positive size")
        if self.numbers > MOST_NUMBERS:
            raise TooLarge(f"a product of {self.numbers:,} numbers is not measured; at most {MOST_NUMBERS:,} are")
        seal(self)

    @property
    def numbers(self) -> int:
        """How many are measured."""
        return math.prod(len(one.rates) for _, one in self.factors)

    @property
    def load(self) -> Fraction:
        """What the noise hides of one record that comes or goes; *exact* for the size, so an upper bound for scales."""
        return math.prod((one.largest for _, one in self.factors), start=1) / Fraction(self.size)

    @property
    def scales(self) -> NDArray[np.float64]:
        """(numbers,): of the noise, in counts, *rounded up*."""
        rates = reduce(np.multiply.outer, (one.rates.astype(np.float64) for _, one in self.factors), np.array(1.0))
        return np.asarray(self.size / rates.ravel() * _UPWARD)

    @property
    def block(self) -> Block:
        """What is measured."""
        return Block(tuple(axis for axis, _ in self.factors), tuple(Weighing(one.rows) for _, one in self.factors))


@final
@dataclass(frozen=True, eq=False)
class ProductNumbers(MeasuredNumbers):
    """Numbers in products with Laplace noise, which hides that any record comes or goes.

    Guarantee: for each product the largest column sum is the product of its factors'; over sizes they add up to the
    distance of a record and none at most, in rationals. Two records differ by two such changes, and are no nearer.
    Raises: CertificateRefused where they do not, or where two records that are told apart are nearer than that.
    """

    metric: VerifiedMetric = field(repr=False)
    classes: Mapping[int, NDArray[np.int64]] = field(repr=False)
    products: tuple[ProductStrategy, ...]

    def __post_init__(self) -> None:
        seal(self)
        require_verified(self.metric)
        universe = self.metric.universe
        shape = () if universe is None or universe.listed is not None else universe.shape
        formed = len(shape) > 0 and all(
            type(axis) is int and 0 <= axis < len(shape) and are_classes(own, shape[axis])
            for axis, own in self.classes.items()
        )
        told = {axis: int(own.max()) + 1 for axis, own in self.classes.items()} if formed else {}
        for one in self.products:
            formed = formed and type(one) is ProductStrategy
            formed = formed and all(told.get(axis) == len(factor.kinds) for axis, factor in one.factors)
        if not (formed and self.products):
            raise CertificateRefused("these products are not over the values of the records' attributes")
        bounds = joint_distance_bounds_of(self.metric.metric, shape, self.classes)
        if bounds.presence is None or any(one is not None for one in bounds.least):
            raise CertificateRefused("noise in products hides records that come and go, and no nearer changes")
        if sum((one.load for one in self.products), Fraction(0)) > bounds.presence:
            raise CertificateRefused("noise in products of this size does not hide a record that comes or goes")

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return self.classes

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(one.block for one in self.products)

    @cached_property
    def scales(self) -> NDArray[np.float64]:
        """(numbers,): of each number, in counts."""
        return np.concatenate([one.scales for one in self.products])

    @cached_property
    def law(self) -> LaplaceNoise:
        return LaplaceNoise(self.scales / float(lattice_step(self.scales)))


@final
@dataclass(frozen=True, eq=False)
class ProductQueries(Sealed):
    """Queries that are products: query k weighs a record by ``units[k]``·Π_a ``weights[a]``[k, class of its value].

    ``classes``: of each attribute that some query looks at, which of the told values every value is. ``table`` (K,):
    the table of weights that each query was read from; ``kinds`` (tables, attributes): how many classes it looks at.
    """

    classes: Mapping[int, NDArray[np.int64]] = field(repr=False)
    weights: Mapping[int, NDArray[np.int64]] = field(repr=False)
    units: NDArray[np.int64] = field(repr=False)
    table: NDArray[np.int64] = field(repr=False)
    kinds: NDArray[np.int64] = field(repr=False)


def product_queries(sensitivity: Sensitivity) -> ProductQueries:
    """The queries of a workload as products. *Exact*: each is multiplied out again, and is the very weights.

    Raises: TooLarge where some query is none, or nobody says which attributes the records have.
    """
    queries, universe = sensitivity.queries, sensitivity.universe
    if universe is None or universe.listed is not None:
        raise TooLarge("these queries are no products: nobody says which attributes the records have")
    tables = [*tables_over(queries, universe)]
    axes = sorted({axis for one in tables for axis in one.axes})
    shared = {axis: shared_classes([one for one in tables if axis in one.axes], axis) for axis in axes}
    # In order of appearance, so that they are the same however the same weights are kept.
    classes = {axis: kinds_of_rows(own[:, None])[1] for axis, own in shared.items()}
    count = len(queries.names)
    weights = {axis: np.ones((count, int(own.max()) + 1), dtype=np.int64) for axis, own in classes.items()}
    units, which = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    kinds = np.ones((len(tables), len(axes)), dtype=np.int64)
    for number, table in enumerate(tables):
        found, each = _as_products(table, queries.names)
        units[table.queries], which[table.queries] = found, number
        for axis, own, size in zip(table.axes, each, table.shape, strict=True):
            weights[axis][table.queries] = own[:, class_of_shared(table, axis, classes[axis])]
            kinds[number, axes.index(axis)] = size
    return ProductQueries(classes, weights, units, which, kinds)


def _as_products(table: WeightTable, names: Sequence[str]) -> tuple[NDArray[np.int64], list[NDArray[np.int64]]]:
    """(k,) and for each axis (k, classes): weights without a common divisor, and what their product is taken times."""
    dense, rows = table.weights, np.arange(len(table.queries))
    first = np.unravel_index((table.flat != 0).argmax(axis=1), table.shape) if table.axes else ()
    found: list[NDArray[np.int64]] = []
    product = np.ones((len(rows), *[1] * len(table.axes)), dtype=np.int64)
    for place in range(len(table.axes)):
        others = [own for number, own in enumerate(first) if number != place]
        fibre = np.moveaxis(dense, place + 1, -1)[(rows, *others)]
        common = np.maximum(np.gcd.reduce(fibre, axis=1), 1)
        fibre = fibre // common[:, None] * np.sign(fibre[rows, first[place]] + (fibre.any(axis=1) == 0))[:, None]
        found.append(np.ascontiguousarray(fibre))
        product = product * fibre.reshape([len(rows), *[-1 if one == place else 1 for one in range(len(table.axes))]])
    own = product[(rows, *first)]
    units = dense[(rows, *first)] // np.where(own == 0, 1, own)
    same = (dense == product * units.reshape(-1, *[1] * len(table.axes))).reshape(len(rows), -1).all(axis=1)
    if not np.all(same):
        name = names[table.queries[int(same.argmin())]]
        raise TooLarge(f"these queries are not all products of weights along attributes: '{name}' is none")
    return units, found


def in_products(
    sensitivity: Sensitivity, queries: ProductQueries, products: Sequence[ProductStrategy], product_of: Sequence[int]
) -> AdditiveMechanism:
    """The answers with noise in these products; ``product_of`` (K,): of which each answer is made.

    Guarantee: answers are of the sensitivity's very weights, held against what is measured when the mechanism is made.
    Raises: CertificateRefused where an answer is not made of its product's numbers; TooLarge.
    """
    measured = ProductNumbers(sensitivity.metric, queries.classes, tuple(products))
    which, ends = np.asarray(product_of), np.cumsum([0, *(one.numbers for one in products)])
    if which.shape != queries.units.shape or not np.all((which >= 0) & (which < len(products))):
        raise CertificateRefused("every answer is made of the numbers of one of the products")
    _require_few(len(which), int(ends[-1]))
    numerators = np.zeros((len(which), int(ends[-1])), dtype=np.int64)
    divisors = [Fraction(1)] * len(which)
    for number, one in enumerate(products):
        rows = np.flatnonzero(which == number)
        if not rows.size:
            continue
        at_once = max(_ENTRIES_AT_ONCE // one.numbers, 1)  # so few stay near the processor
        factors = _taken(queries, one, rows)
        for start in range(0, len(rows), at_once):
            here = slice(start, start + at_once)
            found = np.sign(queries.units[rows[here]])[:, None]
            for along, of_each in factors:
                found = (found[:, :, None] * along[of_each[here], None, :]).reshape(len(found), -1)
            numerators[rows[here], ends[number] : ends[number + 1]] = found
        whole = 2 ** sum(factor.bits for _, factor in one.factors) * measured.steps_per_count
        for row in rows[queries.units[rows] != 0].tolist():
            divisors[row] = Fraction(whole, int(abs(queries.units[row])))
    return AdditiveMechanism(NAME, sensitivity, measured.law, IntegerMixing(numerators, tuple(divisors), measured))


def require_laid_out(queries: ProductQueries) -> None:
    """Raises: TooLarge where what answers take of any products is too much: these have no fewer numbers than the
    largest table of weights has cells."""
    _require_few(len(queries.units), int(queries.kinds.prod(axis=1, dtype=np.float64).max(initial=0)))


def _require_few(answers: int, numbers: int) -> None:
    if answers * numbers > MOST_ENTRIES:
        raise TooLarge(
            f"{answers:,} answers that share {numbers:,} noisy numbers are not laid out; at most {MOST_ENTRIES:,} "
            "pairs are"
        )


def product_of(mixing: IntegerMixing) -> list[int]:
    """(K,): of which product's numbers each answer takes noise; of the first where it takes none."""
    widths = [block.size for block in mixing.measured.blocks]
    parts = np.split(mixing.numerators, np.cumsum(widths)[:-1], axis=1)
    found: list[int] = np.argmax([part.any(axis=1) for part in parts], axis=0).tolist()
    return found


def _taken(
    queries: ProductQueries, product: ProductStrategy, rows: NDArray[np.int64]
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Of each attribute (different, numbers) and (rows,): what answers take along it of the product's noisy numbers,
    and which of that each answer. All of it multiplied is what it takes, over its unit and two to the bits."""
    factors, largest, found = dict(product.factors), 1, []
    for axis, weights in queries.weights.items():
        own, which = distinct_rows(weights[rows])
        if axis not in factors:  # what is not the same for all its values is refused when the mechanism is made
            along = own[:, :1].astype(object)
        else:
            factor = factors[axis]
            along = own[:, np.unique(factor.kinds, return_index=True)[1]].astype(object) @ factor.inverse
        largest *= int(np.abs(along).max(initial=0)) or 1
        if largest >= _LARGEST:
            raise TooLarge("what answers take of noise in these products is not laid out in 64-bit integers")
        found.append((along.astype(np.int64), which))
    return found
