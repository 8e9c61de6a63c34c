"""Pictures on matplotlib's axes: the look that all share, and a scene's marks at the same numbers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import matplotlib as mpl
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont
from matplotlib.patches import FancyArrowPatch, Polygon

from dxgeom.document.layout import arranged
from dxgeom.document.scene import DOTS_PER_INCH, ON_DARK, Area, Arrow, Dots, Label, Line, Look, Mark, Scene

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
RED: Final = "#D55E00"
GREY: Final = "#767676"
INK: Final = "#222222"
"""From the palette of Okabe and Ito, which colour-blind people can tell apart."""

_DOTS_PER_INCH = 150
_FINE: Final = 300
"""Of pictures for papers."""
_POINTS: Final = 9.0
_LIGHTER: Final = 0.45
"""Of an area in blue, so that marks on it are seen; as in the page's style."""


def colour_of(mechanism: str) -> str:
    """The colour of a mechanism: one for whatever shape was chosen, beside the two that every plan has."""
    return {"laplace": ORANGE, "epsilon-dp": GREY}.get(mechanism, BLUE)


def empty_picture(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of that many inches with one pair of axes."""
    figure, (axes,) = panels(width, height, 1)
    return figure, axes


def panels(width: float, height: float, count: int) -> tuple[Figure, list[Axes]]:
    """A figure of that many inches with axes side by side."""
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    row = [figure.add_subplot(1, count, place + 1) for place in range(count)]
    for axes in row:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=INK, labelsize=9)
    return figure, row


def title(axes: Axes, words: str, below: str) -> None:
    """A title and a smaller line below it."""
    axes.set_title(words, loc="left", fontsize=12.5, color=INK, pad=24)
    axes.annotate(
        below, (0, 1), xytext=(0, 8), xycoords="axes fraction", textcoords="offset points", fontsize=9.5, color=GREY
    )


def legend(figure: Figure, columns: int = 2) -> None:
    """What the colours mean, below the axes, each label once."""
    found: dict[str, Artist] = {}
    for axes in figure.axes:
        artists, labels = axes.get_legend_handles_labels()
        for artist, label in zip(artists, labels, strict=True):
            found.setdefault(label, artist)
    entries = figure.legend(
        list(found.values()), list(found), loc="outside lower center", fontsize=9, frameon=False, ncols=columns
    )
    for handle in entries.legend_handles:
        if isinstance(handle, PathCollection):
            handle.set_sizes([24])
            handle.set_alpha(1)


def literal(words: str, most: int = 60) -> str:
    """A name that somebody wrote, with no character taken for mathematics, and cut when long."""
    shown = "".join(character if character.isprintable() else " " for character in words)
    shown = shown if len(shown) <= most else shown[: most - 1] + "…"
    return shown.replace("$", r"\$")


def save(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write the picture as PNG, whatever the ending of its name."""
    place = Path(path)
    figure.savefig(place, format="png", dpi=_DOTS_PER_INCH)
    return place


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


SHAPES: Final = {".svg": "svg", ".pdf": "pdf", ".png": "png"}
"""What a picture is written as, by how the name of its file ends."""


def write(scene: Scene, path: Path, font: str | None, size: float, inches: tuple[float, float]) -> None:
    """Write the picture as the ending of its name says, with its words as text, in this font and size (in points).

    Guarantee: the same scene gives the same file; nothing of matplotlib's own settings stays changed.
    Raises: ValueError for a font that is not on this machine.
    """
    settings: Any = {"svg.fonttype": "none", "pdf.fonttype": 42, "svg.hashsalt": "dxgeom", "font.size": size}
    if font is not None:
        findfont(font, fallback_to_default=False)
        settings["font.family"] = font
    with mpl.rc_context(settings):
        figure, axes = empty_picture(*inches)
        pixels = [round(inch * DOTS_PER_INCH) for inch in inches]
        drawn(replace(scene, width=pixels[0], height=pixels[1]), axes, size)
        shape = SHAPES[path.suffix.lower()]
        dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(shape)
        figure.savefig(path, format=shape, dpi=_FINE, metadata=dated)


def drawn(scene: Scene, axes: Axes | None = None, size: float = _POINTS) -> Axes:
    """The picture on these axes, or on axes of a figure of its own; ``size``: of its words, in points."""
    if axes is None:
        _, axes = empty_picture(scene.width / DOTS_PER_INCH, scene.height / DOTS_PER_INCH)
    axes.set_xlim(scene.across.low, scene.across.high)
    axes.set_ylim(scene.up.low, scene.up.high)
    if scene.equal:
        axes.set_aspect("equal", adjustable="box")
    for mark in arranged(scene).marks:
        _draw(axes, mark, size)
    axes.set_xlabel(literal(scene.across.title), color=COLOURS["ink"])
    axes.set_ylabel(literal(scene.up.title), color=COLOURS["ink"])
    axes.set_xticks([place for place, _ in scene.across.ticks], [literal(words) for _, words in scene.across.ticks])
    axes.set_yticks([place for place, _ in scene.up.ticks], [literal(words) for _, words in scene.up.ticks])
    axes.tick_params(labelsize=size)
    if not scene.framed:
        axes.set_axis_off()
    return axes


def _draw(axes: Axes, mark: Mark, size: float) -> None:
    match mark:
        case Line():
            style = "--" if mark.dashed else "-"
            axes.plot(*zip(*mark.points, strict=True), style, color=COLOURS[mark.look], linewidth=mark.width)
        case Area():
            edge = "none" if mark.edge is None else COLOURS[mark.edge]
            hatch = "//" if mark.look == "band-5" else None
            face = (COLOURS[mark.look], _LIGHTER) if mark.look == "blue" else COLOURS[mark.look]
            axes.add_patch(Polygon(mark.points, facecolor=face, edgecolor=edge, hatch=hatch))
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
                fontsize=size,
                fontweight="bold" if mark.strong else "normal",
                zorder=5,
            )
        case Arrow():
            arrow = FancyArrowPatch(mark.start, mark.end, arrowstyle="->", mutation_scale=12, shrinkA=0, shrinkB=0)
            arrow.set_color(COLOURS[mark.look])
            axes.add_patch(arrow)
