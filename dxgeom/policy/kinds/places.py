"""Attribute kinds of places: points, and regions with a shape."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from dxgeom.policy.axes import Axis, PlacesAxis
from dxgeom.policy.kinds.kind import METRES, AttributeKeys, AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.data_files import (
    CsvTable,
    Feature,
    Numeral,
    WrongContent,
    check_keys,
    column_of,
    read_csv,
    read_geojson,
)
from dxgeom.policy.source.fields import Length, LengthText
from dxgeom.policy.source.text import Folder
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.places import Located, PointsAttribute
from dxgeom.universe.reading.nearest import Nearest
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.universe.polygons import Areas


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

    def geometries(self, syntax: PlacesSyntax, attribute: PointsAttribute, folder: Folder | None) -> NDArray[Any]:
        from dxgeom.universe.polygons import points_at

        on_the_globe = attribute.geometry == "great circle"
        return points_at(attribute.coordinates[:, ::-1] if on_the_globe else attribute.coordinates)


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


_MAX_CELLS: Final = 20_000_000
_LONGITUDE = "The column of data tables with longitudes in degrees, when they tell where a row is."
_LATITUDE = "The column of data tables with latitudes in degrees."


@final
class RegionsSyntax(AttributeKeys):
    """``{regions: file.geojson, key: …}``, with ``longitude: …, latitude: …`` where tables hold coordinates."""

    model_config = written_as(
        "Regions", "the polygons of a GeoJSON file; distances are great circles between points inside them."
    )

    regions: Annotated[
        str, Field(description="The GeoJSON file beside the policy, in longitudes and latitudes (WGS 84).")
    ]
    key: Annotated[str, Field(description="The property that names the regions.")]
    longitude: Annotated[str | None, Field(description=_LONGITUDE)] = None
    latitude: Annotated[str | None, Field(description=_LATITUDE)] = None


@final
class RegionsKind(AttributeKind[RegionsSyntax, PointsAttribute]):
    """Areas on the globe, as far apart as places inside them; lengths are those of places."""

    key: ClassVar[str] = "regions"
    noun: ClassVar[str] = "regions"
    form: ClassVar[str] = "{regions, key} with longitude and latitude"
    example: ClassVar[str] = "write {regions: file.geojson, key: property}"
    syntax = RegionsSyntax
    makes = PointsAttribute

    def resolve(self, syntax: RegionsSyntax, declared: Declared) -> PointsAttribute | None:
        if (syntax.longitude is None) != (syntax.latitude is None) or (syntax.longitude or 0) == syntax.latitude:
            message = ": 'longitude' and 'latitude' name two columns of the data, or are both left out"
            declared.note("DX121", message, "with both, data tell where a row is; without, its region's key")
            return None
        file = syntax.regions
        return declared.read(
            "regions",
            file,
            lambda: _regions(declared.name, syntax, read_geojson(declared.folder, file)),
            form="GeoJSON",
        )

    def measured(self, attribute: PointsAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        return PlacesKind().measured(attribute, key, length)

    def geometries(self, syntax: RegionsSyntax, attribute: PointsAttribute, folder: Folder | None) -> NDArray[Any]:
        from dxgeom.universe.polygons import areas_of

        if isinstance(attribute.located, Located):
            return attribute.located.areas.shapes.copy()
        return areas_of([feature.polygons for feature in read_geojson(folder, syntax.regions)]).shapes


def _regions(name: str, syntax: RegionsSyntax, features: Sequence[Feature]) -> PointsAttribute:
    """The attribute of a file's regions, in the file's order; distances are between their representative points.

    Raises: WrongContent.
    """
    # Shapely is loaded only for policies that have regions.
    from dxgeom.universe.polygons import areas_of

    keys = _keys(syntax.key, features)
    further = _further(syntax, name, features)
    areas = areas_of([feature.polygons for feature in features])
    _check_areas(syntax.regions, areas, features, keys)
    located = None
    if syntax.longitude is not None and syntax.latitude is not None:
        located = Located(syntax.longitude, syntax.latitude, areas)
    # Longitude comes first in GeoJSON, latitude in coordinates of points.
    coordinates = areas.representatives()[:, ::-1].copy()
    return PointsAttribute(name, keys, "great circle", coordinates, "km", further, located)


def _keys(key: str, features: Sequence[Feature]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for feature in features:
        if key not in feature.properties:
            guess = did_you_mean(key, feature.properties)
            raise WrongContent(f"{feature.place} has no property {shown(key)}" + (f"; {guess}" if guess else ""))
        word = feature.properties[key]
        if not isinstance(word, str) or not word:
            raise WrongContent(f"{feature.place}: the key {shown(key)} is a word or a number that is not empty")
        if word in first:
            raise WrongContent(f"{feature.place}: the key {shown(word)} is already that of {first[word]}")
        first[str(word)] = feature.place.rpartition(", ")[2]
    return tuple(first)


def _further(syntax: RegionsSyntax, name: str, features: Sequence[Feature]) -> tuple[Column, ...]:
    """A column for each property, but for those that somewhere hold a list or an object."""
    names = dict.fromkeys(prop for feature in features for prop in feature.properties if prop != syntax.key)
    if len(names) * len(features) > _MAX_CELLS:
        raise WrongContent(f"{syntax.regions} has more than {_MAX_CELLS:,} properties; take out those nobody asks for")
    if name in names:
        raise WrongContent(f"{syntax.regions} has a property named like the attribute, {shown(name)}; rename one")
    columns = []
    for prop in names:
        values = [feature.properties.get(prop) for feature in features]
        if not any(isinstance(value, list | dict) for value in values):
            columns.append(_column(prop, values))
    return tuple(columns)


def _column(name: str, values: Sequence[Any]) -> Column:
    """Numbers if every region has one, else words; a missing value is the empty word."""
    if all(isinstance(value, Numeral) for value in values):
        try:
            return NumberColumn(name, tuple(exact(value) for value in values))
        except NotANumber:
            pass
    return TextColumn(name, tuple(_word(value) for value in values))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _check_areas(file: str, areas: Areas, features: Sequence[Feature], keys: Sequence[str]) -> None:
    from dxgeom.universe.polygons import MOST_COMPARED

    invalid = areas.first_invalid()
    if invalid is not None:
        place, reason = invalid
        raise WrongContent(f"{features[place].place} ({shown(keys[place])}): this is not an area: {reason}")
    try:
        overlap = areas.first_overlap()
    except OverflowError as error:
        raise WrongContent(
            f"{file}: its regions have too many corners near one another to compare ({MOST_COMPARED:,}); simplify them"
        ) from error
    if overlap is not None:
        one, other = (shown(keys[place]) for place in overlap)
        raise WrongContent(f"{file}: the regions {one} and {other} overlap; regions share borders at most")
