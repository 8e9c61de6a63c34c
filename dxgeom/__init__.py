"""Differential privacy where not everything is equally sensitive.

A policy file compiles to a verified metric d; a metric and a workload span a convex body; noise shaped by that body is
released once, and the ledger remembers. Replacing record i by j changes the odds of any output by at most e^{d(i, j)}.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dxgeom.errors import (
        BudgetExceeded,
        DataError,
        DxgeomError,
        LedgerError,
        NotAMetric,
        PolicyError,
        QueryError,
        TooLarge,
        UnboundedLoss,
        UnsupportedCombination,
    )
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.metrics.checking.closure import repair_metric
    from dxgeom.metrics.checking.edge_check import repair_edges, verify_edges
    from dxgeom.metrics.checking.verification import VerifiedMetric, verify_metric
    from dxgeom.metrics.operations.lipschitz import lipschitz
    from dxgeom.pipeline import compile_and_release
    from dxgeom.planner.choose import plan
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.release import Release
    from dxgeom.policy.policy import Policy, load_policy
    from dxgeom.queries.queries_file import load_queries
    from dxgeom.universe.queries import LinearQueries
    from dxgeom.universe.universe import Universe

_HOME = {
    "BudgetExceeded": "dxgeom.errors",
    "DataError": "dxgeom.errors",
    "DxgeomError": "dxgeom.errors",
    "Ledger": "dxgeom.ledger.ledger",
    "LedgerError": "dxgeom.errors",
    "LinearQueries": "dxgeom.universe.queries",
    "NotAMetric": "dxgeom.errors",
    "Plan": "dxgeom.planner.plan",
    "Policy": "dxgeom.policy.policy",
    "PolicyError": "dxgeom.errors",
    "QueryError": "dxgeom.errors",
    "Release": "dxgeom.planner.release",
    "TooLarge": "dxgeom.errors",
    "UnboundedLoss": "dxgeom.errors",
    "Universe": "dxgeom.universe.universe",
    "UnsupportedCombination": "dxgeom.errors",
    "VerifiedMetric": "dxgeom.metrics.checking.verification",
    "compile_and_release": "dxgeom.pipeline",
    "lipschitz": "dxgeom.metrics.operations.lipschitz",
    "load_policy": "dxgeom.policy.policy",
    "load_queries": "dxgeom.queries.queries_file",
    "plan": "dxgeom.planner.choose",
    "repair_edges": "dxgeom.metrics.checking.edge_check",
    "repair_metric": "dxgeom.metrics.checking.closure",
    "verify_edges": "dxgeom.metrics.checking.edge_check",
    "verify_metric": "dxgeom.metrics.checking.verification",
}

__version__ = "0.1.0"
__all__ = [
    "BudgetExceeded",
    "DataError",
    "DxgeomError",
    "Ledger",
    "LedgerError",
    "LinearQueries",
    "NotAMetric",
    "Plan",
    "Policy",
    "PolicyError",
    "QueryError",
    "Release",
    "TooLarge",
    "UnboundedLoss",
    "Universe",
    "UnsupportedCombination",
    "VerifiedMetric",
    "compile_and_release",
    "lipschitz",
    "load_policy",
    "load_queries",
    "plan",
    "repair_edges",
    "repair_metric",
    "verify_edges",
    "verify_metric",
]


def __getattr__(name: str) -> Any:
    """Each public name loads its room when it is first asked for, so that ``import dxgeom`` stays fast."""
    if name not in _HOME:
        raise AttributeError(f"dxgeom has no '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
