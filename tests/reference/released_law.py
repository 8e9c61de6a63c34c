"""Exact cell probabilities of rounded K-norm noise in one and two dimensions.

The density is exp(-gauge(v)) over its total m! vol(K). On the cone over a simplex the gauge is linear, so a cell is cut
into the pieces of the cones, exactly in rationals, and exp of a linear function is integrated over each triangle in
closed form: 2*area times the divided difference of exp at the three heights.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath

mpmath.mp.dps = 60


def interval_law(radius: Fraction, window: int) -> dict[int, mpmath.mpf]:
    """P(round(V) = z) for density exp(-|v|/radius)/(2 radius), |z| <= window."""

    def upper_tail(v: Fraction) -> mpmath.mpf:
        return mpmath.exp(-_real(v / radius)) / 2

    law = {0: 1 - 2 * upper_tail(Fraction(1, 2))}
    for z in range(1, window + 1):
        law[z] = law[-z] = upper_tail(Fraction(2 * z - 1, 2)) - upper_tail(Fraction(2 * z + 1, 2))
    return law


def two_intervals_law(first: Fraction, second: Fraction, window: int) -> dict[int, mpmath.mpf]:
    """P(round(V₁ + V₂) = z) for independent V_i with densities exp(-|v|/radius)/(2 radius) of different radii.

    With the transforms 1/(1 + (r·t)²) in partial fractions the sum's law is (r²·P_r − s²·P_s)/(r² − s²).
    """
    one, other = interval_law(first, window), interval_law(second, window)
    r, s = _real(first**2), _real(second**2)
    return {z: (r * one[z] - s * other[z]) / (r - s) for z in one}


def polygon_law(body, window: int) -> dict[tuple[int, int], mpmath.mpf]:
    """P(round(V) = z) for the K-norm noise of a two-dimensional body, |z_k| <= window."""
    scale = Fraction(body.inflation)
    units = [Fraction(float(unit)) * scale for unit in body.units]
    corners = [
        [tuple(int(x) * unit for x, unit in zip(v, units, strict=True)) for v in _edge(body, f)]
        for f in range(body.facets)
    ]
    total = sum((abs(_cross(a, b)) for a, b in corners), Fraction(0))
    law = {}
    for x in range(-window, window + 1):
        for y in range(-window, window + 1):
            mass = mpmath.mpf(0)
            for a, b in corners:
                mass += _cone_mass((x, y), a, b)
            law[x, y] = mass / _real(total)
    return law


def _edge(body, facet):
    return body.fan.vertices[body.fan.simplices[facet]].tolist()


def _cone_mass(cell, a, b) -> mpmath.mpf:
    """Integral of exp(-gauge) over the part of the unit cell around ``cell`` inside the cone over edge a-b."""
    if _cross(a, b) < 0:
        a, b = b, a
    half = Fraction(1, 2)
    polygon = [(cell[0] + dx * half, cell[1] + dy * half) for dx, dy in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
    polygon = _clip(_clip(polygon, lambda p: _cross(a, p)), lambda p: _cross(p, b))
    if len(polygon) < 3:
        return mpmath.mpf(0)
    area = _cross(a, b)

    def gauge(p):
        return (_cross(p, b) + _cross(a, p)) / area

    mass = mpmath.mpf(0)
    for p, q in pairwise(polygon[1:]):
        o = polygon[0]
        double_area = abs(_cross((p[0] - o[0], p[1] - o[1]), (q[0] - o[0], q[1] - o[1])))
        mass += _real(double_area) * _divided_difference([gauge(o), gauge(p), gauge(q)])
    return mass


def _clip(polygon, side):
    """The part of a convex polygon where ``side`` is not negative, exactly."""
    kept = []
    for k, here in enumerate(polygon):
        following = polygon[(k + 1) % len(polygon)]
        at, then = side(here), side(following)
        if at >= 0:
            kept.append(here)
        if (at < 0 < then) or (then < 0 < at):
            t = at / (at - then)
            kept.append((here[0] + t * (following[0] - here[0]), here[1] + t * (following[1] - here[1])))
    return kept


def _divided_difference(heights) -> mpmath.mpf:
    """exp(-x)[h0, h1, h2] with positive sign; equal heights are parted by 1e-20, an error of that order."""
    parted = [_real(h) + k * mpmath.mpf(10) ** -20 for k, h in enumerate(heights)]
    total = mpmath.mpf(0)
    for k, here in enumerate(parted):
        others = [other for j, other in enumerate(parted) if j != k]
        total += mpmath.exp(-here) / ((here - others[0]) * (here - others[1]))
    return total


def _cross(p, q):
    return p[0] * q[1] - p[1] * q[0]


def _real(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / mpmath.mpf(x.denominator)
