"""Gaussian noise of the best covariance, its certificate, bounds that follow.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.gaussian.jumps import gaussian_with_jumps as gaussian_with_jumps
    from dxgeom.mechanisms.gaussian.mechanism import best_gaussian as best_gaussian, gaussian_space as gaussian_space

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
