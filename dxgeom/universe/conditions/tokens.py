"""The tokens of conditions on records."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, final

from dxgeom.errors import PredicateError
from dxgeom.universe.wording import shown


@final
@dataclass(frozen=True)
class Token:
    """A piece of a condition: what kind it is, as written, and where it begins."""

    kind: str
    text: str
    offset: int


_TOKEN = re.compile(
    r"""(?P<space>\s+)|(?P<operator>==|!=|<=|>=|<|>)|(?P<mark>[()\[\],.](?!\d)|[()\[\],])
    |(?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?!\w))
    |(?P<text>'[^']*'|"[^"]*")|(?P<quoted>`[^`]+`)|(?P<word>[^\W\d]\w*)""",
    re.VERBOSE,
)
_KEYWORDS: Final = frozenset({"and", "or", "not", "in", "true"})
DAY_PARTS: Final = ("year", "quarter", "month", "weekday")
COMPUTED: Final = (
    "what is computed from columns is an attribute of the policy, such as 'total: {bins: [0, 10, 20], from: a + b}': "
    "name that one"
)
_LIST: Final = "write a list in square brackets, as in ['a', 'b']"
_HINTS: Final = {
    "+": COMPUTED,
    "*": COMPUTED,
    "/": COMPUTED,
    "=": "compare with ==",
    "&": "write 'and'",
    "|": "write 'or'",
    "!": "write 'not'",
    "'": "close the quote",
    '"': "close the quote",
    "`": "close the backtick",
    "{": _LIST,
    "-": "put names with other characters than letters, digits and _ in backticks",
    **dict.fromkeys("“”„‟«»‘’‚‛‹›", "typographic quotes are no quotes here: type plain ones"),
}


_OF_SQL: Final = {
    "between": "write both ends, as in 18 <= age < 65",
    "null": "write 'is missing', or 'is not missing'",
    ">": "write != where two values differ",
    ",": "a decimal has a point, as in 2.5; several values are a list, as in [1, 2]",
}
_MONTH: Final = re.compile(r"-[01][0-9]")
_DAY: Final = "put a day in quotes, as in '2024-02-29'"
_COMPARED: Final = "compare it; 'count: true' counts all records, 'marginal: column' those of each of its values"


def tokens_of(text: str) -> list[Token]:
    """The tokens, and one for the end.

    Raises: PredicateError for a character that has no meaning.
    """
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            raise PredicateError(f"{shown(text[at])} has no meaning here", at, _hint(text, at))
        kind = match.lastgroup
        if kind == "word" and match.group() in _KEYWORDS:
            kind = "keyword"
        if kind != "space":
            found.append(Token(kind, match.group(), at))
        at = match.end()
    found.append(Token("end", "the end", len(text)))
    return found


def _hint(text: str, at: int) -> str:
    """What to do about a character that has no meaning; a minus between spaces is meant as arithmetic."""
    if text.strip() == "*":
        return "write 'count: true' to count all records"
    if text[at] == "=" and text[at + 1 : at + 2] in ("<", ">"):
        return f"write {text[at + 1]}="
    return COMPUTED if text[at] == "-" and text[max(at - 1, 0) : at + 2] == " - " else _HINTS.get(text[at], "")


def misplaced(token: Token, wanted: str) -> str:
    """What to do about a token that stands where another is ``wanted``."""
    if token.kind == "number" and token.text[0] in "+-":
        return _DAY if wanted.startswith("'and'") and _MONTH.fullmatch(token.text) else COMPUTED
    if wanted == "'['":
        return _LIST
    if token.kind == "end" and wanted == "')'":
        return "close the parenthesis"
    if token.kind == "end" and wanted.startswith("a comparison"):
        return _COMPARED
    if token.text == "(":
        return f"days have {', '.join(f'{part}(…)' for part in DAY_PARTS)}; nothing else is worked out here"
    return _OF_SQL.get(token.text.lower(), "")
