"""Mechanisms that pick and add noise, run with every choice made for them, and how likely those choices were.

All that they draw passes through ``noisy_largest`` or ``NoiseLaw``; chances are those of ``selection_law`` and of the
cells of a Laplace density, so that the law of an answer is known exactly for every data set.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from fractions import Fraction
from unittest.mock import patch

import mpmath
import numpy as np

from dxgeom.mechanisms.quantiles import transport
from dxgeom.mechanisms.selection import scores, selections
from dxgeom.noise.law import NoiseLaw
from reference.selection_law import CHANCES


class NotSaidYet(Exception):
    """A choice is asked for that the script does not make: among so many."""

    def __init__(self, among):
        self.among = among


class Script:
    """``picks``: which candidate each selection takes; ``noise``: what each draw of noise is, 0 where it ends.

    ``log_chances``: of each selection and of each draw, in their order.
    """

    def __init__(self, picks, noise=()):
        self.picks, self.noise, self.log_chances = list(picks), list(noise), []

    @property
    def log_chance(self):
        return sum(self.log_chances, mpmath.mpf(0))

    def _taken(self, among):
        if not self.picks:
            raise NotSaidYet(among)
        return self.picks.pop(0)

    def pick(self, scores, rate, law, randomness):
        del randomness
        place = self._taken(len(scores))
        chance = CHANCES[law]([int(score) for score in scores], Fraction(rate))[place]
        self.log_chances.append(mpmath.log(chance) if chance else -mpmath.inf)
        return place

    def best(self, scores, randomness):
        """Where nothing private is in the scores: each of the best is as likely."""
        every = np.flatnonzero(scores == scores.max())
        place = self._taken(len(scores))
        self.log_chances.append(-mpmath.log(len(every)) if place in every else -mpmath.inf)
        return place

    def worth(self, worths, slack, ball, law, randomness):
        del slack, ball
        return self.pick(
            [Fraction(one).limit_denominator(10**9) * 10**9 for one in worths], Fraction(1, 10**9), law, randomness
        )

    def piece(self, worths, slack, ball, law, randomness):
        """By the logarithms of chances, up to a factor, as they are in balls."""
        del slack, randomness
        assert law == "exponential"
        place = self._taken(len(worths))
        logs = [mpmath.mpf(float(ball(number).mid())) for number in range(len(worths))]
        self.log_chances.append(logs[place] - _log_sum(logs))
        return place

    def alike(self, number, randomness):
        del randomness
        self.log_chances.append(-mpmath.log(number))
        return self._taken(number)

    def draw(self, law, count, randomness, factor=Fraction(1)):
        drawn = []
        for _ in range(count):
            row = self.noise.pop(0) if self.noise else [0] * law.dimension
            scales = (mpmath.mpf(float(one)) * factor.numerator / factor.denominator for one in law.laplace_scales)
            self.log_chances.append(sum((log_cell(z, scale) for z, scale in zip(row, scales, strict=True))))
            drawn.append(list(row))
        return drawn


def log_cell(z, scale):
    """log P(round(V) = z), V of density e^(−|v|/scale)/(2·scale)."""
    half = 1 / (2 * scale)
    return mpmath.log1p(-mpmath.exp(-half)) if z == 0 else -abs(z) / scale + mpmath.log(mpmath.sinh(half))


@contextmanager
def played(script):
    with ExitStack() as patches:
        patches.enter_context(patch.object(selections, "noisy_largest", script.pick))
        patches.enter_context(patch.object(selections, "largest", script.best))
        patches.enter_context(patch.object(transport, "noisy_largest", script.pick))
        patches.enter_context(patch.object(transport, "noisy_largest_worth", script.piece))
        patches.enter_context(patch.object(transport, "uniform_integer", script.alike))
        patches.enter_context(patch.object(scores, "noisy_largest_worth", script.worth))
        patches.enter_context(patch.object(NoiseLaw, "draw_whole", lambda law, *given: script.draw(law, *given)))
        yield


def answer_law(run, picks=()):
    """{answer: log chance} of whatever only picks: all scripts are tried. Answers are told apart by their text."""
    script = Script(picks)
    try:
        with played(script):
            answer = str(run())
    except NotSaidYet as more:
        laws = [answer_law(run, (*picks, place)) for place in range(more.among)]
        answers = {answer for law in laws for answer in law}
        return {one: _log_sum([law[one] for law in laws if one in law]) for one in answers}
    return {answer: script.log_chance}


def _log_sum(logs):
    return mpmath.log(sum(mpmath.exp(one) for one in logs)) if len(logs) > 1 else logs[0]
