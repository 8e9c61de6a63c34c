"""Counts and sums: what everybody who plans, files or reports them knows of them, however they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, require_exact
from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.decimals import acceptable
from dxgeom.universe.numbers.ratio_query import AskedRatio, AskedVariance
from dxgeom.universe.numbers.value_rounding import ValueRounding
from dxgeom.universe.universe import Universe
from dxgeom.universe.weight_tables import WeightTables
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.groups import AnswerOrigin

if TYPE_CHECKING:
    from dxgeom.universe.queries import LinearQueries

RECORDS: Final = "records"
"""What counts are measured in."""


@final
class SaidOfCounts(NamedTuple):
    """What a caller says of counts, as they keep it."""

    importance: tuple[Fraction, ...] | None
    errors: tuple[Fraction | None, ...]
    records: int | None


class Counts(Sealed, ABC):
    """Counts and sums over possible records.

    ``form``: how they are kept. It decides the digest, under which ledgers and plan files know them, and how answers
    are laid out; all else is the same for every form. ``one``: what has a name, an importance and an error of its own,
    in a word; ``several`` of them.
    ``universe``: the possible records, None where nobody said what they are. ``records``: their public number, where it
    is stated. ``importance`` (each,): what squared errors count, None for all alike. ``errors`` (each,): the root mean
    squared error that an answer may have, None for any.
    """

    form: ClassVar[Literal["listed", "tables", "boxes"]]
    one: ClassVar[str]
    several: ClassVar[str]

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def universe(self) -> Universe | None:
            """The possible records."""

        @property
        def records(self) -> int | None:
            """Their public number."""

        @property
        def importance(self) -> tuple[Fraction, ...] | None:
            """(each,): what squared errors count."""

        @property
        def errors(self) -> tuple[Fraction | None, ...]:
            """(each,): the error that each answer may have."""

        @property
        def names(self) -> tuple[str, ...]:
            """(each,): what they are called."""

        @property
        def tables(self) -> WeightTables:
            """The numerators as tables. Raises: TooLarge."""

        @property
        def measures(self) -> tuple[str, ...]:
            """(K,): what each answer is measured in; empty for counts."""

        @property
        def rounding(self) -> tuple[ValueRounding, ...]:
            """(K,): how far each answer can be from one about raw numbers; empty where none is rounded."""

        @property
        def ratios(self) -> tuple[AskedRatio, ...]:
            """Of two answers each."""

        @property
        def variances(self) -> tuple[AskedVariance, ...]:
            """Of three answers each."""

        @property
        def origins(self) -> tuple[AnswerOrigin, ...]:
            """(K,): what each answer is about; empty where each is a query of its own."""

    else:  # of counts of whole records; who lists queries has fields of these names
        measures = rounding = ratios = variances = origins = ()

    @cached_property
    def units(self) -> tuple[Fraction, ...]:
        """(K,): what each answer's numerators are multiplied with."""
        return (Fraction(1),) * self.count

    @property
    @abstractmethod
    def count(self) -> int:
        """The number K of answers."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of what is asked."""

    @property
    def each(self) -> int:
        """How many have a name, an importance and an error of their own."""
        return self.count

    @property
    def owners(self) -> NDArray[np.int64]:
        """(K,): the place of the one that each answer belongs to."""
        return np.arange(self.count)

    @property
    def answer_names(self) -> tuple[str, ...]:
        """(K,): what each answer is called."""
        return self.names

    @property
    def each_origin(self) -> tuple[AnswerOrigin, ...]:
        """(K,): the query of a file, and the group of records, that each answer is about."""
        return self.origins or tuple(map(AnswerOrigin, self.answer_names))

    @property
    def each_rounding(self) -> tuple[ValueRounding, ...]:
        """(K,): how far each answer can be from one about raw numbers."""
        return self.rounding or (ValueRounding(),) * self.count

    @property
    def derived(self) -> tuple[AskedRatio | AskedVariance, ...]:
        """What is made of several answers each: ratios, then variances."""
        return self.ratios + self.variances

    @property
    def by_measure(self) -> dict[str, list[int]]:
        """The places of the queries of each measure, in order of appearance; one measure when none is stated."""
        places: dict[str, list[int]] = {}
        for place, measure in enumerate(self.measures or (RECORDS,) * self.count):
            places.setdefault(measure, []).append(place)
        return places

    @property
    def size(self) -> int:
        """The number N of possible records."""
        return self.tables.size

    @property
    def numerators(self) -> NDArray[np.int64]:
        """The numerators laid out, (K, N).

        Raises: TooLarge when there are too many.
        """
        return self.tables.matrix()

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The weights as float64 (K, N), each correctly rounded up to its last place.

        Raises: TooLarge when there are too many.
        """
        return np.asarray(self.numerators * np.array([float(unit) for unit in self.units])[:, None])

    def answers(self, counts: NDArray[np.int64]) -> list[Fraction]:
        """The exact answers on a histogram. **Not private.**"""
        return [unit * total for unit, total in zip(self.units, self.tables.totals(counts), strict=True)]

    @property
    def listed(self) -> LinearQueries:
        """The same queries one by one, each answer with its name, importance and error.

        Raises: TooLarge for very many; UnsupportedCombination where two are called the same.
        """
        from dxgeom.universe.queries import LinearQueries  # which is one of these

        costs, owners = self.importance, self.owners.tolist()
        return LinearQueries(
            self.answer_names,
            self.tables,
            self.units,
            self.universe,
            self.records,
            None if costs is None else tuple(costs[owner] for owner in owners),
            errors=tuple(self.errors[owner] for owner in owners) if self.errors else (),
            origins=self.each_origin,
        )

    def name(self, place: int) -> str:
        """What the one at a place is called."""
        return self.names[place]

    def place(self, name: str) -> int:
        """Where the one of that name is. Raises: UnsupportedCombination."""
        found = self._places.get(name) if isinstance(name, str) else None
        if found is None:
            advice = did_you_mean(str(name), self.names)
            raise UnsupportedCombination(f"no {self.one} is called {shown(name)}; {advice}".rstrip("; "))
        return found

    @cached_property
    def _places(self) -> Mapping[str, int]:
        # Whoever asks for a box twice finds the first.
        return {name: place for place, name in reversed([*enumerate(self.names)])}

    @property
    def costs(self) -> NDArray[np.float64]:
        """(each,): what squared errors count: 1, the importance, or the inverse of the squared error asked for."""
        if any(self.errors):
            sharpest = min(one for one in self.errors if one is not None)
            return np.array([float(1 / (100 * sharpest) ** 2 if one is None else 1 / one**2) for one in self.errors])
        return np.ones(self.each) if self.importance is None else np.array([*map(float, self.importance)])

    def require_proper_aims(self) -> None:
        """Raises: UnsupportedCombination unless importance and errors are said of each, or of none."""
        given = self.importance
        if given is not None and not (len(given) == self.each and all(map(acceptable, given))):
            raise UnsupportedCombination(
                f"'importance' has one positive number for each {self.one}, from 1e-30 to 1e30, or is left out"
            )
        proper = all(one is None or acceptable(one) for one in self.errors)
        if len(self.errors) not in (0, self.each) or not proper:
            raise UnsupportedCombination(
                f"'errors' has one positive number, from 1e-30 to 1e30, or None for each {self.one}, or is left out"
            )

    @classmethod
    def said(
        cls,
        universe: object,
        importance: Sequence[Fraction | int] | None,
        errors: Sequence[Fraction | int | None] | None,
        records: int | None,
    ) -> SaidOfCounts:
        """The arguments of a constructor, exactly. Raises: WrongArgument; UnsupportedCombination."""
        require(universe, Universe, "universe", "give the universe of a policy, policy.universe")
        each = f"for each {cls.one}"
        require(importance, (list, tuple, NoneType), "importance", f"give an integer or Fraction {each}")
        require(errors, (list, tuple, NoneType), "errors", f"give an integer, a Fraction or None {each}")
        require(records, (*WHOLE, NoneType), "records", "give their whole number, or leave it out")
        if records is not None and records <= 0:
            raise UnsupportedCombination("'records' is a positive whole number, or left out")
        given: tuple[tuple[str, Sequence[Any]], ...] = ("importance", importance or ()), ("errors", errors or ())
        for name, stated in given:
            for one in stated:
                if one is not None:
                    require_exact(one, name)
        costs = None if importance is None else tuple(map(Fraction, importance))
        return SaidOfCounts(costs, tuple(None if one is None else Fraction(one) for one in errors or ()), records)
