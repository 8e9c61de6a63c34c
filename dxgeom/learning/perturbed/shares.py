"""How a spend is shared between noise on the gradient and the ridge: chosen before any data are looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dxgeom.learning.perturbed.features import Features
from dxgeom.noise.law import NoiseLaw

SHARES: Final = tuple(Fraction(k, 40) for k in range(20, 40))
"""What q is chosen from: a half to 39/40."""
_USUAL_COEFFICIENT: Final = 0.5
_USUAL_BEND: Final = 0.5


def usual_curvature(features: Features, records: int, curvature: Fraction) -> NDArray[np.float64]:
    """(m,): how much so many records may bend a loss in each coordinate, for plans: no guarantee rests on it."""
    usual = np.concatenate([np.full(group.size, group.usual_square) for group in features.groups])
    return np.asarray(records * _USUAL_BEND * float(curvature) * usual)


def best_share(
    features: Features,
    records: int,
    spend: Fraction,
    curvature: Fraction,
    law_of: Callable[[Fraction], NoiseLaw],
    strength_of: Callable[[Fraction], float],
) -> Fraction:
    """q, for the least expected loss by a rough count from public figures alone; whatever it is, the guarantee holds.

    Near the minimiser the loss of a coordinate off by x is η·x²/2, with η = records·(half the curvature)·(the usual
    square of a feature); noise V moves it by V/(η + γ) and the ridge pulls a coefficient of about 1 by γ/(η + γ).
    Args: ``records``: how many there are, which is public here.
    """
    curved = usual_curvature(features, records, curvature)

    def loss(share: Fraction) -> float:
        strength = strength_of(share)
        noise = np.diag(law_of(share).second_moment) / float(spend) ** 2
        pulled = (strength * _USUAL_COEFFICIENT) ** 2
        lost = float(np.sum(curved * (noise + pulled) / (curved + strength) ** 2))
        return lost if math.isfinite(lost) else math.inf

    return min(SHARES, key=loss)
