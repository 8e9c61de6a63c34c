"""Numbers, days and lengths as the grammar's models read them: exactly, each with what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.universe.columns import plain
from dxgeom.universe.dates import iso_date
from dxgeom.universe.decimals import NotANumber, exact

_LONGEST: Final = 64
_LENGTH = re.compile(r"([^A-Za-z\s]\S*?)\s*([A-Za-z]*)", re.ASCII)

Unit: TypeAlias = Literal["", "m", "km", "step", "day"]
UNITS: Final[dict[str, Unit]] = {
    "": "",
    "m": "m",
    "km": "km",
    "step": "step",
    "steps": "step",
    "day": "day",
    "days": "day",
}


@final
@dataclass(frozen=True)
class Length:
    """A positive exact amount with the unit as written; "" is the attribute's own unit."""

    amount: Fraction
    unit: Unit

    def __str__(self) -> str:
        plural = "s" if self.unit in ("step", "day") and self.amount != 1 else ""
        return f"{plain(self.amount)} {self.unit}{plural}".rstrip()


def length(text: str) -> Length:
    """A length such as ``10 km``, ``500 m``, ``7 days``, ``2 steps`` or, for numeric attributes, ``5``.

    Raises: NotANumber.
    """
    match = _LENGTH.fullmatch(text.strip()) if len(text) <= _LONGEST else None
    if match is None:
        raise NotANumber("a length is a number and a unit")
    number, unit = match.groups()
    if unit not in UNITS:
        raise NotANumber(f"the unit '{unit}' is not known; units are m, km, days and steps")
    amount = exact(number)
    if amount <= 0:
        raise NotANumber("a length is above 0")
    return Length(amount, UNITS[unit])


_DECIMAL: Final = "write a plain decimal such as 5 or 0.25"
_DATED: Final = "days are written {dates: [2024-01-01, 2024-12-31], step: 7}"
THE_LIST: Final = "the list of edges"
"""What messages call edges that a policy lists itself."""
_ENDS: Final = 2
_EPSILON: Final = "an epsilon is a number above 0, such as 0.5; smaller protects more"


def wrong_field(code: str, message: str, advice: str) -> PydanticCustomError:
    """What a field's validator raises: the code of the mistake, the rule broken, and what to write."""
    return PydanticCustomError(code, "{reason}", {"reason": message, "advice": advice})


def exact_field(value: Any, advice: str = _DECIMAL) -> Fraction:
    """The number that a field holds. Raises: PydanticCustomError."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise wrong_field("DX108", "a number is expected here", advice)
    try:
        return exact(str(value))
    except NotANumber as error:
        advice = _DATED if iso_date(str(value)) else advice
        raise wrong_field("DX109", str(error), advice) from error


def _positive(value: Any, advice: str = _DECIMAL) -> Fraction:
    number = exact_field(value, advice)
    if number <= 0:
        raise wrong_field("DX109", "this number must be above 0", advice)
    return number


def _whole_budget(value: Any) -> Fraction | Literal["none"]:
    advice = "write what all policies together may spend, such as 2, or 'budget: none' where nothing bounds it"
    return "none" if value == "none" else _positive(value, advice)


def epsilon_of(value: Any) -> Fraction:
    """An epsilon, exactly. Raises: PydanticCustomError for what is none."""
    return _positive(value, _EPSILON)


_CHANCE: Final = "write 1e-9, or 0.000001"


def chance_of(value: Any) -> Fraction:
    """A chance above 0 and below 1, exactly. Raises: PydanticCustomError for what is none."""
    chance = _positive(value, _CHANCE)
    if chance >= 1:
        raise wrong_field("DX109", "a chance above 0 and below 1 is expected here", _CHANCE)
    return chance


def _length(value: Any) -> Length:
    if isinstance(value, Length):
        return value
    advice = "write a number above 0 with its unit, as in '10 km', '500 m', '7 days' or '2 steps'"
    if not isinstance(value, str):
        raise wrong_field("DX108", "a length such as '10 km' is expected here", advice)
    try:
        return length(value)
    except NotANumber as error:
        raise wrong_field("DX134", str(error), advice) from error


def _span(value: Any) -> Length | Literal["life"]:
    advice = "write 'any: 30 days', 'any: 4 steps' or 'any: life'"
    if value == "life":
        return "life"
    try:
        return _length(value)
    except PydanticCustomError as error:
        raise wrong_field(
            error.type, "a length of time such as '30 days', or 'life', is expected here", advice
        ) from error


AT_ONCE: Final = "at once"
EVER: Final = "ever"
BY_AGE: Final = "write 'published: {at once: 0.5, 7 days: 0.7, ever: 1}'"


def _by_age(value: Any) -> dict[str, Fraction]:
    """Each age, as it is written, with its epsilon; whether ages rise is checked with their meaning."""
    if not isinstance(value, dict) or not all(isinstance(age, str) for age in value):
        raise wrong_field("DX108", "an epsilon by age is expected here", BY_AGE)
    for age in {*value} - {AT_ONCE, EVER}:
        _length(age)
    return {age: epsilon_of(epsilon) for age, epsilon in value.items()}


def _day(value: Any) -> date:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value
    day = iso_date(value) if isinstance(value, str) else None
    if day is None:
        raise wrong_field("DX118", "a date is expected here", "write a day as 2024-02-29")
    return day


def _whole_days(value: Any) -> int:
    return _whole(value, "DX118", "the step is a whole number of days, at least 1")


def whole_from_1(value: Any, what: str) -> int:
    """A whole number of something, at least 1. Raises: PydanticCustomError for anything else."""
    return _whole(value, "DX109", f"a whole number of {what}, at least 1, is expected here")


def _whole_from_1(value: Any) -> int:
    return _whole(value, "DX109", "a whole number, at least 1, is expected here")


def _whole(value: Any, code: str, message: str) -> int:
    try:
        number = exact_field(value)
    except PydanticCustomError:
        number = Fraction(0)
    if number < 1 or number.denominator != 1:
        raise wrong_field(code, message, "write a whole number such as 1 or 7")
    return int(number)


def _names(value: Any) -> tuple[str, ...] | None:
    names = (value,) if isinstance(value, str) else value
    if names is None:
        return None
    advice = "write a name, or several as [one, other]"
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise wrong_field("DX108", "an attribute's name, or a list of names, is expected here", advice)
    if not names:
        raise wrong_field("DX107", "this list names no attribute", advice)
    return tuple(names)


def words_field(value: Any, advice: str) -> tuple[str, ...]:
    """The words of a list, at least one, none of them twice. Raises: PydanticCustomError."""
    words = (value,) if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
        raise wrong_field("DX183", "a list of words is expected here", advice)
    if len(set(words)) < len(words):
        raise wrong_field("DX183", "this list has a word twice", "write each word once")
    return tuple(words)


EdgeList: TypeAlias = tuple[tuple[str, ...], ...]
"""Edges that a file lists itself: the two ends of each, and perhaps a number of its own."""
_WRITE_EDGES: Final = "name a CSV file, or list edges as [[a, b], [b, c]], each perhaps with a number, [a, b, 0.5]"


def _edges(value: Any) -> str | EdgeList:
    if isinstance(value, str):
        return value
    listed = isinstance(value, list | tuple) and all(isinstance(edge, list | tuple) for edge in value)
    if not listed or not all(isinstance(word, str) for edge in value for word in edge):
        raise wrong_field("DX108", "a file's name or a list of edges is expected here", _WRITE_EDGES)
    if not value:
        raise wrong_field("DX107", "this list has no edge", _WRITE_EDGES)
    lengths = {len(edge) for edge in value}
    if lengths not in ({2}, {3}):
        message = "edges have two ends each, and all of them a number of their own or none"
        raise wrong_field("DX108", message, _WRITE_EDGES)
    return tuple(tuple(edge) for edge in value)


def edges_words(edges: str | EdgeList) -> str:
    """Where edges are listed, in words."""
    return edges if isinstance(edges, str) else THE_LIST


def have_numbers(edges: str | EdgeList | None) -> bool:
    """Whether each edge of a list has a number of its own."""
    return not isinstance(edges, str | None) and len(edges[0]) > _ENDS


_DIGITS = r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,12})?$"
_NUMBER_SCHEMA = WithJsonSchema({"type": ["number", "string"], "pattern": f"^[+-]?{_DIGITS}"})
EPSILON_SCHEMA: Final[dict[str, Any]] = {
    "type": ["number", "string"],
    "pattern": rf"^\+?{_DIGITS}",
    "exclusiveMinimum": 0,
}
"""How editors check an epsilon."""
_POSITIVE_SCHEMA = WithJsonSchema(EPSILON_SCHEMA)
CHANCE_SCHEMA: Final[dict[str, Any]] = {**EPSILON_SCHEMA, "exclusiveMaximum": 1}
"""How editors check a chance."""
_CHANCE_SCHEMA = WithJsonSchema(CHANCE_SCHEMA)
_WHOLE_BUDGET_SCHEMA = WithJsonSchema({"anyOf": [EPSILON_SCHEMA, {"const": "none"}]})
NAMES_SCHEMA: Final[dict[str, Any]] = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
"""How editors check a name, or a list of them."""
_WORD_SCHEMA: Final[dict[str, Any]] = {"type": ["string", "number", "boolean"]}
_EDGE_SCHEMA: Final = {"type": "array", "items": _WORD_SCHEMA, "minItems": _ENDS, "maxItems": _ENDS + 1}
_EDGES_SCHEMA: Final[dict[str, Any]] = {
    "anyOf": [{"type": "string"}, {"type": "array", "items": _EDGE_SCHEMA, "minItems": 1}]
}
_DAYS_SCHEMA = WithJsonSchema({"type": ["integer", "string"], "exclusiveMinimum": 0})

WholeBudget: TypeAlias = Annotated[Fraction | Literal["none"], PlainValidator(_whole_budget), _WHOLE_BUDGET_SCHEMA]
Exact: TypeAlias = Annotated[Fraction, PlainValidator(exact_field), _NUMBER_SCHEMA]
Positive: TypeAlias = Annotated[Fraction, PlainValidator(_positive), _POSITIVE_SCHEMA]
Chance: TypeAlias = Annotated[Fraction, PlainValidator(chance_of), _CHANCE_SCHEMA]
Epsilon: TypeAlias = Annotated[Fraction, PlainValidator(epsilon_of), _POSITIVE_SCHEMA]
Day: TypeAlias = Annotated[date, PlainValidator(_day), WithJsonSchema({"type": "string", "format": "date"})]
WholeFromOne: TypeAlias = Annotated[int, PlainValidator(_whole_from_1), _DAYS_SCHEMA]
WholeDays: TypeAlias = Annotated[int, PlainValidator(_whole_days), _DAYS_SCHEMA]
LengthText: TypeAlias = Annotated[Length, PlainValidator(_length), WithJsonSchema({"type": ["number", "string"]})]
Span: TypeAlias = Annotated[Length | Literal["life"], PlainValidator(_span), WithJsonSchema({"type": "string"})]
ByAge: TypeAlias = Annotated[
    dict[str, Fraction],
    PlainValidator(_by_age),
    WithJsonSchema({"type": "object", "required": [AT_ONCE, EVER], "additionalProperties": EPSILON_SCHEMA}),
]
Edges: TypeAlias = Annotated[str | EdgeList, PlainValidator(_edges), WithJsonSchema(_EDGES_SCHEMA)]
Names: TypeAlias = Annotated[tuple[str, ...] | None, PlainValidator(_names), WithJsonSchema(NAMES_SCHEMA)]
