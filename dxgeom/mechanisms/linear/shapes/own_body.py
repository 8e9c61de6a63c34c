"""Noise shaped by a body that somebody chose, as large as the metric needs."""

from __future__ import annotations

import numpy as np

from dxgeom.arguments import require
from dxgeom.errors import NotANormBall, TooLarge
from dxgeom.geometry.body import ConvexBody
from dxgeom.mechanisms.linear.additive import AdditiveMechanism, without_noise
from dxgeom.mechanisms.linear.containment import hiding
from dxgeom.mechanisms.linear.mixing import DiagonalMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity
from dxgeom.mechanisms.linear.shapes.round_spaces import LARGEST_DIMENSION
from dxgeom.noise.k_norm import k_norm_noise

_PROBES = 64
_SAME = 1e-9
_LENGTHS = 1e100
"""Lengths between one over this and this are squared and multiplied in float64."""


def body_mechanism(sensitivity: Sensitivity, body: ConvexBody) -> AdditiveMechanism:
    """K-norm noise with K = f·``body``, the body in answer units with a coordinate for each query.

    Definition: f is the smallest factor, up to a relative 1e-7, with ‖Δ_e‖_K ≤ b_e on all generating pairs. Answers
    that nobody can influence carry no noise; what is left hides the shifts of the others as K does.
    Guarantee: every generating difference is hidden, with all rounding errors counted against it: it is shown for the
    law that draws, by that law's own upper bounds on its norm. Of a polytope given by halfspaces the error is rounded
    up, of any other body it is exact up to the rounding of float64.
    Raises: WrongArgument for what is no body; NotANormBall for a body
    of another dimension, or one that is not symmetric; TooLarge beyond 512 queries that need noise, or where no law
    draws the body's noise; CertificateRefused when no finite factor, or no envelope, can be proved.
    """
    require_norm_ball(body, len(sensitivity.queries.names))
    noisy = sensitivity.of_each_query > 0
    if not np.any(noisy):
        return without_noise("body", sensitivity)
    if np.sum(noisy) > LARGEST_DIMENSION:
        raise TooLarge(f"a body of one's own shapes the noise of at most {LARGEST_DIMENSION} queries")
    in_steps = np.diag(1 / sensitivity.queries.float_steps)[noisy]
    law = hiding(k_norm_noise(body), in_steps, sensitivity.proved, noisy)
    return AdditiveMechanism("body", sensitivity, law, DiagonalMixing(noisy))


def require_norm_ball(body: ConvexBody, count: int) -> None:
    """A body that was written for this one plan may be no norm ball at all; a few directions tell the common mistakes.

    Nothing rests on them: a body's own class promises that its exact gauge is a norm.
    Raises: WrongArgument, NotANormBall.
    """
    require(body, ConvexBody, "body", "take one of dxgeom.geometry, as Box, Ellipsoid or HalfspacePolytope")
    if body.dimension != count:
        raise NotANormBall(
            f"the body has {body.dimension} coordinates and there are {count} queries: give it one for each, in their "
            "order and their units"
        )
    probes = np.vstack([np.eye(count), np.random.default_rng(0).standard_normal((_PROBES, count))])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        there, back = body.gauge(probes), body.gauge(-probes)
    if not (np.all(np.isfinite(there)) and np.all(there > 0)):
        raise NotANormBall("the body is flat or has no bound in some direction: its gauge is positive and finite")
    if not np.all((there > 1 / _LENGTHS) & (there < _LENGTHS)):
        raise NotANormBall(
            "the body is too large or too small for float64: only its shape counts, state it in lengths near 1"
        )
    if not np.allclose(there, back, rtol=_SAME, atol=0):
        raise NotANormBall("the body is not symmetric about 0: its gauge is the same at v and at -v")
