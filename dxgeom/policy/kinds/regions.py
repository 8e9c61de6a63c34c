"""``{regions: file.geojson, key: …}``, with ``longitude: …, latitude: …`` where tables hold coordinates: polygons."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, final

from pydantic import Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit, written_as
from dxgeom.policy.kinds.places import PlacesKind
from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.geojson import Feature, Numeral, read_geojson
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.places import Located, PointsAttribute
from dxgeom.universe.wording import did_you_mean, shown

if TYPE_CHECKING:
    from dxgeom.universe.polygons import Areas

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
