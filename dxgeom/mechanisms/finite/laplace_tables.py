"""Laplace mechanisms on finite sets: P(z | y) = λ(z)·e^(−d(y, z)), and the truncated geometric mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb, arb_mat, ctx

from dxgeom.errors import DxgeomError, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.finite.banded_tables import BandedTable, banded_geometric, banded_laplace, is_a_row
from dxgeom.mechanisms.finite.finite_mechanism import FiniteMechanism
from dxgeom.mechanisms.finite.private_table import PrivateTable, honouring, repaired
from dxgeom.mechanisms.finite.ratio_bounds import (
    LAW_BITS,
    TOGETHER,
    likelihood_ratio_bounds,
    odds_below,
    require_metric_and_spend,
)
from dxgeom.metrics.verification import VerifiedMetric

LARGEST_LINE = 512
"""Steps of a truncated geometric table, whose numbers have 48 bits for each step."""
LARGEST_SET = 256
"""Points of a Laplace mechanism, for which a system of so many equations is solved in ball arithmetic."""
WRITTEN_OUT = 100
"""Secrets on a line up to which a table is written out; longer ones are banded."""
_PRECISION = 384
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
    if metric.size > WRITTEN_OUT and is_a_row(metric):
        return banded_laplace(metric, spend)
    balls = _kernel(metric, spend)
    with ctx.workprec(_PRECISION):
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
    with ctx.workprec(_PRECISION):
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
    with ctx.workprec(_PRECISION):
        rate = arb(spend.numerator) / spend.denominator
        return [[(-rate * arb(entry)).exp() if np.isfinite(entry) else arb(0) for entry in row] for row in distances]


def _middle(ball: arb) -> Fraction:
    middle = ball.mid().fmpq()
    return Fraction(int(middle.p), int(middle.q))
