"""What a policy with a time says of a row a day, over a day, a week, a month and the whole window: words and odds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.metrics.metric import Metric
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.explain.tightening import largest_distance
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.time import Lasting, PolicyTime, time_of

_SPANS: Final[dict[str, tuple[int, ...]]] = {
    "day": (7, 30, 90),
    "week": (4, 13),
    "month": (3, 12),
    "quarter": (4,),
    "year": (5,),
}
"""How many periods in a row a review speaks of, beside one and all."""
_UP: Final = 1 + Fraction(1, 2**40)


@final
@dataclass(frozen=True)
class TimeSpan:
    """Some ``periods`` in a row, and the most that all releases within the budget may tell of one row in each of them,
    whatever it says and whether it is there: the ``distance`` of any two streams that differ there only, *rounded up*,
    and the odds."""

    periods: int
    distance: Fraction
    odds: str


@final
@dataclass(frozen=True)
class TimeReview:
    """What is revealed over time: ``spans`` from one period to all, of one row a period; ``stepped``: whether a rule
    states moves in time ``per`` length; ``crossed``: whether one states them in another way."""

    time: PolicyTime
    spans: tuple[TimeSpan, ...]
    stepped: bool
    crossed: bool

    def lines(self) -> tuple[str, ...]:
        """For a reader."""
        periods, every = self.time.periods, self.time.periods.every
        return (
            f"Time: {_counted(len(periods.ids), every)} by '{self.time.attribute}', from {periods.first} to "
            f"{periods.last}; the day of a row says its period.",
            *map(self._said, self.spans),
            *self._ends(),
        )

    def _said(self, span: TimeSpan) -> str:
        every, most = self.time.periods.every, len(self.time.ids)
        if span.periods == 1:
            what = f"whatever one row of one {every} says, and whether it is there"
        elif span.periods < most:
            what = f"the same of one row in each of any {_counted(span.periods, every)} in a row"
        else:
            what = f"the same of a life, one row in each of all {_counted(most, every)}"
        return f"  {what}: odds of everything published in the window move by {span.odds}."

    def _ends(self) -> Iterator[str]:
        """What holds of rows beyond the window, and of those that move over an end of it."""
        ends = {"before": self.time.before, "after": self.time.after}
        kept = [word for word, one in ends.items() if one is not None]
        lost = " and ".join(word for word, one in ends.items() if one is None)
        if kept:
            yield f"  Rows of days {' and '.join(kept)} the window are there, too, and no period counts them."
        if lost:
            yield (
                f"  Rows of days {lost} the window are left out: one that moves over that end is there or not, in this "
                "window's plan and in the next, whatever rules say of moves."
            )
        if self.stepped and not lost:
            yield (
                "  A row that moves over an end of the window is in two years' plans: each takes the steps of rules "
                "with 'per' at less than their distance, so that both together tell no more than these rules say."
            )
        if self.crossed:
            yield (
                "  Rules about moves in time without 'per' hold in each window's plan: of a row that moves over an "
                "end, two plans tell as much each."
            )

    @property
    def in_short(self) -> str:
        """One line on a screen: a row of a period, of some in a row, of all."""
        every = self.time.periods.every
        told = (f"{_counted(one.periods, every)} {one.odds.split(' (')[0]}" for one in self.spans[:2] + self.spans[-1:])
        return f"Whatever one row a {every} says moves odds: {'; '.join(dict.fromkeys(told))}."

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        periods = self.time.periods
        return {
            "attribute": self.time.attribute,
            "every": periods.every,
            "first": periods.first.isoformat(),
            "last": periods.last.isoformat(),
            "periods": len(periods.ids),
            "spans": [{"periods": s.periods, "distance": float(s.distance), "odds": s.odds} for s in self.spans],
        }


def time_review(policy: ResolvedPolicy, parts: Sequence[Metric], telling: Telling) -> TimeReview | None:
    """What a policy says over time; None where it states none.

    Definition: of two streams of one row a period that differ in some periods in a row, the least that covers of these
    by windows of rules and single periods add up to. Of a single one it is how far two records, or a record and none,
    can be apart. ``parts``: the attributes' metrics.
    """
    time = time_of(policy.document, policy.universe)
    presence = min((rule.presence for rule in policy.rules if rule.presence is not None), default=None)
    if time is None or presence is None:
        return None
    one = _of_one_period(policy, parts, time.attribute, presence)
    every = len(time.ids)
    lasting = [rule.lasting for rule in policy.rules if rule.lasting is not None]
    one = min(
        [one, *(rule.presence for rule in policy.rules if rule.lasting is not None and rule.presence is not None)]
    )
    looked_at = {1, *_SPANS[time.periods.every], *(each.periods for each in lasting if not each.life)}
    lengths = (*sorted(n for n in looked_at if n < every), every)
    apart = _of_periods(every, one, lasting)
    spans = tuple(TimeSpan(n, apart[n], telling.at_most(apart[n])) for n in lengths)
    moves = [bound for rule in policy.rules for name, bound in rule.bounds if name == time.attribute]
    stepped = [bound.in_order for bound in moves]
    tied = any(rule.joint is not None and time.attribute in rule.joint.names for rule in policy.rules)
    return TimeReview(time, spans, any(stepped), tied or not all(stepped))


def _of_one_period(policy: ResolvedPolicy, parts: Sequence[Metric], name: str, presence: Fraction) -> Fraction:
    """The largest distance of two records of one period, or of a record and none; *rounded up*."""
    ceilings = [rule.everything for rule in policy.rules if rule.everything is not None]
    whole = Fraction(0)
    for attribute, metric in zip(policy.universe.attributes, parts, strict=True):
        if attribute.name != name:
            own = largest_distance(metric)
            if own is None or own == float("inf"):
                return max(presence, min([2 * presence, *ceilings]))
            whole += Fraction(own) * _UP
    return max(presence, min([whole, 2 * presence, *ceilings]))


def _of_periods(most: int, one: Fraction, lasting: Sequence[Lasting]) -> list[Fraction]:
    """(most + 1,): how far apart so many changed periods in a row can be."""
    found = [Fraction(0)]
    for number in range(1, most + 1):
        covered = [each.epsilon + found[max(0, number - each.periods)] for each in lasting]
        found.append(min([one + found[-1], *covered]))
    return found


def _counted(number: int, every: str) -> str:
    return f"{number:,} {every}{'' if number == 1 else 's'}"
