"""Possible records and linear queries over them: attributes, columns, conditions, and tables of weights.

Touches only ``numeric``; knows no distances and no noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.universe.attributes import Attribute as Attribute
    from dxgeom.universe.places import PointsAttribute as PointsAttribute
    from dxgeom.universe.reading.nearest import Nearest as Nearest
    from dxgeom.universe.workloads.box_queries import BoxQueries as BoxQueries
    from dxgeom.universe.workloads.whole_tables import MarginalQueries as MarginalQueries

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
