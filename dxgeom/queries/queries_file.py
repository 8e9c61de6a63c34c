"""Queries files: what to ask, in words, over the universe of a policy."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping as Map
from types import NoneType
from typing import Any, Final

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import QueryError
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.language import Language
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.strangers import is_policy, note_no_mapping
from dxgeom.policy.source.text import Folder, PolicyText
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, Sequence, read_tree
from dxgeom.policy.syntax.writing import text_of_data
from dxgeom.queries.columns import ColumnReader
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.one_file import rounding_of_each, taken_apart
from dxgeom.queries.syntax import QueriesSyntax
from dxgeom.queries.weights import AskedQueries
from dxgeom.queries.without_histogram.whole_tables import TablesReader
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.numbers.asked_ratio import AskedRatio
from dxgeom.universe.quantile_queries import AskedQuantiles, QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import MOST_WEIGHTS
from dxgeom.universe.weight_tables import over_universe
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.whole_tables import MarginalQueries

_MOST_RECORDS: Final = 2**53
_QUERIES: Final = Language("queries", "dx.queries_from_dict", "matrix", QueryError)
_MIXED: Final = "quantiles are drawn among values, the others get noise: a file asks for the ones or the others"
_BEGIN: Final = "begin with 'queries:' and list the queries below"


def load_queries(
    path: str | os.PathLike[str], policy: Policy, records: int | None = None
) -> LinearQueries | QuantileQueries | MarginalQueries:
    """Read a queries file for a policy's universe.

    Where there are too many record types to count each, or tables of too many cells to list each, it may ask for whole
    tables of counts, and nothing else.

    Args: ``records``: the public number of records, needed by ``mean`` unless the file states it.
    Raises: QueryError with every mistake in the file, each with its line, column and code.
    """
    return _queries_of(_QUERIES.read(path), policy, records)


def parse_queries(
    content: str,
    policy: Policy,
    records: int | None = None,
    *,
    file: str = "queries",
    folder: str | os.PathLike[str] | Folder | None = None,
) -> LinearQueries | QuantileQueries | MarginalQueries:
    """The queries of a text; matrix files are read from ``folder`` only, and without one not at all.

    Raises: QueryError.
    """
    return _queries_of(_QUERIES.given(content, file, folder), policy, records)


def queries_from_dict(
    data: Map[str, Any],
    policy: Policy,
    records: int | None = None,
    *,
    file: str = "queries",
    folder: str | os.PathLike[str] | Folder | None = None,
) -> LinearQueries | QuantileQueries | MarginalQueries:
    """The queries that Python data states: the mappings, lists, words and numbers that a queries file would hold.

    Numbers are exact as in :meth:`Policy.from_dict`. Matrix files are read from ``folder`` only, and without one not at
    all.

    Raises: QueryError with every mistake, each with the path to it, such as ``queries[0].count``.
    """
    return _queries_of(text_of_data(data, _QUERIES, file, folder), policy, records)


def tables_from_dict(data: Map[str, Any], policy: Policy, records: int | None = None) -> MarginalQueries:
    """The whole tables of counts that Python data ask for as a queries file does, however many record types there are.

    Raises: QueryError with every mistake, among them whatever is no whole table.
    """
    mistakes = Mistakes(text_of_data(data, _QUERIES, "queries", None))
    entries, agreed = _read_all(mistakes, policy.universe, records)
    found = TablesReader(policy.universe, mistakes, agreed).workload(entries)
    if found is None:
        raise QueryError(mistakes.found)
    return found


def _read_all(mistakes: Mistakes, universe: Universe, records: int | None) -> tuple[tuple[Node, ...], int | None]:
    """The entries of a text, and the number of records, where that is public."""
    root = read_tree(mistakes, _BEGIN)
    entries = _entries(root, mistakes) if root is not None else ()
    if universe.absent is None:
        return entries, _records(root, records, mistakes)
    _refuse_records(root, records, mistakes)
    return entries, records


def _queries_of(
    text: PolicyText, policy: Policy, records: int | None
) -> LinearQueries | QuantileQueries | MarginalQueries:
    require(policy, Policy, "policy", "load one with dx.load_policy; queries are about its universe")
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    universe = policy.universe
    mistakes = Mistakes(text)
    entries, records = _read_all(mistakes, universe, records)
    if not universe.indexable:
        tables = TablesReader(universe, mistakes, records).workload(entries)
        if tables is None:
            raise QueryError(mistakes.found)
        return tables
    reader = QueryReader(ColumnReader(universe, mistakes), records)
    asked = [(entry, one) for entry in entries if (one := reader.asked(entry)) is not None]
    _check_names(asked, mistakes)
    quantiles = [(entry, one) for entry, one in asked if isinstance(one, AskedQuantiles)]
    made = [(entry, one) for entry, one in asked if isinstance(one, AskedQueries)]
    if quantiles and made:
        mistakes.add("DX220", quantiles[0][0].span, _MIXED, "put the quantiles into a file of their own")
    cells = sum(len(table.queries) * table.cells for _, workload in made for table in workload.tables)
    if cells > MOST_WEIGHTS:
        message = f"the queries together have {cells:,} weights; at most {MOST_WEIGHTS:,} are kept"
        mistakes.add("DX207", entries[0].span, message, "ask fewer queries, or use coarser values in the policy")
    if mistakes:
        whole = _without_cells(entries, universe, records, mistakes)
        if whole is None:
            raise QueryError(mistakes.found)
        return whole
    if quantiles:
        return QuantileQueries(tuple(one for _, one in quantiles), universe, records, text)
    return _stacked(*taken_apart([workload for _, workload in made]), universe, records, text)


def _without_cells(
    entries: tuple[Node, ...], universe: Universe, records: int | None, mistakes: Mistakes
) -> MarginalQueries | None:
    """The same as whole tables, where all that is wrong is that these have too many cells to list each; a count for
    every value of one attribute alone is none, its noise is not found in closed form."""
    if {one.code for one in mistakes.found} != {"DX207"}:
        return None
    found = TablesReader(universe, Mistakes(mistakes.text), records).workload(entries)
    return found if found is not None and any(len(one) > 1 for one in found.asked) else None


def _stacked(
    workloads: list[AskedQueries],
    ratios: tuple[AskedRatio, ...],
    universe: Universe,
    records: int | None,
    text: PolicyText,
) -> LinearQueries:
    names = tuple(name for workload in workloads for name in workload.names)
    units = tuple(unit for workload in workloads for unit in workload.units)
    tables = over_universe(universe, [table for workload in workloads for table in workload.tables])
    importance = tuple(workload.importance for workload in workloads for _ in workload.names)
    alike = all(factor == 1 for factor in importance)
    return LinearQueries(
        names,
        tables,
        units,
        universe,
        records,
        None if alike else importance,
        tuple(workload.measure for workload in workloads for _ in workload.names),
        tuple(workload.error for workload in workloads for _ in workload.names),
        rounding_of_each(workloads),
        ratios,
        source=text,
        origins=tuple(origin for workload in workloads for origin in workload.origins),
    )


def _entries(root: Node, mistakes: Mistakes) -> tuple[Node, ...]:
    if not isinstance(root, Mapping):
        note_no_mapping(root, "queries", _BEGIN, mistakes)
        return ()
    if is_policy(root, mistakes):
        return ()
    for key, _ in root.entries:
        if key.text not in QueriesSyntax.model_fields:
            advice = did_you_mean(key.text, tuple(QueriesSyntax.model_fields))
            mistakes.add("DX105", key.span, f"the key {shown(key.text)} is not known here", advice)
    queries = root.entry("queries")
    if queries is None:
        mistakes.add("DX107", root.span, "the key 'queries' is missing", "list the queries below 'queries:'")
        return ()
    if not isinstance(queries[1], Sequence) or not queries[1].items:
        mistakes.add("DX108", queries[0].span, "'queries' is a list with at least one query")
        return ()
    return queries[1].items


def _records(root: Node | None, given: int | None, mistakes: Mistakes) -> int | None:
    """The number of records that the file and the caller agree on."""
    entry = root.entry("records") if isinstance(root, Mapping) else None
    span = entry[1].span if entry is not None else (root.span if root is not None else None)
    if span is not None and given is not None and not 0 < given <= _MOST_RECORDS:
        mistakes.add("DX205", span, f"the number of records is a positive whole number, given {given}")
        return None
    if entry is None:
        return given
    stated = _whole(entry[1])
    if stated is None:
        mistakes.add("DX205", entry[1].span, "'records' is a positive whole number", "write it without separators")
    elif given is not None and given != stated:
        mistakes.add("DX205", entry[1].span, f"the file says {stated:,} records, the caller says {given:,}")
    return stated


def _refuse_records(root: Node | None, given: int | None, mistakes: Mistakes) -> None:
    """Nobody may state the number of records: that a table is refused for another number would tell it."""
    entry = root.entry("records") if isinstance(root, Mapping) else None
    advice = "leave 'records' out; 'count: true' asks for it, with noise"
    if entry is not None:
        mistakes.add("DX215", entry[0].span, "the policy keeps the number of records private", advice)
    elif given is not None and root is not None:
        mistakes.add("DX215", root.span, f"the policy keeps the number of records private, given {given}", advice)


def _whole(node: Node) -> int | None:
    try:
        number = exact(node.text) if isinstance(node, Scalar) else None
    except NotANumber:
        return None
    if number is None or number.denominator != 1 or not 0 < number <= _MOST_RECORDS:
        return None
    return int(number)


def _check_names(asked: list[tuple[Node, AskedQueries | AskedQuantiles]], mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for entry, one in asked:
        names = _names_of(one)
        again = next((name for name, times in Counter(names).items() if times > 1 or name in seen), None)
        if again is not None:
            advice = "remove one of them, or give one a 'name'"
            mistakes.add("DX203", entry.span, f"there are two queries called {shown(again)}", advice)
        seen.update(names)


def _names_of(asked: AskedQueries | AskedQuantiles) -> tuple[str, ...]:
    """What is told under names of their own."""
    if isinstance(asked, AskedQuantiles):
        return asked.name, *(asked.called(level, ()) for level in asked.at if asked.several)
    return tuple(ratio.title for ratio in asked.ratios) or asked.names
