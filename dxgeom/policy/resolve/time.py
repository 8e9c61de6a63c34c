"""What ``time`` means: one more attribute, whose values are periods; and what does not go with it, each by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.policy.kinds.kind import Misfit
from dxgeom.policy.kinds.periods import PERIODS, PeriodsSyntax
from dxgeom.policy.source.fields import Length
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.syntax.models import PolicySyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.policy.syntax.time_syntax import first_day
from dxgeom.privacy.measures import PURE
from dxgeom.universe.periods import Every, PeriodAttribute, Periods, along_time
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown

_SHARED: Final = {PURE: Fraction(1, 2)}
_SHARED_IN_SQUARES: Final = Fraction(7071, 10000)
"""Below √½: what two plans tell of a record that leaves the one and enters the other adds up to no more than a step."""


def with_time(tree: SyntaxTree, mistakes: Mistakes) -> SyntaxTree:
    """The tree with the attribute that ``time`` makes, after all others; what does not go with it is noted."""
    stated = tree.document.time
    _check_people(tree, mistakes)
    if stated is None:
        return tree
    universe = tree.document.universe
    if stated.column in universe.attributes or stated.column in tree.broken:
        message = f"{shown(stated.column)} is an attribute already, and time makes one of its column"
        advice = "leave the attribute out, or give it another name, with 'from'"
        mistakes.add("DX190", tree.span("time", "column"), message, advice)
        return tree
    if universe.table is not None:
        message = "a table lists the records of this policy, and time makes an attribute of its own"
        mistakes.add("DX190", tree.key_span("time"), message, "list attributes, or leave 'time' out")
        return tree
    border = _SHARED.get(tree.document.privacy, _SHARED_IN_SQUARES)
    given: dict[str, Any] = {"periods": Periods(first_day(stated), stated.to, stated.every, stated.zone)}
    given |= {"before": stated.before is None, "after": stated.after is None, "border": border}
    more = {"zone": stated.zone, "written": stated.written, "title": stated.title}
    given |= {key: value for key, value in more.items() if value is not None}
    attributes = {**universe.attributes, stated.column: PeriodsSyntax.model_construct(**given)}
    lowered = universe.model_copy(update={"attributes": attributes})
    return replace(tree, document=tree.document.model_copy(update={"universe": lowered}))


def _check_people(tree: SyntaxTree, mistakes: Mistakes) -> None:
    """Notes how people cannot count over time, and a number of records that would be public."""
    document, people = tree.document, tree.document.people
    stated = None if people is None or isinstance(people, str) else people
    each = None if stated is None else getattr(stated, "in")
    if each is not None and stated is not None and (document.time is None or stated.count != "once"):
        message = "'in: period' is for people who count once in each period of the policy's time"
        mistakes.add(
            "DX191", tree.key_span("people", "in"), message, "state a 'time' and 'count: once', or leave it out"
        )
    if document.time is None:
        return
    if stated is not None and stated.count == "once" and each is None:
        message = "a person who counts once in a whole life has a share in every period that depends on rows to come"
        mistakes.add("DX191", tree.span("people", "count"), message, "write 'in: period' beside it")
    if stated is not None and stated.count == "rows":
        message = "'at_most' over a whole life keeps rows of one period by what the others hold"
        mistakes.add("DX191", tree.span("people", "count"), message, "write 'count: once, in: period'")
    if not tree.broken and tree.rules_whole and not any(rule.presence or rule.any for rule in document.rules):
        message = "without a rule about presence the number of rows of a period is public, and so is who was there"
        mistakes.add("DX191", tree.key_span("time"), message, "add '- presence: true' with its epsilon to the rules")


@final
@dataclass(frozen=True)
class Lasting:
    """What a rule ``any`` states of whatever changes within some consecutive ``periods``, one record in each of them:
    its ``epsilon``. ``every``: how long a period is; ``life``: whether it is about all, and what is before and after,
    which ``ends`` names: each is one value, and one record.

    A change in several periods is one change after another. So where records of one period, or one and none, are apart
    by no more than ``share``, all of them together are by no more than epsilon: *exact*.
    """

    periods: int
    epsilon: Fraction
    every: Every
    life: bool
    ends: tuple[str, ...] = ()

    @property
    def share(self) -> Fraction:
        """How far two records of one period, or a record and none, may be apart."""
        return self.epsilon / self.periods

    @property
    def words(self) -> str:
        """What it is about, in words."""
        plural = "s" if self.periods > 1 else ""
        return "in a life" if self.life else f"within any {self.periods:,} {self.every}{plural} in a row"

    @property
    def of_somebody(self) -> str:
        """How many records somebody has at most of what it is about, in words."""
        beyond = " and ".join(f"one of all days {end}" for end in self.ends)
        return f"one record a {self.every}" + (f", {beyond} the window," if beyond else "")


def lasting_of(stated: Length | str, epsilon: Fraction, attribute: PeriodAttribute) -> Lasting | str:
    """What ``any`` means; what is wrong with it, in words."""
    every, most = attribute.periods.every, attribute.size
    if not isinstance(stated, Length):
        ends = (*(["before"] if attribute.before else []), *(["after"] if attribute.after else []))
        return Lasting(most, epsilon, every, life=True, ends=ends)
    found = PERIODS.measured(attribute, "any", stated)
    if isinstance(found, Misfit):
        return found.message
    inside = len(attribute.codes)
    if found[1].denominator != 1 or not 1 <= found[1] <= inside:
        return f"'any' is of 1 to {inside:,} whole periods of a {every}, found {stated}"
    return Lasting(int(found[1]), epsilon, every, life=False)


@final
@dataclass(frozen=True)
class PolicyTime:
    """The time of a policy: its ``attribute``, and the ``periods`` that this has, in their order.

    ``before`` and ``after``: what the values are called that hold all earlier and all later days, None where there are
    none; no period is called so.
    """

    attribute: str
    periods: Periods
    before: str | None
    after: str | None

    @property
    def ids(self) -> tuple[str, ...]:
        """What the periods are called: their first days, as year-month-day."""
        return self.periods.ids

    @property
    def edges(self) -> tuple[Any, ...]:
        """The first day of each period, and the first day beyond the last."""
        return (*self.periods.starts, self.periods.end)

    def period_of(self, moment: Any) -> str | None:
        """What the period of a day is called, a date or its text; None for a day before or after all of them."""
        return self.periods.period_of(moment)


def time_of(document: PolicySyntax, universe: Universe) -> PolicyTime | None:
    """The time of a policy, None where it has none."""
    found = along_time(universe.attributes)
    if document.time is None or found is None:
        return None
    _, made = found
    labels = made.labels
    return PolicyTime(made.name, made.periods, labels[0] if made.before else None, labels[-1] if made.after else None)
