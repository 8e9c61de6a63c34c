"""One charge, and inside it an exact vector: what is left to change each attribute, and to come or go.

Every limit has a budget of its own, for a policy may protect one attribute less than another. A step that no
change of an attribute can move costs that attribute nothing.

One charge. Step t, chosen by earlier outputs, costs a pair (i, j) at most e_t(i, j). Where Σ e_t ≤ s·d(i, j) for every
generating pair and every transcript, the odds of whole transcripts change by e^(s·d) at most, since ratios multiply.
Under concentrated privacy let Σ e_t² ≤ (s·d)². Fix α > 1: backwards from the last step, of which a public number is the
most, E[(P/Q)^α | history] ≤ exp(α(α−1)·((s·d)² − Σ_{τ≤t} e_τ²)/2). At the beginning that is D_α ≤ α·(s·d)²/2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias, final

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds
from dxgeom.privacy.measures import PrivacyMeasure

Limit: TypeAlias = int | None
"""The place of an attribute that changes; None of a record that comes or goes."""
Costs: TypeAlias = Mapping[Limit, Fraction]
"""Of each limit what a step takes of it: distances of pure privacy, squares of them under concentrated privacy."""


def moved_counts(limit: Limit) -> int:
    """How many counts of a table move by one: a record that changes leaves a cell and enters another."""
    return 1 if limit is None else 2


def limits_of(bounds: DistanceBounds) -> dict[Limit, Fraction]:
    """The distance of each limit that there is; an attribute without one is not protected, or by presence alone."""
    each: dict[Limit, Fraction] = {place: one for place, one in enumerate(bounds.least) if one is not None}
    return each if bounds.presence is None else {**each, None: bounds.presence}


def limits_met(limits: Iterable[Limit], axes: Iterable[int]) -> tuple[Limit, ...]:
    """Those that a table over these attributes is charged to."""
    own = set(axes)
    return tuple(one for one in limits if one is None or one in own)


def measuring_cost(limit: Limit, spread: Fraction, measure: PrivacyMeasure) -> Fraction:
    """Of noise of this ``spread`` in every cell of a table: normal, of this deviation, under concentrated privacy; else
    Laplace, of this scale. *Exact*.

    Definition: ‖Δ‖²/σ² with ‖Δ‖² the number of counts that move; ‖Δ‖₁/b.
    """
    return moved_counts(limit) / (spread**2 if measure.squares else spread)


def selecting_cost(limit: Limit, rate: Fraction, measure: PrivacyMeasure) -> Fraction:
    """Of a selection by scores each of which, times its rate, moves by at most ``rate`` for each count that moves.

    Definition: log-odds lie in an interval of length R = 2·rate·(counts that move). Permute-and-flip costs R; the
    exponential law under concentrated privacy R/2, and so (R/2)² of the squares.
    """
    half = rate * moved_counts(limit)
    return half**2 if measure.squares else 2 * half


@final
class VectorAccount:
    """What is left of each limit, in exact fractions."""

    def __init__(self, whole: Costs) -> None:
        self._whole, self._left = MappingProxyType(dict(whole)), dict(whole)

    def left(self, limit: Limit) -> Fraction:
        """What may still be taken of it."""
        return self._left[limit]

    def pay(self, costs: Costs) -> None:
        """Take what a step costs, before anything of it is drawn.

        Raises: CertificateRefused, and then nothing is taken, where more would be taken than is left of any limit.
        """
        rest = {limit: self._left[limit] - cost for limit, cost in costs.items()}
        if min(costs.values(), default=Fraction(0)) < 0 or min(rest.values(), default=Fraction(0)) < 0:
            raise CertificateRefused("a step would cost more than is left of the budget of this release")
        self._left |= rest

    @property
    def spent_part(self) -> Fraction:
        """The largest part of any limit that is taken."""
        return max((1 - self._left[limit] / whole for limit, whole in self._whole.items()), default=Fraction(0))
