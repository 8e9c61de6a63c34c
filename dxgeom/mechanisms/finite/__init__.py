"""Mechanisms with finitely many secrets and answers, as exact tables of probabilities.

Touches ``contract``, ``metrics`` and ``numeric``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.finite.finite_mechanism import (
        FiniteMechanism as FiniteMechanism,
        ratio as ratio,
        require_prior as require_prior,
    )
    from dxgeom.mechanisms.finite.banded_tables import (
        BandedTable as BandedTable,
        banded_geometric as banded_geometric,
        banded_laplace as banded_laplace,
        is_a_row as is_a_row,
    )
    from dxgeom.mechanisms.finite.laplace_tables import (
        finite_laplace as finite_laplace,
        halved_exponential as halved_exponential,
        truncated_geometric as truncated_geometric,
        truncated_geometric_law as truncated_geometric_law,
    )
    from dxgeom.mechanisms.finite.optimal_tables import (
        Bracket as Bracket,
        bracketed_table as bracketed_table,
        optimal_table as optimal_table,
    )
    from dxgeom.mechanisms.finite.private_table import (
        PrivateTable as PrivateTable,
        honouring as honouring,
        repaired as repaired,
        require_hidden as require_hidden,
        rounded_and_mixed as rounded_and_mixed,
    )
    from dxgeom.mechanisms.finite.ratio_bounds import (
        LikelihoodRatioBounds as LikelihoodRatioBounds,
        likelihood_ratio_bounds as likelihood_ratio_bounds,
        likelihood_ratio_bounds_of_table as likelihood_ratio_bounds_of_table,
        odds_below as odds_below,
        require_metric_and_spend as require_metric_and_spend,
    )
    from dxgeom.mechanisms.finite.ratio_program import (
        RatioSolution as RatioSolution,
        least_cost_rows as least_cost_rows,
    )
    from dxgeom.mechanisms.finite.finite_mechanism import bayes_remap as bayes_remap, remapped_loss as remapped_loss
    from dxgeom.mechanisms.finite.optimal_tables import greedy_spanner as greedy_spanner

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
