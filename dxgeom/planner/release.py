"""A release: what was answered, what it cost, and where it is written down."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.contract.mechanism import Answer, Mechanism
from dxgeom.planner.amounts import Amount
from dxgeom.planner.answers.answer_table import ReleasedAnswer, answer_columns, the_answer
from dxgeom.planner.answers.consistency import ConsistentAnswers, consistent_answers
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.answers.ratios import Combined, RatioAnswer, combination_of, ratio_of
from dxgeom.planner.releases.booking import Booking
from dxgeom.planner.releases.stored_form import plain_answer
from dxgeom.privacy.currencies import PURE

FORMAT = "dxgeom release 1"
"""The name and the number of the format that releases are written in."""


@final
@dataclass(frozen=True, eq=False)
class Release(Generic[Answer]):
    """A private answer and what it cost.

    ``records`` and ``dropped`` are not noisy: the number of records is public when neighbours replace one record by
    another, and whoever drops rows declares it public too how many lie outside the universe. Both are None where
    records may be absent, or no histogram was read: nothing here depends on them then. ``plan_fingerprint``: what the
    ledger remembers the release by. A plan's answers are :class:`LinearAnswers`, whose figures can be read here, too.
    ``booking``: the ledger's entry and seal, None where no ledger is kept. ``repeated``: an earlier release of the same
    key, as it was then. ``rehearsal``: of made-up records, and worth nothing. ``not_declared_whole``: attributes whose
    column has an integer type, which the policy does not say.
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
    booking: Booking | None = None
    repeated: bool = False
    rehearsal: bool = False
    not_declared_whole: tuple[str, ...] = field(default=(), repr=False)

    @property
    def names(self: Release[LinearAnswers]) -> tuple[str, ...]:
        """The queries' names."""
        return self.answer.names

    @property
    def exact_values(self: Release[LinearAnswers]) -> tuple[Fraction, ...]:
        """(K,): the private answers as exact rationals."""
        return self.answer.exact_values

    @property
    def values(self: Release[LinearAnswers]) -> NDArray[np.float64]:
        """(K,): the private answers."""
        return self.answer.values

    @property
    def rmse(self: Release[LinearAnswers]) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer, at its worst where answers have a known bias."""
        return self.answer.rmse

    @property
    def biases(self: Release[LinearAnswers]) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise: by what values stand for, and by changed queries;
        infinite where that grows with a private number of records."""
        return self.answer.biases

    def half_widths(self: Release[LinearAnswers], level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own; with
        ``joint`` all are at once."""
        return self.answer.half_widths(level, joint=joint)

    def intervals(self: Release[LinearAnswers], level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own; with
        ``joint`` all do at once."""
        return self.answer.intervals(level, joint=joint)

    def __getitem__(self: Release[LinearAnswers], name: str) -> ReleasedAnswer | RatioAnswer:
        """The answer, or the ratio, of that name, with its interval at 95 %.

        Raises: UnsupportedCombination for an unknown name.
        """
        queries = self.answer.queries
        origins = (*queries.each_origin, *(ratio.origin for ratio in queries.ratios))
        return the_answer(self.answer.by_name, name, origins)

    def to_arrow(self: Release[LinearAnswers], query: str | None = None, *, level: float = 0.95) -> Any:
        """The answers as a ``pyarrow.Table``, a row for each.

        Args: ``query``: only the answers of this query, by its name in the file. ``level``: of the intervals.
        Returns: the columns query, name, those that answers are grouped by, value, low, high, rmse, bias and unit. A
        column of the policy that is named like one of these is called ``by …``.
        Raises: UnsupportedCombination for an unknown query.
        """
        from dxgeom.engines.results.answer_frames import arrow_table  # slow to load

        return arrow_table(answer_columns(self.answer, level, query))

    def to_pandas(self: Release[LinearAnswers], query: str | None = None, *, level: float = 0.95) -> Any:
        """The answers as a ``pandas.DataFrame``, as :meth:`to_arrow`.

        Raises: UnsupportedCombination for an unknown query; MissingExtra where pandas is not installed.
        """
        from dxgeom.engines.results.answer_frames import data_frame  # slow to load

        return data_frame(answer_columns(self.answer, level, query))

    def ratios(self: Release[LinearAnswers], level: float = 0.95) -> tuple[RatioAnswer, ...]:
        """The ratios that the queries ask for, such as means of groups, each with probability *at least* ``level``."""
        return self.answer.ratios(level)

    def ratio(
        self: Release[LinearAnswers],
        numerator: Combined,
        denominator: Combined,
        level: float = 0.95,
        *,
        within: tuple[float, float] = (-math.inf, math.inf),
    ) -> RatioAnswer:
        """The ratio of two answers, or of combinations such as ``{"women": 1, "men": 1}``, under their joint noise.

        Definition: Fieller's set of all ρ with |N̂ − ρ·D̂| ≤ c(ρ), c(ρ) what the error of N − ρ·D exceeds with
        probability 1 − ``level`` at most, widened by what rounding of values does for each record.
        Args: ``within``: what the ratio can be at all, from public knowledge, such as (0, 1) for a share.
        Raises: UnsupportedCombination for an unknown name.
        """
        return ratio_of(self.answer, numerator, denominator, level, within)

    def combination(self: Release[LinearAnswers], shares: Combined, level: float = 0.95) -> tuple[float, float]:
        """Value and half-width of a combination of answers, such as the difference ``{"women": 1, "men": -1}``: its
        error is at most the half-width with probability *at least* ``level``.

        Raises: UnsupportedCombination for an unknown name.
        """
        return combination_of(self.answer, shares, level)

    def consistent(
        self: Release[LinearAnswers],
        *,
        nonnegative: bool = False,
        integers: bool = False,
        totals: Mapping[str, Amount] | None = None,
    ) -> ConsistentAnswers:
        """Answers that agree: the nearest that satisfy every equation the queries imply, and what is asked for here.

        Definition: least Σ (change_k)²/variance_k. The equations are all that hold whatever the records are, given
        their public number: parts and their sum, tables that share cells. An exact answer stays.
        Args: ``nonnegative``: answers with no negative weight are not negative. ``integers``: answers with integer
        weights are integers. ``totals``: answers that are known otherwise, by name; they must be public.
        Guarantee: *exact* in rationals, up to weights rounded to ten bits; never further, in that distance, from any
        truth that satisfies all this, than the release is, unless ``integers`` moved it further. Reads no data: it
        costs no privacy.
        Raises: UnsupportedCombination for an unknown name, or when nothing satisfies all this; TooLarge beyond 300
        answers.
        """
        return consistent_answers(
            self.answer, self.plan_fingerprint, nonnegative=nonnegative, integers=integers, totals=totals or {}
        )

    @property
    def advice(self: Release[LinearAnswers]) -> tuple[str, ...]:
        """What would make bars narrower, in sentences for the curator: it tells of the table's types, not its cells."""
        if not any(one.per_record for one in self.answer.queries.each_rounding):
            return ()
        return tuple(
            f"the column '{name}' holds integers: with 'whole: true' in the policy its values stand for fewer numbers"
            for name in self.not_declared_whole
        )

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release ready for JSON; ``level``: of the intervals around answers to linear queries."""
        account = self.mechanism.account
        linear = self.answer if isinstance(self.answer, LinearAnswers) else None
        return {
            **(
                {"answer": plain_answer(self.answer)}
                if linear is None
                else {
                    "answers": linear.as_dicts(level),
                    "level": level,
                    "warnings": [useless.as_dict() for useless in linear.useless],
                }
            ),
            **({"ratios": [one.as_dict() for one in linear.ratios(level)]} if linear and linear.queries.ratios else {}),
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "records": self.records,
            "dropped_rows": self.dropped,
            "mechanism": self.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": account.policy_name, "fingerprint": account.policy_fingerprint},
            **({} if account.currency == PURE else {"privacy": account.currency}),
            **({} if linear is None else {"queries_fingerprint": linear.queries.fingerprint}),
            "plan_fingerprint": self.plan_fingerprint,
            **({} if self.booking is None else {"ledger": self.booking.as_dict()}),
            **({"repeated": True} if self.repeated else {}),
            **({"rehearsal": True} if self.rehearsal else {}),
        }

    def public_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The same without what only the curator may see: dropped rows, the time, and where the ledger is.

        The entry's number and seal stay, so that an auditor can ask for the entry.
        """
        document = self.as_dict(level)
        for curators in ("dropped_rows", "time", "repeated"):
            document.pop(curators, None)
        return {**document, **({} if self.booking is None else {"ledger": self.booking.public_dict()})}

    def to_json(self, level: float = 0.95) -> str:
        """The release as JSON text, as a file of it begins: with its format."""
        return json.dumps({"format": FORMAT, **self.as_dict(level)}, indent=2, ensure_ascii=False)
