"""From a plan to its file: written once, and read again before it is kept."""

from __future__ import annotations

import os
from pathlib import Path
from types import NoneType

from dxgeom.arguments import described, require
from dxgeom.errors import DataError, WrongArgument
from dxgeom.plan_files.codec import codec_of_plan, loaded
from dxgeom.plan_files.sources import sealed_text
from dxgeom.plan_files.text.json_text import document_of_text
from dxgeom.plan_files.wrong import told_as
from dxgeom.planner.amounts import Amount
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy


def save_plan(
    plan: Plan,
    path: str | os.PathLike[str],
    *,
    policy: Policy,
    spend: Amount | None = None,
) -> Plan:
    """Write all that decides the law of a plan's releases to a new file, and nothing private.

    Args: ``policy``: the one that the plan's metric was compiled from. ``spend``: what a release of the file is to use
    up; left out, whoever releases says it.
    Returns: the plan as it is read from the file.
    Raises: UnsupportedCombination for another policy, or noise that no file can hold; TooLarge for queries made in
    Python with more than a million weights; DataError for a file that exists, or cannot be written.
    """
    require(plan, Plan, "plan", "make one with dx.plan")
    require(path, (str, os.PathLike), "path", "name the new file")
    require(policy, Policy, "policy", "give the policy that was compiled for this plan")
    require(spend, (NoneType, *Amount.__args__), "spend", "give a number such as 0.25 or '1/4', or leave it out")
    text = plan_text(plan.plan, policy, spend)
    with told_as(os.fspath(path)):
        again = loaded(document_of_text(text))
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
    codec = codec_of_plan(plan)
    if codec is None:
        raise WrongArgument(f"'plan' is one that a plan file holds; found {described(plan)}: make one with dx.plan")
    return sealed_text(plan, plan.metric, policy, spend, codec.fields(plan, policy))
