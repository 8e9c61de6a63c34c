"""Rows, or people and their shares, as a server counts them in tables: which values they have, how much they count."""

from __future__ import annotations

from typing import Any, Final

from dxgeom.engines.marginals.codes_there import CodesThere, taken_from
from dxgeom.engines.people import KEPT, MARKS, PERSON, CountedPeople, keys_of_people, marked_rows
from dxgeom.engines.reading import RecordReader
from dxgeom.engines.tables.later import ibis
from dxgeom.universe.people.people import SHARES
from dxgeom.universe.people.shares import ComponentKeys

WEIGHED: Final = ("inside", "weight", "rows", "present", "left_out", *MARKS)
"""Beside a0, a1, …, the code of each attribute: whether a row is ``inside`` the universe; what ``weight`` it adds to
cells; how many ``rows`` it stands for; how many records or people are ``present`` or ``left_out`` by it; and what is
wrong with it."""


def rows_as_they_count(reader: RecordReader, people: CountedPeople | None, codes: CodesThere) -> ibis.Table:
    """Every row once; of people whose rows count, or who have a single one, those count that do, and others are there
    for their flaws alone."""
    if people is None:
        keyed = reader.source.rows.select(**codes.grouping.keys)
        keyed = keyed.mutate(**{KEPT: True, **dict.fromkeys(MARKS, False)})
    else:
        keyed = marked_rows(reader, people)
    coded = keyed.select(**codes.of(keyed), **{name: keyed[name] for name in (KEPT, *MARKS)})
    inside, one = coded[KEPT] & (coded.worst >= 0), coded[KEPT].cast("int64")
    present = inside.cast("int64")
    counted = {"weight": one, "rows": one, "present": present, "left_out": one - present}
    return coded.mutate(inside=inside, **counted).select(*_codes(codes), *WEIGHED)


def people_in_shares(
    reader: RecordReader, people: CountedPeople, codes: CodesThere, component_keys: ComponentKeys
) -> ibis.Table:
    """Groups of equal rows of a person, each with its part of the shares.

    Guarantee: *exactly* the shares of :func:`dxgeom.engines.marginals.tables_of_people.tallied_in_shares`: quotients,
    below 2³⁰, are of numbers that the divisor divides, so that those of float64 are within 1/2 of them.
    """
    keyed = reader.source.rows.select(**codes.grouping.keys, **{PERSON: keys_of_people(reader, people)[PERSON]})
    coded = keyed.select(**codes.of(keyed), **{PERSON: keyed[PERSON]})
    inside = coded.worst >= 0
    there = {name: ibis.ifelse(inside, coded[name], 0) for name in _codes(codes)}
    rows = coded.select(**there, inside=inside, **{PERSON: coded[PERSON]})
    groups = rows.group_by(rows.columns).agg(rows=ibis._.count())
    kept = ibis.literal(True) if reader.universe.absent is not None else groups.inside
    groups = groups.mutate(kept=kept).mutate(counted=lambda group: group.kept.ifelse(group.rows, 0))
    order = [groups.kept.desc(), *_components(groups, component_keys), groups.inside.desc()]
    here = ibis.window(group_by=PERSON, order_by=[*order, *(groups[name] for name in _codes(codes))])
    placed = groups.mutate(
        upto=groups.counted.sum().over(here),
        all=ibis.greatest(groups.counted.sum().over(ibis.window(group_by=PERSON)), 1),
        first=(ibis.row_number().over(here) == 0).cast("int64"),
    )
    shares = _reached(placed.upto, placed.all) - _reached(placed.upto - placed.counted, placed.all)
    return placed.select(
        *_codes(codes), "rows", "inside", weight=shares,
        present=placed.kept.ifelse(placed["first"], 0), left_out=placed.kept.ifelse(0, placed["first"]),
        **{MARKS[0]: placed[PERSON].isnull()}, **dict.fromkeys(MARKS[1:], ibis.literal(False)),
    ).select(*_codes(codes), *WEIGHED)  # fmt: skip


def _codes(codes: CodesThere) -> list[str]:
    return [f"a{axis}" for axis in range(len(codes.grouping.universe.attributes))]


def _components(groups: ibis.Table, component_keys: ComponentKeys) -> list[Any]:
    return [taken_from(component.tolist(), groups[f"a{axis}"]) for axis, component in component_keys]


def _reached(rows: Any, everything: Any) -> Any:
    """⌊rows·SHARES/everything⌋."""
    spread = rows * SHARES
    return ((spread - spread % everything) / everything).round().cast("int64")
