"""Pictures as files: bodies and their noise in two and three dimensions, the noise of a plan, what a plan gains."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection
from numpy.typing import NDArray

from dxgeom.document.axes import BLUE, GREY, INK, colour_of, empty_picture, legend, literal, panels, save, title
from dxgeom.document.scenes import gauges
from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, optimal_laplace
from dxgeom.noise.law import NoiseLaw
from dxgeom.planner.candidates import title_of
from dxgeom.planner.plan import Plan
from dxgeom.report.projection import closed, projected_differences, projection_of_body, projection_outline

DRAWS = 4000
_CONTOURS = (1, 2, 3, 4)
_CREASE = 0.94
"""Edges are drawn where neighbouring facets' normals have a smaller cosine than this: 20 degrees."""
_LEVEL = 1e-3
_ELEVATION, _AZIMUTH = 24.0, -56.0
_MESH = (61, 121)


def contour_picture(
    body: ConvexBody, law: NoiseLaw, units: NDArray[np.float64], names: tuple[str, str], path: str | os.PathLike[str]
) -> Path:
    """Draw a body in the plane, where its gauge is 1, 2, 3 and 4, and a cloud of its noise.

    Args: ``units`` (2,): what one unit of each coordinate is worth in the numbers shown.
    Raises: UnsupportedCombination unless body and law have two coordinates.
    """
    _require_dimension(body, law, 2)
    figure, axes = empty_picture(6.4, 6.6)
    outline = projection_outline(body, 0, 1) * units
    noise = law.simulate(DRAWS, np.random.default_rng(0)) * units
    axes.scatter(noise[:, 0], noise[:, 1], s=3, color=BLUE, alpha=0.25, linewidths=0, label="simulated noise at ε = 1")
    for level in _CONTOURS:
        label = "where the gauge is so large" if level == 1 else None
        axes.plot(*closed(level * outline).T, color=INK, linewidth=0.7, alpha=0.8, label=label, zorder=3)
        _write_level(axes, level, outline)
    axes.fill(*outline.T, color=BLUE, alpha=0.4, linewidth=0, label="the body", zorder=2)
    limits = 1.08 * _CONTOURS[-1] * np.abs(outline).max(axis=0)
    if max(limits) < 3 * min(limits):
        axes.set_aspect("equal", adjustable="box")
    axes.set_xlim(-limits[0], limits[0])
    axes.set_ylim(-limits[1], limits[1])
    axes.set_xlabel(f"noise in: {literal(names[0])}", color=INK)
    axes.set_ylabel(f"noise in: {literal(names[1])}", color=INK)
    legend(figure, 3)
    return save(figure, path)


def projections_picture(
    body: ConvexBody,
    law: NoiseLaw,
    units: NDArray[np.float64],
    names: tuple[str, str, str],
    path: str | os.PathLike[str],
) -> Path:
    """Draw the three orthogonal shadows of a body of three coordinates, each with its noise's.

    Args: ``units`` (3,): what one unit of each coordinate is worth in the numbers shown.
    Raises: UnsupportedCombination unless body and law have three coordinates.
    """
    _require_dimension(body, law, 3)
    figure, row = panels(11.4, 4.4, 3)
    noise = law.simulate(DRAWS, np.random.default_rng(0)) * units
    for axes, pair in zip(row, ([0, 1], [0, 2], [1, 2]), strict=True):
        outline = projection_outline(body, *pair) * units[pair]
        seen = noise[:, pair]
        axes.scatter(seen[:, 0], seen[:, 1], s=3, color=BLUE, alpha=0.2, linewidths=0, label="simulated noise at ε = 1")
        axes.fill(*outline.T, color=BLUE, alpha=0.4, linewidth=0, label="the body's shadow", zorder=2)
        axes.plot(*closed(outline).T, color=INK, linewidth=1, zorder=3)
        _frame_projection(axes, outline, [names[place] for place in pair])
    legend(figure)
    return save(figure, path)


def solid_picture(
    body: ConvexBody, units: NDArray[np.float64], names: tuple[str, str, str], path: str | os.PathLike[str]
) -> Path:
    """Draw a body of three coordinates as a shaded solid: a polytope by its facets, another by a fine mesh.

    Args: ``units`` (3,): what one unit of each coordinate is worth in the numbers shown.
    Raises: UnsupportedCombination unless the body has three coordinates.
    """
    _require_dimension(body, None, 3)
    figure = Figure(figsize=(6.4, 5.8))
    FigureCanvasAgg(figure)
    axes: Any = figure.add_axes((0.0, 0.02, 0.95, 1.04), projection="3d")
    axes.set_proj_type("ortho")
    reach = body.support_function(np.eye(3))
    solid = body.polytope
    triangles = _radial_mesh(body) if solid is None else solid.vertices[solid.fan.simplices]
    normals = _normals(triangles / reach)
    seen = normals @ _towards_viewer() > 0
    colours = _shaded(normals[seen])
    axes.add_collection3d(
        Poly3DCollection(triangles[seen] * units, facecolors=colours, edgecolors=colours, linewidths=0.4)
    )
    if solid is not None:
        creases = _creases(solid, normals, seen)
        axes.add_collection3d(Line3DCollection(creases * units * 1.003, colors=INK, linewidths=0.8))
    for name, limit in zip("xyz", reach * units, strict=True):
        getattr(axes, f"set_{name}lim")(-limit, limit)
        getattr(axes, f"{name}axis").set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    axes.set_box_aspect((1, 1, 1), zoom=0.92)
    axes.view_init(elev=_ELEVATION, azim=_AZIMUTH)
    axes.set_xlabel(literal(names[0], 24), color=INK, labelpad=8)
    axes.set_ylabel(literal(names[1], 24), color=INK, labelpad=8)
    axes.set_zlabel(literal(names[2], 24), color=INK, labelpad=6)
    axes.tick_params(colors=INK, labelsize=8)
    return save(figure, path)


def _require_dimension(body: ConvexBody, law: NoiseLaw | None, size: int) -> None:
    found = {body.dimension} if law is None else {body.dimension, law.dimension}
    if found != {size}:
        raise UnsupportedCombination(f"this picture is of {size} coordinates, found {sorted(found)}")


def _write_level(axes: Axes, level: int, outline: NDArray[np.float64]) -> None:
    """The gauge's value where the contour is highest, halfway along a flat top."""
    tops = outline[outline[:, 1] > outline[:, 1].max() * (1 - _LEVEL)]
    highest = (tops.min(axis=0) + tops.max(axis=0)) / 2
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    across, up = (level * highest).tolist()
    axes.text(across, up, str(level), fontsize=8.5, color=INK, ha="center", va="center", bbox=box, zorder=4)


def _frame_projection(axes: Axes, outline: NDArray[np.float64], names: list[str]) -> None:
    limits = 2.4 * np.abs(outline).max(axis=0)
    axes.set_xlim(-limits[0], limits[0])
    axes.set_ylim(-limits[1], limits[1])
    axes.set_box_aspect(1)
    axes.set_xlabel(literal(names[0], 30), color=INK)
    axes.set_ylabel(literal(names[1], 30), color=INK)
    axes.axhline(0, color=GREY, linewidth=0.4, zorder=0)
    axes.axvline(0, color=GREY, linewidth=0.4, zorder=0)


def _creases(body: SymmetricPolytope, normals: NDArray[np.float64], seen: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The edges (E, 2, 3) where the surface turns clearly, on the side that is seen."""
    simplices = body.fan.simplices
    sides = np.sort(np.concatenate([simplices[:, [0, 1]], simplices[:, [0, 2]], simplices[:, [1, 2]]]), axis=1)
    facets = np.tile(np.arange(len(simplices)), 3)
    order = np.lexsort(sides.T)
    sides, pairs = sides[order][::2], facets[order].reshape(-1, 2)
    turns = np.sum(normals[pairs[:, 0]] * normals[pairs[:, 1]], axis=1) < _CREASE
    return np.asarray(body.vertices[sides[turns & np.any(seen[pairs], axis=1)]])


def _radial_mesh(body: ConvexBody) -> NDArray[np.float64]:
    """Triangles (F, 3, 3) over a grid of directions."""
    polar, around = np.meshgrid(np.linspace(0, np.pi, _MESH[0]), np.linspace(0, 2 * np.pi, _MESH[1]), indexing="ij")
    directions = np.stack([np.sin(polar) * np.cos(around), np.sin(polar) * np.sin(around), np.cos(polar)], axis=2)
    directions = directions * body.support_function(np.eye(3))
    points = directions / body.gauge(directions)[:, :, None]
    one, other = points[:-1, :-1], points[1:, 1:]
    halves = [np.stack([one, points[1:, :-1], other], axis=2), np.stack([one, other, points[:-1, 1:]], axis=2)]
    return np.concatenate([half.reshape(-1, 3, 3) for half in halves])


def _normals(triangles: NDArray[np.float64]) -> NDArray[np.float64]:
    """Outward unit normals (F, 3) of triangles (F, 3, 3) around the origin; 0 for one that is only a line."""
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    outward = np.sign(np.sum(normals * triangles.mean(axis=1), axis=1))
    lengths = np.linalg.norm(normals, axis=1)
    return np.asarray(normals * (outward / np.where(lengths > 0, lengths, 1))[:, None])


def _towards_viewer() -> NDArray[np.float64]:
    up, around = np.deg2rad([_ELEVATION, _AZIMUTH])
    return np.array([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)])


def _shaded(normals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Colours (F, 3): bright towards a light above the viewer's left shoulder."""
    around = np.deg2rad(_AZIMUTH)
    left = np.array([np.sin(around), -np.cos(around), 0])
    light = _towards_viewer() + 0.7 * left + np.array([0, 0, 0.6])
    brightness = (0.5 + 0.5 * normals @ (light / np.linalg.norm(light)))[:, None]
    white, base = np.ones(3), np.array(to_rgb(BLUE))
    return np.asarray(base * (0.5 + 0.5 * brightness) + (white - base) * 0.55 * brightness**2)


_IN_SCALE = 4.0
"""A body larger than this many times the chosen one is mentioned, not drawn."""
_MOST_DIFFERENCES = 5000
_MOST_BARS = 40
_HELD = ((0.5, ":"), (0.95, "--"))
"""Shares of the noise that outlines of the body hold, and how they are drawn."""


def noise_body_picture(plan: Plan, first_query: str, second_query: str, path: str | os.PathLike[str]) -> Path:
    """Draw the shadow of the chosen noise body on two queries, beside those of Laplace and of ordinary ε-DP.

    In answer units at spend 1: the body, how far a change of one record at distance 1 can move the two answers, and
    simulated noise. Bodies too large for the picture are named with their size.
    Raises: UnsupportedCombination for an unknown query, for twice the same, or when the two get no noise.
    """
    first, second = _query(plan, first_query), _query(plan, second_query)
    if first == second:
        raise UnsupportedCombination(f"a shadow needs two different queries, found '{first_query}' twice")
    chosen = plan.mechanism
    shadow = projection_of_body(chosen, first, second)
    reach = np.max(np.abs(shadow), axis=0)
    if not np.all(reach > 0):
        raise UnsupportedCombination("one of these two answers needs no noise, so there is nothing to draw")
    figure, axes = empty_picture(7.2, 7.0)
    noise = _noise(chosen, first, second)
    colour = colour_of(chosen.name)
    for other in _others(plan):
        _draw_comparison(axes, other, projection_of_body(other, first, second), reach)
    _draw_polygon(axes, shadow, colour, f"{title_of(chosen.name)} (chosen)", filled=True)
    moved = _thinned(projected_differences(chosen, first, second))
    words = "moves by one record, per unit of distance"
    axes.scatter(moved[:, 0], moved[:, 1], s=9, color=INK, linewidths=0, zorder=4, label=words)
    _frame(axes, np.maximum(1.35 * reach, np.quantile(np.abs(noise), 0.985, axis=0)))
    _draw_noise(axes, noise, shadow, colour)
    axes.set_xlabel(f"change of: {literal(first_query)}", color=INK)
    axes.set_ylabel(f"change of: {literal(second_query)}", color=INK)
    legend(figure)
    title(
        axes, f"The noise of {literal(plan.metric.title)}, seen on two queries", "in units of the answers, at spend 1"
    )
    return save(figure, path)


def improvement_picture(plan: Plan, path: str | os.PathLike[str]) -> Path:
    """Draw for each query how many times smaller the error is than under ordinary ε-DP, the chosen mechanism beside
    optimal Laplace, as dots from 1, for lengths mean nothing on a logarithmic axis.

    The ratio of root mean squared errors at the same spend; beside it the error itself at spend 1.
    At most 40 queries are drawn.
    Raises: UnsupportedCombination when ordinary ε-DP adds no noise, or nothing else was built.
    """
    every = improvement_factors(plan)
    factors = {name: every[name] for name in dict.fromkeys((plan.mechanism.name, "laplace")) if name in every}
    names = plan.queries.names[:_MOST_BARS]
    places = np.arange(len(names))[::-1]
    thickness = 0.8 / len(factors)
    figure, axes = empty_picture(9.6, 1.9 + 0.62 * len(names))
    errors = {one.name: np.sqrt(one.per_query) for one in plan.candidates if one.predicted_mse is not None}
    largest = max(float(np.max(each[np.isfinite(each)], initial=1.0)) for each in factors.values())
    for rank, (mechanism, each) in enumerate(factors.items()):
        offset = 0.4 - thickness * (rank + 0.5)
        chosen = " (chosen)" if mechanism == plan.mechanism.name else ""
        lengths = np.where(np.isfinite(each), each, largest)[: len(names)]
        label = f"{title_of(mechanism)}{chosen}"
        colour = colour_of(mechanism)
        axes.hlines(places + offset, 1, lengths, color=colour, linewidth=1, alpha=0.6)
        axes.plot(lengths, places + offset, "o", markersize=5, color=colour, label=label)
        for place, factor, length, error in zip(places + offset, each, lengths, errors[mechanism], strict=False):
            words = f"{_short(factor)} times, rmse {_short(error)}" if math.isfinite(factor) else "exact answer"
            axes.text(length, place, f"   {words}", va="center", fontsize=8, color=INK)
    axes.axvline(1, color=GREY, linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(min(0.7, *(float(each.min()) * 0.7 for each in factors.values())), max(10.0, largest) ** 1.24)
    axes.set_yticks(places, [literal(name, 48) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("rmse under ordinary ε-DP / rmse of the mechanism (logarithmic; 1 is no gain)", color=INK)
    legend(figure)
    count = len(plan.queries.names)
    left_out = f"; the first {_MOST_BARS} of {count} queries" if count > _MOST_BARS else ""
    title(
        axes,
        f"How many times smaller the errors are: {literal(plan.metric.title)}",
        f"against ordinary ε-DP, protecting the two closest records as well; rmse at spend 1{left_out}",
    )
    return save(figure, path)


def improvement_factors(plan: Plan) -> dict[str, NDArray[np.float64]]:
    """For each mechanism that was built, (K,): rmse under ordinary ε-DP over its rmse; ∞ where the answer is exact.

    Raises: UnsupportedCombination when there is no ε-DP error to compare with.
    """
    per_query = {each.name: np.array(each.per_query) for each in plan.candidates if each.predicted_mse is not None}
    baseline = per_query.pop(plan.ordinary.name, np.zeros(0))
    if not np.any(baseline > 0) or not per_query:
        raise UnsupportedCombination("ordinary ε-DP adds no noise to these queries: there is nothing to compare with")
    return {name: _ratio(baseline, variances) for name, variances in per_query.items()}


def _ratio(baseline: NDArray[np.float64], variances: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(variances > 0, np.sqrt(baseline / variances), np.inf))


def _query(plan: Plan, name: str) -> int:
    if name not in plan.queries.names:
        raise UnsupportedCombination(f"the plan has no query '{name}'; it has {', '.join(plan.queries.names)}")
    return int(plan.queries.names.index(name))


def _others(plan: Plan) -> list[AdditiveMechanism]:
    sensitivity = plan.mechanism.sensitivity
    others = (optimal_laplace(sensitivity), epsilon_dp_laplace(sensitivity))
    return [other for other in others if other.name != plan.mechanism.name]


def _noise(mechanism: AdditiveMechanism, first: int, second: int) -> NDArray[np.float64]:
    """Simulated noise (DRAWS, 2) of two answers; the seed is fixed so that a picture can be drawn again."""
    if mechanism.law is None:
        return np.zeros((DRAWS, 2))
    draws = mechanism.law.simulate(DRAWS, np.random.default_rng(0))
    return np.asarray(draws @ mechanism.float_mixing[[first, second]].T)


def _frame(axes: Axes, limits: NDArray[np.float64]) -> None:
    """Limits of both axes around 0, at the same scale unless one answer changes far less than the other."""
    if max(limits) < 6 * min(limits):
        axes.set_aspect("equal", adjustable="box")
        limits = np.full(2, max(limits))
    axes.set_xlim(-limits[0], limits[0])
    axes.set_ylim(-limits[1], limits[1])


def _draw_noise(axes: Axes, noise: NDArray[np.float64], projection: NDArray[np.float64], colour: str) -> None:
    """Simulated noise; what lies beyond the edge as crosses at the edge; outlines that hold half of it, and 95 %."""
    edge = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    beyond = np.any(np.abs(noise) > edge, axis=1)
    inside, clipped = noise[~beyond], np.clip(noise[beyond], -edge, edge)
    axes.scatter(inside[:, 0], inside[:, 1], s=3, color=colour, alpha=0.22, linewidths=0, label="simulated noise")
    if len(clipped):
        words = f"{len(clipped)} of {len(noise):,} beyond the edge, drawn at it"
        axes.scatter(clipped[:, 0], clipped[:, 1], s=14, marker="x", color=colour, clip_on=False, label=words)
    outline = closed(projection)
    sizes = gauges(projection, noise)
    for share, style in _HELD:
        size = np.quantile(sizes, share)
        axes.plot(*(size * outline).T, linestyle=style, linewidth=1, color=INK, label=f"holds {share:.0%} of the noise")


def _draw_comparison(
    axes: Axes, mechanism: AdditiveMechanism, projection: NDArray[np.float64], reach: NDArray[np.float64]
) -> None:
    words, colour = title_of(mechanism.name), colour_of(mechanism.name)
    times = float(np.max(np.max(np.abs(projection), axis=0) / reach))
    if times <= _IN_SCALE:
        _draw_polygon(axes, projection, colour, words, filled=False)
    else:
        axes.plot([], [], color=colour, linestyle=":", label=f"{words}: {_short(times)} times as wide, not drawn")


def _draw_polygon(axes: Axes, projection: NDArray[np.float64], colour: str, label: str, *, filled: bool) -> None:
    outline = closed(projection)
    if filled:
        axes.fill(*outline.T, color=colour, alpha=0.25, linewidth=0)
    axes.plot(*outline.T, color=colour, linewidth=2, linestyle="-" if filled else "--", label=label, zorder=3)


def _thinned(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """At most so many points that a picture stays small, the longest kept."""
    longest = np.argsort(-np.max(np.abs(points) / np.max(np.abs(points), axis=0).clip(1e-300), axis=1))
    return points[longest[:_MOST_DIFFERENCES]]


def _short(factor: float) -> str:
    if factor >= 1e6:
        return f"{factor / 1e6:,.3g} million"
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.2g}"
