"""Which mechanism: build every candidate, compare their exact errors, keep the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias, get_args

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnsupportedCombination
from dxgeom.mechanisms.additive import AdditiveMechanism
from dxgeom.mechanisms.hull import SensitivityHull, hull_mechanism, sensitivity_hull
from dxgeom.mechanisms.laplace import epsilon_dp_laplace, optimal_laplace
from dxgeom.mechanisms.lower_bound import coordinate_bound, volume_bound
from dxgeom.mechanisms.sensitivity import Sensitivity, sensitivity_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.qhull import HullLimits
from dxgeom.numeric.reciprocal_program import GAP
from dxgeom.planner.plan import Candidate, Plan
from dxgeom.universe.queries import LinearQueries

Objective: TypeAlias = Literal["mse"]
MechanismName: TypeAlias = Literal["auto", "hull", "laplace", "epsilon-dp"]

_SIMPLEST_FIRST = ("laplace", "hull", "epsilon-dp")
_BUILD_ERRORS = (TooLarge, NotANormBall, CertificateRefused)


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
    the smallest exact error; naming one takes that one, and the others are still listed beside it.

    Guarantee: reads no data; deterministic unless a hull runs into its time limit; the chosen mechanism honours the
    metric (see its own docstring), and its predicted error is exact up to the rounding of float64.
    Raises: UnsupportedCombination for an unknown objective or mechanism, or when metric and queries are not about the
    same records; UnboundedLoss when no finite noise can honour the metric; TooLarge, NotANormBall or CertificateRefused
    when the mechanism asked for cannot be built.
    """
    _check_choice("objective", objective, get_args(Objective))
    _check_choice("mechanism", mechanism, get_args(MechanismName))
    sensitivity = sensitivity_of(metric, queries)
    hull, refusal = _hull(sensitivity, hull_limits)
    builders: dict[str, Callable[[], AdditiveMechanism]] = {
        "hull": lambda: hull_mechanism(sensitivity, _or_raise(hull, refusal)),
        "laplace": lambda: optimal_laplace(sensitivity),
        "epsilon-dp": lambda: epsilon_dp_laplace(sensitivity),
    }
    built: dict[str, AdditiveMechanism] = {}
    candidates = []
    for name, build in builders.items():
        try:
            built[name] = build()
        except _BUILD_ERRORS as error:
            if name == mechanism:
                raise
            candidates.append(Candidate(name, None, reason=f"not built: {error}"))
            continue
        variances = built[name].variances()
        candidates.append(Candidate(name, float(variances.sum()), tuple(float(v) for v in variances)))
    bound = max(coordinate_bound(sensitivity), volume_bound(hull) if hull else 0.0)
    chosen = built[mechanism] if mechanism != "auto" else _best(built, candidates)
    return Plan(metric, queries, objective, chosen, tuple(candidates), bound)


def _best(built: dict[str, AdditiveMechanism], candidates: list[Candidate]) -> AdditiveMechanism:
    """The smallest error; among equals, up to the scales' own duality gap, the simplest mechanism."""
    if not built:
        raise TooLarge("no mechanism could be built: " + "; ".join(f"{c.name} {c.reason}" for c in candidates))
    totals = {name: float(mechanism.variances().sum()) for name, mechanism in built.items()}
    least = min(totals.values())
    return next(built[name] for name in _SIMPLEST_FIRST if name in built and totals[name] <= least * (1 + 2 * GAP))


def _hull(sensitivity: Sensitivity, limits: HullLimits | None) -> tuple[SensitivityHull | None, Exception | None]:
    try:
        return sensitivity_hull(sensitivity, limits), None
    except _BUILD_ERRORS as error:
        return None, error


def _or_raise(hull: SensitivityHull | None, refusal: Exception | None) -> SensitivityHull | None:
    if refusal is not None:
        raise refusal
    return hull


def _check_choice(what: str, choice: str, known: tuple[str, ...]) -> None:
    if choice not in known:
        raise UnsupportedCombination(f"there is no {what} '{choice}'; known are {', '.join(known)}")
