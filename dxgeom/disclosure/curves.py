"""What a ledger's releases under one policy tell together, as a curve over that policy's distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, final, get_args

from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.entry import Entry
from dxgeom.numeric.rounding import round_up
from dxgeom.privacy.composition import Composition
from dxgeom.privacy.measures import CONCENTRATED, Privacy

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
