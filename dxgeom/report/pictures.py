"""Two pictures of a plan: the body that shapes its noise, and what that body gains."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, optimal_laplace
from dxgeom.planner.candidates import title_of
from dxgeom.planner.plan import Plan
from dxgeom.report.canvas import GREY, INK, colour_of, empty_picture, legend, literal, save, title
from dxgeom.report.shadow import closed, shadow_of_body, shadow_of_differences

DRAWS = 4000
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
    shadow = shadow_of_body(chosen, first, second)
    reach = np.max(np.abs(shadow), axis=0)
    if not np.all(reach > 0):
        raise UnsupportedCombination("one of these two answers needs no noise, so there is nothing to draw")
    figure, axes = empty_picture(7.2, 7.0)
    noise = _noise(chosen, first, second)
    colour = colour_of(chosen.name)
    for other in _others(plan):
        _draw_comparison(axes, other, shadow_of_body(other, first, second), reach)
    _draw_polygon(axes, shadow, colour, f"{title_of(chosen.name)} (chosen)", filled=True)
    moved = _thinned(shadow_of_differences(chosen, first, second))
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
    return plan.queries.names.index(name)


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


def _draw_noise(axes: Axes, noise: NDArray[np.float64], shadow: NDArray[np.float64], colour: str) -> None:
    """Simulated noise; what lies beyond the edge as crosses at the edge; outlines that hold half of it, and 95 %."""
    edge = np.array([axes.get_xlim()[1], axes.get_ylim()[1]])
    beyond = np.any(np.abs(noise) > edge, axis=1)
    inside, clipped = noise[~beyond], np.clip(noise[beyond], -edge, edge)
    axes.scatter(inside[:, 0], inside[:, 1], s=3, color=colour, alpha=0.22, linewidths=0, label="simulated noise")
    if len(clipped):
        words = f"{len(clipped)} of {len(noise):,} beyond the edge, drawn at it"
        axes.scatter(clipped[:, 0], clipped[:, 1], s=14, marker="x", color=colour, clip_on=False, label=words)
    outline = closed(shadow)
    for share, style in _HELD:
        size = np.quantile(_gauge(shadow, noise), share)
        axes.plot(*(size * outline).T, linestyle=style, linewidth=1, color=INK, label=f"holds {share:.0%} of the noise")


def _gauge(polygon: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n,) how many times as large a convex polygon around 0 has to be to hold each point."""
    sides = np.roll(polygon, -1, axis=0) - polygon
    normals = np.column_stack([sides[:, 1], -sides[:, 0]])
    offsets = np.einsum("ij,ij->i", normals, polygon)
    flat = np.abs(offsets) > 0
    return np.asarray(np.max(points @ (normals[flat] / offsets[flat, None]).T, axis=1))


def _draw_comparison(
    axes: Axes, mechanism: AdditiveMechanism, shadow: NDArray[np.float64], reach: NDArray[np.float64]
) -> None:
    words, colour = title_of(mechanism.name), colour_of(mechanism.name)
    times = float(np.max(np.max(np.abs(shadow), axis=0) / reach))
    if times <= _IN_SCALE:
        _draw_polygon(axes, shadow, colour, words, filled=False)
    else:
        axes.plot([], [], color=colour, linestyle=":", label=f"{words}: {_short(times)} times as wide, not drawn")


def _draw_polygon(axes: Axes, shadow: NDArray[np.float64], colour: str, label: str, *, filled: bool) -> None:
    outline = closed(shadow)
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
