"""A task that is a list of queries, as a queries file has it."""

from __future__ import annotations

from typing import final

from pydantic import Field

from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.tasks.task_kind import ListOfQueries, TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.tasks.asked import QueriesTask


@final
class QueriesTaskSyntax(TaskSyntax):
    """``{queries: [...]}``."""

    queries: ListOfQueries = Field(description="What to ask, as in a file of queries: linear queries, or quantiles.")


@final
class QueriesKind(TaskKind):
    """Answers to queries."""

    word = "queries"
    syntax = QueriesTaskSyntax
    lists = ("queries",)

    def asked(self, value: Node, reader: TaskReader) -> QueriesTask | None:
        found = reader.listed(value, self.word)
        return None if found is None else QueriesTask(found)
