"""What each candidate costs: multiplications, from public sizes alone, known before anything of it is built.

Searches stop by themselves when they have spent their own work; stated is what they take at the least, which grows with
the workload. One allowance decides for all of them: :data:`dxgeom.numeric.work.ALLOWED`, or ``dx.Search(work=…)``. What
was built tells its size in words that do not depend on the machine, and the seconds that it took.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias, final

import numpy as np

from dxgeom.geometry.hulls import LARGEST_DIMENSION
from dxgeom.mechanisms.gaussian.mechanism import covariance_work, elimination_work
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.shapes.hulls import LARGEST_HULL_DIMENSION
from dxgeom.mechanisms.shapes.strategy_program import fewest_steps_work
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.noise.triangular import LAID_OUT


@final
@dataclass(frozen=True)
class Sizes:
    """``answers``: that need noise; ``differences``: that noise has to hide, 0 where these are kept in factors;
    ``dimensions``: that the differences have at most."""

    answers: int
    differences: int
    dimensions: int

    @classmethod
    def of(cls, sensitivity: Sensitivity) -> Sizes:
        """Those of a workload."""
        answers, changes = int(np.sum(sensitivity.of_each_query > 0)), sensitivity.changes
        if isinstance(changes, PairedChanges):
            return cls(answers, changes.count, min(answers, len(changes.kinds.columns) - 1))
        count = changes.count if isinstance(changes, ListedChanges) else 0
        return cls(answers, count, min(answers, count) if count else answers)


Work: TypeAlias = Callable[[Sizes], float]
_LOOKS: Final = 40
"""So often a programme for scales looks at all differences, about."""
_LOOKS_OF_A_COVARIANCE: Final = 4
"""Sixteen, each in products of matrices, which count a quarter."""


def _look(sizes: Sizes) -> float:
    return float(sizes.differences) * sizes.answers


def _scales(sizes: Sizes) -> float:
    return _LOOKS * _look(sizes)


def _shape(sizes: Sizes) -> float:
    """The fewest steps, and all differences turned for the proof."""
    turned = (2.0 * sizes.differences + sizes.dimensions) * sizes.dimensions**2
    return fewest_steps_work(sizes.dimensions, sizes.dimensions) + turned


def _sums(sizes: Sizes) -> float:
    """The basis that it begins from, and the fewest steps for about twice as many sums as dimensions."""
    return _shape(sizes) + fewest_steps_work(2 * sizes.dimensions, sizes.dimensions)


def _polytope(most: int) -> Work:
    """Where there are so few dimensions; elsewhere it is refused at once."""
    return lambda sizes: _shape(sizes) if sizes.dimensions <= most else 0.0


def _normal(sizes: Sizes) -> float:
    """The search, which answers need noise of their own, and what each of its looks at all differences takes."""
    looked = _LOOKS_OF_A_COVARIANCE * float(sizes.differences) * sizes.dimensions**2
    return covariance_work(sizes.dimensions) + elimination_work(sizes.answers, sizes.dimensions) + looked


def _parts(sizes: Sizes) -> float:
    """Noise in parts is found from the sizes of attributes, by programs that hold what they lay out against bytes."""
    return float(sizes.answers)


def _totals(sizes: Sizes) -> float:
    """Three Fourier transforms for the error of each answer, where columns have lengths of their own; and where a
    triangular matrix is laid out, two proofs of it."""
    laid_out = 2.0 * sizes.dimensions**3 if sizes.dimensions <= LAID_OUT else 0.0
    return laid_out + 24.0 * sizes.answers * sizes.dimensions * math.log2(2.0 * sizes.dimensions + 2)


WORK_OF: Final[Mapping[str, Work]] = MappingProxyType(
    {
        **dict.fromkeys(("laplace", "changed-queries"), _scales),
        **dict.fromkeys(("box", "ellipsoid", "rotated-laplace", "block-hulls"), _shape),
        **dict.fromkeys(("hull", "hull-by-rejection"), _polytope(LARGEST_HULL_DIMENSION)),
        "coarse-hull": _polytope(LARGEST_DIMENSION),
        "strategy": _sums,
        **dict.fromkeys(("gaussian", "gaussian-with-jumps"), _normal),
        **dict.fromkeys(("marginal-laplace", "marginal-gaussian", "kronecker-gaussian"), _parts),
        **dict.fromkeys(("boxes-laplace", "boxes-gaussian", "product-laplace", "product-gaussian"), _parts),
        "toeplitz-gaussian": _totals,
        **dict.fromkeys(("body", "epsilon-dp"), _look),
        **dict.fromkeys(("laplace-equal-shares", "laplace-one-scale", "laplace-proportional-shares"), _look),
    }
)
"""By name, in multiplications."""


def timed(build: Callable[[], AdditiveMechanism]) -> tuple[AdditiveMechanism, float]:
    """The mechanism and the seconds that building it took; what several candidates share is paid by the first."""
    started = time.perf_counter()
    built = build()
    return built, time.perf_counter() - started


def build_cost(mechanism: AdditiveMechanism) -> str:
    """The size of what is built, which decides how long that takes."""
    changes = mechanism.sensitivity.changes
    found = "differences in factors"
    if isinstance(changes, ListedChanges | PairedChanges):
        found = f"{changes.count:,} differences"
    return "no noise" if mechanism.law is None else mechanism.law.size_in_words(found)
