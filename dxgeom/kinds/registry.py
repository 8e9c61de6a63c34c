"""Every kind of question, a line each. Names, not classes: a kind is loaded when it is first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

KINDS: tuple[str, ...] = (
    "dxgeom.kinds.counts:COUNTS",
    "dxgeom.kinds.tables:TABLES",
    "dxgeom.kinds.tables:BOXES",
    "dxgeom.kinds.quantiles:QUANTILES",
    "dxgeom.kinds.tasks:TASKS",
    "dxgeom.kinds.tasks:QUERIES",
    "dxgeom.kinds.selection:SELECT",
    "dxgeom.kinds.distinct:DISTINCT",
    "dxgeom.kinds.keys:KEYS",
    "dxgeom.kinds.synthesis:SYNTHESIZE",
    "dxgeom.kinds.synthesis:SMALL_DATABASE",
    "dxgeom.kinds.adaptive:ADAPTIVE",
    "dxgeom.lab.kind:STATISTICS",
    "dxgeom.kinds.series:SERIES",
    "dxgeom.learning.kind:FIT",
)
"""In the order in which messages and schemas list them."""


def named(name: str) -> Any:
    """What stands behind "module:NAME"."""
    module, _, inside = name.partition(":")
    return getattr(import_module(module), inside)


def kinds() -> Iterator[Any]:
    """Each kind, loaded in its turn."""
    return map(named, KINDS)


def kind_of(question: object) -> Any:
    """The kind of what is asked; None for what is no question."""
    return next((kind for kind in kinds() if type(question) is kind.question), None)
