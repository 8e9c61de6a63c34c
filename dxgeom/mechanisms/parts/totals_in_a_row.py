"""Kernel: triangular matrices for running totals where changes in several values in a row are promised a number of
their own; by SciPy's L-BFGS.

A record of value t is hidden as a vector v_t, and G holds the products of any two. Counts of intervals have a total
error of tr(K·G⁻¹). What a policy promises are bounds on G: its diagonal for records, G_tt + G_uu − 2·G_tu for steps,
and Σ|G_tu| over the values in a row, which no change within them exceeds. All of these are convex in G. So the product
of the error and of the largest of these, each over what is promised, is made small by L-BFGS, with smooth maxima and
absolute values that become sharper. It decides nothing about the proof, which is of the matrix that is drawn with.
See decision 109.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.parts.joint_totals import JointStrategy, gram_of_ranges, hiding_along
from dxgeom.mechanisms.parts.toeplitz_strategies import LineBounds, ToeplitzStrategy, best_damped
from dxgeom.mechanisms.parts.values_in_a_row import toeplitz_columns
from dxgeom.noise.toeplitz import ONE
from dxgeom.numeric.work import require_affordable

Floats = NDArray[np.float64]
Ends = NDArray[np.int64]

_WORK: Final = 2.0**38
_OF_A_LOOK: Final = 12
"""Multiplications for the cube of how many values there are."""
_SHARPNESS: Final = ((30.0, 60), (200.0, 80), (1000.0, 100), (8000.0, 160))
"""Of the smooth maximum, and the most steps with it."""
_LOOKS: Final = 440
_SMOOTH: Final = 1e-3
"""Absolute values are smooth within this, over the sharpness, of the largest."""
_RIDGE: Final = 1e-7
"""What every total costs besides, of the mean, where some total is asked by nobody."""


class _Squares(NamedTuple):
    """What is promised: of G's diagonal by a record's distance, of steps (n − 1,) by theirs; and windows (W, n), how
    many codes each value has in each, over their numbers."""

    presence: float
    apart: Floats | None
    windows: Floats


@final
@dataclass(frozen=True, eq=False)
class _Search:
    """Of G = Uᵀ·U, U = X·``start``, X lower triangular. ``costs`` (n, n): K."""

    costs: Floats
    start: Floats
    promised: _Squares

    def at(self, entries: Floats, sharpness: float) -> tuple[float, Floats]:
        """The logarithm of the error times the smooth maximum, and its gradient by the entries of X."""
        size = len(self.start)
        below = np.tril_indices(size)
        turned = np.zeros((size, size))
        turned[below] = entries
        root = turned @ self.start
        gram = root.T @ root
        try:
            inverse = np.linalg.inv(root)
        except np.linalg.LinAlgError:
            return math.inf, np.zeros_like(entries)
        moved = inverse @ (inverse.T @ self.costs)
        error = float(np.trace(moved))
        largest, by_gram = self._promised(gram, sharpness)
        by_gram -= moved @ inverse @ inverse.T / error
        return math.log(error) + largest, ((2 * root @ by_gram) @ self.start.T)[below]

    def _promised(self, gram: Floats, sharpness: float) -> tuple[float, Floats]:
        """The logarithm of the largest, smoothly, and its gradient by G."""
        size, told = len(gram), self.promised
        smooth = np.sqrt(gram**2 + (_SMOOTH / sharpness * float(np.diag(gram).max())) ** 2)
        own, within = np.diag(gram), told.windows @ smooth
        parts = [own / told.presence**2, np.einsum("wt,wt->w", within, told.windows)]
        if told.apart is not None:
            parts.append((own[1:] + own[:-1] - 2 * np.diag(gram, 1)) / told.apart**2)
        every = np.concatenate(parts)
        powers = sharpness * np.log(every)
        most = float(powers.max())
        shares = np.exp(powers - most)
        whole = float(shares.sum())
        shares /= whole * every
        found = (told.windows.T * shares[size : size + len(within)]) @ told.windows * (gram / smooth)
        places = np.arange(size)
        found[places, places] += shares[:size] / told.presence**2
        if told.apart is not None:
            steps, before = shares[size + len(within) :] / told.apart**2, places[:-1]
            for one, other, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
                found[before + one, before + other] += sign * steps
        return (most + math.log(whole)) / sharpness, found


def totals_in_a_row(lower: Ends, upper: Ends, costs: Floats, bounds: LineBounds) -> tuple[JointStrategy, float]:
    """Nearly the best matrix for counts from ``lower`` (K,) to below ``upper`` (K,) with these ``costs`` of squared
    errors, under what ``bounds`` promise of records, steps and several values in a row; and its scale, which hides it.

    Raises: TooLarge where that takes too much work, or changes of any two values are nearer than through absence;
    CertificateRefused.
    """
    size = max(bounds.classes) + 1
    require_affordable(f"noise for several of {size:,} values in a row", _LOOKS * _OF_A_LOOK * float(size) ** 3, _WORK)
    near = bounds.presence is not None and bounds.apart is not None and bounds.apart < 2 * bounds.presence
    if bounds.presence is None or (near and not bounds.line):
        raise TooLarge("noise for several values in a row is for records that come and go, and steps along a line")
    apart = np.minimum(bounds.steps(size - 1), 2 * float(bounds.presence)) if near else None
    theta, alpha = best_damped(size, bounds, lower, upper, costs)
    first = ToeplitzStrategy(size, theta=theta, alpha=alpha)
    start = toeplitz_columns(first.series, ONE, np.ones(size))
    added, gram = np.tri(size), gram_of_ranges(size, lower, upper, costs)
    gram += np.eye(size) * (_RIDGE * float(np.trace(gram)) / size)
    promised = _Squares(float(bounds.presence), apart, _windows(bounds, size))
    search = _Search(added.T @ gram @ added, start, promised)
    entries = np.eye(size)[np.tril_indices(size)]
    for sharpness, steps in _SHARPNESS:
        options = {"maxiter": steps, "maxfun": steps + 20, "maxcor": 20}
        entries = minimize(search.at, entries, (sharpness,), "L-BFGS-B", jac=True, options=options).x
    turned = np.zeros((size, size))
    turned[np.tril_indices(size)] = entries
    root = turned @ start
    root *= np.sign(np.diag(root))[:, None]
    try:
        return hiding_along(added @ np.linalg.inv(root), bounds)
    except np.linalg.LinAlgError as error:
        raise CertificateRefused("noise for several values in a row has no root") from error


def _windows(bounds: LineBounds, size: int) -> Floats:
    """(W, n): of every window of every span how many codes each value has, over its number."""
    codes, found = np.asarray(bounds.classes), []
    for width, epsilon in bounds.spans:
        for start in range(max(1, len(codes) - width + 1)):
            found.append(np.bincount(codes[start : start + width], minlength=size) / float(epsilon))
    return np.unique(np.array(found), axis=0)
