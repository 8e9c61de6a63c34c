"""Which privacy measure answers a workload better: Gaussian noise beside noise for pure privacy, honestly compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, final

from dxgeom.planner.candidates import NORMAL_KINDS, CandidateResult, Kind, names

DELTA: Final = 1e-6
_PURE: Final = (Kind.SHAPE, Kind.PURE, Kind.TABLES, Kind.BOXES, Kind.USER_BODY, Kind.ORDINARY)
EPSILONS: Final = (0.1, 0.5, 1.0, 2.0, 4.0)


@final
@dataclass(frozen=True)
class MeasureComparison:
    """The objective at spend 1 of Gaussian noise and of the best noise for pure privacy, ``pure`` by its name.

    At equal distances, in a concentrated account, both cost the same and Gaussian noise has ``loss`` against
    ``pure_loss``. Whoever has one release to make could also count in (ε, δ): noise for ε-pure privacy has δ = 0, and
    Gaussian noise as good as (ε, δ) is wider than at equal distance by κ = ε/μ, μ the distance at which its δ(ε) is δ.
    """

    loss: float
    pure: str
    pure_loss: float

    @property
    def ratio(self) -> float:
        """How many times the error of Gaussian noise the best noise for pure privacy has, at equal distances."""
        return self.pure_loss / self.loss

    @cached_property
    def at_equal_epsilon(self) -> dict[float, float]:
        """The same for one release at (ε, 10⁻⁶), by ε: below 1 noise for pure privacy is the better one."""
        from dxgeom.privacy.curves import gaussian_distance

        return {epsilon: self.ratio * (gaussian_distance(epsilon, DELTA) / epsilon) ** 2 for epsilon in EPSILONS}

    def lines(self) -> list[str]:
        """The comparison for a reader."""
        wins = self.at_equal_epsilon
        told = ", ".join(f"{ratio:.3g} at ε = {epsilon:g}" for epsilon, ratio in wins.items())
        if max(wins.values()) < 1:
            verdict = f"for one release {self.pure} wins, Gaussian noise for many"
        else:
            verdict = "Gaussian noise wins even for one release" if min(wins.values()) >= 1 else "it depends on ε"
        return [
            f"at equal distances {self.pure}, for pure privacy, has {self.ratio:.3g} times the error of Gaussian noise",
            f"as one release of (ε, {DELTA:g}) it has {told} times: {verdict}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The comparison ready for JSON."""
        return {
            "pure": self.pure,
            "ratio": self.ratio,
            "delta": DELTA,
            "at_equal_epsilon": {f"{epsilon:g}": ratio for epsilon, ratio in self.at_equal_epsilon.items()},
        }


def compared_privacy_measures(candidates: Sequence[CandidateResult]) -> MeasureComparison | None:
    """The comparison, None unless Gaussian noise and some noise for pure privacy was built, and needed."""
    built = {one.name: one.loss for one in candidates if one.loss}
    gaussian = [built[name] for name in names(*NORMAL_KINDS) if name in built]
    pure = [name for name in names(*_PURE) if name in built]
    if not gaussian or not pure:
        return None
    best = min(pure, key=lambda name: built[name])
    return MeasureComparison(min(gaussian), best, built[best])
