"""What a ledger's releases under one policy reveal over time: of one row in each of some periods, and of streams."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any, Final, Protocol, final

import numpy as np

from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.entry import Entry
from dxgeom.policy.explain.over_time import TimeReview, time_review
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import CONCENTRATED, Privacy

_UP: Final = 1 + 2.0**-40


class NoiseOverTime(Protocol):
    """What the noise of a plan reveals where 1 is spent, of rows that differ in several periods."""

    def largest(self, periods: int) -> float:
        """Of any change within so many periods in a row, one row of each, at most; *rounded up*."""

    def of_change(self, changed: Sequence[int]) -> float:
        """Of so many rows more, or fewer, with each value of the time: *rounded up*, and no more than that."""


@final
@dataclass(frozen=True, eq=False)
class TimeLoss:
    """What may have been disclosed of one row in each of so many periods in a row, whatever it says, if it is there.

    ``spans``: how many periods, and the largest loss over all streams that differ within them; *rounded up*. ``every``:
    how long a period is; ``most``: how many there are. ``by_noise``: of how many of the ``releases`` the very noise was
    looked at; of the others it is what the policy promises.
    """

    every: str
    most: int
    spans: tuple[tuple[int, float], ...]
    by_noise: int
    releases: int
    privacy: Privacy
    _parts: tuple[tuple[Fraction, NoiseOverTime | None], ...] = field(repr=False)
    _promised: tuple[float, ...] = field(repr=False)
    _ends: tuple[int, int] = field(repr=False)

    def of_streams(self, first: Sequence[int], second: Sequence[int]) -> float:
        """What was disclosed of two streams, each by how many rows somebody has in each period; *rounded up*.

        Exact where the noise of all releases was looked at. Of other releases each row that is more or fewer counts as
        a change of its own. Raises: UnsupportedCombination for streams of other lengths, and what is no count.
        """
        for stream in (first, second):
            if len(stream) != self.most or any(type(one) is not int or one < 0 for one in stream):
                raise UnsupportedCombination(f"a stream is a list of {self.most:,} whole numbers, none below 0")
        changed = [one - other for one, other in zip(first, second, strict=True)]
        # Layer upon layer: in each of them one row a period at most.
        levels = sorted({0, *map(abs, changed)})
        layers = ((high - low) * self._covered([abs(one) > low for one in changed]) for low, high in pairwise(levels))
        promised = math.fsum(layers) * _UP
        within = [*[0] * self._ends[0], *changed, *[0] * self._ends[1]]
        each = [(spend, promised if noise is None else noise.of_change(within)) for spend, noise in self._parts]
        return _together(each, self.privacy)

    def _covered(self, layer: Sequence[bool]) -> float:
        """Of changes in these periods: one by one, or as the window they lie in."""
        places = [place for place, one in enumerate(layer) if one]
        return 0.0 if not places else min(len(places) * self._promised[1], self._promised[places[-1] - places[0] + 1])

    def lines(self, odds: Callable[[float], str]) -> list[str]:
        """For a reader. Args: ``odds``: a loss in words."""
        how = {0: "as the policy promises", self.releases: "by the noise of all releases"}.get(
            self.by_noise,
            f"by the noise of {self.by_noise:,} of {self.releases:,} releases, else as the policy promises",
        )
        return [
            f"over time, one row in each {self.every}, whatever it says and whether it is there ({how})",
            *(f"  {self._named(periods)}: {odds(loss)}" for periods, loss in self.spans),
        ]

    def _named(self, periods: int) -> str:
        several = f"{periods:,} {self.every}{'' if periods == 1 else 's'}"
        if periods == self.most:
            return f"a life, all {several}"
        return f"in one {self.every}" if periods == 1 else f"in any {several} in a row"

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "every": self.every,
            "by_noise": self.by_noise,
            "releases": self.releases,
            "spans": [{"periods": periods, "told": loss} for periods, loss in self.spans],
        }


def time_loss(
    policy: Policy,
    entries: Sequence[Entry],
    privacy: Privacy,
    known: Mapping[str, NoiseOverTime],
    up: Callable[[float], float],
) -> TimeLoss | None:
    """What these entries, all under one policy, reveal over its time; None where it states none, or there are none.

    Definition: of so many periods in a row the sum, or the root of the sum of squares, of what each release reveals
    at most: the amount spent, times what its noise reveals or the policy promises, whichever is less. ``up``: how
    figures are rounded up.
    """
    review = time_review(policy.resolved, policy.parts, Telling(policy.privacy, Fraction(1)))
    if review is None or not entries:
        return None
    parts = tuple((entry.spend, known.get(entry.plan_fingerprint)) for entry in entries)
    promised = {span.periods: float(span.distance) * _UP for span in review.spans}
    spans = [
        (periods, up(_together([(spend, _least(noise, periods, most)) for spend, noise in parts], privacy)))
        for periods, most in promised.items()
    ]
    count = len(review.time.ids)
    return TimeLoss(
        review.time.periods.every,
        count,
        tuple(spans),
        sum(noise is not None for _, noise in parts),
        len(parts),
        privacy,
        parts,
        _of_each(review, count),
        (int(review.time.before is not None), int(review.time.after is not None)),
    )


def _least(noise: NoiseOverTime | None, periods: int, promised: float) -> float:
    return promised if noise is None else min(promised, noise.largest(periods))


def _of_each(review: TimeReview, count: int) -> tuple[float, ...]:
    """(count + 1,): what is promised of so many periods in a row, by the next longer span that is reviewed."""
    found = np.full(count + 1, math.inf)
    for span in review.spans:
        found[span.periods] = float(span.distance) * _UP
    found[0] = 0.0
    longer = [*accumulate(found[::-1].tolist(), min)][::-1]
    return tuple(min(one, number * float(found[1])) for number, one in enumerate(longer))


def _together(each: Sequence[tuple[Fraction, float]], privacy: Privacy) -> float:
    losses = [float(spend) * loss * _UP for spend, loss in each]
    return (math.hypot(*losses) if privacy == CONCENTRATED else math.fsum(losses)) * _UP
