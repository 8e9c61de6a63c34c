"""Third phase: from the tree to the grammar's models, every mistake at its place."""

from __future__ import annotations

from collections.abc import Sequence as Items
from dataclasses import dataclass
from typing import Any, Final, final

from pydantic import ValidationError

from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.strangers import is_queries, note_no_mapping
from dxgeom.policy.source.tree_places import Path, key_span_at, node_at, span_at
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.policy.syntax.grammar_reports import report_problems, strip_tags
from dxgeom.policy.syntax.models import HERE, PolicySyntax
from dxgeom.universe.wording import shown

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
    broken = frozenset(every - set(document.universe.attributes))
    return SyntaxTree(document, root, tuple(kept), tuple(keys), broken)


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
