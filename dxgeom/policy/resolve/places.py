"""Places from a points file: keys, coordinates, and what else is known about them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from dxgeom.policy.source.data_files import CsvTable, WrongContent, check_keys, column_of
from dxgeom.policy.syntax.models import PlacesSyntax
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.wording import shown

_FARTHEST: Final = Fraction(10**12)
"""Plane coordinates are at most this large, so that float64 keeps them to better than a thousandth."""


def coordinate_mistake(syntax: PlacesSyntax) -> str | None:
    """Why the coordinate keys do not go together, or None."""
    sphere = [key for key in ("latitude", "longitude") if getattr(syntax, key) is not None]
    plane = [key for key in ("x", "y", "unit") if getattr(syntax, key) is not None]
    if (len(sphere), len(plane)) in ((2, 0), (0, 3)):
        return None
    found = ", ".join(sphere + plane) or "neither"
    return f"places have latitude and longitude, or x, y and unit; found {found}"


def places(name: str, syntax: PlacesSyntax, table: CsvTable) -> PointsAttribute:
    """The attribute of the rows of a points file, in the file's order.

    Raises: WrongContent.
    """
    keys = table.column(syntax.key)
    check_keys(keys, table)
    if syntax.latitude is not None and syntax.longitude is not None:
        coordinates = _coordinates(table, syntax.latitude, syntax.longitude, (Fraction(90), Fraction(360)))
        geometry: Literal["plane", "great circle"] = "great circle"
    else:
        coordinates = _coordinates(table, syntax.x or "", syntax.y or "", (_FARTHEST, _FARTHEST))
        geometry = "plane"
    further = tuple(column_of(table, header) for header in table.header if header != syntax.key)
    if any(column.name == name for column in further):
        raise WrongContent(f"{table.file} has a column named like the attribute, {shown(name)}; rename one of them")
    return PointsAttribute(name, keys, geometry, coordinates, syntax.unit or "km", further)


def _coordinates(table: CsvTable, one: str, two: str, largest: tuple[Fraction, Fraction]) -> NDArray[np.float64]:
    columns = []
    for name, limit in zip((one, two), largest, strict=True):
        numbers = table.numbers(name)
        for number, line in zip(numbers, table.lines, strict=True):
            if abs(number) > limit:
                raise WrongContent(f"{table.file}, line {line}: {name} lies beyond ±{limit}")
        columns.append([float(number) for number in numbers])
    return np.array(columns, dtype=np.float64).T.copy()
