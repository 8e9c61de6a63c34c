"""What each release adds to what was told, attribute by attribute, on the raw values that any policy tells apart.

What a ledger's releases under one policy tell together, as a curve over that policy's distances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.entry import Entry
from dxgeom.metrics.combinations import PresenceMetric
from dxgeom.numeric.rounding import round_up
from dxgeom.policy.policy import Policy
from dxgeom.privacy.composition import Composition
from dxgeom.privacy.measures import CONCENTRATED, Privacy
from dxgeom.universe.attributes import OUTSIDE, Attribute, not_listed
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.numbers.number_cells import AS_THEY_ARE
from dxgeom.universe.numbers.numeric_attributes import NumericAttribute
from dxgeom.universe.periods import PeriodAttribute
from dxgeom.universe.reading.reading import CellReading
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown

Codes: TypeAlias = list[NDArray[np.int64]]
"""For each attribute the code of every raw value, ``OUTSIDE`` where it is no value of it."""


@final
@dataclass(frozen=True, eq=False)
class ReadAttribute:
    """An attribute of a policy, and how rows say its value."""

    attribute: Attribute
    reading: CellReading

    @property
    def digest(self) -> list[Any]:
        """Equal digests find the same value in every row."""
        return [self.attribute.digest, self.reading.digest]

    @property
    def handed(self) -> tuple[Any, ...]:
        """What of a row the attribute sees, as one cell; two columns without an expression are no cell. Words that
        rules read are told apart by the attribute's own list."""
        made = self.reading.expression
        rules = self.reading.rules
        words = self.attribute.digest if rules is not None and self.reading.read_as == "words" else None
        said = None if rules is None else (rules.digest, words)
        return (self.reading.columns, self.reading.read_as, self.reading.cells, made and made.digest, said)

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        """Of these values, and behind them of a cell that is empty."""
        found = np.asarray(self.attribute.present.encode(values), dtype=np.int64)
        if self.reading.unlisted is not None:
            found = np.where(found == OUTSIDE, self.reading.unlisted, found)
        missing = self.attribute.missing
        return np.append(found, OUTSIDE if missing is None else missing)


def attribute_of(universe: Universe, name: str) -> ReadAttribute:
    """The attribute of that name. Raises: KeyError."""
    return ReadAttribute(universe.attribute(name), universe.reading.attributes[universe.names.index(name)])


def refined(attributes: Sequence[ReadAttribute]) -> Codes:
    """The codes of raw values such that every raw value that one of them knows has the codes of one of these under all.

    Guarantee: *exact*. Cells of numbers and days are half open, so each cell of the common refinement begins where a
    cell of one of them does, or behind the end of one. Words are those of any of the lists, and one of none.
    Raises: UnsupportedCombination for attributes of different kinds, or that are read from different columns; and for
    numbers that some clamp or want whole, where no list of raw values tells all that may be in a cell.
    """
    first = attributes[0]
    if all(one.digest == first.digest for one in attributes):
        return [np.arange(first.attribute.size)] * len(attributes)
    if any(one.attribute.unlisted for one in attributes):
        raise UnsupportedCombination(
            f"{not_listed(first.attribute.name)} under one of these policies, and another one reads it otherwise: what "
            "they tell of it together is not compared"
        )
    present = [one.attribute.present for one in attributes]
    values = next((kind(present) for holds, kind in _KINDS if all(map(holds, present))), None)
    if values is None or first.reading.cells != 1 or any(one.handed != first.handed for one in attributes):
        raise UnsupportedCombination(
            f"'{first.attribute.name}' is not read alike by these policies: "
            f"{', '.join(sorted(set(map(_how, attributes))))}; only words, days, and numbers that nobody "
            "clamps or wants whole, of one column, can be compared"
        )
    return [one.codes(values) for one in attributes]


def _how(one: ReadAttribute) -> str:
    made = "" if one.reading.expression is None else f", as {one.reading.expression}"
    return f"{one.reading.read_as} in the column {' and '.join(map(shown, one.reading.columns))}{made}"


def _words(attributes: Sequence[Attribute]) -> list[str]:
    labels = list(dict.fromkeys(label for one in attributes for label in one.labels))
    return [*labels, "?" * (1 + max(map(len, labels)))]


def _numbers(attributes: Sequence[Attribute]) -> NDArray[np.float64]:
    numeric = [one for one in attributes if isinstance(one, NumericAttribute)]
    ends = [float(one.ends[1]) for one in numeric]
    beyond = [math.nextafter(end, math.inf) for end in ends]
    below = [math.nextafter(float(one.lower[0]), -math.inf) for one in numeric]
    return np.unique(np.concatenate([*(one.lower for one in numeric), ends, beyond, below]))


def _days(attributes: Sequence[Attribute]) -> list[Any]:
    dated = [one for one in attributes if isinstance(one, DateAttribute)]
    starts = {one.first + timedelta(int(day)) for one in dated for day in one.days}
    beside = {one.last + timedelta(1) for one in dated} | {one.first - timedelta(1) for one in dated}
    return sorted(starts.union(beside, *(one.known_days for one in attributes if isinstance(one, PeriodAttribute))))


_KINDS: Final[tuple[tuple[Callable[[Attribute], bool], Callable[[Sequence[Attribute]], Any]], ...]] = (
    (lambda one: one.read_as == "words", _words),
    (lambda one: isinstance(one, NumericAttribute) and one.raw == AS_THEY_ARE, _numbers),
    (lambda one: isinstance(one, DateAttribute | PeriodAttribute), _days),
)
"""What an attribute is made of, and how what several are made of is refined."""


RECORDS: Final = "records"
"""What stands for an attribute where a table lists the records."""

_MOST_VALUES: Final = 2000
"""Of an attribute with more raw values not every pair is looked at."""


@final
@dataclass(frozen=True, eq=False)
class Term:
    """A release's part: ``spend`` times the metric of ``policy`` between records that differ in one attribute.

    ``codes`` (m,): of the raw values under that policy, which are ``stride`` records apart; between a value that is
    none there and one that is lies ``absence``, the distance to the absent record, infinite where there is none.
    """

    policy: Policy
    spend: float
    stride: int
    codes: NDArray[np.int64]
    absence: float

    def loss(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """spend·d between raw values, by their places, elementwise, up to the rounding of distances."""
        first, second = self.codes[i], self.codes[j]
        outside = (first == OUTSIDE) | (second == OUTSIDE)
        # Compiled metrics of attributes do not ask what the other attributes are, as long as these are the same.
        i, j = (np.where(outside, 0, codes) * self.stride for codes in (first, second))
        apart = self.policy.metric.distance(i, j)
        apart = np.where(outside, np.where(first == second, 0.0, self.absence), apart)
        return np.asarray(apart * self.spend, dtype=np.float64)


@final
@dataclass(frozen=True, eq=False)
class Contribution:
    """All releases' parts about one column: ``codes`` (m,) are of the policy that is asked about.

    Raw values that are none under a policy without presence are in no row: its release would have refused the table, or
    said how many rows it dropped. ``squares``: what was told is the root of the sum of the terms' squares, which is a
    distance, too.
    """

    codes: NDArray[np.int64]
    terms: tuple[Term, ...]
    squares: bool = False

    @property
    def possible(self) -> NDArray[np.int64]:
        """Places of the raw values that rows may have."""
        refused = [(term.codes == OUTSIDE) & (term.absence == math.inf) for term in self.terms]
        return np.flatnonzero((self.codes != OUTSIDE) & ~np.any([*refused, self.codes == OUTSIDE], axis=0))

    def loss(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """What was told of raw values, by their places, elementwise, up to the rounding of distances."""
        shape = np.broadcast_shapes(i.shape, j.shape)
        if self.squares:
            return np.sqrt(sum((term.loss(i, j) ** 2 for term in self.terms), np.zeros(shape)))
        return sum((term.loss(i, j) for term in self.terms), np.zeros(shape))


@final
@dataclass(frozen=True)
class Contributions:
    """What was told by attribute: the policy's ``own``, and those of columns that it lacks; and of ``presence``."""

    own: dict[str, Contribution]
    foreign: tuple[Contribution, ...]
    exact: bool
    presence: float


@final
@dataclass(frozen=True)
class Spread:
    """``worst``: the most that was told between raw values of different codes, None where there is one code only;
    ``pair``: these codes, None where not all were looked at. ``within``: the most between raw values of one code."""

    worst: float | None
    pair: tuple[int, int] | None
    within: float


def contributions(policy: Policy, released: Sequence[tuple[Policy, Fraction]], squares: bool = False) -> Contributions:
    """The parts of each release, by attribute; ``squares``: theirs add up. Raises: UnsupportedCombination."""
    exact = all(_digest(other) == _digest(policy) for other, _ in released)
    absences = [round_up(spend) * _absence(other) for other, spend in released]
    presence = math.hypot(*absences) if squares else math.fsum(absences)
    listing = [one.name for one in (policy, *(other for other, _ in released)) if one.universe.listed is not None]
    if listing and exact:
        return Contributions({RECORDS: _of_records(policy, released, squares)}, (), exact, presence)
    if listing:
        raise UnsupportedCombination(
            f"the policy '{listing[0]}' lists its records in a table, so what was told does not add up by attribute; "
            "it can be compared with policies that list the same records only"
        )
    names = dict.fromkeys(name for one, _ in released for name in one.universe.names)
    own = {name: _contribution(policy, released, name, squares) for name in policy.universe.names}
    foreign = tuple(one for name in names if name not in own for one in _free(policy, released, name, squares))
    return Contributions(own, foreign, exact, presence)


def spread(contribution: Contribution) -> Spread:
    """The most that was told between and within the codes of the policy that is asked about, up to rounding."""
    kept = contribution.possible
    codes = contribution.codes[kept]
    every = np.unique(contribution.codes[contribution.codes != OUTSIDE])
    gone = np.setdiff1d(every, codes)
    found = _spread_from_one if len(kept) > _MOST_VALUES else _spread_of_all
    among = found(contribution, kept, codes)
    if gone.size == 0 or every.size < 2:
        return among
    # That nobody has such a value was told.
    return Spread(math.inf, (int(gone[0]), int(every[every != gone[0]][0])), among.within)


def _spread_of_all(contribution: Contribution, kept: NDArray[np.int64], codes: NDArray[np.int64]) -> Spread:
    worst, pair, within = -1.0, None, 0.0
    for place, code in zip(kept, codes, strict=True):
        amounts = contribution.loss(np.full(len(kept), place), kept)
        within = max(within, float(amounts[codes == code].max()))
        others = np.where(codes == code, -1.0, amounts)
        if others.max() > worst:
            worst, pair = float(others.max()), (int(code), int(codes[int(others.argmax())]))
    return Spread(None if pair is None else worst, pair, within)


def _spread_from_one(contribution: Contribution, kept: NDArray[np.int64], codes: NDArray[np.int64]) -> Spread:
    """Two values are no further apart than both are from a third."""
    widest = 2 * float(contribution.loss(np.full(len(kept), kept[0]), kept).max())
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    within = 2 * float(contribution.loss(kept[first][which], kept).max())
    return Spread(widest if len(first) > 1 else None, None, within)


def _contribution(
    policy: Policy, released: Sequence[tuple[Policy, Fraction]], name: str, squares: bool
) -> Contribution:
    holders = [(other, spend) for other, spend in released if name in other.universe.names]
    mine = [attribute_of(policy.universe, name)] if name in policy.universe.names else []
    codes = refined([*mine, *(attribute_of(other.universe, name) for other, _ in holders)])
    if not mine:
        # Rows may also have a value there that none of these policies knows.
        codes = [np.append(under, OUTSIDE) for under in codes]
    terms = tuple(
        Term(other, round_up(spend), _stride(other, name), under, _absence(other))
        for (other, spend), under in zip(holders, codes[len(mine) :], strict=True)
    )
    # A column that the policy lacks is free: all its values are in every record.
    return Contribution(codes[0] if mine else np.zeros(len(codes[0]), dtype=np.int64), terms, squares)


def _free(policy: Policy, released: Sequence[tuple[Policy, Fraction]], name: str, squares: bool) -> list[Contribution]:
    """Of a column that the policy lacks: together, or each release on its own where they read it differently."""
    try:
        return [_contribution(policy, released, name, squares)]
    except UnsupportedCombination:
        holders = [one for one in released if name in one[0].universe.names]
        return [_contribution(policy, [holder], name, squares) for holder in holders]


def _of_records(policy: Policy, released: Sequence[tuple[Policy, Fraction]], squares: bool) -> Contribution:
    """Of whole records, which all these policies list alike."""
    codes = np.arange(policy.universe.record_types)
    terms = tuple(Term(other, round_up(spend), 1, codes, _absence(other)) for other, spend in released)
    return Contribution(codes, terms, squares)


def _digest(policy: Policy) -> list[Any]:
    """Equal digests make the same record of every row."""
    listed = policy.universe.listed
    read = [attribute_of(policy.universe, name).digest for name in policy.universe.names]
    return [read, None if listed is None else listed.tolist()]


def _stride(policy: Policy, name: str) -> int:
    """How many records lie between a value of the attribute and the next."""
    return math.prod(policy.universe.shape[policy.universe.names.index(name) + 1 :])


def _absence(policy: Policy) -> float:
    """The most that lies between a record and none, ∞ where that is not hidden."""
    metric = policy.metric
    return round_up(metric.epsilon) if isinstance(metric, PresenceMetric) else math.inf


Noise: TypeAlias = Literal["gaussian", "pure"]
"""What is known of a release's noise beside the promise."""

DELTA: Final = 1e-6
_STEPS: Final = (1, 2, 4)
_WORTH: Final = 0.9


@final
@dataclass(frozen=True)
class LossPoint:
    """At a distance: ``epsilon`` at a δ of 10⁻⁶, and the chance of a right guess between two records that were equally
    likely; *rounded up*."""

    distance: float
    epsilon: float
    right_guess: float

    def __str__(self) -> str:
        return (
            f"at distance {self.distance:g} ε = {self.epsilon:.4g} at δ = {DELTA:g}, a right guess between two equally "
            f"likely records at most {100 * self.right_guess:.4g} %"
        )

    def as_dict(self) -> dict[str, float]:
        """The point ready for JSON."""
        return {"distance": self.distance, "epsilon": self.epsilon, "delta": DELTA, "right_guess": self.right_guess}


@final
@dataclass(frozen=True)
class LossCurve:
    """Releases of one policy, by what is known of their noise: the spends of those that were ``pure``, ``gaussian``, or
    of which no more is known than that they are ``concentrated``. ``nearest``: the smallest distance that is shown.

    Questions may depend on earlier answers; spends count as if they had been settled beforehand. Whoever chose these
    by earlier answers is told by the curve of the whole budget.
    """

    pure: tuple[Fraction, ...]
    gaussian: tuple[Fraction, ...]
    concentrated: tuple[Fraction, ...]
    nearest: float

    def at(self, distance: float) -> Composition:
        """What they tell of a pair at a distance of the policy: δ(ε), ε(δ) and guesses, *rounded up*.

        A person's rows that move one by one are at the sum of their distances.
        """
        pure, gaussian, other = (
            [round_up(spend * Fraction(distance)) for spend in spends]
            for spends in (self.pure, self.gaussian, self.concentrated)
        )
        return Composition.of(pure, gaussian, other)

    @cached_property
    def points(self) -> tuple[LossPoint, ...]:
        """At once, twice and four times the nearest distance."""
        further = (self._point(step * self.nearest, self.at(step * self.nearest)) for step in _STEPS[1:])
        return (self._point(self.nearest, self._at_nearest), *further)

    @property
    def worth_telling(self) -> bool:
        """Whether it says more than that odds never exceed the sum of all."""
        return self.points[0].epsilon < _WORTH * self._at_nearest.ceiling

    @cached_property
    def _at_nearest(self) -> Composition:
        return self.at(self.nearest)

    @staticmethod
    def _point(distance: float, composition: Composition) -> LossPoint:
        return LossPoint(distance, composition.epsilon(DELTA), composition.right_guess())

    def lines(self) -> list[str]:
        """For a reader."""
        kinds = ((self.pure, "pure"), (self.gaussian, "Gaussian"), (self.concentrated, "any concentrated"))
        said = ", ".join(f"{len(spends)} with {kind} noise" for spends, kind in kinds if spends)
        return [f"all releases together as a curve ({said})", *(f"  {point}" for point in self.points)]

    def as_dict(self) -> dict[str, Any]:
        """The curve ready for JSON."""
        releases = {"pure": len(self.pure), "gaussian": len(self.gaussian), "concentrated": len(self.concentrated)}
        return {"releases": releases, "points": [point.as_dict() for point in self.points]}


def curve_of_entries(
    entries: Sequence[Entry], privacy: Privacy, noises: Mapping[str, Noise], nearest: float
) -> LossCurve | None:
    """The curve of these entries, all under one policy; None where nothing was released, or nothing is at a distance.

    Args: ``noises``: what is known, by the fingerprint of the plan: of a ledger of pure privacy all are pure.
    Raises: UnsupportedCombination for a noise of another name.
    """
    for noise in noises.values():
        if noise not in get_args(Noise):
            raise UnsupportedCombination(f"noise is {' or '.join(map(repr, get_args(Noise)))} here; found {noise!r}")
    spends: dict[str, list[Fraction]] = {"pure": [], "gaussian": [], "concentrated": []}
    for entry in entries:
        known = noises.get(entry.plan_fingerprint, "concentrated") if privacy == CONCENTRATED else "pure"
        spends[known].append(entry.spend)
    if not entries or not 0 < nearest < float("inf"):
        return None
    pure, gaussian, concentrated = (tuple(sorted(one)) for one in spends.values())
    return LossCurve(pure, gaussian, concentrated, nearest)
