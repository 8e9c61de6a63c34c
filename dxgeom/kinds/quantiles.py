"""Quantiles: each by transport cost or with noise, whichever errs less; all in one release."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, final

from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.overview import OverviewTable, PlanOverview, StatedQuestion
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.quantile_queries import AskedQuantiles, QuantileQueries
from dxgeom.wording.numbers import counted

if TYPE_CHECKING:
    from dxgeom.mechanisms.quantiles.choice import QuantileCandidate
    from dxgeom.planner.answers.quantile_answers import QuantileAnswers
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.plan import Plan

_MEDIAN = (Fraction(1, 2),)


@final
class QuantilesKind(QuestionKind[QuantileQueries], PlanKind):
    """Quantiles of attributes: a plan has a part for each query, and ``decided``: how forms were compared.

    Each of several queries has an equal share of a release's spend, that is one charge for all; groups have it whole,
    and so do the levels of a query on a line.
    """

    question = QuantileQueries
    about = called = "quantiles"
    heeds = frozenset({"mechanism", "records"})
    codec, field = "dxgeom.plan_files.quantile_plans:CODEC", "forms"
    within_tasks = True
    no_loss = Unknown(
        "forms of quantiles are compared by what they are expected to err, which is a model, and not made small",
        "candidates have what each is expected to err, and what is proved of it",
    )
    why = "the forms that are expected to err less, or as they were named, or their file says"

    def part(self, question: QuantileQueries, how: Planning) -> Plan:
        from dxgeom.planner.quantile_plan import plan_quantiles  # slow to load, as all that plans is

        wish = how.wish
        return plan_quantiles(how.metric, question, records=wish.records, spend=wish.spend, mechanism=wish.mechanism)

    def purpose(self, plan: Plan) -> str:
        return f"quantiles: {', '.join(plan.queries.names)}"

    def answers(self, plan: Plan, answer: Any, spend: Fraction, records: int | None) -> QuantileAnswers:
        from dxgeom.planner.answers.quantile_answers import QuantileAnswers

        answers = (answer,) if len(plan.parts) == 1 else tuple(answer)
        groups = tuple(part.groups for part in plan.parts)
        proved = self.statements(plan, spend, plan.decided.level, records)
        return QuantileAnswers(plan.queries, groups, answers, spend, records, proved)

    def blank(self, plan: Plan, records: int | None) -> Any:
        """The last value of each."""
        blanks = tuple(part.blank for part in plan.parts)
        return blanks[0] if len(blanks) == 1 else blanks

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        return self.blank_answers(plan, spend, records)

    def candidates(self, plan: Plan) -> tuple[QuantileCandidate, ...]:
        """Those of each query."""
        return tuple(one for part in plan.parts for one in part.candidates)

    def compared_at(self, plan: Plan) -> Fraction:
        compared_at: Fraction = plan.decided.compared_at
        return compared_at

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        """What holds of each query's errors."""
        share, number = spend / len(plan.parts), records or plan.records
        return tuple(part.statement(number, level, share, plan.queries.universe) for part in plan.parts)

    def lines(self, plan: Plan) -> list[str]:
        return [f"'{name}': {said}" for name, said in zip(plan.queries.names, plan.statements(), strict=True)]

    def question_in_words(self, plan: Plan) -> str:
        return f"Quantiles, in {counted(len(plan.queries.questions), 'question')}"

    def each_stated(self, plan: Plan, spend: Fraction | None, level: float) -> Sequence[StatedQuestion]:
        words = map(_in_words, plan.queries.questions)
        return tuple(map(StatedQuestion, plan.queries.names, words, plan.statements(spend, level)))

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """How each query is answered, and what is known of its errors at a spend."""
        statements = plan.statements(spend, level)
        expected = {"spend": str(spend), "level": level, "statements": list(statements)}
        guess = f"{plan.records:,} records" if plan.records else "1,000 records (nobody says how many there are)"
        taken = "named" if plan.decided.named else "taken where it is the smaller"
        table = OverviewTable(
            ("query", "mechanism", "expected", "proved", "proved ranks", ""),
            [row for part in plan.parts for row in part.rows],
            [
                "",
                f"expected  error on average, if {guess} were spread evenly over the values, at spend "
                f"{plain(self.compared_at(plan))}: a model; {taken}",
                f"proved    with probability {plan.decided.level:g} each answer is so near its quantile, whatever the "
                "data; never compared with a model",
                *(
                    f"{one.name} for '{part.question.name}' is {one.reason}"
                    for part in plan.parts
                    for one in part.candidates
                    if one.reason
                ),
                *(
                    f"error     '{part.question.name}': {said}"
                    for part, said in zip(plan.parts, statements, strict=True)
                ),
                *(f"{name:<9} {said}" for name, said in people_in_words(plan.metric.people).items()),
            ],
        )
        head = f"{plan.metric.title}: {len(plan.parts)} queries for quantiles, in one release"
        return PlanOverview({**plan.as_dict(), "expected": expected}, [head], (table,), 9)

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        return {
            "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
            "quantiles": [part.as_dict() for part in plan.parts],
            "statements": list(self.statements(plan, self.compared_at(plan), plan.decided.level, None)),
            "records": plan.records,
            **people_in_words(plan.metric.people),
            "compared_at_spend": str(plan.compared_at),
            "chosen_by": "name" if plan.decided.named else "expected error if evenly spread, a model",
            "fingerprint": plan.fingerprint,
        }


QUANTILES: Final = QuantilesKind()


def _in_words(question: AskedQuantiles) -> str:
    which = "the median" if question.at == _MEDIAN else f"quantiles at {', '.join(map(str, question.at))}"
    condition = "" if question.where is None else f", of records with {question.where}"
    groups = f", by {' and '.join(group.title for group in question.by)}" if question.by else ""
    return f"{which} of {question.attribute}{condition}{groups}"
