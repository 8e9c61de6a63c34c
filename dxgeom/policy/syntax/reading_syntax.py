"""``reading:``, how a table's file is written and what its cells mean; whether keys go together is checked later."""

from __future__ import annotations

import codecs
from typing import Annotated, Any, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, PlainValidator, WithJsonSchema

from dxgeom.policy.source.fields import whole_from_1, words_field, wrong_field

_SIGNS: Final = {"tab": "\t", "\\t": "\t"}
_THOUSANDS: Final = (".", ",", "'", "’", " ", "\u00a0", "\u2009", "\u202f")
_WORD: Final = {"type": ["string", "number", "boolean"]}
_TRUE: Final = {"enum": [True, "true"]}


def _separator(value: Any) -> str:
    sign = _SIGNS.get(value, value) if isinstance(value, str) else ""
    if len(sign) != 1 or sign in "\"'\r\n" or sign.isalnum():
        raise wrong_field("DX180", "one sign that separates cells is expected here", 'write ";", "|", "," or tab')
    return sign


def _quote(value: Any) -> str:
    if value == "none":
        return ""
    if not isinstance(value, str) or len(value) != 1 or value.isalnum() or value.isspace():
        raise wrong_field("DX180", "one sign around cells is expected here", "write '\"', or none")
    return value


def _encoding(value: Any) -> str:
    try:
        found = codecs.lookup(value)
        b"".decode(found.name)  # refuses codecs that are not of text
    except (LookupError, TypeError, ValueError) as error:
        advice = "write utf-8, windows-1252, iso-8859-15, utf-16 or another name that Python has"
        raise wrong_field("DX180", "the name of an encoding is expected here", advice) from error
    if found.name in ("undefined", "idna", "punycode", "unicode_escape", "raw_unicode_escape", "utf-7"):
        raise wrong_field("DX180", "this encoding is none of files", "write utf-8, windows-1252 or utf-16")
    return str(value)


def _header(value: Any) -> int:
    return 0 if value == "none" else whole_from_1(value, "lines")


def _decimal(value: Any) -> str:
    if value not in (".", ","):
        raise wrong_field("DX181", "the sign before decimals is a point or a comma", 'write decimal: ","')
    return str(value)


def _thousands(value: Any) -> str:
    if value not in _THOUSANDS:
        advice = 'write thousands: ".", or one of , \' ’ and blanks'
        raise wrong_field("DX181", "one sign between groups of three digits is expected here", advice)
    return str(value)


def _ignore(value: Any) -> dict[str, tuple[str, ...]]:
    advice = "write ignore: {Pat-Nr: [Total]}"
    if not isinstance(value, dict) or not value:
        raise wrong_field("DX183", "columns with the words of rows to leave out are expected here", advice)
    return {str(column): words_field(words, advice) for column, words in value.items()}


_WORDS_SCHEMA: Final[dict[str, Any]] = {"type": "array", "items": _WORD, "minItems": 1}


def _words(value: Any) -> tuple[str, ...]:
    return words_field(value, "write a list such as [NA, unknown]")


Words: TypeAlias = Annotated[tuple[str, ...], PlainValidator(_words), WithJsonSchema(_WORDS_SCHEMA)]


@final
class ReadingSyntax(BaseModel):
    """How a table's file is written, and what its cells mean."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    separator: Annotated[str | None, PlainValidator(_separator), WithJsonSchema({"type": "string"})] = None
    quote: Annotated[str | None, PlainValidator(_quote), WithJsonSchema({"type": "string"})] = None
    encoding: Annotated[str | None, PlainValidator(_encoding), WithJsonSchema({"type": "string"})] = None
    header: Annotated[
        int | None,
        PlainValidator(_header),
        WithJsonSchema({"anyOf": [{"type": ["integer", "string"], "exclusiveMinimum": 0}, {"const": "none"}]}),
    ] = None
    names: Words | None = None
    sheet: str | None = None
    line_breaks: Annotated[Literal["true"] | None, WithJsonSchema(_TRUE)] = None
    decimal: Annotated[str | None, PlainValidator(_decimal), WithJsonSchema({"enum": [".", ","]})] = None
    thousands: Annotated[str | None, PlainValidator(_thousands), WithJsonSchema({"enum": [*_THOUSANDS]})] = None
    trim: Annotated[Literal["true"] | None, WithJsonSchema(_TRUE)] = None
    case: Literal["fold"] | None = None
    missing: Words | None = None
    ignore: Annotated[
        dict[str, tuple[str, ...]] | None,
        PlainValidator(_ignore),
        WithJsonSchema({"type": "object", "additionalProperties": _WORDS_SCHEMA, "minProperties": 1}),
    ] = None
