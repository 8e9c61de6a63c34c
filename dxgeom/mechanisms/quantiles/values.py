"""The values of one attribute in their order, and what an answer says with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import described
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import Sealed
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import NumberColumn, texts_of
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

_ADVICE = "name an ordered attribute of the policy, or list one exact number for each record type"


@final
@dataclass(frozen=True, eq=False)
class OrderedValues(Sealed):
    """T values, increasing, and the place among them of the value that each record type has.

    ``labels`` (T,): as people write them; ``numbers`` (T,): exact, strictly increasing, days since the first for dates;
    ``places`` (N,): int64, 0 for the absent record where there is one. A value that raw numbers were rounded down to
    stands for all of them.
    """

    name: str
    labels: tuple[str, ...] = field(repr=False)
    numbers: tuple[Fraction, ...] = field(repr=False)
    places: NDArray[np.int64] = field(repr=False)

    @property
    def count(self) -> int:
        """T."""
        return len(self.numbers)

    def among(self, members: NDArray[np.int64]) -> OrderedValues:
        """The same values, for some of the record types only."""
        return OrderedValues(self.name, self.labels, self.numbers, self.places[members])


@final
@dataclass(frozen=True, eq=False)
class QuantileAnswer:
    """The released quantiles, each a value of the attribute; empty where no record was asked about.

    ``at``: the levels q as asked; ``ranks``: which smallest value each is, ⌈q·n⌉, None where n is private,
    and where people count once, whose ranks are no whole numbers; ``places``:
    of the released ones among ``of``, not decreasing with the level.
    """

    of: OrderedValues = field(repr=False)
    at: tuple[Fraction, ...]
    ranks: tuple[int, ...] | None
    places: tuple[int, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The released values as people write them."""
        return tuple(self.of.labels[place] for place in self.places)

    @property
    def numbers(self) -> tuple[Fraction, ...]:
        """The released values as exact numbers; days since the first for dates."""
        return tuple(self.of.numbers[place] for place in self.places)

    def as_dict(self) -> dict[str, Any]:
        """The answer ready for JSON."""
        released = zip(self.at, self.labels, self.numbers, strict=True) if self.places else ()
        entries: list[dict[str, Any]] = [
            {"at": str(level), "value": label, "number": float(number), "exact": str(number)}
            for level, label, number in released
        ]
        for entry, rank in zip(entries, self.ranks or (), strict=False):
            entry["rank"] = rank
        return {"of": self.of.name, "quantiles": entries}


def ordered_values(metric: VerifiedMetric, attribute: str | Iterable[Any]) -> OrderedValues:
    """The values of an attribute of numbers or dates, by its name, or those listed for each record type.

    Raises: WrongArgument, UnsupportedCombination for an unknown attribute, words, and numbers that do not fit.
    """
    if not isinstance(attribute, str):
        return _of_numbers(metric.size, metric.absent, attribute)
    if metric.universe is None:
        raise UnsupportedCombination(
            f"the metric has no attribute {shown(attribute)}, for it does not know its records: list one number for "
            "each record type, or give verify_metric the universe"
        )
    place = _place(metric.universe, attribute)
    found = metric.universe.attributes[place]
    numbers = _numbers(found)
    ordered = sorted(set(numbers))
    rank = {number: position for position, number in enumerate(ordered)}
    by_code = np.array([rank[number] for number in numbers], dtype=np.int64)
    labels = dict(zip(reversed(numbers), reversed(found.labels), strict=True))
    places = metric.universe.laid_out(metric.universe.spread(place, by_code))
    return OrderedValues(attribute, tuple(labels[number] for number in ordered), tuple(ordered), places)


def _place(universe: Universe, attribute: str) -> int:
    if attribute not in universe.names:
        advice = did_you_mean(attribute, universe.names)
        raise UnsupportedCombination(f"there is no attribute {shown(attribute)}" + (f"; {advice}" if advice else ""))
    return universe.names.index(attribute)


def _numbers(attribute: Attribute) -> tuple[Fraction, ...]:
    """The number behind each code. Raises: UnsupportedCombination for words."""
    if attribute.missing is not None:
        raise UnsupportedCombination(
            f"{shown(attribute.name)} may be missing, and how many have a value is then private: no rank among these "
            "is known; ask for counts, such as its prefixes"
        )
    column = attribute.columns[0]
    if isinstance(column, NumberColumn):
        return column.numbers
    if isinstance(attribute, DateAttribute):
        return attribute.days
    raise UnsupportedCombination(
        f"a quantile is of an attribute with an order, and the values of {shown(attribute.name)} are words: name one "
        "of numbers or dates, or list a number for each record type"
    )


def _of_numbers(size: int, absent: int | None, listed: Iterable[Any]) -> OrderedValues:
    """Raises: WrongArgument unless these are finite numbers, one for each record type."""
    try:
        exact = [Fraction(number.item() if isinstance(number, np.generic) else number) for number in listed]
    except (TypeError, ValueError, OverflowError) as error:
        raise WrongArgument(f"'attribute' is text or numbers; found {described(listed)}: {_ADVICE}") from error
    types = size - (absent is not None)
    if len(exact) != types:
        raise WrongArgument(
            f"'attribute' lists a number for each of {types:,} record types; found {len(exact):,}: {_ADVICE}"
        )
    ordered = sorted(set(exact))
    rank = {number: position for position, number in enumerate(ordered)}
    places = np.zeros(size, dtype=np.int64)
    places[:types] = [rank[number] for number in exact]
    return OrderedValues("value", texts_of(ordered), tuple(ordered), places)
