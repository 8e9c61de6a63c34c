"""What an adaptive release answers: one histogram, the steps that it was made of, and how far off it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType, NoneType
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.mechanisms.linear.bars import normal_quantile
from dxgeom.mechanisms.parts.table_mechanism import packed, unpacked
from dxgeom.mechanisms.selection.selections import nats_of
from dxgeom.mechanisms.synthetic.table_model import Axes, TableModel, most_root_mean_square, spread_evenly
from dxgeom.mechanisms.synthetic.vector_account import Costs, Limit
from dxgeom.numeric.sealed import Closed, cached_property
from dxgeom.universe.workloads.whole_tables import MarginalQueries

FINENESS = 16
"""Steps of the lattice in a count: measured counts are whole numbers of these, exactly, and so are scores."""
AT_ONCE: Final = 1 << 18
"""So many records are laid out at a time."""
_NO_BAR: Final = "no bar"


@final
@dataclass(frozen=True, eq=False)
class AdaptiveStep(Closed):
    """A table that was measured, and what it cost to choose it.

    ``steps`` (cells,): its counts with noise, times :data:`FINENESS`. ``spread``: of the noise in counts, a deviation
    where it is normal, else a Laplace scale. ``rate``: of the selection, for each count that moves, None where nothing
    was selected. ``selecting``, ``measuring``: what was paid of each limit, before either was drawn. ``normal``: which
    noise it has. ``moved``: by how many records in all, over the cells of this table, it moved the model; None where
    that was not kept, and of what the model is not fitted to.
    """

    axes: Axes
    steps: NDArray[np.int64] = field(repr=False)
    spread: Fraction
    rate: Fraction | None
    selecting: Costs
    measuring: Costs
    normal: bool
    moved: float | None = None

    @property
    def values(self) -> NDArray[np.float64]:
        """The noisy counts."""
        return self.steps / FINENESS

    def half_width(self, level: float = 0.95) -> float:
        """With probability *at least* ``level`` a count of it is no further from the truth; given what came before.

        Not of a step that is picked when all are known, such as a table's last: whether another came depended on it.
        Raises: UnsupportedCombination unless 0 < level < 1.
        """
        noise = normal_quantile(level) if self.normal else nats_of(level)
        return float(self.spread) * noise + 1 / (2 * FINENESS)


@final
@dataclass(frozen=True, eq=False)
class AdaptiveTables(Closed):
    """One histogram, made of private measurements; whatever is computed from it reveals nothing more.

    ``transcript``: the steps, in order; the model is fitted to these. ``fresh``: noisy tables of the whole workload
    that the model has not seen, for its bars; none where none were wanted.
    """

    queries: MarginalQueries = field(repr=False)
    model: TableModel = field(repr=False)
    transcript: tuple[AdaptiveStep, ...] = field(repr=False)
    fresh: tuple[AdaptiveStep, ...] = field(repr=False)

    @cached_property
    def tables(self) -> tuple[NDArray[np.float64], ...]:
        """The model's counts in each table that was asked for, flat: none is negative, and all agree."""
        return tuple(self.model.tables(self.queries.attribute_sets))

    @cached_property
    def public_total(self) -> float | None:
        """The number of records, where it is public; None where records may come or go, which every table pays for."""
        steps = (*self.transcript, *self.fresh)
        return None if not steps or any(None in one.measuring for one in steps) else self.model.total

    def intervals(self, level: float = 0.95) -> tuple[tuple[NDArray[np.float64], NDArray[np.float64]], ...]:
        """Of each table the ends between which each of its true counts lies with probability *at least* ``level``.

        Definition: the fresh count ± z·σ, and what lies between it and the model's count; none below 0, none above the
        public number of records. The fresh measurement is valid whatever the model is, for the model does not know its
        noise. Each holds alone, not all at once.
        Raises: as :meth:`half_widths`.
        """
        nats_of(level)
        self._require_fresh()
        most = np.inf if self.public_total is None else self.public_total
        each = [(own, one.values, one.half_width(level)) for own, one in zip(self.tables, self.fresh, strict=True)]
        return tuple(
            (np.maximum(np.minimum(own, raw - width), 0.0), np.minimum(np.maximum(own, raw + width), most))
            for own, raw, width in each
        )

    def half_widths(self, level: float = 0.95) -> tuple[NDArray[np.float64], ...]:
        """Of each count of :attr:`tables`: with probability *at least* ``level`` it is no further from the truth.

        Definition: the further end of :meth:`intervals`. Each holds alone, not all at once.
        Raises: UnsupportedCombination unless 0 < level < 1, or where no part was reserved for bars: then there is no
        bar.
        """
        each = zip(self.tables, self.intervals(level), strict=True)
        return tuple(np.maximum(own - low, high - own) for own, (low, high) in each)

    def most_rmse(self, level: float = 0.95) -> NDArray[np.float64]:
        """(tables,): of each table the root of the mean square of its cells' errors is at most this, with probability
        *at least* ``level``; each table by itself. It is far less than the bar of a single cell.

        Raises: as :meth:`half_widths`.
        """
        nats_of(level)
        self._require_fresh()
        each = zip(self.tables, self.fresh, strict=True)
        rounding = 1 / (2 * FINENESS)
        return np.array(
            [
                most_root_mean_square(one.values - own, float(one.spread), rounding, level, normal=one.normal)
                for own, one in each
            ]
        )

    def _require_fresh(self) -> None:
        if not self.fresh:
            raise UnsupportedCombination(
                "no bar: nothing was reserved for one; plan with bars=Fraction(1, 5), or take "
                "a table's first measurement in 'transcript', which has its own"
            )

    def whole_histogram(self, records: int | None = None) -> NDArray[np.int64]:
        """Whole counts of the model's cells, flat, each within 1 of it; their sum is ``records``, or its rounded
        total. So are sums of cells in a row, as those of the first attribute's values: running totals are rounded.

        Raises: WrongArgument unless ``records`` is a whole number, 0 or more; TooLarge beyond 2⁵⁰, or where the
        model is one of cliques: then take :meth:`whole_tables`.
        """
        advice = "give a whole number, 0 or more, or leave it out"
        require(records, (*WHOLE, NoneType), "records", advice)
        if records is not None and records < 0:
            raise WrongArgument(f"'records' is not below 0, found {records}: {advice}")
        number = round(self.model.total) if records is None else int(records)
        return spread_evenly(self.model.distribution.ravel(), number)

    def whole_tables(self, records: int) -> tuple[NDArray[np.int64], ...]:
        """The tables of so many records of the model (:meth:`TableModel.records`): whole numbers that agree, flat."""
        found = tuple(np.zeros(one.size, dtype=np.int64) for one in self.tables)
        for codes in self.model.records(records, AT_ONCE):
            for own, shape, counts in zip(self.queries.attribute_sets, self.queries.shapes, found, strict=True):
                flat = np.ravel_multi_index([codes[axis] for axis in own], shape)
                counts += np.bincount(flat, minlength=counts.size)
        return found

    def as_dict(self) -> dict[str, Any]:
        """The tables, with the labels of each cell and half-widths at 95 %, and what was measured at which cost, ready
        for JSON."""
        widths: list[Any] = [{"half_widths": _NO_BAR}] * len(self.tables)
        if self.fresh:
            each = zip(self.half_widths(), self.most_rmse().tolist(), strict=True)
            widths = [{"half_widths": one.tolist(), "most_rmse": most} for one, most in each]
        return {
            "total": self.model.total,
            "level": 0.95,
            "tables": [
                {"name": name, "labels": self.queries.labels(place), "values": own.tolist(), **width}
                for place, (name, own, width) in enumerate(zip(self.queries.names, self.tables, widths, strict=True))
            ],
            "bars": "by a fresh measurement" if self.fresh else _NO_BAR,
            **self.told_of_steps(),
        }

    def told_of_steps(self) -> dict[str, list[dict[str, Any]]]:
        """What was measured, at which cost, ready for JSON."""
        return {"measured": list(map(self._told, self.transcript)), "fresh": list(map(self._told, self.fresh))}

    def _told(self, one: AdaptiveStep) -> dict[str, Any]:
        titles = self.queries.column_titles
        each = {"selecting": one.selecting, "measuring": one.measuring}
        return {
            "columns": [titles[axis] for axis in one.axes],
            "noise": "normal" if one.normal else "Laplace",
            "spread": str(one.spread),
            "selected": one.rate is not None,
            **({} if one.moved is None else {"moved": one.moved}),
            "costs": {
                step: {"presence" if limit is None else titles[limit]: str(cost) for limit, cost in costs.items()}
                for step, costs in each.items()
            },
        }


def kept_answer(answer: AdaptiveTables) -> dict[str, Any]:
    """The answer as JSON, exactly; what was asked is left out."""
    return {
        "total": answer.model.total,
        "parameters": [
            [[*axes], packed(np.ascontiguousarray(own.ravel()).view(np.int64))]
            for axes, own in answer.model.parameters.items()
        ],
        "transcript": [_kept_step(one) for one in answer.transcript],
        "fresh": [_kept_step(one) for one in answer.fresh],
    }


def kept_model(stored: Mapping[str, Any], sizes: tuple[int, ...]) -> TableModel:
    """The model of an answer that was kept; ``sizes``: of its histogram."""
    parameters = {tuple(axes): unpacked(own).view(np.float64) for axes, own in stored["parameters"]}
    return TableModel(sizes, MappingProxyType(parameters), float(stored["total"]))


def decoded_answer(stored: Mapping[str, Any], queries: MarginalQueries, *, normal: bool) -> AdaptiveTables:
    """The answer that was kept."""
    model = kept_model(stored, queries.sizes)
    transcript, fresh = (tuple(_step_of(one, normal) for one in stored[part]) for part in ("transcript", "fresh"))
    return AdaptiveTables(queries, model, transcript, fresh)


def _kept_step(one: AdaptiveStep) -> list[Any]:
    rate = None if one.rate is None else str(one.rate)
    costs = _kept_costs(one.selecting), _kept_costs(one.measuring)
    return [[*one.axes], packed(one.steps), str(one.spread), rate, *costs, *([] if one.moved is None else [one.moved])]


def _step_of(stored: Sequence[Any], normal: bool) -> AdaptiveStep:
    axes, steps, spread, rate, selecting, measuring, *moved = stored
    known = None if rate is None else Fraction(rate)
    costs = _costs_of(selecting), _costs_of(measuring)
    return AdaptiveStep(tuple(axes), unpacked(steps), Fraction(spread), known, *costs, normal, *map(float, moved))


def _kept_costs(costs: Costs) -> list[list[Any]]:
    return [[limit, str(cost)] for limit, cost in costs.items()]


def _costs_of(stored: Sequence[Sequence[Any]]) -> Costs:
    found: dict[Limit, Fraction] = {limit: Fraction(cost) for limit, cost in stored}
    return MappingProxyType(found)
