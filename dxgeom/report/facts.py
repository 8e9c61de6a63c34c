"""What a review page is about: a policy, its closest and farthest pairs, what is asked under it, what was told."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.metrics.diameters import smallest_distance
from dxgeom.policy.explain.review import Review
from dxgeom.policy.explain.tightening import LISTED, AttributeExamination
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE, privacy_measure_of

if TYPE_CHECKING:
    from dxgeom.ledger.entry import Entry
    from dxgeom.ledger.history import History
    from dxgeom.planner.plan import Plan
    from dxgeom.report.released import Released


PRESENCE: Final = "having a record or none"
_SAME: Final = 1e-9

_INTERVAL: Final = re.compile(r"\[(-?[0-9.]+), (-?[0-9.]+)([)\]])")

Chosen: TypeAlias = NDArray[np.bool_]


def spoken(label: str) -> str:
    """A value as a page says it: an interval in words, anything else as it stands.

    >>> spoken("[1, 3)"), spoken("[8, 31]"), spoken("F32")
    ('1 to below 3', '8 to 31', 'F32')
    """
    found = _INTERVAL.fullmatch(label)
    return label if found is None else f"{found[1]} to {'below ' if found[3] == ')' else ''}{found[2]}"


def both(one: str, other: str) -> str:
    """Two records in one way everywhere: in brackets where they have several parts.

    >>> both("B01", "S52"), both("B01, 1 to 2", "S52, 8 to 31")
    ('B01 and S52', '(B01, 1 to 2) and (S52, 8 to 31)')
    """
    return f"({one}) and ({other})" if ", " in one or ", " in other else f"{one} and {other}"


@final
@dataclass(frozen=True)
class Pair:
    """Two records in words, and how far they are from each other (*rounded down*; ∞ where nothing joins them).

    ``records``: their numbers under the metric, where they are two of the possible ones.
    """

    words: str
    distance: float
    records: tuple[int, int] | None = field(default=None, compare=False)


@final
@dataclass(frozen=True, eq=False)
class PairDistances:
    """All pairs of records that differ in one attribute only, or of all listed records: ``distances`` (n, n).

    ``step``: by how much the number of a record grows from one value to the next.
    """

    name: str
    labels: tuple[str, ...]
    distances: NDArray[np.float64] = field(repr=False)
    step: int = 1

    @property
    def size(self) -> int:
        """How many values or records."""
        return len(self.labels)

    @property
    def every(self) -> Chosen:
        """All pairs of different ones."""
        return ~np.eye(self.size, dtype=np.bool_)

    def pair(self, first: int, second: int) -> Pair:
        """Two of them."""
        records = first * self.step, second * self.step
        return Pair(both(self.labels[first], self.labels[second]), float(self.distances[first, second]), records)

    def closest(self, chosen: Chosen) -> Pair | None:
        """Of the chosen pairs the one at the smallest distance above 0."""
        return self._at(np.where(chosen & (self.distances > 0), self.distances, np.inf), smallest=True)

    def farthest(self, chosen: Chosen) -> Pair | None:
        """Of the chosen pairs the one at the largest distance."""
        return self._at(np.where(chosen, self.distances, -1.0), smallest=False)

    def middle(self, chosen: Chosen) -> Pair | None:
        """Of the chosen pairs one in the middle of their order by distance."""
        first, second = np.nonzero(np.triu(chosen & (self.distances > 0), 1))
        if first.size < 3:
            return None
        order = np.argsort(self.distances[first, second], kind="stable")
        at = order[order.size // 2]
        return self.pair(int(first[at]), int(second[at]))

    def nearest(self, chosen: Chosen, target: float) -> Pair | None:
        """Of the chosen pairs the one whose distance is nearest to that, if it is within a tenth of it."""
        with np.errstate(invalid="ignore"):
            off = np.where(chosen, np.abs(self.distances - target), np.inf)
        first, second = (int(one) for one in np.unravel_index(int(np.argmin(off)), off.shape))
        return self.pair(min(first, second), max(first, second)) if off[first, second] <= 0.1 * target else None

    def _at(self, distances: NDArray[np.float64], *, smallest: bool) -> Pair | None:
        place = int(np.argmin(distances) if smallest else np.argmax(distances))
        first, second = (int(one) for one in np.unravel_index(place, distances.shape))
        nothing = math.isinf(distances[first, second]) if smallest else distances[first, second] < 0
        return None if nothing else self.pair(min(first, second), max(first, second))


def comparisons(policy: Policy, examined: tuple[AttributeExamination, ...]) -> tuple[PairDistances, ...]:
    """A comparison for each attribute that is small enough, or one of all listed records."""
    small = {one.name for one in examined if one.examined and one.values > 1}
    universe, metric = policy.universe, policy.metric
    if universe.listed is not None:
        if LISTED not in small:
            return ()
        records = np.arange(universe.record_types)
        labels = tuple(", ".join(_called(policy, universe.record(record))) for record in records.tolist())
        return (PairDistances(LISTED, labels, _distances(metric.distance(records[:, None], records[None, :]))),)
    found, step = [], 1
    for attribute in reversed(universe.attributes):
        if attribute.name in small:
            records = np.arange(attribute.size) * step
            distances = metric.distance(records[:, None], records[None, :])
            called = tuple(spoken(policy.labels.value(attribute.name, label)) for label in attribute.labels)
            found.append(PairDistances(attribute.name, called, _distances(distances), step))
        step *= attribute.size
    return tuple(reversed(found))


def _called(policy: Policy, record: Mapping[str, str]) -> Iterator[str]:
    """The values of a record, as readers know them."""
    return (spoken(policy.labels.value(name, value)) for name, value in record.items())


def _distances(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Both ways alike: what rounding makes of one of them is taken of the larger."""
    return np.asarray(np.maximum(found, found.T), dtype=np.float64)


@final
@dataclass(frozen=True)
class Extremes:
    """The closest and the farthest two kinds of record. ``exact``: whether the farthest is known, or is a bound."""

    closest: Pair
    farthest: Pair
    exact: bool


def extremes(
    policy: Policy, compared: tuple[PairDistances, ...], examined: tuple[AttributeExamination, ...]
) -> Extremes:
    """Of all records of the policy's universe."""
    far, exact = _farthest(policy, compared, examined)
    return Extremes(_closest(policy, compared), far, exact)


def _closest(policy: Policy, compared: tuple[PairDistances, ...]) -> Pair:
    least = smallest_distance(policy.metric)
    presence = [rule.presence for rule in policy.rules if rule.presence is not None]
    if presence and float(min(presence)) <= least * (1 + _SAME):
        return Pair(PRESENCE, least)
    for one in compared:
        pair = one.closest(one.every)
        if pair is not None and pair.distance <= least * (1 + _SAME):
            return pair
    return Pair("the closest two", least)


def _farthest(
    policy: Policy, compared: tuple[PairDistances, ...], examined: tuple[AttributeExamination, ...]
) -> tuple[Pair, bool]:
    if policy.universe.listed is not None:
        whole = compared[0].farthest(compared[0].every) if compared else None
        return (whole, True) if whole is not None else (Pair("the farthest two", math.inf), False)
    sizes = {one.name: one for one in examined}
    known = {one.name: one for one in compared}
    first, second, exact, most = 0, 0, True, 0.0
    words: list[tuple[str, str]] = []
    for attribute in policy.universe.attributes:
        here, there = 0, attribute.size - 1
        if attribute.name in known:
            place = np.argmax(known[attribute.name].distances)
            here, there = (int(one) for one in np.unravel_index(int(place), known[attribute.name].distances.shape))
            here, there = min(here, there), max(here, there)
            most += float(known[attribute.name].distances.max())
        elif attribute.size > 1:
            diameter = sizes[attribute.name].diameter
            exact = exact and diameter is not None and sizes[attribute.name].form in ("discrete", "line")
            most += math.inf if diameter is None else diameter
        first, second = first * attribute.size + here, second * attribute.size + there
        called = (policy.labels.value(attribute.name, attribute.labels[code]) for code in (here, there))
        words.append((spoken(next(called)), spoken(next(called))))
    ends = (", ".join(each[k] for each in words) for k in (0, 1))
    distance = float(policy.metric.distance(first, second))
    return Pair(both(*ends), distance, (first, second)) if exact else Pair("the farthest two", most), exact


@final
@dataclass(frozen=True, eq=False)
class Facts:
    """Everything that the sections tell.

    ``plan``: of counts, sums and means; ``plan_shown``: of anything else, such as quantiles, where no errors are
    foretold answer by answer; one of both at most. ``spend``: of the budget on the plan's questions. ``spent``: how
    much of the budget was spent so far, None where nobody keeps an account. ``releases``: what was answered.
    """

    policy: Policy
    review: Review
    compared: tuple[PairDistances, ...]
    extremes: Extremes
    plan: Plan | None = field(default=None, repr=False)
    spend: Fraction | None = None
    plan_digest: str | None = None
    history: History | None = field(default=None, repr=False)
    releases: tuple[Released, ...] = ()
    plan_shown: Any = field(default=None, repr=False)

    @property
    def budget(self) -> float:
        """The whole budget."""
        return float(self.policy.budget)

    @property
    def records(self) -> int | None:
        """The public number of records, where it was stated or told."""
        plan = self.plan_shown or self.plan
        found = None if plan is None else known_records(plan)
        return found or next((one.records for one in self.releases if one.records is not None), None)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The ledger's entries that were charged to this policy, about the same people."""
        policy, history = self.policy, self.history
        return () if history is None else entries_of(history, policy.fingerprint, policy.data_set.edition)

    @property
    def spent(self) -> Fraction | None:
        """How much of the budget was spent so far."""
        if self.history is not None:
            measure = privacy_measure_of(self.policy.privacy)
            return measure.spend_above(sum((measure.counted(entry.spend) for entry in self.entries), Fraction(0)))
        left = [one.remaining for one in self.releases if one.remaining is not None]
        return self.policy.budget - min(left) if left else None

    @property
    def foreign_ledger(self) -> bool:
        """Whether the ledger is kept for another policy's data."""
        history = self.history
        if history is None or not history.accounts:
            return False
        if any(account.policy_fingerprint == self.policy.fingerprint for account in history.accounts):
            return False
        return history.data_set.name is None or history.data_set.name != self.policy.data_set.name


def known_records(plan: Plan) -> int | None:
    """The public number of records, as it was stated for the plan or in its queries; None where neither says."""
    return plan.records or (plan.plan.queries.records if plan.plan.answers_a_list else None)


def require_odds(policy: Policy) -> None:
    """Raises: UnsupportedCombination for a policy under which no odds are promised, which a page is made of."""
    if policy.privacy != PURE:
        raise UnsupportedCombination(
            f"pictures and comparisons tell odds, and policy '{policy.name}' counts {policy.privacy} privacy, which "
            "promises none that always hold: read its curves with 'dxgeom check' and 'dxgeom report'"
        )


def facts_of(
    policy: Policy,
    plan: Plan | None = None,
    spend: Fraction | None = None,
    plan_digest: str | None = None,
    history: History | None = None,
    releases: tuple[Released, ...] = (),
    plan_shown: Any = None,
) -> Facts:
    """The facts of a policy, and of what else is at hand. Raises: TooLarge where records cannot be numbered."""
    if not policy.universe.indexable:
        raise TooLarge(
            f"a page compares pairs of records by their numbers, and policy '{policy.name}' has more possible records "
            "than can be numbered: read its rules with 'dxgeom check', and errors with 'dxgeom plan'"
        )
    review = policy.review()
    compared = comparisons(policy, review.attributes)
    ends = extremes(policy, compared, review.attributes)
    return Facts(policy, review, compared, ends, plan, spend, plan_digest, history, releases, plan_shown)


def entries_of(history: History, policy_fingerprint: str, edition: str | None) -> tuple[Entry, ...]:
    """The ledger's entries that were charged to a policy, about the same people."""
    numbers = {one.number for one in history.accounts if one.policy_fingerprint == policy_fingerprint}
    every = (entry for entry in history.entries if entry.account in numbers)
    return tuple(entry for entry in every if not history.disjoint or entry.edition == edition)
