"""What a policy with a time says of a person over a day, a week, a month and the whole window: words, odds, a curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.metrics.metric import Metric
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.explain.tightening import largest_distance
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.time import PolicyTime, time_of
from dxgeom.universe.people.people import People

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
    """Some ``periods`` in a row, and the most that all releases within the budget may tell of whatever one person has
    in them: the ``distance`` of any two streams that differ there only, *rounded up*, and the odds."""

    periods: int
    distance: Fraction
    odds: str


@final
@dataclass(frozen=True)
class TimeReview:
    """What is revealed over time: ``spans`` from one period to all; ``crossed``: whether a rule is about moves."""

    time: PolicyTime
    spans: tuple[TimeSpan, ...]
    crossed: bool
    people: People | None

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
            what = f"whatever one person's rows of one {every} say, and whether there are any"
        elif span.periods < most:
            what = f"the same of any {_counted(span.periods, every)} in a row"
        else:
            what = f"the same of a life, all {_counted(most, every)}"
        return f"  {what}: odds of everything published in the window move by {span.odds}."

    def _ends(self) -> tuple[str, ...]:
        before, after = self.time.before, self.time.after
        kept = " and ".join(word for word, one in (("before", before), ("after", after)) if one is not None)
        said = (f"  Rows of days {kept} the window are there, too, and no period counts them.",) if kept else ()
        if not (self.crossed and kept):
            return said
        return (
            *said,
            "  A row that moves over an end of the window is in two years' plans: each takes the step at less than its "
            "distance, so that both together tell no more than the rule says.",
        )

    @property
    def in_short(self) -> str:
        """One line on a screen: a period, some in a row, all."""
        every = self.time.periods.every
        told = (f"{_counted(one.periods, every)} {one.odds.split(' (')[0]}" for one in self.spans[:2] + self.spans[-1:])
        return f"Whatever one person does there moves odds: {'; '.join(dict.fromkeys(told))}."

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

    Definition: two streams that differ in w periods are at most w times as far apart as two records of one period, or a
    record and none, can be. ``parts``: the attributes' metrics.
    """
    time = time_of(policy.document, policy.universe)
    presence = min((rule.presence for rule in policy.rules if rule.presence is not None), default=None)
    if time is None or presence is None:
        return None
    one = _of_one_period(policy, parts, time.attribute, presence)
    every = len(time.ids)
    lengths = (*(n for n in (1, *_SPANS[time.periods.every]) if n < every), every)
    spans = tuple(TimeSpan(n, n * one, telling.at_most(n * one)) for n in lengths)
    crossed = any(name == time.attribute for rule in policy.rules for name, _ in rule.bounds)
    return TimeReview(time, spans, crossed, policy.universe.reading.people)


def _of_one_period(policy: ResolvedPolicy, parts: Sequence[Metric], name: str, presence: Fraction) -> Fraction:
    """The largest distance of two records of one period, or of a record and none; *rounded up*."""
    ceilings = [rule.everything for rule in policy.rules if rule.everything is not None]
    whole = Fraction(0)
    for attribute, metric in zip(policy.universe.attributes, parts, strict=True):
        if attribute.name != name:
            own = largest_distance(metric)
            if own is None or own == float("inf"):
                return min([2 * presence, *ceilings])
            whole += Fraction(own) * _UP
    return max(presence, min([whole, 2 * presence, *ceilings]))


def _counted(number: int, every: str) -> str:
    return f"{number:,} {every}{'' if number == 1 else 's'}"
