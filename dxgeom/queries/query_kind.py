"""What a kind of query is: the words of its model, and what it asks for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping as Map
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar
from dxgeom.policy.source.yaml_tree import Sequence as Listed
from dxgeom.queries.columns import ColumnReader, interval_of
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.numbers.number_cells import Interval
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.workloads.groups import Groups
from dxgeom.universe.workloads.spans import Spans

WORD: Final[dict[str, Any]] = {"type": ["string", "number", "boolean"]}
"""A word may look like a number or a truth value to an editor; here ``No`` and ``010`` are words."""
SEVERAL_WORDS: Final[dict[str, Any]] = {"anyOf": [WORD, {"type": "array", "items": WORD, "minItems": 1}]}
NOT_A_WORD: Final = "not_a_word"
ONE_EACH: Final = "write one query for each"
LIST_THEM: Final = "begin each with a dash and a space, as in '- count: age >= 65'"
STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True)


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError(NOT_A_WORD, "a single word or condition is expected here")
    return value


def _label(value: Any) -> str:
    if not _word(value).strip():
        raise PydanticCustomError("DX107", "'label' has no value", {"advice": "write one or remove the key"})
    return str(value)


def _bounds(value: Any) -> tuple[Any, ...]:
    if not isinstance(value, list) or not value:
        raise PydanticCustomError("DX108", "'at' is a list of bounds, such as [18, 40, 65]")
    return tuple(value)


_WITHIN: Final = "write 'within: [0, 100]', the lower one first, as numbers: what lies outside counts as the nearer end"


def _ends(value: Any) -> Interval:
    found = interval_of(value) if isinstance(value, list) and len(value) == 2 else None
    if found is None:
        said = "'within' is the lowest and the highest number that is added up, such as [0, 100]"
        raise PydanticCustomError("DX108", "{said}", {"said": said, "advice": _WITHIN})
    return found


def _positive(value: Any, what: str, advice: str) -> Fraction:
    try:
        number = exact(" ".join(_word(value).split()))
    except NotANumber:
        number = Fraction(0)
    if number <= 0:
        raise PydanticCustomError("DX209", "{what} is a positive number", {"what": what, "advice": advice})
    return number


def _importance(value: Any) -> Fraction:
    return _positive(value, "an importance", "2 counts the squared errors of these answers twice")


def _wanted_error(value: Any) -> Fraction:
    return _positive(value, "an error", "50 asks for answers that are typically off by 50, in their own unit")


Word: TypeAlias = Annotated[str, PlainValidator(_word), WithJsonSchema(WORD)]
Name: TypeAlias = Annotated[
    str | None,
    PlainValidator(_word),
    WithJsonSchema(WORD),
    Field(description="What the answer is called; names are distinct."),
]
Label: TypeAlias = Annotated[
    str | None,
    PlainValidator(_label),
    WithJsonSchema(WORD),
    Field(description="What readers see the answer called in place of its name; it changes no fingerprint."),
]
Where: TypeAlias = Annotated[
    str | None,
    PlainValidator(_word),
    WithJsonSchema(WORD),
    Field(description="Only records that satisfy this condition."),
]
By: TypeAlias = Annotated[
    Any,
    WithJsonSchema(SEVERAL_WORDS),
    Field(description="One answer for each combination of the values of these attributes or columns."),
]
Weight: TypeAlias = Annotated[
    str | None,
    PlainValidator(_word),
    WithJsonSchema(WORD),
    Field(description="A numeric attribute or column: each record counts so much, 0 or more, in place of 1."),
]
Unit: TypeAlias = Annotated[
    str | None,
    PlainValidator(_word),
    WithJsonSchema(WORD),
    Field(description="What these answers are measured in; a plan weighs the errors of each unit by themselves."),
]
Within: TypeAlias = Annotated[
    Interval | None,
    PlainValidator(_ends),
    WithJsonSchema({"type": "array", "items": {"type": ["number", "string"]}, "minItems": 2, "maxItems": 2}),
    Field(description="The lowest and the highest number that is added up: others count as the nearer of the two."),
]
WantedError: TypeAlias = Annotated[
    Fraction | None,
    PlainValidator(_wanted_error),
    WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0}),
    Field(
        description="The root mean squared error that each of these answers may have; a plan then says what it costs."
    ),
]
Importance: TypeAlias = Annotated[
    Fraction | None,
    PlainValidator(_importance),
    WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0}),
    Field(description="The squared errors of these answers count so many times when a plan is chosen."),
]
Bounds: TypeAlias = Annotated[
    tuple[Any, ...] | None,
    PlainValidator(_bounds),
    WithJsonSchema({"type": "array", "items": WORD, "minItems": 1}),
    Field(
        description="Bounds that rise: counts then go below each, or from each to below another, instead of by single "
        "values."
    ),
]


class NamedSyntax(BaseModel, ABC):
    """What every query may say beside its own word."""

    model_config = STRICT

    name: Name = None
    label: Label = None


class QuerySyntax(NamedSyntax, ABC):
    """What every linear query may say, too."""

    importance: Importance = None
    unit: Unit = None
    error: WantedError = None


class QueryKind(ABC):
    """One kind of query: ``word`` is the key that asks for it, ``syntax`` the model of a query of this kind.

    ``several``: it asks many questions at once, and its name is therefore a beginning. ``by_itself``: it groups its own
    answers where it has the key 'by'. ``refused``: what is wrong with
    a key that other kinds have, as (code, message, advice), where it is not only out of place.
    """

    word: ClassVar[str]
    syntax: ClassVar[type[NamedSyntax]]
    several: ClassVar[bool] = False
    by_itself: ClassVar[bool] = False
    refused: ClassVar[Map[str, tuple[str, str, str]]] = {}

    @abstractmethod
    def read(
        self, node: Mapping, value: Node, columns: ColumnReader, records: int | None
    ) -> AskedQueries | AskedQuantiles | None:
        """What a well-formed query asks for; ``value`` is behind its word. Notes mistakes, and gives None then.

        Raises: TooLarge.
        """


class BoxKind(QueryKind, ABC):
    """A kind of query that can ask for counts in boxes."""

    @abstractmethod
    def spans(self, node: Mapping, value: Node, columns: ColumnReader) -> Sequence[Spans] | None:
        """The boxes that a well-formed query asks for, its own ``where`` left out, with no weight laid out. Notes
        mistakes, and gives None then.

        Raises: UnsupportedCombination for what is no box; TooLarge.
        """


class TableKind(BoxKind, ABC):
    """A kind of query that can ask for whole tables of counts."""

    @abstractmethod
    def tables(self, value: Node, columns: ColumnReader) -> Sequence[tuple[Groups, ...]] | None:
        """The tables that a well-formed query without a condition asks for, each by its columns, with no cell listed;
        none of them is the number of records. Notes mistakes, and gives None then."""


def one_line(node: Node) -> str:
    """A word without its line breaks."""
    return " ".join(node.text.split()) if isinstance(node, Scalar) else ""


def condition_words(node: Mapping) -> str:
    """What a query's weight and condition add to its name."""
    where = node.entry("where")
    return weight_words(node) + (f" where {one_line(where[1])}" if where else "")


def weight_words(node: Mapping) -> str:
    """What a query's weight adds to its name."""
    weight = node.entry("weight")
    return f" weighted by {one_line(weight[1])}" if weight else ""


def within_of(node: Mapping) -> Interval | None:
    """The ends that a well-formed query states for the numbers that it adds up; None where it states none."""
    stated = node.entry("within")
    return interval_of(stated[1]) if stated and isinstance(stated[1], Listed) else None


def added_words(node: Mapping, value: Node) -> str:
    """The column that a query adds up, with the ends that it states."""
    within = within_of(node)
    return one_line(value) + ("" if within is None else f" within {plain(within[0])} to {plain(within[1])}")
