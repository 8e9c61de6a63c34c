"""Laplace mechanisms on secrets in a row, without their table: ten thousand values as easily as ten.

Along a row e^(−d) is the product of the odds between neighbours, and its inverse has three diagonals: each answer's
scale follows from the two gaps beside it, and an answer is a walk from the secret that stops as coins say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import InitVar, dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Final, final

import numpy as np
from flint import arb, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.secret_mechanism import SecretMechanism
from dxgeom.mechanisms.finite.finite_mechanism import FiniteMechanism, Losses, Prior, bayes_remap
from dxgeom.mechanisms.finite.private_table import PrivateTable, honouring
from dxgeom.mechanisms.finite.ratio_bounds import LAW_BITS, TOGETHER, odds_below, require_metric_and_spend
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness, uniform_integer
from dxgeom.numeric.sealed import cached_property, canonical_digest

LONGEST_ROW: Final = 10_000
"""Secrets of a row."""
LARGEST_WRITTEN: Final = 512
"""Secrets of a row whose table can be written out."""
_MOST_PAIRS: Final = 2_000_000
_PRECISION: Final = 256
_DOOR = object()


@final
@dataclass(frozen=True, eq=False)
class BandedTable(SecretMechanism[int]):
    """P(z | y) = λ(z)·(product of the ``shares`` between y and z), shares[k] = 1/odds between the secrets k and k + 1.

    Definition: λ(z) = 1/(1 + t₋) + 1/(1 + t₊) − 1 with t₋, t₊ the shares beside z, 0 at the ends: it is (odds − 1)/
    (odds + 1) inside and odds/(odds + 1) at the ends where all odds are equal, the truncated geometric mechanism. All
    numbers are exact rationals. Only :func:`banded_geometric` and :func:`banded_laplace` make one.

    Guarantee: replacing the secret i by j changes the odds of any answer by at most e^(spend·d(i, j)): between
    neighbours they are exactly the odds, which multiply, and every generating pair was compared.
    Source: Ghosh, Roughgarden & Sundararajan 2009; Chatzikokolakis et al. 2013, Definition 6.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    shares: tuple[Fraction, ...] = field(repr=False)
    spend: Fraction
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("a BandedTable is made by banded_geometric or banded_laplace, which check it")

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("banded", self.metric.fingerprint, self.name, self.shares, self.spend)

    def report(self, secret: int, randomness: Randomness) -> int:
        """An answer. Guarantee: *exactly* the law, in integers; the time it takes is not hidden.

        The answer is at k or beyond with chance (product of shares up to k)/(1 + the last of them): so a walk goes on
        from k with the chance t·(1 + t₋)/(1 + t), t the share of the next gap and t₋ that of the last.
        """
        if not 0 <= secret <= len(self.shares):
            raise IndexError(f"secrets run from 0 to {len(self.shares)}")
        up, down = self._share(secret), self._share(secret - 1)
        upwards, downwards = up / (1 + up), down / (1 + down)
        total = upwards.denominator * downwards.denominator
        drawn = uniform_integer(total, randomness)
        if drawn < upwards * total:
            return self._walked(secret + 1, 1, randomness)
        if drawn < (upwards + downwards) * total:
            return self._walked(secret - 1, -1, randomness)
        return secret

    def _walked(self, place: int, step: int, randomness: Randomness) -> int:
        while True:
            before, after = self._share(place - (step > 0)), self._share(place - (step < 0))
            on = after * (1 + before) / (1 + after)
            if uniform_integer(on.denominator, randomness) >= on.numerator:
                return place
            place += step

    @cached_property
    def law(self) -> FiniteMechanism:
        """The table itself, *exact*. Raises: TooLarge beyond 512 secrets."""
        if self.metric.size > LARGEST_WRITTEN:
            raise TooLarge(f"a table of {self.metric.size:,} secrets is not written out; at most {LARGEST_WRITTEN}")
        scales = [1 / (1 + self._share(z - 1)) + 1 / (1 + self._share(z)) - 1 for z in range(self.metric.size)]
        rows = []
        for y in range(self.metric.size):
            above = accumulate(self.shares[y:], lambda product, share: product * share, initial=Fraction(1))
            below = accumulate(reversed(self.shares[:y]), lambda product, share: product * share, initial=Fraction(1))
            products = [*reversed([*below][1:]), *above]
            rows.append(tuple(scale * product for scale, product in zip(scales, products, strict=True)))
        return FiniteMechanism(tuple(rows))

    def expected_loss(self, prior: Prior, losses: Losses) -> Fraction:
        """The expected loss under a prior, *exact*. Raises: TooLarge beyond 512 secrets."""
        return self.law.expected_loss(prior, losses)

    def with_best_guesses(self, prior: Prior, losses: Losses) -> PrivateTable:
        """The same mechanism, each answer replaced by the guess that costs least over its posterior.

        Raises: TooLarge beyond 512 secrets.
        """
        law = self.law.followed_by(bayes_remap(self.law, prior, losses), len(losses[0]))
        return honouring(self.metric, law, f"{self.name}, remapped", self.spend)

    def mean_absolute_errors(self, positions: ArrayLike) -> NDArray[np.float64]:
        """(N,): E|position of the answer − position of the secret| for each secret, up to the rounding of float64.

        Args: ``positions`` (N,): not decreasing.
        """
        shares, gaps = np.array([float(share) for share in self.shares]), np.diff(np.asarray(positions, dtype=float))
        return _one_way(shares, gaps) + _one_way(shares[::-1], gaps[::-1])[::-1]

    def _share(self, gap: int) -> Fraction:
        return self.shares[gap] if 0 <= gap < len(self.shares) else Fraction(0)


def banded_geometric(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> BandedTable:
    """The truncated geometric mechanism on equally spaced secrets, listed in order: up to ten thousand.

    Raises: UnsupportedCombination when nothing is hidden; CertificateRefused when the secrets are no line; TooLarge.
    """
    steps = _steps(metric, spend)
    if not np.all(np.isfinite(steps)):
        raise UnsupportedCombination("a truncated geometric mechanism needs steps of positive, finite distance")
    share = 1 / odds_below(Fraction(float(steps.min(initial=np.inf))) * spend, LAW_BITS) if steps.size else Fraction(0)
    return _checked(metric, (share,) * len(steps), spend, "banded geometric")


def banded_laplace(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> BandedTable:
    """The mechanism P(z | y) = λ(z)·e^(−spend·d(y, z)) on secrets in a row, whatever their gaps: up to ten thousand.

    Raises: CertificateRefused when the secrets are no line; UnboundedLoss for neighbours at distance 0; TooLarge.
    """
    steps = _steps(metric, spend)
    odds = {step: odds_below(Fraction(step) * spend, LAW_BITS) for step in set(steps.tolist()) if np.isfinite(step)}
    shares = tuple(1 / odds[step] if step in odds else Fraction(0) for step in steps.tolist())
    return _checked(metric, shares, spend, "banded Laplace")


def is_a_row(metric: VerifiedMetric) -> bool:
    """Whether only neighbours in the order of the secrets generate the metric."""
    return all(bool(np.all(np.abs(block.first - block.second) == 1)) for block in metric.metric.generating_pairs())


def _steps(metric: VerifiedMetric, spend: Fraction) -> NDArray[np.float64]:
    require_metric_and_spend(metric, spend)
    if metric.size > LONGEST_ROW:
        raise TooLarge(f"a banded table has at most {LONGEST_ROW:,} secrets, the metric {metric.size:,}")
    order = np.arange(metric.size - 1)
    steps = metric.distance(order, order + 1)
    if np.any(steps == 0):
        raise UnboundedLoss(TOGETHER)
    return np.asarray(steps)


def _checked(metric: VerifiedMetric, shares: tuple[Fraction, ...], spend: Fraction, name: str) -> BandedTable:
    """Every generating pair against the product of the odds between its ends, in balls of their logarithms.

    Raises: CertificateRefused with the pair that shows too much.
    """
    with ctx.workprec(_PRECISION):
        logs = {share: -arb(fmpq(share.numerator, share.denominator)).log() for share in set(shares) if share}
        along = [*accumulate((logs.get(share, arb(0)) for share in shares), initial=arb(0))]
        cuts = np.concatenate([[0], np.cumsum([share == 0 for share in shares])])
        rate, left = arb(fmpq(spend.numerator, spend.denominator)), _MOST_PAIRS
        for block in metric.metric.generating_pairs():
            left -= block.first.size
            if left < 0:
                raise TooLarge(f"more than {_MOST_PAIRS:,} pairs of secrets: this metric is no line")
            for i, j, bound in zip(block.first.tolist(), block.second.tolist(), block.bound.tolist(), strict=True):
                if cuts[i] != cuts[j] or not abs(along[i] - along[j]) <= rate * arb(bound):
                    raise CertificateRefused(
                        f"the secrets {i} and {j} are nearer than the way along the secrets between them: they are no "
                        "line"
                    )
    return BandedTable(name, metric, shares, spend, _DOOR)


def _one_way(shares: Sequence[float] | NDArray[np.float64], gaps: NDArray[np.float64]) -> NDArray[np.float64]:
    """E(position − own)⁺ from the last secret to the first: each is what remains beyond the next, and one gap more."""
    errors = np.zeros(len(gaps) + 1)
    for k in range(len(gaps) - 1, -1, -1):
        errors[k] = shares[k] * (gaps[k] / (1 + shares[k]) + errors[k + 1])
    return errors
