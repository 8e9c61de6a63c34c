"""The candidates of a plan beside each other: built when they are asked for, each once."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, Literal, TypeAlias, final

import numpy as np

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import GAP
from dxgeom.planner.candidate_builder import BUILD_ERRORS, WORK_OF, CandidateBuilder, Sizes, build_cost, timed
from dxgeom.planner.candidates import NORMAL_KINDS, CandidateResult, Kind, build, candidate_bound_of, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS, WORTH_A_SEARCH, require_something_to_save
from dxgeom.planner.comparing.candidate_bounds import PRUNING_FACTOR, is_large, quick_estimates
from dxgeom.planner.comparing.quick_search import QuickSearch
from dxgeom.planner.options import AUTO
from dxgeom.privacy.measures import CONCENTRATED
from dxgeom.wording.numbers import digits

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
