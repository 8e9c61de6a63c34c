"""A start: a policy and queries from one's own table, what does not fit in it, and examples with their data.

Lives here: what rows show of how a table is written, the questions, the two files as texts, the page of a table, the
examples. Touches the engines, for names, types and cells; no cell goes into a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.starting.front import init as init

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
