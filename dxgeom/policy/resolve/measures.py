"""What a length such as 10 km, 7 days or 2 steps means along the values of an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.line import LineAxis
from dxgeom.policy.axes.paths import PathAxis
from dxgeom.policy.axes.places import PlacesAxis
from dxgeom.policy.syntax.lengths import Length
from dxgeom.universe.attributes import Attribute, BinnedAttribute, PointsAttribute, RangeAttribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.graphs import GraphAttribute
from dxgeom.universe.wording import shown

_METRES: Final = {"m": 1, "km": 1000}


@final
@dataclass(frozen=True)
class Misfit:
    """Why a length means nothing for an attribute: the code of the mistake, and what to do."""

    code: str
    message: str
    advice: str


def measured(attribute: Attribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
    """The axis and the exact amount along it that a length means for this attribute.

    Args: ``key`` of the rule that holds the length, for the message.
    """
    match attribute, length.unit:
        case PointsAttribute(unit=own), "m" | "km":
            return _places(attribute), length.amount * _METRES[length.unit] / _METRES[own]
        case DateAttribute(days=days), "day":
            return LineAxis("numbers", days), length.amount
        case DateAttribute(step=step, days=days), "step":
            return LineAxis("numbers", days), length.amount * step
        case RangeAttribute(step=step, numbers=numbers), "step":
            return LineAxis("numbers", numbers), length.amount * step
        case GraphAttribute(), "step":
            return _hops(attribute), length.amount
        case GraphAttribute(unit=("m" | "km") as own, lengths=lengths), "m" | "km" if lengths is not None:
            return _paths(attribute, lengths), length.amount * _METRES[length.unit] / _METRES[own]
        case GraphAttribute(unit="", lengths=lengths), "" if lengths is not None:
            return _paths(attribute, lengths), length.amount
        case BinnedAttribute(), "step":
            return LineAxis("steps", tuple(map(Fraction, range(attribute.size)))), length.amount
        case ((RangeAttribute(numbers=numbers) | BinnedAttribute(numbers=numbers)), ""):
            return LineAxis("numbers", numbers), length.amount
    return _misfit(attribute, key, length)


def _places(attribute: PointsAttribute) -> Axis:
    return PlacesAxis(attribute.geometry, attribute.coordinates)


def _hops(graph: GraphAttribute) -> Axis:
    return PathAxis("hops", graph.size, graph.first, graph.second, np.ones(graph.first.size, dtype=np.int64))


def _paths(graph: GraphAttribute, lengths: NDArray[np.int64]) -> Axis:
    return PathAxis("paths", graph.size, graph.first, graph.second, lengths, graph.grain)


def _misfit(attribute: Attribute, key: str, length: Length) -> Misfit:
    name, wrote = shown(attribute.name), _wrote(length)
    match attribute:
        case PointsAttribute():
            return Misfit("DX135", f"the places of {name} are m or km apart, found {wrote}", "write '10 km'")
        case DateAttribute():
            return Misfit("DX135", f"{name} holds dates, found {wrote}", "write '7 days' or '2 steps'")
        case GraphAttribute(lengths=None):
            advice = "write '2 steps', or name the column of the edges' lengths: 'length'"
            return Misfit("DX135", f"the edges of {name} are steps, found {wrote}", advice)
        case GraphAttribute(unit=own):
            advice = f"write '10 {own}' or '2 steps'" if own else "write a number in their own unit, or '2 steps'"
            return Misfit(
                "DX135", f"the lengths of {name} are in {own or 'a unit of their own'}, found {wrote}", advice
            )
        case RangeAttribute() | BinnedAttribute():
            advice = "write a bare number in the attribute's own unit, or '2 steps'"
            return Misfit("DX135", f"{name} holds plain numbers, found {wrote}", advice)
        case _:
            advice = "use 'epsilon' alone, or make the attribute a range, bins, dates, points or a graph"
            return Misfit("DX136", f"'{key}' needs distances, and {name} is a plain list of values", advice)


def _wrote(length: Length) -> str:
    return f"'{length}'" if length.unit else f"'{plain(length.amount)}' without a unit"
