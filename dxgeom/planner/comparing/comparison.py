"""The candidates of a plan beside each other: built when they are asked for, each once.

What a quick plan looks at: candidates that are built at once, and others only while they may pay.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import GAP, max_min_scales, optimal_scales
from dxgeom.mechanisms.shapes.strategy import QUICK as EFFORT
from dxgeom.mechanisms.shapes.strategy import best_start
from dxgeom.metrics.changes import ListedChanges
from dxgeom.metrics.paired_changes import PairedChanges
from dxgeom.planner.candidate_builder import BUILD_ERRORS, WORK_OF, CandidateBuilder, Sizes, build_cost, timed
from dxgeom.planner.candidates import NORMAL_KINDS, CandidateResult, Kind, build, candidate_bound_of, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS, WORTH_A_SEARCH, require_something_to_save
from dxgeom.planner.comparing.candidate_bounds import CAUTION, PRUNING_FACTOR, is_large, quick_estimates, unproved
from dxgeom.planner.wish import AUTO
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.wording.numbers import digits

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
_FEW_DIFFERENCES: Final = 3
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
        if name == "coarse-hull" and len(space.points) > _FEW_DIFFERENCES * space.dimension:
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


_FEW: Final = 1000.0
"""So few multiplications are not named."""
COMPARED: Final = (
    Kind.SHAPE,
    Kind.PURE,
    Kind.CONCENTRATED,
    Kind.TABLES,
    Kind.CONCENTRATED_TABLES,
    Kind.UNEVEN_TABLES,
    Kind.BOXES,
    Kind.CONCENTRATED_BOXES,
    Kind.PRODUCTS,
    Kind.CONCENTRATED_PRODUCTS,
    Kind.USER_BODY,
    Kind.ORDINARY,
)
"""Unbiased noise that a plan may take."""

PROMISING_BEGINNING: Final = 2.0
"""Trees of several levels were seen to have at most half of the error of flat ones, for up to 322 boxes."""
BOUND: Final = "the lower bound"
Search: TypeAlias = Literal["full", "quick", "interrupted"]


@final
@dataclass(frozen=True, eq=False)
class CandidateComparison:
    """What became of each candidate of one workload, and what the objective cannot be below.

    ``shared``: what candidates are built from; None for a plan from a file, where nothing was tried. ``listed``: their
    names, in the order in which they are told. Nothing is built before it is asked for, and nothing twice.
    ``recorded_search``: how the search ended, where a file says so; ``accepted``: an interrupted one is good enough.
    """

    shared: CandidateBuilder | None = field(default=None, repr=False)
    listed: tuple[str, ...] = ()
    recorded_search: Search = "full"
    accepted: bool = False
    _built: dict[str, AdditiveMechanism] = field(default_factory=dict, repr=False)
    _results: dict[str, CandidateResult] = field(default_factory=dict, repr=False)
    _candidate_bounds: dict[str, float] = field(default_factory=dict, repr=False)
    _pruned: set[str] = field(default_factory=set, repr=False)
    _under_way: list[str] = field(default_factory=list, repr=False)
    _stopped: list[str] = field(default_factory=list, repr=False)

    @property
    def named(self) -> str | None:
        """The mechanism that was asked for by name; None where the best was."""
        return None if self.shared is None or self.shared.options.mechanism == AUTO else self.shared.options.mechanism

    @property
    def shown(self) -> tuple[CandidateResult, ...]:
        """What is worth telling without being asked: all, or the one that was named, with ordinary ε-DP beside it."""
        if self.shared is None or self.named is None:
            return self.candidates
        return tuple(self.result(name) for name in self.listed if name in {self.named, *names(Kind.ORDINARY)})

    @property
    def search(self) -> Search:
        """How the search ended: all candidates were looked at, or only those that are found at once, or somebody
        interrupted it."""
        if self.interrupted is not None:
            return "interrupted"
        return "quick" if self.shared is not None and self.shared.options.quick else self.recorded_search

    @property
    def interrupted(self) -> str | None:
        """What was being built when somebody interrupted the search; None where nobody did."""
        return self._stopped[0] if self._stopped else None

    @cached_property
    def candidates(self) -> tuple[CandidateResult, ...]:
        """All of them, in their order. Where building takes long, those that have a floor are built last, the lowest
        first: others may spare them."""
        shared, missing = self.shared, [name for name in self.listed if name not in self._results]
        if shared is not None and missing:
            if self._quick_search is not None:
                order = self._quick_search.order
                missing.sort(key=lambda name: order.index(name) if name in order else len(order))
            late = is_large(shared) and not shared.options.quick
            floors = {name: 0.0 for name in missing if late and candidate_bound_of(name) is not None}
            for name in (name for name in missing if name not in floors):
                self._finish(name, shared)
            if floors:
                self._prune_by_quick_estimates(shared)
            for name in floors:
                floors[name] = self._candidate_bound(name, shared)
            for name in sorted(floors, key=lambda name: floors[name]):
                self._finish(name, shared)
        return tuple(self._results[name] for name in self.listed)

    def _finish(self, name: str, shared: CandidateBuilder) -> None:
        """Raises: KeyboardInterrupt also where a search of its own was interrupted, and ended with what it had."""
        self.result(name)
        if shared.is_interrupted and not self._stopped:
            raise KeyboardInterrupt

    @cached_property
    def lower_bound(self) -> float:
        """What no additive noise that stretches to every spend has a smaller objective than; 0 where none is known."""
        # Noise that is proved over several periods is not among those that such a bound is of.
        none = self.shared is None or self.shared.sensitivity.metric.over_periods is not None
        return 0.0 if none or self.shared is None else self.shared.lower_bound()

    def seek_bound(self) -> None:
        """The lower bound, or that it is not known because somebody interrupted the search for it."""
        try:
            _ = self.lower_bound
        except KeyboardInterrupt:
            self._stopped[:] = [BOUND]

    @property
    def bound_at_hand(self) -> bool:
        """Whether the bound is known without another search."""
        if self.shared is None or (self.named is None and self.search == "full"):
            return True
        pure = self.shared.sensitivity.metric.privacy != CONCENTRATED
        if pure and self.named is None and self.search == "quick":
            # A moment's work beside the plan's.
            return "hull" in self._built or not (is_large(self.shared) or self.shared.bound_takes_long)
        known = {*NORMAL_KINDS} - {Kind.CONCENTRATED_BOXES}
        return not pure and not {*self._built}.isdisjoint(names(*known))

    def result(self, name: str) -> CandidateResult:
        """What became of one candidate.

        Raises: TooLarge, NotANormBall or CertificateRefused when it was asked for by name.
        """
        if name not in self._results:
            if name not in self.listed or self.shared is None:
                return CandidateResult(name, None, reason="not tried")
            self._results[name] = self._tried(name, self.shared)
        return self._results[name]

    def mechanism(self, name: str) -> AdditiveMechanism:
        """The mechanism of that name. Raises: as :meth:`result`."""
        found = self.result(name)
        if name not in self._built:
            raise TooLarge(f"{name} was {found.reason}")
        if self.shared is not None and self.shared.is_interrupted:
            self._stopped[:] = [name]
        return self._built[name]

    def best_so_far(self, among: Sequence[Kind] = COMPARED) -> AdditiveMechanism:
        """As :meth:`best`; where somebody interrupts the search, the best of what was finished by then: each is proved
        like any other.

        Raises: TooLarge where nothing could be built; KeyboardInterrupt where nothing was finished.
        """
        try:
            return self.best(among)
        except KeyboardInterrupt:
            finished = [self._results[name] for name in names(*among) if name in self._results]
            if all(one.loss is None for one in finished):
                raise
        self._stopped[:] = self._under_way
        for name in self.listed:
            self._results.setdefault(name, CandidateResult(name, None, reason="not built: planning was interrupted"))
        return self.best(among)

    def best(self, among: Sequence[Kind] = COMPARED) -> AdditiveMechanism:
        """The smallest error; among equals, up to the scales' own duality gap, the simplest mechanism; one with a bias
        when it is better by as much as that has to be worth.

        Raises: TooLarge where nothing could be built.
        """
        results = self.candidates
        if not self._built:
            raise TooLarge("no mechanism could be built: " + "; ".join(f"{c.name} {c.reason}" for c in results))
        losses = {result.name: result.loss for result in results if result.loss is not None}
        shapes = [name for name in names(*among) if name in losses]
        unbiased = min((losses[name] for name in shapes), default=float("inf"))
        for name in names(Kind.CHANGED_QUERIES):
            if name in losses and losses[name] < unbiased * (1 - WORTH_A_BIAS):
                return self._built[name]
        return next(self._built[name] for name in shapes if losses[name] <= unbiased * (1 + 2 * GAP))

    def _tried(self, name: str, shared: CandidateBuilder) -> CandidateResult:
        options = shared.options
        self._begin(name, shared)
        try:
            if name != options.mechanism:
                self._require_worth_building(name, shared)
            mechanism, seconds = timed(partial(build, name, shared))
            loss = shared.objective.loss_of(mechanism)
        except BUILD_ERRORS as error:
            if name == options.mechanism:
                raise
            return CandidateResult(name, None, reason=f"not built: {error}")
        self._built[name] = mechanism
        variances = mechanism.variances()
        return CandidateResult(
            name,
            float(variances.sum()),
            tuple(float(variance) for variance in variances),
            reason="" if shared.objective.is_exact(mechanism) else f"has at most that {shared.objective.title}",
            loss=loss,
            build_cost=build_cost(mechanism),
            seconds=seconds,
        )

    def _require_worth_building(self, name: str, shared: CandidateBuilder) -> None:
        """Raises: TooLarge for what cannot be chosen, and takes long to build."""
        records = shared.options.records
        if self._quick_search is not None:
            self._quick_search.require_worth_building(name, self._built, self._least)
        if name in names(Kind.CHANGED_QUERIES) and records is not None:
            worth = WORTH_A_SEARCH if shared.options.quick else WORTH_A_BIAS
            require_something_to_save(shared.sensitivity, records, worth)
        if shared.options.quick and name in names(Kind.BOXES) and self._least < np.inf:
            begun, title = shared.objective.loss(shared.in_boxes.beginning) / self._least, shared.objective.title
            if begun > PROMISING_BEGINNING:
                raise TooLarge(f"its search would begin at {begun:.3g} times the least {title} found")
        if self._least == np.inf or not is_large(shared):
            return
        times = self._candidate_bound(name, shared) / self._least
        if name in self._pruned:
            raise TooLarge(
                f"a short search for it found {times:.3g} times the least {shared.objective.title}, and a long one is "
                f"not made; name '{name}' to have it"
            )
        if times > 1:
            raise TooLarge(f"it has at least {times:.3g} times the least {shared.objective.title} found")

    @cached_property
    def _quick_search(self) -> QuickSearch | None:
        shared = self.shared
        by_squares = shared is not None and shared.objective.size is None
        return QuickSearch(shared) if shared is not None and by_squares and shared.options.quick else None

    @property
    def _least(self) -> float:
        """The objective of the best candidate so far."""
        return min((one.loss for one in self._results.values() if one.loss is not None), default=np.inf)

    def _prune_by_quick_estimates(self, shared: CandidateBuilder) -> None:
        """What a short search shows to be far from the best is not sought for longer."""
        with suppress(*BUILD_ERRORS):
            for name, found in quick_estimates(shared).items():
                if name not in self._results and found > PRUNING_FACTOR * self._least:
                    self._pruned.add(name)
                    self._candidate_bounds[name] = found

    def _candidate_bound(self, name: str, shared: CandidateBuilder) -> float:
        """0 where none can be told: building then says why."""
        floor = candidate_bound_of(name)
        if floor is None:
            return 0.0
        self._begin(name, shared)
        if name not in self._candidate_bounds:
            try:
                self._candidate_bounds[name] = floor(shared)
            except BUILD_ERRORS:
                self._candidate_bounds[name] = 0.0
        return self._candidate_bounds[name]

    def _begin(self, name: str, shared: CandidateBuilder) -> None:
        if self._under_way != [name]:
            self._under_way[:] = [name]
            if shared.options.progress is not None:
                shared.options.progress(f"{name}{self._work_in_words(name, shared)}")

    def _work_in_words(self, name: str, shared: CandidateBuilder) -> str:
        """What it takes, known before it begins from sizes, what the best error is so far where all are of one unit,
        and how many kinds of noise are done."""
        work = 0.0
        with suppress(*BUILD_ERRORS):
            work = WORK_OF[name](Sizes.of(shared.sensitivity)) if name in WORK_OF else 0.0
        takes = f", about {digits(work, 2)} multiplications" if work >= _FEW else ""
        alike = shared.objective.is_plain and shared.objective.factors is None
        losses = [float(np.mean(one.per_query)) for one in self._results.values() if alike and one.per_query]
        so_far = f"; rmse so far {digits(min(losses) ** 0.5, 2)} (spend 1)" if losses else ""
        return f"{takes}{so_far}; {len(self._results)} of {len(self.listed)} kinds of noise are done"
