"""Possible records and linear queries over them: attributes, columns, conditions, and tables of weights.

Touches only ``numeric``; knows no distances and no noise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.universe.attributes import (
        Attribute as Attribute,
        CategoricalAttribute as CategoricalAttribute,
    )
    from dxgeom.universe.columns import NumberColumn as NumberColumn, TextColumn as TextColumn
    from dxgeom.universe.dates import DateAttribute as DateAttribute
    from dxgeom.universe.numbers.numeric_attributes import (
        BinnedAttribute as BinnedAttribute,
        NumericAttribute as NumericAttribute,
        RangeAttribute as RangeAttribute,
    )
    from dxgeom.universe.places import GraphAttribute as GraphAttribute, PointsAttribute as PointsAttribute
    from dxgeom.universe.reading.nearest import Nearest as Nearest
    from dxgeom.universe.reading.optional import OptionalAttribute as OptionalAttribute
    from dxgeom.universe.reading.reading import CellReading as CellReading, Reading as Reading
    from dxgeom.universe.weight_table import WeightTable as WeightTable
    from dxgeom.universe.weight_tables import WeightTables as WeightTables
    from dxgeom.universe.workloads.box_queries import BoxQueries as BoxQueries
    from dxgeom.universe.workloads.whole_tables import MarginalQueries as MarginalQueries

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
