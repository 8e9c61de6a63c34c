"""A plan as a reader is shown it before there are answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

MOST_SHOWN = 30
"""Rows of a table at a glance."""


class StatedQuestion(NamedTuple):
    """A question, what it asks in words, and what holds of its errors, whatever the data."""

    name: str
    question: str
    holds: str


class TableErrors(NamedTuple):
    """Counts in cells alike: how many cells, and ± of each."""

    name: str
    cells: str
    half_width: float


class OverviewTable(NamedTuple):
    """A table of ``titles`` and ``rows``, and lines ``below`` it."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: Sequence[str] = ()


@final
@dataclass(frozen=True)
class PlanOverview:
    """A plan at a spend. ``document``: it ready for JSON. ``head``: lines above its ``tables``. ``margin``: how wide
    the words are that begin a line below; ``apart``: whether what is said of files stands apart from these."""

    document: dict[str, Any]
    head: Sequence[str]
    tables: Sequence[OverviewTable] = ()
    margin: int = 7
    apart: bool = False
