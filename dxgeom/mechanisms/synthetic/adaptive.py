"""Whole tables by select, measure, reconstruct: what is measured next is chosen by what a model answers worst."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from types import MappingProxyType, NoneType
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.geometry.round_bodies import Ellipsoid
from dxgeom.mechanisms.contract.readers import CountedTables, TableReader, require_own_records
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, joint_distance_bounds_of
from dxgeom.mechanisms.selection.selections import choose
from dxgeom.mechanisms.synthetic.adaptive_answer import (
    FINENESS,
    AdaptiveStep,
    AdaptiveTables,
    decoded_answer,
    kept_answer,
)
from dxgeom.mechanisms.synthetic.clique_forest import CliqueForest
from dxgeom.mechanisms.synthetic.table_model import Axes, MeasuredTable, TableModel, fitted, is_laid_out
from dxgeom.mechanisms.synthetic.vector_account import (
    Costs,
    Limit,
    VectorAccount,
    limits_met,
    limits_of,
    measuring_cost,
    selecting_cost,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.noisy_maximum import SelectionLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.numeric.arrays import exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest, seal
from dxgeom.privacy.measures import PrivacyMeasure, privacy_measure_of
from dxgeom.universe.workloads.whole_tables import MarginalQueries

FIRST: Final = Fraction(9, 160)
"""The part of the budget that measures every attribute alone."""
SELECTING: Final = Fraction(1, 10)
"""The part of a round that selects."""
ROUNDS_PER_ATTRIBUTE: Final = 16
ENDING: Final = 3
"""Two rounds share what is less than two parts, for one table that has all of it leaves others unmeasured; but one has
all of it where half would be lost in noise."""
EARLIER_ENDINGS: Final = (2, 1)
"""Of plans that were made before: two rounds always, or one."""
LITTLE: Final = Fraction(1, 2**20)
"""Of less than this part of a limit nothing more is measured."""
MOST_ROUNDS: Final = 10_000
CELLS: Final = 1_000_000
"""Of the cliques of a model together, unless another number is stated."""
MOST_IN_CLIQUES: Final = 200_000_000
BYTES_OF_A_CELL: Final = 40
"""While a model is fitted: a table, its logarithms, and what is worked out of the largest clique."""
_MOST_KEPT: Final = 100
"""Of so many of the widest table the size is reserved; what is longer is stored as long as it fits on the disk."""
_MOST_ATTRIBUTES: Final = 12
_STEPS, _LAST_STEPS = 60, 200
"""Of the search for a model, in each round and at the end."""
_MOST_COUNT: Final = 2**34
"""Counts are cut off here, which moves no two data sets apart, so that no sum leaves 64 bits."""
_MOST_SCORE: Final = 2**40
_DIGITS: Final = 19
"""Rates are whole multiples of a power of two, the largest at least 2¹⁹ times that."""
_RANGE: Final = (Fraction(1, 10**100), Fraction(10**100))
_EXPECTED: Final = math.sqrt(2 / math.pi)
"""E|V| of a standard normal V."""


class _Pick(NamedTuple):
    """How one is selected: candidates, the whole multiplier of each, the unit of rates, and what it costs."""

    candidates: tuple[Axes, ...]
    multipliers: tuple[int, ...]
    unit: Fraction
    rate: Fraction
    costs: Costs


@final
@dataclass(frozen=True, eq=False)
class AdaptiveMechanism(TableReader[AdaptiveTables]):
    """Whole tables of counts, answered by one model that learns from the tables it answers worst.

    Definition: every attribute is measured alone; then in each round a table inside those that were asked for is
    selected by the scores w_r·(‖x_r − model_r‖₁ − what noise alone would make of it), measured with noise in every
    cell, and the model fitted to all that was measured. w_r: how many attributes of a table that was asked for it has,
    times that table's importance, summed over these. A round's part of each limit is a public fraction, four times as
    large after one by which the model moved no more than noise would have it; where less than two such parts are left
    of a limit, two rounds share it evenly, unless noise of the second half would add up to more than the records over
    the largest table of two attributes: then one round takes all, as the last does. Of ``bars`` > 0 that part of every
    limit measures all tables once more, afresh, for the bars; the model does not see it. Where there are more than ten
    million possible cells, the model is one of cliques, and only such tables are selected as keep these within
    ``cells``.

    Guarantee: replacing record i by j changes the odds of any transcript by at most e^(spend·d(i, j)); under
    concentrated privacy D_α is at most α·(spend·d)²/2. Each attribute has its own exact budget, and records that come
    or go theirs; every step is paid for before it is drawn (:mod:`dxgeom.mechanisms.synthetic.vector_account`), at no
    more than its part. Rules for several attributes together are held by shares of them, from below. Which step is
    next, and when the last one is, follow from earlier outputs and public numbers. Scores are integers, rates and
    spreads rational; noise and picks are drawn exactly.
    Source: McKenna, Mullins, Sheldon & Miklau 2022 (AIM) for the rounds; changed: budgets are vectors, each candidate
    has its own rate, and what selecting costs is worked out for its own law.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    queries: MarginalQueries = field(repr=False)
    rounds: int | None
    bars: Fraction
    cells_in_cliques: int = CELLS
    ending: int = ENDING

    def __post_init__(self) -> None:
        seal(self)
        require(self.metric, VerifiedMetric, "metric", "give the compiled policy, policy.compile()")
        require(self.queries, MarginalQueries, "queries", "give tables that MarginalQueries.of makes")
        require(self.rounds, (int, NoneType), "rounds", "give a whole number, or leave it out")
        require(self.bars, Fraction, "bars", "give an exact part of the budget, such as Fraction(1, 5)")
        require_own_records(self.metric, self.queries.universe)
        self.require_no_number()
        require(self.cells_in_cliques, int, "cells", "give a whole number")
        require(self.ending, int, "ending", f"give {ENDING}, or 1 or 2 for a plan of before")
        if self.ending not in (ENDING, *EARLIER_ENDINGS):
            raise UnsupportedCombination(f"'ending' is 1, 2 or {ENDING}, found {self.ending}")
        self._require_room()
        if not 0 <= self.bars < 1:
            raise UnsupportedCombination(f"'bars' is a part of the budget, at least 0 and below 1, found {self.bars}")
        if self.rounds is not None and not 1 <= self.rounds <= MOST_ROUNDS:
            raise UnsupportedCombination(f"'rounds' lie between 1 and {MOST_ROUNDS:,}, found {self.rounds}")
        if any(one is not None for one in self.queries.errors):
            raise UnsupportedCombination(
                "tables that follow the data have errors that are known afterwards only: leave 'errors' out, or plan "
                "these tables, whose errors are known beforehand"
            )
        if self.shares != 1:
            raise UnsupportedCombination(
                "tables that follow the data are of whole records, and people here count in shares of rows: ask for "
                "'marginal' tables in their stead"
            )
        if max(map(len, self.queries.attribute_sets)) > _MOST_ATTRIBUTES:
            raise TooLarge(f"a table of more than {_MOST_ATTRIBUTES} attributes has too many tables inside it")
        if (self.absent is None) != (self.bounds.presence is None):
            raise UnsupportedCombination("records may come or go here, and the metric does not say at what distance")
        if () in self.queries.attribute_sets:
            raise UnsupportedCombination(
                "every table says how many records there are: leave the table of all records out"
            )
        free = [axes for axes in self.candidates if not limits_met(self.limits, axes)]
        if free:
            title = self.queries.columns[free[0][0]].column
            raise UnsupportedCombination(
                f"no rule protects what is told apart of '{title}', so its table is public as it is: leave it out, or "
                "add a rule for it"
            )

    @cached_property
    def fingerprint(self) -> str:
        asked = (self.metric.fingerprint, self.queries.fingerprint, self.rounds, self.bars)
        if self.in_cliques:
            words = f"tables that follow the data, in cliques, {self.ending}"
            return canonical_digest(words, self.name, *asked, self.cells_in_cliques)
        return canonical_digest(f"tables that follow the data, {self.ending}", self.name, *asked)

    @cached_property
    def bounds(self) -> DistanceBounds:
        """What is protected: from the metric itself."""
        return joint_distance_bounds_of(self.metric.metric, self.queries.universe.shape, self.queries.classes)

    @cached_property
    def limits(self) -> Mapping[Limit, Fraction]:
        """The distance of each limit."""
        return MappingProxyType(limits_of(self.bounds))

    @property
    def measure(self) -> PrivacyMeasure:
        """How costs add up."""
        return privacy_measure_of(self.metric.privacy)

    @property
    def normal(self) -> bool:
        """Whether noise is normal."""
        return self.measure.squares

    @property
    def law(self) -> SelectionLaw:
        """By which tables are selected."""
        return "exponential" if self.normal else "permute-and-flip"

    @cached_property
    def candidates(self) -> tuple[Axes, ...]:
        """Every table inside one that was asked for, but that of all records."""
        return tuple(sorted(self.table_of, key=lambda one: (len(one), one)))

    @cached_property
    def table_of(self) -> Mapping[Axes, int]:
        """Of every candidate the first table that it is inside of."""
        found: dict[Axes, int] = {}
        for place, asked in enumerate(self.queries.attribute_sets):
            for width in range(1, len(asked) + 1):
                for one in combinations(asked, width):
                    found.setdefault(one, place)
        return MappingProxyType(found)

    @cached_property
    def weights(self) -> Mapping[Axes, Fraction]:
        """w_r of each candidate."""
        sets = self.queries.attribute_sets
        alone = [Fraction(0)] * len(self.queries.sizes)
        for own, part in zip(sets, self.queries.importance or [Fraction(1)] * len(sets), strict=True):
            for axis in own:
                alone[axis] += part
        return MappingProxyType({one: sum((alone[axis] for axis in one), Fraction(0)) for one in self.candidates})

    @property
    def in_cliques(self) -> bool:
        """Whether the model is one of cliques, for a histogram would be too large."""
        return not is_laid_out(self.queries.sizes)

    def first_forest(self) -> CliqueForest | None:
        """The cliques before anything is selected, each attribute alone; None where the model is one histogram."""
        return CliqueForest.around(self.queries.sizes) if self.in_cliques else None

    def admitted(self, forest: CliqueForest | None) -> tuple[Axes, ...]:
        """The candidates that may be selected beside what is in these cliques, which follow from earlier steps."""
        if forest is None:
            return self.candidates
        return tuple(one for one in self.candidates if forest.cells_with(one) <= self.cells_in_cliques)

    def _require_room(self) -> None:
        alone = sum(self.queries.sizes)
        if self.in_cliques and not alone <= self.cells_in_cliques <= MOST_IN_CLIQUES:
            raise TooLarge(
                f"a model of these tables has {math.prod(self.queries.sizes):,} cells, and is made of cliques of "
                f"attributes: 'cells', how many numbers these keep, lies between {alone:,} and {MOST_IN_CLIQUES:,}, "
                f"found {self.cells_in_cliques:,}"
            )

    @property
    def most_rounds(self) -> int:
        """How many there are at most."""
        return ROUNDS_PER_ATTRIBUTE * len(self.queries.sizes) if self.rounds is None else self.rounds

    @property
    def first_part(self) -> Fraction:
        """Of what the rounds have, the part of the first one."""
        if self.rounds is None:
            return Fraction(1, ROUNDS_PER_ATTRIBUTE * len(self.queries.sizes))
        return (1 - FIRST) / self.rounds

    def taken(self, left: Fraction, part: Fraction, *, last: bool, shared: bool) -> Fraction:
        """Of what is left of a limit, what a round may take that is to have a part of this size. ``shared``: whether
        two rounds share what is less than two parts."""
        if last or left < part:
            return left
        return part if left >= 2 * part else left / 2 if shared else left

    def cells(self, axes: Axes) -> int:
        """Of a table."""
        return math.prod(self.queries.sizes[axis] for axis in axes)

    def whole(self, spend: Fraction) -> dict[Limit, Fraction]:
        """All that a release may take of each limit."""
        return {limit: self.measure.counted(spend * distance) for limit, distance in self.limits.items()}

    def smallest_parts(self, spend: Fraction) -> dict[Limit, Fraction]:
        """No measurement is given less of any limit.

        Definition: the least of what an attribute alone has, of what a round has that begins with as little as one may
        and selects at the full price, and of what a fresh table has.
        """
        alone = sum(len(one) == 1 for one in self.candidates)
        rounds = [FIRST / alone, (1 - SELECTING) * min(LITTLE, self.first_part / min(self.ending, 2))]
        fresh = [self.bars / len(self.queries.attribute_sets)] if self.bars else []
        least = min(*(part * (1 - self.bars) for part in rounds), *fresh)
        return {limit: one * least for limit, one in self.whole(spend).items()}

    def spread_for(self, axes: Axes, parts: Costs) -> Fraction:
        """The least noise, *rounded up*, at which measuring a table takes no more than these parts."""
        power = 2 if self.normal else 1
        least = max(measuring_cost(limit, Fraction(1), self.measure) / parts[limit] for limit in self.met(axes))
        near = float(least) ** (1 / power)
        while Fraction(near) ** power < least:
            near = math.nextafter(near, math.inf)
        return Fraction(near)

    def met(self, axes: Axes) -> tuple[Limit, ...]:
        """The limits that a table is charged to."""
        return self._met[axes]

    @cached_property
    def _met(self) -> Mapping[Axes, tuple[Limit, ...]]:
        return MappingProxyType({one: limits_met(self.limits, one) for one in self.candidates})

    def measuring(self, axes: Axes, spread: Fraction) -> Costs:
        """What it costs to measure a table."""
        return {limit: measuring_cost(limit, spread, self.measure) for limit in self.met(axes)}

    def pick(self, parts: Costs, admitted: Sequence[Axes]) -> _Pick:
        """How a selection among these is made that takes no more than these parts; a limit that has none has no
        candidates."""
        candidates = tuple(one for one in admitted if all(limit in parts for limit in self.met(one)))
        rates = {limit: self._rate(limit, part) for limit, part in parts.items()}
        largest = max(min(rates[limit] for limit in self.met(one)) for one in candidates)
        unit = Fraction(2) ** (math.floor(math.log2(largest)) - _DIGITS)
        most = max(self.weights[one] for one in candidates)
        times = {limit: self._most(limit, part, unit) for limit, part in parts.items()}
        multipliers = tuple(
            min(times[limit] for limit in self.met(one)) * self.weights[one] // most for one in candidates
        )
        highest: dict[Limit, int] = {}
        for multiplier, one in zip(multipliers, candidates, strict=True):
            for limit in self.met(one):
                highest[limit] = max(highest.get(limit, 0), multiplier)
        costs = {
            limit: selecting_cost(limit, unit * highest[limit], self.measure)
            for limit in {limit for one in candidates for limit in self.met(one)}
        }
        return _Pick(candidates, multipliers, unit, unit * max(multipliers), costs)

    def _rate(self, limit: Limit, part: Fraction) -> float:
        """About the largest rate that a part pays for."""
        one = float(selecting_cost(limit, Fraction(1), self.measure))
        return math.sqrt(float(part) / one) if self.normal else float(part) / one

    def _most(self, limit: Limit, part: Fraction, unit: Fraction) -> int:
        """The largest whole multiple of the unit that a part pays for: *exact*."""
        times = part / selecting_cost(limit, unit, self.measure)
        whole = times.numerator // times.denominator
        return math.isqrt(whole) if self.normal else whole

    def fresh_parts(self, spend: Fraction) -> dict[Limit, Fraction]:
        """What each table of the fresh measurement may take: what is kept for bars, shared evenly by those that meet a
        limit."""
        asked = self.queries.attribute_sets
        meeting = {limit: sum(limit in self.met(one) for one in asked) for limit in self.limits}
        return {limit: one * self.bars / max(meeting[limit], 1) for limit, one in self.whole(spend).items()}

    def least_half_widths(self, spend: Fraction, level: float) -> list[float]:
        """Of a count of each table that was asked for: no bar at this level is less than this, whatever the data.

        Raises: UnsupportedCombination where no part is kept for bars.
        """
        if not self.bars:
            raise UnsupportedCombination("no bar: nothing of the budget is kept for one")
        parts, none = self.fresh_parts(spend), np.zeros(0, dtype=np.int64)
        nothing: Costs = MappingProxyType({})
        return [
            AdaptiveStep(one, none, self.spread_for(one, parts), None, nothing, nothing, self.normal).half_width(level)
            for one in self.queries.attribute_sets
        ]

    def noise_of(self, spread: Fraction) -> tuple[NoiseLaw, Fraction]:
        """The law of the noise in one cell, and what it is stretched by, in steps of the lattice."""
        law: NoiseLaw = GaussianNoise(Ellipsoid(np.eye(1))) if self.normal else LaplaceNoise(np.ones(1))
        return law, spread * FINENESS

    def check(self, data: CountedTables, spend: Fraction) -> None:
        self.require_counts(data)
        if not all(np.asarray(one).dtype == np.int64 and int(np.min(one)) >= 0 for one in data.cells):
            raise DataError("counts in tables are 64-bit integers, none below 0: count the rows of a table")
        public = () if self.absent is not None else (data.total,)
        if len({*map(exact_sum, data.cells), *public}) > 1:
            raise DataError("these tables are not of the same records, for their totals differ: count them at once")
        if self.absent is None and not 0 < data.total <= _MOST_COUNT:
            raise TooLarge(f"a model is of 1 to {_MOST_COUNT:,} records, found {data.total:,}")
        least, whole = self.smallest_parts(spend), self.whole(spend)
        if not all(_RANGE[0] < one < _RANGE[1] for one in (*least.values(), *whole.values())):
            raise TooLarge("noise of this size does not fit 64-bit integers: take another part of the budget")
        for axes in self.candidates:
            law, factor = self.noise_of(self.spread_for(axes, least))
            law.check_size(factor)

    def drawn(self, data: CountedTables, spend: Fraction, randomness: Randomness) -> AdaptiveTables:
        return _Rounds(self, data, spend, randomness).answer()

    def encode_answer(self, answer: Any) -> Any:
        return kept_answer(answer)

    def decode_answer(self, stored: Any) -> AdaptiveTables:
        return decoded_answer(stored, self.queries, normal=self.normal)

    def answer_bytes(self, spend: Fraction) -> int:
        """Every table once in the model, the widest in every round, and what was asked for; 12 bytes for a number in
        text."""
        cells = list(map(self.cells, self.candidates))
        steps = len(self.queries.sizes) + self.most_rounds + len(self.queries.attribute_sets)
        widest = max(cells) * min(self.most_rounds, _MOST_KEPT)
        return 12 * (sum(cells) + widest + self.queries.count) + 1024 * len(self.limits) * steps


@final
class _Rounds:
    """One draw. All that follows from the data goes through :meth:`_selected` and :meth:`_measured`."""

    def __init__(
        self, mechanism: AdaptiveMechanism, data: CountedTables, spend: Fraction, randomness: Randomness
    ) -> None:
        self._of, self._data, self._spend, self._randomness = mechanism, data, spend, randomness
        self._account = VectorAccount(mechanism.whole(spend))
        whole = mechanism.whole(spend)
        self._reserved = {limit: one * mechanism.bars for limit, one in whole.items()}
        self._whole = {limit: one - self._reserved[limit] for limit, one in whole.items()}
        self._steps: list[AdaptiveStep] = []
        self._forest = mechanism.first_forest()
        self._admitted = mechanism.admitted(self._forest)
        self._model = self._measure_each_attribute()

    def answer(self) -> AdaptiveTables:
        part = self._of.first_part
        for number in range(self._of.most_rounds):
            parts = self._parts(part, last=number == self._of.most_rounds - 1)
            if not any(all(limit in parts for limit in self._of.met(one)) for one in self._admitted):
                break
            if not self._round(parts):
                part *= 4
        model = self._fitted(_LAST_STEPS, self._model)
        return AdaptiveTables(self._of.queries, model, tuple(self._steps), self._fresh())

    def _measure_each_attribute(self) -> TableModel:
        """Each alone; what records that come or go have is shared by all."""
        own = self._of
        alone = [one for one in own.candidates if len(one) == 1]
        parts = {limit: FIRST * one / (len(alone) if limit is None else 1) for limit, one in self._whole.items()}
        for axes in alone:
            self._steps.append(self._measured(axes, own.spread_for(axes, parts), None, MappingProxyType({})))
        return self._fitted(_STEPS, None)

    def _parts(self, part: Fraction, *, last: bool) -> dict[Limit, Fraction]:
        """What a round may take of each limit; none of those of which too little is left."""
        left = {limit: self._account.left(limit) - self._reserved[limit] for limit in self._whole}
        shared = self._shared({limit: one for limit, one in left.items() if one >= part * self._whole[limit]})
        return {
            limit: self._of.taken(left[limit], part * whole, last=last, shared=shared)
            for limit, whole in self._whole.items()
            if left[limit] >= whole * LITTLE
        }

    def _shared(self, left: Costs) -> bool:
        """Whether two rounds are worth more than one: a measurement of half of what is left tells counts of the largest
        table of two attributes from noise. By outputs and public numbers."""
        own = self._of
        if own.ending != ENDING:
            return own.ending > 1
        halves = {limit: (1 - SELECTING) * one / 2 for limit, one in left.items()}
        pairs = [one for one in self._admitted if len(one) <= 2 and all(limit in halves for limit in own.met(one))]
        widest = max(pairs, key=own.cells, default=None)
        return widest is not None and self._expected(widest, own.spread_for(widest, halves)) <= self._model.total

    def _round(self, parts: Costs) -> bool:
        """Select, measure, fit. Whether the model moved by more than noise would have it."""
        own = self._of
        pick = own.pick({limit: SELECTING * one for limit, one in parts.items()}, self._admitted)
        rest = {limit: one - pick.costs.get(limit, Fraction(0)) for limit, one in parts.items()}
        axes = self._selected(pick, rest)
        self._grow(axes)
        before = self._model.table(axes)
        spread = own.spread_for(axes, rest)
        self._steps.append(self._measured(axes, spread, pick.rate, MappingProxyType(dict(pick.costs))))
        self._model = self._fitted(_STEPS, self._model)
        moved = float(np.nan_to_num(np.abs(self._model.table(axes) - before).sum(), posinf=_MOST_SCORE))
        self._steps[-1] = replace(self._steps[-1], moved=moved)
        return moved > self._expected(axes, spread)

    def _grow(self, axes: Axes) -> None:
        """The cliques hold what was selected, and fewer tables may be selected after it."""
        grown = None if self._forest is None else self._forest.joined(axes)
        if grown is not self._forest:
            self._forest, self._admitted = grown, self._of.admitted(grown)

    def _expected(self, axes: Axes, spread: Fraction) -> float:
        """What noise alone adds up to over a table, in size."""
        return float(spread) * (_EXPECTED if self._of.normal else 1.0) * self._of.cells(axes)

    def _selected(self, pick: _Pick, rest: Costs) -> Axes:
        """One of the candidates. Paid for before it is drawn; all but the counts is public."""
        tables, own = self._model.tables(pick.candidates), self._of
        spreads = {own.met(axes): axes for axes in pick.candidates}  # candidates of the same limits have the same noise
        noise = {met: own.spread_for(axes, rest) for met, axes in spreads.items()}
        scores = [
            self._lead(axes, table, self._expected(axes, noise[own.met(axes)])) * multiplier
            for axes, table, multiplier in zip(pick.candidates, tables, pick.multipliers, strict=True)
        ]
        self._account.pay(pick.costs)
        rate = pick.unit / FINENESS
        place = choose(np.array(scores, dtype=np.int64), Fraction(1), rate, self._of.law, self._randomness)
        return pick.candidates[place]

    def _lead(self, axes: Axes, table: NDArray[np.float64], expected: float) -> int:
        """How far off the model is beyond noise, in steps: a count that moves by one moves it by so many as a count
        has, at most."""
        table = np.nan_to_num(table, posinf=_MOST_COUNT)  # a search may end anywhere
        modelled = np.rint(np.clip(table, 0, _MOST_COUNT) * FINENESS).astype(np.int64)
        off = int(np.abs(self._counts(axes) * FINENESS - modelled).sum())
        noise = min(round(expected * FINENESS), _MOST_SCORE * FINENESS)
        return max(-_MOST_SCORE, min(_MOST_SCORE, off - noise))

    def _measured(self, axes: Axes, spread: Fraction, rate: Fraction | None, selecting: Costs) -> AdaptiveStep:
        """A table with noise. Paid for before it is drawn."""
        costs = self._of.measuring(axes, spread)
        self._account.pay(costs)
        law, factor = self._of.noise_of(spread)
        noise = np.array(law.draw(self._of.cells(axes), self._randomness, factor), dtype=np.int64).ravel()
        noisy = self._counts(axes) * FINENESS + noise
        return AdaptiveStep(axes, noisy, spread, rate, selecting, MappingProxyType(dict(costs)), self._of.normal)

    def _counts(self, axes: Axes) -> NDArray[np.int64]:
        """A table's exact counts, flat. **Not private.**"""
        queries = self._of.queries
        which = self._of.table_of[axes]
        cut = np.clip(np.asarray(self._data.cells[which], dtype=np.int64), 0, _MOST_COUNT)
        table = cut.reshape(queries.shapes[which])
        others = [place for place, axis in enumerate(queries.attribute_sets[which]) if axis not in axes]
        return np.asarray(table.sum(axis=tuple(others))).ravel()

    def _fitted(self, steps: int, start: TableModel | None) -> TableModel:
        power = 1 if self._of.normal else math.sqrt(2)
        tables = [MeasuredTable(one.axes, one.values, float(one.spread) * power) for one in self._steps]
        return fitted(self._of.queries.sizes, tables, self._total(tables), steps, start)

    def _total(self, tables: Sequence[MeasuredTable]) -> float:
        """How many records: their public number, else what the measured tables say of it."""
        if self._of.absent is None:
            return float(self._data.total)
        precision = np.array([1 / (one.values.size * one.deviation**2) for one in tables])
        said = np.array([one.values.sum() for one in tables])
        return max(1.0, float(precision @ said / precision.sum()))

    def _fresh(self) -> tuple[AdaptiveStep, ...]:
        """Every table that was asked for, once more, with what was reserved; shared evenly by those that each meets."""
        own = self._of
        if not own.bars:
            return ()
        parts, nothing = own.fresh_parts(self._spend), MappingProxyType[Limit, Fraction]({})
        asked = own.queries.attribute_sets
        return tuple(self._measured(one, own.spread_for(one, parts), None, nothing) for one in asked)


def adaptive_tables(
    metric: VerifiedMetric,
    queries: MarginalQueries,
    *,
    rounds: int | None = None,
    bars: Fraction | int = Fraction(1, 5),
    cells: int = CELLS,
) -> AdaptiveMechanism:
    """The mechanism that answers whole tables by one model, measuring what it answers worst.

    Args: ``rounds``: how many at most; left out, sixteen for each attribute, of which most are seldom used. ``bars``:
    the part of the spend that is kept for bars of error; 0 for none. ``cells``: where possible cells are more than ten
    million, how many the model may keep in cliques, eight bytes each and about five times that while it is fitted; only
    tables that leave it there are selected, and time grows with it.
    Raises: UnsupportedCombination where tables and metric are not about the same records, for people who count in
    shares, an attribute without a rule, or such arguments as make no sense; TooLarge where ``cells`` has no room for
    each attribute alone, or the metric is no sum over attributes.
    """
    require(rounds, (*WHOLE, NoneType), "rounds", "give a whole number, or leave it out")
    require(bars, (Fraction, *WHOLE), "bars", "give an exact part of the budget, such as Fraction(1, 5), or 0")
    require(cells, WHOLE, "cells", "give a whole number")
    most = None if rounds is None else int(rounds)
    return AdaptiveMechanism("adaptive tables", metric, queries, most, Fraction(bars), int(cells))
