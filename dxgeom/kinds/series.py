"""A task of a series: all readings of one record, that move together."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import numpy as np
from pydantic import Field, WithJsonSchema

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.policy.source.yaml_tree import Node, Scalar, Sequence
from dxgeom.queries.query_kind import SEVERAL_WORDS
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.tasks.questions import SeriesTask
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.task_answers import SeriesAnswers


@final
class SeriesTaskSyntax(TaskSyntax):
    """``{series: [attributes…]}``."""

    series: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        description="The attributes of a policy that are the readings of one record: all of them, in their order."
    )


@final
class SeriesKind(TaskKind, QuestionKind[SeriesTask], PlanKind):
    """The readings of one record. A plan has ``decided``: of each reading, what each value is in lattice steps."""

    question = SeriesTask
    about = called = "a series"
    word = "series"
    syntax = SeriesTaskSyntax
    alone = "a series is the readings of one record, and other tasks are about many records"

    def part(self, question: SeriesTask, how: Planning) -> Plan:
        """Raises: UnsupportedCombination unless the policy measures all readings by their largest change, with one rate
        and step, and people have one record each."""
        from dxgeom.mechanisms.linear.time_series import series_mechanism_under  # slow to load, as all that plans is
        from dxgeom.metrics.combinations import MaxMetric
        from dxgeom.metrics.families import LineMetric
        from dxgeom.planner.plan import Plan

        made, inner, universe = series_mechanism_under(how.metric), how.metric.metric, how.metric.universe
        if not isinstance(inner, MaxMetric) or universe is None or universe.presence:
            raise UnsupportedCombination("a series is of a policy whose attributes are all readings of one record")
        lines = [part for part in inner.parts if isinstance(part, LineMetric)]
        if len(lines) != len(universe.attributes) or universe.listed is not None:
            raise UnsupportedCombination("a series is of a policy whose attributes are all readings of one record")
        steps = tuple(tuple(int(Fraction(place) / made.step) for place in line.positions) for line in lines)
        return Plan(self, how.metric, question, made, decided=steps)

    def queries(self, plan: Plan) -> Any:
        raise self.no_question.refusal

    def purpose(self, plan: Plan) -> str:
        return f"{len(plan.question.attributes)} readings of one record"

    def answers(self, plan: Plan, answer: tuple[Fraction, ...], spend: Fraction, records: int | None) -> SeriesAnswers:
        from dxgeom.planner.tasks.task_answers import SeriesAnswers

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
        from dxgeom.planner.releases.reading import TableOfOneRecord

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

    def read(self, value: Node, reader: TaskReader) -> SeriesTask | None:
        nodes = value.items if isinstance(value, Sequence) else (value,)
        words = [node for node in nodes if isinstance(node, Scalar)]
        if len(words) < len(nodes):
            reader.note("DX108", value.span, "'series' is a list of attributes, such as [morning, evening]")
            return None
        names, known = tuple(node.text for node in words), reader.universe.names
        unknown = [node for node in words if node.text not in known]
        for node in unknown:
            reader.note("DX201", node.span, f"there is no attribute {shown(node.text)}", did_you_mean(node.text, known))
        if unknown:
            return None
        if names != known:
            message = f"a series is all readings of a record in the policy's order: {', '.join(map(shown, known))}"
            reader.note(
                "DX233", value.span, message, "name all attributes; answers that are not needed can be left unread"
            )
            return None
        return SeriesTask(names)


SERIES: Final = SeriesKind()
