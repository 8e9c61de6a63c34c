"""What it takes to set a mechanism up: in words that do not depend on the machine, and in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.metrics.operations.changes import ListedChanges
from dxgeom.noise.laws.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.laws.facet_cones import FacetConeNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw


def timed(build: Callable[[], AdditiveMechanism]) -> tuple[AdditiveMechanism, float]:
    """The mechanism and the seconds that building it took; what several candidates share is paid by the first."""
    started = time.perf_counter()
    built = build()
    return built, time.perf_counter() - started


def set_up_of(mechanism: AdditiveMechanism) -> str:
    """The size of what is set up, which decides its cost."""
    changes = mechanism.sensitivity.changes
    found = f"{len(changes.bounds):,} differences" if isinstance(changes, ListedChanges) else "differences in factors"
    match mechanism.law:
        case None:
            return "no noise"
        case LaplaceNoise(scales=scales):
            return f"{len(scales):,} scales from {found}"
        case LinearImageNoise(map=image, inner=inner) if inner.dimension > len(image):
            return f"{inner.dimension:,} sums in {len(image):,} dimensions around {found}"
        case law:
            facets = _facets(law)
            return f"{facets:,} facets around {found}" if facets else f"{law.dimension:,} dimensions around {found}"


def _facets(law: NoiseLaw) -> int:
    """Of all the polytopes in it together."""
    match law:
        case FacetConeNoise(body=body):
            return body.facets
        case LinearImageNoise(inner=inner):
            return _facets(inner)
        case ProductNoise(parts=parts):
            return sum(_facets(part) for part in parts)
        case _:
            return 0
