"""What a rule and a policy promise, also to people with many rows, in sentences that can be read aloud."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np

from dxgeom.metrics.metric import Metric
from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.rule_kinds import kind_of_rule
from dxgeom.policy.source.fields import edges_words
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.people.people import SHARES, People
from dxgeom.universe.wording import shown

NEIGHBOURS: Final = (
    "Who is a neighbour: tables in which one person's record is replaced by another; the number of records is public."
)
NEIGHBOURS_IN_PRESENCE: Final = (
    "Who is a neighbour: tables in which one person's record is replaced by another, added or removed; the number of "
    "records is private."
)
ONE_RECORD: Final = "Assumed: every person has exactly one record. Someone with several is protected less."
OBSERVER: Final = (
    "Odds are those of an observer who may know every other record, or believe of the others anything that does not "
    "depend on this person's record."
)
AGES: Final = (
    "an answer may come out at once, so what may be revealed at once is kept whatever a row's age, and never more"
)
_ROUNDED_DOWN: Final = 1 + Fraction(1, 10**9)
_MOST_VALUES: Final = 100_000


def sentence(rule: ResolvedRule, all_told: Telling) -> str:
    """A worked sentence for a rule: what it leaves an observer of everything the budget allows."""
    syntax = rule.syntax
    told = "are told apart with odds"
    if rule.lasting is not None:
        lasting, one = rule.lasting, rule.presence
        whole = one is None or one == lasting.epsilon
        return (
            f"whatever somebody does {lasting.words}, {lasting.of_somebody} at most, is revealed with odds "
            f"{all_told.at_most(lasting.epsilon)}"
            + ("" if whole or one is None else f"; and so of one {lasting.every} {all_told.at_most(one)}")
        )
    if rule.presence is not None:
        there = "whether somebody has a record at all is told, whatever the record, with odds"
        older = f"; {AGES}" if syntax.published is not None else ""
        twice = all_told.at_most(2 * rule.presence)
        return f"{there} {all_told.at_most(rule.presence)}; and so any two records {twice}{older}"
    if rule.everything is not None:
        return f"any two records {told} {all_told.at_most(rule.everything)}"
    names = list(syntax.change or ())
    if rule.missing:
        away = all_told.at_most(syntax.epsilon or Fraction(0))
        return f"two records that differ only in {names[0]}, missing in one of them, {told} {away}"
    if syntax.together is not None or (syntax.secrets is not None and syntax.secrets.partition is not None):
        return _several(syntax, all_told)
    if syntax.secrets is not None:
        return _along_edges(names[0], rule, all_told)
    given = kind_of_rule(syntax)
    if given is not None:
        kind, stated = given
        [(name, bound)] = rule.bounds
        return kind.sentence(name, stated, syntax.otherwise, bound, all_told.at_most)
    epsilon = syntax.epsilon or Fraction(0)
    length = syntax.per or syntax.within
    if length is None:
        return f"two records that differ only in {_only_in(names)} {told} {all_told.at_most(epsilon)}"
    how = "" if syntax.per else "at most "
    who = f"two records that differ only in {_only_in(names)}, by {how}{length},"
    twice = f"; by twice that, {all_told.at_most(2 * epsilon)}" if syntax.per or syntax.beyond else ""
    return f"{who} {told} {all_told.at_most(epsilon)}{twice}"


def _several(syntax: RuleSyntax, all_told: Telling) -> str:
    """A rule about several attributes together, or about the blocks of a partition."""
    names, epsilon = listed(syntax.change or ()), syntax.epsilon or Fraction(0)
    told = f"are told apart with odds {all_told.at_most(epsilon)}"
    by = listed(syntax.secrets.partition or ()) if syntax.secrets is not None else ""
    if by and syntax.change:
        return f"two records that differ only in {names}, inside one {by}, {told}"
    if by:
        return f"two records that agree in {by}, whatever else differs, {told}"
    if syntax.measure is None:
        return f"two records that differ only in {names}, together, {told}"
    who = f"two records that differ only in {names}, together, in none of them by more than {syntax.per}, {told}"
    return f"{who}; by twice that, {all_told.at_most(2 * epsilon)}"


def listed(names: Sequence[str]) -> str:
    """Names as a person lists them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _along_edges(name: str, rule: ResolvedRule, all_told: Telling) -> str:
    [(_, bound)] = rule.bounds
    least, most = (all_told.at_most(Fraction(one)) for one in bound.extremes)
    file = edges_words(rule.syntax.secrets.edges or "") if rule.syntax.secrets else ""
    who = f"two records that differ only in {name}, by an edge of {file}, are told apart with odds"
    return f"{who} {most}" if least == most else f"{who} {least} for some and {most} for others, by the edge's weight"


def _only_in(names: list[str]) -> str:
    return ", or only in ".join(names)


def belief(
    rule: ResolvedRule,
    attributes: Mapping[str, tuple[Attribute, Metric]],
    everything: Fraction | None,
    all_told: Telling,
) -> str:
    """A sentence about two values that the rule is about; empty where it selects none that could be shown.

    Definition: odds of x against y after seeing all releases ≤ e^(budget·d(x, y)) · odds before, for every prior; of
    concentrated privacy with all but a stated chance.
    Args: each attribute with its metric, none where a table lists the records; ``everything``: the smallest bound on
    all pairs of records.
    Guarantee: the factor is *rounded up*.
    Source: Chatzikokolakis et al. 2013, Theorem 4 for neighbourhoods of two.
    """
    if rule.everything is not None:
        stated = rule.everything if everything is None else min(rule.everything, everything)
        return _moved("one record against another", stated, all_told)
    if rule.lasting is not None:
        somebody = f"{rule.lasting.of_somebody} {rule.lasting.words} against none"
        return _moved(somebody, rule.lasting.epsilon, all_told)
    if rule.presence is not None:
        return _moved("there being a record against there being none", rule.presence, all_told)
    for name, bound in rule.bounds:
        if name not in attributes:
            return ""
        attribute, metric = attributes[name]
        pair = _example(metric, bound)
        if pair is not None:
            distance = Fraction(float(metric.distance(*pair))) * _ROUNDED_DOWN
            distance = distance if everything is None else min(distance, everything)
            one, other = (shown(attribute.labels[code]) for code in pair)
            return _moved(f"{name} {one} against {other}", distance, all_told)
    return ""


def _moved(what: str, epsilon: Fraction, all_told: Telling) -> str:
    moved = f"all releases together move the odds of {what} by {all_told.factor(epsilon)}"
    return f"whatever an observer believed before, {moved}"


def _example(metric: Metric, bound: Bound) -> tuple[int, int] | None:
    """Two values that the bound is about: those it names, or the most sensitive one and its nearest."""
    start, end = bound.example()
    if end is not None:
        return start, end
    others = np.arange(min(metric.size, _MOST_VALUES))
    others = others[others != start]
    if others.size == 0:
        return None
    distances = metric.distance(start, others)
    apart = (distances > 0) & np.isfinite(distances)
    if not apart.any():
        return None
    return start, int(others[np.argmin(np.where(apart, distances, np.inf))])


_ROUNDED: Final = (
    "Rows are rounded to shares: exactly for people of up to 16 rows; with k different records among a person's rows "
    "before and k' after, the distance that counts is larger by at most (k + k')/184,504,320 of the largest finite one."
)
_MOVER: Final = (
    "The distance of two people is the earth mover's: what it costs at least to carry the one's rows, spread evenly, "
    "to the other's, each part of a row at the distance of the records ('dxgeom explain' shows the plan)."
)
_APART: Final = (
    "Some records are infinitely far apart: people are compared only where equal fractions of their rows lie in each "
    "group of records that rules join; sums of these fractions may be told exactly, and with them numbers of rows."
)
_ANSWERS_ONCE: Final = (
    "A count adds up each person's fraction of matching rows, not the people who ever match; an unconditional mean "
    "without missing values is the mean of people's own means, any other weighs people by the fraction it counts."
)
_DROPPED: Final = (
    "Rows outside are refused; where they are dropped, the promise is about kept rows only, each person's weight is "
    "spread over these, and whether a person keeps any is public."
)
_DROPPED_FIRST: Final = (
    "Rows outside are refused; where they are dropped, that is done first: a person's other rows count as if they were "
    "all, and the promise is about these."
)
_DROPPED_IN_PRESENCE: Final = "A row outside that is dropped counts as absent, with its part of the person's weight."
_IDS: Final = "Rows that name nobody are refused; one person under several names is several people."


@final
@dataclass(frozen=True)
class PeopleReview:
    """Who is a neighbour, what is assumed of people, and what else is to be known of them."""

    neighbours: str
    assumed: str
    more: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """For a reader."""
        return (self.neighbours, self.assumed, *self.more)

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        more = {"people": list(self.more)} if self.more else {}
        return {"neighbours": self.neighbours, "assumed": self.assumed, **more}


def people_review(policy: ResolvedPolicy, unprotected: Sequence[object]) -> PeopleReview:
    """What the policy says of people; ``unprotected``: what is infinitely far apart."""
    people, presence = policy.universe.reading.people, policy.universe.absent is not None
    if people is None:
        return PeopleReview(NEIGHBOURS_IN_PRESENCE if presence else NEIGHBOURS, ONE_RECORD)
    apart = (_APART,) if unprotected and people.in_shares else ()
    dropped = _DROPPED_IN_PRESENCE if presence else _DROPPED
    if people.count == "rows" and people.in_shares:
        dropped = dropped if presence else _DROPPED_FIRST
        more = (*_spread_more(people, presence), *apart, dropped, _IDS)
        return PeopleReview(_spread(people, presence), people.sentence, more)
    if people.within is not None:
        return PeopleReview(_once_in_periods(people.within), people.sentence, (*_IN_PERIODS, _ROUNDED, dropped, _IDS))
    if people.count == "once":
        return PeopleReview(_once(presence), people.sentence, (_MOVER, _ROUNDED, *apart, _ANSWERS_ONCE, dropped, _IDS))
    if people.count == "rows":
        return PeopleReview(_rows(presence), people.sentence, (*_rows_more(people, presence), _IDS))
    neighbours = NEIGHBOURS_IN_PRESENCE if presence else NEIGHBOURS
    return PeopleReview(neighbours, people.sentence, (_IDS,))


_IN_PERIODS: Final = (
    "The distance of two people in one period is the earth mover's: what it costs at least to carry the one's rows of "
    "it, as they count, to the other's, or to absence. Over several periods distances add up.",
    "A row that moves to a period in which its person has other rows is one of these there: what a rule says of moves "
    "is of a person's only row of both periods, and others are bounded by presence.",
)


def _once_in_periods(name: str) -> str:
    return (
        f"Who is a neighbour: tables in which one person's rows of one period of '{name}' are replaced by any others "
        "of it, however many, or by none; how many people a period has is private. Answers depend on the fractions of "
        "a person's rows of a period, never on their number."
    )


def _once(presence: bool) -> str:
    whole = "added or removed with all of them; the number of people is private"
    return (
        "Who is a neighbour: tables in which one person's rows are replaced by any others, however many"
        + (f", or the person is {whole}. " if presence else "; the number of people is public. ")
        + "Answers depend on the fractions of a person's rows, never on their number."
    )


def _spread(people: People, presence: bool) -> str:
    most = people.at_most
    told = (
        "or the person is added or removed with all of them; the number of rows is private."
        if presence
        else f"as many, or at least {most} before and after; the number of rows that count is public."
    )
    return f"Who is a neighbour: tables in which one person's rows are replaced by any others, {told}"


def _spread_more(people: People, presence: bool) -> tuple[str, ...]:
    most = people.at_most
    told = (
        f"A person with n rows, fewer than {most}, is nearer to absence: n parts in {most} of it."
        if presence
        else f"Everybody's number of rows up to {most} is public: nothing limits what may be learnt of it."
    )
    return (
        f"Each row tells a part in {most} of what the rules allow, so that all rows of a person together tell no more "
        "than they allow.",
        f"A person with more than {most} rows counts {most}, each row a fraction: a bias that error bars do not cover.",
        told,
        f"The distance of two people is a part in {most} of the earth mover's: of what it costs at least to carry the "
        "one's rows, as they count, to the other's, each at the distance of the records ('dxgeom explain' shows the "
        "plan).",
        f"Rows are rounded to shares: exactly for people of up to {max(people.most_rows, 16)} rows. With k different "
        "records before and k' after, the distance that counts is larger by at most (k + "
        f"k')/{SHARES * people.most_rows:,} of the largest finite one.",
    )


def _rows(presence: bool) -> str:
    told = "kept rows may be absent" if presence else "how many rows of each person are kept is public"
    return (
        "Who is a neighbour: tables in which one person's protected attributes are replaced in all their rows; which "
        f"rows there are and their order stay, and {told}."
    )


def _rows_more(people: People, presence: bool) -> tuple[str, ...]:
    absence = (
        " A person who is absent is at most the largest distance to absence away."
        if presence
        else " With rows outside dropped, a place left empty is not filled by a later row."
    )
    return (
        f"Each row tells a part in {people.at_most} of what the rules allow, so that all kept rows of a person "
        "together tell no more than they allow.",
        f"Kept are the first {people.at_most} by '{people.order}', whatever they say.{absence}",
        f"'{people.order}' is not protected: if it changes, only the largest distance of two records bounds what is "
        "told, at an equal number of kept rows.",
    )
