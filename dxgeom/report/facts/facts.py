"""What a review page is about: a policy, what is asked under it, and what was told so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, final

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.ledger.entry import Entry
from dxgeom.ledger.history import History
from dxgeom.policy.explain.review import Review
from dxgeom.policy.policy import Policy
from dxgeom.privacy.currencies import PURE, currency_of
from dxgeom.report.facts.comparisons import Extremes, PairDistances, comparisons, extremes
from dxgeom.report.facts.released import Released

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan
    from dxgeom.report.facts.stated import StatedPlan


@final
@dataclass(frozen=True, eq=False)
class Facts:
    """Everything that the sections tell.

    ``plan``: of counts, sums and means; ``stated``: of anything else, such as quantiles, where no errors are foretold
    answer by answer; one of both at most. ``spend``: of the budget on the plan's questions. ``told``: how much of the
    budget was spent so far, None where nobody keeps an account. ``releases``: what was answered.
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
    stated: StatedPlan | None = field(default=None, repr=False)

    @property
    def budget(self) -> float:
        """The whole budget."""
        return float(self.policy.budget)

    @property
    def records(self) -> int | None:
        """The public number of records, where it was stated or told."""
        found = None if self.plan is None else self.plan.records or self.plan.queries.records
        found = found if self.stated is None else self.stated.plan.records
        return found or next((one.records for one in self.releases if one.records is not None), None)

    @property
    def told(self) -> Fraction | None:
        """How much of the budget was spent so far."""
        if self.history is not None:
            currency = currency_of(self.policy.privacy)
            return currency.spend_above(sum((currency.counted(entry.spend) for entry in entries_of(self)), Fraction(0)))
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
    stated: StatedPlan | None = None,
) -> Facts:
    """The facts of a policy, and of what else is at hand. Raises: TooLarge where records cannot be numbered."""
    if not policy.universe.indexable:
        raise TooLarge(
            f"a page compares pairs of records by their numbers, and policy '{policy.name}' has more record types than "
            "can be numbered: read its rules with 'dxgeom check', and errors with 'dxgeom plan'"
        )
    review = policy.review()
    compared = comparisons(policy, review.attributes)
    ends = extremes(policy, compared, review.attributes)
    return Facts(policy, review, compared, ends, plan, spend, plan_digest, history, releases, stated)


def entries_of(facts: Facts) -> tuple[Entry, ...]:
    """The ledger's entries that were charged to this policy, about the same people."""
    history = facts.history
    if history is None:
        return ()
    numbers = {one.number for one in history.accounts if one.policy_fingerprint == facts.policy.fingerprint}
    edition = facts.policy.data_set.edition
    every = (entry for entry in history.entries if entry.account in numbers)
    return tuple(entry for entry in every if not history.disjoint or entry.edition == edition)
