"""What a distance between two values of an attribute is: one abstract axis for lines, places and graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.metrics.metric import Metric
from dxgeom.numeric.rounding import round_up

MAX_PAIRS: Final = 20_000_000

Amount: TypeAlias = Fraction | float
"""An exact number, or a float *rounded down*, or ∞."""
Codes: TypeAlias = NDArray[np.int64]
Pairs: TypeAlias = tuple[Codes, Codes]
Row: TypeAlias = NDArray[Any]
"""Amounts of many pairs: whole numbers of any size (int64, object or float64) and ∞, or float64."""


class Axis(ABC):
    """Distances between the codes 0..size-1 of one attribute, along one way to measure them.

    Definition: D(a, b) ≥ 0, symmetric, 0 for a = b, ∞ where no way leads from one to the other; a pseudometric.
    Laws: with a ``grain`` every distance is an *exact* whole multiple of it; without one (``grain`` is None) distances
    are float64, *rounded down*, and a pair that cannot be told from a reach is within it. Two axes are equal iff
    they measure alike.
    ``name``: how fingerprints call it; ``in_order``: whether codes stand on a line in their order, so that distances of
    neighbouring codes add up.
    """

    name: str
    in_order: ClassVar[bool]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many codes there are."""

    @property
    @abstractmethod
    def grain(self) -> Fraction | None:
        """What distances are whole multiples of; None where they are rounded."""

    @abstractmethod
    def between(self, start: int, end: int) -> Amount:
        """D(start, end)."""

    @abstractmethod
    def apart(self, first: Codes, second: Codes) -> Row:
        """D(first, second), in grains, for arrays of codes of one common shape."""

    @abstractmethod
    def within(self, reach: Fraction) -> Callable[[Codes, Codes], NDArray[np.bool_]]:
        """Whether D(first, second) ≤ reach, the border included, for arrays of codes of one common shape."""

    def is_within(self, start: int, end: int, reach: Fraction) -> bool:
        """The same for two codes."""
        apart = self.between(start, end)
        return apart <= (reach if isinstance(apart, Fraction) else round_up(reach))

    @abstractmethod
    def pairs(self, reach: Fraction) -> Pairs:
        """All unordered pairs of different codes within ``reach``, lower code first.

        Raises: TooLarge above ``MAX_PAIRS``, before the memory is taken.
        """

    @abstractmethod
    def metric(self, rate: Fraction, floor: Fraction) -> Metric:
        """The metric max(floor, rate·D(a, b)) for a ≠ b, in its most structured form; *rounded down*.

        Raises: TooLarge.
        """


def runs(starts: Codes, counts: Codes) -> Pairs:
    """Runs of so many consecutive numbers from each start, one after another: which run each is of, and the number."""
    which = np.repeat(np.arange(counts.size), counts)
    return which, np.arange(which.size) + (starts - np.cumsum(counts) + counts)[which]


def too_many_pairs(count: int, about: str = "about") -> TooLarge:
    """The refusal of so many near pairs."""
    return TooLarge(
        f"'within' selects {about} {count:,} pairs of values; at most {MAX_PAIRS:,} are handled: "
        "use a shorter distance, coarser values, or 'per'"
    )
