"""From Python data, or from the grammar's models, to the text of a policy file; every place remembers its path."""

from __future__ import annotations

import datetime
import numbers
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from pydantic import BaseModel

from dxgeom.errors import Diagnostic
from dxgeom.policy.kinds.kind import AttributeKeys
from dxgeom.policy.source.fields import Length
from dxgeom.policy.source.text import Folder, Language, Paths, PolicyText
from dxgeom.policy.source.yaml_tree import MAX_DEPTH, MAX_NODES
from dxgeom.policy.syntax.models import PolicySyntax, ReadingSyntax, RuleSyntax, UniverseSyntax
from dxgeom.universe.columns import plain

Path: TypeAlias = tuple[str | int, ...]

_PLAIN: Final = re.compile(r"-?[0-9][0-9.]*|[A-Za-z0-9_][A-Za-z0-9_.+-]*(?: [A-Za-z0-9_.+-]+)*", re.ASCII)
_LONGEST_KEY: Final = 100
"""YAML wants a question mark before keys that are much longer."""
_LONGEST_NUMBER: Final = 40
_MOST_BITS: Final = 1000


@final
@dataclass(frozen=True)
class Unwritable:
    """A piece of Python data that no policy can hold: its path, the code of the mistake, and what was found."""

    path: str
    code: str
    found: str


@final
@dataclass(frozen=True)
class WrittenPolicy:
    """The text, the paths of its places, and what had to be left out."""

    content: str
    paths: Paths
    unwritable: tuple[Unwritable, ...]


def write_policy(data: Any) -> WrittenPolicy:
    """Data of mappings, lists, words and numbers as the text of a policy file.

    Guarantee: numbers are written exactly: integers, decimals and fractions as they are, a float as the shortest
    decimal that is read as the same float (0.1 means one tenth). Keys of the grammar come in the grammar's order.
    """
    writer = _Writer()
    writer.document(data)
    return WrittenPolicy("".join(writer.pieces), writer.paths(), tuple(writer.unwritable))


def text_of_data(
    data: Any, language: Language, file: str, folder: str | os.PathLike[str] | Folder | None
) -> PolicyText:
    """Python data as a text of its language, whose mistakes are named by their paths in the data.

    Raises: the language's own refusal, of data that no such text can hold.
    """
    written = write_policy(data)
    advice = (
        "write it with mappings, lists, words and exact numbers; graphs, data frames and geometries stand where a file "
        "names a data file: an attribute's graph, nodes, points or regions, or the edges of a rule's secrets"
    )
    found = [
        Diagnostic(file, 1, 1, one.code, f"found {one.found}", advice, path=one.path) for one in written.unwritable
    ]
    if found:
        raise language.refused(found)
    return language.given(written.content, file, folder, written.paths)


def path_text(path: Path) -> str:
    """A path as a person writes it.

    >>> path_text(("rules", 0, "epsilon")), path_text(("universe", "attributes", "a b", 2)), path_text(())
    ('rules[0].epsilon', "universe.attributes['a b'][2]", 'top level')
    """
    parts = [f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{step!r}]" for step in path]
    return "".join(parts).removeprefix(".") or "top level"


@final
class _Stopped(Exception):
    """The data is too large or refers to itself; this has been noted."""


@final
@dataclass
class _Writer:
    pieces: list[str] = field(default_factory=list)
    unwritable: list[Unwritable] = field(default_factory=list)
    _length: int = 0
    _nodes: int = 0
    _words: dict[tuple[int, int], str] = field(default_factory=dict)
    _starts: dict[int, str] = field(default_factory=dict)

    def paths(self) -> Paths:
        return Paths(self._words, tuple(self._starts), tuple(self._starts.values()))

    def document(self, data: Any) -> None:
        try:
            self._block((), data, "")
        except _Stopped:
            return

    def _block(self, path: Path, data: Any, indent: str) -> None:
        """The value at a path, on lines of its own where the layout has them, else after what stands before it."""
        if isinstance(data, BaseModel):
            data = _keys_written(data)
        if path == ("rules",) and isinstance(data, list | tuple) and data:
            self._say("\n")
            for number, rule in enumerate(data):
                self._say(f"{indent}- ")
                self._block((*path, number), rule, indent + "  ")
        elif _laid_out(path) and isinstance(data, Mapping) and data:
            self._keys(path, data, indent)
        else:
            self._say(" " if path and not self._in_a_list() else "")
            self._flow(path, data)
            self._say("\n")

    def _keys(self, path: Path, data: Mapping[Any, Any], indent: str) -> None:
        if path and not self._in_a_list():
            self._say("\n")
        for number, (key, value) in enumerate(_in_order(path, data)):
            self._say("" if number == 0 and self._in_a_list() else indent)
            if number == 0:
                self._begin(path)
            below = (*path, self._key(path, key, f"\n{indent}"))
            self._block(below, value, indent + "  ")

    def _in_a_list(self) -> bool:
        return bool(self.pieces) and self.pieces[-1].endswith("- ")

    def _flow(self, path: Path, data: Any) -> None:
        """The value at a path in brackets, on one line."""
        if isinstance(data, BaseModel):
            data = _keys_written(data)
        match data:
            case Mapping():
                self._begin(path)
                self._say("{")
                for number, (key, value) in enumerate(data.items()):
                    self._say(", " if number else "")
                    below = (*path, self._key(path, key, " "))
                    self._say(" ")
                    self._flow(below, value)
                self._say("}")
            case list() | tuple():
                self._begin(path)
                self._say("[")
                for number, value in enumerate(data):
                    self._say(", " if number else "")
                    self._flow((*path, number), value)
                self._say("]")
            case _:
                self._word(path, data)

    def _key(self, path: Path, key: Any, gap: str) -> str:
        """Write a key and its colon; a long one needs a mark before it and a gap behind it."""
        text = self._text(path, key)
        long = len(text) > _LONGEST_KEY
        self._say("? " if long else "")
        self._written((*path, text), _quoted(text))
        self._say(f"{gap}:" if long else ":")
        return text

    def _word(self, path: Path, value: Any) -> None:
        if value is not None:
            self._written(path, _quoted(self._text(path, value)))

    def _text(self, path: Path, value: Any) -> str:
        self._count(path)
        text = word_of(value)
        if text is None:
            self.unwritable.append(Unwritable(path_text(path), "DX108", f"a Python {type(value).__name__}"))
        return text or ""

    def _begin(self, path: Path) -> None:
        """Note where a list or a mapping begins; of several that begin here the outermost counts."""
        self._count(path)
        self._starts.setdefault(self._length, path_text(path))

    def _written(self, path: Path, written: str) -> None:
        self._words[(self._length, self._length + len(written))] = path_text(path)
        self._say(written)

    def _count(self, path: Path) -> None:
        self._nodes += 1
        if len(path) > MAX_DEPTH or self._nodes > MAX_NODES:
            limit = f"more than {MAX_NODES:,} entries" if self._nodes > MAX_NODES else f"more than {MAX_DEPTH} levels"
            self.unwritable.append(Unwritable(path_text(path[:4]), "DX103", limit))
            raise _Stopped

    def _say(self, text: str) -> None:
        self.pieces.append(text)
        self._length += len(text)


def word_of(value: Any) -> str | None:
    """A word or number as text, exactly; None for what is neither."""
    match value:
        case str():
            return str(value)
        case bool():
            return "true" if value else "false"
        case Length(amount=amount, unit=unit):
            return f"{_decimal(amount)} {'steps' if unit == 'step' and amount != 1 else unit}".rstrip()
        case Decimal():
            return str(value)
        case numbers.Rational():
            number = Fraction(int(value.numerator), int(value.denominator))
            short = max(number.numerator.bit_length(), number.denominator.bit_length()) <= _MOST_BITS
            return _decimal(number) if short else None
        case numbers.Real():
            return repr(float(value))
        case datetime.date():
            return value.isoformat()
        case _:
            return None


def _decimal(number: Fraction) -> str:
    """A number as a person writes it; a very long decimal with an exponent, so that it is short enough to be read."""
    text = plain(number)
    whole, point, decimals = text.partition(".")
    if len(text) <= _LONGEST_NUMBER or not point:
        return text
    return f"{'-' if number < 0 else ''}{(whole + decimals).lstrip('-0')}e-{len(decimals)}"


def _keys_written(model: BaseModel) -> dict[str, Any]:
    """The keys that were stated: of an attribute its values first, then where these are from, then the others."""
    last = [*AttributeKeys.model_fields] if isinstance(model, AttributeKeys) else []
    known = [key for key in type(model).model_fields if key not in last] + sorted(last, key=lambda key: key != "from")
    found = {key: getattr(model, key) for key in known if key in model.model_fields_set}
    # No header and no quote are 0 and empty in the model.
    return {
        key: "none" if isinstance(model, ReadingSyntax) and value in (0, "") else value for key, value in found.items()
    }


def _laid_out(path: Path) -> bool:
    """Whether each key of the mapping at a path has a line of its own."""
    return path in ((), ("universe",), ("universe", "attributes")) or (len(path) == 2 and path[0] == "rules")


def _in_order(path: Path, data: Mapping[Any, Any]) -> Iterable[tuple[Any, Any]]:
    """The grammar's keys in its own order, then the others; the order of attributes has a meaning and stays."""
    match path:
        case ():
            known = list(PolicySyntax.model_fields)
        case ("universe",):
            known = list(UniverseSyntax.model_fields)
        case ("rules", int()):
            known = list(RuleSyntax.model_fields)
        case _:
            return data.items()
    return sorted(data.items(), key=lambda entry: known.index(entry[0]) if entry[0] in known else len(known))


def _quoted(text: str) -> str:
    """A scalar of YAML that is read as exactly this text."""
    if _PLAIN.fullmatch(text):
        return text
    return '"' + "".join(_escaped(character) for character in text) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
