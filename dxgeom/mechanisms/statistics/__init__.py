"""Sums of polynomials of bounded numbers, with noise shaped by what one record can change.

Touches ``contract``, ``noise``, ``geometry``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.statistics.adjacent_outputs import (
        AdjacentOutputs as AdjacentOutputs,
        ListedOutputs as ListedOutputs,
        PolynomialOutputs as PolynomialOutputs,
    )
    from dxgeom.mechanisms.statistics.bernstein import (
        HalvingLimits as HalvingLimits,
        Maximum as Maximum,
        bernstein_coefficients as bernstein_coefficients,
        polynomial_maxima as polynomial_maxima,
    )
    from dxgeom.mechanisms.statistics.bounded_columns import (
        BoundedColumn as BoundedColumn,
        bounded_column as bounded_column,
        grid_table as grid_table,
        universe_digest as universe_digest,
    )
    from dxgeom.mechanisms.statistics.box_quadratics import (
        float_maximisers as float_maximisers,
        quadratic_maxima as quadratic_maxima,
    )
    from dxgeom.mechanisms.statistics.blocks_of_entries import (
        cylinder_noise as cylinder_noise,
        entry_blocks as entry_blocks,
    )
    from dxgeom.mechanisms.statistics.polynomial_statistics import (
        PolynomialStatistic as PolynomialStatistic,
        moments as moments,
        polynomial_statistic as polynomial_statistic,
        regression_statistic as regression_statistic,
    )
    from dxgeom.mechanisms.statistics.polynomials import BoxPolynomials as BoxPolynomials, monomials as monomials
    from dxgeom.mechanisms.statistics.sensitivities import (
        CornerStructure as CornerStructure,
        NormSensitivities as NormSensitivities,
        corner_structure as corner_structure,
        entry_sensitivities as entry_sensitivities,
        norm_sensitivities as norm_sensitivities,
        signed_reach as signed_reach,
    )
    from dxgeom.mechanisms.statistics.statistic_release import (
        StatisticMechanism as StatisticMechanism,
        statistic_mechanism as statistic_mechanism,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
