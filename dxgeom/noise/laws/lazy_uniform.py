"""A uniform number in [0, 1) of which only as many bits exist as anybody had to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, final

from flint import arb, ctx, fmpq

from dxgeom.numeric.randomness import Randomness

WORD = 64

Found = TypeVar("Found")


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


def decided(
    told: Callable[[list[arb]], Found | None], uniforms: Sequence[LazyUniform], randomness: Randomness
) -> Found:
    """What balls around the uniforms tell, reading bits and computing in more of them until they tell it."""
    precision = 2 * WORD
    while True:
        with ctx.workprec(precision):
            found = told([uniform.ball() for uniform in uniforms])
        if found is not None:
            return found
        for uniform in uniforms:
            uniform.refine(randomness)
        precision += WORD
