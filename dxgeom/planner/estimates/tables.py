"""Estimates of whole tables of counts, of any number of cells; and of counts in boxes, each by itself."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.mechanisms.synthetic.table_model import MeasuredTable, fitted, require_laid_out
from dxgeom.numeric.arrays import Columns
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.answers.in_parts import BoxAnswers, MarginalAnswers
from dxgeom.planner.answers.tables import EVERYBODY, CellTable, joined, rows_of
from dxgeom.planner.estimates.box_model import BoxSums, histogram_of_boxes, require_box_model
from dxgeom.planner.estimates.estimate import (
    NOTHING_READ,
    Estimate,
    EstimateWish,
    given_away,
    known_number,
    require_no_records,
)
from dxgeom.planner.estimates.joined import NEAR, OfRecords, cliques_of, nearest_of_records
from dxgeom.planner.estimates.projection import (
    WORK,
    KnownOfTables,
    Projected,
    Tables,
    order_of_boxes,
    residual,
    rising,
    rounded_to_margins,
    rounded_to_sum,
    subsets,
    work_of,
)
from dxgeom.planner.estimates.worth import worth_of
from dxgeom.planner.public_numbers import everybody_is_counted
from dxgeom.wording.numbers import counted

if TYPE_CHECKING:
    from dxgeom.universe.labels import PolicyLabels
    from dxgeom.universe.workloads.box_queries import BoxQueries
    from dxgeom.universe.workloads.whole_tables import MarginalQueries

_AGREE: Final = 0.01
"""Tables whose parts differ by less than this part of the least cell's error agree."""
_ROUNDING: Final = 1e-9
_PROBE: Final = 1e-3
_MOST_PROBES: Final = 8
_PROBING: Final = WORK / 8
"""Several draws of noise are tried out while they take no more than this; one in any case."""
_LISTED: Final = 100_000
_NEARLY: Final = 0.01
"""A table without noise is fitted as if it had this part of the least noise."""
_STEPS: Final = 200
"""Of the search for a histogram."""
_OF_A_MODEL: Final = (
    "one histogram explains all tables: no cell is negative, all agree, and they are those of some records, in parts",
    "of a model no error is promised: it smooths what tables do not say; bars are the released ones, less what cannot "
    "be",
)


@final
@dataclass(frozen=True)
class TotalErrors:
    """What is known of the total squared errors of estimated tables, each table times what the plan's loss counts it.

    ``released``: the expected one of the released tables. ``at_most``: a bound of the estimates' expected one, never
    more than that. ``moved``: by how much, at most, integers are further off, in the root of the total. ``estimated``:
    Stein's estimate of their total error from the released numbers and ``probes`` draws of noise, cut off at 0: no
    bound; None where noise is not normal.
    Source: C. Stein, Estimation of the mean of a multivariate normal distribution, 1981.
    """

    released: float
    at_most: float
    moved: float
    estimated: float | None
    probes: int = 0

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        known = (
            f"together they are at most {math.sqrt(self.at_most) + self.moved:.4g} off, in the root of the mean total"
        )
        further = f", {self.moved:.3g} of it because integers may be further off" if self.moved else ""
        guessed = ""
        if self.estimated is not None:
            probed = f"estimated from the release and {counted(self.probes, 'probe')} of noise"
            guessed = f"; {probed}, no bound: {self.estimated**0.5:.4g}"
        return f"{known}{further}; the released ones are {math.sqrt(self.released):.4g}{guessed}"

    def as_dict(self) -> dict[str, Any]:
        """The errors ready for JSON: total squared errors."""
        bound = (math.sqrt(self.at_most) + self.moved) ** 2
        return {"released": self.released, "at_most": bound, "estimated": self.estimated}


@final
@dataclass(frozen=True, eq=False, repr=False)
class TableEstimate(Estimate):
    """Estimates of whole tables.

    ``tables``: an array for each, in the order of the release. ``total``: what each sums to, None where private.
    ``errors``: what is known of how far they are from the truth, all together; None of a model's.
    """

    released: MarginalAnswers = field(repr=False)
    plan_fingerprint: str = field(repr=False)
    tables: tuple[NDArray[Any], ...] = field(repr=False)
    total: float | None
    done: tuple[str, ...]
    errors: TotalErrors | None

    @property
    def by_name(self) -> Mapping[str, NDArray[Any]]:
        return dict(zip(self.released.names, self.tables, strict=True))

    def table(self, name: str | Sequence[str]) -> NDArray[Any]:
        """The estimates of one table, by its name or its columns. Raises: UnsupportedCombination for an unknown one."""
        return self.tables[self.released.queries.table(name)]

    def pairs(self, labels: PolicyLabels | None = None) -> list[tuple[str, float, float]]:
        return []

    @cached_property
    def _released(self) -> Tables:
        return [self.released.table(name) for name in self.released.names]

    def outside(self, level: float = 0.95) -> list[int]:
        """(tables,): how many cells of each table have an estimate outside of the released bar."""
        each = zip(self.tables, self._released, self.released.half_widths(level).tolist(), strict=True)
        return [int(np.count_nonzero(np.abs(one - raw) > width)) for one, raw, width in each]

    def squared_errors(self, exact: Any) -> NDArray[np.float64]:
        each = zip(self._released, self.tables, map(exact.table, self.names), strict=True)
        return np.array([[np.square(raw - true).sum(), np.square(one - true).sum()] for raw, one, true in each])

    def as_dict(self) -> dict[str, Any]:
        listed = self.released.queries.count <= _LISTED
        names, each = self.released.queries, enumerate(self.tables)
        tables = [
            {"table": [*names.titles(place)], "cells": one.ravel().tolist() if listed else None} for place, one in each
        ]
        errors = None if self.errors is None else self.errors.as_dict()
        document = {"tables": tables, "total": self.total, "done": [*self.done], "errors": errors}
        return {**document, "plan_fingerprint": self.plan_fingerprint}

    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.released.require_joint(joint=joint)
        found = self.as_dict()
        for one, outside in zip(found["tables"], self.outside(level), strict=True):
            one["outside_released_interval"] = outside
        return {**found, "cells_lie_between": [0, self.total], "level": float(level)}

    def cells(self, level: float = 0.95, labels: PolicyLabels | None = None) -> list[CellTable]:
        """Every table with the released counts and the estimates beside them."""
        most = math.inf if self.total is None else self.total
        each = zip(self.released.cells(level, labels), self.tables, strict=True)
        return [replace(one, estimate=np.ravel(table).astype(np.float64), most=most) for one, table in each]

    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        self.released.require_joint(joint=joint)
        return rows_of(self.cells(level, labels))

    def columns(self, level: float = 0.95) -> Columns:
        """The same, all at once."""
        return joined([*self.batches(level)])


def estimate_of_tables(released: MarginalAnswers, plan_fingerprint: str, wish: EstimateWish) -> TableEstimate:
    """See :meth:`Release.estimate`."""
    mechanism: Any = released.mechanism
    queries = released.queries
    require_tables(queries, wish, mechanism.exact_sets)
    raw = [released.table(name) for name in queries.names]
    known = _known(released, raw, wish)
    hidden = EVERYBODY in wish.totals and () not in mechanism.exact_sets
    counted = everybody_is_counted(mechanism.metric)
    told = [given_away(f"the number of {EVERYBODY}", listed=counted)] if hidden else []
    if wish.of_model:
        modelled = _of_model(released, raw, known.total)
        done = (NOTHING_READ, *_OF_A_MODEL, *told)
        return TableEstimate(released, plan_fingerprint, tuple(modelled), known.total, done, None)
    least = float(released.rmse[released.rmse > 0].min(initial=math.inf))
    tolerance = _AGREE * least if math.isfinite(least) else 0.0
    worth = worth_of(mechanism, released.spent, None if known.total is None else round(known.total))
    before, bound = (float(np.dot(known.weights, one)) for one in (worth.released, worth.at_most))
    whole = _of_records(known, raw, before) if wish.of_records else None
    found = known.settled(raw, tolerance) if whole is None else Projected(whole.tables, whole.moved, 0.0, 0)
    tables, moved = list[NDArray[Any]](found.tables), 0.0
    if whole is not None:
        # What is off by g at most adds as much to the bound, and g is that part of what is expected, or nearly.
        bound, moved = min(before, bound + 3 * NEAR * before), math.sqrt(whole.off) if whole.off > whole.moved else 0.0
    if wish.integers:
        tables = _integers(known, found)
        moved = math.sqrt(known.squares([one - two for one, two in zip(tables, found.tables, strict=True)]))
    total = known.total
    guessed, probes = None, 0
    if mechanism.normal and whole is None:
        probes = max(1, min(_MOST_PROBES, int(_PROBING / (work_of(raw) * max(found.steps, 1)))))
        generator = InsecureSeededRandomness(int(plan_fingerprint[:12], 16))
        each = [_bent(mechanism, known, raw, found, released.spent, generator) for _ in range(probes)]
        away = known.squares([one - two for one, two in zip(raw, found.tables, strict=True)])
        guessed = max(0.0, away - before + 2 * math.fsum(each) / probes)
    errors = TotalErrors(before, bound, moved, guessed, probes)
    done = (
        NOTHING_READ,
        *_sentences(known, raw, tables, found, whole, integers=wish.integers),
        *told,
        errors.in_words,
    )
    return TableEstimate(released, plan_fingerprint, tuple(tables), total, done, errors)


def _of_model(released: MarginalAnswers, raw: Tables, total: float | None) -> Tables:
    """The tables of one histogram that is near all that were released; where the number of records is private, these
    tell it. One without noise is met nearly.

    Guarantee: *approximate*, as of :func:`dxgeom.mechanisms.synthetic.table_model.fitted`; nothing is promised of the
    error. Raises: TooLarge.
    """
    errors = np.maximum(released.rmse, _NEARLY * float(released.rmse[released.rmse > 0].min(initial=1.0)))
    if total is None:
        precision = np.array([1 / (one.size * error**2) for one, error in zip(raw, errors, strict=True)])
        total = float(precision @ [one.sum() for one in raw] / precision.sum())
    if total <= 0:
        return [np.zeros(one.shape) for one in raw]
    sets = released.queries.attribute_sets
    each = zip(sets, raw, errors.tolist(), strict=True)
    measured = [MeasuredTable(own, one.ravel(), error) for own, one, error in each if own]
    model = fitted(released.queries.sizes, measured, total, _STEPS)
    return [model.table(own).reshape(one.shape) for own, one in zip(sets, raw, strict=True)]


def _of_records(known: KnownOfTables, raw: Tables, expected: float) -> OfRecords:
    cliques = cliques_of(known.sizes, known.attribute_sets)
    return nearest_of_records(cliques, raw, known.weights, float(known.total or 0), expected)


def require_tables(queries: MarginalQueries, wish: EstimateWish, exact: Collection[tuple[int, ...]]) -> None:
    """Raises: UnsupportedCombination for an estimate that there is none of, of any such tables; TooLarge for one of
    records whose attributes are joined to too many cells. Args: ``exact``: sets of attributes whose parts are exact."""
    if not wish.nonnegative:
        raise MarginalAnswers.not_to_agree.refusal
    _require_everybody(wish)
    known = {*exact, *([()] if EVERYBODY in wish.totals else [])}
    if wish.of_records and known != {()}:
        raise UnsupportedCombination(
            "tables are moved to those of some records where their number is public and every attribute has a rule: "
            f"give totals={{'{EVERYBODY}': n}} where it is known otherwise, or ask for 'auto'"
        )
    if wish.of_model:
        require_laid_out(queries.sizes)
    if wish.of_records:
        cliques_of(queries.sizes, queries.attribute_sets)
    if wish.integers and any(len(own) > 2 for own in queries.attribute_sets):
        raise UnsupportedCombination(
            "whole numbers with the same margins need not exist for tables of three attributes and more: leave "
            "integers out, or ask for tables of two"
        )


def _require_everybody(wish: EstimateWish) -> None:
    unknown = [name for name in wish.totals if name != EVERYBODY]
    if unknown:
        raise UnsupportedCombination(
            f"beside whole tables and boxes only the number of '{EVERYBODY}' is given as a total, found "
            f"{unknown[0]!r}: ask for a list of queries where others are public"
        )


def _everybody(wish: EstimateWish, public: int | None) -> float:
    """The known number of records. Raises: UnsupportedCombination where there cannot be so many."""
    number = known_number(EVERYBODY, wish.totals[EVERYBODY])
    if number < 0 or (wish.integers and number != int(number)):
        raise UnsupportedCombination(f"'{EVERYBODY}' are no {float(number):g} records: give a whole number from 0 on")
    if public is not None and number != public:
        raise UnsupportedCombination(
            f"the number of records is public, {public:,}: a total of {float(number):g} contradicts it; leave it out"
        )
    return float(number)


def _known(released: MarginalAnswers, raw: Tables, wish: EstimateWish) -> KnownOfTables:
    mechanism: Any = released.mechanism
    queries = released.queries
    sets, unmoved = queries.attribute_sets, mechanism.exact_sets
    exact: dict[tuple[int, ...], NDArray[np.float64]] = {}
    for own, table in zip(sets, raw, strict=True):
        for inside in subsets(own):
            if inside in unmoved and inside not in exact:
                exact[inside] = residual(table, tuple(axis for axis, a in enumerate(own) if a not in inside))
    public = released.records if () in exact else None
    if EVERYBODY in wish.totals:
        exact[()] = np.array(_everybody(wish, public))
    elif public is not None and abs(float(exact[()]) - public) <= 1e-6 * max(public, 1):
        # A sum of rounded cells is not quite the number that is public.
        exact[()] = np.array(float(public))
    costs = queries.importance or (Fraction(1),) * len(sets)
    return KnownOfTables(queries.sizes, sets, [float(cost) for cost in costs], exact)


def _bent(
    mechanism: TableMechanism,
    known: KnownOfTables,
    raw: Tables,
    found: Projected,
    spend: Fraction,
    generator: InsecureSeededRandomness,
) -> float:
    """One draw of what has the mean tr(ΣJ), of which Stein's estimate ‖y − Py‖² − tr Σ + 2 tr(ΣJ) of the total error is
    made, where normal noise was projected.

    Definition: ⟨b, P(y + δb) − P(y)⟩/δ, b of the law of the noise. The plan's fingerprint seeds it, so that the same
    release has the same estimate.
    Source: S. Ramani, T. Blu, M. Unser, Monte-Carlo SURE, 2008.
    """
    nothing = _Nothing(tuple(np.zeros(one.size, dtype=np.int64) for one in raw), 0)
    drawn = mechanism.drawn(nothing, spend, generator)
    noise = [drawn.counts(place).reshape(one.shape) for place, one in enumerate(raw)]
    beside = known.settled([one + _PROBE * off for one, off in zip(raw, noise, strict=True)], 0.0, found.steps)
    each = zip(known.weights, noise, beside.tables, found.tables, strict=True)
    return sum(weight * float(np.vdot(off, one - two)) for weight, off, one, two in each) / _PROBE


class _Nothing(NamedTuple):
    """Tables of no records."""

    cells: tuple[NDArray[np.int64], ...]
    total: int


def _integers(known: KnownOfTables, found: Projected) -> list[NDArray[Any]]:
    """Whole numbers near the estimates, of tables of at most two attributes that agree exactly."""
    agreed = [np.maximum(one, 0.0) for one in known.agreeing(found.tables)[0]]
    total = round(known.total if known.total is not None else float(agreed[0].sum()))
    margins: dict[int, NDArray[np.int64]] = {}
    for own, table in zip(known.attribute_sets, agreed, strict=True):
        for axis, a in enumerate(own):
            if a not in margins:
                beside = tuple(other for other in range(len(own)) if other != axis)
                margins[a] = rounded_to_sum(np.asarray(table.sum(axis=beside)), total)
    whole: list[NDArray[Any]] = []
    for own, table in zip(known.attribute_sets, found.tables, strict=True):
        if len(own) == 2:
            whole.append(rounded_to_margins(table, margins[own[0]], margins[own[1]]))
        else:
            whole.append(margins[own[0]] if own else np.array(total))
    return whole


def _sentences(
    known: KnownOfTables,
    raw: Tables,
    tables: Sequence[NDArray[Any]],
    found: Projected,
    whole: OfRecords | None,
    *,
    integers: bool,
) -> Iterator[str]:
    lifted = sum(int(np.count_nonzero((one < 0) & (two >= 0))) for one, two in zip(raw, tables, strict=True))
    of = "" if known.total is None else f", and each table sums to {known.total:,.10g}"
    yield f"no cell is negative; {lifted:,} of {sum(one.size for one in raw):,} were{of}"
    if integers:
        yield "cells are whole numbers, and tables agree exactly; of whole numbers no total error is promised"
    elif found.apart <= _ROUNDING * max((float(one.max(initial=0.0)) for one in tables), default=0.0):
        yield "tables agree, up to the rounding of float64"
    else:
        yield (
            f"tables agree up to {found.apart:.3g} records, the most that two differ by in a number that both contain: "
            "signs and agreement were met in turn, signs at the end"
        )
    if whole is None or whole.off <= whole.moved:
        yield (
            "whatever the truth, the total squared error is not larger than that of the released tables, each times "
            "its importance; that of a single cell may be"
        )
    else:
        yield (
            f"whatever the truth, the total squared error is at most {whole.off:.3g} larger than that of the released "
            "tables, each times its importance"
        )
    if whole is not None:
        yield "together they are the tables of some records, in parts of a record: more than that any two agree"
    elif known.of_records:
        yield "tables of this shape are those of some records, whenever they agree and no cell is negative"


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoxEstimate(Estimate):
    """Estimates of counts in boxes, each by itself: no count is negative, or larger than the public number of records.
    ``values`` (K,): in the order of the release. ``histogram``: over the attributes that boxes restrict, where one
    model was made of boxes that do not lie in each other; sums of it answer any other box."""

    released: BoxAnswers = field(repr=False)
    plan_fingerprint: str = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)
    most: float
    done: tuple[str, ...]
    histogram: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def by_name(self) -> Mapping[str, float]:
        return dict(zip(self.released.names, self.values.tolist(), strict=True))

    def pairs(self, labels: PolicyLabels | None = None) -> list[tuple[str, float, float]]:
        return list(zip(self.released.names, self.released.values.tolist(), self.values.tolist(), strict=True))

    def squared_errors(self, exact: Any) -> NDArray[np.float64]:
        both = np.column_stack([self.released.values, self.values])
        return np.asarray(np.square(both - exact.values[:, None]))

    def as_dict(self) -> dict[str, Any]:
        listed = self.values.tolist() if len(self.values) <= _LISTED else None
        return {"boxes": listed, "done": [*self.done], "plan_fingerprint": self.plan_fingerprint}

    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        self.released.require_joint(joint=joint)
        outside = np.abs(self.values - self.released.values) > self.released.half_widths(level)
        most = self.most if math.isfinite(self.most) else None
        told = {"outside_released_interval": int(np.count_nonzero(outside)), "level": float(level)}
        return {**self.as_dict(), "counts_lie_between": [0, most], **told}

    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        for found in self.released.batches(level, joint=joint, labels=labels):
            low, high = (np.clip(np.asarray(found[end]), 0.0, self.most) for end in ("low", "high"))
            yield {**found, "estimate": self.values, "estimate_low": low, "estimate_high": high}


def estimate_of_boxes(released: BoxAnswers, plan_fingerprint: str, wish: EstimateWish) -> BoxEstimate:
    """See :meth:`Release.estimate`."""
    require_boxes(wish, released.queries)
    public = released.records
    stated = _everybody(wish, public) if EVERYBODY in wish.totals else public
    most = math.inf if stated is None else float(stated)
    values = np.clip(released.values, 0.0, most)
    done = [NOTHING_READ, "no count is negative, or larger than the number of records where that is public"]
    order = order_of_boxes(released.queries.lower, released.queries.upper) if wish.of_model else None
    histogram = None
    if order is not None:
        values[order] = rising(released.values[order], released.rmse[order], most)
        done.append("a box has no smaller count than one inside it")
    elif wish.of_model:
        sums = BoxSums(tuple(released.queries.sizes), released.queries.lower, released.queries.upper)
        histogram = histogram_of_boxes(sums, released.values, released.rmse, None if stated is None else most)
        values = np.clip(sums.of(histogram), 0.0, most)
        done.append("all counts are those of one histogram, as smooth as the released ones allow")
    if wish.integers:
        values = np.round(values)
        done.append("counts are whole numbers, each the nearest, which may be half a record further off")
    elif histogram is not None:
        done.append("no error is promised of a model, and intervals are those of the released counts")
    elif wish.of_model:
        done.append("whatever the truth, the squared errors, each over its variance, are not larger in all than before")
    else:
        done.append("no count's error is larger than that of the released one")
    hidden = EVERYBODY in wish.totals and public is None
    if hidden:
        done.append(given_away(f"the number of {EVERYBODY}", listed=everybody_is_counted(released.mechanism.metric)))
    return BoxEstimate(released, plan_fingerprint, values, most, tuple(done), histogram)


def require_boxes(wish: EstimateWish, queries: BoxQueries) -> None:
    """Raises: UnsupportedCombination for an estimate that there is none of."""
    require_no_records(wish)
    if wish.of_model and order_of_boxes(queries.lower, queries.upper) is None:
        require_box_model(tuple(queries.sizes), len(queries.lower))
    if not wish.nonnegative:
        raise BoxAnswers.not_to_agree.refusal
    _require_everybody(wish)
