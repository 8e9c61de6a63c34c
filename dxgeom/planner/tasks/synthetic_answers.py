"""Synthetic records, what they answer, and how far off that can be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.selection.small_databases import SmallDatabase, SmallDatabaseMechanism
from dxgeom.mechanisms.synthetic.synthetic import SyntheticHistogram
from dxgeom.numeric.arrays import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import origin_words
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.reading.record_tables import SYNTHETIC, columns_of_records
from dxgeom.universe.tasks.questions import DatabaseTask, SynthesisTask
from dxgeom.universe.workloads.groups import AnswerOrigin


@final
@dataclass(frozen=True, eq=False)
class SyntheticAnswers(ShownAnswers):
    """What synthetic records answer to a workload. Whatever is computed from the records reveals nothing more.

    ``made``: what they are made of. ``mechanism``: that of a small database, whose bound is known beforehand; None for
    multiplicative weights, whose bound follows from what was measured. ``rows``: how many records there are.
    ``estimate``: what they were made of the measurements by, None where nothing was measured.
    """

    no_rmse = no_biases = Unknown(
        "of synthetic records it is proved how far off an answer can be, and no more",
        "take half_widths(), which hold at once",
    )

    question: SynthesisTask | DatabaseTask = field(repr=False)
    made: SyntheticHistogram | SmallDatabase = field(repr=False)
    mechanism: SmallDatabaseMechanism | None = field(repr=False)
    spent: Fraction
    rows: int
    estimate: str | None = None

    @property
    def queries(self) -> LinearQueries:
        """What was asked."""
        return self.question.workload

    @property
    def question_fingerprint(self) -> str:
        return self.question.fingerprint

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return self.made.answers

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        return self.made.exact_answers

    def bounds(self, level: float = 0.95) -> NDArray[np.float64]:
        """(K,): with probability *at least* ``level`` no answer is further from the truth than its bound, all at once.

        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        if isinstance(self.made, SyntheticHistogram):
            return self.made.error_bounds(level)
        largest = np.inf if self.mechanism is None else self.mechanism.error_bound(self.made.records, level, self.spent)
        return np.full(self.queries.count, largest)

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): as :meth:`bounds`, all at once."""
        return self.bounds(level)

    @property
    def counts(self) -> NDArray[np.int64]:
        """(N,): how many synthetic records are of each type."""
        if isinstance(self.made, SyntheticHistogram):
            return self.made.counts(self.rows)
        return np.bincount(self.made.record_types, minlength=self.queries.size).astype(np.int64)

    @property
    def record_columns(self) -> dict[str, list[Any]]:
        """The synthetic records as columns, one for each attribute of the policy.

        Raises: UnsupportedCombination where nobody said what the records are.
        """
        if self.queries.universe is None:
            raise UnsupportedCombination("these queries do not know what the records are: load them for a policy")
        return columns_of_records(self.queries.universe, self.counts)

    @property
    def record_batches(self) -> Iterator[dict[str, list[Any]]]:
        """The same, in parts; here in one."""
        yield self.record_columns

    def records_to_arrow(self) -> Any:
        """The synthetic records as a ``pyarrow.Table``."""
        from dxgeom.engines.answer_frames import arrow_table  # slow to load

        return arrow_table(self.record_columns, about=SYNTHETIC)

    def records_to_pandas(self) -> Any:
        """The synthetic records as a ``pandas.DataFrame``. Raises: MissingExtra."""
        from dxgeom.engines.answer_frames import data_frame  # slow to load

        return data_frame(self.record_columns, about=SYNTHETIC)

    @property
    def by_name(self) -> Mapping[str, float]:
        return dict(zip(self.queries.names, self.values.tolist(), strict=True))

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return self.queries.each_origin

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """As of all answers, with groups in their names alone, as in earlier versions."""
        found = super().columns(level, query, joint=joint)
        return {title: found[title] for title in ("query", "name", "value", "low", "high", "unit")}

    @property
    def warnings(self) -> tuple[str, ...]:
        low, high = self.queries.tables.extremes
        units = np.array([float(unit) for unit in self.queries.units])
        widest = (high - low).astype(np.float64) * units * self.made.records
        useless = int(np.sum(self.bounds() > widest))
        if not useless:
            return ()
        return (
            f"of {useless} of {self.queries.count} answers the bound, at 95 %, exceeds all that the answer can be: "
            "nothing is proved of these; take a larger spend or share",
        )

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        written = f"{self.rows:,} synthetic ones; --output FILE.csv or FILE.parquet writes them"
        return (("records", written),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        measures = self.queries.measures or (None,) * self.queries.count
        values, bounds, names = self.values.tolist(), self.bounds(level).tolist(), self.queries.names
        each = zip(names, measures, values, bounds, self.queries.each_origin, strict=True)
        return {
            "answers": [
                {
                    "name": name,
                    "unit": unit,
                    "value": value,
                    "bound": bound if np.isfinite(bound) else None,
                    **origin_words(name, origin),
                }
                for name, unit, value, bound, origin in each
            ],
            "level": float(level),
            "bounds": "proved, all at once",
            **({} if self.estimate is None else {"estimate": self.estimate}),
            "rows": self.rows,
            "records": self.made.records,
        }
