"""What of a mechanism is released when: answers to queries, and differences of noisy running totals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.gaussian.ordered_axes import in_order
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.containment import load_of_changes
from dxgeom.mechanisms.linear.lattice import tables_over
from dxgeom.mechanisms.linear.mixing import DiagonalMixing, IntegerMixing
from dxgeom.mechanisms.parts.toeplitz_mechanism import ToeplitzMechanism, bounds_over_periods, line_bounds
from dxgeom.mechanisms.parts.totals_by_category import CategoryStrategy, category_bounds
from dxgeom.mechanisms.parts.weighed_totals import told_along
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.composed import ProductNoise
from dxgeom.noise.gaussian import GaussianNoise
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.planner.releases.reading import read
from dxgeom.privacy.measures import CONCENTRATED

NEVER: Final = np.iinfo(np.int64).max
"""Stands for the period of what no answer takes."""
_MOST_COUNTED: Final = 2**62
_MOST_SHIFTS: Final = 512


class TableReading(NamedTuple):
    """How a table is read; as :func:`dxgeom.release` takes it."""

    outside: Any
    count_column: str | None
    quiet_data: bool


class TableOfPeriods(NamedTuple):
    """Counts in one table, of the rows of some periods alone."""

    cells: tuple[NDArray[np.int64], ...]
    total: int


class InstalmentForm(ABC):
    """A mechanism, and its answers one period after the other.

    ``latest`` (K,): the last period that each answer looks at. ``takes`` (K, m): which coordinates of the noise each
    answer takes; ``carried`` (m,): the last period of what each is added to.
    """

    mechanism: Any
    latest: NDArray[np.int64]
    takes: NDArray[np.bool_]
    carried: NDArray[np.int64]

    @property
    @abstractmethod
    def law(self) -> NoiseLaw:
        """Of the noise, in the steps that it is rounded to."""

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """(K,): what answers are called."""

    @abstractmethod
    def in_order(self, order: NDArray[np.int64]) -> InstalmentForm | None:
        """The same with its noise drawn in this order of coordinates; None where it is not put so."""

    @abstractmethod
    def sums_in(self, place: int) -> int:
        """How many exact sums there are of the rows of one period."""

    @abstractmethod
    def sums_of(self, place: int, data: Any, spend: Fraction, reading: TableReading) -> tuple[int, ...]:
        """The exact sums of the rows of one period; rows of others are left alone. Raises: DataError, TooLarge."""

    @abstractmethod
    def answered(self, sums: Sequence[Sequence[int]], noise: list[int], spend: Fraction) -> Sequence[Fraction]:
        """(K,): the answers from the sums of the first periods and the noise, as far as these tell them."""

    @abstractmethod
    def load_among(self, rows: NDArray[np.int64]) -> float:
        """What the coordinates at these rising rows tell of a change at most, over what is promised of it; *rounded
        up*, 1 where it is not worked out."""


@final
@dataclass(frozen=True, eq=False)
class ListedForm(InstalmentForm):
    """Answers to a list of linear queries; of a period a sum for each answer released in it or later."""

    mechanism: AdditiveMechanism
    axis: int
    latest: NDArray[np.int64] = field(repr=False)
    takes: NDArray[np.bool_] = field(repr=False)
    carried: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, mechanism: AdditiveMechanism, axis: int, periods: int) -> ListedForm:
        """Raises: UnsupportedCombination where it is not proved that its answers may be released one by one."""
        universe, mixing = mechanism.universe, mechanism.mixing
        if mechanism.sensitivity.queries.public is not None:
            raise refused("answers that public numbers are part of are not", "release it")
        if mechanism.change is not None or mechanism.reads is not None or mechanism.law is None or universe is None:
            raise refused(
                "changed queries, too many possible records to list, and answers without noise are not",
                "release it",
            )
        latest = _latest(mechanism, axis, periods)
        if isinstance(mixing, DiagonalMixing):
            takes = np.zeros((len(mixing.noisy), len(mixing.coordinates)), dtype=bool)
            takes[mixing.coordinates, np.arange(len(mixing.coordinates))] = True
            return cls(mechanism, axis, latest, takes, latest[mixing.coordinates])
        if isinstance(mixing, IntegerMixing) and isinstance(mixing.measured, ToeplitzMechanism):
            carried = _periods_of(mixing.measured, axis, periods)
            return cls(mechanism, axis, latest, np.asarray(mixing.numerators != 0), carried)
        if not isinstance(mixing, np.ndarray):
            raise refused("its answers share noise that is not added to answers", other_noise(mechanism.metric))
        rows = mixing.tolist()
        carried = np.full(mixing.shape[1], NEVER)
        for place in range(mixing.shape[1]):
            own = [answer for answer, row in enumerate(rows) if row[place] == 1 and sum(map(bool, row)) == 1]
            carried[place] = int(latest[own].min()) if own else NEVER
        return cls(mechanism, axis, latest, np.asarray(mixing != 0, dtype=bool), carried)

    @property
    def law(self) -> NoiseLaw:
        law = self.mechanism.law
        if law is None:
            raise refused("no answer has noise", "release it")
        return law.parts[0] if isinstance(law, ProductNoise) and len(law.parts) == 1 else law

    @property
    def names(self) -> Sequence[str]:
        return self.mechanism.sensitivity.queries.names

    def in_order(self, order: NDArray[np.int64]) -> ListedForm | None:
        if not isinstance(self.law, GaussianNoise) or len(order) != self.law.dimension:
            return None
        return replace(self, mechanism=in_order(self.mechanism, self.law, order))

    def sums_in(self, place: int) -> int:
        return int(np.count_nonzero(self.latest >= place))

    def sums_of(self, place: int, data: Any, spend: Fraction, reading: TableReading) -> tuple[int, ...]:
        counts = read(self.mechanism, data, *reading).data
        universe = self.mechanism.universe
        shape = () if universe is None else universe.shape
        own, size = np.zeros_like(counts), int(np.prod(shape))
        here = tuple(place if axis == self.axis else slice(None) for axis in range(len(shape)))
        own[:size].reshape(shape)[here] = counts[:size].reshape(shape)[here]
        self.mechanism.check(own, spend)
        every = self.mechanism.sensitivity.queries.integer_answers(own)
        return tuple(int(every[answer]) for answer in np.flatnonzero(self.latest >= place).tolist())

    def answered(self, sums: Sequence[Sequence[int]], noise: list[int], spend: Fraction) -> Sequence[Fraction]:
        exact = [0] * len(self.latest)
        for place, own in enumerate(sums):
            for answer, part in zip(np.flatnonzero(self.latest >= place).tolist(), own, strict=True):
                exact[answer] += part
        return self.mechanism.noisy(exact, noise)

    def load_among(self, rows: NDArray[np.int64]) -> float:
        mixing = self.mechanism.mixing
        if isinstance(mixing, IntegerMixing) and isinstance(mixing.measured, ToeplitzMechanism):
            return TotalsForm(mixing.measured, self.latest, self.takes, self.carried).load_among(rows)
        if not isinstance(mixing, DiagonalMixing):
            return 1.0
        return load_of_changes(self.law.among(rows), self.mechanism.sensitivity.proved, mixing.coordinates[rows])


@final
@dataclass(frozen=True, eq=False)
class TotalsForm(InstalmentForm):
    """Counts of runs of periods, each a difference of two noisy running totals, or of prefixes by category; of a period
    there is its count, in each category."""

    mechanism: ToeplitzMechanism
    latest: NDArray[np.int64] = field(repr=False)
    takes: NDArray[np.bool_] = field(repr=False)
    carried: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, mechanism: ToeplitzMechanism, axis: int, periods: int) -> TotalsForm:
        """Raises: UnsupportedCombination where the totals are not of the periods, one by one."""
        carried = _periods_of(mechanism, axis, periods)
        latest = np.asarray(mechanism.merged.upper[:, mechanism.lines[0]] - 1, dtype=np.int64)
        return cls(mechanism, latest, mechanism.taken != 0, carried)

    @property
    def law(self) -> NoiseLaw:
        return self.mechanism.law_of(0, float(self.mechanism.step))[0]

    @property
    def names(self) -> Sequence[str]:
        return self.mechanism.boxes.names

    def in_order(self, order: NDArray[np.int64]) -> None:
        return None

    @property
    def _line(self) -> int:
        (line,) = self.mechanism.lines
        return line

    def sums_in(self, place: int) -> int:
        return len(self.carried) // self.mechanism.merged.sizes[self._line]

    def sums_of(self, place: int, data: Any, spend: Fraction, reading: TableReading) -> tuple[int, ...]:
        sizes, most = self.mechanism.merged.sizes, _MOST_COUNTED // len(self.carried)
        which = self.mechanism.queries.attribute_sets.index(tuple(range(len(sizes))))
        cells = np.asarray(read(self.mechanism, data, *reading).data.cells[which]).reshape(sizes)
        own = tuple(map(int, cells.take(place, axis=self._line).ravel().tolist()))
        if max(own) > most:  # before it is sealed: a total of all periods stays an integer of 64 bits
            raise TooLarge(f"at most {most:,} records are counted in one of {len(self.carried):,} periods, found more")
        self._checked([(0,) * len(own)] * place + [own], spend)
        return own

    def answered(self, sums: Sequence[Sequence[int]], noise: list[int], spend: Fraction) -> Sequence[Fraction]:
        counted = self._checked(sums, spend)
        return tuple(map(Fraction, self.mechanism.answered(counted, {0: np.array(noise, dtype=np.int64)})))

    def _checked(self, counts: Sequence[Sequence[int]], spend: Fraction) -> TableOfPeriods:
        sizes, line = self.mechanism.merged.sizes, self._line
        by_period = np.zeros((sizes[line], self.sums_in(0)), dtype=np.int64)
        by_period[: len(counts)] = counts
        others = sizes[:line] + sizes[line + 1 :]
        cells = np.moveaxis(by_period.reshape(sizes[line], *others), 0, line)
        # Sums over no attribute are the table, and over all of them a table of one cell.
        places, sets = range(len(sizes)), self.mechanism.queries.attribute_sets
        tables = (cells.sum(axis=tuple(place for place in places if place not in one)).reshape(-1) for one in sets)
        found = TableOfPeriods(tuple(tables), int(cells.sum()))
        self.mechanism.check(found, spend)
        return found

    def load_among(self, rows: NDArray[np.int64]) -> float:
        try:
            if isinstance(self.mechanism.strategy, CategoryStrategy):
                return self._load_by_category(self.mechanism.strategy, rows)
            if self.mechanism.metric.over_periods is not None:
                return self._load_over_periods(rows)
        except (CertificateRefused, TooLarge):  # then all of it is accounted for
            return 1.0
        if len(self.mechanism.merged.sizes) > 1:
            return 1.0
        bounds, size = line_bounds(self.mechanism.metric, self.mechanism.merged), len(rows)
        if size > _MOST_SHIFTS or bounds.presence is None or (bounds.apart is not None and not bounds.line):
            return 1.0
        law, step, exact = self.law.among(rows), self.mechanism.step, np.zeros((size, size))
        records = float(law.loss_upper_bounds(np.tri(size).T / float(step), exact).max()) / float(bounds.presence)
        if bounds.apart is None:
            return records * (1 + 2.0**-40)
        promised = np.append(bounds.steps(self.law.dimension - 1), float(bounds.presence))[rows]
        steps = float((law.loss_upper_bounds(np.eye(size) / float(step), exact) / promised).max())
        return max(records, steps) * (1 + 2.0**-40)

    def _load_by_category(self, strategy: CategoryStrategy, rows: NDArray[np.int64]) -> float:
        """Of the first totals of all categories. Raises: CertificateRefused, TooLarge."""
        many = int(self.carried[rows].max()) + 1
        if self.mechanism.metric.over_periods is not None or len(rows) != many * strategy.categories:
            return 1.0
        bounds = category_bounds(self.mechanism.metric, self.mechanism.merged, self._line)
        return strategy.told_by_first(many, self.mechanism.scale, bounds)

    def _load_over_periods(self, rows: NDArray[np.int64]) -> float:
        """Where something is promised of several periods. Raises: CertificateRefused, TooLarge."""
        bounds, law = bounds_over_periods(self.mechanism.metric, self.mechanism.merged), self.law.among(rows)
        many = len(rows)
        if bounds is None or not isinstance(law, TriangularNormals) or not np.array_equal(rows, np.arange(many)):
            return 1.0
        classes = tuple(one for one in bounds.classes if one < many)
        first = replace(bounds, classes=classes, gaps=bounds.gaps[: many - 1])
        law = TriangularNormals(law.factor * float(self.mechanism.step))
        told = told_along(law, first)
        if bounds.apart is not None and many < self.law.dimension:
            # The last of them steps out of these totals.
            last = float(law.loss_upper_bounds(np.eye(many)[-1:], np.zeros((1, many)))[0])
            told = max(told, last / float(bounds.steps(self.law.dimension - 1)[many - 1]))
        return told * (1 + 2.0**-40)


def _periods_of(mechanism: ToeplitzMechanism, axis: int, periods: int) -> NDArray[np.int64]:
    """(n,): the period of each total. Raises: UnsupportedCombination where totals are not of periods, one by one."""
    found = mechanism.periods_of_totals(axis, periods)
    if found is None:
        raise refused(
            "its running totals are not of the periods one by one",
            "ask about every period, let the policy have such periods as are asked about, or plan with --mechanism "
            "gaussian",
        )
    return found


def _latest(mechanism: AdditiveMechanism, axis: int, periods: int) -> NDArray[np.int64]:
    """(K,): the last period of which a record can change each answer; the very last where all alike do, or none."""
    queries, universe = mechanism.sensitivity.queries, mechanism.universe
    found = np.full(len(queries.names), periods - 1)
    if universe is None:
        return found
    for table in tables_over(queries, universe):
        if axis not in table.axes:
            continue
        place = table.axes.index(axis)
        others = tuple(other for other in range(1, table.weights.ndim) if other != place + 1)
        moved = np.any(table.weights != 0, axis=others)[:, table.classes[place]]
        last = periods - 1 - np.argmax(moved[:, ::-1], axis=1)
        found[table.queries] = np.where(np.any(moved, axis=1), last, periods - 1)
    return found


def other_noise(metric: VerifiedMetric) -> str:
    """What to do where the noise of a plan is drawn for all periods at once."""
    if metric.privacy == CONCENTRATED:
        return "plan with --mechanism gaussian"
    return "ask for a count of each period, plan with --mechanism laplace, and add the answers up"


def refused(why: str, instead: str) -> UnsupportedCombination:
    """The error about a plan that is not released in instalments."""
    return UnsupportedCombination(f"this plan is not released in instalments: {why}; {instead}")
