"""Mechanisms with finitely many secrets and answers, as exact tables of probabilities.

Touches ``contract``, ``metrics`` and ``numeric``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.finite.finite_mechanism import (
        FiniteMechanism as FiniteMechanism,
        LikelihoodRatioBounds as LikelihoodRatioBounds,
        bayes_remap as bayes_remap,
        likelihood_ratio_bounds as likelihood_ratio_bounds,
        likelihood_ratio_bounds_of_table as likelihood_ratio_bounds_of_table,
        odds_below as odds_below,
        ratio as ratio,
        remapped_loss as remapped_loss,
        require_metric_and_spend as require_metric_and_spend,
        require_prior as require_prior,
    )
    from dxgeom.mechanisms.finite.laplace_tables import (
        BandedTable as BandedTable,
        banded_geometric as banded_geometric,
        banded_laplace as banded_laplace,
        finite_laplace as finite_laplace,
        halved_exponential as halved_exponential,
        truncated_geometric as truncated_geometric,
        truncated_geometric_law as truncated_geometric_law,
    )
    from dxgeom.mechanisms.finite.optimal_tables import (
        Bracket as Bracket,
        RatioSolution as RatioSolution,
        bracketed_table as bracketed_table,
        greedy_spanner as greedy_spanner,
        least_cost_rows as least_cost_rows,
        optimal_table as optimal_table,
    )
    from dxgeom.mechanisms.finite.private_table import (
        PrivateTable as PrivateTable,
        honouring as honouring,
        repaired as repaired,
        rounded_and_mixed as rounded_and_mixed,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
