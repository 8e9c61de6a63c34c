"""Laplace mechanisms on finite sets: P(z | y) = λ(z)·e^(−d(y, z)), and the truncated geometric mechanism.

Laplace mechanisms on secrets in a row, without their table: ten thousand values as easily as ten.

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
from flint import arb, arb_mat, ctx, fmpq
from numpy.typing import ArrayLike, NDArray

from dxgeom.errors import CertificateRefused, DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.lab.finite_mechanism import (
    LAW_BITS,
    TOGETHER,
    FiniteMechanism,
    Losses,
    Prior,
    PrivateTable,
    bayes_remap,
    honouring,
    likelihood_ratio_bounds,
    odds_below,
    repaired,
    require_metric_and_spend,
)
from dxgeom.mechanisms.contract.mechanism import SecretMechanism
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


def _is_a_row(metric: VerifiedMetric) -> bool:
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


LARGEST_LINE = 512
"""Steps of a truncated geometric table, whose numbers have 48 bits for each step."""
LARGEST_SET = 256
"""Points of a Laplace mechanism, for which a system of so many equations is solved in ball arithmetic."""
WRITTEN_OUT = 100
"""Secrets on a line up to which a table is written out; longer ones are banded."""
_LAPLACE_PRECISION = 384
_NEGLIGIBLE = 2.0**-200


def truncated_geometric_law(steps: int, odds: Fraction) -> FiniteMechanism:
    """The truncated geometric mechanism on 0..steps, neighbours odds apart by ``odds`` = e^ε.

    Definition: P(z | y) = λ(z)·odds^(−|y−z|), λ = odds/(odds + 1) at the ends, (odds − 1)/(odds + 1) inside; on a
    single point the point mass. *Exact*; the mechanism's own metric is ln(odds)·|y − y′|, with equality for every pair.
    Raises: DxgeomError unless ``steps`` ≥ 0 and ``odds`` > 1; TooLarge beyond 512 steps.
    Source: Ghosh, Roughgarden & Sundararajan 2009; Chatzikokolakis et al. 2013, Fig. 2 (iv); corrected: a single
    point needs a row of its own.
    """
    if steps < 0 or not odds > 1:
        raise DxgeomError(f"a truncated geometric mechanism has steps ≥ 0 and odds > 1, found {steps} and {odds}")
    if steps > LARGEST_LINE:
        raise TooLarge(f"a table of {steps:,} steps is too long; at most {LARGEST_LINE}")
    if steps == 0:
        return FiniteMechanism(((Fraction(1),),))
    powers = [odds**-gap for gap in range(steps + 1)]
    scales = [odds / (odds + 1) if z in (0, steps) else (odds - 1) / (odds + 1) for z in range(steps + 1)]
    return FiniteMechanism(
        tuple(tuple(scales[z] * powers[abs(y - z)] for z in range(steps + 1)) for y in range(steps + 1))
    )


def truncated_geometric(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> PrivateTable | BandedTable:
    """The truncated geometric mechanism on equally spaced secrets, listed in order; above 100 banded, up to 10⁴.

    For a query of sensitivity Δ give the metric (ε/Δ)·|y − y′|. Optimal for every prior and every loss that grows
    with |y − z|, together with the best guesses.
    Raises: UnsupportedCombination when nothing is hidden, or CertificateRefused when the secrets are no line.
    Source: Chatzikokolakis et al. 2013, Theorem 10; corrected: §5.1 forgets to divide by the sensitivity.
    """
    require_metric_and_spend(metric, spend)
    if metric.size > WRITTEN_OUT:
        return banded_geometric(metric, spend)
    if metric.size == 1:
        return honouring(metric, truncated_geometric_law(0, Fraction(2)), "truncated geometric", spend)
    order = np.arange(metric.size - 1)
    step = float(metric.distance(order, order + 1).min())
    odds = odds_below(Fraction(step) * spend, LAW_BITS) if np.isfinite(step) else Fraction(1)
    if not odds > 1:
        raise UnsupportedCombination("a truncated geometric mechanism needs steps of positive, finite distance")
    return honouring(metric, truncated_geometric_law(metric.size - 1, odds), "truncated geometric", spend)


def finite_laplace(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> PrivateTable | BandedTable:
    """The mechanism P(z | y) = λ(z)·e^(−spend·d(y, z)) on the secrets themselves; on a long line banded, up to 10⁴.

    Definition: λ = G⁻¹·1 with G = e^(−spend·d), the only scales that make every row sum to 1.
    Guarantee: solved in balls of 384 bits, rounded to rationals, and the very rationals checked *exactly*.
    Raises: UnsupportedCombination when λ has a negative entry, as on dense grids of the plane: there is no such
    mechanism; UnboundedLoss when two secrets have distance 0; TooLarge beyond 256 secrets that are no line.
    Source: Chatzikokolakis et al. 2013, Definition 6, of which the truncated geometric mechanism is the case of a line.
    """
    require_metric_and_spend(metric, spend)
    if metric.size > WRITTEN_OUT and _is_a_row(metric):
        return banded_laplace(metric, spend)
    balls = _kernel(metric, spend)
    with ctx.workprec(_LAPLACE_PRECISION):
        try:
            solved = arb_mat(balls).solve(arb_mat([[arb(1)]] * metric.size))
        except ZeroDivisionError as error:
            raise UnsupportedCombination("e^(−d) has no provable inverse on these secrets") from error
        scales = [solved[z, 0] for z in range(metric.size)]
        below = next((z for z, scale in enumerate(scales) if not scale.lower() > -_NEGLIGIBLE), None)
        if below is not None:
            raise UnsupportedCombination(
                f"a Laplace mechanism on these secrets would need the scale {float(scales[below].mid()):.3g} for "
                f"answer {below}; use optimal_table or halved_exponential"
            )
        weights = [
            [max(_middle(scale * ball), Fraction(0)) for scale, ball in zip(scales, row, strict=True)] for row in balls
        ]
    return repaired(metric, likelihood_ratio_bounds(metric, spend), weights, "finite Laplace", spend)


def halved_exponential(metric: VerifiedMetric, spend: Fraction = Fraction(1)) -> PrivateTable:
    """The exponential mechanism P(z | y) ∝ e^(−spend·d(y, z)/2), each row normalised for itself.

    Rows of e^(−d) normalised for themselves hide 2d only, because the normaliser depends on the secret; hence the half.
    Raises: UnboundedLoss when two secrets have distance 0; TooLarge beyond 256 secrets.
    Source: McSherry & Talwar 2007; Chatzikokolakis et al. 2013, Fact 7, which needs a normaliser that does not.
    """
    require_metric_and_spend(metric, spend)
    with ctx.workprec(_LAPLACE_PRECISION):
        weights = [[_middle(ball) for ball in row] for row in _kernel(metric, spend / 2)]
    return repaired(metric, likelihood_ratio_bounds(metric, spend), weights, "halved exponential", spend)


def _kernel(metric: VerifiedMetric, spend: Fraction) -> list[list[arb]]:
    """Balls around e^(−spend·d), of the float64 distances as they stand."""
    if metric.size > LARGEST_SET:
        raise TooLarge(f"a Laplace mechanism's table has at most {LARGEST_SET} secrets, the metric {metric.size:,}")
    places = np.arange(metric.size)
    distances = metric.distance(places[:, None], places[None, :])
    if np.any((distances == 0) & (places[:, None] != places[None, :])):
        raise UnboundedLoss(TOGETHER)
    with ctx.workprec(_LAPLACE_PRECISION):
        rate = arb(spend.numerator) / spend.denominator
        return [[(-rate * arb(entry)).exp() if np.isfinite(entry) else arb(0) for entry in row] for row in distances]


def _middle(ball: arb) -> Fraction:
    middle = ball.mid().fmpq()
    return Fraction(int(middle.p), int(middle.q))
