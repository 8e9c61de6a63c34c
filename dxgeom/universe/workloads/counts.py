"""Counts and sums: what everybody who plans, files or reports them knows of them, however they are kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import WHOLE, require, require_exact
from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import Sealed, cached_property
from dxgeom.universe.decimals import acceptable
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown


@final
class SaidOfCounts(NamedTuple):
    """What a caller says of counts, as they keep it."""

    importance: tuple[Fraction, ...] | None
    errors: tuple[Fraction | None, ...]
    records: int | None


class Counts(Sealed, ABC):
    """Counts and sums over possible records.

    ``form``: how they are kept. It decides the digest, under which ledgers and plan files know them, and how answers
    are laid out. ``one``: what has a name, an importance and an error of its own, in a word; ``several`` of them.
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

    def name(self, place: int) -> str:
        """What the one at a place is called."""
        return self.names[place]

    def place(self, name: str) -> int:
        """Where the one of that name is. Raises: UnsupportedCombination."""
        found = self._places.get(name)
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
