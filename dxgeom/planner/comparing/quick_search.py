"""What a quick plan looks at: candidates that are built at once, and others only while they may pay."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.laplace import max_min_scales, optimal_scales
from dxgeom.mechanisms.shapes.strategy import QUICK as EFFORT
from dxgeom.mechanisms.shapes.strategy import best_start
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.planner.candidate_builder import BUILD_ERRORS, WORK_OF, CandidateBuilder, Sizes
from dxgeom.planner.candidates import NORMAL_KINDS, Kind, names
from dxgeom.planner.comparing.candidate_bounds import CAUTION, is_large, unproved

QUICK: Final = (
    *("hull", "marginal-gaussian", "kronecker-gaussian", "marginal-laplace", "toeplitz-gaussian", "gaussian", "body"),
    *("product-laplace", "product-gaussian", "gaussian-with-jumps", "laplace"),
    *("epsilon-dp", "changed-queries", "block-hulls", "rotated-laplace", "coarse-hull"),
    "boxes-laplace",
)
"""In this order: what reads the structure of the queries takes least, and may spare the rest;"""
_SHARED: Final = frozenset(("product-laplace", "product-gaussian"))
_SCALED: Final = frozenset(("laplace", "epsilon-dp"))
_OF_TABLES: Final = frozenset(("marginal-laplace", "product-laplace"))
_IN_PARTS: Final = _OF_TABLES | {"boxes-laplace"}
_ALONG_BASES: Final = "kronecker-gaussian"
_POOR: Final = 0.5
"""So much of the objective of noise in boxes must be left by a basis that a search begins from: then a long one is made
beside such noise, too."""
_PROOF: Final = 32
"""Multiplications of balls for the cube of the answers, that the inverse of a basis of theirs takes."""
SOUGHT: Final = ("gaussian-with-jumps", "block-hulls", "rotated-laplace", "coarse-hull")
"""these only where none was built that seldom has a hundredth more;"""
_IN_A_BASIS: Final = SOUGHT[1:]
"""and these, which are looked for in a basis of independent noise, in few dimensions,"""
_DIMENSIONS: Final = 12
_PROMISING: Final = 1.2
"""or where a basis that the search begins from has at most so many times the least objective;"""
_CEILING: Final = 2e9
"""multiplications: a search of less is made in any case, it is over in seconds."""
_TOTALS: Final = "toeplitz-gaussian"
_NEAR: Final = 1.1
"""Times the bound that is known at once: a covariance of more work than that is not sought for so little."""
_TURNS: Final = 200
"""So many products of all differences with a basis find the scales of the bases that a search begins from."""
_FEW: Final = 3
"""Differences for each dimension: the hull of more has mostly more facets than are built at once, and then hulls of
blocks are better than what is left of it."""
_SOME: Final = 1_000
_OF_EACH: Final = 10
"""Differences, for each query at the least."""


@final
@dataclass(frozen=True, eq=False)
class QuickSearch:
    """A quick plan's candidates, of which some of the differences tell whether they may pay."""

    shared: CandidateBuilder

    def require_worth_building(self, name: str, built: Collection[str], least: float) -> None:
        """Args: ``built``: candidates; ``least``: the objective of the best of them.

        Raises: TooLarge for what takes longer than it may pay.
        """
        if name not in QUICK:
            raise TooLarge("it takes longer than a quick plan may")
        if name in SOUGHT and not self._enough.isdisjoint(built):
            raise TooLarge("a quick plan seeks no other shape where the best of another kind was built")
        if name in SOUGHT and self._is_long(name) and self._suits_parts(built, least):
            raise TooLarge("it takes longer than a quick plan may, beside noise in parts that may be as good")
        title = self.shared.objective.title
        if name == "gaussian":
            self._require_worth_a_covariance(built, least)
        if name in _SCALED and self._scales_take_long(name, built):
            raise TooLarge("scales for so many answers take longer than a quick plan may, beside noise that they share")
        if name == "laplace" and self._laplace_floor > least:
            raise TooLarge(f"it has at least {self._laplace_floor / least:.3g} times the least {title} found")
        if name not in _IN_A_BASIS:
            return
        space = self._some.search_space
        if name == "coarse-hull" and len(space.points) > _FEW * space.dimension:
            raise TooLarge("around so many differences it takes longer than a quick plan may")
        if space.dimension > _DIMENSIONS:
            if name != "rotated-laplace":
                raise TooLarge(f"beyond {_DIMENSIONS} dimensions it takes longer than a quick plan may")
            work = EFFORT.work + _TURNS * self._differences * space.dimension**2
            if work > _CEILING and self._glimpsed > _PROMISING * least:
                raise TooLarge(f"its search would begin at {self._glimpsed / least:.3g} times the least {title} found")

    def _suits_parts(self, built: Collection[str], least: float) -> bool:
        """Whether noise in parts was built that nothing tells to be poor; whole tables are what such noise is for."""
        if not _OF_TABLES.isdisjoint(built):
            return True
        return not _IN_PARTS.isdisjoint(built) and self._glimpsed > _POOR * least

    def _scales_take_long(self, name: str, built: Collection[str]) -> bool:
        """Whether they do, and there is noise in parts in their place."""
        if not _IN_PARTS.isdisjoint(built) and self._is_long(name):
            return True
        return name == "laplace" and not _SHARED.isdisjoint(built) and not self._differences

    def _require_worth_a_covariance(self, built: Collection[str], least: float) -> None:
        """Raises: TooLarge where noise in running totals, or along bases, leaves little to be found."""
        if not self._is_long("gaussian"):
            return
        if _ALONG_BASES in built:
            raise TooLarge(
                "it takes longer than a quick plan may, beside noise along bases, which mostly errs by a few "
                "hundredths more; name 'gaussian' to have it"
            )
        if _TOTALS not in built:
            return
        bound = self.shared.in_boxes.bound_at_once
        times = least / bound if bound > 0 else np.inf
        if times <= _NEAR:
            said = f"what was found has at most {times:.3g} times the least that any normal noise has"
            raise TooLarge(f"{said}; name 'gaussian' to have it")

    @property
    def order(self) -> tuple[str, ...]:
        """In which candidates are built: boxes before what takes long to seek."""
        long = [name for name in QUICK if name in SOUGHT and self._is_long(name)]
        if not long:
            return QUICK
        boxes, place = names(Kind.BOXES), QUICK.index(long[0])
        return (*QUICK[:place], *boxes, *(name for name in QUICK[place:] if name not in boxes))

    def _is_long(self, name: str) -> bool:
        proof = _PROOF * float(self._sizes.answers) ** 3 if name in _IN_A_BASIS else 0.0
        return WORK_OF[name](self._sizes) + proof > _CEILING

    @cached_property
    def _sizes(self) -> Sizes:
        return Sizes.of(self.shared.sensitivity)

    @cached_property
    def _some(self) -> CandidateBuilder:
        return with_some(self.shared)

    @property
    def _differences(self) -> int:
        """How many there are, of which a search looks at all or at so many that its work is above any ceiling."""
        changes = self.shared.sensitivity.changes
        return changes.count if isinstance(changes, ListedChanges | PairedChanges) else 0

    @cached_property
    def _laplace_floor(self) -> float:
        """0 where Laplace noise itself is found at once."""
        with suppress(*BUILD_ERRORS):
            return laplace_bound(self._some) if is_large(self.shared) else 0.0
        return 0.0

    @cached_property
    def _glimpsed(self) -> float:
        with suppress(*BUILD_ERRORS):
            return quick_estimate_of_rotated_laplace(self._some)
        return np.inf

    @property
    def _enough(self) -> set[str]:
        """Candidates that a shape found by a search seldom gains a hundredth on: normal noise suits every objective,
        the hull is the same for all, and may be far from one in which some answers count more."""
        return {*names(*NORMAL_KINDS), *(["hull"] if self.shared.objective.is_plain else [])}


def with_some(shared: CandidateBuilder) -> CandidateBuilder:
    """For the same queries with some of the differences, at regular places: whatever hides all hides these, so no noise
    for them needs more. The same where there are few."""
    changes = shared.sensitivity.changes
    if not (is_large(shared) and isinstance(changes, ListedChanges | PairedChanges)):
        return shared
    most = max(_SOME, _OF_EACH * len(shared.sensitivity.queries.names))
    places = np.unique(np.linspace(0, changes.count - 1, min(changes.count, most)).astype(np.int64))
    return replace(shared, sensitivity=shared.sensitivity.quick_estimate(places))


def laplace_bound(some: CandidateBuilder) -> float:
    """What the objective of Laplace noise cannot be below: its least for some of the differences."""
    noisy, objective = some.sensitivity.of_each_query > 0, some.objective
    scales_of = max_min_scales if objective.name == "max" else optimal_scales
    variances = np.zeros(len(noisy))
    variances[noisy] = (
        2 * (scales_of(some.sensitivity, some.factors) * some.sensitivity.queries.float_steps[noisy]) ** 2
    )
    return objective.loss(variances) * CAUTION


def quick_estimate_of_rotated_laplace(some: CandidateBuilder) -> float:
    """Of which order the objective of rotated Laplace noise is: the best basis that its search begins from, for some of
    the differences. No bound."""
    return unproved(some, best_start(some.search_space))
