"""From a plan to its file: written once, and read again before it is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from dxgeom.arguments import require
from dxgeom.errors import DataError
from dxgeom.plan_files.aims import objective_data
from dxgeom.plan_files.answering import mechanism_data
from dxgeom.plan_files.asked import queries_data
from dxgeom.plan_files.boxes.box_plans import box_plan_text
from dxgeom.plan_files.loading import loaded
from dxgeom.plan_files.quantile_plans import quantile_plan_text
from dxgeom.plan_files.sources import sealed_text
from dxgeom.plan_files.table_plans import table_plan_text
from dxgeom.plan_files.tasks.task_plans import errors_data, task_plan_text
from dxgeom.plan_files.text.json_text import document_of_text
from dxgeom.plan_files.wrong import told_as
from dxgeom.planner.amounts import Amount
from dxgeom.planner.boxes.box_plan import BoxPlan
from dxgeom.planner.marginals.marginal_plan import MarginalPlan
from dxgeom.planner.plan import Plan
from dxgeom.planner.quantile_plan import QuantilePlan
from dxgeom.planner.tasks.task_plan import TaskPlan
from dxgeom.policy.policy import Policy

if TYPE_CHECKING:
    from dxgeom.planner.releases.plans import SavablePlan

Kept = TypeVar("Kept", bound="SavablePlan")


def save_plan(
    plan: Kept,
    path: str | os.PathLike[str],
    *,
    policy: Policy,
    spend: Amount | None = None,
) -> Kept:
    """Write all that decides the law of a plan's releases to a new file, and nothing private.

    Args: ``policy``: the one that the plan's metric was compiled from. ``spend``: what a release of the file is to use
    up; left out, whoever releases says it.
    Returns: the plan as it is read from the file.
    Raises: UnsupportedCombination for another policy, or noise that no file can hold; TooLarge for queries made in
    Python with more than a million weights; DataError for a file that exists, or cannot be written.
    """
    require(plan, tuple(SAVED), "plan", "make one with dx.plan")
    require(path, (str, os.PathLike), "path", "name the new file")
    require(policy, Policy, "policy", "give the policy that was compiled for this plan")
    require(spend, (NoneType, *Amount.__args__), "spend", "give a number such as 0.25 or '1/4', or leave it out")
    text = SAVED[type(plan)](plan.plan, policy, spend)
    with told_as(os.fspath(path)):
        again = cast(Kept, loaded(document_of_text(text)))
    try:
        with Path(path).open("x", encoding="ascii", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise DataError(f"'{path}' exists and is not overwritten; name a new file") from error
    except OSError as error:
        raise DataError(f"'{path}' cannot be written: {error.strerror}") from error
    return again


def plan_text(plan: Plan, policy: Policy, spend: Amount | None = None) -> str:
    """The text of the file. Raises: as :func:`save_plan`."""
    parts = {
        "queries": queries_data(plan.queries, policy),
        "objective": objective_data(plan.objective),
        "mechanism": mechanism_data(plan.mechanism),
        "records": plan.records,
        "errors": errors_data(plan),
        **({} if plan.comparison.search == "full" else {"search": plan.comparison.search}),
    }
    return sealed_text(plan, plan.metric, policy, spend, parts)


SAVED: Final[Mapping[type, Callable[[Any, Policy, Amount | None], str]]] = {
    Plan: plan_text,
    QuantilePlan: quantile_plan_text,
    MarginalPlan: table_plan_text,
    BoxPlan: box_plan_text,
    TaskPlan: task_plan_text,
}
"""The plans that files hold, and what writes each."""
