"""Randomised maps, each with the guarantee it gives and its exact error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms import (
        bounds as bounds,
        contract as contract,
        gaussian as gaussian,
        linear as linear,
        parts as parts,
        quantiles as quantiles,
        selection as selection,
        shapes as shapes,
        synthetic as synthetic,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
