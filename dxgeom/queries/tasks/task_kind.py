"""What a kind of task is: its word, the model of what is said below it, and what it asks for.

A mapping of a file as its model has it, every mistake at its place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, TypeAlias, TypeVar, final

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.kinds import registry
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence, as_data, key_span_at, kind_of, span_at
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.one_file import queries_listed
from dxgeom.queries.query_kind import LIST_THEM, NOT_A_WORD, ONE_EACH, Name
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.questions import AskedTask
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown


def well_formed(model: type[Model], node: Node, what: str, mistakes: Mistakes) -> Model | None:
    """The mapping as its model has it; None where it has a mistake, which is noted.

    ``what``: what the mapping says, for messages, such as "a task that selects".
    """
    known = tuple(model.model_fields)
    if not isinstance(node, Mapping):
        message = f"{what} is a mapping with {' and '.join(map(shown, known))}, found {kind_of(node)}"
        first = next((key for key, one in model.model_fields.items() if one.is_required()), known[0])
        mistakes.add("DX108", node.span, message, f"write {{{_written(first)}}}, a colon and a space behind each key")
        return None
    empty = [key for key, value in node.entries if key.text in known and _is_empty(value)]
    for key in empty:
        mistakes.add("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
    try:
        made = model.model_validate(as_data(node))
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            if str(problem["loc"][0]) not in {key.text for key in empty}:
                _report(node, problem, what, known, mistakes)
        return None
    return None if empty else made


def _report(node: Mapping, problem: Any, what: str, known: tuple[str, ...], mistakes: Mistakes) -> None:
    key, context = str(problem["loc"][0]), problem.get("ctx", {})
    match problem["type"]:
        case "extra_forbidden":
            meant = _MEANT.get(key.lower(), "")
            advice = f"write '{_written(meant)}'" if meant in known else did_you_mean(key, known)
            mistakes.add("DX105", key_span_at(node, (key,)), f"the key {shown(key)} is not known here", advice)
        case "missing" if not any(_MEANT.get(stated.text.lower()) == key for stated, _ in node.entries):
            advice = f"{what} says it: write '{_written(key)}'"
            mistakes.add("DX107", node.span, f"the key {shown(key)} is missing", advice)
        case "missing":
            pass  # another tool's word stands for it, which is noted
        case str(code) if code == NOT_A_WORD:
            mistakes.add("DX108", span_at(node, (key,)), f"{shown(key)} is a single word or condition", ONE_EACH)
        case code:
            mistakes.add(str(code), span_at(node, (key,)), problem["msg"], str(context.get("advice", "")))


_MEANT: Final[dict[str, str]] = {
    **dict.fromkeys(("threshold", "min_count", "minimum", "cutoff"), "at_least"),
    **dict.fromkeys(("n", "size", "number", "n_rows", "samples"), "rows"),
    **dict.fromkeys(("iterations", "steps", "epochs"), "rounds"),
    **dict.fromkeys(("queries", "tables", "marginals"), "workload"),
    **dict.fromkeys(("weight", "part", "fraction", "budget", "epsilon"), "share"),
}
"""Words of other tools, lower case, and the key that is meant."""
_EXAMPLES: Final = {
    "at_least": "90",
    "rows": "100",
    "rounds": "20",
    "workload": "[marginals: {ways: 2}]",
    "share": "1/2",
}


def _written(key: str) -> str:
    return f"{key}: {_EXAMPLES.get(key, '…')}"


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and not node.text


STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True)
Model = TypeVar("Model", bound=BaseModel)
QUERIES_FORM: Final[dict[str, Any]] = {"type": "array", "minItems": 1}
"""A list of queries, as the file's own."""


def part_of_one(value: Any) -> Fraction | None:
    """A part of a whole, such as 1/4 or 0.25, exactly; None for what is none."""
    over, stroke, under = (str(value) if isinstance(value, str) else "").partition("/")
    try:
        return exact(over.strip()) / (exact(under.strip()) if stroke else 1)
    except (NotANumber, ZeroDivisionError):
        return None


def _share(value: Any) -> Fraction:
    share = part_of_one(value)
    if share is None or not 0 < share <= 1:
        what = "a share lies between 0 and 1: it is the task's part of the spend"
        raise PydanticCustomError("DX231", "{what}", {"what": what, "advice": "write 1/4 or 0.25"})
    return share


def whole(value: Any, what: str, least: int, most: int) -> int:
    """A whole number of a task. Raises: PydanticCustomError."""
    number, advice = _number(value), "write it in digits, without separators"
    if number is not None and number.denominator == 1:
        if least <= number <= most:
            return int(number)
        advice = f"write {least} or more" if number < least else f"write {most} or less"
    said = f"{what} is a whole number from {least} to {most:,}"
    raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": advice})


def _number(value: Any) -> Fraction | None:
    try:
        return exact(value.strip()) if isinstance(value, str) else None
    except NotANumber:
        return None


Share: TypeAlias = Annotated[
    Fraction | None,
    PlainValidator(_share),
    WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0}),
    Field(
        description="The task's part of the spend, such as 1/4; all tasks of a file state theirs, which sum to 1, or "
        "none does, and all have the same."
    ),
]
ListOfQueries: TypeAlias = Annotated[Any, WithJsonSchema(QUERIES_FORM)]


class TaskSyntax(BaseModel, ABC):
    """What every task may say beside its own word."""

    model_config = STRICT

    name: Name = None
    share: Share = None


@final
@dataclass(frozen=True)
class TaskReader:
    """Reads tasks of one file, over one universe; notes mistakes."""

    queries: QueryReader

    @property
    def mistakes(self) -> Mistakes:
        """Those found so far."""
        return self.queries.columns.mistakes

    @property
    def universe(self) -> Universe:
        """The policy's records."""
        return self.queries.columns.universe

    def note(self, code: str, span: Span, message: str, advice: str = "") -> None:
        """Remember a mistake."""
        self.mistakes.add(code, span, message, advice)

    def body(self, model: type[Model], node: Node, what: str) -> tuple[Model, Mapping] | None:
        """What is said below a task's word, as its model has it, and where it stands."""
        made = well_formed(model, node, what, self.mistakes)
        return (made, node) if made is not None and isinstance(node, Mapping) else None

    def listed(self, node: Node, what: str) -> Any:
        """The queries of a list; None where a mistake was noted."""
        if not isinstance(node, Sequence) or not node.items:
            self.note("DX108", node.span, f"'{what}' is a list with at least one query", LIST_THEM)
            return None
        return queries_listed(node.items, self.queries, None)

    def linear(self, node: Node, what: str) -> LinearQueries | None:
        """Counts and sums of a list, about which nothing is said that only a plan of noise heeds."""
        found = self.listed(node, what)
        if found is None:
            return None
        wrong = _unfit(found)
        if wrong is not None:
            self.note("DX233", node.span, f"'{what}' asks for counts and sums: {wrong[0]}", wrong[1])
            return None
        linear: LinearQueries = found
        return linear


def _unfit(found: Any) -> tuple[str, str] | None:
    """What is wrong with queries that are to be added up and compared, and what to do; None for nothing."""
    kind = registry.kind_of(found)
    if not kind.counts:
        return f"{kind.about} are no sums", "ask for them in a task of their own, 'queries'"
    if found.variances:
        return f"'{found.variances[0].name}' is made of three", "ask for the sums and the count"
    if found.ratios:
        return f"'{found.ratios[0].name}' is a ratio of two", "ask for the sum and the count, or for two counts"
    if found.importance is not None or any(found.errors):
        said = "'importance'" if found.importance is not None else "'error'"
        return f"{said} is heeded by noise on each answer alone", "leave it out here"
    return None


class TaskKind(ABC):
    """One kind of task: ``word`` is the key that asks for it, ``syntax`` the model of an entry of this kind, ``body``
    that of the mapping below the word, None where something else stands there. ``lists``: the keys that hold lists of
    queries, which a schema then says of them. ``alone``: why no other task stands in a file with it; empty where others
    may. ``of_any_size``: whether it needs no count of every possible record."""

    word: ClassVar[str]
    syntax: ClassVar[type[TaskSyntax]]
    body: ClassVar[type[BaseModel] | None] = None
    lists: ClassVar[tuple[str, ...]] = ()
    alone: ClassVar[str] = ""
    of_any_size: ClassVar[bool] = False

    @abstractmethod
    def read(self, value: Node, reader: TaskReader) -> AskedTask | None:
        """What a task of this kind asks for; ``value`` is behind its word. Notes mistakes, and gives None then."""

    def read_entry(self, said: TaskSyntax | None, node: Mapping, value: Node, reader: TaskReader) -> AskedTask | None:
        """The same where keys beside the word say some of it; ``said``: the entry ``node`` as its model has it, None
        where a mistake was noted."""
        return self.read(value, reader)
