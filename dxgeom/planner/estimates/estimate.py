"""An estimate: released answers moved to what is known, beside them; and what is asked of one."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, final, get_args

import numpy as np
from numpy.typing import NDArray

from dxgeom.arguments import require
from dxgeom.displayed import Displayed
from dxgeom.errors import DxgeomError, TooLarge, UnsupportedCombination, WrongArgument
from dxgeom.numeric.arrays import Columns
from dxgeom.planner.amounts import Amount
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.people.people import People

if TYPE_CHECKING:
    from dxgeom.universe.labels import PolicyLabels

EstimateName: TypeAlias = Literal["auto", "consistent", "integers", "records", "model"]
AskedEstimate: TypeAlias = EstimateName | Literal["none"]
"""What may be asked of a release: one of these, or that none is shown."""
FAILURES: Final = (DxgeomError, MemoryError, ArithmeticError, RecursionError, np.linalg.LinAlgError)
"""What may go wrong while an estimate is sought."""
NOTHING_READ: Final = "no data was read and no budget spent: all of this follows from the released answers"


@final
@dataclass(frozen=True)
class EstimateWish:
    """What is asked of an estimate. Answers agree in any case.

    ``nonnegative``: counts are not. ``integers``: counts are whole. ``totals``: answers that are known otherwise.
    ``by_loss``: the nearest is sought in the norm of the plan's loss; or else in that of the answers' variances.
    ``of_records``: tables are those of some records, in parts, which is more than that any two agree. ``of_model``: one
    histogram explains all tables, or boxes; those along a line rise.
    """

    nonnegative: bool = True
    integers: bool = False
    totals: Mapping[str, Amount] = field(default_factory=lambda: MappingProxyType({}))
    by_loss: bool = True
    of_records: bool = False
    of_model: bool = False

    def __post_init__(self) -> None:
        require(self.nonnegative, bool, "nonnegative", "say True or False")
        require(self.integers, bool, "integers", "say True or False")
        require(self.totals, Mapping, "totals", 'give known answers by their names, such as {"everybody": 1000}')


def named_estimate(asked: AskedEstimate) -> EstimateName | None:
    """The estimate of this name; None where none is to be shown."""
    return None if isinstance(asked, str) and asked == "none" else asked


def as_wish(asked: EstimateName | EstimateWish, totals: Mapping[str, Amount] | None = None) -> EstimateWish:
    """What these words mean. Raises: WrongArgument for others."""
    if isinstance(asked, EstimateWish):
        return asked
    if not isinstance(asked, str) or asked not in get_args(EstimateName):
        words = ", ".join(map(repr, get_args(EstimateName)))
        raise WrongArgument(f"'estimate' is one of {words}, or left out; found {asked!r}")
    known = MappingProxyType({}) if totals is None else totals
    own = {"of_records": asked == "records", "of_model": asked == "model"}
    return EstimateWish(asked != "consistent", asked == "integers", known, **own)


def require_no_model(wish: EstimateWish) -> None:
    """Raises: UnsupportedCombination for an estimate that there is of whole tables and boxes only."""
    if wish.of_model:
        raise UnsupportedCombination(
            "a model is fitted to whole tables, and to boxes along a line: ask for 'auto', or for whole tables"
        )


def require_no_records(wish: EstimateWish) -> None:
    """Raises: UnsupportedCombination for an estimate that there is of whole tables only."""
    if wish.of_records:
        raise UnsupportedCombination(
            "only whole tables are moved to the nearest of some records: ask for 'auto', or for whole tables"
        )


def require_whole_records(wish: EstimateWish, people: People | None) -> None:
    """Raises: UnsupportedCombination for integers where people are spread over their rows."""
    if wish.integers and people is not None and people.in_shares:
        raise UnsupportedCombination(
            "where people are spread over their rows, answers add up fractions, which are no whole numbers: leave "
            "integers out"
        )


def refusal_of(error: Exception) -> DxgeomError:
    """Why there is no estimate, one of :data:`FAILURES`, for who has paid for the answers."""
    if isinstance(error, DxgeomError):
        return error
    return TooLarge(f"the estimate was not found ({type(error).__name__}); the answers are as they were released")


def known_number(name: str, value: Amount) -> Any:
    """A known total, exactly. Raises: UnsupportedCombination."""
    try:
        return exact(str(value).strip())
    except NotANumber as error:
        raise UnsupportedCombination(
            f"a known total is a number, found {value!r} for '{name}': write {{{name!r}: 3}}"
        ) from error


def given_away(totals: str, *, listed: bool = False) -> str:
    """What the promise no longer says where totals are public that it hides: answers without noise hide nothing.

    ``listed``: whether the policy says that everybody may know them.
    """
    missing = "" if listed else "; the policy does not list it under 'known:', and so does not say what that may tell"
    return (
        f"whoever knows {totals} exactly can rule out every table with other totals: the policy's promise is about "
        f"what releases tell, and does not hold between two records whose exchange would change a public total{missing}"
    )


class Estimate(Displayed, ABC):
    """Answers made from a release without reading data again: the nearest in which is what is known.

    ``done``: what was changed, and what is promised of it, in plain sentences. The released answers stay as they are,
    and so do their bars: those shown beside an estimate are the released ones, less what cannot be, and not about it.
    """

    plan_fingerprint: str
    done: tuple[str, ...]

    @property
    @abstractmethod
    def by_name(self) -> Mapping[str, Any]:
        """Each answer, or each table as an array, by its name."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each answer, or each table, is called."""
        return tuple(self.by_name)

    @abstractmethod
    def pairs(self, labels: PolicyLabels | None = None) -> list[tuple[str, float, float]]:
        """Some answers, by what readers see them called: the released and the estimated one."""

    @abstractmethod
    def squared_errors(self, exact: Any) -> NDArray[np.float64]:
        """(names, 2): squared errors of what was released and of the estimate, of a table summed over its cells, where
        ``exact`` are the answers without noise. **Not private.**"""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """The estimate ready for JSON, without bars."""

    @abstractmethod
    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The same with the bars of the release, less what cannot be; and where the estimate lies outside the released
        ones."""

    @abstractmethod
    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        """The released answers as they go into a file, with three columns more: the estimate, and the ends of the bar
        of the release less what cannot be."""

    def to_json(self) -> str:
        """The estimate as JSON text."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)
