"""Pictures of policies, plans and releases on matplotlib's axes."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.optional_library import optional_library
from dxgeom.progress_line import in_notebook
from dxgeom.report.drawing.scene import DOTS_PER_INCH
from dxgeom.report.showing.briefs import name_of

_HOMES: Final = {"Policy": "policies", "Plan": "plans", "Releasable": "plans", "Release": "releases"}


def plotted(thing: object, about: tuple[str, ...], axes: Any) -> Any:
    """The thing's picture; see ``Pictured.plot``. Raises: UnsupportedCombination, MissingExtra."""
    optional_library("matplotlib", "plots", "pictures are drawn")
    name = name_of(thing, _HOMES)
    scene_of = getattr(import_module(f"dxgeom.report.showing.{_HOMES[name]}"), f"{name.lower()}_scene", None)
    scene = None if scene_of is None else scene_of(thing, about)
    if scene is None:
        what = f" about {', '.join(about)}" if about else ""
        word = "plan" if _HOMES[name] == "plans" else name.lower()
        raise UnsupportedCombination(f"there is nothing to draw of this {word}{what}")
    if axes is None and in_notebook():
        # Only what pyplot knows is shown below a cell.
        size = (scene.width / DOTS_PER_INCH, scene.height / DOTS_PER_INCH)
        _, axes = import_module("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
    return import_module("dxgeom.report.drawing.axes").drawn(scene, axes)
