"""Quantiles that are asked for, over a universe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.predicates import parse_predicate
from dxgeom.universe.selections import evaluate
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.groups import Groups, GroupValues


@final
@dataclass(frozen=True, eq=False)
class AskedQuantiles:
    """One query: quantiles of an attribute, of some records, or of each group of them.

    ``at``: levels between 0 and 1; ``several``: whether answers are told apart by them. ``where``: a condition in
    words, None for all records. ``by``: the columns whose values make the groups, of different attributes. ``label``:
    what readers see it called, where that is not its name.
    """

    name: str
    attribute: str
    at: tuple[Fraction, ...]
    several: bool = False
    where: str | None = None
    by: tuple[Groups, ...] = field(default=(), repr=False)
    label: str = field(default="", repr=False, compare=False)

    def called(self, level: Fraction, group: GroupValues) -> str:
        """What an answer is called."""
        said = f"{self.name} at {level}" if self.several else self.name
        return ", ".join([said, *(f"{column}={value}" for column, value in group)])

    def chosen(self, universe: Universe) -> NDArray[np.bool_] | None:
        """(N,): the possible records that are asked about, None for all."""
        if self.where is None:
            return None
        return evaluate(parse_predicate(self.where), universe).over_universe()

    def labels(self, universe: Universe) -> NDArray[np.int64]:
        """(N,): the group of each possible record; the last column's values run fastest."""
        shape = tuple(len(group.words) for group in self.by)
        each = [universe.laid_out(universe.spread(group.axis, group.codes)) for group in self.by]
        return np.ravel_multi_index(tuple(each), shape).astype(np.int64)

    def group(self, label: int) -> GroupValues:
        """What the records of a group have in common."""
        codes = np.unravel_index(label, tuple(len(group.words) for group in self.by))
        return tuple((group.title, group.words[int(code)]) for group, code in zip(self.by, codes, strict=True))


@final
@dataclass(frozen=True, eq=False)
class QuantileQueries:
    """Quantiles that are asked together: each query about one attribute, with names of their own.

    ``records``: their public number, where it was stated. ``source``: the text that they were read from, as whoever
    read it keeps it; no part of what they mean.
    """

    questions: tuple[AskedQuantiles, ...]
    universe: Universe = field(repr=False)
    records: int | None = None
    source: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        names = [one.name for one in self.questions]
        if not names or len(set(names)) < len(names):
            raise UnsupportedCombination("quantiles are asked by one or more queries, with distinct names")

    @property
    def names(self) -> tuple[str, ...]:
        """The queries' names."""
        return tuple(one.name for one in self.questions)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that is asked."""
        return canonical_digest("quantiles", *(part for one in self.questions for part in _meaning(one)))


def _meaning(question: AskedQuantiles) -> Iterator[object]:
    yield from (
        question.name,
        question.attribute,
        question.at,
        question.several,
        question.where or "",
        len(question.by),
    )
    for group in question.by:
        yield from (group.title, group.axis, group.words, group.codes)
