"""K-norm noise of any body with an exact gauge, by rejection from the noise of a body around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.containment import contains
from dxgeom.geometry.gauge import Gauge
from dxgeom.noise.laws.law import NoiseLaw
from dxgeom.noise.laws.lazy_uniform import LazyUniform, decided
from dxgeom.noise.laws.rounding import FLOAT_ERROR, Evaluation, IdealDraws, exponentials, joined, legible
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property

LEAST_ACCEPTANCE = 1e-4
"""Below this a draw takes tens of thousands of tries: refused."""
_MOST_TRIES = 1 << 17


@final
@dataclass(frozen=True, eq=False)
class RejectionNoise(NoiseLaw):
    """Density ∝ exp(−‖v‖_K) from the noise V of an envelope L ⊇ K: keep V when an exponential E ≥ ‖V‖_K − ‖V‖_L.

    That is the usual rejection of a uniform point of L that is not in K: ‖V‖_L + E is a Gamma(m + 1) radius R,
    independent of V/R, which is uniform in L; and V/R ∈ K iff ‖V‖_K ≤ R. So vol K/vol L of all tries are kept.

    Guarantee: ``draw`` is *exact*: a try is kept or not by its lazily read bits, decided in ball arithmetic where
    float64 leaves it open, and its coordinates are rounded from the same bits. That the envelope contains the body is
    proved when the law is made; were it not so, the law would be wrong.
    Raises: CertificateRefused when it does not; UnsupportedCombination when there is no way to tell; TooLarge when
    hardly any try would be kept.
    Source: Awan & Slavković 2020, Algorithm 8; corrected: its box may miss the body and its radius is left out.
    """

    body: ConvexBody
    envelope: NoiseLaw

    def __post_init__(self) -> None:
        if self.envelope.concentrated:
            raise UnsupportedCombination(
                "rejection is from noise with density ∝ exp(−‖v‖), which Gaussian noise has not"
            )
        if not contains(self.envelope.known_body, self.body, as_stated=False):
            raise CertificateRefused("the envelope does not provably contain the body it is drawn for")
        with np.errstate(over="ignore"):
            volumes = self.body.volume, self.envelope.known_body.volume
        if not all(0 < volume < math.inf for volume in volumes):
            raise TooLarge(
                "the volume of this body leaves the range of float64, so how often rejection would succeed is not "
                "known: only the shape of a body counts, state it in lengths near 1"
            )
        if self.acceptance < LEAST_ACCEPTANCE:
            raise TooLarge(
                f"rejection would keep {self.acceptance:.1e} of its tries, the least is {LEAST_ACCEPTANCE}: use a "
                "tighter envelope, or the noise of a larger body"
            )

    @classmethod
    def for_body(cls, body: ConvexBody, law_of: Callable[[ConvexBody], NoiseLaw]) -> RejectionNoise | None:
        """From the noise of the polytope around the body, where it knows one: hardly any try is rejected."""
        around = body.polytope_around
        return None if around is None else cls(body, law_of(around))

    @property
    def facets(self) -> int:
        return self.envelope.facets

    @property
    def defining(self) -> tuple[Any, ...]:
        """The law is that of the body, whatever it is drawn from."""
        return (self.body,)

    @property
    def second_moment(self) -> NDArray[np.float64]:
        return self.body.noise_second_moment

    @property
    def amplitude(self) -> float:
        return self.envelope.amplitude

    @cached_property
    def acceptance(self) -> float:
        """vol K/vol L: the part of all tries that is kept, as exact as the bodies' volumes."""
        return min(1.0, self.body.volume / self.envelope.known_body.volume)

    def simulate(self, count: int, generator: np.random.Generator) -> NDArray[np.float64]:
        kept: list[NDArray[np.float64]] = []
        envelope = self.envelope.known_body
        while (missing := count - sum(map(len, kept))) > 0:
            tried = self.envelope.simulate(self._tries(missing), generator)
            inner, _ = self._gauges[0].near(tried, np.zeros_like(tried))
            kept.append(tried[generator.standard_exponential(len(tried)) >= inner - envelope.gauge(tried)])
        return np.concatenate([np.empty((0, self.dimension)), *kept])[:count]

    def ideal(self, count: int, randomness: Randomness) -> IdealDraws:
        kept = [self._kept(self._tries(count), randomness)]
        while (missing := count - sum(len(draws.values) for draws in kept)) > 0:
            kept.append(self._kept(self._tries(missing), randomness))
        return joined(kept).taken(np.arange(count))

    def _tries(self, missing: int) -> int:
        return min(_MOST_TRIES, int(missing / self.acceptance * 1.02) + 16)

    def _kept(self, tries: int, randomness: Randomness) -> IdealDraws:
        """Those of ``tries`` draws of the envelope that are kept; E's uniform is the last of each row."""
        draws = self.envelope.ideal(tries, randomness)
        words = randomness.words(tries)
        margin, error = self._margin(draws, exponentials(words))
        sure = draws.legible & legible(words[:, None]) & (np.abs(margin) > error)
        kept, refined = margin > 0, dict[int, list[LazyUniform]]()
        sure[list(draws.refined)] = False  # these go on from the bits that their envelope has read
        for row in np.flatnonzero(~sure).tolist():
            refined[row] = [*draws.uniforms(row), LazyUniform(int(words[row]))]
            kept[row] = self._is_kept(draws.evaluation(row), refined[row], randomness)

        def evaluation(row: int) -> Evaluation:
            inner = draws.evaluation(row)
            return lambda uniforms: inner(uniforms[:-1])

        everything = IdealDraws(
            draws.values, draws.errors, draws.legible, np.column_stack([draws.words, words]), evaluation, refined
        )
        return everything.taken(np.flatnonzero(kept))

    def _margin(self, draws: IdealDraws, spare: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """E + ‖V‖_L − ‖V‖_K (B,) in float64, and a bound on its error; two sums add 2⁻⁵² of all terms, doubled."""
        inner, inner_error = self._gauges[0].near(draws.values, draws.errors)
        outer, outer_error = self._gauges[1].near(draws.values, draws.errors)
        error = inner_error + outer_error + (1 + spare) * FLOAT_ERROR + (spare + inner + outer) * 2.0**-51
        return spare + outer - inner, error

    def _is_kept(self, evaluation: Evaluation, uniforms: Sequence[LazyUniform], randomness: Randomness) -> bool:
        """The sign of E + ‖V‖_L − ‖V‖_K, reading bits until it is certain."""
        inner, outer = self._gauges

        def told(balls: list[arb]) -> bool | None:
            point = evaluation(balls[:-1])
            margin: arb = outer.exact(point) - inner.exact(point) - balls[-1].log()
            return bool(margin > 0) if margin > 0 or margin < 0 else None

        return decided(told, uniforms, randomness)

    @cached_property
    def _gauges(self) -> tuple[Gauge, Gauge]:
        return self.body.certified_gauge, self.envelope.known_body.certified_gauge
