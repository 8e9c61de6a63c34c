"""Features: groups of coordinates of which each record's are known to lie in a body, whatever the record."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.numeric.arrays import block_slices
from dxgeom.numeric.sealed import DefinedByNumbers

GroupKind: TypeAlias = Literal["box", "ball", "choice"]
ROUNDED = 2.0**-40
"""By how much the length of a vector scaled to 1 in float64 may pass 1; bodies are as much larger."""


@final
@dataclass(frozen=True)
class FeatureGroup(DefinedByNumbers):
    """Coordinates that belong together, and where each record's are.

    *box*: each within [−1, 1]. *ball*: a vector of length at most 1, up to :data:`ROUNDED`. *choice*: 0 but for at most
    one 1, as of a value that is one of several.
    """

    names: tuple[str, ...]
    kind: GroupKind

    def __post_init__(self) -> None:
        if self.kind not in ("box", "ball", "choice") or not self.names:
            raise UnsupportedCombination("a group of features has names, and is a box, a ball or a choice")

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return len(self.names)

    @property
    def longest_square(self) -> float:
        """The largest ‖·‖₂² of a record's coordinates here, *rounded up*."""
        return {"box": float(self.size), "ball": (1 + ROUNDED) ** 2 * (1 + ROUNDED), "choice": 1.0}[self.kind]

    @property
    def usual_square(self) -> float:
        """What a coordinate's square may be on average, for plans: no guarantee rests on it."""
        return {"box": 0.25, "ball": 0.5 / self.size, "choice": 1 / self.size}[self.kind]

    def holds(self, rows: NDArray[np.float64]) -> bool:
        """Whether all rows (n, size) lie where they are said to; decided exactly but for a ball's allowance."""
        match self.kind:
            case "box":
                return bool(np.all(np.abs(rows) <= 1))
            case "choice":
                return bool(np.all((rows == 0) | (rows == 1)) and np.all(rows.sum(axis=1) <= 1))
            case _:
                return bool(np.all(np.einsum("ni,ni->n", rows, rows) <= 1 + ROUNDED))


@final
@dataclass(frozen=True)
class Features(DefinedByNumbers):
    """The groups of a model's features, in order; all records' features lie in the product of theirs."""

    groups: tuple[FeatureGroup, ...]

    def __post_init__(self) -> None:
        if not self.groups or len(set(self.names)) != len(self.names):
            raise UnsupportedCombination("features have names, each its own")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The coordinates' names."""
        return tuple(name for group in self.groups for name in group.names)

    @property
    def dimension(self) -> int:
        """The number m of coordinates."""
        return len(self.names)

    @property
    def blocks(self) -> list[slice]:
        """Where each group's coordinates are."""
        return list(block_slices(group.size for group in self.groups))

    @property
    def longest_square(self) -> float:
        """The largest ‖a‖₂² of a record's features, *rounded up*."""
        return sum(group.longest_square for group in self.groups) * (1 + ROUNDED)

    def with_last(
        self, data: ArrayLike, last: str, nobody: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Features (n, m), checked, and what stands behind them in each row (n,), called ``last``.

        Raises: DataError for what is no table of these, or has no record, unless ``nobody`` may be there.
        """
        try:
            table = np.asarray(data, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError("a table of features holds numbers only") from error
        if table.ndim != 2 or table.shape[1] != self.dimension + 1 or not (len(table) or nobody):
            raise DataError(
                f"the table has {self.dimension} features and a {last} for each record, and a record at least; found "
                f"shape {table.shape}"
            )
        rows = np.ascontiguousarray(table[:, :-1])
        self.check(rows)
        return rows, table[:, -1]

    def check(self, rows: NDArray[np.float64]) -> None:
        """Raises: DataError for features that are not where they are said to be."""
        if rows.ndim != 2 or rows.shape[1] != self.dimension or not np.all(np.isfinite(rows)):
            raise DataError(f"the features are {self.dimension} finite numbers for each record")
        for group, block in zip(self.groups, self.blocks, strict=True):
            if not group.holds(rows[:, block]):
                raise DataError(
                    f"some record's '{group.names[0]}' and what belongs to it is no point of its {group.kind}"
                )


@final
@dataclass(frozen=True)
class Change(DefinedByNumbers):
    """What some pairs of neighbouring records, at least ``distance`` nats apart at spend 1, can change.

    ``reaches``: for each group of features, c with the change of the gradient's coordinates there within c times the
    group's own body: [−1, 1] of a box, the unit ball of a ball, ℓ₁ ≤ 1 of a choice. ``bends``: whether the Hessian
    changes, by a positive part of rank 1; a label alone changes none.
    """

    distance: Fraction
    reaches: tuple[Fraction, ...]
    bends: bool = True
