"""What plans for very many counts share, whether these are whole tables or boxes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Displayed
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.marginals.counts_with_noise import LatticeNoise
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.canonical_digest import canonical_digest
from dxgeom.planner.amounts import Amount, exact_amount, spend_for
from dxgeom.planner.releases.releasable import Releasable
from dxgeom.universe.people.people import people_in_words

Shown = TypeVar("Shown")
_WORST = {"mse": "total MSE", "max": "worst MSE"}


class StructuredPlan(Releasable[Shown], Displayed):
    """How very many counts are answered with noise in parts that they share; a subclass is a dataclass of these fields.

    ``losses``: the objective at spend 1 of each kind of noise that was tried, by name, rounding left out.
    ``lower_bound``: no additive noise that stretches to every spend has less; 0 where none is known.
    """

    asked: ClassVar[str]
    """What has an error each, in words: tables, boxes."""
    digest_title: ClassVar[str]

    metric: VerifiedMetric
    mechanism: LatticeNoise[Any]
    losses: Mapping[str, float]
    objective: Literal["mse", "max"]
    lower_bound: float

    @property
    @abstractmethod
    def _errors(self) -> tuple[Fraction | None, ...]:
        """The root mean squared errors that were asked for."""

    @property
    def loss(self) -> float:
        """The objective at spend 1: the total mean squared error, each times its importance, or the worst."""
        return self.losses[self.mechanism.name]

    @property
    def gap(self) -> float:
        """The loss over the lower bound."""
        return 1.0 if self.loss == 0 else self.loss / self.lower_bound if self.lower_bound > 0 else math.inf

    @property
    def noise(self) -> Literal["gaussian", "pure"]:
        """What is known of the noise beside the promise, for curves of what many releases tell."""
        return "gaussian" if self.mechanism.normal else "pure"

    def rmse(self, spend: Amount = 1) -> NDArray[np.float64]:
        """Root mean squared error (boxes,) of each, or (tables,) of the least exact cell of each, rounding included."""
        return np.asarray(np.sqrt(self.mechanism.mean_squares(exact_amount(spend, "spend"))))

    @property
    def least_spend(self) -> Fraction:
        """The smallest spend, rounded up to six digits, at which every count has the error that was asked for.

        Raises: UnsupportedCombination when none was, or rounding to the lattice alone is more.
        """
        if not any(self._errors):
            raise UnsupportedCombination(
                f"the least spend is for {self.asked} that were asked for with certain 'errors'"
            )
        wanted = np.array([math.inf if one is None else float(one) for one in self._errors])
        return spend_for(self.mechanism.variances, wanted, self.mechanism.rounding_part)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on."""
        return canonical_digest(f"plan of {self.digest_title}", self.mechanism.fingerprint)

    @abstractmethod
    def _counted(self) -> dict[str, Any]:
        """How many of what are asked, and how they are measured, ready for JSON."""

    def as_dict(self) -> dict[str, Any]:
        """The plan ready for JSON."""
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "objective": self.objective,
            **self._counted(),
            **people_in_words(self.metric.people),
            "losses": dict(self.losses),
            "lower_bound": self.lower_bound,
            "fingerprint": self.fingerprint,
        }

    def _compared(self, head: str, measured: list[str]) -> list[str]:
        """The plan for a reader, below a ``head``."""
        title, width = _WORST[self.objective], max(map(len, self.losses))
        rows = [f"  {name:<{width}} {title} {loss:.6g}" for name, loss in self.losses.items()]
        rows += [] if self.metric.people is None else [f"  {self.metric.people.sentence}"]
        if not self.lower_bound > 0:
            return [head, *rows, *measured]
        foot = f"no additive noise that stretches to every spend has a {title} below {self.lower_bound:.6g}: this plan "
        return [head, *rows, *measured, f"{foot}is within a factor {self.gap:.3g} of it"]
