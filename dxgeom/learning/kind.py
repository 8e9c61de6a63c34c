"""A task that fits a model: a regression of one attribute on others, released as a table of coefficients."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, final

from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.queries.query_kind import SEVERAL_WORDS, Word
from dxgeom.queries.tasks.task_kind import STRICT, TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.columns import NumberColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.tasks.questions import FitTask
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

MODELS = ("linear", "logistic")


def ridge(value: Any) -> Fraction:
    """A ridge. Raises: PydanticCustomError."""
    try:
        number = exact(value.strip()) if isinstance(value, str) else Fraction(-1)
    except NotANumber:
        number = Fraction(-1)
    if number < 0:
        said = "a ridge is a number of at least 0"
        raise PydanticCustomError(
            "DX232", "{said}", {"said": said, "advice": "leave it out: privacy has one of its own"}
        )
    return number


Ridge = Annotated[
    Fraction | None,
    PlainValidator(ridge),
    WithJsonSchema({"type": ["number", "string"], "minimum": 0}),
    Field(description="How strongly coefficients are held back, beyond what privacy asks for; public."),
]


@final
class FitBody(BaseModel):
    """``{linear: income, by: [age, sex]}``."""

    model_config = STRICT

    linear: Word | None = Field(None, description="Least squares: the attribute of numbers that is predicted.")
    logistic: Word | None = Field(
        None, description="Logistic regression: the attribute of two values that is predicted."
    )
    by: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        None, description="The attributes it is told from; left out, all others."
    )
    ridge: Ridge = None


@final
class FitTaskSyntax(TaskSyntax):
    """``{fit: {linear: …, by: …}}``."""

    fit: Any = Field(description="A regression of one attribute on others: a table of coefficients.")


@final
class FitKind(TaskKind, QuestionKind[FitTask]):
    """A regression."""

    question = FitTask
    about = "a regression"
    word = "fit"
    syntax = FitTaskSyntax
    body = FitBody

    def part(self, question: FitTask, how: Planning) -> Plan:
        from dxgeom.learning.linear_plan import linear_plan_of
        from dxgeom.learning.logistic_plan import logistic_plan_of

        response, by, ridge, records = question.response, question.by, question.ridge, how.wish.records
        if question.model == "logistic":
            return logistic_plan_of(how.metric, response, by, ridge, records)
        if how.metric.universe is None:
            raise UnsupportedCombination("this metric knows no records")
        return linear_plan_of(how.metric.universe, response, by, ridge, how.of, records)

    def read(self, value: Node, reader: TaskReader) -> FitTask | None:
        said = reader.body(FitBody, value, "a task that fits a model")
        if said is None:
            return None
        body, node = said
        models = [model for model in MODELS if getattr(body, model) is not None]
        if len(models) != 1:
            told = " and ".join(models) or "neither"
            reader.note("DX230", node.span, f"a fit is of one model, {' or '.join(MODELS)}; found {told}")
            return None
        (model,) = models
        response = _attribute((node.entry(model) or (None, value))[1], reader)
        by = _attributes(node, reader)
        if response is None or by is None or _cannot_be(model, response, by, node, reader):
            return None
        return FitTask(model, response, by or None, body.ridge)


def _attribute(node: Node, reader: TaskReader) -> str | None:
    """The name of an attribute; noted where there is none."""
    names = reader.universe.names
    name = node.text if isinstance(node, Scalar) else ""
    if name in names:
        return name
    message = f"there is no attribute {shown(name)}" if name else "the name of an attribute is expected here"
    reader.note("DX201", node.span, message, did_you_mean(name, names) or f"known are {', '.join(names)}")
    return None


def _attributes(node: Mapping, reader: TaskReader) -> tuple[str, ...] | None:
    """Those behind 'by', none where nothing is said; None where a mistake was noted."""
    stated = node.entry("by")
    if stated is None:
        return ()
    items = stated[1].items if isinstance(stated[1], Sequence) else (stated[1],)
    found = [_attribute(item, reader) for item in items]
    if not found:
        reader.note("DX108", stated[1].span, "'by' names an attribute at least", "leave it out for all others")
    return None if not found or None in found else tuple(name for name in dict.fromkeys(found) if name is not None)


def _cannot_be(model: str, response: str, by: tuple[str, ...], node: Mapping, reader: TaskReader) -> bool:
    """Whether a policy cannot have this fit; why, is noted."""
    found = _hindrance(model, response, by, reader)
    if found is not None:
        reader.note("DX233", node.span, *found)
    return found is not None


def _hindrance(model: str, response: str, by: tuple[str, ...], reader: TaskReader) -> tuple[str, str] | None:
    universe, people = reader.universe, reader.universe.reading.people
    attribute = universe.attribute(response)
    if universe.listed is not None:
        return "a model is told from attributes, each on its own; this policy's records are a table", "list attributes"
    if response in by or len(universe.names) < 2:
        return f"{shown(response)} is predicted, and told from other attributes", "name others behind 'by'"
    if model == "linear":
        if attribute.missing is not None:
            return f"{shown(response)} may be missing, and least squares has no number for such a record", ""
        if not isinstance(attribute.columns[0], NumberColumn) or attribute.size < 2:
            return f"a linear regression predicts numbers, which {shown(response)} has not", "take logistic"
        return None
    if attribute.size != 2:
        return f"a logistic regression predicts one of two values; {shown(response)} has {attribute.size}", ""
    if people is not None and people.in_shares:
        counted = "people count once here" if people.count == "once" else "rows of people count in shares here"
        said = f"{counted}: a person spread over many rows bends a logistic fit by more than one row does"
        return said, "let people count by 'rows' with an 'order', or be 'single'; or take a linear regression"
    return None


FIT: Final = FitKind()
