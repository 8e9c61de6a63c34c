"""A release: what was answered, what it cost, and where it is written down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, Required, TypedDict, final, overload

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Pictured
from dxgeom.mechanisms.contract.composition import metrics_of_rows
from dxgeom.mechanisms.contract.mechanism import Answer, Mechanism
from dxgeom.numeric.arrays import Columns
from dxgeom.old_names import OldName
from dxgeom.planner.amounts import Amount
from dxgeom.planner.answers.linear_answers import LinearAnswers, ReleasedAnswer
from dxgeom.planner.answers.quantile_answers import QuantileAnswers, ReleasedQuantile
from dxgeom.planner.answers.ratios import EVERYTHING, Combined, Range, RatioAnswer
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.answers.tables import with_labels
from dxgeom.planner.estimates.estimate import (
    FAILURES,
    Estimate,
    EstimateName,
    EstimateWish,
    as_wish,
    refusal_of,
    require_whole_records,
)
from dxgeom.planner.releases.receipt import ReleaseReceipt
from dxgeom.planner.releases.stored_form import plain_answer
from dxgeom.planner.unknown import Unknown
from dxgeom.privacy.measures import PURE
from dxgeom.universe.people.people import ONE_ROW, People, public_number_in_words, repeated_in_words

if TYPE_CHECKING:
    from pathlib import Path

    from dxgeom.ledger.ledger import Ledger

FORMAT = "dxgeom release 1"
"""The name and the number of the format that releases are written in."""


class EachTime(TypedDict, total=False):
    """Of what releases again and again; what each means :func:`dxgeom.release` says."""

    ledger: Required[str | Path | Ledger]
    purpose: str
    outside: Literal["refuse", "drop"]
    count_column: str | None
    allotment: str | None


class Once(EachTime, TypedDict, total=False):
    """Of a single release, but for how much it spends."""

    quiet_data: bool
    id: str | None


class Wanted(Once, TypedDict, total=False):
    """Of any release."""

    spend: Amount | None
    insecure_test_seed: int | None


LEFT_OUT: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("count_column", "allotment", "id", "spend", "insecure_test_seed")),
    "purpose": "",
    "outside": "refuse",
    "quiet_data": False,
}


@final
@dataclass(frozen=True, eq=False)
class _PlainAnswers(ShownAnswers):
    """The ``answer`` of a mechanism that no plan asked for anything: whatever it is, and nothing known but its form."""

    no_numbers = no_bars = no_rmse = no_biases = no_law = not_to_agree = no_estimate = Unknown(
        "a mechanism by itself says no more than its answer",
        "release.answer is what it answered; a plan of dx.plan tells errors, too",
    )

    never_joint = "a mechanism by itself has no intervals: leave joint out"

    answer: Any

    @property
    def question_fingerprint(self) -> None:
        return None

    @property
    def by_name(self) -> Mapping[str, Any]:
        return {"the answer": self.answer}

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        raise self.no_numbers.refusal

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.require_joint(joint=joint)
        return {"answer": plain_answer(self.answer)}


@final
@dataclass(frozen=True, eq=False, repr=False)
class Release(Pictured, Generic[Answer]):
    """A private answer and what it cost.

    ``records`` and ``dropped`` are not noisy: the number of records is public when neighbours replace one record by
    another, and whoever drops rows declares it public too how many lie outside the universe. Both are None where
    records may be absent, or no histogram was read: nothing here depends on them then. ``plan_fingerprint``: what the
    ledger remembers the release by. What a kind of answers has can be read here, too; what it has not is
    refused, saying why and what to take instead.
    ``receipt``: the ledger's entry and seal, None where no ledger is kept. ``repeated``: an earlier release of the same
    key, as it was then. ``rehearsal``: of made-up records, and worth nothing. ``not_declared_whole``: attributes whose
    column has an integer type, which the policy does not say. ``estimated_as``: the estimate that was asked
    for; ``shown_estimate``: the one that its JSON holds, too.
    """

    mechanism: Mechanism[Any, Any] = field(repr=False)
    answer: Answer
    spent: Fraction
    remaining: Fraction
    records: int | None
    dropped: int | None
    time: str
    secure: bool
    plan_fingerprint: str = field(repr=False)
    receipt: ReleaseReceipt | None = None
    repeated: bool = False
    rehearsal: bool = False
    not_declared_whole: tuple[str, ...] = field(default=(), repr=False)
    looks_like_people: tuple[str, ...] = field(default=(), repr=False)
    estimated_as: EstimateName | None = field(default=None, repr=False)
    shown_estimate: EstimateName | None = field(default=None, repr=False)
    booking = OldName("receipt")

    @property
    def _shown(self) -> ShownAnswers:
        """The answer as what all kinds have in common."""
        return self.answer if isinstance(self.answer, ShownAnswers) else _PlainAnswers(self.answer)

    @property
    def names(self) -> tuple[str, ...]:
        """What each answer is called."""
        return self._shown.names

    @property
    def exact_values(self) -> tuple[Fraction, ...]:
        """(K,): the private answers as exact rationals."""
        return self._shown.exact_values

    @property
    def values(self) -> NDArray[np.float64]:
        """(K,): the private answers."""
        return self._shown.values

    @property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst where answers have a known bias; what rounding of
        values adds is counted as by half widths at 95 %."""
        return self._shown.rmse

    @property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise: by what values stand for, and by changed queries;
        infinite where that grows with a private number of records."""
        return self._shown.biases

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own; with
        ``joint`` all are at once."""
        return self._shown.half_widths(level, joint=joint)

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own; with
        ``joint`` all do at once."""
        return self._shown.intervals(level, joint=joint)

    @overload
    def __getitem__(self: Release[LinearAnswers], name: str) -> ReleasedAnswer | RatioAnswer: ...
    @overload
    def __getitem__(self: Release[QuantileAnswers], name: str) -> ReleasedQuantile: ...
    @overload
    def __getitem__(self: Release[Any], name: str) -> Any: ...
    def __getitem__(self: Release[Any], name: str) -> Any:
        """The answer, the ratio with its interval at 95 %, or the quantile, of that name; the table, the coefficient,
        what a selection picked; of several tasks the answers of the task.

        Raises: UnsupportedCombination for an unknown name.
        """
        return self._shown[name]

    def to_arrow(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``pyarrow.Table``, a row for each.

        Args: ``query``: only the answers of this query, by its name in the file. ``level``: of the intervals;
        ``joint``: they hold at once.
        Returns: the columns query, name, those that answers are grouped by, value, low, high, rmse, bias and unit; of
        quantiles at, value, rank and of. A column of the policy that is named like one of these is called ``by …``.
        Raises: UnsupportedCombination for an unknown query.
        """
        return self._shown.to_arrow(query, level=level, joint=joint)

    def to_pandas(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``pandas.DataFrame``, as :meth:`to_arrow`. Raises: also MissingExtra without pandas."""
        return self._shown.to_pandas(query, level=level, joint=joint)

    def to_polars(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``polars.DataFrame``, as :meth:`to_arrow`. Raises: also MissingExtra without polars."""
        return self._shown.to_polars(query, level=level, joint=joint)

    def ratios(self, level: float = 0.95, *, joint: bool = False) -> tuple[RatioAnswer, ...]:
        """The ratios that the queries ask for, such as means of groups, each with probability *at least* ``level``;
        with ``joint`` all at once."""
        return self._shown.ratios(level, joint=joint)

    def ratio(
        self,
        numerator: Combined,
        denominator: Combined,
        level: float = 0.95,
        *,
        within: Range = EVERYTHING,
    ) -> RatioAnswer:
        """The ratio of two answers, or of combinations such as ``{"women": 1, "men": 1}``, under their joint noise.

        Definition: Fieller's set of all ρ with |N̂ − ρ·D̂| ≤ c(ρ), c(ρ) what the error of N − ρ·D exceeds with
        probability 1 − ``level`` at most, widened by what rounding of values does for each record.
        Args: ``within``: what the ratio can be at all, from public knowledge, such as (0, 1) for a share.
        Raises: UnsupportedCombination for an unknown name.
        """
        return self._shown.ratio(numerator, denominator, level, within=within)

    def combination(self, shares: Combined, level: float = 0.95) -> tuple[float, float]:
        """Value and half-width of a combination of answers, such as the difference ``{"women": 1, "men": -1}``: its
        error is at most the half-width with probability *at least* ``level``.

        Raises: UnsupportedCombination for an unknown name.
        """
        return self._shown.combination(shares, level)

    def consistent(
        self,
        *,
        nonnegative: bool = False,
        integers: bool = False,
        totals: Mapping[str, Amount] | None = None,
    ) -> Estimate:
        """Answers that agree: :meth:`estimate`, with what is asked for here and nothing else.

        Definition: least Σ (change_k)²/variance_k. The equations are all that hold whatever the records are, given
        their public number: parts and their sum, tables that share cells. An exact answer stays.
        Args: ``nonnegative``: answers with no negative weight are not negative. ``integers``: answers with integer
        weights are integers. ``totals``: answers that are known otherwise, by name; they must be public. Whoever knows
        them can rule out every table with others: the policy's promise is about what releases tell, and does not hold
        between two records whose exchange would change one; ``done`` says so where a total had noise.
        Guarantee: *exact* in rationals for up to 310 answers, or 1,000 where integers are wanted, up to weights rounded
        to ten bits; never further, in that distance, from any truth that satisfies all this, than the release is,
        unless ``integers`` moved it further. Reads no data: it costs no privacy.
        Raises: UnsupportedCombination for an unknown name, or when nothing satisfies all this, and of tables and boxes,
        which agree as they are, without ``nonnegative``; TooLarge for integers of more than 1,000 answers.
        """
        return self._estimated(EstimateWish(nonnegative, integers, {} if totals is None else totals, by_loss=False))

    def estimate(self, estimate: EstimateName | None = None, *, totals: Mapping[str, Amount] | None = None) -> Estimate:
        """The released answers moved to what is known: counts are not negative, their public number and exact answers
        are as they are, and answers agree.

        Definition: of a list of up to 310 answers the nearest such in the norm of the plan's loss; of more, and of
        whole tables, projected in turn on signs and totals and on agreement, signs at the end; of boxes clipped.
        Args: ``estimate``: "auto", all of it; "consistent", without signs; "integers", whole counts besides;
        "records", whole tables are those of some records, in parts; "model", one histogram explains all whole tables,
        or boxes; along a line these rise. Left out, as the release was asked for, else "auto". ``totals``: as for
        :meth:`consistent`; of whole tables and boxes only that of "all records".
        Guarantee: whatever the truth, the total squared error, as the plan's loss weighs it, is not larger than that of
        the release, unless integers moved it or a histogram was fitted; up to float64, and of lists up to weights
        rounded to ten bits. A single error may be larger. Bars are the released ones, less what cannot be: they hold as
        often. Reads no data, costs nothing, and leaves the release and the ledger as they are.
        Raises: as :meth:`consistent`, and for answers that are neither.
        """
        return self._estimated(as_wish(estimate or self.estimated_as or "auto", totals))

    def _estimated(self, wish: EstimateWish) -> Estimate:
        require_whole_records(wish, self.people)
        return self._shown.estimated(self.plan_fingerprint, wish)

    @property
    def people(self) -> People | None:
        """How people with many rows were counted; None where every row was taken to be another person's, or no
        rows were read."""
        return next((metric.people for metric in metrics_of_rows(self.mechanism)), None)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the data holder may have missed about the table, in sentences; in no file of the release."""
        return tuple(map(repeated_in_words, self.looks_like_people))

    @property
    def advice(self) -> tuple[str, ...]:
        """What would make bars narrower, in sentences for the data holder: it tells of the table's types, not its
        cells."""
        if not self._shown.reads_stepped_values:
            return ()
        return tuple(
            f"the column '{name}' holds integers: with 'whole: true' in the policy its values stand for fewer numbers"
            for name in self.not_declared_whole
        )

    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The release ready for JSON; ``level``: of the intervals around answers to linear queries, with ``joint`` of
        all at once."""
        account = self.mechanism.account
        asked = self._shown.question_fingerprint
        return {
            **with_labels(self._shown.document(level, joint=joint), self.mechanism.account.labels),
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            **({} if self.mechanism.delta is None else {"delta": str(self.mechanism.delta)}),
            "records": self.records,
            **public_number_in_words(self.records is not None),
            **self._people_in_words,
            "mechanism": self.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": account.policy_name, "fingerprint": account.policy_fingerprint},
            **({} if account.privacy_measure == PURE else {"privacy": account.privacy_measure}),
            **({} if asked is None else {"queries_fingerprint": asked}),
            "plan_fingerprint": self.plan_fingerprint,
            **({} if self.receipt is None else {"ledger": self.receipt.as_dict()}),
            **({"repeated": True} if self.repeated else {}),
            **({"rehearsal": True} if self.rehearsal else {}),
            **self._estimate_document(level, joint=joint),
        }

    def _estimate_document(self, level: float, *, joint: bool) -> dict[str, Any]:
        """The estimate, where one is shown; or why there is none: the answers are paid for, and shown anyway."""
        if self.shown_estimate is None:
            return {}
        try:
            return {"estimate": self.estimate(self.shown_estimate).document(level, joint=joint)}
        except FAILURES as error:
            return {"estimate": {"error": str(refusal_of(error))}}

    @property
    def _people_in_words(self) -> dict[str, Any]:
        """What was dropped, and what is assumed or stated of people."""
        people = self.people
        if people is None:
            assumed = {"assumed": ONE_ROW} if metrics_of_rows(self.mechanism) else {}
            return {"dropped_rows": self.dropped, **assumed}
        # How many rows people have, beyond what they count at most, is told nowhere.
        spread = people.in_shares
        dropped = {"dropped_rows": None, "dropped_people": self.dropped} if spread else {"dropped_rows": self.dropped}
        return {**dropped, "records_are": people.records_are, "people": people.sentence}

    def public_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The same without what only the data holder may see: dropped rows, the time, and where the ledger is.

        The entry's number and seal stay, so that an auditor can ask for the entry.
        """
        document = self.as_dict(level, joint=joint)
        for curators in ("dropped_rows", "dropped_people", "time", "repeated"):
            document.pop(curators, None)
        return {**document, **({} if self.receipt is None else {"ledger": self.receipt.public_dict()})}

    def to_json(self, level: float = 0.95) -> str:
        """The release as JSON text, as a file of it begins: with its format."""
        return json.dumps({"format": FORMAT, **self.as_dict(level)}, indent=2, ensure_ascii=False)
