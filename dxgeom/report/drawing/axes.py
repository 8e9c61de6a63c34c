"""A picture on matplotlib's axes: the same marks at the same numbers."""

from __future__ import annotations

from typing import Final

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, Polygon

from dxgeom.report.canvas import empty_picture, literal
from dxgeom.report.drawing.scene import DOTS_PER_INCH, ON_DARK, Area, Arrow, Dots, Label, Line, Look, Mark, Scene

COLOURS: Final[dict[Look, str]] = {
    "ink": "#1b2530",
    "muted": "#4d5a68",
    "blue": "#0b5394",
    "pale": "#cfe2f3",
    "orange": "#a83f00",
    "ground": "#ffffff",
    "band-1": "#fdf3e3",
    "band-2": "#fbd3a0",
    "band-3": "#f09a4a",
    "band-4": "#a83f00",
    "band-5": "#1b2530",
}


def drawn(scene: Scene, axes: Axes | None = None) -> Axes:
    """The picture on these axes, or on axes of a figure of its own."""
    if axes is None:
        _, axes = empty_picture(scene.width / DOTS_PER_INCH, scene.height / DOTS_PER_INCH)
    axes.set_xlim(scene.across.low, scene.across.high)
    axes.set_ylim(scene.up.low, scene.up.high)
    if scene.equal:
        axes.set_aspect("equal", adjustable="box")
    for mark in scene.marks:
        _draw(axes, mark)
    axes.set_xlabel(literal(scene.across.title), color=COLOURS["ink"])
    axes.set_ylabel(literal(scene.up.title), color=COLOURS["ink"])
    axes.set_xticks([place for place, _ in scene.across.ticks], [literal(words) for _, words in scene.across.ticks])
    axes.set_yticks([place for place, _ in scene.up.ticks], [literal(words) for _, words in scene.up.ticks])
    if not scene.framed:
        axes.set_axis_off()
    return axes


def _draw(axes: Axes, mark: Mark) -> None:
    match mark:
        case Line():
            style = "--" if mark.dashed else "-"
            axes.plot(*zip(*mark.points, strict=True), style, color=COLOURS[mark.look], linewidth=mark.width)
        case Area():
            edge = "none" if mark.edge is None else COLOURS[mark.edge]
            hatch = "//" if mark.look == "band-5" else None
            axes.add_patch(Polygon(mark.points, facecolor=COLOURS[mark.look], edgecolor=edge, hatch=hatch))
        case Dots():
            x, y = zip(*mark.points, strict=True)
            axes.scatter(x, y, s=mark.size**2 * 0.7, color=COLOURS[mark.look], zorder=4)
        case Label():
            colour = COLOURS[mark.look] if mark.on is None else "#ffffff" if mark.on in ON_DARK else COLOURS["ink"]
            axes.annotate(
                literal(mark.words),
                mark.at,
                xytext=(mark.shift[0], -mark.shift[1]),
                textcoords="offset points",
                ha={"start": "left", "middle": "center", "end": "right"}[mark.anchor],
                va="center",
                color=colour,
                fontsize=9,
                fontweight="bold" if mark.strong else "normal",
                zorder=5,
            )
        case Arrow():
            arrow = FancyArrowPatch(mark.start, mark.end, arrowstyle="->", mutation_scale=12, shrinkA=0, shrinkB=0)
            arrow.set_color(COLOURS[mark.look])
            axes.add_patch(arrow)
