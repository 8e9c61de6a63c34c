"""Third phase: from the tree to the grammar's models, every mistake at its place and in its author's words."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any, Final, final

from pydantic import BaseModel, ValidationError

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS, WORDS, kind_by_key
from dxgeom.policy.kinds.kind import AnyKind, AttributeKeys
from dxgeom.policy.rule_kinds import RULE_KINDS
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import (
    Mapping,
    Node,
    Path,
    Scalar,
    Sequence,
    is_queries,
    key_span_at,
    kind_of,
    node_at,
    note_no_mapping,
    span_at,
)
from dxgeom.policy.syntax.known_syntax import KnownSyntax
from dxgeom.policy.syntax.models import (
    HERE,
    OF_OTHER_LANGUAGES,
    WRITTEN,
    DatasetSyntax,
    PeopleSyntax,
    PolicySyntax,
    ReadingSyntax,
    RuleSyntax,
    SecretsSyntax,
    UniverseSyntax,
)
from dxgeom.policy.syntax.time_syntax import TimeSyntax
from dxgeom.universe.wording import did_you_mean, shown

_KINDS: Final = frozenset(kind.key for kind in ATTRIBUTE_KINDS)
_RANGE: Final = next(kind.example for kind in ATTRIBUTE_KINDS if kind.key == "range")
_TAGGED: Final = tuple((kind.key,) for kind in RULE_KINDS if kind.tagged)


def report_problems(error: ValidationError, root: Node, mistakes: Mistakes) -> None:
    """What pydantic refuses, each at its place and in the language's own words."""
    for problem in error.errors(include_url=False, include_input=False):
        if mistakes.full:
            return
        path, tagged = strip_tags(problem["loc"]), problem["loc"]
        node = node_at(root, path)
        if isinstance(node, Scalar) and node.plain and not node.text:
            continue  # the missing value has been noted
        if node is not None and any(mistakes.noted_at(code, node.span) for code in ("DX102", "DX119")):
            continue  # an alias, or another thing that is not read as it stands
        name = f"{shown(str(path[-1]))}: " if path and isinstance(path[-1], str) else ""
        match problem["type"]:
            case "extra_forbidden":
                report_unknown_key(root, path, _place(path), _keys_at(tagged), mistakes)
            case "missing" if _explained(node_at(root, path[:-1]), str(path[-1]), _place(path), _keys_at(tagged)):
                pass
            case "missing":
                where = key_span_at(root, path[:-1]) if len(path) > 1 else root.span
                what = f"the key {shown(path[-1])}" if isinstance(path[-1], str) else "an entry of this list"
                mistakes.add("DX107", where, f"{what} is missing", _how_to_write(tagged, path))
            case "union_tag_not_found" | "union_tag_invalid" if path[:1] == ("universe",):
                _report_attribute(root, path, mistakes)
            case "union_tag_not_found" | "union_tag_invalid":
                message = f"{name}found {kind_of(node)}, expected a mapping or a column's name"
                mistakes.add("DX108", span_at(root, path), message, _how_to_write(tagged, path))
            case "too_long" | "too_short":
                context = problem.get("ctx", {})
                wanted = context.get("max_length", context.get("min_length"))
                message = f"{name}{wanted} entries are expected here, found {context.get('actual_length')}"
                mistakes.add("DX108", span_at(root, path), message, _how_to_write(tagged, path))
            case "literal_error":
                wanted = str(problem.get("ctx", {}).get("expected", ""))
                message = f"{name}{wanted} is expected here, found {kind_of(node)}"
                mistakes.add("DX108", span_at(root, path), message, _how_to_write(tagged, path))
            case str(code) if code.startswith("DX"):
                message = f"{name}{problem['msg']}, found {kind_of(node)}"
                mistakes.add(code, span_at(root, path), message, str(problem.get("ctx", {}).get("advice", "")))
            case _:
                message = f"{name}found {kind_of(node)}, expected {_expected(problem['type'])}"
                mistakes.add("DX108", span_at(root, path), message, _how_to_write(tagged, path))


def _explained(holder: Node | None, missing: str, place: str, known: tuple[str, ...]) -> bool:
    """Whether a key is missing because another one stands for it, a slip of the pen or another tool's word."""
    keys = {key.text for key, _ in holder.entries} if isinstance(holder, Mapping) else set()
    others = OF_OTHER_LANGUAGES.get(place, {})
    return any(
        others.get(key.lower(), "").startswith(f"write '{missing}:")
        or did_you_mean(key, [missing]).startswith("did you mean")
        for key in keys.difference(known)
    )


def _expected(problem: str) -> str:
    return {"string_type": "a word", "tuple_type": "a list", "dict_type": "a mapping", "model_type": "a mapping"}.get(
        problem, "something else"
    )


def _how_to_write(tagged: tuple[str | int, ...], path: Path) -> str:
    """An example of the very thing that is wrong where there is one, else what may stand in its place."""
    match tagged:
        case ("universe", "attributes", str(), _, str(key), *_) if key in AttributeKeys.model_fields:
            return ""
        case ("universe", "attributes", str(), str(tag), _, *_):
            return _kind(tag).example or HERE["attribute"]
        case ("rules", int(), str(key), *_) if key in WRITTEN:
            return WRITTEN[key]
        case (("universe" | "dataset" | "people" | "reading") as part,) | (("time") as part, *_):
            return HERE[str(part)]
        case ("rules",):
            return "write 'rules:', below it '- change: age', and below that 'epsilon: 0.5'"
        case ("known", *_):
            return HERE["known"]
        case ("privacy" | "unconnected" | "adaptive",):
            return "write that, or leave the key out"
        case _:
            return HERE[_place(path)]


def _place(path: Path) -> str:
    match path:
        case ("rules", int(), *_):
            return "rule"
        case ("universe", "attributes", str(), *_):
            return "attribute"
        case ("known", int(), *_):
            return "known"
        case (("universe" | "dataset" | "people" | "reading" | "time") as part, _, *_):
            return str(part)
        case _:
            return "policy"


def _keys_at(tagged: tuple[str | int, ...]) -> tuple[str, ...]:
    model: type[BaseModel]
    match tagged:
        case ("universe", "attributes", str(), str(tag), *_):
            model = _kind(tag).syntax
        case ("universe", _):
            model = UniverseSyntax
        case ("dataset", _):
            model = DatasetSyntax
        case ("people", _):
            model = PeopleSyntax
        case ("reading", _):
            model = ReadingSyntax
        case ("time", _):
            model = TimeSyntax
        case ("known", int(), _):
            model = KnownSyntax
        case ("rules", int(), "secrets", _):
            model = SecretsSyntax
        case ("rules", int(), *_):
            model = RuleSyntax
        case _:
            model = PolicySyntax
    return tuple(model.model_fields)


def _kind(tag: str) -> AnyKind:
    return next(kind for kind in ATTRIBUTE_KINDS if kind.tag == tag)


def report_unknown_key(root: Node, path: Path, place: str, known: tuple[str, ...], mistakes: Mistakes) -> None:
    """A key that the grammar does not have: a slip, or a stranger."""
    word = str(path[-1])
    span = key_span_at(root, path)
    inside = place == "rule" and word in SecretsSyntax.model_fields and word not in known
    advice = WRITTEN["secrets"] if inside else did_you_mean(word, known)
    if place == "attribute" and word in _KINDS:
        advice = "keep the one key that says what its values are"
    advice = OF_OTHER_LANGUAGES.get(place, {}).get(word.lower(), advice) or "leave it out"
    mistakes.add("DX105", span, f"the key {shown(word)} is not known here", advice)


def _report_attribute(root: Node, path: Path, mistakes: Mistakes) -> None:
    node = node_at(root, path)
    name = shown(str(path[-1]))
    if not isinstance(node, Mapping) or kind_by_key({key.text: value for key, value in node.entries}) is not None:
        words = node.text if isinstance(node, Scalar) and "," in node.text else ""
        advice = f"write [{words}]" if words else HERE["attribute"]
        mistakes.add("DX108", span_at(root, path), f"attribute {name}: found {kind_of(node)}", advice)
        return
    known = tuple(kind.key for kind in ATTRIBUTE_KINDS if kind is not WORDS)
    first = node.entries[0][0] if node.entries else None
    slip = did_you_mean(first.text, known) if first else ""
    advice = slip if slip.startswith("did you mean") else HERE["attribute"]
    if node.entries and all(isinstance(value, Scalar) and value.plain and not value.text for _, value in node.entries):
        advice = f"a list stands in square brackets: write [{', '.join(key.text for key, _ in node.entries)}]"
    elif {key.text.lower() for key, _ in node.entries} & {"min", "max"}:
        advice = _RANGE
    elif path[-1] in PolicySyntax.model_fields and any(key.text in ("column", "epsilon") for key, _ in node.entries):
        advice = f"{name} stands at the top: begin it at the left, without spaces"
    where = first.span if first else node.span
    mistakes.add("DX105", where, f"attribute {name}: none of its keys says what its values are", advice)


def strip_tags(location: tuple[str | int, ...]) -> Path:
    """A location of pydantic without the mark of which form of an attribute, or of a rule, was tried."""
    marked = location[:2] == ("universe", "attributes") or location[2:3] in _TAGGED
    return location[:3] + location[4:] if marked and len(location) > 3 else location


_STAND_IN_NAME: Final = "?"


@final
@dataclass(frozen=True)
class SyntaxTree:
    """What the file says, and where.

    ``document`` holds everything that was well-formed; ``rule_numbers``: the place in the file's list of each of its
    rules, and ``broken_keys``: what had to be left out of that rule. ``broken``: names of attributes that were not
    well-formed. With these nobody complains about one mistake twice.
    """

    document: PolicySyntax
    root: Node
    rule_numbers: tuple[int, ...]
    broken_keys: tuple[frozenset[str], ...]
    broken: frozenset[str]

    @property
    def rules_whole(self) -> bool:
        """Whether every rule was well-formed, as far as the grammar tells: a wrong one may be any rule that lacks."""
        stated = node_at(self.root, ("rules",))
        return not any(self.broken_keys) and isinstance(stated, Sequence) and len(stated.items) == len(self.broken_keys)

    def span(self, *path: str | int) -> Span:
        """Where the value at a path stands, or the nearest thing around it that exists."""
        return span_at(self.root, path)

    def key_span(self, *path: str | int) -> Span:
        """Where the last key of a path stands."""
        return key_span_at(self.root, path)


def read_syntax(root: Node, mistakes: Mistakes) -> SyntaxTree | None:
    """Check the tree against the grammar; None when nothing is left to go on with."""
    if not isinstance(root, Mapping):
        note_no_mapping(root, "policy", HERE["policy"], mistakes)
        return None
    if is_queries(root, mistakes):
        return None
    data = plain_data(root, mistakes)
    cuts: list[Path] = []
    for _ in range(2):
        try:
            document = PolicySyntax.model_validate(_without(data, cuts))
        except ValidationError as error:
            report_problems(error, root, mistakes)
            cuts = [strip_tags(problem["loc"]) for problem in error.errors(include_url=False)]
            continue
        return _tree(document, root, cuts)
    return None


def _tree(document: PolicySyntax, root: Mapping, cuts: Items[Path]) -> SyntaxTree:
    written = node_at(root, ("rules",))
    count = len(written.items) if isinstance(written, Sequence) else 0
    kept = [number for number in range(count) if ("rules", number) not in cuts and ("rules",) not in cuts]
    keys = (frozenset(str(path[2]) for path in cuts if path[:2] == ("rules", number)) for number in kept)
    names = node_at(root, ("universe", "attributes"))
    every = {key.text for key, _ in names.entries} if isinstance(names, Mapping) else set()
    broken = frozenset((every | _time_lost(root, document)) - set(document.universe.attributes))
    return SyntaxTree(document, root, tuple(kept), tuple(keys), broken)


def _time_lost(root: Node, document: PolicySyntax) -> set[str]:
    """The column of a time that was not well-formed: an attribute of which nobody knows the values."""
    column = node_at(root, ("time", "column"))
    return {column.text} if document.time is None and isinstance(column, Scalar) else set()


def _without(data: Any, cuts: Items[Path]) -> Any:
    """The data with the smallest unit around each mistake taken out: an attribute, a rule's key, or a key."""
    for path in cuts:
        match path:
            case ("rules", int(number), str(key), *_):
                data["rules"][number].pop(key, None)
            case ("universe", "attributes", str(name), *_):
                data["universe"]["attributes"].pop(name, None)
            case ("universe", str(key), *_) if key != "attributes":
                data["universe"].pop(key, None)
            case ("known", int(number), *_):
                data["known"][number] = {}
            case ("policy",):
                data["policy"] = _STAND_IN_NAME
            case ("rules",):
                data["rules"] = []
            case (str(key), *_) if key not in ("universe", "rules"):
                data.pop(key, None)
            case _:
                pass
    whole = [number for path in cuts if len(path) == 2 and path[0] == "rules" for number in [path[1]]]
    if whole and isinstance(data.get("rules"), list):
        data["rules"] = [rule for number, rule in enumerate(data["rules"]) if number not in whole]
    return data


def plain_data(node: Node, mistakes: Mistakes) -> Any:
    """Dictionaries, lists and strings; a key or an entry with nothing behind it is a mistake."""
    match node:
        case Scalar(text=text):
            return text
        case Sequence(items=items):
            for item in items:
                if isinstance(item, Scalar) and item.plain and not item.text:
                    mistakes.add("DX107", item.span, "this entry of the list is empty", "write '' for the empty word")
            return [plain_data(item, mistakes) for item in items]
        case Mapping(entries=entries):
            for key, value in entries:
                if isinstance(value, Scalar) and value.plain and not value.text:
                    mistakes.add("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
            return {key.text: plain_data(value, mistakes) for key, value in entries}
