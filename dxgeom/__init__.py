"""Differential privacy where not everything is equally sensitive.

A policy file compiles to a verified metric d; a metric and a workload span a convex body; noise shaped by that body is
released once, and the ledger remembers. Replacing record i by j changes the odds of any output by at most e^{d(i, j)}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom import geometry as geometry, noise as noise
    from dxgeom.errors import (
        BudgetExceeded as BudgetExceeded,
        DataError as DataError,
        DxgeomError as DxgeomError,
        LedgerError as LedgerError,
        NotAMetric as NotAMetric,
        PolicyError as PolicyError,
        QueryError as QueryError,
        TooLarge as TooLarge,
        UnboundedLoss as UnboundedLoss,
        UnsupportedCombination as UnsupportedCombination,
        WrongArgument as WrongArgument,
    )
    from dxgeom.ledger.ledger import Ledger as Ledger
    from dxgeom.metrics.checking.closure import repair_metric as repair_metric
    from dxgeom.metrics.checking.edge_check import repair_edges as repair_edges, verify_edges as verify_edges
    from dxgeom.metrics.checking.verification import VerifiedMetric as VerifiedMetric, verify_metric as verify_metric
    from dxgeom.metrics.operations.lipschitz_constants import lipschitz as lipschitz
    from dxgeom.noise.laws.k_norm import k_norm_noise as k_norm_noise
    from dxgeom.pipeline import compile_and_release as compile_and_release
    from dxgeom.planner.choose import plan as plan
    from dxgeom.planner.plan import Plan as Plan
    from dxgeom.planner.release import Release as Release, release as release
    from dxgeom.policy.policy import Policy as Policy, load_policy as load_policy, parse_policy as parse_policy
    from dxgeom.queries.queries_file import (
        load_queries as load_queries,
        parse_queries as parse_queries,
        queries_from_dict as queries_from_dict,
    )
    from dxgeom.universe.queries import LinearQueries as LinearQueries
    from dxgeom.universe.universe import Universe as Universe

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
