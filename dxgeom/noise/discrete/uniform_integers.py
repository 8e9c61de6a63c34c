"""Uniform integers below any bound, exactly."""

from __future__ import annotations

from dxgeom.numeric.randomness import Randomness

_WORD = 64


def uniform_integer(bound: int, randomness: Randomness) -> int:
    """A uniform integer in 0..bound−1.

    Guarantee: *exactly* uniform, given uniform random words: a number of as many bits as ``bound − 1`` has is drawn
    until it is below the bound, which takes fewer than two attempts on average.
    Raises: ValueError when there is no such integer.
    """
    if bound < 1:
        raise ValueError(f"there is no integer in 0..{bound - 1}")
    bits = (bound - 1).bit_length()
    words = -(-bits // _WORD)
    while words:
        drawn = int.from_bytes(randomness.words(words).tobytes(), "little") >> (words * _WORD - bits)
        if drawn < bound:
            return drawn
    return 0
