"""Bodies and their noise: contours of the gauge in two dimensions, shadows and a solid in three."""

from __future__ import annotations

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

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.body import ConvexBody
from dxgeom.geometry.polytope import SymmetricPolytope
from dxgeom.noise.law import NoiseLaw
from dxgeom.report.canvas import BLUE, GREY, INK, empty_picture, legend, literal, panels, save
from dxgeom.report.shadow import closed, shadow_outline

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
    outline = shadow_outline(body, 0, 1) * units
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


def shadows_picture(
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
        outline = shadow_outline(body, *pair) * units[pair]
        seen = noise[:, pair]
        axes.scatter(seen[:, 0], seen[:, 1], s=3, color=BLUE, alpha=0.2, linewidths=0, label="simulated noise at ε = 1")
        axes.fill(*outline.T, color=BLUE, alpha=0.4, linewidth=0, label="the body's shadow", zorder=2)
        axes.plot(*closed(outline).T, color=INK, linewidth=1, zorder=3)
        _frame_shadow(axes, outline, [names[place] for place in pair])
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


def _frame_shadow(axes: Axes, outline: NDArray[np.float64], names: list[str]) -> None:
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
