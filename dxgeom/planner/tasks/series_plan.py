"""A plan of a series: all readings of one record, with noise that moves them together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.time_series import SeriesMechanism, series_mechanism_under
from dxgeom.metrics.combinations import MaxMetric
from dxgeom.metrics.families import LineMetric
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.answers.answer_table import Columns, unknown_name
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.releases.reading import TableOfOneRecord
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.tasks.questions import SeriesTask


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

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each reading, with the interval in which it lies, all at once.

        Raises: UnsupportedCombination for an unknown reading.
        """
        del joint
        if query is not None and query not in self.question.attributes:
            raise unknown_name("reading", query, self.question.attributes)
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
                for name, value, error in zip(
                    self.question.attributes, self.exact_values, self.rmse.tolist(), strict=True
                )
            ],
            "level": float(level),
            "bounds": "proved, all at once",
        }


@final
class SeriesPlans(PlanKind):
    """The readings of one record. A plan has ``decided``: of each reading, what each value is in lattice steps."""

    called = "a series"

    def queries(self, plan: Plan) -> Any:
        raise self.no_question.refusal

    def purpose(self, plan: Plan) -> str:
        return f"{len(plan.question.attributes)} readings of one record"

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> SeriesAnswers:
        return SeriesAnswers(plan.question, plan.mechanism, answer, spend)

    def blank(self, plan: Plan, records: int | None) -> tuple[Fraction, ...]:
        return (Fraction(0),) * len(plan.question.attributes)

    def fingerprint(self, plan: Plan) -> str:
        meaning = plan.mechanism.fingerprint, plan.question.fingerprint
        return canonical_digest("plan of a series", *meaning, plan.decided)

    def records(self, plan: Plan) -> None:
        return None

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        return self.blank_answers(plan, spend, None)

    def taken(self, plan: Plan, data: Any) -> Any:
        """A table with one row as its readings; readings in lattice steps as they are."""
        universe = plan.metric.universe
        if isinstance(data, (list, tuple, np.ndarray)) or universe is None:
            return data

        def readings(index: int) -> tuple[int, ...]:
            return tuple(steps[code] for steps, code in zip(plan.decided, universe.codes(index), strict=True))

        return TableOfOneRecord(data, universe, readings)

    def made_up(self, plan: Plan, records: int) -> Any:
        choose = np.random.default_rng().choice
        return [int(choose(steps)) for steps in plan.decided]

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        width = plan.mechanism.joint_half_width(level, spend)
        error = plan.mechanism.root_mean_square / float(spend)
        return (
            f"none of {len(plan.question.attributes)} readings is off by more than {width:.4g}, with probability "
            f"{level:g} for all at once; root mean square {error:.4g} each, of values as the policy rounds them",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        return {
            "readings": list(plan.question.attributes),
            "epsilon": str(plan.mechanism.epsilon),
            "step": str(plan.mechanism.step),
        }


SERIES: Final = SeriesPlans()


def plan_series(metric: VerifiedMetric, question: SeriesTask) -> Plan:
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
    return Plan(SERIES, metric, question, made, decided=steps)
