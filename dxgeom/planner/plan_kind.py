"""What plans of one kind of question say of themselves, and release: all that differs from one kind to another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.overview import PlanOverview, StatedQuestion, TableErrors
from dxgeom.planner.unknown import Unknown

if TYPE_CHECKING:
    from dxgeom.planner.answers.linear_answers import ErrorBars
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.comparing.comparison import CandidateComparison
    from dxgeom.planner.estimates.estimate import EstimateName, EstimateWish
    from dxgeom.planner.estimates.worth import EstimateWorth
    from dxgeom.planner.measures import MeasureComparison
    from dxgeom.planner.objectives.objective import UnitError
    from dxgeom.planner.plan import Plan

RECORDS: Final = 1000
"""How many are made up in a rehearsal, where nobody says how many there are."""
KnownErrors: TypeAlias = "ErrorBars | ShownAnswers"
"""What is known of answers' errors before there are any; of answers that no data were read for."""


class PlanKind(ABC):
    """A kind has no state: what was decided is in the plan that each of its functions takes.

    Spends come as what the plan's rule made of them. What a kind has not it refuses in two sentences: why, and what to
    take instead. None, or nothing in a list, is said only where that is so.
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
    no_worth: ClassVar[Unknown] = Unknown(
        "what an estimate is worth is known beforehand of whole tables only",
        "release.estimate() says what is known of it afterwards",
    )
    why: ClassVar[str] = "it follows from what is asked, and nothing else was tried"
    """Why this mechanism, in words."""
    called: ClassVar[str] = ""
    """What its plans are of, in words that begin the digest of each."""
    makes_records: ClassVar[bool] = False
    """Whether what is answered is a table of synthetic records."""
    answers_a_list: ClassVar[bool] = False
    """Whether it is noise on a list of queries, so that errors are foretold answer by answer."""

    @abstractmethod
    def purpose(self, plan: Plan) -> str:
        """What is written into the ledger where whoever releases says nothing."""

    @abstractmethod
    def answers(self, plan: Plan, answer: Any, spend: Fraction, records: int | None) -> ShownAnswers:
        """The mechanism's answer as it is shown. ``records``: how many there are, None where that is private."""

    @abstractmethod
    def blank(self, plan: Plan, records: int | None) -> Any:
        """An answer that no data were read for, of so many records."""

    def blank_answers(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        """Answers that no data were read for."""
        return self.answers(plan, self.blank(plan, records), spend, records)

    def facts(self, plan: Plan) -> dict[str, Any]:
        """What the plan's JSON says between the kind and the fingerprint."""
        return {}

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        """The plan ready for JSON."""
        return {"kind": plan.question.word, **self.facts(plan), "fingerprint": plan.fingerprint}

    def fingerprint(self, plan: Plan) -> str:
        """SHA-256 of everything that the answers' law depends on."""
        return canonical_digest(f"plan of {self.called}", plan.mechanism.fingerprint, plan.question.fingerprint)

    def queries(self, plan: Plan) -> Any:
        """What is asked; of a task that is about a list of queries these, of tasks the tasks."""
        return plan.question

    def records(self, plan: Plan) -> int | None:
        """How many a rehearsal makes up; None where nothing says."""
        return plan.records

    def made_up(self, plan: Plan, records: int) -> Any:
        """So many records of no table, for a rehearsal."""
        from dxgeom.planner.releases.reading import made_up  # slow to load, as whatever releases is

        return made_up(plan.mechanism, records)

    def taken(self, plan: Plan, data: Any) -> Any:
        """What a release is given, as it is to be read."""
        return data

    def inside(self, plan: Plan) -> tuple[Plan, ...]:
        """The plans that it is made of."""
        return ()

    def require_whole(self, plan: Plan) -> None:
        """Raises: UnsupportedCombination for a plan that a release would be of by mistake."""
        for part in self.inside(plan):
            part.kind.require_whole(part)

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        """Raises: UnsupportedCombination where there is no such estimate; TooLarge where answers are too many."""
        from dxgeom.planner.answers.shown_answers import ShownAnswers

        raise (ShownAnswers.no_estimate if wish.nonnegative else ShownAnswers.not_to_agree).refusal

    def estimated_part(self, plan: Plan) -> tuple[Plan, Fraction]:
        """The plan whose answers an estimate is of, and its share. Raises: UnsupportedCombination."""
        return plan, Fraction(1)

    def true_answer(self, plan: Plan, data: Any, noiseless: Any) -> Any:
        """What was asked of the data, where the mechanism answers ``noiseless`` without noise. **Not private.**"""
        return noiseless

    def estimate_worth(self, plan: Plan, spend: Fraction, records: int | None) -> EstimateWorth:
        """What an estimate of the answers is worth, whatever the data. Raises: UnsupportedCombination."""
        raise self.no_worth.refusal

    def own_estimate(self, plan: Plan, spend: Fraction) -> EstimateName | None:
        """The estimate that a release shows where nothing is asked: by public numbers alone; mostly none."""
        return None

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> KnownErrors:
        """What is known of the errors. Raises: UnsupportedCombination."""
        raise self.no_errors.refusal

    def bars(self, plan: Plan, spend: Fraction, records: int | None) -> ErrorBars:
        """The same of answers to a list of queries."""
        raise self.no_list.refusal

    def rounding_biases(self, plan: Plan) -> NDArray[np.float64]:
        """(K,): how far answers can be off because values stand for many numbers."""
        raise self.no_list.refusal

    def useless_answers(self, plan: Plan, spend: Fraction, records: int | None) -> Any:
        """The answers whose expected error exceeds all that they can be."""
        raise self.no_list.refusal

    def wants_errors(self, plan: Plan) -> bool:
        """Whether certain errors were asked for."""
        return False

    def least_spend(self, plan: Plan) -> Fraction | None:
        """The smallest spend, rounded up to six digits, at which every answer has the error that was asked for; of
        tasks None where none was.

        Raises: UnsupportedCombination when none was, or rounding to the lattice alone exceeds one.
        """
        raise UnsupportedCombination("the least spend is for plans that were asked for certain 'errors'")

    def objective(self, plan: Plan) -> Any:
        """What was made small."""
        raise self.no_loss.refusal

    def loss(self, plan: Plan) -> float:
        """The objective at spend 1: the total mean squared error, unless another was asked for."""
        raise self.no_loss.refusal

    def lower_bound(self, plan: Plan) -> float:
        """Of all noise added to the exact answers that honours the metric and, stretched by 1/s, s times the metric for
        every spend s ≤ 1 as this plan's does, none has a smaller loss at spend 1; 0 where nothing is known.

        Answers to changed queries, with a known bias, may have one: their loss is the worst over all data of the stated
        number of records, each answer's on its own. Where a mechanism was named it is searched for when it is asked.
        """
        raise self.no_loss.refusal

    def predicted_mse(self, plan: Plan) -> float:
        """Total mean squared error over all answers at spend 1."""
        return float((self.known(plan, Fraction(1), None).rmse ** 2).sum())

    def comparison(self, plan: Plan) -> CandidateComparison:
        """What other noise on a list of queries was considered."""
        from dxgeom.planner.comparing.comparison import CandidateComparison  # slow to load

        return CandidateComparison()

    def candidates(self, plan: Plan) -> Sequence[Any]:
        """What was considered; where one was named, the others are built when this is first asked."""
        return plan.comparison.candidates

    def as_it_is(self, plan: Plan) -> Plan:
        """The same, to be released though somebody interrupted the search for a better one."""
        return plan

    def chosen(self, plan: Plan) -> Plan:
        """Of several families the plan of the one that was taken; of any other plan itself."""
        return plan

    def family(self, plan: Plan) -> str | None:
        """The family that was named, or that has the smallest proved bound; None where none were compared."""
        return None

    def tasks(self, plan: Plan) -> Any:
        """The tasks, each by its name with its share; None of what is no plan of tasks."""
        return None

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        """What to know of the choice, in sentences."""
        return ()

    def unasked(self, plan: Plan, spend: Fraction) -> Plan:
        """What the policy allows to be taken in its place unasked, at a stated part of the budget; mostly itself."""
        return plan

    def kept(self, plan: Plan) -> Plan:
        """The plan that a plan file holds.

        Raises: UnsupportedCombination where none does.
        """
        return plan

    def totals(self, plan: Plan) -> Plan | None:
        """The plan of the sums that a fit is made of; None of what is made of none."""
        return None

    def compared_at(self, plan: Plan) -> Fraction | None:
        """The spend at which forms were compared; None where none were."""
        return None

    def noise(self, plan: Plan) -> Literal["gaussian", "pure"] | None:
        """What is known of the noise beside the promise, for curves of what many releases tell; None where nothing."""
        return None

    def picked_by(self, plan: Plan) -> str | None:
        """The law by which one of several candidates is picked, in words; None where none is."""
        return None

    def covariance_gap(self, plan: Plan) -> float | None:
        """How far, relatively, the ideal noise's objective is above that of the best Gaussian noise: the certificate of
        the covariance, up to the rounding of float64. None for noise that is not Gaussian, and without a bound."""
        return None

    def bounds(self, plan: Plan) -> Mapping[str, float]:
        """What the objective cannot be below at spend 1, by name, as far as known."""
        return {}

    def privacy_measures(self, plan: Plan) -> MeasureComparison | None:
        """Gaussian noise beside the best noise for pure privacy, at equal distances and at equal (ε, δ); None unless
        both were built."""
        return None

    def units(self, plan: Plan) -> tuple[UnitError, ...]:
        """What balancing did: each unit's total squared error beside what it would be alone; () unless balanced."""
        return ()

    def reason(self, plan: Plan) -> str:
        """Why this mechanism, in one sentence."""
        return f"{plan.mechanism.name}: {self.why}"

    def bound_in_words(self, plan: Plan) -> str:
        """How near the plan is to the best, in one sentence."""
        return "how far this plan is from the best is not known here"

    def bias_in_words(self, plan: Plan) -> str | None:
        """What is to be known of answers to changed queries, in one sentence; None where none are changed."""
        return None

    def biases_in_words(self, plan: Plan) -> list[str]:
        """What is to be known beside noise and statements."""
        return []

    def records_of(self, plan: Plan) -> tuple[str, ...]:
        """The names of the tasks that make records, "" for a plan of these alone; () where none are made."""
        return ("",) if self.makes_records else ()

    def question_in_words(self, plan: Plan) -> str:
        """What is asked, in a few words."""
        return self.purpose(plan)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> Sequence[Any]:
        """What holds of its errors, whatever the data, in sentences."""
        widths = plan.half_widths(level, spend, records)
        known = np.flatnonzero(np.isfinite(widths))
        of = f"{len(plan.queries.names)} answers by {plan.mechanism.name}"
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
            f"('{plan.queries.names[worst]}', the widest) with probability {level:g}{unknown}",
        )

    def lines(self, plan: Plan) -> list[str]:
        """The plan for a reader."""
        return [self.purpose(plan), *plan.statements()]

    def each_stated(self, plan: Plan, spend: Fraction | None, level: float) -> Sequence[StatedQuestion]:
        """Each question, and what holds of its errors."""
        said = "; ".join(plan.statements(spend, level))
        return (StatedQuestion("all", self.question_in_words(plan), said),)

    def each_table(self, plan: Plan, spend: Fraction | None, level: float) -> Sequence[TableErrors]:
        """Of whole tables, and of boxes, the error of each."""
        return ()

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """The plan at a spend, as a reader is shown it."""
        said = list(plan.statements(spend, level))
        expected = {"spend": str(spend), "level": level, "statements": said}
        return PlanOverview({**plan.as_dict(), "expected": expected}, [*plan.lines()[:1], *said])
