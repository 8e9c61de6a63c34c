"""Statistics that add up polynomials of each record's bounded numbers, exactly, on a lattice.

Polynomials over the unit box with exact coefficients: evaluation in float64, and nothing else. Columns of bounded
numbers: each value is moved into its box and onto a grid before anything is computed.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias, final

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_mpoly_ctx
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require
from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.numeric.exact_numbers import rational
from dxgeom.numeric.sealed import Sealed, cached_property, canonical_digest
from dxgeom.universe.decimals import NotANumber, exact


@final
@dataclass(frozen=True, eq=False)
class BoxPolynomials(Sealed):
    """R polynomials on [0, 1]ᵖ without constant term: row r is Σ_k coefficients[r, k]·Π_j z_j^exponents[k, j].

    ``exponents`` (M, p): int64, distinct rows, none of them zero; ``coefficients`` (R, M): Python integers.
    """

    exponents: NDArray[np.int64]
    coefficients: NDArray[Any]

    @property
    def variables(self) -> int:
        """The number p of variables."""
        return int(self.exponents.shape[1])

    @property
    def degree(self) -> int:
        """The largest total degree of a monomial."""
        return int(self.exponents.sum(axis=1).max())

    @cached_property
    def float_coefficients(self) -> NDArray[np.float64]:
        """The coefficients, correctly rounded."""
        return self.coefficients.astype(np.float64)

    def values(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """(B, R) at points (B, p), up to the rounding of float64."""
        return np.asarray(monomials(self.exponents, points) @ self.float_coefficients.T)

    def combined(self, weights: NDArray[Any]) -> BoxPolynomials:
        """Rows Σ_r weights[f, r]·(row r), for integer weights (F, R)."""
        return BoxPolynomials(self.exponents, weights.astype(object) @ self.coefficients)

    def by_variables(self) -> list[tuple[list[int], BoxPolynomials]]:
        """The rows in groups that use the same variables, each without the others; and which rows each holds.

        Rows that are zero are in no group.
        """
        used = (self.coefficients != 0) @ (self.exponents > 0)
        groups: dict[tuple[int, ...], list[int]] = {}
        for row, flags in enumerate(used.astype(bool)):
            groups.setdefault(tuple(np.flatnonzero(flags).tolist()), []).append(row)
        found = []
        groups.pop((), None)
        for variables, rows in groups.items():
            kept = np.any(self.coefficients[rows] != 0, axis=0)
            exponents = self.exponents[kept][:, list(variables)]
            found.append((rows, BoxPolynomials(exponents, self.coefficients[np.ix_(rows, kept)])))
        return found


def monomials(exponents: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(B, M): each monomial at each point (B, p)."""
    return np.asarray(np.prod(points[:, None, :] ** exponents[None, :, :], axis=2))


Number: TypeAlias = int | float | str | Decimal | Fraction

FINEST = 2**24
"""A column has at most so many grid steps: beyond, float64 data would not tell neighbouring grid points apart safely
after a product, and sums would leave 64-bit integers early."""
DEFAULT_STEPS = 2**20
"""Grid steps of a column without a step of its own: a value moves by at most a two-millionth of the range."""


@final
@dataclass(frozen=True)
class BoundedColumn:
    """The grid ``low, low + step, …, high``; a value is clipped to [low, high] and moved to a nearest grid point.

    All three are exact rationals, ``steps`` = (high − low)/step is a whole number. What a record holds outside the
    box is not looked at any further, so the sensitivity of whatever is computed from grid points is bounded.
    """

    name: str
    low: Fraction
    high: Fraction
    step: Fraction

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise UnsupportedCombination(f"column '{self.name}' needs low < high, found {self.low} and {self.high}")
        if not (self.step > 0 and ((self.high - self.low) / self.step).denominator == 1):
            raise UnsupportedCombination(f"the step {self.step} of column '{self.name}' does not divide high − low")
        if self.steps > FINEST:
            raise UnsupportedCombination(f"column '{self.name}' has {self.steps:,} grid steps; {FINEST:,} are allowed")

    @property
    def steps(self) -> int:
        """The number of grid steps from low to high."""
        return int((self.high - self.low) / self.step)

    def grid_points(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The grid point, counted from low, of each value.

        Guarantee: within 0…steps, and a function of the value alone; a nearest point up to the rounding of float64.
        Raises: DataError for NaN, which is nowhere.
        """
        if np.any(np.isnan(values)):
            raise DataError(f"column '{self.name}' holds a value that is no number; drop such records first")
        clipped = np.clip(values, float(self.low), float(self.high))
        places = np.rint((clipped - float(self.low)) / float(self.step)).astype(np.int64)
        return np.clip(places, 0, self.steps)


def bounded_column(name: str, low: Number, high: Number, step: Number | None = None) -> BoundedColumn:
    """A column of numbers between two public bounds, which must not be read off the data.

    Numbers are taken as written: 0.1 is a tenth. Without a step there are 2²⁰ grid steps.
    Raises: UnsupportedCombination for bounds that make no box.
    """
    bounds = _number(low, name), _number(high, name)
    width = (bounds[1] - bounds[0]) / DEFAULT_STEPS if step is None else _number(step, name)
    return BoundedColumn(name, *bounds, width)


def grid_table(columns: Sequence[BoundedColumn], table: ArrayLike) -> NDArray[np.int64]:
    """The grid points (n, p) of a table (n, p) with one column of numbers for each bounded column.

    Raises: DataError when the table has another shape, or holds what is no number.
    """
    try:
        values = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError("a table of bounded columns holds numbers only") from error
    if values.ndim != 2 or values.shape[1] != len(columns):
        raise DataError(f"the table needs {len(columns)} columns, one row per record; found shape {values.shape}")
    placed = [column.grid_points(values[:, index]) for index, column in enumerate(columns)]
    return np.stack(placed, axis=1)


def universe_digest(columns: Iterable[BoundedColumn]) -> str:
    """SHA-256 of all records that these columns can hold, in whatever order they stand: names, bounds and steps."""
    boxes = sorted((column.name, str(column.low), str(column.high), str(column.step)) for column in columns)
    return hashlib.sha256(repr(("any record for any other", boxes)).encode()).hexdigest()


def _number(number: Number, name: str) -> Fraction:
    if isinstance(number, Fraction):
        return number
    above, slash, below = str(number).strip().partition("/")
    try:
        return exact(above) / exact(below) if slash else exact(above)
    except (NotANumber, ZeroDivisionError) as error:
        raise UnsupportedCombination(
            f"the bounds and step of column '{name}' are numbers such as 0.25 or 1/4, found {number!r}"
        ) from error


Monomial: TypeAlias = tuple[str, ...]
"""Column names, repeated for powers: ("x", "x", "y") is x²y."""
Entry: TypeAlias = Mapping[Monomial, int | str | Fraction]
"""A polynomial: its monomials with exact coefficients."""
Powers: TypeAlias = tuple[int, ...]

MOST_ENTRIES = 64
HIGHEST_DEGREE = 8
_ROWS_PER_BLOCK = 1 << 16
_COLUMN = "make a column with bounded_column(name, low, high)"


@final
@dataclass(frozen=True, eq=False)
class PolynomialStatistic(Sealed):
    """T(X) = Σ over records of t(x), t_k(x) = offsets[k] + steps[k]·P_k(g), g the record's grid points.

    P_k has integer coefficients without common divisor and without constant term, so T − n·offsets lies on the lattice
    of ``steps`` exactly. ``terms[k]``: the powers of each monomial of P_k with its coefficient.
    Only :func:`polynomial_statistic` makes one.
    """

    columns: tuple[BoundedColumn, ...]
    names: tuple[str, ...]
    terms: tuple[Mapping[Powers, int], ...]
    steps: tuple[Fraction, ...]
    offsets: tuple[Fraction, ...]

    @property
    def dimension(self) -> int:
        """The number m of entries."""
        return len(self.names)

    @property
    def digest(self) -> str:
        """SHA-256 of columns, names, polynomials, and the lattice they take their values on."""
        columns = [(column.name, column.low, column.high, column.step) for column in self.columns]
        terms = [sorted(entry.items()) for entry in self.terms]
        return canonical_digest("polynomial statistic", columns, self.names, terms, self.steps, self.offsets)

    def part(self, entries: Sequence[int]) -> PolynomialStatistic:
        """These entries alone, on the same lattice, of the columns that they use."""
        used = sorted({j for k in entries for powers in self.terms[k] for j, power in enumerate(powers) if power})
        return PolynomialStatistic(
            tuple(self.columns[j] for j in used),
            tuple(self.names[k] for k in entries),
            tuple({tuple(p[j] for j in used): value for p, value in self.terms[k].items()} for k in entries),
            tuple(self.steps[k] for k in entries),
            tuple(self.offsets[k] for k in entries),
        )

    @cached_property
    def on_unit_box(self) -> BoxPolynomials:
        """The P_k with every column's grid 0…steps divided by its length: same values, on [0, 1]ᵖ."""
        exponents = sorted({powers for entry in self.terms for powers in entry})
        lengths = [math.prod(c.steps**e for c, e in zip(self.columns, powers, strict=True)) for powers in exponents]
        rows = [
            [entry.get(powers, 0) * length for powers, length in zip(exponents, lengths, strict=True)]
            for entry in self.terms
        ]
        return BoxPolynomials(np.array(exponents, dtype=np.int64), np.array(rows, dtype=object))

    def integer_totals(self, table: ArrayLike) -> tuple[list[int], int]:
        """Σ P_k over the records of a table (n, p), exact, and n. **Not private.**

        Values outside a column's box are clipped to it, and moved to a nearest grid point.
        """
        places = grid_table(self.columns, table)
        totals = [0] * self.dimension
        for start in range(0, len(places), _ROWS_PER_BLOCK):
            block = places[start : start + _ROWS_PER_BLOCK]
            for entry, terms in enumerate(self.terms):
                totals[entry] += self._block_total(block, terms)
        return totals, len(places)

    def values(self, totals: Sequence[int | Fraction], records: int) -> tuple[Fraction, ...]:
        """T in its own units from lattice totals."""
        whole = zip(self.offsets, self.steps, totals, strict=True)
        return tuple(records * offset + step * total for offset, step, total in whole)

    def exact(self, table: ArrayLike) -> tuple[Fraction, ...]:
        """T of a table after clipping and moving to the grid, exact. **Not private.**"""
        return self.values(*self.integer_totals(table))

    def _block_total(self, block: NDArray[np.int64], terms: Mapping[Powers, int]) -> int:
        """In 64-bit integers where nothing can overflow, else in Python's."""
        total = 0
        for powers, coefficient in terms.items():
            largest = math.prod(c.steps**e for c, e in zip(self.columns, powers, strict=True))
            kind = np.int64 if largest * len(block) < 2**63 else object
            product = np.ones(len(block), dtype=kind)
            for column, power in enumerate(powers):
                for _ in range(power):
                    product = product * block[:, column].astype(kind)
            total += coefficient * int(product.sum())
        return total


def polynomial_statistic(columns: Iterable[BoundedColumn], entries: Mapping[str, Entry]) -> PolynomialStatistic:
    """The statistic with these entries, each summed over all records.

    Raises: UnsupportedCombination for unknown columns, constant entries, or entries that follow from others.
    TooLarge beyond degree 8 or 64 entries.
    """
    boxes = _boxes(columns, "columns")
    names = [column.name for column in boxes]
    if len(set(names)) != len(names) or not names:
        raise UnsupportedCombination(f"a statistic needs columns with distinct names, found {names}")
    require(entries, Mapping, "entries", "give each entry's monomials by its name")
    for entry in entries.values():
        require(entry, Mapping, "entries", "give each monomial's coefficient, such as {('x', 'y'): 1}")
    if not 0 < len(entries) <= MOST_ENTRIES:
        raise TooLarge(f"a statistic has between 1 and {MOST_ENTRIES} entries, found {len(entries)}")
    polynomials = [_on_grid(boxes, name, entry) for name, entry in entries.items()]
    parts = [_lattice_form(name, polynomial) for name, polynomial in zip(entries, polynomials, strict=True)]
    statistic = PolynomialStatistic(boxes, tuple(entries), *(tuple(column) for column in zip(*parts, strict=True)))
    _check_independent(statistic)
    return statistic


def moments(columns: Iterable[BoundedColumn], degree: int = 2) -> PolynomialStatistic:
    """All sums of monomials up to a degree: Σ x_i, Σ x_i x_j, …

    Entries are named after what they sum: "x", "x·x", "x·y".
    """
    boxes = _boxes(columns, "columns")
    names = [column.name for column in boxes]
    require(degree, int, "degree", "give a whole number such as 2")
    chosen = itertools.chain.from_iterable(
        itertools.combinations_with_replacement(names, size) for size in range(1, degree + 1)
    )
    return polynomial_statistic(boxes, {"·".join(monomial): {monomial: 1} for monomial in chosen})


def regression_statistic(predictors: Iterable[BoundedColumn], response: BoundedColumn) -> PolynomialStatistic:
    """What least squares with an intercept needs: Σ x_j, Σ x_j x_k, Σ y, Σ x_j y.

    Source: Awan & Slavković 2020, §6; corrected: the response is clipped as well, without which nothing is private.
    """
    boxes = _boxes(predictors, "predictors")
    require(response, BoundedColumn, "response", _COLUMN)
    names = [column.name for column in boxes]
    pairs = [*itertools.combinations_with_replacement(names, 2), *((name, response.name) for name in names)]
    chosen = [*((name,) for name in names), (response.name,), *pairs]
    return polynomial_statistic((*boxes, response), {"·".join(monomial): {monomial: 1} for monomial in chosen})


def _boxes(columns: Iterable[BoundedColumn], what: str) -> tuple[BoundedColumn, ...]:
    require(columns, Iterable, what, f"list columns: {_COLUMN}")
    boxes = tuple(columns)
    for column in boxes:
        require(column, BoundedColumn, what, _COLUMN)
    return boxes


def _on_grid(columns: tuple[BoundedColumn, ...], name: str, entry: Entry) -> dict[Powers, Fraction]:
    """The entry as a polynomial in the grid points: every x is replaced by low + step·g."""
    ring = fmpq_mpoly_ctx.get(("g", len(columns)))
    grid = zip(columns, ring.gens(), strict=True)
    numbers = {column.name: rational(column.low) + rational(column.step) * point for column, point in grid}
    total = ring.constant(0)
    for monomial, coefficient in entry.items():
        if len(monomial) > HIGHEST_DEGREE:
            raise TooLarge(f"entry '{name}' has degree {len(monomial)}; {HIGHEST_DEGREE} is the most")
        product = ring.constant(rational(_coefficient(name, coefficient)))
        for factor in monomial:
            if factor not in numbers:
                raise UnsupportedCombination(f"entry '{name}' uses '{factor}', the columns are {', '.join(numbers)}")
            product *= numbers[factor]
        total += product
    return {tuple(map(int, powers)): Fraction(int(x.p), int(x.q)) for powers, x in total.to_dict().items()}


def _coefficient(name: str, number: int | str | Fraction) -> Fraction:
    try:
        return Fraction(number)
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise UnsupportedCombination(f"coefficients of '{name}' are exact numbers, found {number!r}") from error


def _lattice_form(name: str, polynomial: dict[Powers, Fraction]) -> tuple[dict[Powers, int], Fraction, Fraction]:
    """Integer coefficients without common divisor, their step, and the constant."""
    moving = {powers: value for powers, value in polynomial.items() if any(powers)}
    constant = sum((value for powers, value in polynomial.items() if not any(powers)), Fraction(0))
    if not moving:
        raise UnsupportedCombination(f"entry '{name}' is the same for every record: it needs no release")
    denominator = math.lcm(*(value.denominator for value in moving.values()))
    numerators = {powers: int(value * denominator) for powers, value in moving.items()}
    divisor = math.gcd(*numerators.values())
    return {p: n // divisor for p, n in numerators.items()}, Fraction(divisor, denominator), constant


def _check_independent(statistic: PolynomialStatistic) -> None:
    """Refuse entries that follow from others: their differences would span no full-dimensional body."""
    rows = [[fmpq(int(entry)) for entry in row] for row in statistic.on_unit_box.coefficients]
    for count in range(1, len(rows) + 1):
        if fmpq_mat(rows[:count]).rank() < count:
            raise UnsupportedCombination(
                f"entry '{statistic.names[count - 1]}' follows from the entries before it: leave it out"
            )
