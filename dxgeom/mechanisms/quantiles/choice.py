"""Which way to answer quantiles: both are built, and the one that errs less on evenly spread records is taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, array_of, require, require_exact
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.separate import Parallel, in_parallel
from dxgeom.mechanisms.quantiles.even_spread import expected_errors
from dxgeom.mechanisms.quantiles.laplace_quantiles import LaplaceQuantiles
from dxgeom.mechanisms.quantiles.question import QuantileQuestion, mask_of, quantile_question
from dxgeom.mechanisms.quantiles.transport import TransportQuantiles
from dxgeom.mechanisms.quantiles.values import ordered_values
from dxgeom.metrics.verification import VerifiedMetric, require_verified

Form: TypeAlias = Literal["transport", "laplace"]
QuantileMechanism: TypeAlias = TransportQuantiles | LaplaceQuantiles

_FORMS: Final[dict[str, Callable[[QuantileQuestion], QuantileMechanism]]] = {
    "transport": TransportQuantiles,
    "laplace": LaplaceQuantiles,
}
QUANTILE_FORMS: Final = tuple(_FORMS)
MOST_RECORDS: Final = 2**40
LEVEL: Final = 0.95


@final
@dataclass(frozen=True, eq=False)
class QuantileCandidate:
    """One way to answer. ``expected_error``: the mean over the ranks, see :func:`expected_errors`; None where it could
    not be built, ``reason`` says why. ``statement``: what holds of its errors, whatever the data. ``proved``: with
    probability at least 0.95 no answer is further from its quantile than this, whatever the data, and ``proved_ranks``,
    by no more ranks; in the values' unit the one, and None where nothing is known."""

    name: str
    mechanism: QuantileMechanism | None = field(repr=False)
    expected_error: float | None
    statement: str
    reason: str = ""
    proved: float | None = None
    proved_ranks: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The candidate ready for JSON."""
        return {
            "mechanism": self.name,
            "expected_error_if_evenly_spread": self.expected_error,
            "proved_error": self.proved,
            "proved_ranks": self.proved_ranks,
            **({"reason": self.reason} if self.reason else {}),
        }


@final
@dataclass(frozen=True, eq=False)
class QuantileChoice:
    """Every way to answer, and the one whose expected error is least, the first among equals.

    Guarantee: looks at the policy, the number of records and the spend, never at data.
    """

    question: QuantileQuestion = field(repr=False)
    records: int
    spend: Fraction
    candidates: tuple[QuantileCandidate, ...]

    @property
    def mechanism(self) -> QuantileMechanism:
        """The chosen one. Raises: UnsupportedCombination where none could be built."""
        return next(one.mechanism for one in self.candidates if one.name == self.form and one.mechanism is not None)

    @property
    def form(self) -> str:
        """Its form, by the errors to be expected and never by bounds.

        Raises: UnsupportedCombination where none could be built.
        """
        made = [(one.expected_error, one.name) for one in self.candidates if one.expected_error is not None]
        if not made:
            raise UnsupportedCombination("; ".join(f"{one.name}: {one.reason}" for one in self.candidates))
        return min(made, key=lambda one: one[0])[1]

    def as_dict(self) -> dict[str, Any]:
        """The choice ready for JSON."""
        return {
            "records": self.records,
            "spend": str(self.spend),
            "chosen": self.mechanism.name,
            "expected_errors_if_evenly_spread": {one.name: one.expected_error for one in self.candidates},
            "statements": {one.name: one.statement or one.reason for one in self.candidates},
        }


def quantile_choice(
    metric: VerifiedMetric,
    attribute: str | Iterable[Any],
    at: Any,
    *,
    records: int,
    spend: Fraction | int = Fraction(1),
    where: Any = None,
) -> QuantileChoice:
    """Both ways to answer, with what is known of their errors.

    Args: as :func:`quantile_mechanism`; ``records``: how many are asked about, or about how many where that is private.
    """
    require(records, WHOLE, "records", "give the number of records asked about, or a guess where it is private")
    require_exact(spend, "spend")
    if not 1 <= records <= MOST_RECORDS:
        raise UnsupportedCombination(f"'records', those asked about, are from 1 to 2**40, found {records:,}")
    return choice_between(quantile_question(metric, attribute, at, where=where), records, Fraction(spend))


def choice_between(question: QuantileQuestion, records: int, spend: Fraction) -> QuantileChoice:
    """Both ways to answer a question about so many records, at most 2**40, at a spend."""
    tried = tuple(_tried(name, question, records, spend) for name in _FORMS)
    return QuantileChoice(question, records, spend, tried)


def mechanism_of_form(form: str, question: QuantileQuestion) -> QuantileMechanism:
    """The mechanism of a form, "transport" or "laplace".

    Raises: UnsupportedCombination, TooLarge, UnboundedLoss where it cannot answer this.
    """
    if not isinstance(form, str) or form not in _FORMS:
        raise UnsupportedCombination(f"'form' is one of {', '.join(_FORMS)}; found {form!r}")
    return _FORMS[form](question)


def _tried(name: str, question: QuantileQuestion, records: int, spend: Fraction) -> QuantileCandidate:
    try:
        mechanism = _FORMS[name](question)
        mechanism.check_size(records, spend)
        error = float(expected_errors(mechanism, records, spend).mean())
    except (TooLarge, UnboundedLoss, UnsupportedCombination) as refused:
        return QuantileCandidate(name, None, None, "", f"not built: {refused}")
    said = mechanism.statement(records, spend=spend)
    if isinstance(mechanism, TransportQuantiles):
        ranks, bound = mechanism.rank_bound(records, LEVEL, spend), mechanism.value_bound(LEVEL, spend)
        return QuantileCandidate(name, mechanism, error, said, "", bound, ranks)
    values = question.values.numbers
    bound = min(mechanism.value_bound(LEVEL, spend), float(values[-1] - values[0]))
    return QuantileCandidate(name, mechanism, error, said, "", bound)


def quantile_mechanism(
    metric: VerifiedMetric,
    attribute: str | Iterable[Any],
    at: Any = "1/2",
    *,
    where: Any = None,
    form: Form = "transport",
) -> QuantileMechanism:
    """The mechanism that answers with quantiles of one attribute, each a value of it; left out, the median.

    Args: ``attribute``: the name of one of numbers or dates, or a number for each record type (N,). ``at``: a level
    between 0 and 1, or several, of which level q is the ⌈q·n⌉-th smallest of n. ``where``: ask about some records only:
    a condition on what the policy keeps apart, or a bool for each record type (N,). ``form``: "transport" or
    "laplace"; :func:`quantile_choice` says which errs less.
    Raises: UnsupportedCombination where the condition can change at finite distance, for words and unknown names, and
    for Laplace noise where records may be absent; TooLarge where too many records would have to be listed;
    UnboundedLoss where Laplace noise cannot hide a quantile.
    """
    mechanism = mechanism_of_form(form, quantile_question(metric, attribute, at, where=where))
    mechanism.check_size(1, Fraction(1))
    return mechanism


def quantiles_by(
    metric: VerifiedMetric,
    attribute: str | Iterable[Any],
    at: Any,
    by: str | Sequence[Any] | NDArray[Any],
    *,
    where: Any = None,
    form: Form | Callable[[QuantileQuestion], str] = "transport",
) -> Parallel:
    """The same quantiles in every group, all for the price of one, where the policy keeps the groups apart.

    Args: ``by``: the name of an attribute, or a label for each record type (N,). Answers come by increasing code or
    label; that of a group without records is empty, for how many each has is public. ``where``: as for
    :func:`quantile_mechanism`. ``form``: or what says it of each group's question.
    Raises: UnsupportedCombination as :func:`quantile_mechanism`, and naming two records of two groups that the policy
    hides from each other: a record that moves between groups changes both.
    """
    require_verified(metric)
    values, asked = ordered_values(metric, attribute), mask_of(metric, where)

    def of_one(inner: VerifiedMetric, members: NDArray[np.int64]) -> QuantileMechanism:
        own = None if asked is None else asked[members]
        question = quantile_question(inner, values.among(members), at, where=own, may_be_empty=True)
        return mechanism_of_form(form(question) if callable(form) else form, question)

    return in_parallel(metric, _labels(metric, by), of_one, f"quantiles of {values.name} by group")


def _labels(metric: VerifiedMetric, by: str | Sequence[Any] | NDArray[Any]) -> NDArray[Any]:
    if not isinstance(by, str):
        return array_of(by, "by", "name an attribute, or give a label for each record type")
    universe = metric.universe
    if universe is None or by not in universe.names:
        raise UnsupportedCombination(f"'by' names an attribute of the policy; there is no '{by}'")
    place = universe.names.index(by)
    return universe.laid_out(universe.spread(place, np.arange(universe.attributes[place].size)))
