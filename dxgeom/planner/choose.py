"""Which mechanism: build every candidate, compare their exact errors, keep the best."""

from __future__ import annotations

from functools import partial
from typing import Literal, TypeAlias, get_args

from dxgeom.errors import TooLarge, UnsupportedCombination
from dxgeom.mechanisms.additive import AdditiveMechanism
from dxgeom.mechanisms.sensitivity import sensitivity_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.reciprocal_program import GAP
from dxgeom.planner.plan import Candidate, Plan
from dxgeom.planner.set_up import set_up_of, timed
from dxgeom.planner.workshop import BUILD_ERRORS, Name, Strategy, Workshop
from dxgeom.universe.queries import LinearQueries

Objective: TypeAlias = Literal["mse"]
MechanismName: TypeAlias = Literal["auto"] | Name | Strategy


def plan(
    metric: VerifiedMetric,
    queries: LinearQueries,
    *,
    objective: Objective = "mse",
    mechanism: MechanismName = "auto",
    hull_limits: HullLimits | None = None,
) -> Plan:
    """Choose how to answer a workload under a metric.

    "mse" minimises the total mean squared error over the queries. "auto" builds every candidate and takes the one with
    the smallest exact error; naming one takes that one, and the others are still listed beside it. The literature's
    ways to scale Laplace noise (:data:`Strategy`) are built when named only: the optimal scales are no worse.

    Guarantee: reads no data; deterministic unless a hull runs into its time limit; the chosen mechanism honours the
    metric (see its own docstring), and its predicted error is exact up to the rounding of float64.
    Raises: UnsupportedCombination for an unknown objective or mechanism, or when metric and queries are not about the
    same records; UnboundedLoss when no finite noise can honour the metric; TooLarge, NotANormBall or CertificateRefused
    when the mechanism asked for cannot be built.
    """
    _check_choice("objective", objective, get_args(Objective))
    _check_choice("mechanism", mechanism, ("auto", *get_args(Name), *get_args(Strategy)))
    workshop = Workshop(sensitivity_of(metric, queries), hull_limits)
    built: dict[str, AdditiveMechanism] = {}
    candidates = []
    for name in (*get_args(Name), *(each for each in get_args(Strategy) if each == mechanism)):
        try:
            built[name], seconds = timed(partial(workshop.build, name))
        except BUILD_ERRORS as error:
            if name == mechanism:
                raise
            candidates.append(Candidate(name, None, reason=f"not built: {error}"))
            continue
        variances = built[name].variances()
        errors = tuple(float(v) for v in variances)
        candidates.append(
            Candidate(name, float(variances.sum()), errors, set_up=set_up_of(built[name]), seconds=seconds)
        )
    chosen = built[mechanism] if mechanism != "auto" else _best(built, candidates)
    return Plan(metric, queries, objective, chosen, tuple(candidates), workshop.lower_bound())


def _best(built: dict[str, AdditiveMechanism], candidates: list[Candidate]) -> AdditiveMechanism:
    """The smallest error; among equals, up to the scales' own duality gap, the simplest mechanism."""
    if not built:
        raise TooLarge("no mechanism could be built: " + "; ".join(f"{c.name} {c.reason}" for c in candidates))
    totals = {name: float(mechanism.variances().sum()) for name, mechanism in built.items()}
    least = min(totals.values())
    return next(built[name] for name in get_args(Name) if name in built and totals[name] <= least * (1 + 2 * GAP))


def _check_choice(what: str, choice: str, known: tuple[str, ...]) -> None:
    if choice not in known:
        raise UnsupportedCombination(f"there is no {what} '{choice}'; known are {', '.join(known)}")
