"""Numbers made of a row's columns by + - * /: parsed by hand, never evaluated as code.

sum     := product (("+" | "-") product)*
product := factor (("*" | "/") factor)*
factor  := "-" factor | "(" sum ")" | number | column
column  := letters, digits and _ | `anything else`

There is nothing else: no expression can look at another row.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final, cast, final

from dxgeom.policy.derived.derivation import NotDerivable
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.reading.expressions import Arithmetic, Expression, Number, NumberCell, Sign
from dxgeom.universe.wording import shown

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
