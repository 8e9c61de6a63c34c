"""Which of very many numbers of noise reach a threshold, and what they are then: drawn without the others.

One law of noise V, Laplace or normal, of one scale. Of N independent copies, each rounded to an integer, those are
drawn that are θ or more. The gaps between them are geometric, so nothing of the size of N is made.

*Definition.* p = P(round(V) ≥ θ). Positions start at −1 and rise by 1 + ⌊E/λ⌋, with E exponential and λ = −log(1 − p),
until they pass N − 1. As ⌊E/λ⌋ is k or more with chance (1 − p)^k, each position is met with chance p, on its own. The
value of one that is met is round(V), given that it is θ or more.

Everything is decided in float64 where a bound on the error allows it, and else in balls around the same uniforms, of
which further bits are read: see :mod:`dxgeom.noise.rounding`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, NamedTuple, TypeAlias, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import NDArray

from dxgeom.noise.rounding import FLOAT_ERROR, SMALLEST_WORD, LazyUniform, decided, exponentials
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import DefinedByNumbers

PRECISION: Final = 128
"""Bits of the chances that are reported, or compared."""
_AT_ONCE: Final = 1 << 20
_FEW: Final = 16
_RELATIVE: Final = 2.0**-48
"""What a few float64 operations on numbers that were rounded once are off by, relatively, and more."""

Steps: TypeAlias = Callable[[arb], arb]
"""From an exponential number to one that is rounded down, in balls."""


class Hits(NamedTuple):
    """Rising ``positions`` (H,) from 0 on, and the ``values`` (H,) there, each θ or more."""

    positions: NDArray[np.int64]
    values: NDArray[np.int64]


@dataclass(frozen=True)
class RareEvents(DefinedByNumbers):
    """The numbers round(V) ≥ θ among many. ``scale``: of V before it is stretched, float64 taken exactly; ``factor``:
    what it is stretched by; ``threshold``: θ, an integer from 1 on.

    Laws: :meth:`among` meets each position with chance :meth:`chance`, independently, and its values have the law of
    round(V) given that it is θ or more; *exact*, given uniform random words.
    """

    scale: float
    factor: Fraction
    threshold: int

    def _stretched(self) -> arb:
        """The scale of V, in the precision of the moment."""
        return arb(self.scale) * arb(fmpq(self.factor.numerator, self.factor.denominator))

    def _edge(self) -> arb:
        """θ − 1/2: round(V) is θ or more exactly where V is this or more."""
        return arb(fmpq(2 * self.threshold - 1, 2))

    @abstractmethod
    def _chance(self) -> arb:
        """p, in the precision of the moment."""

    @property
    def chance(self) -> arb:
        """p, as a ball of about 128 bits that contains it."""
        with ctx.workprec(PRECISION):
            return self._chance()

    @abstractmethod
    def _values(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        """``count`` values of round(V), given that it is θ or more. *Exact*."""

    @abstractmethod
    def beyond(self, chance: float) -> float:
        """u with P(|V| ≥ u) ≤ chance, *rounded up* beyond what float64 leaves open."""

    def among(
        self, size: int, randomness: Randomness, kept: Callable[[NDArray[np.int64]], NDArray[np.bool_]] | None = None
    ) -> Hits:
        """The hits among positions 0, …, size − 1; those alone that are ``kept``, where that is asked of them.

        Args: ``size``: below 2⁴⁰, so that positions of a batch add up in 64 bits. ``kept``: of rising positions
        whether each is.
        """
        found, last = [np.zeros(0, dtype=np.int64)], -1
        while last < size - 1:
            expected = float(self.chance.upper()) * (size - 1 - last)
            count = min(_AT_ONCE, int(1.02 * expected) + _FEW)
            places = last + np.cumsum(1 + self._gaps(count, size, randomness))
            inside = places[places < size]
            found.append(inside if kept is None else inside[kept(inside)])
            last = int(places[-1])
        positions = np.concatenate(found)
        values = [
            self._values(min(_AT_ONCE, len(positions) - start), randomness)
            for start in range(0, len(positions), _AT_ONCE)
        ]
        return Hits(positions, np.concatenate([np.zeros(0, dtype=np.int64), *values]))

    def _gaps(self, count: int, most: int, randomness: Randomness) -> NDArray[np.int64]:
        """``count`` values of min(⌊E/λ⌋, most)."""

        def rate() -> arb:
            return -(-self._chance()).log1p()

        with ctx.workprec(PRECISION):
            slope = 1 / rate()
        # A smaller slope than the true one, beyond what float64 holds, only leaves more to be found beyond ``most``.
        near = min(float(slope.mid()), 1e250)
        return _floors(randomness.words(count), near, lambda one: one / rate(), most, randomness)


@final
@dataclass(frozen=True)
class RareLaplace(RareEvents):
    """V = ±scale·factor·E. Given that it is θ − 1/2 or more it is θ − 1/2 + scale·factor·E: exponentials have no
    memory."""

    def _chance(self) -> arb:
        return (-self._edge() / self._stretched()).exp() / 2

    def _values(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        slope = self.scale * float(self.factor)
        return self.threshold + _floors(
            randomness.words(count), slope, lambda one: one * self._stretched(), None, randomness
        )

    def beyond(self, chance: float) -> float:
        return -math.log(chance) * self.scale * float(self.factor) * (1 + 1e-12)


@final
@dataclass(frozen=True)
class RareNormal(RareEvents):
    """V is normal, of deviation s = scale·factor; θ − 1/2 is a·s.

    Where a is 1 or more, V = s·(a + E₁/a) is kept where 2·E₂ ≥ (E₁/a)²; else V = s·E₁ where it is a·s or more and
    2·E₂ ≥ (E₁ − 1)². Each is a density times a constant that the normal one's tail is below (Marsaglia 1964).
    """

    def _chance(self) -> arb:
        return (self._edge() / (self._stretched() * arb(2).sqrt())).erfc() / 2

    def _values(self, count: int, randomness: Randomness) -> NDArray[np.int64]:
        found, left = [np.zeros(0, dtype=np.int64)], count
        with ctx.workprec(PRECISION):
            ratio = float((self._edge() / self._stretched()).mid())
        share = 0.5 if ratio >= 1 else 0.2
        while left > 0:
            drawn = self._tried(int(left / share) + _FEW, ratio, randomness)[:left]
            found.append(drawn)
            left -= len(drawn)
        return np.concatenate(found)

    def _tried(self, count: int, ratio: float, randomness: Randomness) -> NDArray[np.int64]:
        """The values of those of ``count`` tries that are kept; ``ratio``: a, in float64, which decides the form."""
        words = randomness.words(2 * count).reshape(count, 2)
        sizes = exponentials(words)
        far = ratio >= 1
        off = sizes[:, 0] / ratio if far else sizes[:, 0] - 1
        slack = 2 * sizes[:, 1] - off**2
        error = (1 + sizes).sum(axis=1) * (2 + 2 * np.abs(off)) * 2 * FLOAT_ERROR + off**2 * _RELATIVE
        sure = (np.abs(slack) > error) & np.all(words >= SMALLEST_WORD, axis=1)
        kept = slack > 0
        if not far:
            above = sizes[:, 0] - ratio
            sure &= np.abs(above) > (1 + sizes[:, 0]) * 2 * FLOAT_ERROR + ratio * _RELATIVE
            kept &= above > 0
        read: dict[int, LazyUniform] = {}
        for row in np.flatnonzero(~sure).tolist():
            pair = [LazyUniform(int(word)) for word in words[row]]
            kept[row] = decided(lambda balls: self._is_kept(balls, far=far), pair, randomness)
            read[row] = pair[0]
        return self._rounded(words, kept, read, randomness, far=far)

    def _is_kept(self, balls: list[arb], *, far: bool) -> bool | None:
        one, other = (-ball.log() for ball in balls)
        ratio = self._edge() / self._stretched()
        off = one / ratio if far else one - 1
        tests = [2 * other - off * off] if far else [2 * other - off * off, one - ratio]
        if any(bool(test < 0) for test in tests):
            return False
        return True if all(bool(test > 0) for test in tests) else None

    def _rounded(
        self,
        words: NDArray[np.uint64],
        kept: NDArray[np.bool_],
        read: dict[int, LazyUniform],
        randomness: Randomness,
        *,
        far: bool,
    ) -> NDArray[np.int64]:
        rows = np.flatnonzero(kept)
        more = {place: read[row] for place, row in enumerate(rows.tolist()) if row in read}
        size = self.scale * float(self.factor)
        if far:
            # s·(a + E/a) + 1/2 is θ + s²·E/(θ − 1/2).
            slope = size * size / (self.threshold - 0.5)
            exact: Steps = lambda one: one * self._stretched() ** 2 / self._edge()  # noqa: E731
            return self.threshold + _floors(words[rows, 0], slope, exact, None, randomness, more)
        half = arb(fmpq(1, 2))
        return _floors(
            words[rows, 0], size, lambda one: one * self._stretched() + half, None, randomness, more, shift=0.5
        )

    def beyond(self, chance: float) -> float:
        with ctx.workprec(PRECISION):
            scaled = self._stretched() * arb(2).sqrt()
            low, high = 0.0, 40.0
            for _ in range(60):
                middle = (low + high) / 2
                if bool(arb(middle).erfc() < chance):
                    high = middle
                else:
                    low = middle
            return math.nextafter(float((scaled * high).upper()), math.inf)


def _floors(
    words: NDArray[np.uint64],
    slope: float,
    exact: Steps,
    most: int | None,
    randomness: Randomness,
    read: dict[int, LazyUniform] | None = None,
    shift: float = 0.0,
) -> NDArray[np.int64]:
    """⌊slope·E + shift⌋ of the exponentials of ``words``, at most ``most`` where that is given.

    Args: ``slope``, ``shift``: in float64, rounded a few times; ``exact``: the same number in balls, as a function of
    the exponential. ``read``: rows of which more bits have been read, with these.
    """
    known = {} if read is None else read
    sizes = exponentials(words)
    values = sizes * slope + shift
    errors = (1 + sizes) * FLOAT_ERROR * slope * (1 + _RELATIVE) + values * _RELATIVE
    low, high = values - errors, values + errors
    sure = (np.floor(low) == np.floor(high)) & (high < 2.0**52) & (words >= SMALLEST_WORD)
    if most is not None:
        far = (low > most) & (words >= SMALLEST_WORD)
        sure, values = sure | far, np.where(far, most, values)
    sure[[*known]] = False
    found = np.floor(np.where(sure, values, 0.0)).astype(np.int64)
    for row in np.flatnonzero(~sure).tolist():
        one = known.get(row) or LazyUniform(int(words[row]))
        found[row] = decided(lambda balls: _whole(exact(-balls[0].log()), most), [one], randomness)
    return found


def _whole(value: Any, most: int | None) -> int | None:
    """⌊value⌋, at most ``most``; None where the ball leaves it open."""
    if most is not None and bool(value > most):
        return most
    found = value.floor().unique_fmpz()
    return None if found is None else int(found)
