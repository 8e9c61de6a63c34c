"""Second phase: YAML 1.2 read into a small tree of our own, every node with its place in the text.

Scalars keep the text as written: nothing is a boolean or an octal number here, so ``No`` stays ``No``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeAlias, final

from ruamel.yaml import YAML
from ruamel.yaml import events as ev
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import FolderInMemory, PolicyText
from dxgeom.universe.decimals import meant
from dxgeom.universe.wording import shown

_NO_SPACES: Final = "\u00a0\u2007\u202f\u200b\u200c\u200d\u2060\ufeff\u3000"
"""Look like a space or like nothing, and are neither to YAML."""
_QUOTED: Final = re.compile("[“”„‟«»‘’‚‛‹›](.*)[“”„‟«»‘’‚‛‹›]", re.DOTALL)
_GLUED: Final = re.compile(rf"[\s-]*([^\s:'\"]+):([{_NO_SPACES}]*)(\S.*)")


def taken_as_meant(text: str, span: Span, mistakes: Mistakes) -> str:
    """A word that stands without quotes, as it was meant: where it only looks right, this is noted."""
    bare = text.strip(_NO_SPACES)
    if bare != text:
        message = f"a no-break space is part of {shown(text)}, where it looks like a plain space and is none"
        mistakes.add("DX119", span, message, f"delete it and type a plain space: {bare}")
        return bare
    if quoted := _QUOTED.fullmatch(text):
        message = f"typographic quotes are letters like others: they are part of the word {shown(text)}"
        mistakes.add("DX119", span, message, f"write '{quoted[1]}', or \"{text}\" where they are meant")
        return quoted[1]
    return text


def glued(line: str) -> tuple[int, str, str] | None:
    """Where a key's value is glued to its colon in a line, what is wrong, and what to write instead; else None.

    >>> glued("    epsilon:0.5")
    (4, "behind a key's colon stands a space, found 'epsilon:0.5'", 'write epsilon: 0.5')
    """
    found = _GLUED.fullmatch(line)
    if found is None:
        return None
    between = "a no-break space, which only looks like one" if found[2] else shown(f"{found[1]}:{found[3]}")
    return found.start(1), f"behind a key's colon stands a space, found {between}", f"write {found[1]}: {found[3]}"


MAX_DEPTH = 20
MAX_NODES = 50_000
_NO_KEY: Final = "could not find expected ':'"
_NO_END: Final = "found unexpected end of stream"
_REMEDIES: Final = {
    "\\t": "indent with spaces, not with tabs",
    "quote is not closed": "close it behind the word that it begins",
    _NO_KEY: "a key is written with a colon and a space behind it, as in 'epsilon: 0.5'",
    "mapping values are not allowed": "put a text that has a colon and a space in quotes, or mend the indentation",
    "expected <block end>": "begin keys of one mapping below each other, and what a list has with a dash and a space",
    "alphabetic or numeric character": "put a word that begins with * or & in quotes",
    "expected the node content": "something is missing before this sign: write it, or remove the sign",
}
"""What to do about what YAML's reader says, by a part of it."""
_LONGEST_KEY: Final = 1000
_SAID_FREELY: Final = ("about",)
"""Keys whose values are sentences for readers: any letters are meant there."""


@final
@dataclass(frozen=True)
class Scalar:
    """A word or number. ``plain``: written without quotes."""

    span: Span
    text: str
    plain: bool


@final
@dataclass(frozen=True)
class Sequence:
    """A list."""

    span: Span
    items: tuple[Node, ...]


@final
@dataclass(frozen=True)
class Mapping:
    """Keys with values, in the order of the file; keys are distinct."""

    span: Span
    entries: tuple[tuple[Scalar, Node], ...]

    def entry(self, key: str) -> tuple[Scalar, Node] | None:
        """The key as written and its value, or None."""
        return self._by_key.get(key)

    @cached_property
    def _by_key(self) -> dict[str, tuple[Scalar, Node]]:
        return {entry[0].text: entry for entry in self.entries}


Node: TypeAlias = Scalar | Sequence | Mapping


@final
class _Stopped(Exception):
    """Reading on would only produce nonsense; the mistake has been noted."""


def read_tree(mistakes: Mistakes, begin: str = "begin with 'policy: a name'") -> Node | None:
    """The tree of the text that ``mistakes`` is about; None when it could not be read to its end.

    ``begin``: what to write in an empty file.
    """
    known: list[Node] = mistakes.text.trees
    if known:
        return known[0]
    try:
        root = _Reader(mistakes).document(begin)
        if root is not None and not mistakes:
            known.append(root)
        return root
    except _Stopped:
        return None
    except MarkedYAMLError as error:
        _note_not_yaml(error, mistakes)
    except ReaderError as error:
        offset = min(int(error.position), len(mistakes.text.content))
        mistakes.add("DX101", Span(offset, offset), "this character is not allowed in YAML", "remove it")
    except (YAMLError, ValueError, OverflowError) as error:
        # ValueError, OverflowError: escapes such as "\UFFFFFFFF" that name no character.
        mistakes.add("DX101", Span(0, 0), f"this is not well-formed YAML: {shown(str(error))}")
    return None


def read_language(mistakes: Mistakes, language: str, begin: str = "begin with 'policy: a name'") -> Node | None:
    """``read_tree``, of a file of this ``language``; of one without a key of ours nothing is shown: it may be data."""
    if not mistakes.text.has_no_key:
        return read_tree(mistakes, begin)
    mistakes.add("DX108", Span(0, 0), f"{_mapping(language)}, found what looks like a table of data", _ORDER)
    return None


def _note_not_yaml(error: MarkedYAMLError, mistakes: Mistakes) -> None:
    """At the place where the reader gave up; of a line that was to be a key, at this line and not at the next."""
    problem = str(error.problem or error.context or "it cannot be read").strip().splitlines()[0]
    quoted = problem == _NO_END and "quoted" in str(error.context)
    begun = error.context_mark if problem == _NO_KEY or quoted else None
    mark = begun or error.problem_mark or error.context_mark
    offset = min(mark.index if mark is not None else 0, len(mistakes.text.content))
    found, start = None, 0
    if quoted:
        problem = "this quote is not closed"
    elif begun is not None:
        start = offset - mistakes.text.position(offset)[1] + 1
        found = glued(mistakes.text.content[start : start + _LONGEST_KEY].partition("\n")[0])
    if found is None:
        mistakes.add("DX101", Span(offset, offset), f"this is not well-formed YAML: {problem}", _advice(problem))
        return
    place, message, advice = found
    mistakes.add("DX101", Span(start + place, start + place), message, advice)


def _advice(problem: str) -> str:
    for part, advice in _REMEDIES.items():
        if part in problem:
            return advice
    return "look for a missing bracket, quote, colon or indentation here or just before"


@final
class _Reader:
    """Turns the event stream into a tree; lazily, so that a deep or endless file stops early."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes
        self._events: Iterator[Any] = YAML(typ="safe", pure=True).parse(mistakes.text.content)
        self._nodes = 0

    def document(self, begin: str) -> Node | None:
        root: Node | None = None
        for event in self._events:
            if isinstance(event, ev.StreamStartEvent | ev.StreamEndEvent | ev.DocumentEndEvent):
                continue
            if isinstance(event, ev.DocumentStartEvent):
                if root is not None:
                    raise self._stop(
                        "DX102", event, "one file holds one document, found a second one", "split the file"
                    )
                if event.version is not None or event.tags:
                    self._note(event, "a YAML directive", "remove the line that begins with %")
                continue
            root = self._node(event, 1)
        if root is None:
            self._mistakes.add("DX107", Span(0, 0), "the file is empty", begin)
        return root

    def _node(self, event: Any, depth: int) -> Node:
        self._nodes += 1
        if self._mistakes.full:
            raise _Stopped
        if self._nodes > MAX_NODES:
            raise self._stop(
                "DX103", event, f"the file has more than {MAX_NODES:,} entries", "use a range, bins, or a points file"
            )
        if depth > MAX_DEPTH:
            raise self._stop("DX103", event, f"brackets or lists nested deeper than {MAX_DEPTH}", "flatten this")
        if isinstance(event, ev.AliasEvent):
            self._note(event, "an alias (*)", "write the value out")
            return Scalar(_span(event), "*", plain=False)
        if event.anchor is not None:
            self._note(event, "an anchor (&)", "write the value out wherever it is needed")
        if getattr(event, "tag", None) is not None:
            self._note(event, f"the tag {shown(str(event.tag))}", "remove it; values are read as they are written")
        if isinstance(event, ev.ScalarEvent):
            if any("\ud800" <= character <= "\udfff" for character in event.value):
                self._note(event, "half a character (a lone surrogate)", "write the character itself")
            return Scalar(_span(event), str(event.value), plain=event.style is None)
        if isinstance(event, ev.SequenceStartEvent):
            return self._sequence(event, depth)
        return self._mapping(event, depth)

    def _sequence(self, start: Any, depth: int) -> Sequence:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, ev.SequenceEndEvent):
                return Sequence(Span(start.start_mark.index, event.end_mark.index), tuple(items))
            items.append(self._as_meant(self._node(event, depth + 1)))
        raise self._stop("DX101", start, "this list does not end", "close it")

    def _mapping(self, start: Any, depth: int) -> Mapping:
        entries: list[tuple[Scalar, Node]] = []
        seen: set[str] = set()
        for event in self._events:
            if isinstance(event, ev.MappingEndEvent):
                return Mapping(Span(start.start_mark.index, event.end_mark.index), tuple(entries))
            key = self._node(event, depth + 1)
            value = self._node(next(self._events), depth + 1)
            if self._as_meant(key) is not key:
                raise _Stopped  # a space that is none has moved the key out of its place
            if not (isinstance(key, Scalar) and key.text in _SAID_FREELY):
                value = self._as_meant(value)
            if start.flow_style and entries and (whole := _split_number(entries[-1][1], key, value)):
                entries[-1] = (entries[-1][0], _taken_whole(whole, self._mistakes))
                continue
            if not isinstance(key, Scalar):
                self._mistakes.add("DX102", key.span, "a key is a single word, found a list or a mapping")
            elif key.text in seen:
                self._mistakes.add("DX104", key.span, f"the key {shown(key.text)} is here twice", "keep one of them")
            else:
                seen.add(key.text)
                entries.append((key, value))
        raise self._stop("DX101", start, "this mapping does not end", "close it")

    def _as_meant(self, node: Node) -> Node:
        """The same node, or what it looks like where that is another word, which is noted."""
        if not isinstance(node, Scalar) or not node.plain:
            return node
        meant = taken_as_meant(node.text, node.span, self._mistakes)
        return node if meant == node.text else replace(node, text=meant)

    def _note(self, event: Any, what: str, advice: str) -> None:
        self._mistakes.add("DX102", _span(event), f"this language does without {what}", advice)

    def _stop(self, code: str, event: Any, message: str, advice: str) -> _Stopped:
        self._mistakes.add(code, _span(event), message, advice)
        return _Stopped()


def _split_number(before: Node, key: Node, value: Node) -> Scalar | None:
    """The number that a comma has cut in two inside braces: ``{epsilon: 0,5}`` has a key 5 without a value."""
    parts = (before, key, value)
    if not all(isinstance(part, Scalar) and part.plain for part in parts):
        return None
    first, second, nothing = (part for part in parts if isinstance(part, Scalar))
    touching = second.span.start == first.span.end + 1
    if nothing.text or not touching or not (first.text.isdigit() and second.text.isdigit()):
        return None
    return Scalar(Span(first.span.start, second.span.end), f"{first.text},{second.text}", plain=True)


def _taken_whole(number: Scalar, mistakes: Mistakes) -> Scalar:
    """Such a number with a point, noted; so that one slip of the pen is told once."""
    message = f"inside braces a comma begins another key, found {shown(number.text)}"
    mistakes.add("DX108", number.span, message, meant(number.text))
    return replace(number, text=number.text.replace(",", "."))


def _span(event: Any) -> Span:
    return Span(event.start_mark.index, event.end_mark.index)


def place_in(scalar: Scalar, offset: int, content: str) -> Span:
    """Where the character number ``offset`` of a scalar's value stands in the text it was read from.

    Quotes, folded lines and indentation are skipped; inside escapes of a double-quoted text it may be a little early.
    """
    at, end = scalar.span.start, scalar.span.end
    for character in scalar.text[:offset]:
        while at < end and not _same(content[at], character):
            at += 1
        at += 1
    while at < end and offset < len(scalar.text) and not _same(content[at], scalar.text[offset]):
        at += 1
    return Span(min(at, end), end)


def _same(written: str, read: str) -> bool:
    return written == read or (read.isspace() and written.isspace())


Path: TypeAlias = tuple[str | int, ...]


def node_at(root: Node, path: Path) -> Node | None:
    """The node at a path, or None."""
    node: Node | None = root
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str):
            entry = node.entry(step)
            node = entry[1] if entry else None
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def with_word(node: Node, old: Span, word: str) -> Node:
    """The tree of the text that has another plain word in place of the one at ``old``: what stands behind it moves.

    What stands before it is shared with the tree that was. Both words are plain, and of letters that YAML takes alike.
    """
    start, end, longer = node.span.start, node.span.end, len(word) - (old.end - old.start)
    if end <= old.start or (start >= old.end and not longer):
        return node
    span = Span(start if start < old.end else start + longer, end + longer)
    match node:
        case Scalar():
            return replace(node, span=span, text=word if node.span == old else node.text)
        case Sequence(items=items):
            return Sequence(span, tuple(with_word(item, old, word) for item in items))
        case Mapping(entries=entries):
            moved = ((with_word(key, old, word), with_word(value, old, word)) for key, value in entries)
            return Mapping(span, tuple((key, value) for key, value in moved if isinstance(key, Scalar)))


def span_at(root: Node, path: Path) -> Span:
    """The span of the node at a path, or of the nearest thing around it that exists."""
    for length in range(len(path), 0, -1):
        node = node_at(root, path[:length])
        if node is not None:
            return node.span
    return root.span


def key_span_at(root: Node, path: Path) -> Span:
    """The span of the last key of a path, or of the nearest thing around it that exists."""
    holder = node_at(root, path[:-1])
    if isinstance(holder, Mapping) and isinstance(path[-1], str):
        entry = holder.entry(path[-1])
        if entry is not None:
            return entry[0].span
    return span_at(root, path)


def kind_of(node: Node | None) -> str:
    """A node in words."""
    match node:
        case Scalar(text=text):
            return shown(text) if text else "nothing"
        case Sequence():
            return "a list"
        case Mapping():
            return "a mapping"
        case None:
            return "nothing"


def as_data(node: Node) -> Any:
    """Dictionaries, lists and strings."""
    match node:
        case Scalar(text=text):
            return text
        case Sequence(items=items):
            return [as_data(item) for item in items]
        case Mapping(entries=entries):
            return {key.text: as_data(value) for key, value in entries}


_ORDER: Final = "the order is policy, data, queries: 'dxgeom release POLICY DATA QUERIES'"
_FILE_NAME: Final = re.compile(r"\S+\.(ya?ml|json)")
_CELLS: Final = re.compile(r"[^\s,;\t]+([,;\t]\s?[^\s,;\t]*)+(\s|$)")
_POLICY: Final = ("policy", "universe", "rules")
_QUERIES: Final = ("queries",)


def note_no_mapping(root: Node, language: str, advice: str, mistakes: Mistakes) -> None:
    """Note that a text is no mapping, as one of this ``language`` is; nothing is shown of what may be data."""
    what = _mapping(language)
    text = root.text if isinstance(root, Scalar) else ""
    if _FILE_NAME.fullmatch(text):
        advice = f"this is the name of a file, which dx.load_{language} reads"
    elif mistakes.text.may_be_data or _CELLS.match(text):
        mistakes.add("DX108", root.span, f"{what}, found what looks like a table of data", _ORDER)
        return
    mistakes.add("DX108", root.span, f"{what}, found {kind_of(root)}", advice)


def _mapping(language: str) -> str:
    return f"a {language} file is a mapping" if language == "queries" else f"a {language} is a mapping"


def is_queries(root: Mapping, mistakes: Mistakes) -> bool:
    """Whether a text that is read as a policy is a queries file, or a plan, which is noted."""
    plan = "this is a plan, which has its queries: 'dxgeom release PLAN TABLE --ledger FILE'"
    return _is_other(root, ("format",), _POLICY[1:], plan, mistakes) or _is_other(
        root, _QUERIES, _POLICY, "this is a queries file; the policy is another file, and is named first", mistakes
    )


def is_policy(root: Mapping, mistakes: Mistakes) -> bool:
    """Whether a text that is read as queries is a policy, which is noted."""
    return _is_other(
        root, _POLICY, _QUERIES, "this is a policy; the queries are another file, and are named last", mistakes
    )


def _is_other(root: Mapping, theirs: tuple[str, ...], ours: tuple[str, ...], advice: str, mistakes: Mistakes) -> bool:
    stranger = next((entry[0] for key in theirs if (entry := root.entry(key)) is not None), None)
    if stranger is None or any(root.entry(key) is not None for key in ours):
        return False
    mistakes.add("DX105", stranger.span, f"the key '{stranger.text}' is not known here", advice)
    return True


_LONGEST_LINE: Final = 1 << 22


def written(text: PolicyText) -> dict[str, Any]:
    """The mappings, lists and words of a text that has been read without a mistake."""
    root = read_tree(Mistakes(text))
    data = {} if root is None else as_data(root)
    if not isinstance(data, dict):
        raise UnsupportedCombination("a policy, or a file of queries, that is kept elsewhere is a mapping")
    return data


def files(text: PolicyText) -> dict[str, str]:
    """The content of every data file that was read for a text."""
    taken = {} if text.folder is None else text.folder.taken
    return {name: taken[name].decode("utf-8") for name in sorted(taken)}


def in_one_line(text: PolicyText) -> str | None:
    """What a text and its data files say, as one line of JSON; None where that is longer than such lines may be."""
    line = json.dumps({"written": written(text), "files": files(text)}, separators=(",", ":"), ensure_ascii=True)
    return line if len(line) <= _LONGEST_LINE else None


def from_one_line(line: str) -> tuple[Any, FolderInMemory]:
    """The data and the folder of such a line. Raises: ValueError, KeyError, TypeError or AttributeError for another."""
    said = json.loads(line)
    return said["written"], folder_with(said["files"])


def folder_with(contents: dict[str, str]) -> FolderInMemory:
    """The folder of these files."""
    return FolderInMemory({name: text.encode("utf-8") for name, text in contents.items()})
