"""Whole tables that followed the data: the model's counts, its bars, what was measured, and records of the model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.synthetic.adaptive_answer import AT_ONCE, AdaptiveStep, AdaptiveTables
from dxgeom.mechanisms.synthetic.table_model import TableModel
from dxgeom.planner.answers.in_parts import MOST_CELLS, CellAnswers
from dxgeom.planner.answers.tables import NO_BAR
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.reading.record_tables import SYNTHETIC, cells_of_words
from dxgeom.universe.tasks.questions import AdaptiveTask
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries
from dxgeom.wording.numbers import brief, counted

MOST_RECORDS: Final = 10_000_000
"""A noisy total may be far above that of the table."""
_MOST_TOLD: Final = 30
"""So many measured tables are named in a sentence; JSON has all."""


@final
@dataclass(frozen=True, eq=False)
class AdaptiveAnswers(CellAnswers):
    """What one model counts in each table. Whatever is computed from it reveals nothing more."""

    no_bars = Unknown("no bar: nothing of the budget was kept for bars of error", "ask with 'bars: 0.2'")
    no_rmse = no_biases = Unknown(
        "of tables that follow the data no root mean square is known, for a model may be wrong where it was not "
        "measured",
        "half_widths() hold whatever the model misses, where 'bars' were asked for",
    )
    no_estimate = not_to_agree = Unknown(
        "tables that follow the data agree, and none is negative, as they are made", "take these as they were released"
    )

    question: AdaptiveTask = field(repr=False)
    answer: AdaptiveTables = field(repr=False)
    spent: Fraction

    @property
    def queries(self) -> MarginalQueries:
        """What was asked."""
        return self.question.workload

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @property
    def transcript(self) -> tuple[AdaptiveStep, ...]:
        """What was measured, in order, and what each step cost."""
        return self.answer.transcript

    @property
    def rows(self) -> int:
        """How many synthetic records there are: as many as were asked for, or those of the model up to a limit."""
        return min(round(self.answer.model.total), MOST_RECORDS) if self.question.rows is None else self.question.rows

    def counts(self, place: int) -> NDArray[np.float64]:
        return self.answer.tables[place]

    @property
    def within(self) -> tuple[float, float]:
        return 0.0, math.inf if self.answer.public_total is None else self.answer.public_total

    def errors(self, level: float) -> Sequence[tuple[NDArray[np.float64] | None, None]]:
        widths = self.answer.half_widths(level) if self.answer.fresh else (None,) * self.queries.each
        return [(width, None) for width in widths]

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(tables,): the widest bar of each table. Raises: UnsupportedCombination without bars."""
        self.require_joint(joint=joint)
        if not self.answer.fresh:
            raise self.no_bars.refusal
        return np.array([float(one.max()) for one in self.answer.half_widths(level)])

    def most_rmse(self, level: float = 0.95) -> NDArray[np.float64]:
        """(tables,): with probability *at least* ``level`` the root of the mean square of a table's errors is at most
        this, each table by itself. Raises: UnsupportedCombination without bars."""
        if not self.answer.fresh:
            raise self.no_bars.refusal
        return self.answer.most_rmse(level)

    @property
    def record_columns(self) -> dict[str, list[Any]]:
        """Synthetic records of the model as columns, one for each that was asked for."""
        return columns_of_model(self.answer.model, self.words, self.rows, self.queries.universe)

    @property
    def record_batches(self) -> Iterator[dict[str, list[Any]]]:
        """The same, a part at a time, however many there are."""
        return batches_of_model(self.answer.model, self.words, self.rows, self.queries.universe)

    def records_to_arrow(self) -> Any:
        """The synthetic records as a ``pyarrow.Table``."""
        from dxgeom.engines.answer_frames import arrow_table  # slow to load

        return arrow_table(self.record_columns, about=SYNTHETIC)

    def records_to_pandas(self) -> Any:
        """The synthetic records as a ``pandas.DataFrame``. Raises: MissingExtra."""
        from dxgeom.engines.answer_frames import data_frame  # slow to load

        return data_frame(self.record_columns, about=SYNTHETIC)

    @cached_property
    def records_differ_by(self) -> float:
        """No table of the synthetic records is further from the model's, in the same number of records, in any cell."""
        scale = self.rows / self.answer.model.total
        each = zip(self.answer.whole_tables(self.rows), self.answer.tables, strict=True)
        return max(float(np.abs(counts - scale * table).max()) for counts, table in each)

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        bars = f"{NO_BAR}: nothing of the budget was kept for one, and how a model fits tells nothing of its error"
        if self.answer.fresh:
            bars = "by a fresh measurement that the model has not seen: they hold whatever the model misses, each by "
            bars += f"itself; in root mean square over its cells no table is further off than {self._told_rmse(level)}"
        records = f"{self.rows:,} synthetic ones, whose tables are within {brief(self.records_differ_by)} of the "
        records += "model's; --output FILE.csv or FILE.parquet writes them"
        return (("bars", bars), ("measured", self._measured()), ("records", records))

    def _told_rmse(self, level: float) -> str:
        most = self.most_rmse(level)
        where = "" if len(most) == 1 else f" ('{self.names[int(most.argmax())]}')"
        return f"{brief(float(most.max()))}{where}, each with probability {level:g}"

    def _measured(self) -> str:
        """Which tables were measured, with which noise, and by how much that moved the model."""
        chosen = [one for one in self.transcript if one.rate is not None]
        alone = len(self.transcript) - len(chosen)
        told = [
            f"{' × '.join(self.queries.column_titles[axis] for axis in one.axes)} (noise {brief(float(one.spread))}"
            + ("" if one.moved is None else f", moved the model by {brief(one.moved)}")
            + ")"
            for one in chosen[:_MOST_TOLD]
        ]
        more = [f"{len(chosen) - _MOST_TOLD:,} more"] if len(chosen) > _MOST_TOLD else []
        first = f"{counted(alone, 'attribute')} alone"
        return f"{first}; then {'; '.join(told + more)}" if told else first

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.require_joint(joint=joint)
        return {
            "tables": [*self._as_dicts(level)],
            "values": {title: list(words) for title, words in self.words.items()},
            "level": float(level),
            "total": self.answer.model.total,
            "rows": self.rows,
            **self.answer.told_of_steps(),
        }

    def _as_dicts(self, level: float) -> Iterator[dict[str, Any]]:
        listed = self.queries.count <= MOST_CELLS
        most = [None] * self.queries.each if not self.answer.fresh else self.most_rmse(level).tolist()
        least, highest = self.within
        for place, (widths, _) in enumerate(self.errors(level)):
            bars = {} if widths is None or not listed else {"half_widths": widths.tolist()}
            yield {
                "table": list(self.queries.titles(place)),
                "shape": list(self.queries.shapes[place]),
                "divisor": "1",
                "cells": self.counts(place).tolist() if listed else None,
                "rmse": None,
                "half_width": None if widths is None else float(widths.max()),
                **bars,
                **({"bar": NO_BAR} if widths is None else {"most_rmse": most[place]}),
                "cells_lie_between": [least, highest if math.isfinite(highest) else None],
            }


def columns_of_model(
    model: TableModel, words: Mapping[str, Sequence[str]], rows: int, universe: Universe
) -> dict[str, list[Any]]:
    """So many records of a model, a column for each title of ``words``."""
    found: dict[str, list[Any]] = {title: [] for title in words}
    for batch in batches_of_model(model, words, rows, universe):
        for title, cells in batch.items():
            found[title].extend(cells)
    return found


def batches_of_model(
    model: TableModel, words: Mapping[str, Sequence[str]], rows: int, universe: Universe
) -> Iterator[dict[str, list[Any]]]:
    """The same, some hundred thousand at a time. Raises: ValueError for words of other columns than the model's."""
    if tuple(map(len, words.values())) != model.shape:
        raise ValueError("the words of each column are as many as its values")
    told = {title: cells_of_words(universe, title, own) for title, own in words.items()}
    for codes in model.records(rows, AT_ONCE):
        yield {
            title: [cells[code] for code in own.tolist()]
            for (title, cells), own in zip(told.items(), codes, strict=True)
        }
