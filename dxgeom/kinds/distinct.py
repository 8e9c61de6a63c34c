"""A task that counts different values: how many of an attribute's listed values somebody has."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, final

from pydantic import BaseModel, Field, WithJsonSchema

from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar
from dxgeom.queries.columns import groups_by
from dxgeom.queries.one_file import queries_listed
from dxgeom.queries.query_kind import SEVERAL_WORDS, Where, condition_words
from dxgeom.queries.tasks.task_kind import STRICT, TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.reading.reading import MISSING
from dxgeom.universe.tasks.questions import DistinctTask
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import Groups

if TYPE_CHECKING:
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.plan import Plan

_WHERE: Final[dict[str, Any]] = {"type": "string"}
_FORM: Final[dict[str, Any]] = {
    "anyOf": [
        *SEVERAL_WORDS["anyOf"],
        {
            "type": "object",
            "properties": {"of": SEVERAL_WORDS, "where": _WHERE},
            "required": ["of"],
            "additionalProperties": False,
        },
    ]
}


@final
class DistinctBody(BaseModel):
    """``{of: attribute, where: condition}``."""

    model_config = STRICT

    of: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(description="An attribute, or several together.")
    where: Where = None


@final
class DistinctTaskSyntax(TaskSyntax):
    """``{distinct: attribute}``, or ``{distinct: {of: attribute, where: condition}}``."""

    distinct: Annotated[Any, WithJsonSchema(_FORM)] = Field(
        description="How many values of an attribute, or of several together, at least one record has; of records that "
        "a condition is true of with {of: attribute, where: condition}."
    )


@final
class DistinctKind(TaskKind, QuestionKind[DistinctTask], PlanKind):
    """The number of different values."""

    question = DistinctTask
    about = called = "a number of different values"
    word = "distinct"
    syntax = DistinctTaskSyntax

    def part(self, question: DistinctTask, how: Planning) -> Plan:
        """Raises: as :func:`dxgeom.mechanisms.linear.distinct.distinct_count`."""
        from dxgeom.mechanisms.linear.distinct import distinct_count  # slow to load, as all that plans is
        from dxgeom.planner.plan import Plan

        return Plan(self, how.metric, question, distinct_count(how.metric, question.groups), how.wish.records)

    def queries(self, plan: Plan) -> LinearQueries:
        groups: LinearQueries = plan.question.groups
        return groups

    def purpose(self, plan: Plan) -> str:
        return f"{plan.question.called}, of {plan.mechanism.most:,} that there can be"

    def answers(self, plan: Plan, answer: int, spend: Fraction, records: int | None) -> ShownAnswers:
        from dxgeom.planner.tasks.task_answers import DistinctAnswers

        return DistinctAnswers(plan.question, plan.mechanism, int(answer), spend)

    def blank(self, plan: Plan, records: int | None) -> int:
        return int(plan.mechanism.most)

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        return self.blank_answers(plan, spend, None)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        width, most = plan.mechanism.half_width(level, spend), plan.mechanism.most
        useless = "; that is of no use: half of all that it can be, or more" if 2 * width >= most else ""
        return (
            f"{plan.question.called}: off by at most {width:,} of {most:,} values, with probability {level:g}{useless}",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        return {"name": plan.question.called, "values": plan.mechanism.most}

    def read(self, value: Node, reader: TaskReader) -> DistinctTask | None:
        of, where = value, ""
        counted: Node = Scalar(value.span, "true", plain=True)
        if isinstance(value, Mapping):
            said = reader.body(DistinctBody, value, "a task that counts different values")
            if said is None:
                return None
            (_, of), stated = value.entry("of") or (None, value), value.entry("where")
            counted, where = counted if stated is None else stated[1], condition_words(value)
        columns = self._columns(of, reader)
        asked = tuple((Scalar(of.span, key, plain=True), one) for key, one in (("count", counted), ("by", of)))
        found: Any = None if columns is None else queries_listed([Mapping(value.span, asked)], reader.queries, None)
        if columns is None or found is None:
            return None
        missing = [(one.title, MISSING) for one in columns if reader.universe.attributes[one.axis].missing is not None]
        kept = [place for place, origin in enumerate(found.each_origin) if not {*missing} & {*origin.group}]
        if kept:
            return DistinctTask(f"different {' and '.join(one.title for one in columns)}{where}", found.only(kept))
        reader.note("DX202", of.span, "no possible record has a value here", "the answer would always be 0")
        return None

    def _columns(self, of: Node, reader: TaskReader) -> list[Groups] | None:
        """What is asked about; None where values are not listed one by one."""
        columns = reader.queries.columns
        columns.stepped.clear()
        groups = groups_by(of, columns, self.word)
        for title in columns.stepped if groups else ():
            message = f"a value of {shown(title)} stands for several raw ones, so these are not told apart"
            reader.note("DX201", of.span, message, "name an attribute whose values are listed, or bins")
        return None if columns.stepped else groups


DISTINCT: Final = DistinctKind()
