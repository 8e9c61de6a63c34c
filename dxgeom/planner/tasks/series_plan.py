"""A plan of a series: all readings of one record, with noise that moves them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.time_series import SeriesMechanism, series_mechanism_under
from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.releases.reading import TableOfOneRecord
from dxgeom.planner.releases.releasable import KnownErrors, Releasable, Releasing
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.asked import SeriesTask
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.groups import AnswerOrigin


@final
@dataclass(frozen=True, eq=False)
class SeriesAnswers(ShownAnswers):
    """The noisy readings of one record, of values as the policy rounds them. ``exact_values``: exact rationals."""

    no_biases = Unknown(
        "bars of readings are about values as the policy rounds them, and say no more", "take rmse and half_widths()"
    )

    asked: SeriesTask = field(repr=False)
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
    def asked_fingerprint(self) -> str:
        return self.asked.fingerprint

    @property
    def by_name(self) -> Mapping[str, float]:
        return {name: float(value) for name, value in zip(self.asked.attributes, self.exact_values, strict=True)}

    @property
    def all_origins(self) -> tuple[AnswerOrigin, ...]:
        return tuple(map(AnswerOrigin, self.asked.attributes))

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each reading, with the interval in which it lies, all at once.

        Raises: UnsupportedCombination for an unknown reading.
        """
        del joint
        if query is not None and query not in self.asked.attributes:
            advice = did_you_mean(query, self.asked.attributes)
            raise UnsupportedCombination(f"no reading is called {shown(query)}" + (f"; {advice}" if advice else ""))
        rows = [(name, value) for name, value in self.by_name.items() if query in (None, name)]
        width = self.half_width(level)
        return {
            "query": [name for name, _ in rows],
            "name": [name for name, _ in rows],
            "value": [value for _, value in rows],
            "low": [value - width for _, value in rows],
            "high": [value + width for _, value in rows],
            "rmse": self.rmse.tolist()[: len(rows)],
        }

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        del level
        return (("error", "of values as the policy rounds them"),)

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        del joint
        bound = self.half_width(level)
        return {
            "answers": [
                {"name": name, "value": float(value), "exact": str(value), "rmse": error, "bound": bound}
                for name, value, error in zip(self.asked.attributes, self.exact_values, self.rmse.tolist(), strict=True)
            ],
            "level": float(level),
            "bounds": "proved, all at once",
        }


@final
@dataclass(frozen=True, eq=False, repr=False)
class SeriesPlan(Releasable[SeriesAnswers]):
    """How the readings of one record are answered. ``steps``: of each reading, what each value is in lattice steps."""

    asked: SeriesTask
    mechanism: SeriesMechanism = field(repr=False)
    universe: Universe = field(repr=False)
    steps: tuple[tuple[int, ...], ...] = field(repr=False)
    records: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("plan of a series", self.mechanism.fingerprint, self.asked.fingerprint, self.steps)

    def _releasing(self) -> Releasing[SeriesAnswers]:
        purpose = f"{len(self.asked.attributes)} readings of one record"
        blank = (Fraction(0),) * len(self.asked.attributes)
        return Releasing(self.mechanism, purpose, self._said, blank, None, self._taken)

    def _said(self, values: tuple[Fraction, ...], spend: Fraction, records: int | None) -> SeriesAnswers:
        del records
        return SeriesAnswers(self.asked, self.mechanism, values, spend)

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        return self._blank_answers(spend)

    def _taken(self, data: Any) -> Any:
        """A table with one row as its readings; readings in lattice steps as they are."""
        if isinstance(data, (list, tuple, np.ndarray)):
            return data
        return TableOfOneRecord(data, self.universe, self._readings)

    def _readings(self, index: int) -> tuple[int, ...]:
        codes = self.universe.codes(index)
        return tuple(steps[code] for steps, code in zip(self.steps, codes, strict=True))

    def _made_up(self, records: int) -> Any:
        del records
        choose = np.random.default_rng().choice
        return [int(choose(steps)) for steps in self.steps]

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        amount, number = self.spend_of_figures(spend), len(self.asked.attributes)
        width = self.mechanism.joint_half_width(level, amount)
        error = self.mechanism.root_mean_square / float(amount)
        return (
            f"none of {number} readings is off by more than {width:.4g}, with probability {level:g} "
            f"for all at once; root mean square {error:.4g} each, of values as the policy rounds them",
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": self.asked.word,
            "readings": list(self.asked.attributes),
            "epsilon": str(self.mechanism.epsilon),
            "step": str(self.mechanism.step),
            "fingerprint": self.fingerprint,
        }


def plan_series(metric: VerifiedMetric, asked: SeriesTask) -> SeriesPlan:
    """The plan of a series.

    Raises: UnsupportedCombination unless the policy measures all readings by their largest change, with one rate and
    step, and people have one record each.
    """
    made, inner, universe = series_mechanism_under(metric), metric.metric, metric.universe
    if not isinstance(inner, MaxMetric) or universe is None or universe.presence:
        raise UnsupportedCombination("a series is of a policy whose attributes are all readings of one record")
    lines = [part for part in inner.parts if isinstance(part, LineMetric)]
    if len(lines) != len(universe.attributes) or universe.listed is not None:
        raise UnsupportedCombination("a series is of a policy whose attributes are all readings of one record")
    steps = tuple(tuple(int(Fraction(place) / made.step) for place in line.positions) for line in lines)
    return SeriesPlan(asked, made, universe, steps)
