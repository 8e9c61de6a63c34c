"""What the queries of one list have to do with each other: names, ratios of two, and sums that another one counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import Final

from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import PolicyText
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.columns import EVERYBODY
from dxgeom.queries.entries import QueryReader
from dxgeom.queries.weights import AskedQueries, RatioWords
from dxgeom.universe.numbers.ratio_query import AskedRatio, AskedVariance
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.quantile_queries import AskedQuantiles, QuantileQueries
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_table import MOST_WEIGHTS, WeightTable
from dxgeom.universe.weight_tables import over_universe
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import AnswerOrigin

_MIXED: Final = "quantiles are drawn among values, the others get noise: a file asks for the ones or the others"
_MOST_COMPARED: Final = 1 << 24
"""Tables of more weights are not compared query by query with what else is asked."""


def queries_listed(
    entries: Sequence[Node], reader: QueryReader, source: PolicyText | None
) -> LinearQueries | QuantileQueries | None:
    """The queries of the entries of one list; None where a mistake was noted in the list, and for quantiles where
    possible records are too many to count each."""
    mistakes = reader.columns.mistakes
    before = len(mistakes.all)
    asked = [(entry, one) for entry in entries if (one := reader.read(entry)) is not None]
    _check_names(asked, mistakes)
    quantiles = [(entry, one) for entry, one in asked if isinstance(one, AskedQuantiles)]
    made = [(entry, one) for entry, one in asked if isinstance(one, AskedQueries)]
    if quantiles and made:
        mistakes.add("DX220", quantiles[0][0].span, _MIXED, "put the quantiles into a file of their own")
    cells = sum(len(table.queries) * table.cells for _, workload in made for table in workload.tables)
    if cells > MOST_WEIGHTS:
        message = f"the queries together have {cells:,} weights; at most {MOST_WEIGHTS:,} are kept"
        mistakes.add("DX207", entries[0].span, message, "ask fewer queries, or use coarser values in the policy")
    if len(mistakes.all) > before or mistakes.full or not asked:
        return None
    universe = reader.columns.universe
    if quantiles:
        if not universe.indexable:
            return None
        return QuantileQueries(tuple(one for _, one in quantiles), universe, reader.records, source)
    return stacked(*taken_apart([workload for _, workload in made]), universe, reader.records, source)


def stacked(
    workloads: list[AskedQueries],
    derived: tuple[AskedRatio | AskedVariance, ...],
    universe: Universe,
    records: int | None,
    source: PolicyText | None,
) -> LinearQueries:
    """The linear queries of several entries, one below the other."""
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
        tuple(one for one in derived if isinstance(one, AskedRatio)),
        source=source,
        origins=tuple(origin for workload in workloads for origin in workload.origins),
        variances=tuple(one for one in derived if isinstance(one, AskedVariance)),
    )


def _check_names(read: list[tuple[Node, AskedQueries | AskedQuantiles]], mistakes: Mistakes) -> None:
    seen: set[str] = set()
    for entry, one in read:
        names = _names_of(one)
        again = next((name for name, times in Counter(names).items() if times > 1 or name in seen), None)
        if again is not None:
            advice = "remove one of them, or give one a 'name'"
            mistakes.add("DX203", entry.span, f"there are two queries called {shown(again)}", advice)
        seen.update(names)
    _check_labels(read, mistakes)


def _check_labels(read: list[tuple[Node, AskedQueries | AskedQuantiles]], mistakes: Mistakes) -> None:
    """Readers see no name beside a label: what one query has instead of its name, no other is called."""
    seen: dict[str, bool] = {}
    for entry, one in read:
        about = _about(one)
        title = about.called(about.query)
        if title in seen and (about.label or seen[title]):
            message = f"readers would see two queries called {shown(title)}"
            mistakes.add("DX203", entry.span, message, "give one of them another 'label'")
        seen[title] = seen.get(title, False) or bool(about.label)


def _about(queries: AskedQueries | AskedQuantiles) -> AnswerOrigin:
    """What a query is called, and what readers see it called."""
    if isinstance(queries, AskedQuantiles):
        return AnswerOrigin(queries.name, label=queries.label)
    asks = queries.ratios[0].asks if queries.ratios else None
    return asks or (queries.origins[0] if queries.origins else AnswerOrigin(queries.names[0]))


def _names_of(queries: AskedQueries | AskedQuantiles) -> tuple[str, ...]:
    """What is told under names of their own."""
    if isinstance(queries, AskedQuantiles):
        return queries.name, *(queries.called(level, ()) for level in queries.at if queries.several)
    return tuple(ratio.title for ratio in queries.ratios) or queries.names


def taken_apart(
    workloads: list[AskedQueries],
) -> tuple[list[AskedQueries], tuple[AskedRatio | AskedVariance, ...]]:
    """Ratios taken apart into their queries, where these are not asked for otherwise; and where they are then."""
    if not any(workload.ratios for workload in workloads):
        return workloads, ()
    plain = [one for one in workloads if not one.ratios]
    asked = {meaning for one in plain for meaning in _meanings(one)}
    taken = {name for one in plain for name in one.names}
    kept: list[AskedQueries] = []
    wanted: list[list[list[tuple[Fraction, object, ValueRounding]]]] = []
    for workload in workloads:
        if not workload.ratios:
            kept.append(workload)
            continue
        halves = [(one, [*_meanings(one, whole=True)]) for one in workload.each_alone]
        wanted.append([meanings for _, meanings in halves])
        for one, meanings in halves:
            new = [place for place, meaning in enumerate(meanings) if meaning not in asked]
            if new:
                asked.update(meanings)
                kept.append(_with_other_names(one.only(new), taken, workload.ratios[0]))
                taken.update(kept[-1].names)
    places: dict[object, int] = {}
    for one, at in zip(kept, accumulate((len(one.names) for one in kept), initial=0), strict=False):
        for place, meaning in enumerate(_meanings(one, whole=not any(one is other for other in plain))):
            places.setdefault(meaning, at + place)
    derived = [
        _derived(words, [places[meaning] for meaning in meanings])
        for workload, parts in zip((one for one in workloads if one.ratios), wanted, strict=True)
        for words, *meanings in zip(workload.ratios, *parts, strict=True)
    ]
    return kept, tuple(derived)


def _derived(words: RatioWords, places: list[int]) -> AskedRatio | AskedVariance:
    """What is made of the queries at these places."""
    if words.half_width is None:
        return AskedRatio(words.title, places[0], places[1], words.within, words.asks)
    above, below, squares = places
    return AskedVariance(words.title, above, below, squares, words.within, words.half_width, words.asks)


def _with_other_names(queries: AskedQueries, taken: set[str], ratio: RatioWords) -> AskedQueries:
    """The same under names that nothing else has."""
    title = ratio.title if ratio.asks is None else ratio.asks.query
    return replace(queries, names=tuple(f"{title}: {name}" if name in taken else name for name in queries.names))


def rounding_of_each(workloads: list[AskedQueries]) -> tuple[ValueRounding, ...]:
    """What rounding of values does to each answer; a sum over some records is told which answer counts them, if any."""
    found = [rounding for workload in workloads for rounding in workload.each_rounding]
    if all(one == ValueRounding() and not one.stepped for one in found):
        return ()
    counts: dict[object, int] = {}
    at = 0
    for workload in workloads:
        if workload.rounding is None and len(workload.tables) == 1 and workload.units[0] == 1:
            for place, meant in enumerate(_who_counts(workload.tables[0])):
                counts.setdefault(meant, at + place)
        at += len(workload.names)
    at, (everybody,) = 0, _who_counts(EVERYBODY)
    for workload in workloads:
        if workload.counted is not None and workload.rounding is not None and workload.rounding.per_record:
            for place, meant in enumerate(_who_counts(workload.counted)):
                counting = counts.get(meant, counts.get(everybody))
                found[at + place] = replace(found[at + place], counted_by=counting)
        at += len(workload.names)
    return tuple(found)


def _who_counts(table: WeightTable, *, whole: bool = False) -> tuple[object, ...]:
    """For each query of a table, what it has in common with others that count the same records; nothing for a table of
    very many weights, unless that is ``whole``."""
    return table.meanings if whole or len(table.queries) * table.cells <= _MOST_COMPARED else ()


def _meanings(workload: AskedQueries, *, whole: bool = False) -> Iterator[tuple[Fraction, object, ValueRounding]]:
    """For each query of one table, what all have in common that ask the same.

    Numbers may be added up by the weights of a condition, such as the middles 0 and 1, and yet be rounded.
    """
    if len(workload.tables) == 1:
        who = _who_counts(workload.tables[0], whole=whole)
        yield from zip(workload.units, who, workload.each_rounding, strict=False)
