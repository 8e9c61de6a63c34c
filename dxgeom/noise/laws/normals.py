"""Standard normal numbers from uniform words: two from each pair (Box & Muller), in float64 and exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.noise.laws.lazy_uniform import WORD
from dxgeom.noise.laws.rounding import exponentials, legible

_SMALLEST_EXPONENTIAL = 2.0**-40


class Normals(NamedTuple):
    """``values`` (B, m); ``errors`` (B, m): bounds on how far each is off, true for rows that are ``legible`` (B,)."""

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    legible: NDArray[np.bool_]


def words_for(size: int) -> int:
    """How many words a row of so many normals takes: first those of the lengths, then those of the angles."""
    return 2 * pairs_for(size)


def pairs_for(size: int) -> int:
    """Pairs of normals; of an odd number the last is left."""
    return -(-size // 2)


def normals(words: NDArray[np.uint64], size: int) -> Normals:
    """N = √(2E)·cos 2πu and √(2E)·sin 2πu from the rows of ``words`` (B, 2·pairs), E = −log of a uniform.

    Errors. Of a legible word E is off by at most 2⁻⁴⁵ + 2⁻⁴⁸·E: 2⁻⁴⁶ for the bits not yet read, 2⁻⁵³ for the word's
    own rounding, 2⁻⁴⁸·E for the logarithm. So L = √(2E) is off by √2·(2⁻⁴⁵ + 2⁻⁴⁸·E)/√E and its own rounding 2⁻⁵²·L.
    The angle is off by 2π·(2⁻⁵⁴ + 2⁻⁶⁴ + 2·2⁻⁵³) < 2⁻⁴⁹, with the library's cosine 2⁻⁴⁸. Together at most
    2⁻⁴⁴·⁵/√E + 2⁻⁴⁶·³·√E; here some ten times that.
    """
    pairs = pairs_for(size)
    sizes = exponentials(words[:, :pairs])
    roots = np.sqrt(np.maximum(sizes, _SMALLEST_EXPONENTIAL))
    angles = 2 * np.pi * (words[:, pairs:].astype(np.float64) * 2.0**-WORD)
    lengths = np.sqrt(2 * sizes)
    values = np.stack([lengths * np.cos(angles), lengths * np.sin(angles)], axis=2).reshape(len(words), 2 * pairs)
    errors = np.repeat(2.0**-41 / roots + 2.0**-43 * roots, 2, axis=1)
    tame = np.all(sizes >= _SMALLEST_EXPONENTIAL, axis=1)
    return Normals(values[:, :size], errors[:, :size], legible(words[:, :pairs]) & tame)


def exact_normals(uniforms: list[arb], size: int) -> list[arb]:
    """The same in ball arithmetic, of a row's uniforms."""
    pairs = pairs_for(size)
    lengths = [(-2 * uniform.log()).sqrt() for uniform in uniforms[:pairs]]
    turns = [2 * arb.pi() * uniform for uniform in uniforms[pairs:]]
    both = zip(lengths, turns, strict=True)
    return [length * part for length, turn in both for part in (turn.cos(), turn.sin())][:size]
