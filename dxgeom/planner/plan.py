"""A plan: what is answered and how is decided, no data are read yet; the same class whatever is asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import pointing_elsewhere, require_level, taking
from dxgeom.displayed import Pictured
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.composition import metrics_of_rows
from dxgeom.old_names import OldName
from dxgeom.planner.amounts import Amount, exact_amount, require_records
from dxgeom.planner.estimates.estimate import (
    AskedEstimate,
    EstimateName,
    EstimateWish,
    as_wish,
    named_estimate,
    require_whole_records,
)
from dxgeom.planner.overview import PlanOverview, StatedQuestion, TableErrors
from dxgeom.planner.plan_kind import RECORDS, PlanKind
from dxgeom.planner.release import LEFT_OUT, EachTime, Release, Wanted
from dxgeom.universe.people.people import public_number_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from dxgeom.ledger.ledger import Ledger
    from dxgeom.metrics.verification import VerifiedMetric
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.estimates.worth import EstimateWorth
    from dxgeom.planner.instalments.instalment import Instalment
    from dxgeom.planner.instalments.over_time import TotalsOverTime
    from dxgeom.planner.instalments.telling import Closing, Opening
    from dxgeom.planner.releases.reading import SimulatedWorth


@final
@dataclass(frozen=True, eq=False)
class PlanFile:
    """What a plan was read from.

    ``policy``: that of the file. ``spend``: what the file states, None where it leaves that open. ``digest``: of the
    whole file; whoever signs a plan signs this. ``document``: its parts; ``text``: they as they are written.
    """

    policy: Any  # a Policy, of which nothing is known here
    spend: Fraction | None
    digest: str
    document: Any = field(repr=False)
    text: Callable[[], str] = field(repr=False)


Said = TypeVar("Said")


def of_kind(hook: Callable[[PlanKind, Plan], Said]) -> cached_property[Said]:
    """What the plan's kind says of it, with the same words about it; found when it is first asked for."""

    def found(plan: Plan) -> Said:
        said: Said = getattr(plan.kind, hook.__name__)(plan)
        return said

    found.__doc__ = hook.__doc__
    return cached_property(found)


@final
@dataclass(frozen=True, eq=False, repr=False)
class Plan(Pictured):
    """The chosen mechanism, and what is known of its errors; reusable for many releases, each charged on its own.

    At spend s noise is 1/s as wide as at 1, its mean squared error 1/s² as large. In plans from files nothing else was
    tried: they list no candidates, and their lower bound is 0.
    ``kind``: what plans of such questions say. ``metric``: what the answers are private under. ``question``: what is
    asked, of tasks the tasks; ``mechanism``: what a release draws from. ``records``: their public number, where it was
    stated. ``parts``: of tasks the plan of each, with the task's share of a spend; of a fit, and of several families,
    the plan that it is made of; of quantiles how each is answered. ``decided``: what a search decided, and what is
    known of it, as the kind keeps it. ``file``: what it was read from, with the policy, and the spend if it states one;
    None where it was planned here.

    One rule of spends: what takes one is, where none is given, at the file's; and at no other, where the file states
    it. Where none is stated, figures are at 1; releases at the least for the errors that were asked for, and refused
    where none were. Whatever takes no spend is at 1.
    What a kind of plan has not it refuses in two sentences: why, and what to take instead. None, or nothing in a list,
    is said only where that is so.
    """

    kind: PlanKind
    metric: VerifiedMetric
    question: Any
    mechanism: Any
    records: int | None = None
    parts: tuple[Any, ...] = ()
    decided: Any = field(default=None, repr=False)
    file: PlanFile | None = field(default=None, kw_only=True)

    chosen = of_kind(PlanKind.chosen)
    family = of_kind(PlanKind.family)
    tasks = of_kind(PlanKind.tasks)
    warnings = of_kind(PlanKind.warnings)
    kept = of_kind(PlanKind.kept)
    compared_at = of_kind(PlanKind.compared_at)
    wants_errors = of_kind(PlanKind.wants_errors)
    least_spend = of_kind(PlanKind.least_spend)
    totals = of_kind(PlanKind.totals)
    queries = of_kind(PlanKind.queries)
    objective = of_kind(PlanKind.objective)
    loss = of_kind(PlanKind.loss)
    lower_bound = of_kind(PlanKind.lower_bound)
    predicted_mse = of_kind(PlanKind.predicted_mse)
    comparison = of_kind(PlanKind.comparison)
    candidates = of_kind(PlanKind.candidates)
    noise = of_kind(PlanKind.noise)
    covariance_gap = of_kind(PlanKind.covariance_gap)
    bounds = of_kind(PlanKind.bounds)
    privacy_measures = of_kind(PlanKind.privacy_measures)
    currencies = OldName("privacy_measures")
    units = of_kind(PlanKind.units)
    bias_in_words = of_kind(PlanKind.bias_in_words)
    purpose = of_kind(PlanKind.purpose)
    question_in_words = of_kind(PlanKind.question_in_words)
    fingerprint = of_kind(PlanKind.fingerprint)
    records_of = of_kind(PlanKind.records_of)

    @cached_property
    def plan(self) -> Plan:
        """The same plan as it is without its file: of no stated spend."""
        return self if self.file is None else replace(self, file=None)

    @property
    def policy(self) -> Any:
        """The policy in the plan's file; None where it was planned here."""
        return None if self.file is None else self.file.policy

    @property
    def document(self) -> Any:
        """The parts of the plan's file; None where it was planned here."""
        return None if self.file is None else self.file.document

    @property
    def digest(self) -> str | None:
        """That of the plan's file; None where it was planned here."""
        return None if self.file is None else self.file.digest

    @property
    def spend(self) -> Fraction | None:
        """What the plan's file states, None where that leaves it open; where it was planned here, at which spend forms
        were compared."""
        return self.compared_at if self.file is None else self.file.spend

    def at_spend(self, spend: Amount | None = None) -> Fraction:
        """The spend of a release, by the rule above.

        Raises: UnsupportedCombination for none at all, or another than the file's.
        """
        stated = self._given(spend)
        amount = self.least_spend if stated is None and self.wants_errors else stated
        if amount is None:
            raise UnsupportedCombination(
                "this plan states no spend: say how much of the budget to use, such as spend=0.25"
            )
        return amount

    def spend_of_figures(self, spend: Amount | None = None) -> Fraction:
        """The spend of figures, by the rule above. Raises: UnsupportedCombination for another than the file's."""
        return self._given(spend) or Fraction(1)

    def _given(self, spend: Amount | None) -> Fraction | None:
        amount, stated = None if spend is None else exact_amount(spend, "spend"), self.file and self.file.spend
        if amount is not None and stated is not None and amount != stated:
            raise UnsupportedCombination(
                f"this plan was made for the spend {stated}, found {amount}: leave it out, or plan anew"
            )
        return stated if amount is None else amount

    def rmse(self, spend: Amount | None = None) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst over all data; of whole tables of the least exact
        cell of each; what rounding of values adds for each record is left out where their number was not stated."""
        return self.kind.known(self, self.spend_of_figures(spend), None).rmse

    def half_widths(
        self, level: float = 0.95, spend: Amount | None = None, records: int | None = None
    ) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``; infinite where rounding of
        values moves an answer for each of a number of records that was not stated. Of readings, and of a small
        database, all at once.

        Args: ``records``: their public number; left out, what was stated.
        """
        require_records(records)
        return self.kind.known(self, self.spend_of_figures(spend), records).half_widths(level)

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise, at any spend, by what values stand for and by
        changed queries; infinite where that grows with a number of records that was not stated."""
        return self.kind.known(self, Fraction(1), None).biases

    def statements(self, spend: Amount | None = None, level: float = 0.95, records: int | None = None) -> Sequence[Any]:
        """What holds of its errors, whatever the data, in sentences; of several tasks those of each.

        Args: ``records``: their public number, for what depends on it; left out, what was stated. Where nobody stated
        one, what is said of quantiles holds of any number.
        """
        require_level(level)
        require_records(records)
        return self.kind.statements(self, self.spend_of_figures(spend), level, records)

    def bars(self, spend: Amount | None = None, records: int | None = None) -> Any:
        """What is known of the errors of answers to a list of queries."""
        require_records(records)
        return self.kind.bars(self, self.spend_of_figures(spend), records)

    @property
    def rounding_biases(self) -> NDArray[np.float64]:
        """(K,): the part of :attr:`biases` that is there because values stand for many numbers."""
        return self.kind.rounding_biases(self)

    def useless_answers(self, spend: Amount | None = None, records: int | None = None) -> Any:
        """The answers whose expected error exceeds all that they can be, and what spend would help.

        Args: ``records``: their public number; left out, what the queries state. None are told without it.
        """
        require_records(records)
        return self.kind.useless_answers(self, self.spend_of_figures(spend), records)

    @property
    def answers_a_list(self) -> bool:
        """Whether it is noise on a list of queries, so that errors are foretold answer by answer."""
        return self.kind.answers_a_list

    @property
    def gap(self) -> float:
        """The loss over the lower bound: within this factor of the best noise added to the exact answers."""
        if self.loss == 0:
            return 1.0
        return self.loss / self.lower_bound if self.lower_bound > 0 else np.inf

    @property
    def interrupted(self) -> str | None:
        """The candidate that was being built when somebody interrupted the planning; None where nobody did, or where
        the plan is from a file: then ``comparison.search`` says what the file does."""
        return self.comparison.interrupted

    def as_it_is(self) -> Plan:
        """The same plan to be released, though somebody interrupted the search for a better one."""
        return self.kind.as_it_is(self)

    def uninterrupted(self) -> Plan:
        """The same plan, where a plan is wanted whole. Raises: KeyboardInterrupt where planning it was interrupted."""
        if self.interrupted is not None:
            raise KeyboardInterrupt
        return self

    @property
    def ordinary(self) -> CandidateResult:
        """Ordinary ε-DP, which noise on queries is compared with; where that was not tried, saying so."""
        from dxgeom.planner.candidates import Kind, names  # slow to load

        (name,) = names(Kind.ORDINARY)
        return self.comparison.result(name)

    @property
    def epsilon_dp_ratio(self) -> float | None:
        """How many times this plan's loss ordinary ε-DP would have; None without either."""
        ordinary = self.ordinary.loss
        return None if ordinary is None or self.loss == 0 else ordinary / self.loss

    @property
    def reason(self) -> str:
        """Why this mechanism, in one sentence."""
        return self.kind.reason(self)

    @property
    def bound_in_words(self) -> str:
        """What is known of how near this plan is to the best, in one sentence."""
        return self.kind.bound_in_words(self)

    @property
    def biases_in_words(self) -> list[str]:
        """What is to be known beside noise and :meth:`statements`, in plain sentences."""
        return self.kind.biases_in_words(self)

    def each_stated(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[StatedQuestion]:
        """Each question, and what holds of its errors at a spend with a probability."""
        return self.kind.each_stated(self, self._given(spend), level)

    def each_table(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[TableErrors]:
        """Of whole tables, and of boxes, the error of each at a spend; () of other plans."""
        return self.kind.each_table(self, self._given(spend), level)

    def overview(self, spend: Amount | None = None, level: float = 0.95) -> PlanOverview:
        """The plan at a spend, as a reader is shown it; left out, at the least for errors that were asked for."""
        shown = self._given(spend) or (self.least_spend if self.wants_errors else None) or Fraction(1)
        return self.kind.overview(self, shown, level)

    def lines(self) -> list[str]:
        """The plan for a reader."""
        return self.kind.lines(self)

    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""
        read = metrics_of_rows(self.mechanism)
        public = bool(read) and all(metric.absent is None for metric in read)
        return {**self.kind.as_dict(self), **public_number_in_words(public)}

    def to_json(self) -> str:
        """The plan as JSON text; of one from a file the text of that file."""
        return self.file.text() if self.file else json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    @pointing_elsewhere
    @taking(Wanted, LEFT_OUT)
    def release(self, table: Any, *, estimate: AskedEstimate | None = None, **how: Unpack[Wanted]) -> Release[Any]:
        """Charge the ledger, then answer once: :func:`dxgeom.release` of the plan's mechanism.

        Args: ``table``: path to CSV or Parquet, DataFrame, Arrow table, or histogram array. ``spend``: left out where
        the plan's file states it, or errors were asked for. ``estimate``: "auto", "consistent", "integers", "records"
        or "model" puts :meth:`dxgeom.Release.estimate` into the release's JSON, too; "none" puts none. Left out, a
        model is there where the plan says so: where noise adds up to a quarter of the records. The others are those
        of :func:`dxgeom.release`.
        Raises: DataError before anything is charged; BudgetExceeded, LedgerError without anything charged.
        """
        from dxgeom.planner.releases.answer_once import checked_order, release_as  # a plan alone needs no ledger

        self.kind.require_whole(self)
        named = None if estimate is None else named_estimate(estimate)
        if named is not None:
            self.require_estimate(named)
        spend = self.at_spend(how["spend"])
        # Before anything is charged: what is paid for must not be lost to it.
        beside = self.kind.own_estimate(self, spend) if estimate is None else named
        order = checked_order(
            self.mechanism,
            spend,
            purpose=how["purpose"] or self.purpose,
            plan_fingerprint=self.fingerprint,
            id=how["id"],
            allotment=how["allotment"],
        )
        released = release_as(
            order,
            self.mechanism,
            partial(self.kind.answers, self),
            self.kind.blank(self, self.records),
            self.kind.taken(self, table),
            how,
        )
        return replace(released, estimated_as=named, shown_estimate=beside)

    @property
    def over_time(self) -> TotalsOverTime | None:
        """What its noise reveals of rows in several periods, for :func:`dxgeom.disclosure.disclosed_loss`; None but of
        running totals along the policy's time alone."""
        from dxgeom.planner.instalments.over_time import over_time

        return over_time(self)

    def open(
        self,
        ledger: str | Path | Ledger,
        *,
        along: str | None = None,
        spend: Amount | None = None,
        purpose: str = "",
        allotment: str | None = None,
    ) -> Opening:
        """Charge the ledger with all periods of this plan at once, to be released one by one by :meth:`release_period`.

        Args: ``along``: the attribute whose values, in their order, are the periods. ``spend``: of the whole window,
        left out where the plan's file states it. A plan that is open already is charged nothing.
        Raises: BudgetExceeded, LedgerError with nothing spent; UnsupportedCombination for plans of which it is not
        proved that they may be released in instalments.
        """
        from dxgeom.planner.instalments.telling import open_plan  # a plan alone needs no ledger

        return open_plan(self, ledger, along, spend, purpose, allotment)

    def release_period(
        self,
        table: Any,
        *,
        period: str,
        ledger: str | Path | Ledger,
        along: str | None = None,
        key: str | Path | None = None,
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        quiet_data: bool = False,
    ) -> Instalment:
        """The answers of one period of a plan that was opened: those that look at it, and at no later one. Its exact
        sums are sealed in the ledger first, and all answers are worked out from seals.

        Args: ``table``: as of :meth:`release`; rows of other periods are left alone. ``period``: by its name. A period
        that was released is shown again, and no data are read. ``key``: the file of the key that seals are closed
        with; left out, the one that ``DXGEOM_KEY`` names, else that of the user. The others are those of
        :meth:`release`.
        Raises: NotDue, with nothing read, for a plan that is not open, and for a period that is none of its, is not
        over, or comes after one that was not released; LedgerError without the key of earlier seals.
        """
        from dxgeom.planner.instalments.forms import TableReading
        from dxgeom.planner.instalments.telling import tell  # a plan alone needs no ledger

        return tell(self, table, period, along, ledger, key, TableReading(outside, count_column, quiet_data))

    def close(self, ledger: str | Path | Ledger, *, along: str | None = None) -> Closing:
        """End an opened plan: no period is sealed or answered any more. The ledger keeps what was charged.

        Raises: NotDue for a plan that is not open; LedgerError.
        """
        from dxgeom.planner.instalments.telling import close_plan  # a plan alone needs no ledger

        return close_plan(self, ledger, along)

    def release_again(self, ledger: str | Path, entry: int) -> Release[Any]:
        """The release of a ledger's entry by this plan, as it was: for estimates, other intervals and other forms of
        it. Reads no table, costs nothing, and leaves the ledger as it is.

        Raises: LedgerError for an entry of another plan or policy, and for one without an answer.
        """
        from dxgeom.planner.releases.again import release_of_entry  # a plan alone needs no ledger

        return release_of_entry(self, ledger, entry)

    def require_bars(self, level: float, spend: Amount, *, joint: bool = False) -> None:
        """Raises: UnsupportedCombination, before anything is charged, for intervals of a level that the answers will
        not have, or that will not hold at once."""
        self.kind.require_whole(self)
        blank = self.kind.blank_answers(self, exact_amount(spend, "spend"), self.kind.records(self))
        _ = blank.document(level, joint=joint)

    def require_estimate(self, estimate: EstimateName | EstimateWish = "consistent") -> None:
        """Raises: UnsupportedCombination where there is no such estimate; TooLarge where answers are too many."""
        wish = as_wish(estimate)
        require_whole_records(wish, next((metric.people for metric in metrics_of_rows(self.mechanism)), None))
        self.kind.require_estimate(self, wish)

    require_agreement = OldName("require_estimate")

    def estimate_worth(self, spend: Amount | None = None, records: int | None = None) -> EstimateWorth:
        """What :meth:`dxgeom.Release.estimate` of whole tables is worth, whatever the data.

        Args: ``records``: their public number; left out, what was stated.
        Raises: UnsupportedCombination for what is no whole table.
        """
        require_records(records)
        return self.kind.estimate_worth(self, self.spend_of_figures(spend), records)

    def simulate_estimate(
        self,
        public_table: Any,
        *,
        spend: Amount | None = None,
        estimate: EstimateName = "auto",
        draws: int = 8,
        count_column: str | None = None,
    ) -> SimulatedWorth:
        """What :meth:`dxgeom.Release.estimate` would be worth on a table that is public already, such as that of an
        earlier year: releases of it are tried out. No ledger is charged, and what is returned is **not private**.

        Args: ``public_table``: as of :meth:`release`; it may have any number of records. ``draws``: of noise.
        Of tasks the one list of queries is tried out, at its share.
        Raises: DataError; UnsupportedCombination where there is no such estimate, as of several lists.
        """
        from dxgeom.planner.releases.reading import simulated_worth  # a plan alone reads no table

        self.kind.require_whole(self)
        self.require_estimate(estimate)
        shown = self._given(spend) or (self.least_spend if self.wants_errors else None) or Fraction(1)
        return simulated_worth(self, public_table, shown, as_wish(estimate), draws, count_column)

    @taking(EachTime, LEFT_OUT)
    def to_opendp(self, *, spend: Amount | None = None, **how: Unpack[EachTime]) -> Any:
        """This plan at a spend as an ``opendp.Measurement``, which releases, and charges the ledger, at each call.

        Guarantee, arguments, errors: those of :func:`dxgeom.planner.releases.opendp_measurement.measurement_of`.
        """
        from dxgeom.planner.releases.opendp_measurement import measurement_of

        self.kind.require_whole(self)
        return measurement_of(self.release, self.mechanism, self.at_spend(spend), **how)

    @pointing_elsewhere
    def rehearse(self, *, spend: Amount | None = None, records: int | None = None) -> Release[Any]:
        """A release of made-up records, each of any type alike: everything happens but for a ledger. Reads no data.

        Args: ``records``: how many; left out, as many as the plan is for, or else 1,000.
        Raises: as :meth:`release`, for a spend beyond the whole budget too.
        """
        require_records(records)
        self.kind.require_whole(self)
        rows = self.kind.made_up(self, records or self.kind.records(self) or RECORDS)
        return replace(self.release(rows, ledger=":memory:", spend=spend), rehearsal=True)
