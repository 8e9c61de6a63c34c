"""Where things stand in the tree of a file."""

from __future__ import annotations

from typing import Any, TypeAlias

from dxgeom.policy.source.mistakes import Span
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence
from dxgeom.universe.wording import shown

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
