"""What every plan can do, whatever it asks: be released, be rehearsed, and say how exact its answers will be."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, Self, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Pictured
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.composition import metrics_of_rows
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.planner.amounts import Amount, exact_amount, require_records
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.overview import PlanOverview, StatedQuestion, TableErrors
from dxgeom.planner.release import Release
from dxgeom.planner.releases.rehearsal import RECORDS, made_up
from dxgeom.planner.unknown import Unknown

if TYPE_CHECKING:
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.planner.answers.error_bars import ErrorBars
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.comparing.comparison import CandidateComparison
    from dxgeom.planner.currencies import CurrencyComparison
    from dxgeom.planner.objectives.objective import UnitError

Shown = TypeVar("Shown")


@final
@dataclass(frozen=True, eq=False)
class Releasing(Generic[Shown]):
    """What a plan's release is made of.

    ``purpose``: written into the ledger where whoever releases says none. ``said``: the mechanism's answer, at a spend,
    of so many records or None where that is private, as it is shown. ``blank``: an answer that no data were read for.
    ``records``: how many a rehearsal makes up; None where nothing says. ``taken``: what the release is given, as it is
    to be read; left out, as it is.
    """

    mechanism: Mechanism[Any, Any] = field(repr=False)
    purpose: str
    said: Callable[[Any, Fraction, int | None], Shown] = field(repr=False)
    blank: Any = field(repr=False)
    records: int | None
    taken: Callable[[Any], Any] = field(default=lambda data: data, repr=False)


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


KnownErrors: TypeAlias = "ErrorBars | ShownAnswers"
"""What is known of answers' errors before there are any; of answers that no data were read for."""


@dataclass(frozen=True, eq=False, repr=False)
class Releasable(Pictured, ABC, Generic[Shown]):
    """A plan: what is answered and how is decided, no data are read yet; reusable, each release charged on its own.

    ``file``: what it was read from, with the policy, and the spend if it states one; None where it was planned here.

    One rule of spends: what takes one is, where none is given, at the file's; and at no other, where the file states
    it. Where none is stated, figures are at 1; releases at the least for the errors that were asked for, and refused
    where none were. Whatever takes no spend is at 1.
    What a kind of plan has not it refuses in two sentences: why, and what to take instead. None, or nothing in a list,
    is said only where that is so.
    """

    no_errors: ClassVar[Unknown] = Unknown(
        "how far off each answer can be is no number before there are answers", "statements() say what is proved of all"
    )
    no_loss: ClassVar[Unknown] = Unknown(
        "nothing was made small here, so there is no loss, and no bound on that of others",
        "statements() say what is proved of this plan",
    )
    no_list: ClassVar[Unknown] = Unknown(
        "only of noise on a list of queries is this known", "take rmse(), half_widths() and biases, or statements()"
    )
    no_question: ClassVar[Unknown] = Unknown("this plan answers no list of queries", "as_dict() says what it answers")
    why: ClassVar[str] = "it follows from what is asked, and nothing else was tried"
    """Why this mechanism, in words."""

    makes_records: ClassVar[bool] = False
    """Whether what is answered is a table of synthetic records."""
    answers_a_list: ClassVar[bool] = False
    """Whether it is noise on a list of queries, so that errors are foretold answer by answer."""

    file: PlanFile | None = field(default=None, kw_only=True)

    @cached_property
    def plan(self) -> Self:
        """The same plan as it is without its file: of no stated spend."""
        return self if self.file is None else replace(self, file=None)

    @property
    def kept(self) -> Any:
        """The plan that a plan file holds."""
        return self

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

    @cached_property
    def compared_at(self) -> Fraction | None:
        """The spend at which forms were compared; None where none were."""
        return None

    @property
    def spend(self) -> Fraction | None:
        """What the plan's file states, None where that leaves it open; where it was planned here, at which spend forms
        were compared."""
        return self.compared_at if self.file is None else self.file.spend

    @property
    def wants_errors(self) -> bool:
        """Whether certain errors were asked for."""
        return False

    @property
    def least_spend(self) -> Fraction | None:
        """The smallest spend, rounded up to six digits, at which every answer has the error that was asked for.

        Raises: UnsupportedCombination when none was.
        """
        raise UnsupportedCombination("the least spend is for plans that were asked for certain 'errors'")

    def at_spend(self, spend: Amount | None = None) -> Fraction:
        """The spend of a release, by the rule above.

        Raises: UnsupportedCombination for none at all, or another than the file's.
        """
        stated = self._given(spend)
        amount = self.least_spend if stated is None and self.wants_errors else stated
        if amount is None:
            raise UnsupportedCombination("this plan states no spend: say how much of the budget to use, spend=...")
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

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        """What is known of the errors at a spend, and of so many records. Raises: UnsupportedCombination."""
        raise self.no_errors.refusal

    def rmse(self, spend: Amount | None = None) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst over all data; of whole tables of the least exact
        cell of each; what rounding of values adds for each record is left out where their number was not stated."""
        return self._known(self.spend_of_figures(spend), None).rmse

    def half_widths(
        self, level: float = 0.95, spend: Amount | None = None, records: int | None = None
    ) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``; infinite where rounding of
        values moves an answer for each of a number of records that was not stated. Of readings, and of a small
        database, all at once.

        Args: ``records``: their public number; left out, what was stated.
        """
        require_records(records)
        return self._known(self.spend_of_figures(spend), records).half_widths(level)

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise, at any spend, by what values stand for and by
        changed queries; infinite where that grows with a number of records that was not stated."""
        return self._known(Fraction(1), None).biases

    @property
    def predicted_mse(self) -> float:
        """Total mean squared error over all answers at spend 1."""
        return float((self._known(Fraction(1), None).rmse ** 2).sum())

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[Any]:
        """What holds of its errors, whatever the data, in sentences; of several tasks those of each."""
        widths = self.half_widths(level, spend)
        known = np.flatnonzero(np.isfinite(widths))
        of = f"{len(self.queries.names)} answers by {self.mechanism.name}"
        unknown = (
            ""
            if known.size == widths.size
            else "; the bars of the others need numbers of records that are released, too"
        )
        if not known.size:
            return (f"{of}{unknown}",)
        worst = int(known[widths[known].argmax()])
        return (
            f"{'each' if known.size == widths.size else known.size} of {of} is off by at most {widths[worst]:.4g} "
            f"('{self.queries.names[worst]}', the widest) with probability {level:g}{unknown}",
        )

    def bars(self, spend: Amount | None = None, records: int | None = None) -> Any:
        """What is known of the errors of answers to a list of queries."""
        raise self.no_list.refusal

    @property
    def rounding_biases(self) -> NDArray[np.float64]:
        """(K,): the part of :attr:`biases` that is there because values stand for many numbers."""
        raise self.no_list.refusal

    def useless_answers(self, spend: Amount | None = None, records: int | None = None) -> Any:
        """The answers whose expected error exceeds all that they can be, and what spend would help."""
        raise self.no_list.refusal

    @property
    def records_of(self) -> tuple[str, ...]:
        """The names of the tasks that make records, "" for a plan of these alone; () where none are made."""
        return ("",) if self.makes_records else ()

    @cached_property
    def totals(self) -> Releasable[Any] | None:
        """The plan of the sums that a fit is made of; None of what is made of none."""
        return None

    @cached_property
    def metric(self) -> Any:
        """What the answers are private under."""
        for found in metrics_of_rows(self.mechanism):
            return found
        raise UnsupportedCombination("this plan reads no table; mechanism.account names the policy")

    @cached_property
    def queries(self) -> Any:
        """What is asked; of tasks the tasks."""
        raise self.no_question.refusal

    @cached_property
    def mechanism(self) -> Any:
        """What a release draws from."""
        return self._releasing().mechanism

    @cached_property
    def objective(self) -> Any:
        """What was made small."""
        raise self.no_loss.refusal

    @cached_property
    def loss(self) -> float:
        """The objective at spend 1."""
        raise self.no_loss.refusal

    @cached_property
    def lower_bound(self) -> float:
        """What the loss of no other noise is below; 0 where a search would tell."""
        raise self.no_loss.refusal

    @property
    def gap(self) -> float:
        """The loss over the lower bound: within this factor of the best noise added to the exact answers."""
        if self.loss == 0:
            return 1.0
        return self.loss / self.lower_bound if self.lower_bound > 0 else np.inf

    @cached_property
    def comparison(self) -> CandidateComparison:
        """What other noise on a list of queries was considered."""
        from dxgeom.planner.comparing.comparison import CandidateComparison  # slow to load

        return CandidateComparison()

    @cached_property
    def candidates(self) -> Sequence[Any]:
        """What was considered; where one was named, the others are built when this is first asked."""
        return self.comparison.candidates

    @property
    def interrupted(self) -> str | None:
        """The candidate that was being built when somebody interrupted the planning; None where nobody did, or where
        the plan is from a file: then ``comparison.search`` says what the file does."""
        return self.comparison.interrupted

    def as_it_is(self) -> Self:
        """The same plan to be released, though somebody interrupted the search for a better one."""
        return self

    def uninterrupted(self) -> Self:
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
    def noise(self) -> Literal["gaussian", "pure"] | None:
        """What is known of the noise beside the promise, for curves of what many releases tell; None where nothing."""
        return None

    @property
    def covariance_gap(self) -> float | None:
        """How far, relatively, the ideal noise's objective is above that of the best Gaussian noise: the certificate of
        the covariance, up to the rounding of float64. None for noise that is not Gaussian, and without a bound."""
        return None

    @cached_property
    def bounds(self) -> Mapping[str, float]:
        """What the objective cannot be below at spend 1, by name, as far as known."""
        return {}

    @cached_property
    def currencies(self) -> CurrencyComparison | None:
        """Gaussian noise beside the best noise for pure privacy, at equal distances and at equal (ε, δ); None unless
        both were built."""
        return None

    @cached_property
    def units(self) -> tuple[UnitError, ...]:
        """What balancing did: each unit's total squared error beside what it would be alone; () unless balanced."""
        return ()

    @property
    def reason(self) -> str:
        """Why this mechanism, in one sentence."""
        return f"{self.mechanism.name}: {self.why}"

    @property
    def bound_in_words(self) -> str:
        """What is known of how near this plan is to the best, in one sentence."""
        return "how far this plan is from the best is not known here"

    @property
    def bias_in_words(self) -> str | None:
        """What is to be known of answers to changed queries, in one sentence; None where none are changed."""
        return None

    @property
    def biases_in_words(self) -> list[str]:
        """What is to be known beside noise and :meth:`statements`, in plain sentences."""
        return []

    @property
    def question_in_words(self) -> str:
        """What is asked, in a few words."""
        return self._releasing().purpose

    def each_stated(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[StatedQuestion]:
        """Each question, and what holds of its errors at a spend with a probability."""
        said = "; ".join(self.statements(spend, level))
        return (StatedQuestion("all", self.question_in_words, said),)

    def each_table(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[TableErrors]:
        """Of whole tables, and of boxes, the error of each at a spend; () of other plans."""
        return ()

    def overview(self, spend: Amount | None = None, level: float = 0.95) -> PlanOverview:
        """The plan at a spend, as a reader is shown it; left out, at the least for errors that were asked for."""
        amount = self._shown_spend(spend)
        said = list(self.statements(amount, level))
        expected = {"spend": str(amount), "level": level, "statements": said}
        return PlanOverview({**self.as_dict(), "expected": expected}, self.lines()[:1], foot=said)

    def _shown_spend(self, spend: Amount | None) -> Fraction:
        stated = self._given(spend)
        return stated or (self.least_spend if self.wants_errors else None) or Fraction(1)

    def lines(self) -> list[str]:
        """The plan for a reader."""
        return [self._releasing().purpose, *self.statements()]

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""

    def to_json(self) -> str:
        """The plan as JSON text; of one from a file the text of that file."""
        return self.file.text() if self.file else json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    @abstractmethod
    def _releasing(self) -> Releasing[Shown]:
        """What a release of it is made of."""

    @property
    def releasing(self) -> Releasing[Shown]:
        """What a release of it is made of, for whoever releases several plans as one."""
        return self._releasing()

    def release(
        self,
        table: Any,
        *,
        ledger: str | Path | Ledger,
        spend: Amount | None = None,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        quiet_data: bool = False,
        id: str | None = None,
        allotment: str | None = None,
        insecure_test_seed: int | None = None,
    ) -> Release[Shown]:
        """Charge the ledger, then answer once: :func:`dxgeom.release` of the plan's mechanism.

        Args: ``table``: path to CSV or Parquet, DataFrame, Arrow table, or histogram array. ``spend``: left out where
        the plan's file states it, or errors were asked for. The others are those of :func:`dxgeom.release`.
        Raises: DataError before anything is charged; BudgetExceeded, LedgerError without anything charged.
        """
        from dxgeom.planner.releases.answer_once import checked_order, release_as  # a plan alone needs no ledger

        made = self._releasing()
        order = checked_order(
            made.mechanism,
            self.at_spend(spend),
            purpose=purpose or made.purpose,
            plan_fingerprint=self.fingerprint,
            id=id,
            allotment=allotment,
        )
        reading = {"outside": outside, "count_column": count_column, "quiet_data": quiet_data}
        return release_as(
            order, made.mechanism, made.said, made.blank, made.taken(table), ledger, insecure_test_seed, **reading
        )

    def require_bars(self, level: float, spend: Amount, *, joint: bool = False) -> None:
        """Raises: UnsupportedCombination, before anything is charged, for intervals of a level that the answers will
        not have, or that will not hold at once."""
        _ = self._blank_answers(exact_amount(spend, "spend")).document(level, joint=joint)

    def _blank_answers(self, spend: Fraction) -> ShownAnswers:
        """Answers that no data were read for."""
        made: Any = self._releasing()
        blank: ShownAnswers = made.said(made.blank, spend, made.records)
        return blank

    def require_agreement(self) -> None:
        """Raises: UnsupportedCombination where answers are not made to agree; TooLarge where they are too many."""
        raise ShownAnswers.not_to_agree.refusal

    def to_opendp(
        self,
        *,
        ledger: str | Path | Ledger,
        spend: Amount | None = None,
        purpose: str = "",
        outside: Literal["refuse", "drop"] = "refuse",
        count_column: str | None = None,
        allotment: str | None = None,
    ) -> Any:
        """This plan at a spend as an ``opendp.Measurement``, which releases, and charges the ledger, at each call.

        Guarantee, arguments, errors: those of :func:`dxgeom.planner.releases.opendp_measurement.measurement_of`.
        """
        from dxgeom.planner.releases.opendp_measurement import measurement_of

        return measurement_of(
            self.release,
            self._releasing().mechanism,
            ledger=ledger,
            spend=self.at_spend(spend),
            purpose=purpose,
            outside=outside,
            count_column=count_column,
            allotment=allotment,
        )

    def rehearse(self, *, spend: Amount | None = None, records: int | None = None) -> Release[Shown]:
        """A release of made-up records, each of any type alike: everything happens but for a ledger. Reads no data.

        Args: ``records``: how many; left out, as many as the plan is for, or else 1,000.
        Raises: as :meth:`release`, for a spend beyond the whole budget too.
        """
        require_records(records)
        rows = self._made_up(records or self._releasing().records or RECORDS)
        return replace(self.release(rows, ledger=":memory:", spend=spend), rehearsal=True)

    def _made_up(self, records: int) -> Any:
        return made_up(self._releasing().mechanism, records)
