"""The queries of a plan file: read anew as a queries file says them, or weight by weight where Python made them."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np

from dxgeom.errors import DxgeomError, TooLarge, UnsupportedCombination
from dxgeom.plan_files.document import OriginPart, QueriesPart, TablePart, WeightsPart
from dxgeom.plan_files.sources import require_all_read
from dxgeom.plan_files.text.exact_text import figure_of, rationals_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.text import PolicyText
from dxgeom.policy.source.yaml_tree import files, folder_with, written
from dxgeom.queries.queries_file import Asked, queries_from_dict, tables_from_dict
from dxgeom.universe.numbers.ratio_query import AskedRatio
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import LARGEST_NUMERATOR, WeightTable, on_shared_classes, with_axes
from dxgeom.universe.weight_tables import WeightTables, tables_of_matrix
from dxgeom.universe.workloads.groups import AnswerOrigin
from dxgeom.universe.workloads.whole_tables import MarginalQueries

Asking = TypeVar("Asking", bound=Asked)
MOST_NUMBERS: Final = 1_000_000
"""Queries that were made in Python are written up to so many weights and classes, about ten megabytes."""
_WRITTEN: Final = {*WeightsPart.model_fields, "weights", "universe", "records", "source"}
"""The fields of queries that a file holds, or has no need to."""


def queries_data(queries: LinearQueries, policy: Policy) -> dict[str, Any]:
    """The queries as a file holds them: as they were written, where that is known and means the same.

    Raises: TooLarge for weights beyond a million.
    """
    common = {"records": queries.records, "fingerprint": queries.fingerprint}
    text = queries.source
    if isinstance(text, PolicyText):
        said = {"written": written(text), "files": files(text), "weights": None, **common}
        if _reads_the_same(said, queries, policy):
            return said
    return {"written": None, "files": {}, "weights": weights_data(queries), **common}


def written_queries(queries: Any, records: int | None, what: str) -> dict[str, Any]:
    """What is asked as a file holds it, with the public number of records that it is planned for; ``what`` it is.

    Raises: UnsupportedCombination for such as were made by hand.
    """
    text = queries.source
    if not isinstance(text, PolicyText):
        raise UnsupportedCombination(f"a plan file holds {what} that were read: load or parse them")
    said = {"written": written(text), "files": files(text), "weights": None}
    return {**said, "records": records, "fingerprint": queries.fingerprint}


def read_as(kind: type[Asking], part: QueriesPart, policy: Policy, what: str, otherwise: str) -> Asking:
    """What a file asks, of one kind; ``what`` it is, and what is wrong ``otherwise``. Raises: Wrong."""
    if part.written is None or part.weights is not None:
        raise Wrong("DX302", "queries", f"{what} are written in words")
    found = _of_kind(kind, part, policy, otherwise)
    _require_same(found.fingerprint, part, what.split()[-1])
    return found


def table_queries_of(part: QueriesPart, policy: Policy) -> MarginalQueries:
    """The whole tables of counts that a file asks for. Raises: Wrong."""
    if part.written is None or part.weights is not None or part.files:
        raise Wrong("DX302", "queries", "whole tables are asked for in words")
    with refused_as("DX304", "queries.written"):
        queries = tables_from_dict(part.written, policy, part.records)
    _require_same(queries.fingerprint, part, "queries")
    return queries


def _require_same(found: str, part: QueriesPart, what: str) -> None:
    if found != part.fingerprint:
        raise Wrong("DX304", "queries.fingerprint", f"these {what}' fingerprint is {found}")


def _read(part: QueriesPart, policy: Policy) -> Asked:
    folder = folder_with(part.files)
    with refused_as("DX304", "queries.written"):
        queries = queries_from_dict(part.written or {}, policy, part.records, folder=folder)
    require_all_read(folder, "queries.files", "DX304")
    return queries


def _of_kind(kind: type[Asking], part: QueriesPart, policy: Policy, otherwise: str) -> Asking:
    found = _read(part, policy)
    if not isinstance(found, kind):
        raise Wrong("DX304", "queries.written", otherwise)
    return found


def _reads_the_same(document: dict[str, Any], queries: LinearQueries, policy: Policy) -> bool:
    try:
        again = queries_from_dict(document["written"], policy, queries.records, folder=folder_with(document["files"]))
    except DxgeomError:
        return False
    return again.fingerprint == queries.fingerprint


def queries_of(part: QueriesPart, policy: Policy) -> LinearQueries:
    """The queries that a file holds.

    Raises: Wrong.
    """
    if (part.written is None) == (part.weights is None) or (part.files and part.written is None):
        raise Wrong("DX302", "queries", "queries are written in words, with the files they name, or as weights")
    if part.weights is not None:
        queries = weighed(part.weights, policy.universe, part.records, "queries.weights")
    else:
        other = "these ask for quantiles, the plan is of counts and sums"
        queries = _of_kind(LinearQueries, part, policy, other)
    if queries.fingerprint != part.fingerprint or queries.records != part.records:
        raise Wrong("DX304", "queries.fingerprint", f"these queries' fingerprint is {queries.fingerprint}")
    return queries


def weights_data(queries: LinearQueries) -> dict[str, Any]:
    """Names, units and weights, exactly.

    Raises: TooLarge.
    """
    unknown = [name for name, value in _defaults().items() if name not in _WRITTEN and getattr(queries, name) != value]
    if unknown:
        raise UnsupportedCombination(
            f"a plan file cannot hold the {unknown[0]} of queries made in Python: write them as a queries file"
        )
    tables = queries.tables
    weights = sum(len(one.queries) * one.cells for one in tables.tables if one.counted is None)
    entries = weights + sum(len(own) for one in tables.tables for own in one.classes)
    whole = (queries.count + 1) * queries.size
    if tables.absent and whole <= MOST_NUMBERS:  # as they always were written: the weights of all records
        entries, tables = whole, tables_of_matrix(tables.matrix())
    if entries + queries.count > MOST_NUMBERS:
        raise TooLarge(
            f"these queries have {entries:,} weights, a plan file holds {MOST_NUMBERS:,}: write them as a queries file "
            "(dx.load_queries), which is kept as it is, or release from the plan itself"
        )
    return {
        "names": list(queries.names),
        "units": [*map(str, queries.units)],
        "shape": list(tables.shape),
        "tables": [
            {
                "queries": one.queries.tolist(),
                "axes": list(one.axes),
                "classes": [own.tolist() for own in one.classes],
                "weights": None if one.counted is not None else one.weights.ravel().tolist(),
                "counted": None if one.counted is None else one.counted.tolist(),
            }
            for one in tables.tables
        ],
        "importance": None if queries.importance is None else [*map(str, queries.importance)],
        "measures": list(queries.measures),
        "errors": [None if error is None else str(error) for error in queries.errors],
        "rounding": [*map(_rounded, queries.rounding)],
        "ratios": [
            {**vars(one), "within": [*map(str, one.within)], "asks": None if one.asks is None else _origin(one.asks)}
            for one in queries.ratios
        ],
        "origins": [*map(_origin, queries.origins)],
        "of_universe": queries.universe is not None,
    }


def _rounded(one: ValueRounding) -> dict[str, Any]:
    stepped = {"stepped": [*one.stepped]} if one.stepped else {}
    return {
        "per_record": str(one.per_record),
        "counted_by": one.counted_by,
        "clamped": [*one.clamped],
        **stepped,
    }


def _origin(origin: AnswerOrigin) -> dict[str, Any]:
    return {"query": origin.query, "group": [*map(list, origin.group)]}


def _defaults() -> dict[str, Any]:
    """What every field of queries is when it is left out."""
    return {one.name: one.default for one in fields(LinearQueries)}


def weighed(part: WeightsPart, universe: Universe, records: int | None, place: str) -> LinearQueries:
    """The queries with these weights.

    Raises: Wrong.
    """
    units = rationals_of(part.units, f"{place}.units")
    importance = None if part.importance is None else rationals_of(part.importance, f"{place}.importance")
    wanted = tuple(
        None if error is None else figure_of(error, f"{place}.errors[{number}]")
        for number, error in enumerate(part.errors)
    )
    if any(error is not None and error <= 0 for error in wanted):
        raise Wrong("DX304", f"{place}.errors", "an error that is asked for is positive")
    shape, known = tuple(part.shape), universe if part.of_universe else None
    absent = universe.presence and shape == universe.layout
    if not shape or math.prod(shape) + absent != universe.size or not part.tables:
        raise Wrong("DX304", f"{place}.shape", f"queries are about the policy's {universe.size:,} possible records")
    tables = tuple(_table(one, shape, f"{place}.tables[{number}]") for number, one in enumerate(part.tables))
    every = sorted(query for one in part.tables for query in one.queries)
    if every != list(range(len(part.names))):
        raise Wrong("DX304", f"{place}.tables", "every query stands in exactly one table")
    if part.origins and len(part.origins) != len(part.names):
        raise Wrong("DX304", f"{place}.origins", "every answer is about something, or none says what")
    with refused_as("DX304", place):
        weights = WeightTables(shape, tables, absent)
        queries = LinearQueries(
            tuple(part.names),
            weights,
            units,
            known,
            records,
            importance,
            tuple(part.measures),
            wanted,
            _rounding(part, place),
            _ratios(part, place),
            origins=tuple(
                _about(one, name, f"{place}.origins[{number}]")
                for number, (one, name) in enumerate(zip(part.origins, part.names, strict=False))
            ),
        )
        for number, ratio in enumerate(queries.ratios):
            _require_range(queries, ratio, f"{place}.ratios[{number}].within")
    return queries


def _rounding(part: WeightsPart, place: str) -> tuple[ValueRounding, ...]:
    found = []
    for number, one in enumerate(part.rounding):
        here = f"{place}.rounding[{number}]"
        if one.counted_by is not None and one.counted_by >= len(part.names):
            raise Wrong("DX304", here, "records are counted by one of the queries")
        per_record = figure_of(one.per_record, here)
        if per_record < 0:
            raise Wrong("DX304", here, "rounding moves an answer by no less than 0")
        found.append(ValueRounding(per_record, one.counted_by, tuple(one.clamped), tuple(one.stepped)))
    return tuple(found)


def _ratios(part: WeightsPart, place: str) -> tuple[AskedRatio, ...]:
    found = []
    for number, one in enumerate(part.ratios):
        here = f"{place}.ratios[{number}]"
        low, high = (figure_of(end, here) for end in one.within)
        if max(one.numerator, one.denominator) >= len(part.names) or low > high:
            raise Wrong("DX304", here, "a ratio is of two of the queries, within an interval")
        asks = None if one.asks is None else _about(one.asks, one.name, f"{here}.asks")
        found.append(AskedRatio(one.name, one.numerator, one.denominator, (low, high), asks))
    return tuple(found)


def _require_range(queries: LinearQueries, ratio: AskedRatio, place: str) -> None:
    """That all records have such a ratio, and so all sums of them, but for what rounding moves: intervals end there.

    Raises: Wrong; TooLarge.
    """
    above, below = ratio.numerator, ratio.denominator
    kept = sorted({above, below})
    tables = on_shared_classes(queries.tables.only(kept).tables)
    axes = sorted({axis for table in tables for axis in table.axes})
    rows = {
        kept[query]: row
        for table in tables
        for query, row in zip(table.queries.tolist(), with_axes(table.weights, table.axes, axes), strict=True)
    }
    tops, bottoms = (one.ravel() for one in np.broadcast_arrays(rows[above], rows[below]))
    (low, high), moved = ratio.within, queries.each_rounding[above].per_record
    for counted in np.unique(bottoms).tolist():
        own, bottom = tops[bottoms == counted], counted * queries.units[below]
        least, most = (int(end) * queries.units[above] for end in (own.min(), own.max()))
        slack = moved if bottom else 0
        if bottom < 0 or not low * bottom - slack <= least <= most <= high * bottom + slack:
            raise Wrong("DX304", place, f"some records have another '{ratio.name}'")


def _about(part: OriginPart, name: str, place: str) -> AnswerOrigin:
    """What an answer is about, which its name says, too: that is in the fingerprint, and this is not."""
    origin = AnswerOrigin(part.query, tuple(part.group))
    if not origin.explains(name):
        raise Wrong("DX304", place, f"'{name}' is not about {', '.join((part.query, *map('='.join, part.group)))}")
    return origin


def _table(part: TablePart, shape: tuple[int, ...], place: str) -> WeightTable:
    rising = part.axes == sorted(set(part.axes)) and all(axis < len(shape) for axis in part.axes)
    if not (part.queries and rising and len(part.classes) == len(part.axes)):
        raise Wrong("DX304", place, "a table has queries, and the classes of each attribute that it looks at")
    for axis, classes in zip(part.axes, part.classes, strict=True):
        if len(classes) != shape[axis] or sorted(set(classes)) != list(range(max(classes, default=-1) + 1)):
            raise Wrong("DX304", f"{place}.classes", "each value has a class, and no class is left out")
    counts = [max(classes) + 1 for classes in part.classes]
    cells, queries = math.prod(counts), len(part.queries)
    if (part.weights is None) == (part.counted is None):
        raise Wrong("DX304", place, "a table has weights, or the cells that its queries count")
    own = (np.array(part.queries), tuple(part.axes), tuple(np.array(classes) for classes in part.classes))
    if part.counted is not None:
        if len(part.counted) != queries or max(part.counted) >= cells:
            raise Wrong("DX304", f"{place}.counted", f"each query counts one of {cells:,} cells")
        return WeightTable(*own, None, np.array(part.counted))
    weights = part.weights or []
    if len(weights) != queries * cells or any(abs(weight) >= LARGEST_NUMERATOR for weight in weights):
        raise Wrong("DX304", f"{place}.weights", f"each query has {cells:,} weights below 2**52")
    return WeightTable(*own, np.array(weights, dtype=np.int64).reshape(queries, *counts))
