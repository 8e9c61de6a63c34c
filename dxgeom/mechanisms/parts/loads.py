"""The proof that noise in parts honours a metric: every limit summed in integers, each summand rounded up; and noise in
every part that a record can move.

A part with noise of rate r, 1/b or for normal noise 1/σ², and a level of each attribute hides a change of attribute a
as r·changed_a·Π_{b≠a} alone_b, and a record that comes or goes as r·Π_b alone_b. Over all parts they add up to the
distance at most, for normal noise to its square.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds
from dxgeom.mechanisms.parts.factors import Factor, Kinds, Tree
from dxgeom.mechanisms.parts.tables import SetFamily

_BITS: Final = 200
LARGEST_SCALE: Final = 2.0**200
"""Larger noise is of no use, and float64 has no room for the weights of its averages."""
_MARGINS: Final = (0.0, 1e-14, 1e-12, 1e-10, 1e-7)
"""By how much more than float64 says noise is enlarged, each tried when the one before was not enough."""
Limit: TypeAlias = tuple[int | None, int]
"""An attribute's place and a kind of its changes, from 1; or None and 0, for records that come or go."""


class ChangeBounds(NamedTuple):
    """``kinds``: of each attribute the distances of its factor's kinds of change; ``presence``: a record and none."""

    kinds: tuple[Kinds, ...]
    presence: Fraction | None

    @property
    def limits(self) -> dict[Limit, Fraction]:
        """The distance of each limit; where none is finite there is no limit."""
        each = ((a, kind, one) for a, own in enumerate(self.kinds) for kind, one in enumerate(own, start=1))
        found: dict[Limit, Fraction] = {(a, kind): one for a, kind, one in each if one is not None}
        return found if self.presence is None else {**found, (None, 0): self.presence}


class Load(NamedTuple):
    """What rate 1 in the part ``number`` uses of a limit: ``top``/``bottom``."""

    limit: Limit
    number: int
    top: int
    bottom: int


def loads_in(
    factors: Sequence[Factor],
    parts: Iterable[tuple[int, Sequence[tuple[int, int]]]],
    change_bounds: ChangeBounds,
    normal: bool,
) -> Iterator[Load]:
    """Of parts, by number, with the attributes' places and levels, but for those at level 0, which nothing changes."""
    alone = [[one.alone(level, normal) for level in range(one.levels)] for one in factors]
    changes = [
        [
            [(kind, one.changed(level, kind, normal)) for kind, limit in enumerate(own, start=1) if limit is not None]
            for level in range(one.levels)
        ]
        for one, own in zip(factors, change_bounds.kinds, strict=True)
    ]
    for number, part in parts:
        each = [alone[a][level] for a, level in part]
        for place, (a, level) in enumerate(part):
            top, bottom = _product([*each[:place], *each[place + 1 :]])
            for kind, changed in changes[a][level]:
                if changed:
                    yield Load((a, kind), number, top * changed.numerator, bottom * changed.denominator)
        if change_bounds.presence is not None:
            yield Load((None, 0), number, *_product(each))


def _product(factors: Sequence[Fraction]) -> tuple[int, int]:
    """As numerator and denominator, which may have factors in common."""
    return math.prod(one.numerator for one in factors), math.prod(one.denominator for one in factors)


def within_limits(
    loads: Iterable[Load], limits: Mapping[Limit, Fraction], scales: NDArray[np.float64], normal: bool
) -> bool:
    """Whether noise of these ``scales`` (parts,), 0 for none, is within all ``limits``; *exactly*, but that summands
    are rounded up to 2⁻²⁰⁰: what is near a limit by less is refused."""
    power = 2 if normal else 1
    rates = [(over**power << _BITS, scale**power) for scale, over in map(float.as_integer_ratio, scales.tolist())]
    used = dict.fromkeys(limits, 0)
    for limit, number, top, bottom in loads:
        above, below = rates[number]
        if below > 0:
            used[limit] += -(-top * above // (bottom * below))
    return all(total <= int(limits[limit] ** power * 2**_BITS) for limit, total in used.items())


def enlarged_until(enough: Callable[[NDArray[np.float64]], bool], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """The scales, as much larger as is proved to be enough. Raises: CertificateRefused where 1e-7 is not."""
    for margin in _MARGINS:
        wider = np.asarray(scales * (1 + margin))
        if enough(wider):
            return wider
    raise CertificateRefused("these scales are too badly conditioned to prove that they honour the metric")


def hides_everything(
    family: SetFamily,
    distance_bounds: DistanceBounds,
    scales: NDArray[np.float64],
    normal: bool,
    public: Collection[int] = (),
) -> bool:
    """Whether noise of these ``scales`` (sets,) or (2·sets,), 0 for none, honours the constants: there is noise in
    every residual that a record can move at a finite distance, but those of ``public`` sets, of which nothing is asked
    of the data, and it is :func:`within_budgets`; *exactly*.

    A residual that no table with noise measures would be released as it is, however little the others spend.
    """
    proper = scales.shape == (family.count * (1 if normal else 2),) and np.all(
        (scales >= 0) & (scales <= LARGEST_SCALE)
    )
    bare = moved(family, distance_bounds)
    bare[[*public]] = False
    if not proper or np.any(bare & ~_noisy(family, scales > 0, normal)):
        return False
    return within_budgets(family, distance_bounds, scales, normal)


def moved(family: SetFamily, distance_bounds: DistanceBounds) -> NDArray[np.bool_]:
    """(sets,): what these constants protect."""
    return family.touched(
        np.array([one is not None for one in distance_bounds.least], dtype=bool), distance_bounds.presence is not None
    )


def _noisy(family: SetFamily, used: NDArray[np.bool_], normal: bool) -> NDArray[np.bool_]:
    """(sets,): whether the residual gets noise: its own, or that of a table, or of differences in which it is seen."""
    if normal:
        return used
    inner, outer, _ = family.inclusions
    told = used[outer] | (used[outer + family.count] & family.seen_in_differences)
    return np.asarray(np.bincount(inner[told], minlength=family.count) > 0)


def within_budgets(
    family: SetFamily, distance_bounds: DistanceBounds, scales: NDArray[np.float64], normal: bool
) -> bool:
    """Whether noise of these ``scales`` (sets,) or (2·sets,), 0 for none, honours the constants; *exactly*.

    Definition: ``normal``, of standard deviation σ_S in residuals: Σ_{S∋k} 2·Π_{a∈S∖k}(1−1/n_a)/σ_S² ≤ ε_k² and
    Σ_S Π_{a∈S}(1−1/n_a)/σ_S² ≤ ε₀². Else of scale b_A in tables, or in their differences:
    Σ_{A∋k} 2/b_A ≤ ε_k and Σ_A 1/b_A ≤ ε₀. All of it in the units of counts. Summands are rounded up to 2⁻²⁰⁰, so what
    is near the budget by less is refused.
    """
    factors = [Tree(size, (size,)) for size in family.sizes.tolist()]
    promised = ChangeBounds(tuple((one,) for one in distance_bounds.least), distance_bounds.presence)
    noisy = np.flatnonzero(scales > 0).tolist()
    parts = ((place, [(a, 1) for a in family.members_of(place % family.count)]) for place in noisy)
    return within_limits(loads_in(factors, parts, promised, normal), promised.limits, scales, normal)


def enlarged(
    family: SetFamily,
    distance_bounds: DistanceBounds,
    scales: NDArray[np.float64],
    normal: bool,
    public: Collection[int] = (),
) -> NDArray[np.float64]:
    """The scales, as much larger as the proof needs.

    Raises: CertificateRefused where 1e-7 is not enough, or something protected would get no noise.
    """
    return enlarged_until(lambda wider: hides_everything(family, distance_bounds, wider, normal, public), scales)
