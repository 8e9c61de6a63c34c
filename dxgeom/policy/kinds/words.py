"""``[a, b, …]`` or ``{values: [a, b, …], …}``: a list of words, which are no distance apart. ``{open: text}``: words
that nobody listed, of which only counts of keys can be asked."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, final

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema

from dxgeom.policy.kinds.kind import AttributeKeys, AttributeKind, Declared, Misfit, Step, written_as
from dxgeom.policy.source.data_files import read_words
from dxgeom.policy.source.fields import Length, wrong_field
from dxgeom.universe.attributes import CategoricalAttribute, UnlistedAttribute
from dxgeom.universe.wording import shown


@final
class WordsKind(AttributeKind[tuple[str, ...], CategoricalAttribute]):
    """A list of words; the only kind that is no mapping, so that no key begins it."""

    key: ClassVar[str] = "listed"
    noun: ClassVar[str] = "a list of words"
    form: ClassVar[str] = "a list of values"
    syntax = tuple[str, ...]
    makes = CategoricalAttribute

    def resolve(self, syntax: tuple[str, ...], declared: Declared) -> CategoricalAttribute | None:
        return words_of(syntax, declared, ())

    def measured(self, attribute: CategoricalAttribute, key: str, length: Length) -> Misfit:
        advice = "use 'epsilon' alone, or make the attribute a range, bins, dates, points or a graph"
        message = f"'{key}' needs distances, and {shown(attribute.name)} is a plain list of values"
        return Misfit(message, advice, "DX136")


@final
class WordFile(BaseModel):
    """``{file: words.txt}``: a word on every line."""

    model_config = ConfigDict(extra="forbid", defer_build=True, frozen=True)

    file: str


def _words(value: Any) -> tuple[str, ...] | WordFile:
    if isinstance(value, WordFile):
        return value
    if isinstance(value, dict) and list(value) == ["file"] and isinstance(value["file"], str):
        return WordFile(file=value["file"])
    if isinstance(value, dict) and list(value) == ["letters"] and (span := _LETTERS.fullmatch(str(value["letters"]))):
        return tuple(map(chr, range(ord(span[1]), ord(span[2]) + 1)))
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise wrong_field("DX108", "a list of words is expected here", "write [M, F], or {file: words.txt}")


_LETTERS: Final = re.compile("([A-Z])-([A-Z])")
_WORD: Final[dict[str, Any]] = {"type": ["string", "number", "boolean"]}
_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"file": {"type": "string"}},
    "required": ["file"],
    "additionalProperties": False,
}
_SPAN: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"letters": {"type": "string", "pattern": "^[A-Z]-[A-Z]$"}},
    "required": ["letters"],
    "additionalProperties": False,
}
Words: TypeAlias = Annotated[
    tuple[str, ...] | WordFile,
    PlainValidator(_words),
    WithJsonSchema({"anyOf": [{"type": "array", "items": _WORD}, _FILE, _SPAN]}),
]


@final
class ListedWordsSyntax(AttributeKeys):
    """``{values: [a, b, …], …}``."""

    model_config = written_as("Values", "words, with what else is said of them.")

    values: Annotated[
        Words, Field(description="The words, {file: words.txt} with one on every line, or {letters: A-Z}.")
    ]


@final
class ListedWordsKind(AttributeKind[ListedWordsSyntax, CategoricalAttribute]):
    """The long form of a list of words, with keys of its own."""

    key: ClassVar[str] = "values"
    noun: ClassVar[str] = "words with more said of them"
    form: ClassVar[str] = "{values}"
    example: ClassVar[str] = "write {values: [M, F], unlisted: other}"
    syntax = ListedWordsSyntax
    makes = CategoricalAttribute

    def resolve(self, syntax: ListedWordsSyntax, declared: Declared) -> CategoricalAttribute | None:
        listed = syntax.values
        if isinstance(listed, WordFile):
            file = listed.file
            found = declared.read("values", file, lambda: read_words(declared.folder, file), "list of words", "text")
            if found is None:
                return None
            listed = found
        attribute = words_of(listed, declared, ("values",))
        if attribute is None or syntax.unlisted is None or syntax.unlisted in attribute.values:
            return attribute
        return CategoricalAttribute(declared.name, (*attribute.values, syntax.unlisted))

    def measured(self, attribute: CategoricalAttribute, key: str, length: Length) -> Misfit:
        return WordsKind().measured(attribute, key, length)


def words_of(values: tuple[str, ...], declared: Declared, at: tuple[Step, ...]) -> CategoricalAttribute | None:
    """The attribute of a list that stands ``at`` a place below it; None when that makes no sense, which is noted."""
    sound = declared.few_enough(len(values))
    if not values:
        declared.note("DX110", " has no values", "list at least one", at=at)
    seen: set[str] = set()
    for place, value in enumerate(values):
        if value in seen:
            message = f" lists the value {shown(value)} twice"
            declared.note("DX110", message, "remove one of them", at=(*at, place))
        seen.add(value)
    return CategoricalAttribute(declared.name, values) if sound and 0 < len(seen) == len(values) else None


_OPEN: Final = (
    "Words that nobody listed, such as pages that come and go. Only counts of keys with 'delta' can be asked of them."
)
_BESIDE_OPEN: Final = ("open", "title", "from")


def _text(value: Any) -> str:
    if value != "text":
        raise wrong_field("DX109", "'open' says what the values are, and they are text", "write {open: text}")
    return "text"


@final
class OpenSyntax(AttributeKeys):
    """``{open: text}``, perhaps with a title, and the column that has the texts."""

    model_config = written_as("Words that nobody listed", _OPEN)

    open: Annotated[
        Literal["text"],
        PlainValidator(_text),
        WithJsonSchema({"const": "text"}),
        Field(description="'text': values are whatever words the rows have, and no rule tells them apart."),
    ]


@final
class OpenKind(AttributeKind[OpenSyntax, UnlistedAttribute]):
    """Texts that nobody listed: any two are as far from each other as one 'epsilon' says."""

    key: ClassVar[str] = "open"
    noun: ClassVar[str] = "words that nobody listed"
    form: ClassVar[str] = "{open}"
    example: ClassVar[str] = "write {open: text}"
    syntax = OpenSyntax
    makes = UnlistedAttribute

    def resolve(self, syntax: OpenSyntax, declared: Declared) -> UnlistedAttribute | None:
        more = sorted({*syntax.model_fields_set} - {*_BESIDE_OPEN})
        for key in more:
            message = f" says {shown(key)}, and nobody listed its values"
            declared.note("DX194", message, "leave it out: 'title' and 'from' may stand beside 'open: text'", at=(key,))
        return None if more else UnlistedAttribute(declared.name)

    def measured(self, attribute: UnlistedAttribute, key: str, length: Length) -> Misfit:
        message = f"'{key}' needs distances, and nobody listed the values of {shown(attribute.name)}"
        return Misfit(message, "use 'epsilon' alone: any two of them are as far from each other", "DX136")
