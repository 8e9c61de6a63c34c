"""Picking one of finitely many candidates, and small databases picked among all of their size.

Touches ``linear``, ``contract`` and ``noise``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.selection.scores import (
        DeclaredSelection as DeclaredSelection,
        TabledSelection as TabledSelection,
        challenge as challenge,
        declared_selection as declared_selection,
        tabled_selection as tabled_selection,
    )
    from dxgeom.mechanisms.selection.selections import Selection as Selection, selection as selection
    from dxgeom.mechanisms.selection.small_databases import (
        SmallDatabaseMechanism as SmallDatabaseMechanism,
        small_database as small_database,
    )
    from dxgeom.mechanisms.selection.selections import TopSelection as TopSelection, top_selection as top_selection

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
