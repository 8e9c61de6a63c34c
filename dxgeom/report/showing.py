"""How things look: a line in a terminal, a short document in a notebook, a picture when asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Final

from dxgeom.arguments import NUMBER, require
from dxgeom.document.scene import DOTS_PER_INCH
from dxgeom.errors import UnsupportedCombination, file_errors
from dxgeom.numeric.optional_library import optional_library
from dxgeom.progress_line import in_notebook
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.document.document import Document
    from dxgeom.document.scene import Scene


def brief(thing: object) -> str:
    """The line; for what is not known here Python's own."""
    say = _BRIEFS.get(name_of(thing, _BRIEFS))
    return object.__repr__(thing) if say is None else f"<{type(thing).__name__} {say(thing)}>"


def name_of(thing: object, known: Collection[str]) -> str:
    """What it is called among those that are known: by its class, or one that this is of; '' where by none."""
    return next((one.__name__ for one in type(thing).__mro__ if one.__name__ in known), "")


def _policy(policy: Any) -> str:
    rules = f"{len(policy.rules)} rule{'' if len(policy.rules) == 1 else 's'}"
    return f"{policy.name!r}: {policy.universe.record_types:,} possible records, {rules}, budget {plain(policy.budget)}"


def _metric(metric: Any) -> str:
    return f"{metric.title!r}: {metric.certificate.form} on {metric.size:,} records, budget {plain(metric.budget)}"


def _certificate(certificate: Any) -> str:
    return f"{certificate.form} on {certificate.size:,} values: {certificate.verdict}"


def _plan(plan: Any) -> str:
    if not plan.answers_a_list:
        return f"of {plan.mechanism.account.policy_name!r}: {plan.purpose}"
    errors = plan.plan.rmse()
    return (
        f"of {plan.metric.title!r}: {plan.queries.count:,} queries by {plan.mechanism.name}, rmse "
        f"{errors.min():.3g} to {errors.max():.3g} at spend 1"
    )


def _candidate(candidate: Any) -> str:
    said = candidate.reason if candidate.predicted_mse is None else f"mean squared error {candidate.predicted_mse:.4g}"
    return f"{candidate.name}: {said}"


def _release(release: Any) -> str:
    answered = getattr(release.answer, "names", None)
    count = "an answer" if answered is None else f"{len(answered):,} answers"
    return (
        f"of {release.mechanism.account.policy_name!r}: {count}, spent {plain(release.spent)}, "
        f"{plain(release.remaining)} left"
    )


def _answers(answers: Any) -> str:
    return f"{len(answers.by_name):,} by name"


def _estimate(estimate: Any) -> str:
    return f"of {len(estimate.names):,} by name, of {estimate.plan_fingerprint[:12]}"


def _ledger(ledger: Any) -> str:
    where = "in memory" if ledger.file is None else repr(ledger.file)
    return f"{where} of policy {ledger.account.policy_name!r}, budget {plain(ledger.account.budget)}"


_BRIEFS: Final[dict[str, Callable[[Any], str]]] = {
    "Policy": _policy,
    "VerifiedMetric": _metric,
    "MetricCertificate": _certificate,
    "Plan": _plan,
    "CandidateResult": _candidate,
    "Release": _release,
    "Ledger": _ledger,
    "ShownAnswers": _answers,
    "Estimate": _estimate,
}


def document_for(thing: object) -> Document:
    """All that there is to show of it."""
    said: Document = _in_notebook(thing, "")(thing)
    return said


def short_document_for(thing: object) -> Document:
    """What is shown at a glance."""
    short: Document = (_in_notebook(thing, "_short") or _in_notebook(thing, ""))(thing)
    return short


def fragment_for(thing: object) -> str:
    """The same as HTML."""
    return short_document_for(thing).fragment()


def screen_for(thing: object) -> str:
    """The same as text; of what has no screen its line."""
    name = name_of(thing, _BRIEFS)
    short = _in_notebook(thing, "_short") if name else None
    return brief(thing) if short is None else "\n".join(_without_pictures(short(thing)).lines())


def _without_pictures(document: Document) -> Document:
    from dxgeom.document.document import Picture

    kept = (one for one in document.sections if not any(isinstance(block, Picture) for block in one.blocks))
    return replace(document, sections=tuple(kept))


def _in_notebook(thing: object, what: str) -> Any:
    """The function that is named after its class; None where there is none."""
    name = name_of(thing, _BRIEFS).lower()
    return getattr(import_module("dxgeom.report.notebook"), f"{name}{what}", None) if name else None


def plotted(thing: object, about: tuple[str, ...], axes: Any) -> Any:
    """The thing's picture; see ``Pictured.plot``. Raises: UnsupportedCombination, MissingExtra."""
    optional_library("matplotlib", "plots", "pictures are drawn")
    scene = _scene_of(thing, about)
    if axes is None and in_notebook():
        # Only what pyplot knows is shown below a cell.
        size = (scene.width / DOTS_PER_INCH, scene.height / DOTS_PER_INCH)
        _, axes = import_module("matplotlib.pyplot").subplots(figsize=size, layout="constrained")
    return import_module("dxgeom.document.axes").drawn(scene, axes)


def _scene_of(thing: object, about: tuple[str, ...]) -> Scene:
    """The thing's picture as marks. Raises: UnsupportedCombination where there is none."""
    scene_of = _in_notebook(thing, "_scene")
    scene: Scene | None = None if scene_of is None else scene_of(thing, about)
    if scene is None:
        what = f" about {', '.join(about)}" if about else ""
        name = name_of(thing, _BRIEFS).lower() or f"'{type(thing).__name__}'"
        raise UnsupportedCombination(f"there is nothing to draw of this {name}{what}")
    return scene


_SIZES: Final = ((4.0, 40.0), (0.5, 50.0))
"""Points of words, and inches, that make sense."""
_POINTS_OF_SCENES: Final = 12.0
"""Of words in a scene's own pixels."""


def save(
    thing: object,
    path: str | os.PathLike[str],
    *about: str,
    font: str | None = None,
    font_size: float = 9.0,
    width: float | None = None,
    height: float | None = None,
) -> Path:
    """Write the picture of a policy, a plan or a release to a file, for a paper: SVG, PDF or PNG by its ending.

    Args: ``about``: as in ``plot``; ``font``: a family that this machine has; ``font_size`` in points; ``width`` and
    ``height`` in inches: left out, those of the picture, and of one given the other follows.
    Returns: the file. Words in it are text, not outlines; the same thing gives the same file.
    Raises: UnsupportedCombination for another ending, a font that is not there, sizes that make no sense, and where
    there is nothing to draw; MissingExtra without matplotlib; DataError where the file cannot be written.
    """
    require(path, (str, os.PathLike), "path", "name the file, such as 'odds.svg'")
    for one in about:
        require(one, str, "about", "name an attribute, or answers, as plot() does")
    require(font, (str, NoneType), "font", "name a family of this machine, or leave it out")
    for size, what in ((font_size, "font_size"), (width, "width"), (height, "height")):
        require(size, (*NUMBER, NoneType), what, "give a number, or leave it out")
    optional_library("matplotlib", "plots", "pictures are drawn")
    drawing, place = import_module("dxgeom.document.axes"), Path(path)
    wrong = [] if place.suffix.lower() in drawing.SHAPES else [f"a file that ends in {', '.join(drawing.SHAPES)}"]
    given = ((font_size, "font_size", _SIZES[0]), (width, "width", _SIZES[1]), (height, "height", _SIZES[1]))
    for number, name, (least, most) in given:
        if number is not None and not least <= number <= most:
            wrong.append(f"{name} from {least:g} to {most:g}, found {number}")
    if wrong:
        raise UnsupportedCombination(f"a picture needs {'; '.join(wrong)}: '{place.name}' is not written")
    scene = _scene_of(thing, about)
    if width and scene.within is not None:
        scene = scene.within(width * DOTS_PER_INCH * _POINTS_OF_SCENES / font_size)
    shape = scene.height / scene.width
    across = width or (height / shape if height else scene.width / DOTS_PER_INCH)
    try:
        with file_errors(place, "written"):
            drawing.write(scene, place, font, font_size, (across, height or across * shape))
    except ValueError as error:
        raise UnsupportedCombination(
            f"the font '{font}' is not on this machine: leave it out, or install it"
        ) from error
    return place
