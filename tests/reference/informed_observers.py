"""What whoever knows counts may be told, by brute force: all rings of people, and the worst mechanism for a belief."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import lil_matrix

Table = tuple[int, ...]
Matrix = NDArray[np.float64]


def transport(distance: Matrix, gone: Sequence[int], come: Sequence[int]) -> float:
    """The least cost of carrying the one records to the others, by all ways."""
    ways = itertools.permutations(come)
    return min(sum(distance[i, j] for i, j in zip(gone, way, strict=True)) for way in ways)


def worst_ring(distance: Matrix, labels: Sequence[int], first: int, second: int, people: int) -> float:
    """The largest cost of a change that takes somebody from the one record to the other, of another class, replaces at
    most one record in each class, in at most so many classes."""
    members = {label: [k for k, own in enumerate(labels) if own == label] for label in set(labels)}
    others = [label for label in members if label not in (labels[first], labels[second])]
    worst = 0.0
    for size in range(min(people - 2, len(others)) + 1):
        for chosen in itertools.combinations(others, size):
            ends = [members[labels[first]], members[labels[second]]]
            around = [list(itertools.product(members[label], repeat=2)) for label in chosen]
            for back, left in itertools.product(*ends):
                for pairs in itertools.product(*around):
                    gone = [first, left, *(pair[0] for pair in pairs)]
                    come = [back, second, *(pair[1] for pair in pairs)]
                    worst = max(worst, transport(distance, gone, come))
    return worst


def tables_of(types: int, people: int) -> list[Table]:
    """All tables of so many people, as how many have each record."""
    found = itertools.combinations_with_replacement(range(types), people)
    return [tuple(one.count(kind) for kind in range(types)) for one in found]


def neighbours(table: Table) -> Iterator[tuple[int, int, Table]]:
    """Tables in which one person's record is another one."""
    for i, j in itertools.permutations(range(len(table)), 2):
        if table[i]:
            other = list(table)
            other[i], other[j] = other[i] - 1, other[j] + 1
            yield i, j, tuple(other)


def belief_of(priors: Matrix, record: int, counts: Matrix, known: Sequence[int]) -> dict[Table, float]:
    """How likely tables are where person 0 has the record, the others have theirs independently, and the counts are
    known. Args: ``priors``: (people, types); ``counts``: (sets, types)."""
    found: dict[Table, float] = {}
    for others in itertools.product(*([k for k in range(len(own)) if own[k]] for own in priors[1:])):
        records = (record, *others)
        table = tuple(records.count(kind) for kind in range(priors.shape[1]))
        if tuple((counts @ np.array(table)).astype(int)) == tuple(known):
            chance = math.prod(float(own[k]) for own, k in zip(priors[1:], others, strict=True))
            found[table] = found.get(table, 0.0) + chance
    whole = sum(found.values())
    return {table: chance / whole for table, chance in found.items()} if whole else {}


def all_rings(distance: Matrix, labels: Sequence[int], people: int) -> Iterator[tuple[Table, float]]:
    """What rings of 2 to so many people, at most one of each class, change a table by, and the least distance that
    somebody in it moves: person by person, in every order."""
    classes = sorted(set(labels))
    members = {label: [k for k, own in enumerate(labels) if own == label] for label in classes}
    for size in range(2, min(people, len(classes)) + 1):
        for order in itertools.permutations(classes, size):
            for gone in itertools.product(*(members[label] for label in order)):
                for come in itertools.product(*(members[label] for label in (*order[1:], order[0]))):
                    change = [0] * len(labels)
                    for i, j in zip(gone, come, strict=True):
                        change[i] -= 1
                        change[j] += 1
                    yield tuple(change), min(float(distance[i, j]) for i, j in zip(gone, come, strict=True))


def worst_odds(
    distance: Matrix,
    one: dict[Table, float],
    other: dict[Table, float],
    tables: Sequence[Table],
    held: Sequence[tuple[Table, float]] = (),
) -> float:
    """log of the most that odds of a yes move, over all mechanisms that are private between all tables; ``held``:
    further changes of tables that they hide, each up to so much."""
    place = {table: number for number, table in enumerate(tables)}
    rows = [(place[table], place[to], distance[i, j]) for table in tables for i, j, to in neighbours(table)]
    for change, far in held:
        for table in tables:
            moved = tuple(count + step for count, step in zip(table, change, strict=True))
            if moved in place and moved != table:
                rows.append((place[table], place[moved], far))
    bounds = lil_matrix((len(rows), len(tables)))
    for row, (here, there, far) in enumerate(rows):
        bounds[row, here], bounds[row, there] = 1.0, -math.exp(far)
    gain, fixed = np.zeros(len(tables)), np.zeros((1, len(tables)))
    for belief, into in ((one, gain), (other, fixed[0])):
        for table, chance in belief.items():
            into[place[table]] = chance
    solved = linprog(-gain, A_ub=bounds.tocsr(), b_ub=np.zeros(len(rows)), A_eq=fixed, b_eq=[1.0], bounds=(0, None))
    assert solved.status == 0
    return math.log(-solved.fun)
