"""Tasks that ask for synthetic records: learnt by multiplicative weights, or a small database picked among all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, final

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.kinds.selection import LAWS, Law
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.tasks.task_kind import STRICT, ListOfQueries, TaskKind, TaskReader, TaskSyntax, whole
from dxgeom.universe.tasks.questions import DatabaseTask, SynthesisTask

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

MOST_ROUNDS: Final = 10_000
MOST_ROWS: Final = 10_000_000
MOST_ROWS_OF_A_DATABASE: Final = 1_000
ESTIMATES: Final = ("weights", "mbi")
_WHOLE: Final[dict[str, Any]] = {"type": ["integer", "string"]}
_WORKLOAD: Final = (
    "What the records are to answer nearly as the real ones do: counts and sums, as a file of queries has them."
)


def _rounds(value: Any) -> int:
    return whole(value, "the number of rounds", 0, MOST_ROUNDS)


def _rows(value: Any) -> int:
    return whole(value, "the number of rows", 1, MOST_ROWS)


def _few_rows(value: Any) -> int:
    return whole(value, "the number of rows", 1, MOST_ROWS_OF_A_DATABASE)


def _estimate(value: Any) -> str:
    if value not in ESTIMATES:
        said = f"records are estimated by {' or '.join(ESTIMATES)}"
        raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": "leave it out for weights"})
    return str(value)


@final
class SynthesizeBody(BaseModel):
    """``{workload: [queries…], rounds: …, rows: …, estimate: …}``."""

    model_config = STRICT

    workload: ListOfQueries = Field(description=_WORKLOAD)
    rounds: Annotated[int | None, PlainValidator(_rounds), WithJsonSchema(_WHOLE)] = Field(
        None,
        description="Rounds of multiplicative weights, each of which measures what is answered worst; 0 measures "
        "everything at once. Left out, they are chosen by public numbers.",
    )
    rows: Annotated[int | None, PlainValidator(_rows), WithJsonSchema(_WHOLE)] = Field(
        None, description="How many synthetic records are written; left out, as many as there are real ones."
    )
    estimate: Annotated[str, PlainValidator(_estimate), WithJsonSchema({"type": "string"})] = Field(
        ESTIMATES[0],
        description="What the records are made of the measurements by: weights, or the library mbi, an optional extra, "
        "which takes whole marginals.",
    )


@final
class SynthesizeTaskSyntax(TaskSyntax):
    """``{synthesize: {workload: …}}``."""

    synthesize: Any = Field(description="A table of synthetic records, with a bound on every answer of a workload.")


@final
class SynthesizeKind(TaskKind, QuestionKind[SynthesisTask]):
    """A table of synthetic records."""

    question = SynthesisTask
    about = "synthetic records"
    word = "synthesize"
    syntax = SynthesizeTaskSyntax
    body = SynthesizeBody
    lists = ("workload",)

    def part(self, question: SynthesisTask, how: Planning) -> Plan:
        from dxgeom.planner.tasks.synthetic_plans import plan_synthesis

        return plan_synthesis(how.metric, question, how.wish.records)

    def read(self, value: Node, reader: TaskReader) -> SynthesisTask | None:
        said = reader.body(SynthesizeBody, value, "a task that synthesizes")
        if said is None:
            return None
        body, node = said
        workload = reader.linear((node.entry("workload") or (None, value))[1], "workload")
        return None if workload is None else SynthesisTask(workload, body.rounds, body.rows, body.estimate)


@final
class SmallDatabaseBody(BaseModel):
    """``{workload: [queries…], rows: …, law: …}``."""

    model_config = STRICT

    workload: ListOfQueries = Field(description=_WORKLOAD)
    rows: Annotated[int, PlainValidator(_few_rows), WithJsonSchema(_WHOLE)] = Field(
        description="How many records the database has; all databases of so many are scored."
    )
    law: Law = LAWS[0]


@final
class SmallDatabaseTaskSyntax(TaskSyntax):
    """``{small_database: {workload: …, rows: …}}``."""

    small_database: Any = Field(description="A database of few records, with one bound on every answer of a workload.")


@final
class SmallDatabaseKind(TaskKind, QuestionKind[DatabaseTask]):
    """A database of few records, picked among all of its size."""

    question = DatabaseTask
    about = "a small database"
    word = "small_database"
    syntax = SmallDatabaseTaskSyntax
    body = SmallDatabaseBody
    lists = ("workload",)

    def part(self, question: DatabaseTask, how: Planning) -> Plan:
        from dxgeom.planner.tasks.synthetic_plans import plan_database

        return plan_database(how.metric, question, how.wish.records)

    def read(self, value: Node, reader: TaskReader) -> DatabaseTask | None:
        said = reader.body(SmallDatabaseBody, value, "a small database")
        if said is None:
            return None
        body, node = said
        workload = reader.linear((node.entry("workload") or (None, value))[1], "workload")
        return None if workload is None else DatabaseTask(workload, body.rows, body.law)


SYNTHESIZE: Final = SynthesizeKind()


SMALL_DATABASE: Final = SmallDatabaseKind()
