"""Attempts to refute what is promised of a score. They can show that it is untrue, and never that it is true."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.mechanisms.selection.declared_scores import DeclaredSelection
from dxgeom.metrics.metric import Metric

_MOST_PAIRS: Final = 1_000_000


@final
@dataclass(frozen=True, eq=False)
class Refutation:
    """Two neighbouring histograms on which a promise is broken: by ``changed`` where ``allowed`` was promised."""

    before: NDArray[np.int64] = field(repr=False)
    after: NDArray[np.int64] = field(repr=False)
    replaced: tuple[int, int]
    what: str
    changed: Fraction
    allowed: Fraction

    def __str__(self) -> str:
        one, other = self.replaced
        return (
            f"the promise is untrue: replacing a record of type {one} by {other} changes {self.what} by "
            f"{float(self.changed):.6g}, promised was at most {float(self.allowed):.6g}"
        )


@final
@dataclass(frozen=True)
class Challenge:
    """What came of trying to refute a promise: a refutation, or that so many pairs of histograms gave none."""

    tried: int
    refutation: Refutation | None

    def __str__(self) -> str:
        if self.refutation is not None:
            return str(self.refutation)
        return f"{self.tried:,} pairs of neighbouring histograms do not break the promise; that is no proof of it"


def challenge(
    mechanism: DeclaredSelection,
    histograms: Iterable[ArrayLike] = (),
    *,
    records: int = 20,
    tries: int = 1000,
    seed: int = 0,
) -> Challenge:
    """Look for two neighbouring histograms on which the declared sensitivity is untrue.

    Args: ``histograms`` to begin with, which should be made up and not the data; then random ones of at most so many
    ``records``, in few types or in many. Every try replaces one record along a generating pair, which is enough: what
    holds on these holds on all.
    Guarantee: a refutation is exact. That none was found proves nothing.
    """
    require(mechanism, DeclaredSelection, "mechanism", "pass what dx.mechanisms.selection.declared_selection made")
    for name, number in (("records", records), ("tries", tries), ("seed", seed)):
        require(number, WHOLE, name, "give a whole number")
    first, second, bounds = _pairs(mechanism.metric.metric)
    generator = np.random.default_rng(seed)
    given = [np.array(one, dtype=np.int64) for one in histograms]
    tried = 0
    for attempt in range(tries if first.size else 0):
        before = given[attempt % len(given)] if given and attempt % 2 else _made_up(mechanism, records, generator)
        places = np.flatnonzero((before[first] > 0) | (before[second] > 0))
        if not places.size:
            continue
        place = int(generator.choice(places))
        one, other = int(first[place]), int(second[place])
        one, other = (one, other) if before[one] else (other, one)
        tried += 1
        found = _broken(mechanism, before, (one, other), Fraction(float(bounds[place])))
        if found is not None:
            return Challenge(tried, found)
    return Challenge(tried, None)


def _pairs(metric: Metric) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """The first generating pairs of finite distance."""
    found: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]] = []
    for block in metric.generating_pairs():
        near = np.isfinite(block.bound)
        found.append((block.first[near], block.second[near], block.bound[near]))
        if sum(one[0].size for one in found) > _MOST_PAIRS:
            break
    none = (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    first, second, bounds = (np.concatenate([one[k] for one in (none, *found)]) for k in range(3))
    return first.astype(np.int64), second.astype(np.int64), bounds


def _made_up(mechanism: DeclaredSelection, records: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """A random histogram: of one type, of a few, or of many."""
    size = mechanism.metric.size
    types = generator.choice(size, min(size, int(generator.integers(1, 1 + max(1, records)))), replace=False)
    counts = np.zeros(size, dtype=np.int64)
    share = generator.dirichlet(np.full(types.size, generator.choice([0.1, 1.0, 10.0])))
    counts[types] = generator.multinomial(int(generator.integers(1, 1 + max(1, records))), share)
    return counts


def _broken(
    mechanism: DeclaredSelection, before: NDArray[np.int64], replaced: tuple[int, int], distance: Fraction
) -> Refutation | None:
    after = before.copy()
    after[replaced[0]] -= 1
    after[replaced[1]] += 1
    pairs = zip(mechanism.scores(before), mechanism.scores(after), strict=True)
    changes = [there - here for here, there in pairs]
    allowed = mechanism.sensitivity * distance
    worst = max(range(len(changes)), key=lambda place: abs(changes[place]))
    if abs(changes[worst]) > allowed:
        what = f"the score of '{mechanism.candidates[worst]}'"
        return Refutation(before, after, replaced, what, abs(changes[worst]), allowed)
    if mechanism.one_way and max(changes) > 0 > min(changes):
        what = "one score up and another down, their lead"
        return Refutation(before, after, replaced, what, max(changes) - min(changes), allowed)
    return None
