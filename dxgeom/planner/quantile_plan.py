"""A plan for quantiles: each by transport cost or with noise, whichever errs less; all in one release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import NoneType
from typing import Any, final

import numpy as np

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.kinds import registry
from dxgeom.mechanisms.contract.composition import Parallel, in_sequence
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.mechanisms.quantiles.choice import (
    LEVEL,
    MOST_RECORDS,
    QUANTILE_FORMS,
    QuantileCandidate,
    QuantileMechanism,
    choice_between,
    mechanism_of_form,
    quantiles_by,
)
from dxgeom.mechanisms.quantiles.question import QuantileAnswer, QuantileQuestion, quantile_question
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.planner.amounts import Amount, agreed_records, exact_amount
from dxgeom.planner.answers.quantile_statements import rounding_of, statement_of
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import RECORDS
from dxgeom.planner.wish import AUTO
from dxgeom.universe.quantile_queries import AskedQuantiles, QuantileQueries
from dxgeom.universe.universe import Universe
from dxgeom.wording.numbers import brief_or_none

_REFUSED = (UnsupportedCombination, TooLarge, UnboundedLoss)


@final
@dataclass(frozen=True, eq=False)
class PlannedQuantiles:
    """How one query is answered: ``forms``, "transport" or "laplace", for it or for each of its ``groups``.

    ``candidates``: each form, of the first group; none where nothing was compared. What it would err on average, in the
    attribute's own unit, if the records were spread evenly over its values, is a model, see
    :func:`dxgeom.quantiles.expected_errors`, and forms are chosen by it; what is proved at 95 % whatever the data is of
    the same kind for both, told beside it, and never compared with the model.
    """

    question: AskedQuantiles
    mechanism: QuantileMechanism | Parallel = field(repr=False)
    forms: tuple[str, ...]
    groups: tuple[int, ...] = field(default=(), repr=False)
    candidates: tuple[QuantileCandidate, ...] = field(default=(), repr=False)

    @property
    def errors(self) -> dict[str, float | None]:
        """The expected error of each form, None where it cannot be built."""
        return {one.name: one.expected_error for one in self.candidates}

    @property
    def rows(self) -> Iterator[tuple[str, ...]]:
        """For a reader each form; of groups, as for the first one."""
        for one in self.candidates:
            some = "chosen in some groups" if one.name in self.forms else ""
            told = "not built" if one.reason else "chosen" if set(self.forms) == {one.name} else some
            ranks = "-" if one.proved_ranks is None else f"{one.proved_ranks:,}"
            yield (
                self.question.name,
                one.name,
                brief_or_none(one.expected_error),
                brief_or_none(one.proved),
                ranks,
                told,
            )

    @property
    def blank(self) -> Any:
        """An answer that no data were read for: the last value of each."""
        if isinstance(self.mechanism, Parallel):
            return tuple(map(_blank_of, self.mechanism.parts))
        return _blank_of(self.mechanism)

    def statement(self, records: int | None, level: float, spend: Fraction, universe: Universe) -> str:
        """What holds of its errors, whatever the data. ``records``: their public number, if it is known."""
        number = None if self.question.where else records
        return statement_of(self.mechanism, number, level, spend) + rounding_of(self.question, universe)

    def as_dict(self) -> dict[str, Any]:
        """The query's part of a plan, ready for JSON."""
        return {
            "name": self.question.name,
            "of": self.question.attribute,
            "at": [*map(str, self.question.at)],
            "forms": list(dict.fromkeys(self.forms)),
            "groups": len(self.groups) or None,
            "expected_errors_if_evenly_spread": self.errors,
            "candidates": [one.as_dict() for one in self.candidates],
        }


@final
@dataclass(frozen=True, eq=False)
class ComparedForms:
    """``compared_at``: the spend at which forms were compared; ``named``: the form that was asked for, None where they
    were chosen; ``level``: at which bounds are told beside them."""

    compared_at: Fraction
    named: str | None = None
    level: float = LEVEL


def plan_quantiles(
    metric: VerifiedMetric,
    queries: QuantileQueries,
    *,
    records: int | None = None,
    spend: Amount = 1,
    forms: Sequence[Sequence[str]] | None = None,
    mechanism: str = AUTO,
) -> Plan:
    """Choose how to answer quantiles: for each query, or each of its groups, the form that is expected to err less.

    Args: ``records``: their public number, where the queries do not state it; forms are compared as if so many records,
    or else 1,000, were spread evenly over the values. ``spend``: what a release will use up; forms are compared at it.
    ``forms``: those of each query, or of each of its groups; left out, they are chosen. ``mechanism``: "transport" or
    "laplace" for all of them; "auto" chooses.
    Guarantee: reads no data; whatever is chosen honours the metric.
    Raises: UnsupportedCombination, naming the query, where its condition or its groups are hidden by the policy, or no
    form can answer it; TooLarge, UnboundedLoss.
    """
    require_verified(metric)
    require(queries, QuantileQueries, "queries", "load quantile queries with dx.load_queries")
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    if metric.universe is None or not metric.universe.lists_the_same_records(queries.universe):
        raise UnsupportedCombination("the queries are about other records than the metric: load both from one policy")
    _require_forms(forms, len(queries.questions))
    if mechanism not in (AUTO, *QUANTILE_FORMS):
        raise UnsupportedCombination(
            f"'mechanism' of quantiles is one of {', '.join(QUANTILE_FORMS)}, or 'auto', which chooses among these; "
            f"found '{mechanism}'"
        )
    named = None if mechanism == AUTO else mechanism
    number = agreed_records(metric, queries.records, records, "as the queries say")
    amount = exact_amount(spend, "spend")
    share = amount / len(queries.questions)
    parts = []
    for place, asked in enumerate(queries.questions):
        try:
            chosen = _Chooser(number or RECORDS, share, metric.size, None if forms is None else forms[place], named)
            parts.append(_planned(metric, asked, chosen))
        except _REFUSED as error:
            raise type(error)(f"'{asked.name}': {error}") from error
    mechanisms: list[Mechanism[Any, Any]] = [part.mechanism for part in parts]
    made = mechanisms[0] if len(mechanisms) == 1 else in_sequence(mechanisms, name="quantiles")
    return Plan(registry.kind_of(queries), metric, queries, made, number, tuple(parts), ComparedForms(amount, named))


def _require_forms(forms: Any, queries: int) -> None:
    """Raises: UnsupportedCombination unless there is a list of words for each query, or nothing at all."""
    proper = isinstance(forms, (list, tuple)) and len(forms) == queries
    proper = proper and all(
        isinstance(one, (list, tuple)) and all(isinstance(form, str) for form in one) for one in forms
    )
    if forms is not None and not proper:
        raise UnsupportedCombination(
            f"'forms' lists, for each of {queries} queries, the form of each question, such as ['transport']; leave it "
            "out to have them chosen"
        )


def _planned(metric: VerifiedMetric, wanted: AskedQuantiles, chosen: _Chooser) -> PlannedQuantiles:
    at = list(wanted.at)
    groups: tuple[int, ...] = ()
    if wanted.by and metric.universe is not None:
        labels = wanted.labels(metric.universe)
        groups = tuple(int(label) for label in np.unique(labels))
        mechanism: QuantileMechanism | Parallel = quantiles_by(
            metric, wanted.attribute, at, labels, where=wanted.where, form=chosen
        )
    else:
        question = quantile_question(metric, wanted.attribute, at, where=wanted.where)
        mechanism = mechanism_of_form(chosen(question), question)
    chosen.require_all_used()
    return PlannedQuantiles(wanted, mechanism, tuple(chosen.taken), groups, chosen.candidates)


@final
class _Chooser:
    """Says the form of one question after the other: what is given or named, else the one that errs less."""

    def __init__(
        self, records: int, spend: Fraction, types: int, given: Sequence[str] | None, named: str | None
    ) -> None:
        self.records, self.spend, self.types, self.given, self.named = records, spend, types, given, named
        self.taken: list[str] = []
        self.candidates: tuple[QuantileCandidate, ...] = ()

    def __call__(self, question: QuantileQuestion) -> str:
        """The form of the next question."""
        if self.given is not None:
            if len(self.taken) >= len(self.given):
                raise UnsupportedCombination(f"there is a form for each question, found {len(self.given)}")
            self.taken.append(self.given[len(self.taken)])
            return self.taken[-1]
        asked = question.metric.size if question.mask is None else int(question.mask.sum())
        # As many of the records as of the possible records, one at least: they are taken to be spread evenly.
        number = min(max(1, self.records * asked // self.types), MOST_RECORDS)
        choice = choice_between(question, number, self.spend)
        self.candidates = self.candidates or choice.candidates
        self.taken.append(self.named or choice.form)
        return self.taken[-1]

    def require_all_used(self) -> None:
        """Raises: UnsupportedCombination where more forms were given than there are questions."""
        if self.given is not None and len(self.given) != len(self.taken):
            raise UnsupportedCombination(f"there is a form for each of {len(self.taken)} questions")


def _blank_of(mechanism: Any) -> QuantileAnswer:
    question = mechanism.question
    ranks = None if question.absence is not None else question.ranks(MOST_RECORDS)
    return QuantileAnswer(question.values, question.at, ranks, (question.values.count - 1,) * len(question.at))
