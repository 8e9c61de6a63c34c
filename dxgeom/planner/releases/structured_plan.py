"""What plans for very many counts share, whether these are whole tables or boxes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, spend_for
from dxgeom.planner.candidates import CandidateResult
from dxgeom.planner.overview import MOST_SHOWN, PlanOverview, TableErrors
from dxgeom.planner.releases.releasable import KnownErrors, Releasable
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.wording.numbers import brief, counted

Shown = TypeVar("Shown")
_WORST = {"mse": "total MSE", "max": "worst MSE"}


class StructuredPlan(Releasable[Shown]):
    """How very many counts are answered with noise in parts that they share; a subclass is a dataclass of these fields.

    ``losses``: the objective at spend 1 of each kind of noise that was tried, by name, rounding left out.
    ``lower_bound``: no additive noise that stretches to every spend has less; 0 where none is known.
    """

    why = "of the noise that was tried, which losses lists, the least; or as it was named, or its file says"
    asked: ClassVar[str]
    """What has an error each, in words: tables, boxes."""
    one: ClassVar[str]
    """One of them."""
    counted: ClassVar[str]
    """Each of what is in it."""
    digest_title: ClassVar[str]

    losses: Mapping[str, float]
    others: tuple[CandidateResult, ...] = ()
    """What became of other noise, where such was looked at before."""

    @property
    @abstractmethod
    def _errors(self) -> tuple[Fraction | None, ...]:
        """The root mean squared errors that were asked for."""

    @property
    def loss(self) -> float:
        """The objective at spend 1: the total mean squared error, each times its importance, or the worst."""
        return self.losses[self.mechanism.name]

    @property
    def records(self) -> int | None:
        """Their public number, where it was stated."""
        records: int | None = self.queries.records
        return records

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...] | None:
        """Of tables; None of what has one cell each."""
        return None

    def cells(self, place: int) -> str:
        """How many cells the one at a place has, in words."""
        return "1" if self.shapes is None else " × ".join(map(str, self.shapes[place])) or "1"

    @property
    def candidates(self) -> tuple[CandidateResult, ...]:
        said = "built, and only its loss was found"
        own = (CandidateResult(name, None, reason=said, loss=loss) for name, loss in self.losses.items())
        return (*own, *self.others)

    @property
    def noise(self) -> Literal["gaussian", "pure"]:
        return "gaussian" if self.mechanism.normal else "pure"

    @property
    def rounding_biases(self) -> NDArray[np.float64]:
        """None: counts add up no numbers."""
        return self.biases

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        return self._blank_answers(spend)

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[str, ...]:
        widths = self.half_widths(level, spend)
        worst = int(widths.argmax())
        return (
            f"each {self.counted} of {len(widths):,} {self.asked} by {self.mechanism.name} is off by at most "
            f"{widths[worst]:.4g} ('{self.queries.name(worst)}', the widest) with probability {level:g}",
        )

    @property
    def wants_errors(self) -> bool:
        return any(self._errors)

    @property
    def least_spend(self) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every count has the error that was asked for.

        Raises: UnsupportedCombination when none was, or rounding to the lattice alone is more.
        """
        if not self.wants_errors:
            raise UnsupportedCombination(
                f"the least spend is for {self.asked} that were asked for with certain 'errors'"
            )
        wanted = np.array([math.inf if one is None else float(one) for one in self._errors])
        return spend_for(self.mechanism.variances, wanted, self.mechanism.rounding_part)

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest(f"plan of {self.digest_title}", self.mechanism.fingerprint)

    @abstractmethod
    def _counted(self) -> dict[str, Any]:
        """How many of what are asked, and how they are measured, ready for JSON."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "objective": self.objective,
            **self._counted(),
            **people_in_words(self.metric.people),
            "losses": dict(self.losses),
            "lower_bound": self.lower_bound,
            "fingerprint": self.fingerprint,
        }

    @property
    def question_in_words(self) -> str:
        return counted(self.queries.count, self.one, self.asked)

    def each_table(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[TableErrors]:
        each = zip(self.queries.names, self.half_widths(level, spend).tolist(), strict=True)
        return tuple(TableErrors(name, self.cells(place), width) for place, (name, width) in enumerate(each))

    def overview(self, spend: Amount | None = None, level: float = 0.95) -> PlanOverview:
        """The noise that was chosen, and what is known of each table's, or box's, error."""
        amount, least = self._shown_spend(spend), self.least_spend if self.wants_errors else None
        errors, widths, shapes = self.rmse(amount), self.half_widths(level, amount), self.shapes
        names = self.queries.names
        each = [
            {self.one: name, **({} if shapes is None else {"shape": [*shapes[k]]}), "rmse": error, "half_width": width}
            for k, (name, error, width) in enumerate(zip(names, errors.tolist(), widths.tolist(), strict=True))
        ]
        expected = {"spend": str(amount), "level": level, self.asked: each}
        told = {"gap": self.gap, "least_spend": None if least is None else str(least), "expected": expected}
        title = f"each {self.counted}, at spend {plain(amount)}"
        rest = "" if len(errors) <= MOST_SHOWN else f"; the {MOST_SHOWN} {self.asked} with the largest errors"
        rows = [
            (
                self.queries.name(place),
                *([] if shapes is None else [self.cells(place)]),
                brief(float(errors[place])),
                brief(float(widths[place])),
            )
            for place in np.argsort(-errors, kind="stable")[:MOST_SHOWN].tolist()
        ]
        head, *more = self.lines()
        return PlanOverview(
            {**self.as_dict(), **told},
            [f"{self.metric.title}: {head}", *more, "", f"{title}{rest}"],
            (self.one, *([] if shapes is None else ["cells"]), "rmse", f"± at {level * 100:g} %"),
            rows,
            [] if least is None else ["", f"spend   {plain(least)} is the least for the errors asked for"],
            apart=True,
        )

    def _compared(self, head: str, measured: list[str]) -> list[str]:
        """The plan for a reader, below a ``head``."""
        compared = self.candidates
        title, width = _WORST[self.objective], max(len(one.name) for one in compared)
        known = ((one.name, one.reason if one.loss is None else f"{title} {one.loss:.6g}") for one in compared)
        rows = [f"  {name:<{width}} {what}" for name, what in known]
        rows += [] if self.metric.people is None else [f"  {self.metric.people.sentence}"]
        return [head, *rows, *measured, *([self.bound_in_words] if self.lower_bound > 0 else [])]

    @property
    def bound_in_words(self) -> str:
        if not self.lower_bound > 0:
            return super().bound_in_words
        return (
            f"no additive noise that stretches to every spend has a {_WORST[self.objective]} below "
            f"{self.lower_bound:.6g}: this plan is within a factor {self.gap:.3g} of it"
        )
