"""Noise that makes the worst of all boxes' errors small: as the total does, where bad errors count for more."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.mechanisms.linear.boxes.question import BoxQuestion
from dxgeom.mechanisms.linear.boxes.scales import best_scales, block_variances

_STEPS: Final = 60
_CLOSE: Final = 1 + 1e-3


@final
@dataclass(frozen=True, eq=False)
class WorstScales:
    """``scales`` (blocks,) as :func:`best_scales` has them; ``worst``: the largest error, times its cost; ``pressed``
    (K,), which sum to 1: the worst error is no less than the total of errors, each times its cost and this."""

    scales: NDArray[np.float64]
    worst: float
    pressed: NDArray[np.float64]


def worst_scales(question: BoxQuestion) -> WorstScales:
    """Scales that are best for a total in which boxes count as much as makes their errors alike.

    Definition: max_λ min_σ Σ λ_q·c_q·Var_q(σ) over Σ λ = 1, concave in λ with the errors as its gradient, by
    multiplying λ with the errors; the σ with the smallest worst error is taken, and the λ with the largest total.
    Guarantee: the scales are proved to be enough; how near the worst is to the best, the bound at ``pressed`` says.
    Raises: CertificateRefused, TooLarge.
    """
    boxes, costs = question.queries.count, question.costs
    shares = np.full(boxes, 1 / boxes)
    best = WorstScales(np.zeros(0), np.inf, shares)
    highest = 0.0
    for _ in range(_STEPS):
        scales = best_scales(replace(question, pressed=shares))
        errors = question.variances(block_variances(question, scales)) * costs
        worst, total = float(errors.max()), float(shares @ errors)
        highest, pressed = max((highest, best.pressed), (total, shares), key=lambda one: one[0])
        if worst < best.worst:
            best = WorstScales(scales, worst, pressed)
        best = replace(best, pressed=pressed)
        if worst <= total * _CLOSE or total == 0:
            break
        shares = shares * (errors / total)
        shares = shares / shares.sum()
    return best
