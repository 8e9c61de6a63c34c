"""Which mechanism: build every candidate, compare their exact errors, keep the best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, get_args

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.linear.shapes.coarse_hull import FACETS
from dxgeom.metrics.checking.verification import VerifiedMetric
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.reciprocal_program import GAP
from dxgeom.planner.amounts import Amount
from dxgeom.planner.changing import WORTH_A_BIAS, public_records, require_something_to_save
from dxgeom.planner.objective import ObjectiveName, objective_of
from dxgeom.planner.plan import Candidate, Plan
from dxgeom.planner.set_up import set_up_of, timed
from dxgeom.planner.workshop import BUILD_ERRORS, Biased, Name, Published, Workshop
from dxgeom.universe.queries import LinearQueries

MechanismName: TypeAlias = Literal["auto"] | Name | Biased | Published
Progress: TypeAlias = Callable[[str], None]


def plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    *,
    objective: ObjectiveName = "mse",
    importance: Sequence[Amount] | None = None,
    errors: Sequence[Amount] | None = None,
    mechanism: MechanismName = "auto",
    records: int | None = None,
    published: bool = False,
    hull_limits: HullLimits | None = None,
    coarse_facets: int = FACETS,
    progress: Progress | None = None,
) -> Plan:
    """Choose how to answer a workload under a metric.

    Args: ``objective``: "mse" minimises the total mean squared error over the queries ("rmse", its root, is smallest at
    the same plan), "max" that of the worst answer. ``importance`` (K,): how many times each answer's squared error
    counts; left out, what the queries state. ``errors`` (K,): the root mean squared errors that answers may have; the
    plan then needs the least spend for them, see :attr:`Plan.least_spend`. ``mechanism``: "auto" builds every candidate
    and takes the one with the smallest exact error; naming one takes that one, and the others are still listed beside
    it. ``published``: also build the literature's ways to scale Laplace noise (:data:`Published`), to be compared with;
    they are never chosen unless named, the optimal scales are no worse. ``records``: their public number, where the
    queries do not state it; given it, a plan also considers answering changed queries, with a known bias and less
    noise, and does so when that makes the worst loss at spend 1 smaller by more than 1 %. ``hull_limits``: when to give
    the exact hull up. ``coarse_facets``: how many facets the coarsened hull may have; more make its error smaller and
    its set-up longer. ``progress``: told in words what is being built; it may raise to end the work, and nothing is
    lost.

    Guarantee: reads no data; deterministic unless a hull runs into its time limit; the chosen mechanism honours the
    metric (see its own docstring), and its predicted error is exact up to the rounding of float64.
    Raises: UnsupportedCombination for an unknown objective or mechanism, when metric and queries are not about the same
    records, or when their number is stated and the policy keeps it private; UnboundedLoss when no finite noise can
    honour the metric; TooLarge, NotANormBall or CertificateRefused when the mechanism asked for cannot be built.
    """
    _check_choice("mechanism", mechanism, ("auto", *get_args(Name), *get_args(Biased), *get_args(Published)))
    aim = objective_of(objective, queries.count, queries.importance, importance, errors)
    sensitivity, number = sensitivity_of(metric, queries), public_records(metric, queries, records)
    workshop = Workshop(sensitivity, aim, _watched(hull_limits, progress), coarse_facets, number)
    built: dict[str, AdditiveMechanism] = {}
    candidates = []
    for name in _names(mechanism, number is not None and aim.wanted is None, published):
        if progress is not None:
            progress(name)
        try:
            if name in get_args(Biased) and number is not None and name != mechanism:
                require_something_to_save(sensitivity, number)
            built[name], seconds = timed(partial(workshop.build, name))
        except BUILD_ERRORS as error:
            if name == mechanism:
                raise
            candidates.append(Candidate(name, None, reason=f"not built: {error}"))
            continue
        variances = built[name].variances()
        each = tuple(float(variance) for variance in variances)
        loss, set_up = aim.loss(variances), set_up_of(built[name])
        total = float(variances.sum())
        candidates.append(Candidate(name, total, each, loss=loss, set_up=set_up, seconds=seconds))
    chosen = built[mechanism] if mechanism != "auto" else _best(built, candidates)
    return Plan(metric, queries, aim, chosen, tuple(candidates), workshop.lower_bound())


def _names(mechanism: MechanismName, biased: bool, published: bool) -> tuple[Name | Biased | Published, ...]:
    """What is built, in the order in which it is listed."""
    asked = [each for each in get_args(Biased) if each == mechanism]
    asked += [each for each in get_args(Published) if published or each == mechanism]
    return tuple(dict.fromkeys([*get_args(Name), *(get_args(Biased) if biased else ()), *asked]))


def _watched(limits: HullLimits | None, progress: Progress | None) -> HullLimits | None:
    """The same limits, with a hull's facets told as they grow."""
    if progress is None:
        return limits
    return replace(limits or HullLimits(), progress=lambda facets: progress(f"hull: {facets:,} facets so far"))


def _best(built: dict[str, AdditiveMechanism], candidates: list[Candidate]) -> AdditiveMechanism:
    """The smallest error; among equals, up to the scales' own duality gap, the simplest mechanism; one with a bias when
    it is better by as much as that has to be worth."""
    if not built:
        raise TooLarge("no mechanism could be built: " + "; ".join(f"{c.name} {c.reason}" for c in candidates))
    losses = {candidate.name: candidate.loss for candidate in candidates if candidate.loss is not None}
    biased = [name for name in get_args(Biased) if name in losses]
    unbiased = min((losses[name] for name in get_args(Name) if name in losses), default=float("inf"))
    for name in biased:
        if losses[name] < unbiased * (1 - WORTH_A_BIAS):
            return built[name]
    limit = unbiased * (1 + 2 * GAP)
    return next(built[name] for name in get_args(Name) if name in built and losses[name] <= limit)


def _check_choice(what: str, choice: str, known: tuple[str, ...]) -> None:
    if choice not in known:
        raise UnsupportedCombination(f"there is no {what} '{choice}'; known are {', '.join(known)}")
