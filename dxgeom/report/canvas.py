"""The look that all pictures share. No global state of matplotlib is touched."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

BLUE: Final = "#0072B2"
ORANGE: Final = "#E69F00"
GREEN: Final = "#009E73"
RED: Final = "#D55E00"
GREY: Final = "#767676"
INK: Final = "#222222"
"""From the palette of Okabe and Ito, which colour-blind people can tell apart."""

_DOTS_PER_INCH = 150


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
