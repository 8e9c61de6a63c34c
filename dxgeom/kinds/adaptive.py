"""Tasks that ask for tables which follow the data: one model, measured where it answers worst, and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import numpy as np
from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.kinds.synthesis import MOST_ROUNDS, MOST_ROWS, RecordsKind
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.kind import Planning, QuestionKind, kind_of
from dxgeom.planner.plan_kind import RECORDS
from dxgeom.planner.unknown import Unknown
from dxgeom.planner.wish import Wish
from dxgeom.policy.source.yaml_tree import Mapping as Written
from dxgeom.policy.source.yaml_tree import Node, Sequence
from dxgeom.queries.queries_file import queries_text
from dxgeom.queries.query_kind import LIST_THEM
from dxgeom.queries.tasks.task_kind import STRICT, ListOfQueries, TaskReader, TaskSyntax, part_of_one, whole
from dxgeom.queries.unlisted import UnlistedReader, words_of_tables
from dxgeom.universe.columns import plain
from dxgeom.universe.tasks.questions import AdaptiveTask
from dxgeom.universe.tasks.tasks import Tasks, TaskWithShare
from dxgeom.universe.universe import Universe
from dxgeom.universe.workloads.whole_tables import MarginalQueries
from dxgeom.wording.numbers import brief, counted

if TYPE_CHECKING:
    from dxgeom.mechanisms.synthetic.adaptive import AdaptiveMechanism
    from dxgeom.mechanisms.synthetic.adaptive_answer import AdaptiveTables
    from dxgeom.planner.estimates.worth import EstimateWorth
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.adaptive_answers import AdaptiveAnswers

BARS: Final = Fraction(1, 5)
_WHOLE: Final[dict[str, Any]] = {"type": ["integer", "string"]}
_PART: Final[dict[str, Any]] = {"type": ["number", "string"], "minimum": 0}
MOST_IN_CLIQUES: Final = 200_000_000
_TABLES: Final = "'workload' asks for whole tables, each a 'marginal'"


def _rounds(value: Any) -> int:
    return whole(value, "the number of rounds", 1, MOST_ROUNDS)


def _rows(value: Any) -> int:
    return whole(value, "the number of rows", 1, MOST_ROWS)


def _cells(value: Any) -> int:
    return whole(value, "the number of cells", 1, MOST_IN_CLIQUES)


def _bars(value: Any) -> Fraction:
    part = part_of_one(value)
    if part is None or not 0 <= part < 1:
        said = "'bars' is a part of the budget, at least 0 and below 1"
        raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": "write 0.2 or 1/5, or 0 for no bars"})
    return part


@final
class AdaptiveBody(BaseModel):
    """``{workload: [marginals…], bars: 0.2, rounds: 20, rows: …}``."""

    model_config = STRICT

    workload: ListOfQueries = Field(
        description="The tables that are answered: marginals, as a file of queries has them."
    )
    bars: Annotated[Fraction, PlainValidator(_bars), WithJsonSchema(_PART)] = Field(
        BARS,
        description="The part of the budget that measures all tables once more, for bars of error; 0 for no bars. Left "
        "out, 1/5.",
    )
    rounds: Annotated[int | None, PlainValidator(_rounds), WithJsonSchema(_WHOLE)] = Field(
        None, description="How many tables are selected and measured at most. Left out, 16 for each attribute."
    )
    cells: Annotated[int | None, PlainValidator(_cells), WithJsonSchema(_WHOLE)] = Field(
        None,
        description="Where there are more than ten million possible cells: how many the model may keep, in cliques of "
        "attributes. Left out, 1,000,000.",
    )
    rows: Annotated[int | None, PlainValidator(_rows), WithJsonSchema(_WHOLE)] = Field(
        None, description="How many synthetic records are written; left out, as many as the model counts."
    )


@final
class AdaptiveTaskSyntax(TaskSyntax):
    """``{adaptive: {workload: …}}``."""

    adaptive: Any = Field(
        description="Whole tables of counts from one model, which measures what it answers worst; for few records."
    )


@final
class AdaptiveKind(RecordsKind, QuestionKind[AdaptiveTask]):
    """Whole tables that follow the data."""

    question = AdaptiveTask
    about = called = "tables that follow the data"
    word = "adaptive"
    syntax = AdaptiveTaskSyntax
    body = AdaptiveBody
    lists = ("workload",)
    of_any_size = True
    why = "it was asked for: what is measured follows from what was measured before"
    no_errors = Unknown(
        "how far off tables are that follow the data is known of what was measured",
        "it is shown with the answers; statements() say what no bar is below",
    )

    def part(self, question: AdaptiveTask, how: Planning) -> Plan:
        """Raises: as :func:`dxgeom.mechanisms.synthetic.adaptive_tables`."""
        from dxgeom.mechanisms.synthetic.adaptive import CELLS, adaptive_tables  # slow to load, as all that plans is
        from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram
        from dxgeom.planner.plan import Plan

        cells = CELLS if question.cells is None else question.cells
        made = adaptive_tables(how.metric, question.workload, rounds=question.rounds, bars=question.bars, cells=cells)
        return Plan(self, how.metric, question, AdaptiveOnHistogram(made), how.wish.records, decided=made)

    def earlier(self, question: AdaptiveTask, how: Planning) -> Iterator[Plan]:
        """Until 0.2.1 one round took all that was less than two parts; for a time two always shared it."""
        from dxgeom.mechanisms.synthetic.adaptive import EARLIER_ENDINGS
        from dxgeom.mechanisms.synthetic.on_histograms import AdaptiveOnHistogram

        plan = self.part(question, how)
        for before in (replace(plan.decided, ending=one) for one in EARLIER_ENDINGS):
            yield replace(plan, mechanism=AdaptiveOnHistogram(before), decided=before)

    def queries(self, plan: Plan) -> MarginalQueries:
        workload: MarginalQueries = plan.question.workload
        return workload

    def purpose(self, plan: Plan) -> str:
        return f"{counted(plan.queries.each, 'table')} that follow the data"

    def answers(self, plan: Plan, answer: AdaptiveTables, spend: Fraction, records: int | None) -> AdaptiveAnswers:
        from dxgeom.planner.tasks.adaptive_answers import AdaptiveAnswers

        return AdaptiveAnswers(plan.question, answer, spend)

    def blank(self, plan: Plan, records: int | None) -> AdaptiveTables:
        """As long as one can be, of no data: as many steps as there are at most, and counts of many digits."""
        from dxgeom.mechanisms.synthetic.adaptive_answer import AdaptiveStep, AdaptiveTables
        from dxgeom.mechanisms.synthetic.table_model import TableModel

        own: AdaptiveMechanism = plan.decided
        nothing: MappingProxyType[Any, Any] = MappingProxyType({})
        model = TableModel(own.queries.sizes, nothing, (records or plan.records or RECORDS) + 1 / 3)
        long = Fraction(2**53 - 1, 2**60 + 1)
        costs = MappingProxyType(dict.fromkeys(own.limits, long))
        widest = max(own.candidates, key=len)

        def step(axes: tuple[int, ...], cells: int) -> AdaptiveStep:
            zeros = np.zeros(cells, dtype=np.int64)
            return AdaptiveStep(axes, zeros, long, long, costs, costs, own.normal, 1 / 3)

        steps = len(own.queries.sizes) + own.most_rounds
        asked = own.queries.attribute_sets if own.bars else ()
        return AdaptiveTables(
            own.queries, model, (step(widest, 0),) * steps, tuple(step(one, own.cells(one)) for one in asked)
        )

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        from dxgeom.mechanisms.synthetic.adaptive import BYTES_OF_A_CELL

        own: AdaptiveMechanism = plan.decided
        tables = f"{counted(own.queries.each, 'table')} with {own.queries.count:,} cells"
        first = f"{tables} by one model: {counted(len(own.queries.sizes), 'attribute')} measured alone, then at most "
        first += f"{counted(own.most_rounds, 'table')}, each selected where the model answers worst"
        if own.in_cliques:
            first += f" and leaves the model's cliques at {own.cells_in_cliques:,} numbers or fewer, about "
            first += f"{brief(own.cells_in_cliques * BYTES_OF_A_CELL / 10**6)} MB"
        if not own.bars:
            return (f"{first}; no bar: nothing of the budget is kept for bars of error",)
        widths = own.least_half_widths(spend, level)
        least = f"a bar of a count is {brief(min(widths))} at least" + (
            f", in some tables {brief(max(widths))}" if max(widths) > min(widths) else ""
        )
        kept = f"{plain(own.bars)} of the budget measures all once more for bars of error, shown with the answers"
        return (f"{first}; {kept}: {least}, with probability {level:g}",)

    def facts(self, plan: Plan) -> dict[str, Any]:
        question: AdaptiveTask = plan.question
        return {
            "tables": list(question.workload.names),
            "cells": question.workload.count,
            "bars": str(question.bars),
            "rounds": question.rounds,
            "rows": question.rows,
            "mechanism": plan.mechanism.name,
        }

    def picked_by(self, plan: Plan) -> str:
        own: AdaptiveMechanism = plan.decided
        ends = {1: "", 2: ", 2 rounds at the end"}.get(own.ending, ", 1 or 2 rounds at the end")
        return f"{own.law}{ends}"

    def kept_columns(self, shown: Mapping[str, Any], kept: Any, universe: Universe) -> dict[str, list[Any]]:
        from dxgeom.mechanisms.synthetic.adaptive_answer import kept_model
        from dxgeom.planner.tasks.adaptive_answers import columns_of_model

        words = shown["values"]
        model = kept_model(kept, tuple(map(len, words.values())))
        return columns_of_model(model, words, int(shown["rows"]), universe)

    def read(self, value: Node, reader: TaskReader) -> AdaptiveTask | None:
        said = reader.body(AdaptiveBody, value, "a task for tables that follow the data")
        if said is None:
            return None
        body, node = said
        workload = self._tables((node.entry("workload") or (None, value))[1], reader)
        return None if workload is None else AdaptiveTask(workload, body.bars, body.rounds, body.rows, body.cells)

    def _tables(self, node: Node, reader: TaskReader) -> MarginalQueries | None:
        """The tables of a list; None where a mistake was noted."""
        before = len(reader.mistakes.all)
        if not isinstance(node, Sequence) or not node.items:
            reader.note("DX108", node.span, "'workload' is a list with at least one query", LIST_THEM)
            return None
        for one in node.items:
            if not isinstance(one, Written):
                continue  # noted below, as in any list
            wanted = one.entry("error")
            if wanted is not None:
                advice = "leave it out, or ask for the table in a task of queries, whose errors are known beforehand"
                reader.note("DX233", wanted[0].span, f"{_TABLES}; their errors are known afterwards only", advice)
            elif one.entry("marginal") is None and one.entry("marginals") is None:
                advice = "write '- marginal: [age, sex]'; put other queries into a task of their own"
                reader.note("DX233", one.span, _TABLES, advice)
        if len(reader.mistakes.all) > before:
            return None
        return UnlistedReader(reader.universe, reader.mistakes, reader.queries.records).tables(node.items)


def unasked(certified: Plan, worth: EstimateWorth) -> Plan:
    """The plan of the same tables that follow the data, as a file with one task asks for them; ``certified``, with the
    reason, where its noise adds up to no more than the records, errors were asked for, a table is exact by public
    numbers, or these tables cannot.

    Guarantee: public numbers alone decide: of cells, of records, and what is spent.
    """
    noise, queries = worth.noise_over_records, certified.question
    if worth.certain:
        return _stays(certified, "errors were asked for, which only noise keeps")
    if any(certified.mechanism.all_told):
        return _stays(certified, "public numbers are all of some table, which would not be exact any more")
    if noise is None:
        return _stays(certified, "how much noise is beside the records is not known: their number is not public")
    if not worth.is_mostly_noise:
        return _stays(certified, f"noise adds up to {brief(noise)} of the records in a table, and not to more")
    why = f"noise of {certified.mechanism.name} would add up to {brief(noise)} times the records in a table"
    task = TaskWithShare("tables", Fraction(1), AdaptiveTask(queries, BARS))
    try:
        words = words_of_tables(queries)
        words["tasks"] = [{"name": task.name, ADAPTIVE.word: {"workload": words.pop("queries")}}]
        said = f"{why}, and the policy says 'adaptive: allow'"
        tasks = Tasks((task,), queries.universe, queries.records, queries_text(words), said)
        return kind_of(tasks).part(tasks, Planning(certified.metric, Wish(spend=worth.spend)))
    except (UnsupportedCombination, TooLarge) as error:
        return _stays(certified, str(error))


def _stays(certified: Plan, why: str) -> Plan:
    """The plan, which says why its tables do not follow the data though they might."""
    other = CandidateResult(ADAPTIVE.word, None, reason=f"not taken: {why}")
    return replace(certified, decided=replace(certified.decided, others=(*certified.decided.others, other)))


ADAPTIVE: Final = AdaptiveKind()
