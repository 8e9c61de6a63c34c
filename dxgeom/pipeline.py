"""The main job in one call: policy file and data in, private answers out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dxgeom.arguments import require
from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.amounts import Amount
from dxgeom.planner.choose import plan
from dxgeom.planner.objectives.objective import ObjectiveName
from dxgeom.planner.options import AUTO
from dxgeom.planner.quantile_plan import plan_quantiles
from dxgeom.planner.release import Release
from dxgeom.policy.policy import Policy, load_policy
from dxgeom.queries.queries_file import load_queries
from dxgeom.universe.quantile_queries import QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.tasks.tasks import Tasks
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.planner.releases.plans import SavablePlan


def compile_and_release(
    policy: str | Path | Policy,
    table: Any,
    queries: str | Path | LinearQueries | QuantileQueries | MarginalQueries | BoxQueries | Tasks,
    *,
    ledger: str | Path | Ledger,
    spend: Amount,
    objective: ObjectiveName = "balanced",
    mechanism: str = AUTO,
    outside: Literal["refuse", "drop"] = "refuse",
    count_column: str | None = None,
    quiet_data: bool = False,
    purpose: str = "",
    records: int | None = None,
    id: str | None = None,
    allotment: str | None = None,
) -> Release[Any]:
    """Check the policy, compile it, plan the queries or tasks, charge the ledger, and answer once.

    Args: see :meth:`dxgeom.planner.plan.Plan.release`; ``policy`` and ``queries`` are files or loaded objects;
    ``records`` is the public number of records, needed by means in a query file that does not state it, and by a plan
    that may answer changed queries.
    Raises: PolicyError, QueryError, DataError, LedgerError, BudgetExceeded; nothing is spent when one is raised before
    the noise is drawn.
    """
    require(policy, (str, Path, Policy), "policy", "name a policy file, or load one with dx.load_policy")
    require(
        queries,
        (str, Path, LinearQueries, QuantileQueries, MarginalQueries, BoxQueries, Tasks),
        "queries",
        "name a queries file, or load one with dx.load_queries",
    )
    loaded = policy if isinstance(policy, Policy) else load_policy(policy)
    workload = load_queries(queries, loaded, records) if isinstance(queries, (str, Path)) else queries
    chosen = _planned(loaded, workload, objective, mechanism, records, spend)
    return chosen.release(
        table,
        ledger=ledger,
        spend=spend,
        outside=outside,
        count_column=count_column,
        quiet_data=quiet_data,
        purpose=purpose,
        id=id,
        allotment=allotment,
    )


def _planned(
    policy: Policy,
    queries: LinearQueries | QuantileQueries | MarginalQueries | BoxQueries | Tasks,
    objective: ObjectiveName,
    mechanism: str,
    records: int | None,
    spend: Amount,
) -> SavablePlan:
    """Raises: UnsupportedCombination where an objective is named for quantiles."""
    metric = policy.compile()
    if isinstance(queries, LinearQueries):
        chosen = plan(metric, queries, objective=objective, mechanism=mechanism, records=records, spend=spend)
        return chosen.uninterrupted()
    if isinstance(queries, Tasks):
        return plan(metric, queries, objective=objective, mechanism=mechanism, records=records, spend=spend)
    if isinstance(queries, (MarginalQueries, BoxQueries)):
        return plan(metric, queries, objective=objective, mechanism=mechanism)
    if objective != "balanced":
        raise UnsupportedCombination("an objective is named for counts and sums, not for quantiles: leave it out")
    return plan_quantiles(metric, queries, records=records, spend=spend, mechanism=mechanism)
