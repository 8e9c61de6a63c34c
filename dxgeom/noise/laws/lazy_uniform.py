"""A uniform number in [0, 1) of which only as many bits exist as anybody had to look at."""

from __future__ import annotations

from typing import final

from flint import arb, fmpq

from dxgeom.numeric.randomness import Randomness

WORD = 64


@final
class LazyUniform:
    """U in [prefix, prefix + 1)·2^−bits; :meth:`refine` draws 64 bits more."""

    def __init__(self, prefix: int, bits: int = WORD) -> None:
        self.prefix, self.bits = prefix, bits

    def refine(self, randomness: Randomness) -> None:
        """Make the interval 2⁶⁴ times shorter."""
        self.prefix = (self.prefix << WORD) | int(randomness.words(1)[0])
        self.bits += WORD

    def ball(self) -> arb:
        """An arb ball that contains every number the bits still allow."""
        scale = 1 << self.bits
        return arb(fmpq(self.prefix, scale)).union(arb(fmpq(self.prefix + 1, scale)))
