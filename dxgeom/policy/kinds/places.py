"""``{points: file.csv, key: …, latitude: …, longitude: …}`` or ``{…, x: …, y: …, unit: m}``: places of a CSV file."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.places import PlacesAxis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import METRES, AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.data_files import CsvTable, WrongContent, check_keys, column_of, read_csv
from dxgeom.policy.source.fields import LengthText
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.reading.nearest import Nearest
from dxgeom.universe.wording import shown

_NEAREST: Final = "Where data tables say in two columns where a row is: its value is the nearest place."
_FARTHEST: Final = Fraction(10**12)
"""Plane coordinates are at most this large, so that float64 keeps them to better than a thousandth."""


@final
class NearestSyntax(BaseModel):
    """``{longitude: …, latitude: …, at_most: 5 km}`` or ``{x: …, y: …, at_most: 500 m}``: columns of data tables."""

    model_config = written_as("Nearest", "two columns of data tables that say where a row is, and how far at most.")

    longitude: Annotated[str | None, Field(description="The column of data tables with longitudes in degrees.")] = None
    latitude: Annotated[str | None, Field(description="The column of data tables with latitudes in degrees.")] = None
    x: Annotated[str | None, Field(description="The column of data tables with eastings, in the places' own unit.")] = (
        None
    )
    y: Annotated[
        str | None, Field(description="The column of data tables with northings, in the places' own unit.")
    ] = None
    at_most: Annotated[LengthText, Field(description="Rows farther than that from every place are outside, as '5 km'.")]


@final
class PlacesSyntax(AttributeKeys):
    """``{points: file.csv, key: …, latitude: …, longitude: …}`` or ``{…, x: …, y: …, unit: m}``."""

    model_config = written_as("Places", "the rows of a CSV file beside the policy, on the globe or in a plane.")

    points: Annotated[str, Field(description="The CSV file, named relative to the policy's folder.")]
    key: Annotated[str, Field(description="The column that names the places.")]
    latitude: Annotated[str | None, Field(description="The column of latitudes in degrees.")] = None
    longitude: Annotated[str | None, Field(description="The column of longitudes in degrees.")] = None
    x: Annotated[str | None, Field(description="The column of eastings in a plane.")] = None
    y: Annotated[str | None, Field(description="The column of northings in a plane.")] = None
    unit: Annotated[Literal["m", "km"] | None, Field(description="The unit of x and y.")] = None
    nearest: Annotated[NearestSyntax | None, Field(description=_NEAREST)] = None


@final
class PlacesKind(AttributeKind[PlacesSyntax, PointsAttribute]):
    """Places on the globe or in a plane; lengths are in m or km."""

    key: ClassVar[str] = "points"
    noun: ClassVar[str] = "a points file"
    form: ClassVar[str] = "{points, key, latitude, longitude}, {points, key, x, y, unit}"
    example: ClassVar[str] = (
        "write {points: file.csv, key: column, latitude: column, longitude: column}, or x, y and unit"
    )
    syntax = PlacesSyntax
    makes = PointsAttribute

    def resolve(self, syntax: PlacesSyntax, declared: Declared) -> PointsAttribute | None:
        problem = _coordinate_mistake(syntax)
        if problem is not None:
            declared.note("DX113", f": {problem}")
            return None
        if syntax.nearest is not None and not _nearest_is_sound(syntax, syntax.nearest, declared):
            return None
        file = syntax.points
        return declared.read(
            "points", file, lambda: _places(declared.name, syntax, read_csv(declared.folder, file)), "points file"
        )

    def measured(self, attribute: PointsAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit not in METRES:
            message = f"the places of {shown(attribute.name)} are m or km apart, found {wrote(length)}"
            return Misfit(message, "write '10 km'")
        amount = length.amount * METRES[length.unit] / METRES[attribute.unit]
        return PlacesAxis(attribute.geometry, attribute.coordinates), amount


def _coordinate_mistake(syntax: PlacesSyntax) -> str | None:
    """Why the coordinate keys do not go together, or None."""
    sphere = [key for key in ("latitude", "longitude") if getattr(syntax, key) is not None]
    plane = [key for key in ("x", "y", "unit") if getattr(syntax, key) is not None]
    if (len(sphere), len(plane)) in ((2, 0), (0, 3)):
        return None
    found = ", ".join(sphere + plane) or "neither"
    return f"places have latitude and longitude, or x, y and unit; found {found}"


def _places(name: str, syntax: PlacesSyntax, table: CsvTable) -> PointsAttribute:
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
    return PointsAttribute(
        name, keys, geometry, coordinates, syntax.unit or "km", further, _nearest(syntax, geometry, coordinates)
    )


def _nearest_is_sound(syntax: PlacesSyntax, nearest: NearestSyntax, declared: Declared) -> bool:
    """Whether the columns of tables are of the same kind as the places' own; if not, that is noted."""
    wanted = ("x", "y") if syntax.latitude is None else ("longitude", "latitude")
    found = tuple(key for key in ("longitude", "latitude", "x", "y") if getattr(nearest, key) is not None)
    if set(found) != set(wanted):
        told = " and ".join(found) or "neither"
        message = f": 'nearest' names two columns of the data, {wanted[0]} and {wanted[1]}, found {told}"
        advice = f"write {{{wanted[0]}: column, {wanted[1]}: column, at_most: 5 km}}"
        declared.note("DX164", message, advice, at=("nearest",))
        return False
    if getattr(nearest, wanted[0]) == getattr(nearest, wanted[1]):
        message = f": 'nearest' names two columns of the data, found {shown(getattr(nearest, wanted[0]))} twice"
        declared.note("DX164", message, "one column holds one coordinate", at=("nearest",))
        return False
    if nearest.at_most.unit not in METRES:
        message = f": the places are m or km apart, found {wrote(nearest.at_most)}"
        declared.note("DX164", message, "write 'at_most: 5 km'", at=("nearest", "at_most"))
        return False
    return True


def _nearest(
    syntax: PlacesSyntax, geometry: Literal["plane", "great circle"], coordinates: NDArray[np.float64]
) -> Nearest | None:
    stated = syntax.nearest
    if stated is None:
        return None
    unit = syntax.unit or "km"
    at_most = float(stated.at_most.amount * METRES[stated.at_most.unit] / METRES[unit])
    columns = (stated.longitude or stated.x or "", stated.latitude or stated.y or "")
    return Nearest(*columns, at_most, unit, geometry, coordinates)


def _coordinates(table: CsvTable, one: str, two: str, largest: tuple[Fraction, Fraction]) -> NDArray[np.float64]:
    columns = []
    for name, limit in zip((one, two), largest, strict=True):
        numbers = table.numbers(name)
        for number, line in zip(numbers, table.lines, strict=True):
            if abs(number) > limit:
                raise WrongContent(f"{table.file}, line {line}: {name} lies beyond ±{limit}")
        columns.append([float(number) for number in numbers])
    return np.array(columns, dtype=np.float64).T.copy()
