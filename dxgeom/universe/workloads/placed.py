"""Which queries ask about places that rows only lie near to."""

from __future__ import annotations

from collections.abc import Iterator

from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.reading.nearest import Nearest
from dxgeom.universe.universe import Universe


def nearest_of(universe: Universe | None) -> dict[str, Nearest]:
    """The attributes for which a row counts as at the nearest of the places, by name; how far that may be."""
    return {} if universe is None else dict(_nearest(universe))


def placed(queries: LinearQueries) -> tuple[tuple[str, ...], ...]:
    """(K,): for each query those of these attributes that it looks at.

    Its answer is about the places, whose numbers and names it uses, and not about where rows are: what is in between is
    nowhere bounded but by how far a row may be. Where records are listed, or may be absent, every query may look at
    all of them.
    """
    near = nearest_of(queries.universe)
    if queries.universe is None or not near:
        return ((),) * queries.count
    found: list[tuple[str, ...]] = [tuple(near)] * queries.count
    names = queries.universe.names
    if len(queries.tables.shape) == len(names):
        for table in queries.tables.tables:
            own = tuple(names[axis] for axis in table.axes if names[axis] in near)
            for query in table.queries:
                found[query] = own
    return tuple(found)


def _nearest(universe: Universe) -> Iterator[tuple[str, Nearest]]:
    for attribute in universe.attributes:
        places = attribute.present
        if isinstance(places, PointsAttribute) and isinstance(places.located, Nearest):
            yield attribute.name, places.located
