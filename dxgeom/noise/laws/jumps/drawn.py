"""How often noise jumps, where to and in which direction: drawn exactly, from whole random words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dxgeom.numeric.exact_draws import fair_bits
from dxgeom.numeric.randomness import Randomness

_UNUSED: Final = np.uint64(2**64 - 1)
"""Where a row has fewer jumps than others: a word of which nothing is read."""


class DrawnJumps(NamedTuple):
    """The jumps of B draws, as many columns as the most that a row has.

    ``many`` (B,): how many jumps each row has. (B, J) each: ``places`` of shifts; ``away``, whether the reach is added
    or taken off; ``onward``, the same of the exponential, whose uniform begins with ``words``.
    """

    many: NDArray[np.int64]
    places: NDArray[np.int64]
    away: NDArray[np.bool_]
    onward: NDArray[np.bool_]
    words: NDArray[np.uint64]

    def rounds(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], int]]:
        """For each turn the rows that jump then, where to, and which turn it is."""
        for turn in range(self.places.shape[1]):
            rows = np.flatnonzero(self.many > turn)
            yield rows, self.places[rows, turn], turn


def drawn_jumps(cumulative: NDArray[np.uint64], count: int, randomness: Randomness) -> DrawnJumps:
    """The jumps of ``count`` draws.

    Definition: a uniform word below ``cumulative[-1]`` is a jump, along the shift e with cumulative[e − 1] ≤ word <
    cumulative[e]; the first word that is not ends the row. So a row has j jumps with probability (1 − r)·r^j, each
    along e with probability ρ_e/r. Guarantee: *exact*, given uniform random words.
    """
    turns: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    rows = np.arange(count)
    while rows.size:
        words = randomness.words(len(rows))
        jumping = words < cumulative[-1]
        rows = rows[jumping]
        if rows.size:
            turns.append((rows, np.searchsorted(cumulative, words[jumping], side="right")))
    shape = (count, len(turns))
    many, places = np.zeros(count, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    away, onward = np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    words = np.full(shape, _UNUSED)
    for turn, (jumping_rows, found) in enumerate(turns):
        many[jumping_rows] += 1
        places[jumping_rows, turn] = found
        signs = fair_bits(2 * len(found), randomness).reshape(2, -1)
        away[jumping_rows, turn], onward[jumping_rows, turn] = signs
        words[jumping_rows, turn] = randomness.words(len(found))
    return DrawnJumps(many, places, away, onward, words)


def simulated_jumps(
    cumulative: NDArray[np.uint64], reaches: NDArray[np.float64], count: int, generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """The same in float64, turn by turn: rows, places and lengths, of ``reaches`` (E,)."""
    ends = cumulative * 2.0**-64
    rows = np.arange(count)
    while True:
        uniforms = generator.random(len(rows))
        jumping = uniforms < ends[-1]
        rows = rows[jumping]
        if not rows.size:
            return
        places = np.minimum(np.searchsorted(ends, uniforms[jumping], side="right"), len(ends) - 1)
        signs = generator.integers(0, 2, len(rows)) * 2 - 1
        yield rows, places, signs * reaches[places] + generator.laplace(size=len(rows))
