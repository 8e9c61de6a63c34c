"""Several tasks of one file, each with its share of a spend, and the task that is a list of queries."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, final

from pydantic import Field

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.kind import Planning, QuestionKind, kind_of
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.tasks.task_kind import ListOfQueries, TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.tasks.questions import QueriesTask
from dxgeom.universe.tasks.tasks import Tasks

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


@final
class TasksKind(QuestionKind[Tasks]):
    """Tasks, each planned by itself."""

    question = Tasks
    about = "several tasks"
    heeds = frozenset({"objective", "mechanism", "records", "hull_limits", "coarse_facets", "work"})
    instead = MappingProxyType({"errors": "write 'error' in the file", "importance": "write it in the file"})
    codec, field = "dxgeom.plan_files.task_plans:CODEC", "parts"

    def part(self, question: Tasks, how: Planning) -> Plan:
        from dxgeom.planner.options import NAMED_FAMILIES
        from dxgeom.planner.tasks.task_plan import plan_tasks

        if how.wish.mechanism in NAMED_FAMILIES:
            raise UnsupportedCombination(
                f"'{how.wish.mechanism}' is about one workload: a file of tasks asks for 'synthesize' or "
                "'small_database'"
            )
        return plan_tasks(question, how)


@final
class QueriesTaskSyntax(TaskSyntax):
    """``{queries: [...]}``."""

    queries: ListOfQueries = Field(description="What to ask, as in a file of queries: linear queries, or quantiles.")


@final
class QueriesKind(TaskKind, QuestionKind[QueriesTask]):
    """Answers to queries."""

    question = QueriesTask
    about = "a task of queries"

    word = "queries"
    syntax = QueriesTaskSyntax
    lists = ("queries",)

    def read(self, value: Node, reader: TaskReader) -> QueriesTask | None:
        found = reader.listed(value, self.word)
        return None if found is None else QueriesTask(found)

    def part(self, question: QueriesTask, how: Planning) -> Plan:
        # A mechanism is named for the tasks of a file that ask for counts and sums.
        own = how if kind_of(question.queries).counts else how.saying(mechanism="auto")
        return own.of(question.queries)


TASKS: Final = TasksKind()
QUERIES: Final = QueriesKind()
