"""Quantiles and medians of one ordered attribute, by what it would cost to make a value the quantile.

Touches ``contract``, ``noise``, ``metrics`` and ``universe``; knows no queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.quantiles.choice import (
        quantile_choice as quantile_choice,
        quantile_mechanism as quantile_mechanism,
        quantiles_by as quantiles_by,
    )
    from dxgeom.mechanisms.quantiles.transport import LaplaceQuantiles as LaplaceQuantiles
    from dxgeom.mechanisms.quantiles.transport import TransportQuantiles as TransportQuantiles

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
