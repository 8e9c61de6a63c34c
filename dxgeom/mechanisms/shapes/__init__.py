"""The shapes a plan may choose from, and bounds that none can beat.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.shapes.hulls import hull_mechanism as hull_mechanism, sensitivity_hull as sensitivity_hull
    from dxgeom.mechanisms.shapes.strategy import (
        box_mechanism as box_mechanism,
        ellipsoid_mechanism as ellipsoid_mechanism,
        rotated_laplace as rotated_laplace,
    )
    from dxgeom.mechanisms.shapes.strategy import strategy_mechanism as strategy_mechanism

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
