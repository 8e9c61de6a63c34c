"""Regions from a GeoJSON file: keys, areas, representative points, and what else is known about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from dxgeom.policy.source.data_files import WrongContent
from dxgeom.policy.source.geojson import Feature, Numeral
from dxgeom.policy.syntax.models import RegionsSyntax
from dxgeom.universe.columns import Column, NumberColumn, TextColumn
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.places import Located, PointsAttribute
from dxgeom.universe.polygons import MOST_COMPARED, Areas, areas_of
from dxgeom.universe.wording import did_you_mean, shown

_MAX_CELLS: Final = 20_000_000


def regions(name: str, syntax: RegionsSyntax, features: Sequence[Feature]) -> PointsAttribute:
    """The attribute of a file's regions, in the file's order; distances are between their representative points.

    Raises: WrongContent.
    """
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
