"""What every metric on possible records offers, and the record of how its axioms were established.

Which data an account is about: policies come and go, and editions follow each other, while the people stay.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.displayed import Displayed
from dxgeom.errors import LedgerError, NotAMetric, TooLarge
from dxgeom.numeric.sealed import Sealed

Verdict: TypeAlias = Literal["holds", "within rounding"]


@final
@dataclass(frozen=True, repr=False)
class MetricCertificate(Displayed):
    """Why the axioms of a pseudometric hold.

    ``form``: the metric's family. ``reason``: the theorem or the check, in words. ``pairs``, ``triples``: how many
    were compared one by one (0 where a theorem covers them all). ``verdict``: "within rounding" when float64 input
    broke the triangle inequality by no more than its own rounding, ``excess`` by how much, relative to the entry,
    ``tolerance`` how much was allowed (0 where the decision is exact).
    """

    form: str
    size: int
    reason: str
    pairs: int = 0
    triples: int = 0
    verdict: Verdict = "holds"
    excess: float = 0.0
    tolerance: float = 0.0
    parts: tuple[MetricCertificate, ...] = ()

    def lines(self, indent: str = "") -> list[str]:
        """The certificate for a reader, one line per part."""
        checked = f"; {self.pairs:,} pairs and {self.triples:,} triples checked" if self.pairs else ""
        rounding = (
            f"; within rounding of equality (relative excess {self.excess:.3g}, allowed {self.tolerance:.3g})"
            if self.excess
            else ""
        )
        head = f"{indent}{self.form} on {self.size:,} values: {self.reason}{checked}{rounding}"
        return [head, *(line for part in self.parts for line in part.lines(indent + "  "))]

    def as_dict(self) -> dict[str, Any]:
        """The certificate ready for JSON."""
        return {**vars(self), "parts": [part.as_dict() for part in self.parts]}


def require(holds: bool, rule: str) -> None:
    """What a proof rests on.

    Raises: NotAMetric, which states the rule, when it does not hold.
    """
    if not holds:
        raise NotAMetric(rule, ())


PAIRS_PER_BLOCK = 1 << 18
"""How many pairs a block of generating pairs holds at most; keeps memory flat on large universes."""


class PairBlock(NamedTuple):
    """Pairs ``(first[k], second[k])`` with ``bound[k]``, an upper bound of the metric, rounded down."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    bound: NDArray[np.float64]


NO_PAIRS: Final = PairBlock(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))


class Metric(Sealed, ABC):
    """A pseudometric on possible records 0..size-1 with values in [0, ∞], in nats of distinguishability.

    Definition: the shortest-path closure of its generating pairs. For any norm, a linear map changes by at most
    d(i, j) on all pairs iff it does on the generating ones, so these are all that a mechanism has to check.

    Laws: distance(i, i) = 0; symmetry; triangle inequality (up to the rounding down of each distance);
    the shortest path over generating pairs is the distance (again up to rounding).

    Guarantee: every float handed out, bounds and distances, is *rounded down*.
    """

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of possible records."""

    @abstractmethod
    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        """d(i, j), elementwise over broadcast index arrays, rounded down."""

    @abstractmethod
    def generating_pairs(self) -> Iterator[PairBlock]:
        """Pairs that generate the metric, none with an infinite bound.

        Each unordered pair comes at most once, but for ceilings and groups: their pairs may come again.
        """

    @abstractmethod
    def certificate(self) -> MetricCertificate:
        """Why it is a pseudometric: by theorem from its defining data, which are checked here.

        Raises: NotAMetric when the data break a rule that the theorem rests on.
        """


def all_pairs(size: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Every unordered pair of 0..size-1 once, as index arrays in blocks."""
    rows = max(1, PAIRS_PER_BLOCK // max(size, 1))
    for start in range(0, size - 1, rows):
        stop = min(start + rows, size - 1)
        first = np.repeat(np.arange(start, stop), size - 1 - np.arange(start, stop))
        second = np.concatenate([np.arange(row + 1, size) for row in range(start, stop)])
        yield first, second


def pairs_at_a_finite_distance(metric: Metric) -> Iterator[PairBlock]:
    """All pairs with their distances, which generate any metric."""
    for first, second in all_pairs(metric.size):
        apart = metric.distance(first, second)
        finite = np.isfinite(apart)
        yield PairBlock(first[finite], second[finite], apart[finite])


def gathered(blocks: Iterable[PairBlock], most: int, refusal: str) -> PairBlock:
    """All blocks in one.

    Raises: TooLarge, which says ``refusal``, for more than ``most`` pairs.
    """
    found, left = [NO_PAIRS], most
    for pairs in blocks:
        left -= pairs.first.size
        if left < 0:
            raise TooLarge(refusal)
        found.append(pairs)
    return PairBlock(*map(np.concatenate, zip(*found, strict=True)))


@final
@dataclass(frozen=True)
class DataSet:
    """The data that a release reads, as its data holder calls them.

    ``name``: the same for all policies and editions that are about the same people; None where nobody named it, and
    then a ledger serves one policy only. ``edition``: which version of the data. ``disjoint``: no person is in two
    editions, so that what is spent on one is not spent on another; else spends add across editions. ``budget``: a cap
    on the sum of all spends under whatever policies (of one edition, where editions are disjoint); about a pair (i, j)
    it promises that all releases together tell at most budget · max_k d_k(i, j), k over the policies.
    Raises: LedgerError where these do not go together.
    """

    name: str | None = None
    edition: str | None = None
    disjoint: bool = False
    budget: Fraction | None = None

    def __post_init__(self) -> None:
        if self.name is None and (self.edition is not None or self.disjoint or self.budget is not None):
            raise LedgerError("a data set that has an edition or a budget has a name; add 'name' to the dataset")
        if self.disjoint and self.edition is None:
            raise LedgerError("people that are disjoint between editions need an edition; add 'edition' to the dataset")

    def completed(self, given: DataSet) -> DataSet:
        """This data set, with what else was said of it. Raises: LedgerError when that contradicts what it says."""
        if self.name is None:
            return given
        stated = ((self.name, given.name), (self.edition, given.edition), (self.budget, given.budget))
        contradicts = any(None not in pair and pair[0] != pair[1] for pair in stated)
        if contradicts or (given.disjoint and not self.disjoint):
            raise LedgerError(
                f"the policy is about {self}, and these were said to be {given}; what a policy states is not "
                "overridden: leave the data set out, or change the policy"
            )
        return DataSet(self.name, self.edition or given.edition, self.disjoint, self.budget or given.budget)

    def __str__(self) -> str:
        named = "a data set without a name" if self.name is None else f"data set '{self.name}'"
        return named if self.edition is None else f"{named}, edition '{self.edition}'"


UNNAMED = DataSet()
"""Data that nobody named: their ledger serves one policy."""
