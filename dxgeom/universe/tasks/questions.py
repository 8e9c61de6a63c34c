"""What one task asks, a class for each kind; how it is answered is a plan's to decide."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.whole_tables import MarginalQueries


class AskedTask(ABC):
    """What one task asks. ``word``: the key that asks for it in a file."""

    word: ClassVar[str]

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that is asked."""


@final
@dataclass(frozen=True, eq=False)
class QueriesTask(AskedTask):
    """Answers to queries: linear ones, or quantiles."""

    word = "queries"
    queries: LinearQueries | QuantileQueries

    @property
    def fingerprint(self) -> str:
        return self.queries.fingerprint


@final
@dataclass(frozen=True, eq=False)
class SelectTask(AskedTask):
    """Which of these candidates has the largest score, a linear query each; ``law`` says how it is drawn.

    ``labels``: what each candidate is called by itself, where that is less than its query's name. ``picks``: how many
    are asked for, the best first.
    """

    word = "select"
    candidates: LinearQueries
    law: str
    labels: tuple[str, ...] = ()
    picks: int = 1

    @property
    def each_label(self) -> tuple[str, ...]:
        """What each candidate is called."""
        return self.labels or self.candidates.names

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("select", self.candidates.fingerprint, self.law, self.each_label, *self._several)

    @property
    def _several(self) -> tuple[int, ...]:
        return () if self.picks == 1 else (self.picks,)


@final
@dataclass(frozen=True, eq=False)
class DistinctTask(AskedTask):
    """How many of these groups somebody is in, a count each; ``called``: in words."""

    word = "distinct"
    called: str
    groups: LinearQueries

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("distinct", self.called, self.groups.fingerprint)


@final
@dataclass(frozen=True, eq=False)
class KeysTask(AskedTask):
    """Which keys have records, and how many: a key is a value of each of these ``columns``, the last one's values the
    fastest. Reported are those whose count with noise reaches ``at_least``; or, where that is None, the least number at
    which no more than ``spurious`` keys without a record are expected to be reported. ``rollup``: attributes, by their
    place, along which keys are rolled up, from the top, each with its share of what is spent.
    """

    word = "keys"
    columns: tuple[Groups, ...]
    spurious: Fraction | None = None
    at_least: int | None = None
    rollup: tuple[tuple[int, Fraction], ...] = ()

    @property
    def called(self) -> str:
        """The question in words."""
        return f"keys of {', '.join(one.title for one in self.columns)}"

    @property
    def titles(self) -> tuple[str, ...]:
        """What each column is called."""
        return tuple(one.title for one in self.columns)

    @cached_property
    def count(self) -> int:
        """How many keys there can be."""
        return math.prod(len(one.words) for one in self.columns)

    @cached_property
    def fingerprint(self) -> str:
        columns = [(one.column, one.axis, one.words, one.codes) for one in self.columns]
        along = [[[axis, str(share)] for axis, share in self.rollup]] if self.rollup else []
        return canonical_digest("keys", columns, str(self.spurious), self.at_least, *along)


@final
@dataclass(frozen=True, eq=False)
class SynthesisTask(AskedTask):
    """A table of synthetic records that answers a workload nearly as the real one does.

    ``rounds``: of multiplicative weights, 0 to measure everything at once, None to have them chosen. ``rows``: how many
    records are written, None for as many as there are. ``estimate``: what the records are made of the measurements by.
    ``steepness``: of the queries that are measured, as a part of the steepest one's, or ``auto``; None for all of
    it.
    """

    word = "synthesize"
    workload: LinearQueries
    rounds: int | None = None
    rows: int | None = None
    estimate: str = "weights"
    steepness: Fraction | str | None = None

    @cached_property
    def fingerprint(self) -> str:
        slower = () if self.steepness is None else (self.steepness,)
        return canonical_digest("synthesize", self.workload.fingerprint, self.rounds, self.rows, self.estimate, *slower)


@final
@dataclass(frozen=True, eq=False)
class AdaptiveTask(AskedTask):
    """Whole tables by one model that follows the data, and records that are made of it.

    ``bars``: the part of the budget that is kept for bars of error, 0 for none. ``rounds``: how many at most, None to
    have them chosen. ``rows``: how many records are written, None for as many as the model counts.
    ``cells``: how many a model in cliques may keep, None for as many as are usual.
    """

    word = "adaptive"
    workload: MarginalQueries
    bars: Fraction
    rounds: int | None = None
    rows: int | None = None
    cells: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        more = () if self.cells is None else (self.cells,)
        return canonical_digest("adaptive", self.workload.fingerprint, self.bars, self.rounds, self.rows, *more)


@final
@dataclass(frozen=True, eq=False)
class DatabaseTask(AskedTask):
    """A database of few records that answers a workload nearly as the real one does. ``rows``: how many it has."""

    word = "small_database"
    workload: LinearQueries
    rows: int
    law: str

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("small database", self.workload.fingerprint, self.rows, self.law)


@final
@dataclass(frozen=True, eq=False)
class StatisticsTask(AskedTask):
    """Sums over all records of polynomials of their numbers, as linear queries, one for each polynomial."""

    word = "statistics"
    sums: LinearQueries

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("statistics", self.sums.fingerprint)


@final
@dataclass(frozen=True, eq=False)
class SeriesTask(AskedTask):
    """The readings of one record, that move together. ``attributes``: all of the policy's, in its order."""

    word = "series"
    attributes: tuple[str, ...]

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("series", self.attributes)


@final
@dataclass(frozen=True, eq=False)
class FitTask(AskedTask):
    """A regression, ``model`` linear or logistic, of the attribute ``response`` on those of ``by``.

    ``by``: None for all others. ``ridge``: the least one, None for what privacy asks for.
    """

    word = "fit"
    model: str
    response: str
    by: tuple[str, ...] | None = None
    ridge: Fraction | None = None

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("fit", self.model, self.response, self.by, self.ridge)
