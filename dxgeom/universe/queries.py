"""Linear queries: each answer is a weighted sum over record types, with exact weights."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.universe.universe import Universe

LARGEST_NUMERATOR = 2**52
_TOO_WIDE = "over their common unit the weights of a query stay below 2**52: round them to fewer digits"


@final
@dataclass(frozen=True, eq=False)
class LinearQueries:
    """K named linear queries over N record types: answer k is Σ_i numerators[k, i]·units[k]·x_i, exactly.

    ``numerators`` (K, N): int64 below 2⁵² in magnitude; ``units``: positive rationals. ``universe`` is None for queries
    given as a bare matrix; ``records`` is the public number of records where a query (a mean) was divided by it, so it
    is None where records may be absent. The absent record has the weight 0 in every query.
    """

    names: tuple[str, ...]
    numerators: NDArray[np.int64] = field(repr=False)
    units: tuple[Fraction, ...] = field(repr=False)
    universe: Universe | None = field(default=None, repr=False)
    records: int | None = None

    def __post_init__(self) -> None:
        shape = self.numerators.shape
        _require(
            self.numerators.ndim == 2 and shape[0] > 0 and shape[1] > 0,
            f"queries form a K × N matrix, found shape {shape}",
        )
        _require(shape[0] == len(self.names) == len(self.units), "every query has one name, one row and one unit")
        _require(len(set(self.names)) == len(self.names), "query names are distinct")
        _require(all(unit > 0 for unit in self.units), "units are positive")
        largest = max(int(self.numerators.max()), -int(self.numerators.min()))
        _require(largest < LARGEST_NUMERATOR, _TOO_WIDE)
        sized = self.universe is None or self.universe.size == shape[1]
        _require(sized, f"queries have one weight per record type, found {shape[1]}")
        absent = None if self.universe is None else self.universe.absent
        if absent is not None:
            require_nothing_for_absence(self.numerators, absent)
            _require(self.records is None, "where records may be absent, no query divides by their number")

    @classmethod
    def from_matrix(cls, names: Sequence[str], matrix: ArrayLike, universe: Universe | None = None) -> LinearQueries:
        """Queries from a K × N matrix of numbers.

        Integers and ``Fraction`` entries are taken exactly. A float64 entry is taken to 51 bits below the largest entry
        of its row. Where the universe has an absent record, its column of zeros may be left out.
        Raises: UnsupportedCombination for NaN, infinities, words, or a shape that does not fit.
        """
        try:
            raw = np.asarray(matrix)
        except ValueError as error:
            raise UnsupportedCombination("queries form a K × N matrix, found rows of different lengths") from error
        _require(raw.ndim == 2, f"queries form a K × N matrix, found shape {raw.shape}")
        if universe is not None and universe.absent is not None and raw.shape[1] == universe.record_types:
            raw = np.concatenate([raw, np.zeros((len(raw), 1), dtype=raw.dtype)], axis=1)
        rows = [_exact_row(row) for row in raw]
        largest = max((abs(entry) for row, _ in rows for entry in row), default=0)
        _require(largest < LARGEST_NUMERATOR, _TOO_WIDE)
        numerators = np.array([row for row, _ in rows], dtype=np.int64).reshape(raw.shape)
        return cls(tuple(names), numerators, tuple(unit for _, unit in rows), universe)

    @property
    def count(self) -> int:
        """The number K of queries."""
        return int(self.numerators.shape[0])

    @property
    def size(self) -> int:
        """The number N of record types."""
        return int(self.numerators.shape[1])

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The weights as float64 (K, N), each correctly rounded up to its last place."""
        return np.asarray(self.numerators * np.array([float(unit) for unit in self.units])[:, None])

    def answers(self, counts: NDArray[np.int64]) -> list[Fraction]:
        """The exact answers on a histogram. **Not private.**"""
        return [unit * total for unit, total in zip(self.units, integer_totals(self.numerators, counts), strict=True)]

    @property
    def fingerprint(self) -> str:
        """SHA-256 of names and exact weights."""
        digest = hashlib.sha256(repr((self.names, [str(unit) for unit in self.units], self.numerators.shape)).encode())
        digest.update(np.ascontiguousarray(self.numerators).tobytes())
        return digest.hexdigest()


def require_nothing_for_absence(numerators: NDArray[np.int64], absent: int) -> None:
    """A weight for the absent record would count who is not there, and hide who is.

    Raises: UnsupportedCombination.
    """
    _require(not np.any(numerators[:, absent]), "every query gives the absent record, the last one, the weight 0")


def integer_totals(numerators: NDArray[np.int64], counts: NDArray[np.int64]) -> list[int]:
    """``numerators @ counts`` without overflow; exact."""
    present = np.flatnonzero(counts)
    weights, present_counts = numerators[:, present], counts[present]
    largest = int(np.abs(weights).max(initial=0)) * int(present_counts.sum(dtype=object))
    if largest < 2**62:
        return [int(total) for total in weights @ present_counts]
    return [int(np.dot(row.astype(object), present_counts.astype(object))) for row in weights]


def _exact_row(row: NDArray[Any]) -> tuple[list[int], Fraction]:
    """A row's integer numerators and their unit."""
    if row.dtype.kind in "iub":
        return [int(entry) for entry in row], Fraction(1)
    if row.dtype.kind == "f":
        _require(bool(np.all(np.isfinite(row))), "weights are finite numbers")
        _, exponent = np.frexp(np.max(np.abs(row), initial=0.0))
        places = 51 - int(exponent)
        scaled = np.rint(np.ldexp(row.astype(np.float64), places)).astype(np.int64)
        return _lowest_terms([int(entry) for entry in scaled], Fraction(2) ** -places)
    _require(row.dtype == object, f"weights are numbers, found {row.dtype}")
    exact = [_exact(entry) for entry in row]
    denominator = math.lcm(*(entry.denominator for entry in exact))
    return [int(entry * denominator) for entry in exact], Fraction(1, denominator)


def _lowest_terms(numerators: list[int], unit: Fraction) -> tuple[list[int], Fraction]:
    divisor = math.gcd(*numerators) or 1
    return [numerator // divisor for numerator in numerators], unit * divisor


def _exact(entry: Any) -> Fraction:
    try:
        return Fraction(entry)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnsupportedCombination(f"weights are finite numbers, found {entry!r}") from error


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise UnsupportedCombination(rule)
