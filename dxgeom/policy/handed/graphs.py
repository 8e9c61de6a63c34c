"""Graphs of NetworkX, or of anything that lists nodes and edges as NetworkX does, as files of edges and of nodes."""

from __future__ import annotations

from typing import Any, Final

from dxgeom.policy.handed.frames import NotAFile, cell_of, csv_of_rows

_ENDS: Final = ("from", "to")
_NODE: Final = "node"


def is_graph(thing: object) -> bool:
    """Whether it lists nodes and edges, and says whether these have a direction."""
    return all(hasattr(thing, what) for what in ("nodes", "edges", "is_directed"))


def csv_of_edges(graph: Any) -> bytes:
    """A row for each edge: its ends, then what is known about it, a column for each name. Raises: NotAFile."""
    if graph.is_directed():
        raise NotAFile("an edge here has no direction; hand over graph.to_undirected()")
    edges = [(one, other, facts) for one, other, facts in graph.edges(data=True)]
    if not edges:
        raise NotAFile("this graph has no edge")
    known = _known(facts for _, _, facts in edges)
    return csv_of_rows(
        (*_ENDS, *known),
        [(_name(one), _name(other), *_cells(facts, known)) for one, other, facts in edges],
    )


def csv_of_nodes(graph: Any) -> bytes:
    """A row for each node, in the graph's order: its name, then what is known about it. Raises: NotAFile."""
    nodes = list(graph.nodes(data=True))
    known = _known(facts for _, facts in nodes)
    return csv_of_rows((_NODE, *known), [(_name(node), *_cells(facts, known)) for node, facts in nodes])


def _name(node: Any) -> str:
    try:
        name = cell_of(node, "a node's name")
    except NotAFile as error:
        raise NotAFile("nodes are named by words or numbers; hand over networkx.relabel_nodes(graph, str)") from error
    if not name:
        raise NotAFile("a node has an empty name")
    return name


def _known(facts: Any) -> list[str]:
    """The names of what is known of some, in the order in which they come; what no file can hold is left out."""
    found: dict[str, bool] = {}
    for one in facts:
        for name, value in one.items():
            found[name] = found.get(name, True) and isinstance(name, str) and _writable(value)
    return [name for name, sound in found.items() if sound and name not in (*_ENDS, _NODE)]


def _writable(value: Any) -> bool:
    try:
        cell_of(value, "")
    except NotAFile:
        return False
    return True


def _cells(facts: Any, known: list[str]) -> list[str]:
    return [cell_of(facts.get(name), name) for name in known]
