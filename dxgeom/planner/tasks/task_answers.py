"""What several tasks answered in one release.

How many different values there are, as it was answered.

The noisy readings of one record.

What selections picked, one candidate or the best few, and how far from the best each can be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require_level
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.distinct import DistinctCount
from dxgeom.mechanisms.linear.time_series import SeriesMechanism
from dxgeom.mechanisms.selection.selections import Selection, TopSelection
from dxgeom.numeric.arrays import Columns, plain_columns
from dxgeom.planner.answers.ratios import EVERYTHING, Combined, Range, RatioAnswer
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import stacked, unknown_name
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.columns import plain
from dxgeom.universe.tasks.questions import DistinctTask, SelectTask, SeriesTask
from dxgeom.universe.tasks.tasks import Tasks
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.wording.numbers import brief

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import Estimate, EstimateWish
    from dxgeom.universe.labels import PolicyLabels


@final
@dataclass(frozen=True, eq=False)
class TaskAnswers(ShownAnswers):
    """What each task answered, in the order of the file, at its share of the spend; 0 where all of it is public.

    Names, numbers and what is known of their errors are those of all tasks, one after the other; where a task has none,
    it refuses.
    """

    no_law = Unknown(
        "answers that are combined are of one task, by names that no other task has",
        "take the answers of one task, release['its name'], and combine these",
    )
    not_to_agree = Unknown(
        "answers are made to agree where one task is a list of queries, and no other",
        "ask for what is to agree in one list",
    )

    tasks: Tasks = field(repr=False)
    answers: tuple[ShownAnswers, ...]
    spent: Fraction
    shares: tuple[Fraction, ...]

    @property
    def question_fingerprint(self) -> str:
        return self.tasks.fingerprint

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(name for one in self.answers for name in one.names)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return np.concatenate(self._of_each(lambda one: one.values))

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        return tuple(chain.from_iterable(self._of_each(lambda one: one.exact_values)))

    @cached_property
    def rmse(self) -> NDArray[np.float64]:
        return np.concatenate(self._of_each(lambda one: one.rmse))

    @cached_property
    def biases(self) -> NDArray[np.float64]:
        return np.concatenate(self._of_each(lambda one: one.biases))

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        apart = self._apart(level, joint=joint)
        return np.concatenate(self._of_each(lambda one: one.half_widths(apart, joint=joint)))

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        apart = self._apart(level, joint=joint)
        return np.concatenate(self._of_each(lambda one: one.intervals(apart, joint=joint)))

    def ratios(self, level: float = 0.95, *, joint: bool = False) -> tuple[RatioAnswer, ...]:
        apart = self._apart(level, joint=joint)
        return tuple(chain.from_iterable(self._of_each(lambda one: one.ratios(apart, joint=joint))))

    def ratio(
        self, numerator: Combined, denominator: Combined, level: float = 0.95, *, within: Range = EVERYTHING
    ) -> RatioAnswer:
        return self._that_has(numerator, denominator).ratio(numerator, denominator, level, within=within)

    def combination(self, shares: Combined, level: float = 0.95) -> tuple[float, float]:
        return self._that_has(shares).combination(shares, level)

    def estimated(self, plan_fingerprint: str, wish: EstimateWish) -> Estimate:
        """Those of the one task that is a list of queries."""
        listed = [one for one in self.answers if one.answers_a_list]
        if len(listed) != 1:
            raise self.not_to_agree.refusal
        return listed[0].estimated(plan_fingerprint, wish)

    def _apart(self, level: float, *, joint: bool) -> float:
        """The level of each task; where all are to hold at once, the chances that one misses add up."""
        require_level(level)
        return 1 - (1 - level) / len(self.answers) if joint else level

    def _of_each(self, found: Callable[[ShownAnswers], Any]) -> list[Any]:
        """What is found of each task. Raises: UnsupportedCombination, naming the task that has it not."""
        each = []
        for name, answers in self.by_name.items():
            try:
                each.append(found(answers))
            except UnsupportedCombination as error:
                raise UnsupportedCombination(f"task '{name}': {error}") from error
        return each

    def _that_has(self, *combined: Combined) -> ShownAnswers:
        """The answers of the one task that has all of these. Raises: UnsupportedCombination."""
        names = [name for one in combined for name in (one if isinstance(one, Mapping) else [one])]
        found = [one for one in self.answers if all(name in one.names for name in names)]
        if len(found) != 1:
            raise self.no_law.refusal
        return found[0]

    @property
    def by_name(self) -> Mapping[str, ShownAnswers]:
        """The answers of each task by its name."""
        return dict(zip(self.tasks.names, self.answers, strict=True))

    def __getitem__(self, name: str) -> ShownAnswers:
        """The answers of the task of that name.

        Raises: UnsupportedCombination where there is none.
        """
        found = self.by_name.get(name)
        if found is None:
            raise unknown_name("task", name, self.tasks.names)
        return found

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(map(AnswerOrigin, self.tasks.names))

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        return self._stacked(level, query, joint=joint, whole=False)

    def whole(
        self,
        level: float = 0.95,
        query: str | None = None,
        *,
        joint: bool = False,
        labels: PolicyLabels | None = None,
    ) -> Columns:
        return self._stacked(level, query, joint=joint, whole=True, labels=labels)

    def _stacked(
        self, level: float, query: str | None, *, joint: bool, whole: bool, labels: PolicyLabels | None = None
    ) -> Columns:
        """The table of one task, or, where none is named, those of all, one below the other: a first column names the
        task, and a cell is empty where a task has no such column.

        Args: ``query``: the name of a task.
        Raises: UnsupportedCombination for an unknown task.
        """

        def of(one: ShownAnswers, level: float) -> Columns:
            return one.whole(level, joint=joint, labels=labels) if whole else one.columns(level, joint=joint)

        if query is not None:
            return of(self[query], level)
        apart = self._apart(level, joint=joint)
        each = [(name, plain_columns(of(one, apart))) for name, one in self.by_name.items()]
        return {title: _alike(cells) for title, cells in stacked(each).items()}

    @property
    def warnings(self) -> tuple[str, ...]:
        each = zip(self.tasks.names, self.shares, self.answers, strict=True)
        return tuple(
            f"'{name}', at its share {plain(share)}: {warning}"
            for name, share, answers in each
            for warning in answers.warnings
        )

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """Of each task what it answered; with ``joint`` each at the level at which those of all hold at once."""
        apart = self._apart(level, joint=joint)
        return {
            "tasks": [
                {
                    "name": part.name,
                    "kind": part.question.word,
                    "share": str(share),
                    "spent": str(share * self.spent),
                    **answers.document(apart, joint=joint),
                }
                for part, share, answers in zip(self.tasks.parts, self.shares, self.answers, strict=True)
            ]
        }


def _alike(cells: list[Any]) -> list[Any]:
    """Cells of one column: all as text where words are among them."""
    if any(isinstance(cell, str) for cell in cells):
        return [cell if cell is None else str(cell) for cell in cells]
    return cells


@final
@dataclass(frozen=True, eq=False)
class DistinctAnswers(ShownAnswers):
    """One number: how many values at least one record has, an integer from 0 to all that there can be."""

    question: DistinctTask = field(repr=False)
    mechanism: DistinctCount = field(repr=False)
    number: int
    spent: Fraction

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, int]:
        return {self.question.called: self.number}

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(self.number)])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(1,): the root mean squared error is at most this."""
        return np.array([self.mechanism.root_mean_square(self.spent)])

    @property
    def biases(self) -> NDArray[np.float64]:
        return np.zeros(1)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        return np.array([float(self.mechanism.half_width(level, self.spent))])

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint  # there is one
        return {
            "answers": [
                {
                    "name": self.question.called,
                    "unit": "values",
                    "value": float(self.number),
                    "exact": str(self.number),
                    "rmse": float(self.rmse[0]),
                    "interval": self.intervals(level)[0].tolist(),
                }
            ],
            "level": float(level),
            "warnings": [],
        }


@final
@dataclass(frozen=True, eq=False)
class SeriesAnswers(ShownAnswers):
    """The noisy readings of one record, of values as the policy rounds them. ``exact_values``: exact rationals."""

    no_biases = Unknown(
        "bars of readings are about values as the policy rounds them, and say no more", "take rmse and half_widths()"
    )

    question: SeriesTask = field(repr=False)
    mechanism: SeriesMechanism = field(repr=False)
    exact_values: tuple[Fraction, ...] = field()
    spent: Fraction

    def half_width(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` no reading is off by more than this, all at once."""
        return self.mechanism.joint_half_width(level, self.spent)

    @property
    def values(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.exact_values])

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each, but for the lattice, whose step does not shrink with the spend."""
        return np.full(len(self.exact_values), self.mechanism.root_mean_square / float(self.spent))

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): as :meth:`half_width`, all at once."""
        return np.full(len(self.exact_values), self.half_width(level))

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, float]:
        return {name: float(value) for name, value in zip(self.question.attributes, self.exact_values, strict=True)}

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("error", "of values as the policy rounds them"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        bound = self.half_width(level)
        return {
            "answers": [
                {"name": name, "value": float(value), "exact": str(value), "rmse": error, "bound": bound}
                for name, value, error in zip(
                    self.question.attributes, self.exact_values, self.rmse.tolist(), strict=True
                )
            ],
            "level": float(level),
            "bounds": "proved, all at once",
        }


PICKED = "picked"
NO_SCORE = Unknown(
    "a selection tells which candidate it picked, and no score", "shortfall() says how far from the best it can be"
)


@final
@dataclass(frozen=True, eq=False)
class Selected(ShownAnswers):
    """What was picked of the candidates that were asked about, at a spend; ``places``: where they are among these, the
    best first.

    With a stated probability, for all at once, each has a score at most :meth:`shortfall` below the best for its place.
    """

    no_numbers = no_bars = no_rmse = no_biases = NO_SCORE

    question: SelectTask = field(repr=False)
    mechanism: Selection | TopSelection = field(repr=False)
    places: tuple[int, ...]
    spent: Fraction

    @property
    def picked(self) -> str | tuple[str, ...]:
        """What the candidate is called; of several each, the best first."""
        labels = tuple(self.question.each_label[place] for place in self.places)
        return labels[0] if self.question.picks == 1 else labels

    def shortfall(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` each score is above the best for its place less this; whatever the
        data, and for all places at once."""
        return self.mechanism.shortfall(level, self.spent)

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def by_name(self) -> Mapping[str, str | tuple[str, ...]]:
        return {PICKED: self.picked}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(self.question.candidates.each_origin[place] for place in self.places)

    @property
    def unit(self) -> str | None:
        """What the scores are measured in, None where nobody says."""
        return self.question.candidates.measures[0] if self.question.candidates.measures else None

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        unit = "" if self.unit is None else f" {self.unit}"
        below, at = f"less than {brief(self.shortfall(level))}{unit} below the best", f"proved: at {level * 100:g} %"
        if self.question.picks == 1:
            return (("error", f"{at} its score is {below}"),)
        return (("error", f"{at}, for all places at once, each score is {below} for its place"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint  # they always hold at once
        queries, one = [self.question.candidates.names[place] for place in self.places], self.question.picks == 1
        return {
            "picked": self.picked if one else [*self.picked],
            **(
                {"place": self.places[0], "query": queries[0]}
                if one
                else {"places": [*self.places], "queries": queries}
            ),
            "candidates": self.question.candidates.count,
            "law": self.mechanism.name if isinstance(self.mechanism, Selection) else self.mechanism.law,
            "unit": self.unit,
            "shortfall": {
                "level": float(level),
                "at_most": self.shortfall(level),
                "kind": "proved",
                **({} if one else {"joint": True}),
            },
        }
