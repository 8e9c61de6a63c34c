"""Counts of records that everybody may know, and the classes of records that they amount to.

Whoever knows the counts knows how many records each class has, where these can be worked out one after another: then
the counts are a partition. Otherwise they cross. Nothing here is ever compared with data.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.arrays import distinct_rows
from dxgeom.universe.universe import Universe

MOST_COMBINATIONS: Final = 1 << 18
"""Counts tell apart at most so many combinations of values."""
_MOST_COMPARED: Final = 256
"""Sets of several counts are held against sums of each other up to so many."""
NONE: Final = -1
"""The number of the set that a record is in, where no count is about it; the class of records that do not exist."""
_Integers: TypeAlias = NDArray[np.int64]


@final
class Contradiction(Exception):
    """Numbers that no table has; the text says which. Callers turn it into their error."""


@final
@dataclass(frozen=True, eq=False)
class PublicCount:
    """How many records there are in each of some disjoint sets.

    ``words``: which counts, as in "how many records each region has"; ``apart``: the attributes whose totals they are.
    ``axes``: those of the layout of records that the sets depend on, increasing; ``cells``: over these, the number of
    the set of each combination, :data:`NONE` for no set. ``numbers``: the count of each set, where it is stated.
    """

    words: str
    apart: tuple[str, ...]
    axes: tuple[int, ...]
    cells: _Integers = field(repr=False)
    sets: int
    numbers: tuple[int, ...] | None = field(default=None, repr=False)

    def counted(self, universe: Universe, counts: _Integers) -> list[int]:
        """How many records each set has by a histogram. **Not private**: for the eyes of whoever holds the data."""
        shape = [universe.layout[axis] if axis in self.axes else 1 for axis in range(len(universe.layout))]
        sets = np.broadcast_to(self.cells.reshape(shape), universe.layout).ravel()
        found, there = [0] * self.sets, np.flatnonzero(counts[: universe.record_types])
        for own, count in zip(sets[there].tolist(), counts[there].tolist(), strict=True):
            if own != NONE:
                found[own] += count
        return found

    def name_of(self, universe: Universe, number: int) -> str:
        """What a set is of: the values of the attributes whose totals they are, in words."""
        attributes = [universe.attribute(name) for name in self.apart]
        codes = np.unravel_index(number, [one.size for one in attributes]) if attributes else ()
        each = zip(attributes, codes, strict=True)
        return ", ".join(f"{one.name} {one.labels[int(code)]}" for one, code in each) or self.words

    @property
    def digest(self) -> list[Any]:
        """What it means, ready for JSON."""
        cells = hashlib.sha256(np.ascontiguousarray(self.cells, dtype="<i8").tobytes()).hexdigest()
        return [list(self.axes), list(self.cells.shape), cells, None if self.numbers is None else list(self.numbers)]


@final
@dataclass(frozen=True, eq=False)
class KnownClasses:
    """Classes of records: those of one class are counted together in every count.

    ``axes``: those of the layout that classes depend on; ``labels``: over these, the class of each combination,
    :data:`NONE` where the numbers say that there is no such record. ``absent``: the class of the absent record, None
    where there is none. ``partition``: whether whoever knows the counts knows that of every class. ``totals``: the
    number of records of each class, None where the policy's numbers do not tell it. ``records``: their number in all.
    """

    axes: tuple[int, ...]
    labels: _Integers = field(repr=False)
    count: int
    absent: int | None
    partition: bool
    totals: tuple[int | None, ...] = field(repr=False)
    records: int | None

    @property
    def most_people(self) -> int:
        """How many people can move at most, each in another class: as many as there are classes, or records."""
        return self.count if self.records is None else min(self.count, self.records)

    def of_elements(self, universe: Universe) -> _Integers:
        """(size,): the class of each of few elements."""
        shape = [universe.layout[axis] if axis in self.axes else 1 for axis in range(len(universe.layout))]
        found = universe.laid_out(self.labels.reshape(shape))
        if universe.absent is not None and self.absent is not None:
            found[universe.absent] = self.absent
        return found


@final
@dataclass(frozen=True, eq=False)
class KnownCounts:
    """The counts that a policy says everybody may know, and their classes.

    ``lines``: where each stands in the policy's file. ``hold``: for whom of those who know them the policy's distances
    are held: who is unsure of one person and one more, "2", or of "all", and judges people separately; None for nobody.
    """

    counts: tuple[PublicCount, ...]
    classes: KnownClasses
    lines: tuple[int, ...]
    hold: str | None = None

    @property
    def held_people(self) -> int:
        """The noise hides rings of up to so many people; 0 where none are held."""
        if self.hold is None:
            return 0
        return min(2, self.classes.most_people) if self.hold == "2" else self.classes.most_people

    @property
    def digest(self) -> list[str]:
        """What they mean, whatever their order."""
        return sorted({json.dumps(one.digest) for one in self.counts})


@final
@dataclass(frozen=True, eq=False)
class _System:
    """Which sets each class is in, (classes, counts): the set's number, :data:`NONE` for none."""

    counts: tuple[PublicCount, ...]
    signatures: _Integers
    present: NDArray[np.bool_]  # of each class: whether it has possible records beside the absent one

    @property
    def offsets(self) -> list[int]:
        return [0, *np.cumsum([one.sets for one in self.counts]).tolist()]

    def sets(self, with_numbers: bool) -> Iterator[tuple[list[int], int]]:
        """The classes of each set that has any, and its count (0 where none is stated)."""
        for place, one in enumerate(self.counts):
            if with_numbers and one.numbers is None:
                continue
            own = self.signatures[:, place]
            order = np.argsort(own, kind="stable")
            bounds = np.searchsorted(own[order], np.arange(one.sets + 1))
            for number in range(one.sets):
                members = order[bounds[number] : bounds[number + 1]].tolist()
                yield members, 0 if one.numbers is None else one.numbers[number]


def combinations(universe: Universe, counts: Sequence[PublicCount]) -> int:
    """How many combinations of values the counts depend on."""
    return math.prod(universe.layout[axis] for axis in {axis for one in counts for axis in one.axes})


def classes_of(universe: Universe, counts: Sequence[PublicCount]) -> KnownClasses:
    """The classes of these counts.

    Guarantee: ``partition`` is True only where every class's count follows from the counts; of a nested family, in
    which two sets are disjoint or one holds the other, it always is. Where numbers are stated, what follows from them
    is in ``totals``, and a class of no record is none of the classes.
    Raises: Contradiction.
    """
    counts = tuple(counts)
    axes = tuple(sorted({axis for one in counts for axis in one.axes}))
    shape = tuple(universe.layout[axis] for axis in axes)
    rows = [
        np.broadcast_to(
            one.cells.reshape([universe.layout[axis] if axis in one.axes else 1 for axis in axes]), shape
        ).ravel()
        for one in counts
    ]
    stacked = np.stack(rows, axis=1)
    possible = np.ones(len(stacked), dtype=np.bool_)
    for place, one in enumerate(counts):
        nobody = np.array(one.numbers or (1,) * one.sets) == 0
        possible &= ~((stacked[:, place] != NONE) & nobody[stacked[:, place]])
    labels = np.full(len(stacked), NONE, dtype=np.int64)
    for _ in range(2):  # once more without the classes that turn out to have no record
        system, labels, absent = _system(universe, counts, stacked, possible)
        totals = _totals(system)
        nobody = np.array([total == 0 and number != absent for number, total in enumerate(totals)], dtype=np.bool_)
        if not nobody.any():
            break
        possible &= ~((labels >= 0) & nobody[labels])
    records = None if universe.presence else _records(system)
    partition = bool(_solved(len(system.signatures), [*system.sets(False), _everybody(system)])[0].all())
    return KnownClasses(axes, labels.reshape(shape), len(system.signatures), absent, partition, tuple(totals), records)


def _system(
    universe: Universe, counts: tuple[PublicCount, ...], stacked: _Integers, possible: NDArray[np.bool_]
) -> tuple[_System, _Integers, int | None]:
    """The classes of the possible combinations, the class of each, and that of the absent record."""
    if not possible.any():
        raise Contradiction("by these numbers there is no record at all")
    signatures, inverse = distinct_rows(stacked[possible])
    labels = np.full(len(stacked), NONE, dtype=np.int64)
    labels[possible] = inverse
    present = np.ones(len(signatures), dtype=np.bool_)
    absent: int | None = None
    if universe.presence:
        uncounted = np.flatnonzero(np.all(signatures == NONE, axis=1))
        absent = int(uncounted[0]) if uncounted.size else len(signatures)
        if not uncounted.size:
            signatures = np.concatenate([signatures, np.full((1, len(counts)), NONE, dtype=np.int64)])
            present = np.append(present, False)
    return _System(counts, signatures, present), labels, absent


def _everybody(system: _System) -> tuple[list[int], int]:
    """That everybody is counted: the number of records, with the absent ones, is public."""
    return [*range(len(system.signatures))], 0


def _solved(size: int, sets: Sequence[tuple[list[int], int]]) -> tuple[NDArray[np.bool_], list[int]]:
    """Which classes' counts follow from those of sets, where in each step one class of a set is left; and the counts.

    Of a nested family all follow: the innermost sets first.
    """
    left, names, numbers = [], [], []
    of_class: list[list[int]] = [[] for _ in range(size)]
    for place, (members, number) in enumerate(sets):
        left.append(len(members))
        names.append(sum(members))
        numbers.append(number)
        for member in members:
            of_class[member].append(place)
    known, values = np.zeros(size, dtype=np.bool_), [0] * size
    waiting = [place for place, count in enumerate(left) if count == 1]
    while waiting:
        place = waiting.pop()
        if left[place] != 1:
            continue
        own = names[place]
        known[own], values[own] = True, numbers[place]
        for other in of_class[own]:
            left[other] -= 1
            names[other] -= own
            numbers[other] -= values[own]
            if left[other] == 1:
                waiting.append(other)
    return known, values


def _totals(system: _System) -> list[int | None]:
    """The number of records of each class, where it follows from the stated numbers. Raises: Contradiction."""
    numbered = [*system.sets(True)]
    empty = next((number for members, number in numbered if not members and number), None)
    if empty is not None:
        raise Contradiction(f"{empty:,} records are counted where other numbers say that there are none")
    _check_nested(system, _records(system))
    known, values = _solved(len(system.signatures), [one for one in numbered if one[0]])
    if any(values[place] < 0 for place in np.flatnonzero(known).tolist()):
        raise Contradiction("more records are counted in a part than in the whole")
    for members, number in numbered:
        if all(known[one] for one in members) and sum(values[one] for one in members) != number:
            raise Contradiction(
                f"a set is counted as {number:,} records, and its parts as {sum(values[one] for one in members):,}"
            )
    if sum(one.numbers is not None for one in system.counts) > 1:
        _check_dependent(numbered)
    return [value if done else None for value, done in zip(values, known.tolist(), strict=True)]


def _check_dependent(numbered: Sequence[tuple[list[int], int]]) -> None:
    """Where sets of few counts add up to others of theirs, so do their numbers. Raises: Contradiction."""
    sets = [(members, number) for members, number in numbered if members]
    if not 1 < len(sets) <= _MOST_COMPARED:
        return
    from flint import fmpz_mat  # which most policies do without

    inside = [set(members) for members, _ in sets]
    products = fmpz_mat([[len(one & other) for other in inside] for one in inside])
    vectors, count = products.nullspace()
    for column in range(count):
        shares = [int(vectors[row, column]) for row in range(len(sets))]
        if sum(share * number for share, (_, number) in zip(shares, sets, strict=True)):
            raise Contradiction(
                "some of their sets together are the same records as others together, and are not as many"
            )


def _records(system: _System) -> int | None:
    """The number of records, where some stated counts together count every record once."""
    for place, one in enumerate(system.counts):
        if one.numbers is not None and bool(np.all(system.signatures[system.present, place] != NONE)):
            return sum(one.numbers)
    return None


def _check_nested(system: _System, records: int | None) -> None:
    """No set has fewer records than sets inside it have together; as many, where these fill it.

    Raises: Contradiction.
    """
    numbered = [
        (one.numbers, system.signatures[:, place]) for place, one in enumerate(system.counts) if one.numbers is not None
    ]
    if records is not None:
        numbered.append(((records,), np.where(system.present, 0, NONE)))
    for inner_numbers, inner in numbered:
        for outer_numbers, outer in numbered:
            if inner is not outer:
                _check_inside(inner_numbers, inner, outer_numbers, outer)


def _check_inside(
    inner_numbers: tuple[int, ...], inner: _Integers, outer_numbers: tuple[int, ...], outer: _Integers
) -> None:
    held: dict[int, set[int]] = {}
    for own, around in zip(inner.tolist(), outer.tolist(), strict=True):
        if own != NONE:
            held.setdefault(own, set()).add(around)
    sums: dict[int, int] = {}
    inside: set[int] = set()
    for own, arounds in held.items():
        if len(arounds) == 1 and NONE not in arounds:
            around = next(iter(arounds))
            sums[around] = sums.get(around, 0) + inner_numbers[own]
            inside.add(own)
    filled: dict[int, bool] = {}
    for own, around in zip(inner.tolist(), outer.tolist(), strict=True):
        if around != NONE:
            filled[around] = filled.get(around, True) and own in inside
    for around, found in sums.items():
        whole = outer_numbers[around]
        if found > whole or (filled[around] and found != whole):
            raise Contradiction(f"a set is counted as {whole:,} records, and what is inside it as {found:,}")
