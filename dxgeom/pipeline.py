"""The main job in one call: policy file and data in, private answers out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Unpack

from dxgeom.arguments import pointing_elsewhere, require, taking
from dxgeom.engines.opening import engine_of
from dxgeom.ledger.ledger import ledger_of
from dxgeom.mechanisms.contract.mechanism import account_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.choose import plan
from dxgeom.planner.kind import kind_of
from dxgeom.planner.objectives.objective import ObjectiveName
from dxgeom.planner.release import LEFT_OUT, Once, Release
from dxgeom.planner.releases.answer_once import require_words
from dxgeom.planner.releases.paying import check_allotment
from dxgeom.planner.wish import AUTO
from dxgeom.policy.policy import Policy, load_policy
from dxgeom.queries.queries_file import Asked, load_queries


@pointing_elsewhere
@taking(Once, LEFT_OUT)
def compile_and_release(
    policy: str | Path | Policy,
    table: Any,
    queries: str | Path | Asked,
    *,
    spend: Amount,
    objective: ObjectiveName = "balanced",
    mechanism: str = AUTO,
    records: int | None = None,
    **how: Unpack[Once],
) -> Release[Any]:
    """Check the policy, compile it, plan the queries or tasks, charge the ledger, and answer once.

    Args: see :meth:`dxgeom.planner.plan.Plan.release`; ``policy`` and ``queries`` are files or loaded objects;
    ``records`` is the public number of records, needed by means in a query file that does not state it, and by a plan
    that may answer changed queries.
    Raises: PolicyError, QueryError, DataError, LedgerError, BudgetExceeded; nothing is spent when one is raised before
    the noise is drawn.
    """
    require(
        policy,
        (str, Path, Policy),
        "policy",
        "name a policy file, or load one with dx.load_policy; of a dict take dx.Policy.from_dict",
    )
    if not isinstance(queries, (str, Path)):
        kind_of(queries)  # before any file is read
    loaded = policy if isinstance(policy, Policy) else load_policy(policy)
    asked = load_queries(queries, loaded, records) if isinstance(queries, (str, Path)) else queries
    said: dict[str, Any] = {"objective": objective, "mechanism": mechanism, "spend": spend}
    if "records" in kind_of(asked).heeds:
        said["records"] = records
    metric = loaded.compile()
    _require_ready(metric, loaded, table, spend, how)
    chosen = plan(metric, asked, **said).uninterrupted()
    return chosen.release(table, spend=spend, **how)


def _require_ready(metric: VerifiedMetric, policy: Policy, table: Any, spend: Amount, how: Once) -> None:
    """What a release would refuse whatever is planned: its words, the ledger, what is left there, a missing file.

    Raises: WrongArgument, UnsupportedCombination, LedgerError, BudgetExceeded, DataError.
    """
    require_words(how["ledger"], how["purpose"], how["id"], how["allotment"])
    amount = exact_amount(spend, "spend")
    with ledger_of(how["ledger"], account_of(metric)) as ledger:
        check_allotment(ledger, how["allotment"])
        if how["id"] is None:  # an earlier release of that name costs nothing, and needs no table
            ledger.require_left(amount, how["allotment"])
    if how["id"] is None and isinstance(table, (str, Path)):
        engine_of(str(table)).look_up(str(table), policy.universe.form)
