"""Noise on linear queries: lattice, sensitivity, Laplace, containment, error bars, answers to changed queries.

Touches ``noise``, ``geometry`` and ``metrics``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.additive import AdditiveMechanism as AdditiveMechanism
    from dxgeom.mechanisms.linear.bars import half_widths as half_widths
    from dxgeom.mechanisms.linear.laplace import (
        epsilon_dp_laplace as epsilon_dp_laplace,
        equal_shares as equal_shares,
        one_scale as one_scale,
        optimal_laplace as optimal_laplace,
        proportional_shares as proportional_shares,
    )
    from dxgeom.mechanisms.linear.sensitivity import Sensitivity as Sensitivity, sensitivity_of as sensitivity_of
    from dxgeom.mechanisms.linear.time_series import (
        SeriesMechanism as SeriesMechanism,
        series_mechanism as series_mechanism,
        series_mechanism_under as series_mechanism_under,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
