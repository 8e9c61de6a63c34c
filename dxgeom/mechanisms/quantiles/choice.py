"""Which way to answer quantiles: both are built, and the one that errs less on evenly spread records is taken.

Errors to expect, from public facts: as if the records were spread evenly over the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, array_of, require, require_exact
from dxgeom.errors import TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import Parallel, in_parallel
from dxgeom.mechanisms.quantiles.question import QuantileQuestion, mask_of, ordered_values, quantile_question, ranks_of
from dxgeom.mechanisms.quantiles.reach import UNREACHED
from dxgeom.mechanisms.quantiles.transport import LaplaceQuantiles, LargestLength, TransportQuantiles
from dxgeom.metrics.verification import VerifiedMetric, require_verified

_KINDS = 2_000
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


def evenly_spread(places: NDArray[np.int64], records: int) -> NDArray[np.int64]:
    """So many records over a tally's entries (M,), in the order of their places, as evenly as whole numbers go."""
    size = len(places)
    ends = np.array([records * entry // size for entry in range(size + 1)], dtype=np.int64)
    spread = np.empty(size, dtype=np.int64)
    spread[np.argsort(places, kind="stable")] = np.diff(ends)
    return spread


def expected_errors(
    mechanism: TransportQuantiles | LaplaceQuantiles, records: int, spend: Fraction = Fraction(1)
) -> NDArray[np.float64]:
    """(m,): the mean absolute error of each different rank if ``records`` records were spread evenly over the values.

    A model, not a bound: data are not looked at. In the attribute's own unit; before answers are put in order, and for
    Laplace noise, whatever the data, before the nearest value is taken, but never more than the values' range.
    Guarantee: up to the rounding of float64; for permute-and-flip *approximate within* a hundredth.
    """
    values = mechanism.question.values
    numbers = np.array([float(number - values.numbers[0]) for number in values.numbers])
    ranks = sorted(set(mechanism.question.ranks(records)))
    if isinstance(mechanism, LaplaceQuantiles):
        return np.full(len(ranks), min(mechanism.scale(spend), float(numbers[-1])))
    tally = evenly_spread(mechanism.reach.places_of_tally, records)
    lengths, rate = mechanism.lengths_of_tally(tally), mechanism.rate(spend)
    if mechanism.is_alone(len(lengths)):
        worths = np.where(lengths == UNREACHED, np.inf, lengths.astype(np.float64) * float(rate))
        alone = _exponential if mechanism.law == "exponential" else _permute_and_flip
        chances = np.array([alone(row) for row in worths])
    else:
        chances = LargestLength.of(lengths, rate).chances()
    by_value = np.zeros(values.count, dtype=np.int64)
    np.add.at(by_value, mechanism.reach.places_of_tally, tally)
    asked = ranks if mechanism.question.absence is None else ranks_of(mechanism.keys(records), records)
    truth = numbers[np.searchsorted(np.cumsum(by_value), asked)]
    return np.asarray((chances * np.abs(numbers - truth[:, None])).sum(axis=1))


def _exponential(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(T,): P ∝ e^(−length), lengths in nats, one of them 0."""
    weights = np.exp(-lengths)
    return np.asarray(weights / weights.sum())


def _permute_and_flip(lengths: NDArray[np.float64]) -> NDArray[np.float64]:
    """(T,): P(t) = p_t·∫ Π_{s≠t} (1 − u·p_s) du over [0, 1] for coins p = e^(−length), one of them 1.

    Of many different coins those within a two-thousandth of the logarithmic range are taken as one; the integral is
    by Gauss and Legendre on intervals that halve towards 0.
    """
    coins = np.exp(-np.minimum(lengths, 40.0))
    kinds, kind_of = np.unique(np.round(lengths, 6).clip(max=40.0), return_inverse=True)
    if len(kinds) > _KINDS:
        kinds, kind_of = np.unique(np.round(lengths.clip(max=40.0) * (_KINDS / 40.0)), return_inverse=True)
        kinds = kinds * (40.0 / _KINDS)
    number = np.bincount(kind_of)
    each = np.exp(-kinds)
    ends = np.append(2.0 ** -np.arange(60), 0.0)
    places = (ends[:-1, None] + ends[1:, None] + (ends[:-1] - ends[1:])[:, None] * _NODES).ravel() / 2
    widths = ((ends[:-1] - ends[1:])[:, None] * _WEIGHTS / 2).ravel()
    logs = np.log1p(-places[:, None] * each)
    integrals = (np.exp((logs @ number)[:, None] - logs) * widths[:, None]).sum(axis=0)
    chances = coins * integrals[kind_of]
    return np.asarray(np.where(np.isfinite(lengths), chances, 0.0) / chances[np.isfinite(lengths)].sum())


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

    Args: ``attribute``: the name of one of numbers or dates, or a number for each possible record (N,). ``at``: a level
    between 0 and 1, or several, of which level q is the ⌈q·n⌉-th smallest of n. ``where``: ask about some records only:
    a condition on what the policy keeps apart, or a bool for each possible record (N,). ``form``: "transport" or
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

    Args: ``by``: the name of an attribute, or a label for each possible record (N,). Answers come by increasing code or
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
        return array_of(by, "by", "name an attribute, or give a label for each possible record")
    universe = metric.universe
    if universe is None or by not in universe.names:
        raise UnsupportedCombination(f"'by' names an attribute of the policy; there is no '{by}'")
    place = universe.names.index(by)
    return universe.laid_out(universe.spread(place, np.arange(universe.attributes[place].size)))
