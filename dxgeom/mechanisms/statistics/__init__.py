"""Sums of polynomials of bounded numbers, with noise shaped by what one record can change.

Touches ``contract``, ``noise``, ``geometry``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.statistics.adjacent_outputs import (
        AdjacentOutputs as AdjacentOutputs,
        HalvingLimits as HalvingLimits,
        ListedOutputs as ListedOutputs,
        Maximum as Maximum,
        PolynomialOutputs as PolynomialOutputs,
        bernstein_coefficients as bernstein_coefficients,
        float_maximisers as float_maximisers,
        polynomial_maxima as polynomial_maxima,
        quadratic_maxima as quadratic_maxima,
    )
    from dxgeom.mechanisms.statistics.polynomials import (
        BoundedColumn as BoundedColumn,
        BoxPolynomials as BoxPolynomials,
        PolynomialStatistic as PolynomialStatistic,
        bounded_column as bounded_column,
        grid_table as grid_table,
        moments as moments,
        monomials as monomials,
        polynomial_statistic as polynomial_statistic,
        regression_statistic as regression_statistic,
        universe_digest as universe_digest,
    )
    from dxgeom.mechanisms.statistics.statistic_release import (
        CornerStructure as CornerStructure,
        NormSensitivities as NormSensitivities,
        StatisticMechanism as StatisticMechanism,
        corner_structure as corner_structure,
        cylinder_noise as cylinder_noise,
        entry_blocks as entry_blocks,
        entry_sensitivities as entry_sensitivities,
        norm_sensitivities as norm_sensitivities,
        statistic_mechanism as statistic_mechanism,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
