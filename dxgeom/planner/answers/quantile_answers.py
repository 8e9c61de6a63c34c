"""Private quantiles, with what each is about."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.quantiles.question import QuantileAnswer
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.quantile_queries import AskedQuantiles, QuantileQueries
from dxgeom.universe.workloads.groups import AnswerOrigin


@final
@dataclass(frozen=True)
class ReleasedQuantile:
    """One private quantile: a value of the attribute.

    ``label``: as people write it; ``exact``: the number, days since the first for dates. ``rank``: which smallest value
    it stands for, None where the number of records is private. ``about``: the query, and the group of records.
    """

    name: str
    at: Fraction
    label: str
    exact: Fraction = field(repr=False)
    rank: int | None
    attribute: str
    about: AnswerOrigin = field(repr=False)
    dated: bool = field(default=False, repr=False)

    @property
    def value(self) -> float | str:
        """The number, or the date as a text."""
        return self.label if self.dated else float(self.exact)

    def as_dict(self) -> dict[str, Any]:
        """The quantile ready for JSON."""
        return {
            "name": self.name,
            "at": str(self.at),
            "value": self.value,
            "label": self.label,
            "exact": str(self.exact),
            "rank": self.rank,
            "of": self.attribute,
            "query": self.about.query,
            "group": dict(self.about.group),
            **({"name_label": self.about.called(self.name)} if self.about.label else {}),
        }


@final
@dataclass(frozen=True, eq=False)
class QuantileAnswers(ShownAnswers):
    """What a plan of quantiles answered.

    ``answers``: of each query, or, of one by group, of each of its ``groups``, by increasing label; a group without
    records has an empty one. ``statements``: what holds of each query's errors, whatever the data.
    """

    never_joint = "quantiles have no intervals, but sentences that hold at 95 %: leave joint out"
    no_bars = no_rmse = no_biases = Unknown(
        "quantiles are off by ranks of records, and how far in numbers depends on the data",
        "the statements of the answers say what holds of each at 95 %",
    )

    queries: QuantileQueries = field(repr=False)
    groups: tuple[tuple[int, ...], ...] = field(repr=False)
    answers: tuple[Any, ...] = field(repr=False)
    spent: Fraction
    records: int | None
    statements: tuple[str, ...] = ()

    @property
    def question_fingerprint(self) -> str:
        return self.queries.fingerprint

    @cached_property
    def released(self) -> tuple[ReleasedQuantile, ...]:
        """Every quantile."""
        each = zip(self.queries.questions, self.groups, self.answers, strict=True)
        return tuple(one for asked, labels, answer in each for one in self._of_query(asked, labels, answer))

    def _of_query(self, question: AskedQuantiles, labels: tuple[int, ...], answer: Any) -> Iterator[ReleasedQuantile]:
        if not question.by:
            yield from self._of_group(question, AnswerOrigin(question.name, label=question.label), answer)
            return
        for label, one in zip(labels, answer, strict=True):
            about = AnswerOrigin(question.name, question.group(label), question.label)
            yield from self._of_group(question, about, one)

    def _of_group(
        self, question: AskedQuantiles, about: AnswerOrigin, answer: QuantileAnswer
    ) -> Iterator[ReleasedQuantile]:
        universe = self.queries.universe
        dated = isinstance(universe.attributes[universe.names.index(question.attribute)], DateAttribute)
        ranks = answer.ranks or (None,) * len(answer.at)
        for level, label, number, rank in zip(answer.at, answer.labels, answer.numbers, ranks, strict=False):
            name = question.called(level, about.group)
            yield ReleasedQuantile(name, level, label, number, rank, question.attribute, about, dated)

    @property
    def exact_values(self) -> tuple[Fraction, ...]:
        return tuple(one.exact for one in self.released)

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.exact_values])

    @cached_property
    def by_name(self) -> Mapping[str, ReleasedQuantile]:
        """Every quantile by its name."""
        return {one.name: one for one in self.released}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        """What each quantile is about."""
        return tuple(one.about for one in self.released)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        """What holds at 95 %, whatever the ``level``."""
        del level
        each = zip(self.queries.names, self.statements, strict=True)
        return tuple(("error", f"'{name}': {statement}") for name, statement in each)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """Args: ``level``: of no use here: what holds of errors is said at 95 %."""
        del level
        self.require_joint(joint=joint)
        return {"quantiles": self.as_dicts(), "statements": list(self.statements)}

    def as_dicts(self) -> list[dict[str, Any]]:
        """Every quantile ready for JSON."""
        return [one.as_dict() for one in self.released]
