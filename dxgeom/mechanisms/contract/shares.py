"""How several mechanisms share one spend."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.mechanism import Mechanism

_FINEST_SHARE = 10**6


def least_error_shares(errors: Sequence[float]) -> tuple[Fraction, ...]:
    """The shares of a spend at which Σ errors[k]/shares[k]² is least: in proportion to the cube roots.

    Args: ``errors``: the mean squared error of each part at spend 1, times what it counts; as that of all additive
    noise, it must fall with the square of the spend.
    Guarantee: exact fractions that sum to 1; optimal up to one in a million.
    Raises: UnsupportedCombination unless all are finite and positive.
    """
    roots = np.cbrt(np.array(errors, dtype=np.float64))
    if roots.ndim != 1 or not roots.size or not np.all(np.isfinite(roots) & (roots > 0)):
        raise UnsupportedCombination("the errors that a spend is shared by are finite and positive")
    parts = [max(1, round(_FINEST_SHARE * root)) for root in (roots / roots.sum()).tolist()]
    total = sum(parts)
    return tuple(Fraction(part, total) for part in parts)


def default_shares(parts: Sequence[Mechanism[Any, Any]]) -> tuple[Fraction, ...]:
    """Equal ones where all parts serve any spend, else those that the parts' own spends imply.

    Raises: UnsupportedCombination when only some were made for one spend.
    """
    made_for = [part.only_spend for part in parts]
    if all(spend is None for spend in made_for):
        return tuple(Fraction(1, len(parts)) for _ in parts)
    spends = [spend for spend in made_for if spend is not None]
    if len(spends) < len(parts):
        raise UnsupportedCombination("some parts were made for one spend and others serve any: say the shares")
    return tuple(spend / sum(spends) for spend in spends)
