"""A task that selects: the best of several candidates, by a score each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, final

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.queries.one_file import queries_listed
from dxgeom.queries.query_kind import SEVERAL_WORDS, WORD, Where
from dxgeom.queries.tasks.task_kind import STRICT, TaskKind, TaskReader, TaskSyntax, whole
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import SelectTask

if TYPE_CHECKING:
    from dxgeom.noise.noisy_maximum import SelectionLaw
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.task_answers import Selected

LAWS: Final = ("permute-and-flip", "exponential")
MOST_PICKS: Final = 1000
_BY: Final[dict[str, Any]] = {
    "anyOf": [
        {"enum": ["count"]},
        {"type": "object", "properties": {"sum": WORD}, "required": ["sum"], "additionalProperties": False},
    ]
}


def law(value: Any) -> str:
    """The law of a selection. Raises: PydanticCustomError."""
    if value not in LAWS:
        said = f"a selection's law is one of {' and '.join(LAWS)}"
        raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": "leave it out for permute-and-flip"})
    return str(value)


Law = Annotated[
    str,
    PlainValidator(law),
    WithJsonSchema({"enum": list(LAWS)}),
    Field(
        description="How one is drawn; permute-and-flip, where none is named. It never errs more at one rate; under "
        "concentrated privacy 'exponential' has twice the rate."
    ),
]


def _top(value: Any) -> int:
    return whole(value, "how many are picked", 1, MOST_PICKS)


Top = Annotated[
    int,
    PlainValidator(_top),
    WithJsonSchema({"type": ["integer", "string"], "minimum": 1, "maximum": MOST_PICKS}),
    Field(description="How many are picked, the best first; one where this is left out."),
]


@final
class SelectBody(BaseModel):
    """``{best: attribute, by: count}``, or ``{best: [queries…]}``; with ``top: 3`` the best three."""

    model_config = STRICT

    best: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        description="The candidates: the values of an attribute or column, or of several together; or queries, whose "
        "answers are the scores."
    )
    by: Annotated[Any, WithJsonSchema(_BY)] = Field(
        None, description="The score of each value: the number of its records, 'count', or {sum: column} over them."
    )
    where: Where = None
    law: Law = LAWS[0]
    top: Top = 1


@final
class SelectTaskSyntax(TaskSyntax):
    """``{select: {best: …, by: …}}``."""

    select: Any = Field(description="The best candidate, the one with the largest score.")


@final
class SelectKind(TaskKind, QuestionKind[SelectTask], PlanKind):
    """The best of several candidates, one or some."""

    question = SelectTask
    about = "a selection"
    word = "select"
    syntax = SelectTaskSyntax
    body = SelectBody
    lists = ("best",)

    def part(self, question: SelectTask, how: Planning) -> Plan:
        """Raises: as :func:`dxgeom.selection`, or :func:`dxgeom.mechanisms.selection.top_selection` of several."""
        from dxgeom.mechanisms.selection.selections import (
            selection,  # slow to load, as all that plans is
            top_selection,
        )
        from dxgeom.planner.plan import Plan

        law, records = cast("SelectionLaw", question.law), how.wish.records
        if question.picks == 1:
            made = selection(how.metric, question.candidates, law, records=records)
            return Plan(self, how.metric, question, made, records)
        some = top_selection(how.metric, question.candidates, question.picks, law)
        return Plan(self, how.metric, question, some, records)

    def earlier(self, question: SelectTask, how: Planning) -> Iterator[Plan]:
        """Until 0.2.1 the exponential law was charged its whole range under concentrated privacy, too."""
        plan = self.part(question, how)
        each = plan.mechanism if question.picks == 1 else plan.mechanism.each
        if each.at_half:
            before = replace(each, at_half=False)
            made = before if question.picks == 1 else replace(plan.mechanism, each=before)
            yield replace(plan, mechanism=made)

    def fingerprint(self, plan: Plan) -> str:
        of = "a selection" if plan.question.picks == 1 else "the best few"
        return canonical_digest(f"plan of {of}", plan.mechanism.fingerprint, plan.question.fingerprint)

    def queries(self, plan: Plan) -> LinearQueries:
        candidates: LinearQueries = plan.question.candidates
        return candidates

    def purpose(self, plan: Plan) -> str:
        question, mechanism = plan.question, plan.mechanism
        which, law = ("best", mechanism.name) if question.picks == 1 else (f"best {question.picks}", mechanism.law)
        return f"the {which} of {len(question.each_label)} candidates by {law}"

    def answers(self, plan: Plan, answer: Any, spend: Fraction, records: int | None) -> Selected:
        from dxgeom.planner.tasks.task_answers import Selected

        places = (answer,) if plan.question.picks == 1 else tuple(answer)
        return Selected(plan.question, plan.mechanism, places, spend)

    def blank(self, plan: Plan, records: int | None) -> int | tuple[int, ...]:
        """The candidates with the longest names."""
        labels, names = plan.question.each_label, plan.question.candidates.names
        longest = sorted(range(len(labels)), key=lambda place: -len(labels[place]) - len(names[place]))
        return longest[0] if plan.question.picks == 1 else tuple(longest[: plan.question.picks])

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        below = plan.mechanism.shortfall(level, spend)
        if plan.question.picks > 1:
            return (
                f"proved: with probability {level:g}, for every place at once, the score of the one picked is less "
                f"than {below:.4g} below the best for that place; picked one after the other by {plan.mechanism.law}, "
                "at equal shares",
            )
        proved = (
            f"proved: with probability {level:g} the score of the one picked is less than {below:.4g} below the best, "
            f"on average less than {plan.mechanism.expected_shortfall(spend):.4g}"
        )
        change = plan.mechanism.change
        if change is None:
            return (proved,)
        return (
            proved,
            f"picked by other scores than asked for, which need less noise, for {change.records:,} records; leads are "
            f"off by at most {float(change.bias):.4g}, which is part of that",
        )

    def facts(self, plan: Plan) -> dict[str, Any]:
        question, mechanism = plan.question, plan.mechanism
        one = {"law": mechanism.name, "changed_scores": mechanism.change is not None} if question.picks == 1 else None
        return {"candidates": [*question.each_label], **(one or {"top": mechanism.picks, "law": mechanism.law})}

    def picked_by(self, plan: Plan) -> str:
        each = plan.mechanism if plan.question.picks == 1 else plan.mechanism.each
        return f"{each.name} at half" if each.at_half else str(each.name)

    def read(self, value: Node, reader: TaskReader) -> SelectTask | None:
        said = reader.body(SelectBody, value, "a task that selects")
        if said is None:
            return None
        body, node = said
        best = (node.entry("best") or (None, value))[1]
        if isinstance(best, Sequence) and any(not isinstance(item, Scalar) for item in best.items):
            asked = _of_queries(best, node, body.law, reader)
        else:
            asked = _of_values(best, node, body.law, reader)
        if asked is None or asked.candidates.count >= body.top:
            return None if asked is None else replace(asked, picks=body.top)
        reader.note("DX233", node.span, f"'top: {body.top}' of {asked.candidates.count} candidates", "ask for fewer")
        return None


def _of_queries(best: Sequence, node: Mapping, law: str, reader: TaskReader) -> SelectTask | None:
    for key in ("by", "where"):
        stated = node.entry(key)
        if stated is not None:
            message = f"'{key}' goes with the values of an attribute; these candidates are queries"
            reader.note("DX233", stated[0].span, message, "say it in each query")
            return None
    found = reader.linear(best, "best")
    if found is None or _measured_otherwise(found, best, reader):
        return None
    return SelectTask(found, law)


def _of_values(best: Node, node: Mapping, law: str, reader: TaskReader) -> SelectTask | None:
    scored = _scored(best, node, reader)
    found: Any = None if scored is None else queries_listed([scored], reader.queries, None)
    if found is None:
        return None
    groups = [origin.group for origin in found.each_origin]
    labels = tuple(
        group[0][1] if len(group) == 1 else ", ".join(f"{title}={word}" for title, word in group) for group in groups
    )
    return SelectTask(found, law, labels)


def _scored(best: Node, node: Mapping, reader: TaskReader) -> Mapping | None:
    """The query by groups that scores each value; noted where no such score is known."""
    by, where = node.entry("by"), node.entry("where")
    score: Node = Scalar(best.span, "count", plain=True) if by is None else by[1]
    grouped = (Scalar(best.span, "by", plain=True), best)
    if isinstance(score, Scalar) and score.text == "count":
        condition: Node = Scalar(best.span, "true", plain=True) if where is None else where[1]
        return Mapping(node.span, ((Scalar(score.span, "count", plain=True), condition), grouped))
    summed = score.entry("sum") if isinstance(score, Mapping) else None
    if summed is not None and isinstance(score, Mapping) and len(score.entries) == 1:
        chosen = () if where is None else (where,)
        return Mapping(node.span, (summed, *chosen, grouped))
    message = "a value is scored by 'count', the number of its records, or by a sum over them, such as {sum: income}"
    reader.note("DX233", score.span, message, "list queries below 'best' for other scores")
    return None


def _measured_otherwise(found: LinearQueries, best: Node, reader: TaskReader) -> bool:
    measures = list(found.by_measure)
    if len(measures) > 1:
        message = f"scores that are compared are measured alike, found {measures[0]} and {measures[1]}"
        reader.note("DX233", best.span, message, "give each the same 'unit' if that is meant")
    return len(measures) > 1


SELECT: Final = SelectKind()
