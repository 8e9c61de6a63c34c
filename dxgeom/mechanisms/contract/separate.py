"""Several mechanisms on separate blocks of records as one: each has the spend whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require, require_function
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.contract.parts import kept_by, recalled_by, require_fixed
from dxgeom.metrics.components import SeparateBlocks, separate_blocks
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest

_NAME: Final = "give the name that a ledger is to know the mechanism by"


@final
@dataclass(frozen=True, eq=False)
class Parallel(HistogramMechanism[tuple[Any, ...]]):
    """Part b answers about the records of block b alone, at the whole spend, see :func:`in_parallel`.

    Guarantee: replacing record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). Records of
    two blocks are infinitely far apart under d, so a replacement that counts stays within one block, where only one
    part sees it. How many records each block holds is public.
    Raises: UnsupportedCombination when a part was made for other records than its block's, or is a sequence: make a
    sequence of parallels instead, which says the same.
    """

    name: str
    blocks: SeparateBlocks = field(repr=False)
    parts: tuple[HistogramMechanism[Any], ...] = field(repr=False)

    def __post_init__(self) -> None:
        require_fixed(
            self.parts,
            HistogramMechanism,
            "the part of a block is a mechanism on its histogram: of sequences, make a sequence of parallels; apply "
            "functions to the answer of all blocks",
        )
        if len(self.parts) != len(self.blocks.members):
            raise UnsupportedCombination(f"{len(self.blocks.members)} blocks have a part each, found {len(self.parts)}")
        for part, metric in zip(self.parts, self.blocks.metrics, strict=True):
            if part.metric is not metric:
                raise UnsupportedCombination("the part of a block is made with the metric that is handed to make")
            if part.absent is not None:
                raise UnsupportedCombination(
                    "the numbers of records of parallel blocks are public, this part hides its own"
                )

    @property
    def metric(self) -> VerifiedMetric:
        """The metric on all records."""
        return self.blocks.whole

    @cached_property
    def fingerprint(self) -> str:
        parts = [part.fingerprint for part in self.parts]
        return canonical_digest("parallel", self.metric.fingerprint, list(self.blocks.members), parts)

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        super().check(data, spend)
        for part, counts in zip(self.parts, self.blocks.cut(data), strict=True):
            part.check(counts, spend)

    def check_size(self, records: int, spend: Fraction) -> None:
        """Nothing of its own: each part is asked about the records of its block."""

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Any, ...]]:
        """The answers of all parts, in the blocks' order."""
        cut = zip(self.parts, self.blocks.cut(counts), strict=True)
        return list(zip(*(part.drawn(inside, spend, count, randomness) for part, inside in cut), strict=True))

    def kept(self, answer: Any) -> Any:
        return kept_by(self.parts, answer)

    def recalled(self, kept: Any) -> tuple[Any, ...]:
        return recalled_by(self.parts, kept)

    def answer_bytes(self, spend: Fraction) -> int:
        return sum(part.answer_bytes(spend) for part in self.parts)


def in_parallel(
    metric: VerifiedMetric,
    labels: ArrayLike,
    make: Callable[[VerifiedMetric, NDArray[np.int64]], HistogramMechanism[Any]],
    name: str = "parallel",
) -> Parallel:
    """One mechanism for each block of records that the policy keeps apart, all at the price of one.

    Args: ``labels`` (N,): the block of each record type, as a policy with ``partition`` or an attribute that no rule
    speaks of implies. ``make(metric, members)``: the part of a block, given the metric on its records and their
    indices.
    Raises: UnsupportedCombination when the metric hides two blocks' records from each other, naming two; else as
    :class:`Parallel`.
    """
    require(name, str, "name", _NAME)
    require_function(make, "make", "pass one that makes a mechanism of a block's metric and its records' indices")
    blocks = separate_blocks(metric, labels)
    return Parallel(name, blocks, tuple(map(make, blocks.metrics, blocks.members)))
