"""A task of a series: all readings of one record, that move together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, final

from pydantic import Field, WithJsonSchema

from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.policy.source.yaml_tree import Node, Scalar, Sequence
from dxgeom.queries.query_kind import SEVERAL_WORDS
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.tasks.questions import SeriesTask
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


@final
class SeriesTaskSyntax(TaskSyntax):
    """``{series: [attributes…]}``."""

    series: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        description="The attributes of a policy that are the readings of one record: all of them, in their order."
    )


@final
class SeriesKind(TaskKind, QuestionKind[SeriesTask]):
    """The readings of one record."""

    question = SeriesTask
    about = "a series"
    word = "series"
    syntax = SeriesTaskSyntax
    alone = "a series is the readings of one record, and other tasks are about many records"

    def part(self, question: SeriesTask, how: Planning) -> Plan:
        from dxgeom.planner.tasks.series_plan import plan_series

        return plan_series(how.metric, question)

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
