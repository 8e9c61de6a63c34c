"""Bounds of plain arrays: public, never read off the data; rows are scaled by them and lie within afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import ArrayError, UnsupportedCombination, WrongArgument
from dxgeom.learning.perturbed.features import ROUNDED

Outside: TypeAlias = Literal["refuse", "clip"]


@final
@dataclass(frozen=True, eq=False)
class ColumnBounds:
    """low ≤ x ≤ high for each column; ``low``, ``high`` (p,): float64, finite, low < high."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def middle(self) -> NDArray[np.float64]:
        """(p,): what is scaled to 0."""
        return np.asarray(self.low / 2 + self.high / 2)

    @property
    def half(self) -> NDArray[np.float64]:
        """(p,): what a distance of 1 is worth."""
        return np.asarray(self.high / 2 - self.low / 2)

    @property
    def around_zero(self) -> ColumnBounds:
        """The least bounds that hold these and are symmetric: for a model without an intercept, where 0 stays 0."""
        reach = np.maximum(np.abs(self.low), np.abs(self.high))
        return ColumnBounds(-reach, reach)

    def scaled(self, table: NDArray[np.float64], outside: Outside, what: str = "X") -> NDArray[np.float64]:
        """Rows (n, p) within [−1, 1]ᵖ, each a function of its own row alone.

        Raises: ArrayError for rows beyond the bounds, unless they are to be clipped; nothing was spent.
        """
        beyond = np.any((table < self.low) | (table > self.high), axis=1)
        _refuse(int(beyond.sum()), len(table), outside, f"{what} has rows beyond its bounds")
        return np.clip((np.clip(table, self.low, self.high) - self.middle) / self.half, -1.0, 1.0)


def column_bounds(bounds: Any, columns: int, what: str = "bounds") -> ColumnBounds:
    """Bounds for so many columns: a pair of numbers for all of them, or of lists with one number for each.

    Raises: UnsupportedCombination, WrongArgument.
    """
    try:
        low, high = (np.asarray(one, dtype=np.float64) for one in bounds)
        low, high = (np.broadcast_to(one, (columns,)).copy() for one in (low, high))
    except (TypeError, ValueError) as error:
        raise WrongArgument(
            f"'{what}' is a pair (low, high) of numbers, or of lists with a number for each of the {columns} columns; "
            "they are public, and must not be read off the data"
        ) from error
    with np.errstate(over="ignore"):
        half = high / 2 - low / 2
    if not np.all(np.isfinite(low) & np.isfinite(high) & (low < high) & (half > 0)):
        raise UnsupportedCombination(f"each column's bounds are finite numbers with low < high, found {bounds!r}")
    return ColumnBounds(low, high)


def scaled_to_ball(table: NDArray[np.float64], radius: float, outside: Outside) -> NDArray[np.float64]:
    """Rows (n, p) of length at most 1: divided by ``radius``, and shortened where they are to be clipped.

    Raises: ArrayError for longer rows, unless they are to be clipped; nothing was spent.
    """
    rows = table / radius
    with np.errstate(over="ignore"):
        lengths = np.linalg.norm(rows, axis=1)
    _refuse(int(np.sum(~(lengths <= 1 + ROUNDED / 4))), len(rows), outside, "X has rows longer than the radius")
    largest = np.maximum(np.abs(rows).max(axis=1, keepdims=True), 1.0)
    rows = rows / largest  # so that nothing overflows
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows * np.where(lengths * largest > 1, 1 / np.maximum(lengths, 1e-300), largest))


def _refuse(beyond: int, rows: int, outside: Outside, what: str) -> None:
    if outside not in ("refuse", "clip"):
        raise UnsupportedCombination(f"outside is 'refuse' or 'clip', found {outside!r}")
    if beyond and outside == "refuse":
        raise ArrayError(
            f"{what}: {beyond:,} of {rows:,}; correct them, state wider bounds, or ask for outside='clip', which moves "
            "them to the nearest bound; nothing was spent"
        )
