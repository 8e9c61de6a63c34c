"""Counts with noise in parts that they share: whole tables of counts, and counts in very many boxes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.overview import MOST_SHOWN, OverviewTable, PlanOverview, TableErrors
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.privacy.measures import PURE
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.workloads.box_queries import BoxQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries
from dxgeom.wording.numbers import brief, counted

if TYPE_CHECKING:
    from dxgeom.mechanisms.parts.table_mechanism import NoisyTables
    from dxgeom.metrics.verification import VerifiedMetric
    from dxgeom.planner.answers.in_parts import BoxAnswers, MarginalAnswers
    from dxgeom.planner.answers.shown_answers import ShownAnswers
    from dxgeom.planner.candidates import CandidateResult
    from dxgeom.planner.estimates.estimate import EstimateName, EstimateWish
    from dxgeom.planner.estimates.worth import EstimateWorth
    from dxgeom.planner.objectives.aims import Aim, TriedNoise
    from dxgeom.planner.plan import Plan

AIMS: Final = frozenset({"objective", "importance", "errors", "mechanism"})
_NOTHING_LEFT: Final = 1.001
"""A bound so near leaves nothing to a better one."""
_WORST: Final = {"mse": "total MSE", "max": "worst MSE"}


class _NoiseInParts(PlanKind):
    """``counted``: each of what is in one that has an error of its own, in a word."""

    why = "of the noise that was tried, which losses lists, the least; or as it was named, or its file says"
    counted: ClassVar[str]

    @abstractmethod
    def sizes(self, plan: Plan) -> dict[str, Any]:
        """How many of what are asked, and how they are measured, ready for JSON."""

    def lines(self, plan: Plan) -> list[str]:
        """The plan for a reader."""
        return self.lines_at(plan, plan.spend_of_figures())

    @abstractmethod
    def lines_at(self, plan: Plan, spend: Fraction) -> list[str]:
        """The same at a part of the budget."""

    def shapes(self, plan: Plan) -> tuple[tuple[int, ...], ...] | None:
        """Of tables; None of what has one cell each."""
        return None

    def _cells(self, plan: Plan, place: int) -> str:
        """How many cells the one at a place has, in words."""
        shapes = self.shapes(plan)
        return "1" if shapes is None else " × ".join(map(str, shapes[place])) or "1"

    def _decided(self, plan: Plan) -> TriedNoise:
        decided: TriedNoise = plan.decided
        return decided

    def fingerprint(self, plan: Plan) -> str:
        return canonical_digest(f"plan of {self.called}", plan.mechanism.fingerprint)

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> ShownAnswers:
        return self.blank_answers(plan, spend, plan.records)

    def rounding_biases(self, plan: Plan) -> NDArray[np.float64]:
        """None: counts add up no numbers."""
        return plan.biases

    def wants_errors(self, plan: Plan) -> bool:
        return any(plan.queries.errors)

    def least_spend(self, plan: Plan) -> Fraction:
        from dxgeom.planner.amounts import spend_for

        if not plan.wants_errors:
            raise UnsupportedCombination(
                f"the least spend is for {plan.queries.several} that were asked for with certain 'errors'"
            )
        wanted = np.array([math.inf if one is None else float(one) for one in plan.queries.errors])
        return spend_for(plan.mechanism.variances, wanted, plan.mechanism.rounding_part)

    def objective(self, plan: Plan) -> Aim:
        return self._decided(plan).objective

    def loss(self, plan: Plan) -> float:
        """The total mean squared error, each times its importance, or the worst."""
        return self._decided(plan).losses[plan.mechanism.name]

    def lower_bound(self, plan: Plan) -> float:
        return self._decided(plan).bound()

    def candidates(self, plan: Plan) -> tuple[CandidateResult, ...]:
        from dxgeom.planner.candidates import CandidateResult

        said, decided = "built, and only its loss was found", self._decided(plan)
        own = (CandidateResult(name, None, reason=said, loss=loss) for name, loss in decided.losses.items())
        return (*own, *decided.others)

    def noise(self, plan: Plan) -> Literal["gaussian", "pure"]:
        return "gaussian" if plan.mechanism.normal else "pure"

    def bound_in_words(self, plan: Plan) -> str:
        if not plan.lower_bound > 0:
            return super().bound_in_words(plan)
        reason = self._decided(plan).left_out() if plan.gap > _NOTHING_LEFT else ""
        left_out = f"; a better bound was not sought: {reason}" if reason else ""
        return (
            f"no additive noise that stretches to every spend has a {_WORST[plan.objective]} below "
            f"{plan.lower_bound:.6g}: this plan is within a factor {plan.gap:.3g} of it{left_out}"
        )

    def question_in_words(self, plan: Plan) -> str:
        return counted(plan.queries.count, plan.queries.one, plan.queries.several)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        widths = plan.half_widths(level, spend)
        worst = int(widths.argmax())
        return (
            f"each {self.counted} of {len(widths):,} {plan.queries.several} by {plan.mechanism.name} is off by at most "
            f"{widths[worst]:.4g} ('{plan.queries.name(worst)}', the widest) with probability {level:g}",
        )

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        return {
            "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
            "objective": plan.objective,
            **self.sizes(plan),
            **people_in_words(plan.metric.people),
            "losses": dict(self._decided(plan).losses),
            "lower_bound": plan.lower_bound,
            "fingerprint": plan.fingerprint,
        }

    def each_table(self, plan: Plan, spend: Fraction | None, level: float) -> Sequence[TableErrors]:
        each = zip(plan.queries.names, plan.half_widths(level, spend).tolist(), strict=True)
        return tuple(TableErrors(name, self._cells(plan, place), width) for place, (name, width) in enumerate(each))

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """The noise that was chosen, and what is known of each table's, or box's, error."""
        least = plan.least_spend if plan.wants_errors else None
        errors, widths, shapes = plan.rmse(spend), plan.half_widths(level, spend), self.shapes(plan)
        names = plan.queries.names
        each = [
            {
                plan.queries.one: name,
                **({} if shapes is None else {"shape": [*shapes[k]]}),
                "rmse": error,
                "half_width": width,
            }
            for k, (name, error, width) in enumerate(zip(names, errors.tolist(), widths.tolist(), strict=True))
        ]
        expected = {"spend": str(spend), "level": level, plan.queries.several: each}
        told = {"gap": plan.gap, "least_spend": None if least is None else str(least), "expected": expected}
        title = f"each {self.counted}, at spend {plain(spend)}"
        rest = "" if len(errors) <= MOST_SHOWN else f"; the {MOST_SHOWN} {plan.queries.several} with the largest errors"
        rows = [
            (
                plan.queries.name(place),
                *([] if shapes is None else [self._cells(plan, place)]),
                brief(float(errors[place])),
                brief(float(widths[place])),
            )
            for place in np.argsort(-errors, kind="stable")[:MOST_SHOWN].tolist()
        ]
        head, *more = self.lines_at(plan, spend)
        titles = plan.queries.one, *([] if shapes is None else ["cells"]), "rmse", f"± at {level * 100:g} %"
        foot = [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"]
        return PlanOverview(
            {**plan.as_dict(), **told},
            [f"{plan.metric.title}: {head}", *more, "", f"{title}{rest}"],
            (OverviewTable(titles, rows, foot),),
            apart=True,
        )

    def compared(self, plan: Plan, head: str, measured: Sequence[str] = ()) -> list[str]:
        """The plan for a reader, below a ``head``."""
        compared = plan.candidates
        title, width = _WORST[plan.objective], max(len(one.name) for one in compared)
        known = ((one.name, one.reason if one.loss is None else f"{title} {one.loss:.6g}") for one in compared)
        rows = [f"  {name:<{width}} {what}" for name, what in known]
        rows += [] if plan.metric.people is None else [f"  {plan.metric.people.sentence}"]
        return [head, *rows, *measured, *([plan.bound_in_words] if plan.lower_bound > 0 else [])]


@final
class WholeTablesKind(QuestionKind[MarginalQueries], _NoiseInParts):
    """Whole tables of counts, over universes of any size."""

    question = MarginalQueries
    about = "whole tables of counts"
    heeds = AIMS
    counts = True
    own_noise = frozenset({"auto", "marginal-laplace", "marginal-gaussian", "kronecker-gaussian"})
    codec, field = "dxgeom.plan_files.table_plans:CODEC", "table_noise"
    counted, called = "cell", "whole tables"

    def part(self, question: MarginalQueries, how: Planning) -> Plan:
        from dxgeom.planner.marginals.marginal_plan import plan_tables  # slow to load, as all that plans is

        return plan_tables(how.metric, question, how.wish)

    def leaves_public(self, metric: VerifiedMetric, question: MarginalQueries) -> bool:
        from dxgeom.mechanisms.parts.public_tables import public_tables  # slow to load, as all that plans is
        from dxgeom.mechanisms.parts.tables import family_of

        return bool(public_tables(metric, question, family_of(question.sizes, question.attribute_sets)))

    def purpose(self, plan: Plan) -> str:
        return f"{plan.queries.each:,} tables of counts by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: NoisyTables, spend: Fraction, records: int | None) -> MarginalAnswers:
        from dxgeom.planner.answers.in_parts import MarginalAnswers

        return MarginalAnswers(plan.mechanism, plan.question, answer, spend, records)

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        from dxgeom.planner.estimates.tables import require_tables  # and a solver with it

        require_tables(plan.queries, wish, plan.mechanism.exact_sets)

    def estimate_worth(self, plan: Plan, spend: Fraction, records: int | None) -> EstimateWorth:
        from dxgeom.planner.estimates.worth import worth_of

        stated = plan.records if records is None else records
        return worth_of(plan.mechanism, spend, stated if () in plan.mechanism.exact_sets else None)

    def own_estimate(self, plan: Plan, spend: Fraction) -> EstimateName | None:
        """One model, where it may be nearer."""
        return "model" if self.estimate_worth(plan, spend, None).shows_model else None

    def unasked(self, plan: Plan, spend: Fraction) -> Plan:
        """Tables that follow the data, where the policy allows these and noise would be most of what is released."""
        from dxgeom.kinds.adaptive import unasked  # slow to load

        return unasked(plan, self.estimate_worth(plan, spend, None)) if plan.metric.adaptive else plan

    def blank(self, plan: Plan, records: int | None) -> NoisyTables:
        from dxgeom.mechanisms.parts.table_mechanism import NoisyTables

        nothing = tuple(np.zeros(0, dtype=np.int64) for _ in plan.queries.attribute_sets)
        return NoisyTables(nothing, plan.mechanism.divisors)

    def predicted_mse(self, plan: Plan) -> float:
        """Over all cells, lattice rounding included."""
        cells = np.array([math.prod(shape) for shape in plan.queries.shapes], dtype=np.float64)
        return float((plan.mechanism.cell_errors.mean @ cells) * (1 + plan.mechanism.rounding_part))

    def question_in_words(self, plan: Plan) -> str:
        return f"{counted(plan.queries.each, 'table')} with {plan.queries.count:,} cells"

    def shapes(self, plan: Plan) -> tuple[tuple[int, ...], ...]:
        shapes: tuple[tuple[int, ...], ...] = plan.queries.shapes
        return shapes

    def sizes(self, plan: Plan) -> dict[str, Any]:
        return {"tables": plan.queries.each, "cells": plan.queries.count, "mechanism": plan.mechanism.name}

    def lines_at(self, plan: Plan, spend: Fraction) -> list[str]:
        from dxgeom.planner.public_numbers import sentences_of_tables  # slow to load, as all that plans is

        tables, cells = plan.queries.each, plan.queries.count
        worth = self.estimate_worth(plan, spend, None)
        said = [] if worth.records is None else [f"  {one}" for one in (worth.in_words, *worth.advice)]
        said += [f"  {one}" for one in (*sentences_of_tables(plan.mechanism), *self.warnings(plan))]
        return self.compared(plan, f"{tables:,} tables with {cells:,} cells: {plan.mechanism.name}", said)

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        """On the number of cells."""
        from dxgeom.mechanisms.parts.table_mechanism import MOST_CELLS

        said = f"of more than {MOST_CELLS:,} cells a release is refused: release these tables in several plans"
        return (said,) if plan.queries.count > MOST_CELLS else ()


@final
class BoxesKind(QuestionKind[BoxQueries], _NoiseInParts):
    """Counts in very many boxes, along trees and lines of their attributes."""

    question = BoxQueries
    about = "very many boxes"
    heeds = AIMS
    counts = True
    own_noise = frozenset({"auto", "boxes-laplace", "boxes-gaussian", "toeplitz-gaussian"})
    codec, field = "dxgeom.plan_files.box_plans:CODEC", "box_noise"
    counted, called = "count", "boxes"

    def part(self, question: BoxQueries, how: Planning) -> Plan:
        from dxgeom.planner.boxes.choosing import plan_boxes  # slow to load, as all that plans is

        return plan_boxes(how.metric, question, how.wish)

    def purpose(self, plan: Plan) -> str:
        return f"{plan.queries.count:,} counts in boxes by {plan.mechanism.name}"

    def answers(self, plan: Plan, answer: tuple[float, ...], spend: Fraction, records: int | None) -> BoxAnswers:
        from dxgeom.planner.answers.in_parts import BoxAnswers

        return BoxAnswers(plan.mechanism, plan.question, answer, spend, records)

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        from dxgeom.planner.estimates.tables import require_boxes  # and a solver with it

        require_boxes(wish, plan.queries)

    def blank(self, plan: Plan, records: int | None) -> tuple[float, ...]:
        blank: tuple[float, ...] = (0.0,) * plan.queries.count
        return blank

    def sizes(self, plan: Plan) -> dict[str, Any]:
        measured = [_in_words(one) for one in plan.mechanism.factors]
        return {"boxes": plan.queries.count, "mechanism": plan.mechanism.name, "measured": measured}

    def lines_at(self, plan: Plan, spend: Fraction) -> list[str]:
        measured = [
            f"  {one.title} {_in_words(factor)}"
            for one, factor in zip(plan.mechanism.merged.columns, plan.mechanism.factors, strict=True)
        ]
        lines = self.compared(plan, f"{plan.queries.count:,} boxes: {plan.mechanism.name}", measured)
        drawn = plan.metric.privacy == PURE and plan.lower_bound > 0
        return [*lines, *(["where the bound draws directions: it holds but for a chance of 1e-9"] if drawn else [])]


def _in_words(factor: Any) -> str:
    return "value by value" if factor is None else factor.in_words


TABLES: Final = WholeTablesKind()
BOXES: Final = BoxesKind()
