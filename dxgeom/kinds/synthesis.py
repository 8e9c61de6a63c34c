"""Tasks that ask for synthetic records: learnt by multiplicative weights, or a small database picked among all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, cast, final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.errors import UnsupportedCombination
from dxgeom.kinds.selection import LAWS, Law
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan_kind import RECORDS, PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.tasks.task_kind import (
    STRICT,
    ListOfQueries,
    TaskKind,
    TaskReader,
    TaskSyntax,
    part_of_one,
    whole,
)
from dxgeom.universe.columns import plain
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import DatabaseTask, SynthesisTask

if TYPE_CHECKING:
    from dxgeom.mechanisms.contract.mechanism import Mechanism
    from dxgeom.mechanisms.selection.small_databases import SmallDatabase
    from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem
    from dxgeom.mechanisms.synthetic.synthetic import SyntheticHistogram
    from dxgeom.noise.noisy_maximum import SelectionLaw
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers
    from dxgeom.universe.universe import Universe

MOST_ROUNDS: Final = 10_000
MOST_ROWS: Final = 10_000_000
MOST_ROWS_OF_A_DATABASE: Final = 1_000
ESTIMATES: Final = ("weights", "mbi")
BY_TRIAL: Final = "auto"
_WHOLE: Final[dict[str, Any]] = {"type": ["integer", "string"]}
_PART: Final[dict[str, Any]] = {"type": ["number", "string"]}
_WORKLOAD: Final = (
    "What the records are to answer nearly as the real ones do: counts and sums, as a file of queries has them."
)


def _rounds(value: Any) -> int:
    return whole(value, "the number of rounds", 0, MOST_ROUNDS)


def _rows(value: Any) -> int:
    return whole(value, "the number of rows", 1, MOST_ROWS)


def _few_rows(value: Any) -> int:
    return whole(value, "the number of rows", 1, MOST_ROWS_OF_A_DATABASE)


def _steepness(value: Any) -> Fraction | str:
    part = BY_TRIAL if value == BY_TRIAL else part_of_one(value)
    if part is None or not (part == BY_TRIAL or 0 < Fraction(part) <= 1):
        said = "'steepness' is a part of the steepest query's, above 0 and at most 1"
        advice = f"write 0.3 or 3/10, or {BY_TRIAL} to have it chosen on made-up tables"
        raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": advice})
    return part


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
    steepness: Annotated[Fraction | str | None, PlainValidator(_steepness), WithJsonSchema(_PART)] = Field(
        None,
        description="For few records: queries that change more steeply than this part of the steepest are measured "
        "changed, with less noise and a bias that bounds count. 'auto' has it chosen by the number of records.",
    )


@final
class SynthesizeTaskSyntax(TaskSyntax):
    """``{synthesize: {workload: …}}``."""

    synthesize: Any = Field(description="A table of synthetic records, with a bound on every answer of a workload.")


class RecordsKind(TaskKind, PlanKind, ABC):
    """Records that are made up. ``kept_as``: what a ledger keeps of an answer without tasks is one of these."""

    makes_records = True
    kept_as: ClassVar[type] = type(None)

    @abstractmethod
    def kept_columns(self, shown: Mapping[str, Any], kept: Any, universe: Universe) -> dict[str, list[Any]]:
        """The records as columns that an answer was which a ledger keeps, beside what was ``shown`` of it.

        Raises: KeyError, TypeError, ValueError for what was kept otherwise.
        """


class _SyntheticKind(RecordsKind, ABC):
    """Records that are made up, to answer a workload nearly as the real ones do."""

    @abstractmethod
    def kept_counts(self, shown: Mapping[str, Any], kept: Any, size: int) -> NDArray[np.int64]:
        """(N,): how many records of each type an answer was that a ledger keeps, beside what was ``shown`` of it."""

    def kept_columns(self, shown: Mapping[str, Any], kept: Any, universe: Universe) -> dict[str, list[Any]]:
        from dxgeom.universe.reading.record_tables import columns_of_records  # loaded where records are asked for

        return columns_of_records(universe, self.kept_counts(shown, kept, universe.size))

    def queries(self, plan: Plan) -> LinearQueries:
        workload: LinearQueries = plan.question.workload
        return workload


def _records_said(records: int | None) -> str:
    return f"{records:,} records" if records else f"{RECORDS:,} records (nobody says how many there are)"


@final
class SynthesizeKind(_SyntheticKind, QuestionKind[SynthesisTask]):
    """A table of synthetic records."""

    question = SynthesisTask
    about = called = "synthetic records"
    word = "synthesize"
    syntax = SynthesizeTaskSyntax
    body = SynthesizeBody
    lists = ("workload",)
    kept_as = dict

    def part(self, question: SynthesisTask, how: Planning) -> Plan:
        """Of the weights, or of what a graphical model makes of their measurements.

        Raises: as :func:`dxgeom.mechanisms.synthetic.mwem`; UnsupportedCombination, MissingExtra where such a model
        cannot be estimated.
        """
        from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem  # slow to load, as all that plans is

        metric, asked, rounds, stated = how.metric, question.workload, question.rounds, question.steepness
        if stated != BY_TRIAL:
            return self._of(
                mwem(metric, asked, rounds=rounds, steepness=cast("Fraction | None", stated)), question, how
            )
        if how.wish.records is None:
            raise UnsupportedCombination(
                f"'steepness: {BY_TRIAL}' follows from the number of records: state it, with 'records: 500' in the "
                "file, records=500 or --records 500, or write a part such as 0.3"
            )
        made = mwem(metric, asked, rounds=rounds, records=how.wish.records, spend=how.wish.spend)
        return self._of(made, question, how)

    def earlier(self, question: SynthesisTask, how: Planning) -> Iterator[Plan]:
        """Until 0.2.1 permute-and-flip selected under concentrated privacy, too."""
        weights: Mwem = self.part(question, how).decided
        if weights.law == "exponential":
            yield self._of(replace(weights, law="permute-and-flip"), question, how)

    def _of(self, weights: Mwem, question: SynthesisTask, how: Planning) -> Plan:
        from dxgeom.mechanisms.contract.composition import followed_by
        from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model, require_whole_marginals
        from dxgeom.planner.plan import Plan

        made: Mechanism[Any, SyntheticHistogram] = weights
        if question.estimate == "mbi":
            require_whole_marginals(weights.workload)
        if question.estimate != "weights":
            made = followed_by(weights, by_graphical_model, f"mwem, {question.estimate}")
        return Plan(self, how.metric, question, made, how.wish.records, decided=weights)

    no_errors = Unknown(
        "how far off synthetic records are is proved of what was measured", "it is told with the answers"
    )

    def purpose(self, plan: Plan) -> str:
        return f"synthetic records for {plan.queries.count} queries by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: SyntheticHistogram, spend: Fraction, records: int | None) -> SyntheticAnswers:
        from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers

        question: SynthesisTask = plan.question
        rows = answer.records if question.rows is None else question.rows
        return SyntheticAnswers(question, answer, None, spend, rows, question.estimate)

    def kept_counts(self, shown: Mapping[str, Any], kept: Any, size: int) -> NDArray[np.int64]:
        from dxgeom.mechanisms.synthetic.synthetic import whole_counts

        return whole_counts(np.array(kept["distribution"], dtype=np.float64), int(shown["rows"]))

    def blank(self, plan: Plan, records: int | None) -> SyntheticHistogram:
        """A histogram that was made of nothing: the public start, and one measurement of no query of the data."""
        from dxgeom.mechanisms.synthetic.synthetic import LastLook, Measurement, SyntheticHistogram

        weights: Mwem = plan.decided
        nothing = Measurement(0, True, 0, plan.queries.names[0], Fraction(0), 1.0, Fraction(1), 0.0)
        look = LastLook(np.zeros(plan.queries.count), 1.0)
        return SyntheticHistogram(
            weights.start, weights.workload, plan.records or RECORDS, (nothing,), look, weights.shifts
        )

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        weights: Mwem = plan.decided
        number = records or plan.records
        rounds = weights.rounds_for(number or RECORDS, spend)
        how = f"in {rounds} rounds" if rounds else "all at once"
        return (
            f"with {_records_said(number)}, {plan.queries.count} queries are measured {how}; how far off each "
            f"answer can be, with probability {level:g} for all at once, is proved of what was measured and told "
            "beside it",
            *self._slower(plan, number),
        )

    def _part(self, plan: Plan) -> str:
        weights: Mwem = plan.decided
        return "1" if weights.shifts is None else str(weights.shifts.part)

    def _slower(self, plan: Plan, records: int | None) -> tuple[str, ...]:
        weights: Mwem = plan.decided
        chosen = plan.question.steepness == BY_TRIAL
        if weights.shifts is None:
            kept = "queries are measured as they are asked for: on made-up tables no slower ones erred less"
            return (kept,) if chosen else ()
        most = float(weights.shifts.biases(records or RECORDS).max())
        why = "erred least on made-up tables, an estimate" if chosen else "was asked for"
        return (
            f"queries are measured that change by at most {plain(weights.shifts.part)} of the steepest one's change, "
            f"which {why}; with {_records_said(records)} no answer is off by more than {most:.4g} for it, and each "
            "bound counts its part",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        question: SynthesisTask = plan.question
        return {
            "queries": list(question.workload.names),
            "rounds": question.rounds,
            "rows": question.rows,
            "estimate": question.estimate,
            **({} if question.steepness is None else {"steepness": str(question.steepness), "part": self._part(plan)}),
            "mechanism": plan.mechanism.name,
        }

    def picked_by(self, plan: Plan) -> str:
        weights: Mwem = plan.decided
        return f"{weights.law} at half" if weights.at_half else weights.law

    def read(self, value: Node, reader: TaskReader) -> SynthesisTask | None:
        said = reader.body(SynthesizeBody, value, "a task that synthesizes")
        if said is None:
            return None
        body, node = said
        if body.steepness is not None and body.estimate != ESTIMATES[0]:
            message = f"'estimate: {body.estimate}' takes whole marginals, which 'steepness' changes"
            reader.note("DX233", node.span, message, "leave one of them out")
            return None
        workload = reader.linear((node.entry("workload") or (None, value))[1], "workload")
        if workload is None:
            return None
        return SynthesisTask(workload, body.rounds, body.rows, body.estimate, body.steepness)


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
class SmallDatabaseKind(_SyntheticKind, QuestionKind[DatabaseTask]):
    """A database of few records, picked among all of its size."""

    question = DatabaseTask
    about = called = "a small database"
    word = "small_database"
    syntax = SmallDatabaseTaskSyntax
    body = SmallDatabaseBody
    lists = ("workload",)
    kept_as = list

    def part(self, question: DatabaseTask, how: Planning) -> Plan:
        """Raises: as :func:`dxgeom.mechanisms.selection.small_database`."""
        from dxgeom.mechanisms.selection.small_databases import small_database
        from dxgeom.planner.plan import Plan

        law, records = cast("SelectionLaw", question.law), how.wish.records
        made = small_database(how.metric, question.workload, law=law, records=records, rows=question.rows)
        return Plan(self, how.metric, question, made, records)

    def purpose(self, plan: Plan) -> str:
        return f"a database of {plan.question.rows} records for {plan.queries.count} queries"

    def answers(self, plan: Plan, answer: SmallDatabase, spend: Fraction, records: int | None) -> SyntheticAnswers:
        from dxgeom.planner.tasks.synthetic_answers import SyntheticAnswers

        return SyntheticAnswers(plan.question, answer, plan.mechanism, spend, plan.question.rows)

    def kept_counts(self, shown: Mapping[str, Any], kept: Any, size: int) -> NDArray[np.int64]:
        return np.bincount(np.array(kept[1:], dtype=np.int64), minlength=size).astype(np.int64)

    def blank(self, plan: Plan, records: int | None) -> SmallDatabase:
        from dxgeom.mechanisms.selection.small_databases import SmallDatabase

        return SmallDatabase((0,) * plan.question.rows, records or plan.records or RECORDS, plan.mechanism.queries)

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        number = records or plan.records
        if number is None:
            raise Unknown(
                "how far off a small database is grows with the number of records", "half_widths(records=...) takes it"
            ).refusal
        return self.blank_answers(plan, spend, number)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        number = records or plan.records
        bound = plan.mechanism.error_bound(number or RECORDS, level, spend)
        return (
            f"proved: with {_records_said(number)} none of {plan.queries.count} answers is off by more than "
            f"{bound:.4g}, with probability {level:g} for all at once",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        return {
            "queries": list(plan.queries.names),
            "rows": plan.question.rows,
            "law": plan.mechanism.law,
            "databases": plan.mechanism.databases,
            "changed_queries": plan.mechanism.planned is not None,
        }

    def picked_by(self, plan: Plan) -> str:
        return str(plan.mechanism.law)

    def read(self, value: Node, reader: TaskReader) -> DatabaseTask | None:
        said = reader.body(SmallDatabaseBody, value, "a small database")
        if said is None:
            return None
        body, node = said
        workload = reader.linear((node.entry("workload") or (None, value))[1], "workload")
        return None if workload is None else DatabaseTask(workload, body.rows, body.law)


SYNTHESIZE: Final = SynthesizeKind()


SMALL_DATABASE: Final = SmallDatabaseKind()
