"""Conditions on records, such as ``native == 'Yes' and 18 <= age < 65``: parsed by hand, never evaluated as code.

condition   := conjunction ("or" conjunction)*
conjunction := negation ("and" negation)*
negation    := "not" negation | "(" condition ")" | "true" | comparison
comparison  := term (("==" | "!=" | "<" | "<=" | ">" | ">=") term)+ | term ["not"] "in" "[" value ("," value)* "]"
             | column "is" ["not"] "missing" | column ["not"] "like" text
term        := column | part "(" column ")" | value         part := "year" | "quarter" | "month" | "weekday"
value       := number | text         text := 'letters' | "letters"
column      := name | name "." name  name := letters, digits and _ | `anything else`
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, final

from dxgeom.errors import PredicateError
from dxgeom.universe.conditions.tokens import DAY_PARTS, Token, misplaced, tokens_of
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import shown

LONGEST: Final = 20_000
DEEPEST: Final = 50
COMPARISONS: Final = ("==", "!=", "<=", ">=", "<", ">")


@final
@dataclass(frozen=True)
class Name:
    """A column, with the attribute it belongs to when written ``attribute.column``."""

    column: str
    attribute: str | None
    offset: int

    def __str__(self) -> str:
        return self.column if self.attribute is None else f"{self.attribute}.{self.column}"


@final
@dataclass(frozen=True)
class Literal:
    """A quoted text or an exact number."""

    value: str | Fraction
    offset: int


@final
@dataclass(frozen=True)
class DayPart:
    """A number that every day has, such as its month, of the days in a column."""

    part: str
    name: Name

    @property
    def offset(self) -> int:
        """Where the column is written."""
        return self.name.offset

    def __str__(self) -> str:
        return f"{self.part}({self.name})"


Compared: TypeAlias = Name | DayPart
Term: TypeAlias = Compared | Literal


@final
@dataclass(frozen=True)
class Always:
    """True of every record."""


@final
@dataclass(frozen=True)
class Comparison:
    """``terms[0] operators[0] terms[1] operators[1] …``: each neighbouring pair compared, all of them true."""

    terms: tuple[Term, ...]
    operators: tuple[str, ...]


@final
@dataclass(frozen=True)
class Membership:
    """The column's value is one of the listed ones, or with ``negated`` none of them."""

    name: Compared
    values: tuple[Literal, ...]
    negated: bool


@final
@dataclass(frozen=True)
class IsMissing:
    """The record has no value there, or with ``negated`` has one; every comparison with a missing value is false."""

    name: Name
    negated: bool


@final
@dataclass(frozen=True)
class Like:
    """The column's word fits a pattern, or with ``negated`` does not: ``%`` stands for any letters or none, ``_`` for
    one letter, everything else for itself; a backslash before ``%``, ``_`` or a backslash makes it one of those."""

    name: Name
    pattern: Literal
    negated: bool


@final
@dataclass(frozen=True)
class Not:
    """The inner condition is false."""

    inner: Predicate


@final
@dataclass(frozen=True)
class Every:
    """All parts are true."""

    parts: tuple[Predicate, ...]


@final
@dataclass(frozen=True)
class Some:
    """At least one part is true."""

    parts: tuple[Predicate, ...]


Predicate: TypeAlias = Always | Comparison | Membership | IsMissing | Like | Not | Every | Some


def parse_predicate(text: str) -> Predicate:
    """Read a condition.

    Raises: PredicateError with the offset of what cannot be read.
    """
    if len(text) > LONGEST:
        raise PredicateError(f"a condition has at most {LONGEST:,} characters, found {len(text):,}", 0)
    parser = _Parser(tokens_of(text))
    predicate = parser.condition(1)
    parser.expect_end()
    return predicate


@final
class _Parser:
    """Recursive descent with a limit on the depth."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def condition(self, depth: int) -> Predicate:
        parts = [self._conjunction(depth)]
        while self._take("keyword", "or"):
            parts.append(self._conjunction(depth))
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("'and', 'or' or the end")

    def _conjunction(self, depth: int) -> Predicate:
        parts = [self._negation(depth)]
        while self._take("keyword", "and"):
            parts.append(self._negation(depth))
        return parts[0] if len(parts) == 1 else Every(tuple(parts))

    def _negation(self, depth: int) -> Predicate:
        if depth > DEEPEST:
            raise PredicateError(f"a condition is nested at most {DEEPEST} deep", self._token.offset)
        if self._take("keyword", "not"):
            return Not(self._negation(depth + 1))
        if self._take("mark", "("):
            inner = self.condition(depth + 1)
            self._require("mark", ")")
            return inner
        return Always() if self._take("keyword", "true") else self._comparison()

    def _comparison(self) -> Predicate:
        terms, operators = [self._term()], []
        negated = self._token.text == "not" and self._token.kind == "keyword"
        self._at += negated
        if self._take("word", "like"):
            return self._like(terms[0], negated)
        if negated or (self._token.kind, self._token.text) == ("keyword", "in"):
            self._require("keyword", "in")
            return self._membership(terms[0], negated)
        if self._take("word", "is"):
            return self._missing(terms[0])
        while self._token.kind == "operator":
            operators.append(self._next().text)
            terms.append(self._term())
        if not operators:
            raise self._unexpected(f"a comparison ({', '.join(COMPARISONS)}) or 'in'")
        return Comparison(tuple(terms), tuple(operators))

    def _membership(self, term: Term, negated: bool) -> Membership:
        if isinstance(term, Literal):
            raise PredicateError("a column stands before 'in'", term.offset)
        self._require("mark", "[")
        values = [self._literal()]
        while self._take("mark", ","):
            values.append(self._literal())
        self._require("mark", "]")
        return Membership(term, tuple(values), negated)

    def _missing(self, term: Term) -> IsMissing:
        if not isinstance(term, Name):
            raise PredicateError("a column stands before 'is missing'", term.offset)
        negated = self._take("keyword", "not")
        self._require("word", "missing")
        return IsMissing(term, negated)

    def _like(self, term: Term, negated: bool) -> Like:
        if not isinstance(term, Name):
            raise PredicateError("a column stands before 'like'", term.offset)
        pattern = self._term()
        if not isinstance(pattern, Literal) or not isinstance(pattern.value, str):
            advice = "put it in quotes: % stands for any letters, _ for one"
            raise PredicateError("a pattern is expected after 'like'", pattern.offset, advice)
        return Like(term, pattern, negated)

    def _literal(self) -> Literal:
        term = self._term()
        if not isinstance(term, Literal):
            raise PredicateError(
                f"a value is expected in this list, found the name {shown(str(term))}",
                term.offset,
                "put text in quotes",
            )
        return term

    def _term(self) -> Term:
        token = self._token
        if token.kind == "word" and token.text in DAY_PARTS and self._tokens[self._at + 1].text == "(":
            return self._day_part(self._next().text)
        if token.kind in ("word", "quoted"):
            first = self._next().text.strip("`")
            if not self._take("mark", "."):
                return Name(first, None, token.offset)
            if self._token.kind not in ("word", "quoted", "keyword"):
                raise self._unexpected("a column's name")
            return Name(self._next().text.strip("`"), first, token.offset)
        if token.kind == "text":
            return Literal(self._next().text[1:-1], token.offset)
        if token.kind == "number":
            try:
                return Literal(exact(self._next().text), token.offset)
            except NotANumber as error:
                raise PredicateError(str(error), token.offset) from error
        raise self._unexpected("a column, a number or a quoted text")

    def _day_part(self, part: str) -> DayPart:
        self._require("mark", "(")
        inner = self._term()
        if not isinstance(inner, Name):
            raise PredicateError(f"{part}(…) is of a column of dates", inner.offset, f"write {part}(day)")
        self._require("mark", ")")
        return DayPart(part, inner)

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        self._at += 1
        return self._tokens[self._at - 1]

    def _take(self, kind: str, text: str) -> bool:
        if (self._token.kind, self._token.text) != (kind, text):
            return False
        self._at += 1
        return True

    def _require(self, kind: str, text: str) -> None:
        if not self._take(kind, text):
            raise self._unexpected(f"'{text}'")

    def _unexpected(self, wanted: str) -> PredicateError:
        token = self._token
        found = token.text if token.kind == "end" else shown(token.text)
        return PredicateError(f"expected {wanted}, found {found}", token.offset, misplaced(token, wanted))
