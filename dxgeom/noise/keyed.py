"""Noise worked out again and again from secrets: rounded exactly, and the same whenever and wherever that is done.

Number n of those that a law is the image of has two uniforms, each an infinite string of bits: HMAC-SHA256 under the
secret of the number's period, of the number, which of the two it is, and a counter. Whoever has no secret cannot tell
the bits from fair ones. Numbers of one period share no bit with those of another.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from flint import arb, ctx, fmpq

from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.rounding import WORD

Bits: TypeAlias = Callable[[int, int, int], int]
"""Of a number, of its first or second uniform (0, 1), the first so many bits, as an integer."""

_MARK: Final = b"dxgeom uniform 1"
_BLOCK: Final = 256
_FIRST: Final = 2 * WORD


def keyed_bits(secrets: Sequence[bytes | None]) -> Bits:
    """The bits of numbers whose secrets are these; those of None are not asked for."""

    def bits(number: int, which: int, count: int) -> int:
        secret = secrets[number]
        if secret is None:
            raise ValueError(f"number {number} has no secret yet")
        blocks = -(-count // _BLOCK)
        drawn = b"".join(
            hmac.digest(
                secret, _MARK + number.to_bytes(8, "big") + bytes([which]) + block.to_bytes(8, "big"), hashlib.sha256
            )
            for block in range(blocks)
        )
        return int.from_bytes(drawn, "big") >> (blocks * _BLOCK - count)

    return bits


def rounded_coordinates(
    law: NoiseLaw, factor: Fraction, rows: Sequence[int], numbers: Sequence[int], bits: Bits
) -> list[int]:
    """``factor``·V at these ``rows``, each rounded to the nearest integer.

    Args: ``numbers``: those that the rows depend on; of no other a bit is read.
    Guarantee: *exact*, a function of the bits alone: the joint law of all rows, whenever each is worked out, is that of
    one draw, given fair bits. More bits are read, and computed with, until all is certain.
    Raises: UnsupportedCombination of laws that are no image of independent numbers.
    """
    count = _FIRST
    made_of = law.made_of
    if made_of is None:
        raise law.no_image
    while True:
        with ctx.workprec(count + WORD):
            drawn = [arb(0)] * law.dimension
            for number in numbers:
                drawn[number] = _number(made_of, number, count, bits)
            scale = arb(fmpq(factor.numerator, factor.denominator))
            found = [(value * scale + 0.5).floor().unique_fmpz() for value in law.image(drawn, rows)]
        whole = [int(one) for one in found if one is not None]
        if len(whole) == len(found):
            return whole
        count += _FIRST


def _number(made_of: Literal["normal", "laplace"], number: int, count: int, bits: Bits) -> arb:
    """Number n in a ball, as far as so many bits of its uniforms tell it."""
    size = -_ball(bits(number, 0, count), count).log()
    if made_of == "laplace":
        return size if bits(number, 1, 1) else -size
    return (2 * size).sqrt() * (2 * arb.pi() * _ball(bits(number, 1, count), count)).cos()


def _ball(prefix: int, count: int) -> arb:
    """All numbers that begin with these bits."""
    scale = 1 << count
    return arb(fmpq(prefix, scale)).union(arb(fmpq(prefix + 1, scale)))
