"""Noise in parts: for whole tables of counts in residuals, in tables or along bases, for boxes along trees and lines;
in products of values and sums along attributes.

Touches ``mechanisms/linear`` and ``mechanisms/gaussian``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism as BoxMechanism
    from dxgeom.mechanisms.parts.table_candidates import (
        has_uneven_attributes as has_uneven_attributes,
        kronecker_gaussian as kronecker_gaussian,
    )
    from dxgeom.mechanisms.parts.table_mechanism import TableMechanism as TableMechanism

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
