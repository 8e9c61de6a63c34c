"""What a distance tells an observer of everything that a budget allows, in words: odds, and curves over distance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.numeric.rounding import round_up
from dxgeom.privacy.measures import PURE, Privacy
from dxgeom.universe.columns import chance_in_words, plain
from dxgeom.wording.numbers import at_most

CHANCE: Final = 1e-6
"""How often odds may go beyond what is told of a concentrated policy."""
_SELDOM: Final = "one time in a million"
_STEPS: Final = (1, 2, 4)
_LARGEST: Final = 10**5
MOST_SAID: Final = 100.0
"""Of distances beyond, no more is said than of this one."""


@final
@dataclass(frozen=True)
class CurvePoint:
    """What is told at a distance, whatever concentrated mechanisms were used: all *rounded up*.

    ``odds``: more than these only once in a million times. ``epsilon``: with ``CHANCE`` as δ. ``right_guess``: the
    chance to tell which of two equally likely records it is.
    """

    distance: Fraction
    odds: str
    epsilon: float
    right_guess: float

    def __str__(self) -> str:
        return (
            f"at distance {plain(self.distance)} odds {self.odds}, a right guess between two equally likely "
            f"records at most {math.ceil(self.right_guess * 1000) / 10:g} %"
        )

    def as_dict(self) -> dict[str, Any]:
        """The point ready for JSON."""
        return {
            "distance": str(self.distance),
            "odds": self.odds,
            "epsilon": self.epsilon,
            "delta": CHANCE,
            "right_guess": self.right_guess,
        }


@final
@dataclass(frozen=True)
class Telling:
    """What all releases within a budget tell together, under a policy's privacy measure; except with chance ``delta``,
    where it is stated."""

    privacy: Privacy
    budget: Fraction
    delta: Fraction | None = None

    def at_most(self, epsilon: Fraction) -> str:
        """The odds between records at a distance as a limit, such as "at most 1.11 to 1", *rounded up*."""
        if self.privacy == PURE:
            return at_most(min(float(epsilon * self.budget), MOST_SAID)) + self._except
        return f"{concentrated(epsilon * self.budget)} (but {_SELDOM}){self._except}"

    @property
    def _except(self) -> str:
        """With which chance the odds do not hold, where the policy says so."""
        return except_with(self.delta)

    def factor(self, epsilon: Fraction) -> str:
        """The same as a limit to the factor by which odds move."""
        return re.sub(r"(at most|more than) ([0-9.,]+) to 1", r"\1 a factor \2", self.at_most(epsilon), count=1)

    def curve(self, nearest: Fraction) -> tuple[CurvePoint, ...]:
        """What is told at once, twice and four times a distance; of concentrated privacy only."""
        return () if self.privacy == PURE else tuple(curve_of((step * nearest for step in _STEPS), self.budget))


def except_with(delta: Fraction | None) -> str:
    """With which chance odds do not hold, behind them; nothing where they always do."""
    return "" if delta is None else f" (except with chance {chance_in_words(delta)})"


def concentrated(distance: Fraction) -> str:
    """The limit that the odds of concentrated privacy exceed, either way, with a chance of at most :data:`CHANCE`."""
    from dxgeom.privacy.curves import concentrated_odds  # balls are loaded for those who ask only

    if distance > _LARGEST:
        return at_most(MOST_SAID)
    # Odds against the truth are rarer still by e^−t: half of the chance is enough for each way.
    return at_most(concentrated_odds(CHANCE / 2, round_up(distance)))


def curve_of(distances: Iterable[Fraction], budget: Fraction) -> Iterable[CurvePoint]:
    """The points at these distances, after all of the budget."""
    from dxgeom.privacy.curves import concentrated_epsilon, concentrated_right_guess

    for distance in distances:
        told = distance * budget
        mu = round_up(min(told, Fraction(_LARGEST)))
        yield CurvePoint(distance, concentrated(told), concentrated_epsilon(CHANCE, mu), concentrated_right_guess(mu))


def curve_in_words(points: tuple[CurvePoint, ...]) -> list[str]:
    """The curve for a reader; nothing where there is none."""
    if not points:
        return []
    return [
        "Concentrated: what is told grows faster than distance. All releases within the budget together tell "
        f"({_SELDOM} odds may be larger):",
        *(f"  {point}." for point in points),
        "Squares of spends add up; answers that only have Gaussian noise tell a little less than this.",
    ]
