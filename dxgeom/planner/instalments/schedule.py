"""Which answers of a plan are released in which period, and of what their noise is made; or why they cannot be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, final
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism
from dxgeom.planner.instalments.forms import NEVER, InstalmentForm, ListedForm, TotalsForm, other_noise, refused
from dxgeom.universe.periods import along_time

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan

MOST_SUMS: Final = 1 << 21
"""Exact sums in all seals together."""


@final
@dataclass(frozen=True, eq=False)
class Schedule:
    """A plan, with noise in the order of its periods.

    ``plan``: the one that is released; ``plan_fingerprint``: of the one that was opened, as the ledger has it;
    ``along``: the attribute whose values are the ``periods``, by names in order.
    ``coordinates`` (m,): the period in which each coordinate of the noise is first released, ``numbers`` (n,): and each
    independent number; whatever is released never has the largest integer.
    """

    plan: Plan
    plan_fingerprint: str
    along: str
    periods: tuple[str, ...]
    form: InstalmentForm
    coordinates: NDArray[np.int64] = field(repr=False)
    numbers: NDArray[np.int64] = field(repr=False)

    def answers_in(self, place: int) -> list[int]:
        """Which answers are released in a period: those that look at it, and at none after it."""
        return np.flatnonzero(self.form.latest == place).tolist()

    def names_in(self, place: int) -> tuple[str, ...]:
        """What they are called."""
        names = self.form.names
        return tuple(names[answer] for answer in self.answers_in(place))

    def ends(self, place: int) -> datetime | None:
        """When a period is over whose name is a day, where the policy's time is; None where periods have other names.

        Without a ``zone`` days are of UTC.
        """
        days = _days(self.periods)
        if days is None:
            return None
        universe = self.plan.metric.universe
        found = along_time(() if universe is None else universe.attributes)
        own = found[1].periods if found is not None and found[1].name == self.along else None
        if place + 1 < len(days):
            end = days[place + 1]
        elif own is not None and days[place] < own.end:
            end = own.end
        else:
            length = days[place] - days[place - 1] if place else timedelta(days=1)
            end = days[place] + length if date.max - days[place] >= length else date.max
        zone = UTC if own is None or own.zone is None else ZoneInfo(own.zone)
        return datetime(end.year, end.month, end.day, tzinfo=zone)


def time_of(plan: Plan) -> str | None:
    """The attribute of the policy's own time; None where it states none."""
    attributes = () if plan.metric.universe is None else plan.metric.universe.attributes
    found = along_time(attributes)
    return None if found is None else found[1].name


def schedule_of(plan: Plan, along: str) -> Schedule:
    """The plan released along an attribute, whose values are the periods.

    Raises: UnsupportedCombination for an attribute that is not there, and for plans of which it is not proved that they
    may be released so; TooLarge.
    """
    mechanism, universe = plan.mechanism, plan.metric.universe
    if type(mechanism) not in (AdditiveMechanism, ToeplitzMechanism) or universe is None:
        raise refused(
            "that answers may be released one after the other is proved of lists of counts and sums and of running "
            "totals; noise in products, in parts and on whole tables is drawn for all periods at once, so that two "
            "releases from one copy of a ledger could reveal differences of the data exactly",
            f"{other_noise(plan.metric)}, or release it as a whole",
        )
    if universe.listed is not None:
        raise refused("its possible records are a list, which has no attributes", "give the attributes their values")
    names = [one.name for one in universe.attributes]
    if along not in names:
        known = ", ".join(map(repr, names))
        raise refused(
            f"the policy has no attribute '{along}', whose values would be the periods", f"name one of {known}"
        )
    _require_records_alone(mechanism, along)
    axis = names.index(along)
    periods = tuple(map(str, universe.attributes[axis].labels))
    form = _form(mechanism, axis, len(periods))
    if sum(form.sums_in(place) for place in range(len(periods))) > MOST_SUMS:
        raise refused(
            f"its seals would hold more than {MOST_SUMS:,} sums", "ask for fewer answers, or periods, at once"
        )
    coordinates = _first_told(form.takes, form.latest)
    if np.any((form.carried > coordinates) & (coordinates != NEVER)):
        raise refused(
            "some answers follow from others that are released in later periods",
            "write the queries in the order of their periods",
        )
    form = _in_order(form, coordinates)
    numbers = _first_told(form.law.dependence, coordinates)
    released = plan if form.mechanism is mechanism else replace(plan, mechanism=form.mechanism)
    return Schedule(released, plan.fingerprint, along, periods, form, coordinates, numbers)


def _form(mechanism: Any, axis: int, periods: int) -> InstalmentForm:
    if isinstance(mechanism, AdditiveMechanism):
        form: InstalmentForm = ListedForm.of(mechanism, axis, periods)
    else:
        form = TotalsForm.of(mechanism, axis, periods)
    if form.law.made_of is None:
        raise refused(
            f"the noise of all periods is drawn at once ({type(form.law).__name__}), so it is not proved that answers "
            "may be released one after the other: two releases from one copy of a ledger could reveal differences of "
            "the data exactly",
            other_noise(mechanism.metric),
        )
    return form


def _require_records_alone(mechanism: Any, along: str) -> None:
    """Raises: UnsupportedCombination where a period's rows say more than the noisy answers, or wait for later ones."""
    if mechanism.absent is None:
        raise refused(
            "the number of records is public under this policy, and that of a period would be an answer",
            "protect presence: add {presence: true, epsilon: …} to the rules",
        )
    people = mechanism.metric.people
    if people is not None and people.within != along:
        raise refused(
            "how much a row counts for is known only once all rows of its person are, and some are still to come",
            "let people count in each period of the policy's time, 'people: {count: once, in: period}', or every row",
        )


def _first_told(takes: NDArray[np.bool_], periods: NDArray[np.int64]) -> NDArray[np.int64]:
    """(n,): of what rows (K, n) take, the first of the rows' periods (K,); :data:`NEVER` where no row does."""
    return np.asarray(np.where(takes, periods[:, None], NEVER).min(axis=0, initial=NEVER))


def _in_order(form: InstalmentForm, coordinates: NDArray[np.int64]) -> InstalmentForm:
    """The form, or the same with its noise in the order of release: later coordinates have fresh noise.

    Raises: UnsupportedCombination where it has not, and is not put so.
    """
    released = np.flatnonzero(coordinates != NEVER)
    order = released[np.argsort(coordinates[released], kind="stable")]
    if form.law.fresh_in_turn(np.split(order, 1 + np.flatnonzero(np.diff(coordinates[order])))):
        return form
    found = form.in_order(order)
    if found is None:
        raise refused(
            "the noise of earlier periods is not drawn before that of later ones", other_noise(form.mechanism.metric)
        )
    return found


def _days(periods: Sequence[str]) -> list[date] | None:
    """The days that periods are named by, rising; None where they have other names."""
    try:
        days = [date.fromisoformat(name) for name in periods]
    except ValueError:
        return None
    return days if all(one < other for one, other in pairwise(days)) else None
