"""The candidates of a plan beside each other: built when they are asked for, each once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final, final

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.reciprocal_program import GAP
from dxgeom.planner.build_cost import build_cost, timed
from dxgeom.planner.candidate_builder import BUILD_ERRORS, CandidateBuilder
from dxgeom.planner.candidates import NORMAL_KINDS, CandidateResult, Kind, build, floor_of, names
from dxgeom.planner.changed_queries import WORTH_A_BIAS, require_something_to_save
from dxgeom.planner.options import AUTO
from dxgeom.privacy.currencies import CONCENTRATED

COMPARED: Final = (
    Kind.SHAPE,
    Kind.CONCENTRATED,
    Kind.TABLES,
    Kind.CONCENTRATED_TABLES,
    Kind.UNEVEN_TABLES,
    Kind.OWN,
    Kind.ORDINARY,
)
"""Unbiased noise that a plan may take."""


@final
@dataclass(frozen=True, eq=False)
class CandidateComparison:
    """What became of each candidate of one workload, and what the objective cannot be below.

    ``shared``: what candidates are built from; None for a plan from a file, where nothing was tried. ``listed``: their
    names, in the order in which they are told. Nothing is built before it is asked for, and nothing twice.
    """

    shared: CandidateBuilder | None = field(default=None, repr=False)
    listed: tuple[str, ...] = ()
    _built: dict[str, AdditiveMechanism] = field(default_factory=dict, repr=False)
    _results: dict[str, CandidateResult] = field(default_factory=dict, repr=False)

    @property
    def named(self) -> str | None:
        """The mechanism that was asked for by name; None where the best was."""
        return None if self.shared is None or self.shared.options.mechanism == AUTO else self.shared.options.mechanism

    @property
    def told(self) -> tuple[CandidateResult, ...]:
        """What is worth telling without being asked: all, or the one that was named, with ordinary ε-DP beside it."""
        if self.shared is None or self.named is None:
            return self.candidates
        return tuple(self.result(name) for name in self.listed if name in {self.named, *names(Kind.ORDINARY)})

    @cached_property
    def candidates(self) -> tuple[CandidateResult, ...]:
        """All of them, in their order. Where building takes long, those that have a floor are built last: the others
        may spare them."""
        late = self.shared is not None and self.shared.is_large
        spared = [name for name in self.listed if late and floor_of(name) is not None]
        for name in (*(name for name in self.listed if name not in spared), *spared):
            self.result(name)
        return tuple(self._results[name] for name in self.listed)

    @cached_property
    def lower_bound(self) -> float:
        """What no additive noise that stretches to every spend has a smaller objective than; 0 where none is known."""
        return 0.0 if self.shared is None else self.shared.lower_bound()

    @property
    def bound_at_hand(self) -> bool:
        """Whether the bound is known without another search."""
        if self.shared is None or self.named is None:
            return True
        pure = self.shared.sensitivity.metric.privacy != CONCENTRATED
        return not pure and self.named in names(*NORMAL_KINDS)

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
        return self._built[name]

    def best(self, among: Iterable[Kind] = COMPARED) -> AdditiveMechanism:
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
        if options.progress is not None:
            options.progress(name)
        try:
            if name != options.mechanism:
                self._require_worth_building(name, shared)
            mechanism, seconds = timed(partial(build, name, shared))
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
            loss=shared.objective.loss(variances),
            build_cost=build_cost(mechanism),
            seconds=seconds,
        )

    def _require_worth_building(self, name: str, shared: CandidateBuilder) -> None:
        """Raises: TooLarge for what cannot be chosen, and takes long to build."""
        records, floor = shared.options.records, floor_of(name)
        if name in names(Kind.CHANGED_QUERIES) and records is not None:
            require_something_to_save(shared.sensitivity, records)
        best = min((one.loss for one in self._results.values() if one.loss is not None), default=None)
        if floor is None or best is None or not shared.is_large:
            return
        least = floor(shared)
        if least > best:
            raise TooLarge(f"it has at least {least / best:.3g} times the least {shared.objective.title} found")
