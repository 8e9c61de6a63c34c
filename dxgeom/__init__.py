"""Differential privacy where not everything is equally sensitive.

A policy file compiles to a verified metric d; a metric and a workload span a convex body; noise shaped by that body is
released once, and the ledger remembers. Replacing record i by j changes the odds of any output by at most e^{d(i, j)}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom import (
        audit as audit,
        disclosure as disclosure,
        errors as errors,
        lab as lab,
        geometry as geometry,
        learning as learning,
        ledger as ledger,
        mechanisms as mechanisms,
        metrics as metrics,
        noise as noise,
        plan_files as plan_files,
        privacy as privacy,
        report as report,
        universe as universe,
    )
    from dxgeom.errors import (
        BudgetExceeded as BudgetExceeded,
        DataError as DataError,
        DxgeomError as DxgeomError,
        PolicyError as PolicyError,
        QueryError as QueryError,
        UnsupportedCombination as UnsupportedCombination,
    )
    from dxgeom.ledger.ledger import Ledger as Ledger
    from dxgeom.mechanisms import quantiles as quantiles
    from dxgeom.mechanisms.selection.selections import selection as selection
    from dxgeom.metrics.matrices import repair_metric as repair_metric
    from dxgeom.metrics.edges import verify_edges as verify_edges
    from dxgeom.metrics.verification import VerifiedMetric as VerifiedMetric, verify_metric as verify_metric
    from dxgeom.pipeline import compile_and_release as compile_and_release
    from dxgeom.plan_files.loading import load_plan as load_plan
    from dxgeom.plan_files.saving import save_plan as save_plan
    from dxgeom.planner.releases.answer_once import release as release
    from dxgeom.planner.choose import plan as plan
    from dxgeom.planner.plan import Plan as Plan
    from dxgeom.planner.plan_together import plan_together as plan_together
    from dxgeom.planner.release import Release as Release
    from dxgeom.planner.wish import Search as Search
    from dxgeom.policy.policy import Policy as Policy, load_policy as load_policy, parse_policy as parse_policy
    from dxgeom.queries.queries_file import (
        load_queries as load_queries,
        parse_queries as parse_queries,
        queries_from_dict as queries_from_dict,
    )
    from dxgeom.starting.front import init as init
    from dxgeom.universe.queries import LinearQueries as LinearQueries
    from dxgeom.universe.universe import Universe as Universe

__version__ = "0.2.1"
__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
