"""From the files of a command to a plan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dxgeom.cli.options import ObjectiveChoice, leave_unloaded
from dxgeom.cli.terminal import print_error, print_warnings
from dxgeom.errors import UnsupportedCombination

if TYPE_CHECKING:
    from dxgeom.metrics.metric import DataSet
    from dxgeom.metrics.verification import VerifiedMetric
    from dxgeom.plan_files.kept_plans import KeptPlan
    from dxgeom.planner.plan import Plan
    from dxgeom.policy.policy import Policy

_DECIDED = {
    "records": None,
    "mechanism": "auto",
    "objective": ObjectiveChoice.balanced.value,
    "errors": None,
    "coarse_facets": None,
    "body": None,
    "thorough": False,
    "dataset": None,
}
"""The options that a plan file leaves no choice in, and what they are when they are left out."""


def planned(
    policy: Path,
    queries: Path,
    records: int | None,
    data_set: DataSet | None = None,
    spend: Fraction | None = None,
    ready: Callable[[Policy, VerifiedMetric], None] | None = None,
    ledger: str | None = None,
    anew: bool = False,
    **options: Any,
) -> tuple[Plan, Policy]:
    """The plan for a queries file under a policy file, and that policy.

    Args: ``data_set``: what was said of the data beside the policy. ``spend``: at which forms of quantiles are
    compared. ``ready`` is handed the policy and its metric before anything is planned, and may refuse. ``ledger``:
    beside it the plan is kept, and looked for unless it is to be made ``anew``. ``options``: of :func:`dxgeom.plan`,
    None where left out.
    Raises: PolicyError, QueryError, LedgerError for a data set that the policy is not about, and what planning raises.
    """
    leave_unloaded()
    from dxgeom.planner.choose import plan
    from dxgeom.planner.wish import Search
    from dxgeom.policy.policy import load_policy
    from dxgeom.queries.queries_file import load_queries

    policy_read = load_policy(policy)
    print_warnings(policy_read)
    asked = load_queries(queries, policy_read, records)
    said = {name: option for name, option in options.items() if option is not None}
    search = Search(**{name: said.pop(name) for name in ("coarse_facets", "published", "body") if name in said})
    metric = policy_read.compile() if data_set is None else policy_read.compile().about(data_set)
    if ready is not None:
        ready(policy_read, metric)
    how = {**said, "search": search, "spend": spend}
    decides = {**how, "search": replace(search, published=False), "records": records, "spend": Fraction(spend or 1)}
    own = data_set is not None or search.body is not None
    kept = None if ledger is None or own else _kept_beside(ledger, policy_read, asked, decides)
    if kept is not None and not anew and (found := kept.plan(print_error)) is not None:
        return found, policy_read
    with _progress() as progress:
        chosen = plan(metric, asked, progress=progress, **how)
    if kept is not None and not anew and chosen.mechanism.public_answers is not None:
        return chosen, policy_read  # which no release is made of
    is_kept = kept is not None and chosen.interrupted is None and kept.keep(chosen)
    if anew and ledger is not None and not is_kept:
        print_error(f"the plan is not kept beside '{ledger}', which is no file, or whose folder may not be written")
    return chosen, policy_read


def _kept_beside(ledger: str, policy: Policy, asked: Any, decides: dict[str, Any]) -> KeptPlan | None:
    from dxgeom import __version__
    from dxgeom.plan_files.kept_plans import KeptPlan  # and with it the ledger's room

    return KeptPlan.beside(ledger, policy, asked, {**decides, "version": __version__})


def plan_to_release(
    policy: Path,
    queries: Path | None,
    spend: Fraction | None,
    records: int | None,
    data_set: DataSet | None,
    ready: Callable[[Policy, VerifiedMetric], None] | None = None,
    ledger: str | None = None,
    **options: Any,
) -> tuple[Plan, Fraction]:
    """The plan of the files named, and the spend: without a queries file the policy file is a plan, which has decided
    all but perhaps the spend. ``ready``, ``ledger`` and ``options``: as :func:`planned`'s; a plan file has nothing to
    be ready for, and is kept already.

    Raises: PlanError, UnsupportedCombination, and as :func:`planned`; typer.BadParameter where a file or the spend is
    missing.
    """
    if queries is not None:
        chosen = planned(policy, queries, records, data_set, spend, ready, ledger, **options)[0].uninterrupted()
        least = chosen.least_spend if spend is None and chosen.wants_errors else None
        if spend is None and least is None:
            raise typer.BadParameter(
                "say how much of the budget to use, --spend S, or which errors are wanted, --error"
            )
        return chosen, spend or least or Fraction(1)
    if policy.suffix != ".json":
        raise typer.BadParameter("name the queries file, or a plan file in the place of the policy")
    leave_unloaded()
    from dxgeom.plan_files.loading import load_plan

    said = {**options, "records": records, "dataset": data_set}
    stated = [name for name, default in _DECIDED.items() if said.get(name, default) != default]
    if stated:
        raise UnsupportedCombination(
            f"{policy} is a plan, which has decided its {stated[0]}: leave it out, or plan anew"
        )
    plan = load_plan(policy)
    return plan, plan.at_spend(spend)


def is_thorough(thorough: bool, quick: bool) -> bool:
    """Whether every kind of noise is looked for. Raises: typer.BadParameter where both words are said."""
    if thorough and quick:
        raise typer.BadParameter("is the contrary of --quick: say one of them", param_hint="--thorough")
    if quick:
        print_error("--quick is what is done unless --thorough is said: leave it out")
    return thorough


def seek_bound(chosen: Plan) -> None:
    """The lower bound, where it is told with a plan of noise on a list of queries; who interrupts this search is shown
    the plan without it."""
    if chosen.answers_a_list and chosen.comparison.bound_at_hand:
        with _progress() as progress:
            if progress is not None:
                progress("a bound on all noise")
            chosen.comparison.seek_bound()


@contextmanager
def _progress() -> Iterator[Callable[[str], None] | None]:
    """A line on standard error about what is being built, or a line now and then where nobody is looking."""
    from dxgeom.progress_line import ProgressLine, begun_by_a_kernel

    if begun_by_a_kernel() or not sys.stderr.isatty():
        yield ProgressLine("planning")
        return
    from rich.console import Console  # slow to load, and of use on a terminal only

    with Console(stderr=True).status("planning") as line:
        yield lambda what: line.update(f"planning: {what}")
