"""What a plan file aims at and spends: the objective, by the fields of its own class, and the spend."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from dxgeom.errors import UnsupportedCombination
from dxgeom.plan_files.text.exact_text import figure_of, keys_of, list_of, rational_of
from dxgeom.plan_files.wrong import Wrong
from dxgeom.planner.amounts import exact_amount
from dxgeom.planner.objectives.objective import Objective
from dxgeom.policy.policy import Policy


def objective_data(objective: Objective) -> dict[str, Any]:
    """The objective as a file holds it: rationals as text."""
    return {one.name: _data(getattr(objective, one.name)) for one in fields(objective)}


def objective_of(data: dict[str, Any], count: int) -> Objective:
    """The objective that a file holds, for ``count`` answers.

    Raises: Wrong.
    """
    hints = get_type_hints(Objective)
    keys_of(data, tuple(hints), "objective")
    parts = {name: _read(hint, data[name], f"objective.{name}") for name, hint in hints.items()}
    for name, part in parts.items():
        wrong = isinstance(part, tuple) and len(part) != count
        if wrong or (isinstance(part, tuple) and any(isinstance(one, Fraction) and one <= 0 for one in part)):
            raise Wrong("DX302", f"objective.{name}", f"there is one, positive, for each of the {count:,} answers")
    return Objective(**parts)


def spend_of(text: str | None, policy: Policy) -> Fraction | None:
    """The spend that a file states, if any.

    Raises: Wrong for none that the policy's budget allows.
    """
    if text is None:
        return None
    spend = rational_of(text, "spend")
    try:
        exact_amount(spend, "spend")
    except UnsupportedCombination as error:
        raise Wrong("DX308", "spend", str(error), "plan with another spend") from error
    if spend > policy.budget:
        raise Wrong(
            "DX308", "spend", f"the policy's budget is {policy.budget}, this is {spend}", "plan with a smaller one"
        )
    return spend


def _data(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_data(part) for part in value]
    return str(value) if isinstance(value, Fraction) else value


def _read(hint: Any, data: Any, place: str) -> Any:
    if get_origin(hint) is Literal:
        if data not in get_args(hint):
            raise Wrong("DX302", place, f"this is one of {', '.join(map(str, get_args(hint)))}")
        return data
    if get_origin(hint) is tuple:
        parts = enumerate(list_of(data, place))
        return tuple(_read(get_args(hint)[0], part, f"{place}[{number}]") for number, part in parts)
    if NoneType in get_args(hint):
        (other,) = {*get_args(hint)} - {NoneType}
        return None if data is None else _read(other, data, place)
    if hint is Fraction:
        return figure_of(data, place)
    if not isinstance(data, hint):
        raise Wrong("DX302", place, f"this is of another kind than {hint.__name__}")
    return data
