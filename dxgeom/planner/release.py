"""The release: the ledger is charged, on disk, and only then randomness is read and an answer drawn, once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from types import NoneType
from typing import Any, Generic, Literal, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.charge import charge
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.answers.answer_table import ReleasedAnswer, answer_columns, the_answer
from dxgeom.planner.consistency import ConsistentAnswers, consistent_answers
from dxgeom.planner.linear_answers import LinearAnswers
from dxgeom.planner.reading import read

New = TypeVar("New")


@final
@dataclass(frozen=True, eq=False)
class Release(Generic[Answer]):
    """A private answer and what it cost.

    ``records`` and ``dropped`` are not noisy: the number of records is public when neighbours replace one record by
    another, and whoever drops rows declares it public too how many lie outside the universe. Both are None where
    records may be absent, or no histogram was read: nothing here depends on them then. ``plan_fingerprint``: what the
    ledger remembers the release by. A plan's answers are :class:`LinearAnswers`, whose figures can be read here, too.
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
        """(K,): how far each answer can be off apart from its noise; 0 unless changed queries were answered."""
        return self.answer.biases

    def half_widths(self: Release[LinearAnswers], level: float = 0.95) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``, each on its own."""
        return self.answer.half_widths(level)

    def intervals(self: Release[LinearAnswers], level: float = 0.95) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``, each on its own."""
        return self.answer.intervals(level)

    def __getitem__(self: Release[LinearAnswers], name: str) -> ReleasedAnswer:
        """The answer of that name, with its interval at 95 %.

        Raises: UnsupportedCombination for an unknown name.
        """
        return the_answer(self.answer.by_name, name)

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

    def with_answer(self, answer: New) -> Release[New]:
        """The same release with its answer said otherwise."""
        return Release(
            self.mechanism,
            answer,
            self.spent,
            self.remaining,
            self.records,
            self.dropped,
            self.time,
            self.secure,
            self.plan_fingerprint,
        )

    def as_dict(self, level: float = 0.95) -> dict[str, Any]:
        """The release ready for JSON; ``level``: of the intervals around answers to linear queries."""
        account = self.mechanism.account
        linear = self.answer if isinstance(self.answer, LinearAnswers) else None
        return {
            **(
                {"answer": _plain(self.answer)}
                if linear is None
                else {
                    "answers": linear.as_dicts(level),
                    "level": level,
                    "warnings": [useless.as_dict() for useless in linear.useless],
                }
            ),
            "spent": str(self.spent),
            "remaining": str(self.remaining),
            "records": self.records,
            "dropped_rows": self.dropped,
            "mechanism": self.mechanism.name,
            "time": self.time,
            "secure_randomness": self.secure,
            "policy": {"title": account.policy_name, "fingerprint": account.policy_fingerprint},
            **({} if linear is None else {"queries_fingerprint": linear.queries.fingerprint}),
            "plan_fingerprint": self.plan_fingerprint,
        }

    def to_json(self, level: float = 0.95) -> str:
        """The release as JSON text."""
        return json.dumps(self.as_dict(level), indent=2, ensure_ascii=False)


def release(
    mechanism: Mechanism[Data, Answer],
    data: Any,
    *,
    ledger: str | Path | Ledger,
    spend: Amount | None = None,
    purpose: str = "",
    outside: Literal["refuse", "drop"] = "refuse",
    count_column: str | None = None,
    insecure_test_seed: int | None = None,
    plan_fingerprint: str | None = None,
) -> Release[Answer]:
    """Charge the ledger with the whole spend, then answer once, in as many rounds as the mechanism takes.

    Args: ``data``: for a mechanism on histograms, and for sequences and functions of such, the path of a CSV or Parquet
    file, a DataFrame, an Arrow table, or an array of counts; else what the mechanism reads: a secret, a series, a table
    of bounded numbers. ``ledger``: path (created when new), ``":memory:"``, or an open Ledger. ``spend``: the multiple
    of the metric that this release uses up, 0.1 means exactly 1/10; left out for a mechanism that was made for one
    spend. ``outside``: "refuse" rows outside the universe, or "drop" them; that anybody lies outside is then not
    hidden, and how many do is stated in the release. ``count_column``: the column that says how many records each row
    stands for. ``plan_fingerprint``: what the ledger is to remember it by; left out, the mechanism's own.
    Raises: DataError, TooLarge, UnsupportedCombination before anything is charged; BudgetExceeded, LedgerError without
    anything charged. No refusal begins a new ledger.
    """
    _check_kinds(mechanism, ledger, purpose, insecure_test_seed)
    amount = _amount(mechanism, spend)
    found = read(mechanism, data, outside, count_column)
    mechanism.check(found.data, amount)
    randomness = SystemRandomness() if insecure_test_seed is None else InsecureSeededRandomness(insecure_test_seed)
    charged_for = mechanism.fingerprint if plan_fingerprint is None else plan_fingerprint
    entry = charge(
        ledger,
        mechanism.account,
        amount,
        purpose=purpose or f"one answer by {mechanism.name}",
        plan_fingerprint=charged_for,
    )
    return Release(
        mechanism=mechanism,
        answer=mechanism.draw(found.data, amount, randomness),
        spent=amount,
        remaining=entry.remaining,
        records=found.records,
        dropped=found.dropped,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        secure=insecure_test_seed is None,
        plan_fingerprint=charged_for,
    )


def _check_kinds(mechanism: object, ledger: object, purpose: object, seed: object) -> None:
    require(mechanism, Mechanism, "mechanism", "pass plan.mechanism, or what selection, mwem and their like return")
    require(
        ledger, (str, Path, Ledger), "ledger", "name a file, such as 'privacy.db', in which spends are written down"
    )
    require(purpose, (str, NoneType), "purpose", "say in words what the answers are for")
    if seed is not None:
        require(seed, WHOLE, "insecure_test_seed", "leave it out, for answers that nobody can predict")


def _amount(mechanism: Mechanism[Any, Any], spend: Amount | None) -> Fraction:
    if spend is not None:
        return exact_amount(spend, "spend")
    if mechanism.only_spend is None:
        raise UnsupportedCombination(f"{mechanism.name} serves any spend: say how much of the budget to use, spend=...")
    return mechanism.only_spend


def _plain(answer: Any) -> Any:
    """Numbers, text, lists of them and what has names, as JSON has them; exact rationals as text beside their float."""
    match answer:
        case None | bool() | int() | float() | str():
            return answer
        case Fraction():
            return {"value": float(answer), "exact": str(answer)}
        case tuple() | list():
            return [_plain(part) for part in answer]
        case dict():
            return {str(name): _plain(part) for name, part in answer.items()}
        case np.ndarray() | np.generic():
            return answer.tolist()
        case _ if hasattr(answer, "as_dict"):
            return answer.as_dict()
        case _:
            raise UnsupportedCombination(f"an answer of type {type(answer).__name__} has no form in JSON")
