"""Normal noise for whole tables of counts under any distances of values, along bases that the general solver finds.

Touches ``mechanisms/linear``, its ``gaussian`` and its ``marginals``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.kronecker.bases import (
        TurnedShifts as TurnedShifts,
        WeighedPairs as WeighedPairs,
        centred_basis as centred_basis,
        weighed_pairs as weighed_pairs,
    )
    from dxgeom.mechanisms.linear.kronecker.blocks import (
        Blocks as Blocks,
    )
    from dxgeom.mechanisms.linear.kronecker.distances import (
        ValueDistances as ValueDistances,
        uneven_distances as uneven_distances,
    )
    from dxgeom.mechanisms.linear.kronecker.errors_of_cells import (
        cell_errors as cell_errors,
    )
    from dxgeom.mechanisms.linear.kronecker.linear_tables import (
        BasisMeasurement as BasisMeasurement,
        has_uneven_attributes as has_uneven_attributes,
        kronecker_gaussian as kronecker_gaussian,
        proved_along as proved_along,
        uneven_attributes as uneven_attributes,
    )
    from dxgeom.mechanisms.linear.kronecker.loads import (
        Loads as Loads,
    )
    from dxgeom.mechanisms.linear.kronecker.mechanism import (
        KroneckerMechanism as KroneckerMechanism,
        maps_of as maps_of,
        own_bases as own_bases,
        require_bases as require_bases,
    )
    from dxgeom.mechanisms.linear.kronecker.program import (
        FoundNoise as FoundNoise,
        KroneckerQuestion as KroneckerQuestion,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
