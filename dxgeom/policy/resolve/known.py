"""What a policy says everybody may know: its counts, read, held against each other, and never against data."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import PredicateError
from dxgeom.policy.source.data_files import CsvTable, read_csv, read_or_note
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.yaml_tree import Mapping, Scalar, node_at, place_in
from dxgeom.policy.syntax.known_syntax import MOST_COUNTED, KnownSyntax
from dxgeom.policy.syntax.models import HERE
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.universe.attributes import Attribute, NotAValue
from dxgeom.universe.conditions.stepped import stepped_columns
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.predicates import Always, parse_predicate
from dxgeom.universe.public_counts import (
    MOST_COMBINATIONS,
    NONE,
    Contradiction,
    KnownCounts,
    PublicCount,
    classes_of,
    combinations,
)
from dxgeom.universe.selections import evaluate
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

COUNT: Final = "count"
"""The column of a file that holds the numbers;"""
RECORDS: Final = "records"
"""and where an attribute of the totals is called like that."""
_MOST_NOTED: Final = 10
_ELSEWHERE: Final = "numbers come from a publication, never from the data"


def stated_counts(
    tree: SyntaxTree,
    attributes: AnyMapping[str, Attribute],
    names: AnyMapping[str, None] | None,
    presence: bool,
    listed: NDArray[np.int64] | None,
    mistakes: Mistakes,
) -> KnownCounts | None:
    """The counts that everybody may know; None where there are none, or a mistake was noted.

    Args: ``names``: all attributes that there are, None where nobody knows them; ``attributes``: those that are right.
    """
    stated, hold = tree.document.known, tree.document.hold
    if stated is None:
        if hold is not None:
            mistakes.add(
                "DX199", tree.key_span("hold"), "'hold' is about known counts, and there are none", HERE["known"]
            )
        return None
    before = len(mistakes.all)
    if not stated:
        mistakes.add("DX195", tree.key_span("known"), "'known' lists no count", HERE["known"])
    people = tree.document.people
    if people is not None and not isinstance(people, str) and people.count != "single":
        message = f"what known counts tell is worked out for people with one row each, and these count {people.count}"
        advice = "leave 'known' out, write 'count: single', or 'people: one row each'"
        mistakes.add("DX198", tree.key_span("known"), message, advice)
    whole = names is not None and set(names) == set(attributes) and not tree.broken
    universe = Universe(tuple(attributes.values()), presence=presence, listed=listed) if whole and attributes else None
    reader = _Reader(tree, universe, names, mistakes)
    whole_entries = [(place, entry) for place, entry in enumerate(stated) if not _was_cut(tree, place, entry)]
    counts = [one for place, entry in whole_entries if (one := reader.count(place, entry)) is not None]
    if len(mistakes.all) > before or universe is None or len(counts) < len(stated):
        return None
    if combinations(universe, counts) > MOST_COMBINATIONS:
        message = f"these counts tell apart more than {MOST_COMBINATIONS:,} combinations of values"
        mistakes.add("DX196", tree.key_span("known"), message, "list totals of fewer attributes")
        return None
    try:
        classes = classes_of(universe, counts)
    except Contradiction as error:
        mistakes.add(
            "DX197",
            tree.key_span("known"),
            f"these numbers contradict each other: {error}",
            f"correct one, or leave it out; {_ELSEWHERE}",
        )
        return None
    if hold is not None and not classes.partition:
        message = "'hold' needs counts of one partition, and these counts cross: nothing bounds what is to be held"
        mistakes.add("DX199", tree.key_span("hold"), message, "leave 'hold' out, or list nested counts only")
        return None
    lines = tuple(mistakes.text.position(tree.span("known", place).start)[0] for place in range(len(stated)))
    return KnownCounts(tuple(counts), classes, lines, hold)


def _was_cut(tree: SyntaxTree, place: int, entry: KnownSyntax) -> bool:
    """Whether an entry was not well-formed, which has been complained about."""
    node = node_at(tree.root, ("known", place))
    return not entry.model_fields_set and not (isinstance(node, Mapping) and not node.entries)


@final
@dataclass(frozen=True)
class _Reader:
    tree: SyntaxTree
    universe: Universe | None
    names: AnyMapping[str, None] | None
    mistakes: Mistakes

    def count(self, place: int, entry: KnownSyntax) -> PublicCount | None:
        keys = entry.model_fields_set
        if keys in ({"totals"}, {"totals", "numbers"}):
            return self._totals(place, entry, entry.totals or ())
        if keys == {"where", "count"}:
            return self._where(place, entry.count or 0)
        message = "a known count has 'totals', perhaps with 'numbers', or 'where' and 'count'"
        self._note("DX195", place, (), f"{message}, found {', '.join(sorted(keys)) or 'nothing'}", HERE["known"])
        return None

    def _note(self, code: str, place: int, below: tuple[str | int, ...], message: str, advice: str = "") -> None:
        self.mistakes.add(code, self.tree.span("known", place, *below), message, advice)

    def _totals(self, place: int, entry: KnownSyntax, names: tuple[str, ...]) -> PublicCount | None:
        before = len(self.mistakes.all)
        for name in names:
            if self.names is not None and name not in self.names:
                message = f"there is no attribute {shown(name)}"
                self._note("DX196", place, ("totals",), message, did_you_mean(name, self.names))
        if len(set(names)) < len(names):
            self._note("DX196", place, ("totals",), "this list names an attribute twice", "name each once")
        table = None
        if entry.numbers is not None:
            span = self.tree.span("known", place, "numbers")
            file = entry.numbers
            what = f"the file of numbers {shown(file)}"
            table = read_or_note(lambda: read_csv(self.mistakes.text.folder, file), self.mistakes, span, what)
        if len(self.mistakes.all) > before or self.universe is None:
            return None
        chosen = [self.universe.attribute(name) for name in names]
        sets = int(np.prod([one.size for one in chosen], dtype=object))
        if sets > MOST_COMBINATIONS:
            message = f"{sets:,} combinations are counted; at most {MOST_COMBINATIONS:,} are handled"
            self._note("DX196", place, ("totals",), message, "list totals of fewer attributes")
            return None
        axes, cells = _cells(self.universe, names)
        numbers = None if table is None else self._numbers(place, table, chosen, cells)
        if table is not None and numbers is None:
            return None
        listed = (
            f"each {names[0]}" if len(names) == 1 else f"each combination of {', '.join(names[:-1])} and {names[-1]}"
        )
        return PublicCount(f"how many records {listed} has", names, axes, cells, sets, numbers)

    def _where(self, place: int, count: int) -> PublicCount | None:
        node = node_at(self.tree.root, ("known", place, "where"))
        if self.universe is None or not isinstance(node, Scalar):
            return None
        try:
            predicate = parse_predicate(node.text)
            chosen = evaluate(predicate, self.universe)
        except PredicateError as error:
            span = place_in(node, error.offset, self.mistakes.text.content)
            self.mistakes.add("DX202", span, error.message, error.advice)
            return None
        cut = stepped_columns(predicate, self.universe)
        if cut:
            named = ", ".join(map(shown, cut))
            message = f"this condition cuts values of {named} that stand for others beside themselves"
            advice = "what is counted are whole values: compare by '<' or '>=' with values that the policy has"
            self._note("DX202", place, ("where",), message, advice)
            return None
        if not chosen.mask.any():
            self._note("DX202", place, ("where",), "no possible record satisfies this condition", "leave it out")
            return None
        if chosen.mask.size > MOST_COMBINATIONS:
            message = f"this condition tells apart more than {MOST_COMBINATIONS:,} combinations of values"
            self._note("DX196", place, ("where",), message, "look at fewer attributes")
            return None
        everybody = isinstance(predicate, Always)
        words = "how many records there are" if everybody else f"how many records have {' '.join(node.text.split())}"
        cells = np.where(chosen.mask, 0, NONE).astype(np.int64)
        return PublicCount(words, (), chosen.axes, cells, 1, (count,))

    def _numbers(
        self, place: int, table: CsvTable, chosen: list[Attribute], cells: NDArray[np.int64]
    ) -> tuple[int, ...] | None:
        """The number of each combination, from the file; None with mistakes noted."""
        numbered = RECORDS if any(one.name == COUNT for one in chosen) else COUNT
        lacking = [name for name in (*(one.name for one in chosen), numbered) if name not in table.header]
        if lacking:
            message = f"{table.file} has no column {', '.join(map(shown, lacking))}; it has {', '.join(table.header)}"
            advice = f"write the line {shown(','.join([*(one.name for one in chosen), numbered]))} above its numbers"
            self._note("DX197", place, ("numbers",), message, advice)
            return None
        found: dict[int, int] = {}
        wrong = [*self._rows(table, chosen, numbered, found)]
        needed = np.unique(cells).tolist()
        lost = [one for one in needed if one not in found]
        if lost and not wrong:
            codes = np.unravel_index(lost[0], [one.size for one in chosen])
            words = ", ".join(f"{one.name} {one.labels[int(code)]}" for one, code in zip(chosen, codes, strict=True))
            more = f", and {len(lost) - 1:,} more" if len(lost) > 1 else ""
            wrong.append(f"{table.file} has no number of {words}{more}")
        advice = f"correct the file: a row for each combination, with 0 where there is none; {_ELSEWHERE}"
        for message in wrong[:_MOST_NOTED]:
            self._note("DX197", place, ("numbers",), message, advice)
        if wrong:
            return None
        return tuple(found.get(one, 0) for one in range(int(np.prod([one.size for one in chosen]))))

    def _rows(self, table: CsvTable, chosen: list[Attribute], numbered: str, found: dict[int, int]) -> Iterator[str]:
        """What is wrong in the file's rows; the others are put down."""
        columns = [table.column(one.name) for one in chosen]
        for row, (number, line) in enumerate(zip(table.column(numbered), table.lines, strict=True)):
            where, at = table.at(line), 0
            try:
                for attribute, column in zip(chosen, columns, strict=True):
                    at = at * attribute.size + attribute.code_of(column[row].strip())
                count = exact(number.strip())
            except NotAValue as error:
                yield f"{where}: {error}"
                continue
            except NotANumber as error:
                yield f"{where}: {numbered} is {shown(number)}: {error}"
                continue
            if not 0 <= count <= MOST_COUNTED or count.denominator != 1:
                yield f"{where}: {numbered} is {shown(number)}, and a number of records is whole, 0 to 10^15"
            elif at in found:
                yield f"{where}: this combination has a number already"
            else:
                found[at] = int(count)


def _cells(universe: Universe, names: tuple[str, ...]) -> tuple[tuple[int, ...], NDArray[np.int64]]:
    """The number of the combination of these attributes' codes, over the axes of the layout; the last name's code runs
    fastest."""
    places = [universe.names.index(name) for name in names]
    sizes = [universe.attributes[place].size for place in places]
    if universe.listed is not None:
        codes = [universe.listed_codes[place] for place in places]
        return (0,), np.asarray(np.ravel_multi_index(codes, sizes), dtype=np.int64)
    numbers = np.arange(int(np.prod(sizes)), dtype=np.int64).reshape(sizes)
    return tuple(sorted(places)), np.ascontiguousarray(numbers.transpose(np.argsort(places)))
