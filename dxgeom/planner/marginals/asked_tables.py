"""Which kinds of noise are tried for whole tables of counts, and what each squared error counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.parts.basis_mechanism import KRONECKER
from dxgeom.mechanisms.parts.scales import LAPLACE, NORMAL
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.planner.options import AUTO
from dxgeom.privacy.currencies import CONCENTRATED, require_for_normal_noise
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def kinds_of(metric: VerifiedMetric, mechanism: str) -> tuple[str, ...]:
    """The kinds of noise that are tried. Raises: UnsupportedCombination."""
    if mechanism not in (AUTO, NORMAL, LAPLACE, KRONECKER):
        raise UnsupportedCombination(
            f"whole tables of counts over universes of any size are answered by {LAPLACE}, {NORMAL} or "
            f"{KRONECKER}, and '{mechanism}' needs a count of every record type: ask for them as dx.LinearQueries"
        )
    if mechanism in (NORMAL, KRONECKER):
        require_for_normal_noise(metric.privacy)
    if mechanism != AUTO:
        return (mechanism,)
    return (LAPLACE, NORMAL, KRONECKER) if metric.privacy == CONCENTRATED else (LAPLACE,)


def costs_of(queries: MarginalQueries) -> NDArray[np.float64]:
    """(tables,): what the squared error of each cell counts."""
    if any(queries.errors):
        sharpest = min(one for one in queries.errors if one is not None)
        return np.array([float(1 / (100 * sharpest) ** 2 if one is None else 1 / one**2) for one in queries.errors])
    if queries.importance is not None:
        return np.array([float(one) for one in queries.importance])
    return np.ones(len(queries.asked))
