"""The best guess after an answer: Bayes' rule as free post-processing."""

from __future__ import annotations

from fractions import Fraction

from dxgeom.errors import DxgeomError
from dxgeom.mechanisms.finite.finite_mechanism import FiniteMechanism, Losses, Prior, require_prior


def bayes_remap(law: FiniteMechanism, prior: Prior, losses: Losses) -> tuple[int, ...]:
    """For each answer z the guess w that costs least on average over the posterior; the first among equals.

    Definition: argmin_w Σ_x π(x)·P(z | x)·losses[x][w]; *exact*. Reads no data, so it reveals nothing.
    Raises: DxgeomError when prior or losses do not fit.
    Source: Ghosh, Roughgarden & Sundararajan 2009; Chatzikokolakis et al. 2013, §4.2.
    """
    require_prior(prior, law.secrets)
    guesses = len(losses[0]) if len(losses) == law.secrets else 0
    if guesses == 0 or any(len(row) != guesses for row in losses):
        raise DxgeomError(f"losses form a table with a row of equal length for each of {law.secrets} secrets")
    return tuple(
        min(
            range(guesses), key=_costs([p * row[z] for p, row in zip(prior, law.rows, strict=True)], losses).__getitem__
        )
        for z in range(law.answers)
    )


def remapped_loss(law: FiniteMechanism, prior: Prior, losses: Losses) -> Fraction:
    """The expected loss of whoever knows the prior and guesses best, *exact*."""
    remap = bayes_remap(law, prior, losses)
    return law.followed_by(remap, len(losses[0])).expected_loss(prior, losses)


def _costs(joint: list[Fraction], losses: Losses) -> list[Fraction]:
    return [
        sum((chance * row[w] for chance, row in zip(joint, losses, strict=True)), Fraction(0))
        for w in range(len(losses[0]))
    ]
