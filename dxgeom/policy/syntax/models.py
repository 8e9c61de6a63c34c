"""The language's grammar as data models: what a policy file may say, before any meaning.

The same models serve files, policies built in Python, and the JSON Schema for editors.
"""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Discriminator, PlainValidator, Tag, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.policy.syntax.lengths import Length, length
from dxgeom.universe.dates import iso_date
from dxgeom.universe.decimals import NotANumber, exact


def _number(value: Any) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise PydanticCustomError("DX108", "a number is expected here")
    try:
        return exact(str(value))
    except NotANumber as error:
        raise PydanticCustomError("DX109", "{reason}", {"reason": str(error)}) from error


def _positive(value: Any) -> Fraction:
    number = _number(value)
    if number <= 0:
        raise PydanticCustomError("DX109", "this number must be above 0")
    return number


def _length(value: Any) -> Length:
    if isinstance(value, Length):
        return value
    if not isinstance(value, str):
        raise PydanticCustomError("DX108", "a length such as '10 km' is expected here")
    try:
        return length(value)
    except NotANumber as error:
        raise PydanticCustomError("DX134", "{reason}", {"reason": str(error)}) from error


def _day(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    day = iso_date(value) if isinstance(value, str) else None
    if day is None:
        raise PydanticCustomError("DX118", "a date is expected here")
    return day


def _whole_days(value: Any) -> int:
    try:
        days = _number(value)
    except PydanticCustomError:
        days = Fraction(0)
    if days < 1 or days.denominator != 1:
        raise PydanticCustomError("DX118", "the step is a whole number of days, at least 1")
    return int(days)


def _several(value: Any) -> Any:
    """One name stands for a list of one."""
    return (value,) if isinstance(value, str) else value


_DIGITS = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,12})?$"
_NUMBER_SCHEMA = WithJsonSchema({"type": ["number", "string"], "pattern": f"^[+-]?{_DIGITS}"})
_POSITIVE_SCHEMA = WithJsonSchema({"type": ["number", "string"], "pattern": rf"^\+?{_DIGITS}", "exclusiveMinimum": 0})
_NAMES_SCHEMA = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]})
Exact: TypeAlias = Annotated[Fraction, PlainValidator(_number), _NUMBER_SCHEMA]
Positive: TypeAlias = Annotated[Fraction, PlainValidator(_positive), _POSITIVE_SCHEMA]
Day: TypeAlias = Annotated[date, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
WholeDays: TypeAlias = Annotated[
    int, PlainValidator(_whole_days), WithJsonSchema({"type": ["integer", "string"], "exclusiveMinimum": 0})
]
LengthText: TypeAlias = Annotated[Length, PlainValidator(_length), WithJsonSchema({"type": ["number", "string"]})]


class RangeSyntax(BaseModel):
    """``{range: [low, high], step: s}``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    range: tuple[Exact, Exact]
    step: Positive


class BinsSyntax(BaseModel):
    """``{bins: [edges…]}``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bins: tuple[Exact, ...]


class DatesSyntax(BaseModel):
    """``{dates: [from, to], step: days}``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    dates: tuple[Day, Day]
    step: WholeDays


class PlacesSyntax(BaseModel):
    """``{points: file.csv, key: …, latitude: …, longitude: …}`` or ``{…, x: …, y: …, unit: m}``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    points: str
    key: str
    latitude: str | None = None
    longitude: str | None = None
    x: str | None = None
    y: str | None = None
    unit: Literal["m", "km"] | None = None


class GraphSyntax(BaseModel):
    """``{graph: edges.csv}``, with ``length: column`` and its ``unit``, and ``nodes: file.csv``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    graph: str
    length: str | None = None
    unit: Literal["m", "km"] | None = None
    nodes: str | None = None


class RegionsSyntax(BaseModel):
    """``{regions: file.geojson, key: …}``, with ``longitude: …, latitude: …`` where tables hold coordinates."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    regions: str
    key: str
    longitude: str | None = None
    latitude: str | None = None


ATTRIBUTE_KINDS: Final[dict[str, type[BaseModel]]] = {
    "range": RangeSyntax,
    "bins": BinsSyntax,
    "dates": DatesSyntax,
    "points": PlacesSyntax,
    "graph": GraphSyntax,
    "regions": RegionsSyntax,
}


def attribute_kind(value: Any) -> str | None:
    """The tag of an attribute's form; in angle brackets, so that it cannot be mistaken for a key of the file."""
    if isinstance(value, list | tuple):
        return "<values>"
    if isinstance(value, BaseModel):
        return next((f"<{word}>" for word, kind in ATTRIBUTE_KINDS.items() if isinstance(value, kind)), None)
    if isinstance(value, dict):
        return next((f"<{word}>" for word in ATTRIBUTE_KINDS if word in value), None)
    return None


AttributeSyntax: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Tag("<values>")]
    | Annotated[RangeSyntax, Tag("<range>")]
    | Annotated[BinsSyntax, Tag("<bins>")]
    | Annotated[DatesSyntax, Tag("<dates>")]
    | Annotated[PlacesSyntax, Tag("<points>")]
    | Annotated[GraphSyntax, Tag("<graph>")]
    | Annotated[RegionsSyntax, Tag("<regions>")],
    Discriminator(attribute_kind),
]


class UniverseSyntax(BaseModel):
    """``attributes``, in the order that numbers the record types; or a ``table`` that lists these."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    table: str | None = None
    attributes: dict[str, AttributeSyntax] = {}


class SecretsSyntax(BaseModel):
    """``{edges: file.csv}`` or ``{partition: …}``; that it is one of them is checked with the rule's meaning.

    The file's first two columns are values of the rule's attribute. A partition is by attributes, or with ``change`` by
    a further column of that attribute.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    edges: str | None = None
    partition: Annotated[tuple[str, ...] | None, PlainValidator(lambda value: _names(value)), _NAMES_SCHEMA] = None


def individuals_kind(value: Any) -> str | None:
    """The tag of how individuals' epsilons are given; in angle brackets, as those of attributes."""
    if isinstance(value, str):
        return "<column>"
    return "<listed>" if isinstance(value, dict) else None


IndividualsSyntax: TypeAlias = Annotated[
    Annotated[dict[str, Positive], Tag("<listed>")] | Annotated[str, Tag("<column>")],
    Discriminator(individuals_kind),
]
"""An epsilon by value, or the column of the attribute's file that holds each value's own."""


class RuleSyntax(BaseModel):
    """One selector and one bound; that there is exactly one of each is checked with the rule's meaning."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: Annotated[tuple[str, ...] | None, PlainValidator(lambda value: _names(value)), _NAMES_SCHEMA] = None
    together: Annotated[Literal["true"] | None, WithJsonSchema({"enum": [True, "true"]})] = None
    measure: Literal["max"] | None = None
    between: Literal["everything"] | None = None
    presence: Annotated[Literal["true"], WithJsonSchema({"enum": [True, "true"]})] | None = None
    secrets: SecretsSyntax | None = None
    epsilon: Positive | None = None
    per: LengthText | None = None
    within: LengthText | None = None
    beyond: Literal["linear"] | None = None
    values: dict[str, Positive] | None = None
    individuals: IndividualsSyntax | None = None
    otherwise: Positive | None = None
    weight: str | None = None


class PolicySyntax(BaseModel):
    """A whole policy file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: str
    about: str = ""
    universe: UniverseSyntax
    rules: tuple[RuleSyntax, ...]
    budget: Positive = Fraction(1)
    unconnected: Literal["allow"] | None = None


def _names(value: Any) -> tuple[str, ...] | None:
    names = _several(value)
    if names is None:
        return None
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise PydanticCustomError("DX108", "an attribute's name, or a list of names, is expected here")
    if not names:
        raise PydanticCustomError("DX107", "this list names no attribute")
    return tuple(names)


LATER: Final[dict[str, tuple[str, ...]]] = {
    "policy": ("people",),
    "universe": (),
    "attribute": (),
    "rule": (),
}
"""Words of the whole language that this version refuses, by the place where they may stand."""

SELECTS: Final = (
    "a rule selects by change (of several attributes with together: true), by secrets: {edges} or {partition}, by "
    "between: everything, or by presence: true"
)
BOUNDS: Final = (
    "a rule bounds by epsilon (with per, within, or within and beyond: linear; together with measure: max and per), "
    "by values or individuals with otherwise, or, with secrets: {edges}, by weight"
)

HERE: Final[dict[str, str]] = {
    "policy": "a policy has: policy, about, universe, rules, budget, unconnected",
    "universe": "a universe has: attributes, or a table (and then the attributes that are not words)",
    "attribute": "an attribute is a list of values, {range, step}, {bins}, {dates, step}, "
    "{points, key, latitude, longitude}, {points, key, x, y, unit}, {graph} with length and unit, and with nodes, or "
    "{regions, key} with longitude and latitude",
    "rule": f"{SELECTS}; {BOUNDS}",
}
"""What this version's language has in each of these places."""

WRITTEN: Final[dict[str, str]] = {
    "range": "write {range: [0, 100], step: 5}",
    "dates": "write {dates: [2024-01-01, 2024-12-31], step: 7}; the step counts days",
    "points": "write {points: file.csv, key: column, latitude: column, longitude: column}, or x, y and unit",
    "regions": "write {regions: file.geojson, key: property}",
    "together": "write 'together: true', or leave it out",
    "measure": "write 'measure: max', or leave it out",
    "between": "write 'between: everything'; for some attributes only, 'change: [one, other]' with 'together: true'",
    "presence": "write 'presence: true', and below it 'epsilon: 0.5'",
    "beyond": "write 'beyond: linear', or leave it out",
    "secrets": "write 'secrets: {edges: file.csv}' or 'secrets: {partition: name}'",
    "values": "write an epsilon for each value, as in {HIV: 0.1, flu: 0.5}",
    "individuals": "write an epsilon for each value, as in {ann: 0.1, bob: 0.5}, or the name of a column",
}
"""How a thing is written, by the key that begins it."""
