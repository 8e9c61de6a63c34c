"""Tasks: what is asked of one table in one release, a kind beside another, each with its share of the spend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.universe.tasks.questions import FitTask as FitTask, QueriesTask as QueriesTask, SelectTask as SelectTask
    from dxgeom.universe.tasks.tasks import Tasks as Tasks

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
