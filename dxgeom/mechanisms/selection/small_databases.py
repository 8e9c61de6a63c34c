"""A small database that answers many queries nearly as the real one does, picked among all of its size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import chain, combinations_with_replacement
from types import NoneType
from typing import Any, ClassVar, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import NUMBER, WHOLE, require
from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import ANSWER_BYTES
from dxgeom.mechanisms.contract.readers import HistogramMechanism
from dxgeom.mechanisms.linear.biased import changed_alike
from dxgeom.mechanisms.linear.score_sensitivities import over_common_unit, query_sensitivities
from dxgeom.mechanisms.linear.sensitivity import on_records_of, require_public_number
from dxgeom.mechanisms.selection.selections import choose, nats_of, require_rate, require_scores_fit
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.numeric.arrays import integer_totals
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.numbers.value_rounding import rounding_biases
from dxgeom.universe.queries import LinearQueries

DATABASE_LIMIT = 1_000_000
"""All databases of the size are scored; more than this are refused."""
ENTRY_LIMIT = 20_000_000
"""Possible records in all these databases together."""
_SCORES_AT_ONCE = 4_000_000
_LEVEL = 0.95


@final
@dataclass(frozen=True, eq=False)
class SmallDatabase:
    """The picked database: ``record_types`` are the indices of its records, increasing; it stands for ``records``.

    Answers are scaled by records/size. Whatever is computed from it reveals nothing more.
    """

    record_types: tuple[int, ...]
    records: int
    queries: LinearQueries = field(repr=False)

    @cached_property
    def exact_answers(self) -> tuple[Fraction, ...]:
        """The answers to the queries, scaled to all records; exact rationals."""
        scale = Fraction(self.records, len(self.record_types))
        return tuple(scale * answer for answer in self.queries.answers(self._counts))

    @property
    def answers(self) -> NDArray[np.float64]:
        """(K,): the same in float64."""
        return np.array([float(answer) for answer in self.exact_answers])

    @property
    def histogram(self) -> NDArray[np.float64]:
        """(N,): the database scaled to all records."""
        return np.asarray(self._counts * (self.records / len(self.record_types)), dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """The database ready for JSON."""
        answers = zip(self.queries.names, self.exact_answers, strict=True)
        return {
            "record_types": list(self.record_types),
            "records": self.records,
            "answers": [{"name": name, "value": float(answer), "exact": str(answer)} for name, answer in answers],
        }

    @property
    def _counts(self) -> NDArray[np.int64]:
        return np.bincount(self.record_types, minlength=self.queries.size).astype(np.int64)


@final
@dataclass(frozen=True, eq=False)
class SmallDatabaseMechanism(HistogramMechanism[SmallDatabase]):
    """One of all databases y of m records, by the score −max_q |q(x) − (n/m)·q(y)|.

    Definition: m = ``size`` records of any type; n the public number of real ones; the selection's rate is spend/2c
    with c ≥ max |q_i − q_j|/d(i, j) over queries and generating pairs, ``steepest`` in units. Where queries were
    changed for ``planned`` records, ``queries`` are the changed ones, at most ``shift`` per record from those asked.
    Guarantee: replacing record i by j changes the odds of any output by at most e^(spend·d(i, j)): each score changes
    by at most c·d, up or down, and every database is scored in exact integers.
    Source: Kamalaruban et al. 2020, §3.3, after Blum, Ligett & Roth 2008; corrected: q(x) is compared with
    (n/m)·q(y), not with q(y), which a database of m < n records cannot come near.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    queries: LinearQueries = field(repr=False)
    law: SelectionLaw
    numerators: NDArray[np.int64] = field(repr=False)
    unit: Fraction
    steepest: float
    size: int
    planned: int | None = None
    shift: Fraction = Fraction(0)
    needs_whole_people: ClassVar[bool] = True

    @cached_property
    def fingerprint(self) -> str:
        asked = (self.queries.fingerprint, self.numerators, self.unit, self.planned, self.shift)
        law = (self.law, self.steepest, self.size)
        return canonical_digest("small database", self.metric.fingerprint, self.name, *asked, *law)

    @property
    def databases(self) -> int:
        """How many there are to pick from."""
        return math.comb(self.metric.size + self.size - 1, self.size)

    def error_bound(self, records: int, level: float = 0.95, spend: Fraction = Fraction(1)) -> float:
        """With probability at least ``level`` no answer is further from the truth about raw numbers than this.

        Definition: n·w·√(ln 2K/2m) + 2c·(ln M − ln(1 − level))/spend + n·shift + n·r, w the widest range of one query's
        weights, M the number of databases, r the most that one record's raw numbers differ from the values that stand
        for them; columns clamped to ends that are not the true ones are about the clamped numbers. Whatever the data;
        up to the rounding of float64.
        Source: Kamalaruban et al. 2020, Proposition 1; corrected: the theorem it takes from Dwork & Roth 2014 finds a
        database within αn only for more than two queries, so what m records can reach is bounded by Hoeffding's
        inequality itself; and M counts the databases of size m exactly.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        widest = float(self.unit) * float(np.ptp(self.numerators, axis=1).max())
        reached = records * widest * math.sqrt(math.log(2 * self.queries.count) / (2 * self.size))
        per_nat = 2 * float(self.unit) * self.steepest / float(spend)
        known = records * float(self.shift) + float(rounding_biases(self.queries.each_rounding, records).max())
        return reached + per_nat * (math.log(self.databases) + nats_of(level)) + known

    def check_size(self, records: int, spend: Fraction) -> None:
        if records < 1:
            raise UnsupportedCombination("a small database stands for at least one record")
        if self.planned not in (None, records):
            raise DataError(
                f"the queries were changed for {self.planned:,} records, these are {records:,} in the table: plan with "
                f"records={records} (--records {records})"
            )
        require_scores_fit(2 * self.size * records * self.shares * int(np.abs(self.numerators).max()))
        require_rate(self._largest_lead, spend / self.shares)

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[SmallDatabase]:
        databases = self._every_database()
        scores, records = self._scores(counts, databases), int(counts.sum()) // self.shares
        places = (choose(scores, self._largest_lead, spend, self.law, randomness) for _ in range(count))
        return [SmallDatabase(tuple(databases[place].tolist()), records, self.queries) for place in places]

    def encode_answer(self, answer: Any) -> Any:
        return [answer.records, *answer.record_types]

    def decode_answer(self, stored: Any) -> SmallDatabase:
        return SmallDatabase(tuple(stored[1:]), stored[0], self.queries)

    def answer_bytes(self, spend: Fraction) -> int:
        """A possible record's index twice, and answers with their names; a name's letter is at most six bytes in
        JSON."""
        return ANSWER_BYTES + 16 * self.size + sum(200 + 6 * len(name) for name in self.queries.names)

    @property
    def _largest_lead(self) -> Fraction:
        """How far a lead can change per unit of distance, in units/m: one score falls, another rises."""
        return 2 * self.size * Fraction(self.steepest)

    def _every_database(self) -> NDArray[np.int64]:
        """(M, m): in lexicographic order."""
        listed = chain.from_iterable(combinations_with_replacement(range(self.metric.size), self.size))
        return np.fromiter(listed, np.int64, self.databases * self.size).reshape(-1, self.size)

    def _scores(self, counts: NDArray[np.int64], databases: NDArray[np.int64]) -> NDArray[np.int64]:
        """−max_k |m·q_k(x) − n·q_k(y)| of each database y, in units/m; exact."""
        records = int(counts.sum())
        truth = np.array(integer_totals(self.numerators, counts), dtype=np.int64)[:, None] * self.size
        blocks = np.array_split(databases, -(-len(databases) * len(truth) // _SCORES_AT_ONCE))
        modelled = (sum(self.numerators[:, column] for column in block.T) for block in blocks)
        return np.concatenate([-np.abs(truth - records * totals).max(axis=0) for totals in modelled])


def small_database(
    metric: VerifiedMetric,
    queries: LinearQueries,
    alpha: float | None = None,
    law: SelectionLaw = "permute-and-flip",
    *,
    records: int | None = None,
    rows: int | None = None,
) -> SmallDatabaseMechanism:
    """The mechanism with databases of m = ⌈ln K/α²⌉ records, at least 1: they can reach an error of about αn.

    Args: ``records``: n, public. Given it, changed queries are answered in place of those asked where that lowers
    :meth:`SmallDatabaseMechanism.error_bound` at level 0.95 and spend 1; their bias is part of it. ``rows``: m itself,
    in place of alpha.
    Raises: TooLarge when there are more than a million databases of that size; UnsupportedCombination for a wrong alpha
    or law, or when metric and queries are not about the same records; UnboundedLoss when a query separates records at
    distance 0.
    """
    if law not in get_args(SelectionLaw):
        raise UnsupportedCombination(f"there is no law '{law}'; known are {', '.join(get_args(SelectionLaw))}")
    require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
    metric = on_records_of(metric, queries)
    require_public_number(metric, queries)
    size = _size(alpha, rows, queries)
    databases = _count_up_to(metric.size, size)
    if databases > DATABASE_LIMIT or databases * size > ENTRY_LIMIT:
        raise TooLarge(
            f"all databases of {size:,} records over {metric.size:,} possible records would be scored; the limit is "
            f"{DATABASE_LIMIT:,} databases of {ENTRY_LIMIT:,} records in all: take a larger alpha, fewer queries or a "
            "coarser universe, or use mwem"
        )
    numerators, unit = over_common_unit(queries)
    steepest = float(query_sensitivities(metric.metric, numerators).max())
    asked = SmallDatabaseMechanism("small database", metric, queries, law, numerators, unit, steepest, size)
    if records is None:
        return asked
    return min(asked, _with_changed_queries(asked, records), key=lambda one: one.error_bound(records))


def _size(alpha: object, rows: object, queries: LinearQueries) -> int:
    """How many records a database has. Raises: WrongArgument, UnsupportedCombination."""
    if rows is not None:
        require(rows, WHOLE, "rows", "give the whole number of records that a database has, or leave it out")
        require(alpha, NoneType, "alpha", "leave it out beside 'rows', which say the same")
        if not (isinstance(rows, WHOLE) and rows > 0):
            raise UnsupportedCombination(f"'rows', the records of a database, are at least 1, found {rows}")
        return int(rows)
    require(alpha, NUMBER, "alpha", "give the share of the records that answers may be off by, such as 0.1, or 'rows'")
    if not (isinstance(alpha, NUMBER) and 1e-6 <= alpha <= 1):
        raise UnsupportedCombination(f"alpha, the share of the records to be off by, lies in (0, 1], found {alpha}")
    return max(1, math.ceil(math.log(queries.count) / float(alpha) ** 2))


def _with_changed_queries(unchanged: SmallDatabaseMechanism, records: int) -> SmallDatabaseMechanism:
    """The same for the queries whose bias and sensitivity together have the smallest bound."""
    if records < 1:
        raise UnsupportedCombination(f"the number of records is a positive number, found {records}")
    per_scale = 2 * (math.log(unchanged.databases) + nats_of(_LEVEL))
    change = changed_alike(unchanged.metric.metric, unchanged.numerators, records, per_scale)
    unit = unchanged.unit / 2**change.finer
    queries = replace(unchanged.queries, weights=change.rows, units=(unit,) * len(change.rows))
    steepest = float(query_sensitivities(unchanged.metric.metric, change.rows).max())
    return replace(
        unchanged,
        queries=queries,
        numerators=change.rows,
        unit=unit,
        steepest=steepest,
        planned=records,
        shift=change.shift * unit,
    )


def _count_up_to(types: int, size: int) -> int:
    """The number of multisets, or a number beyond the limit: the binomial itself could have millions of digits."""
    chosen = min(size, types - 1)
    count = 1
    for step in range(1, chosen + 1):
        count = count * (types + size - step) // step
        if count > DATABASE_LIMIT:
            break
    return count
