"""Derived columns: what a policy may say an attribute is made from, per row.

Arithmetic has this grammar; there is nothing else, and no expression can look at another row::

    sum     := product (("+" | "-") product)*
    product := factor (("*" | "/") factor)*
    factor  := "-" factor | "(" sum ")" | number | column
    column  := letters, digits and _ | `anything else`

A new one is a class and a line in ``DERIVATIONS``. Touches ``source`` and ``universe``; knows neither kinds of
attributes nor rules.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Final, Literal, cast, final

from pydantic import PlainValidator, WithJsonSchema

from dxgeom.policy.source.fields import whole_from_1
from dxgeom.universe.attributes import CellType
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.reading.expressions import (
    Arithmetic,
    Expression,
    LocalDay,
    MomentPart,
    Number,
    NumberCell,
    Sign,
    WordCell,
)
from dxgeom.universe.wording import shown


@final
class NotDerivable(Exception):
    """What is stated makes nothing that the attribute could be; the message says why. Callers give it a place.

    ``key``: of the attribute, where it stands; ``advice``: what to write.
    """

    def __init__(self, key: str, message: str, advice: str) -> None:
        super().__init__(message)
        self.key, self.advice = key, advice


@final
@dataclass(frozen=True)
class Stated:
    """What a policy says of an attribute's derivation.

    ``name``: the attribute's; ``source``: what stands behind ``from``, as it is written, None where nothing does;
    ``given``: what stands behind the key of the kind; ``zone``: what stands behind that; ``makes``: what the attribute
    must be handed.
    """

    name: str
    source: str | None
    given: Any
    zone: str | None
    makes: CellType

    @property
    def column(self) -> str:
        """The column that ``from`` names, in backticks or as it is; without it the attribute's own."""
        text = self.name if self.source is None else self.source.strip()
        return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "`" else text


class DerivationKind(ABC):
    """A key by which an attribute says what it is made from.

    ``key``: the key; ``field``: its type, as pydantic reads it; ``about``: what editors show.
    """

    key: ClassVar[str]
    field: ClassVar[Any]
    about: ClassVar[str]

    @abstractmethod
    def expression(self, stated: Stated) -> Expression:
        """What is made of each row. Raises: NotDerivable."""


def require_no_zone(stated: Stated) -> None:
    """Raises: NotDerivable where a zone is stated that nothing asks for."""
    if stated.zone is not None:
        message = "'zone' says where clocks show a moment, for dates and with 'as'"
        raise NotDerivable("zone", message, "leave it out")


LONGEST: Final = 1000
DEEPEST: Final = 50
_ADVICE: Final = "write + - * /, parentheses, numbers and columns; other names than letters, digits and _ in backticks"
_TOKEN: Final = re.compile(
    r"\s*(?:(?P<sign>[-+*/()])|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))"
    r"|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`)"
)


def arithmetic(text: str) -> Expression:
    """The numbers that an expression makes. Raises: NotDerivable."""
    if len(text) > LONGEST:
        raise NotDerivable("from", f"an expression has at most {LONGEST:,} characters, found {len(text):,}", _ADVICE)
    parser = _Parser(_tokens(text.strip()))
    found = parser.sum(1)
    if parser.at < len(parser.tokens):
        raise _unexpected(parser.tokens[parser.at][1])
    if not found.columns:
        raise NotDerivable("from", "an expression names a column", _ADVICE)
    return found


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise _unexpected(text[at:].strip())
        kind = "name" if match.lastgroup == "quoted" else match.lastgroup
        found.append((kind, match[match.lastgroup]))
        at = match.end()
    return found


def _unexpected(found: str) -> NotDerivable:
    what = f"found {shown(found)}" if found else "but it ends here"
    return NotDerivable("from", f"an expression over a row's columns is expected, {what}", _ADVICE)


@final
class _Parser:
    """Recursive descent with a limit on the depth; ``at``: the next token."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self.tokens = tokens
        self.at = 0

    def sum(self, depth: int) -> Expression:
        found = self._product(depth)
        while (sign := self._take("+", "-")) is not None:
            found = Arithmetic(sign, found, self._product(depth))
        return found

    def _product(self, depth: int) -> Expression:
        found = self._factor(depth)
        while (sign := self._take("*", "/")) is not None:
            found = Arithmetic(sign, found, self._factor(depth))
        return found

    def _factor(self, depth: int) -> Expression:
        if depth > DEEPEST:
            raise NotDerivable("from", f"an expression is nested at most {DEEPEST} deep", _ADVICE)
        if self._take("-") is not None:
            return Arithmetic("-", Number(Fraction(0)), self._factor(depth + 1))
        if self._take("(") is not None:
            inner = self.sum(depth + 1)
            if self._take(")") is None:
                raise _unexpected(self._next)
            return inner
        if self.at == len(self.tokens) or self.tokens[self.at][0] == "sign":
            raise _unexpected(self._next)
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "name":
            return NumberCell(text)
        try:
            return Number(exact(text))
        except NotANumber as error:
            raise NotDerivable("from", f"{shown(text)}: {error}", _ADVICE) from error

    def _take(self, *signs: str) -> Sign | None:
        """The next token, if it is one of these signs (or parentheses)."""
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "sign" and self.tokens[self.at][1] in signs:
            self.at += 1
            return cast(Sign, self.tokens[self.at - 1][1])
        return None

    @property
    def _next(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""


@final
class MomentPartKind(DerivationKind):
    """A year, a quarter, a month, a weekday or an hour."""

    key: ClassVar[str] = "as"
    field: ClassVar[Any] = Literal["year", "quarter", "month", "weekday", "hour"]
    about: ClassVar[str] = (
        "A part of the date or time in that column, as a number: the year, the quarter from 1 to 4, the month from 1 "
        "to 12, the weekday from 1 (Monday) to 7, the hour from 0 to 23."
    )

    def expression(self, stated: Stated) -> Expression:
        if stated.makes != "numbers":
            raise NotDerivable("as", "'as' makes numbers", "write its values as a range or as bins")
        return MomentPart(stated.given, stated.column, stated.zone)


_WHOLE = {"type": ["integer", "string"], "exclusiveMinimum": 0}


@final
class PrefixKind(DerivationKind):
    """The first characters of a word, counted as Unicode does; a shorter word stays as it is."""

    key: ClassVar[str] = "prefix"
    field: ClassVar[Any] = Annotated[
        int, PlainValidator(lambda value: whole_from_1(value, "characters")), WithJsonSchema(_WHOLE)
    ]
    about: ClassVar[str] = "Only so many first characters of the word in the column."

    def expression(self, stated: Stated) -> Expression:
        require_no_zone(stated)
        if stated.makes != "words":
            raise NotDerivable("prefix", "'prefix' makes words", "write its values as a list of words")
        return WordCell(stated.column, stated.given)


@final
class SourceKind(DerivationKind):
    """The column of another name that holds the attribute; of numbers, what is worked out from several."""

    key: ClassVar[str] = "from"
    field: ClassVar[Any] = str
    about: ClassVar[str] = (
        "The column of tables that it is made from, if not one of its own name; for numbers also an expression of "
        "+ - * /, parentheses, numbers and columns, such as weight / (height * height)."
    )

    def expression(self, stated: Stated) -> Expression:
        if stated.makes == "days":
            return LocalDay(stated.column, stated.zone)
        require_no_zone(stated)
        if stated.makes == "words":
            return WordCell(stated.column)
        return arithmetic(stated.source or f"`{stated.name}`")


SOURCE: Final = SourceKind()
DERIVATIONS: Final[tuple[DerivationKind, ...]] = (MomentPartKind(), PrefixKind(), SOURCE)


def expression_of(name: str, key: Callable[[str], Any], makes: CellType) -> Expression | None:
    """What an attribute is made from; None where it is its own column as it is.

    Args: ``key``: what stands behind a key of the attribute, None where nothing does.
    Raises: NotDerivable.
    """
    given = [kind for kind in DERIVATIONS if key(kind.key) is not None]
    if not given and key("zone") is None:
        return None
    kind, *others = given or [SOURCE]
    besides = [other.key for other in others if other is not SOURCE]
    if besides:
        message = f"'{besides[0]}' does not go with '{kind.key}'"
        raise NotDerivable(besides[0], message, "make two attributes")
    return kind.expression(Stated(name, key(SOURCE.key), key(kind.key), key("zone"), makes))
