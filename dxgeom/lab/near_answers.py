"""Answers near a secret: on the line of its numbers or days by noise in layers, near a place by planar Laplace."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.lab.line_noise import LineNoise, layered_line, staircase
from dxgeom.lab.planar import Place, planar_laplace
from dxgeom.lab.secrets import LEVEL, AnswerKind, ReadyAnswer, SecretAnswer, Secrets
from dxgeom.lab.task import SecretTask
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.places import PointsAttribute


@final
class Lines(AnswerKind):
    """Noise in layers on the line of a secret's numbers."""

    words = ("staircase", "layered")
    keys = ("of", "width")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if secrets.numbers is None:
            raise UnsupportedCombination(f"{task.answer} is noise for numbers and days, and these values are none")
        if task.answer == "staircase":
            if task.width is not None:
                raise UnsupportedCombination("a staircase has its own best width: leave 'width' out, or take 'layered'")
            noise = staircase(secrets.metric, secrets.numbers, spend)
        else:
            noise = layered_line(secrets.metric, secrets.numbers, spend, task.width)
        errors = self._errors(noise)

        def present(answer: Fraction) -> SecretAnswer:
            return SecretAnswer(plain(answer), _in_words(answer, secrets.attribute), "", errors)

        return ReadyAnswer(noise, present, errors)

    def _errors(self, noise: LineNoise) -> tuple[str, ...]:
        return (
            f"off by {noise.mean_absolute:.4g} on average, {noise.root_mean_square:.4g} root mean squared; exact",
            f"off by at most {float(noise.radius(LEVEL)):.4g} with probability at least {LEVEL:g}",
        )


def _in_words(answer: Fraction, attribute: Attribute | None) -> str:
    """A number, or the day that is so many days after the first."""
    if not isinstance(attribute, DateAttribute):
        return plain(answer)
    try:
        return (attribute.first + timedelta(days=int(answer))).isoformat()
    except OverflowError:
        return f"{int(answer):,} days after {attribute.first.isoformat()}"


KM_A_DEGREE: Final = 6371.0088 * math.pi / 180
_FINEST: Final = 1 << 20
_FINER_THAN_NOISE: Final = 50


@final
class Planar(AnswerKind):
    """Planar Laplace noise around the places of an attribute.

    Places on the globe are laid on a plane, in kilometres from their middle, with the meridians parallel; the metric is
    asked of the laid out places, so that what this distorts costs noise and no privacy.
    """

    words = ("planar",)
    keys = ("of", "step")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if not isinstance(secrets.attribute, PointsAttribute):
            raise UnsupportedCombination("planar is noise for places, and these values have no coordinates")
        sheet = _sheet_of(secrets.attribute)
        laid = sheet.laid(secrets.attribute.coordinates)
        finest = Fraction(10) ** math.floor(math.log10(max(float(np.abs(laid).max()), 1e-9) / _FINEST))
        rough = planar_laplace(secrets.metric, _on_lattice(laid, finest), finest, spend)
        wide = rough.scale / float(spend) * float(finest)
        step = task.step or max(finest, Fraction(10) ** math.floor(math.log10(wide / _FINER_THAN_NOISE)))
        noise = planar_laplace(secrets.metric, _on_lattice(laid, step), step, spend)
        errors = (
            f"within {noise.radius(LEVEL):.4g} {sheet.unit or 'units'} with probability at least {LEVEL:g}",
            f"off by {math.sqrt(noise.mean_squared_error):.4g} {sheet.unit or 'units'} root mean squared",
        )
        return ReadyAnswer(noise, partial(_present, secrets.attribute, sheet, laid, errors), errors)


@final
@dataclass(frozen=True)
class _Sheet:
    """The plane on which places lie: their own, or one that touches the globe at (``latitude``, ``longitude``)."""

    unit: str
    latitude: float | None = None
    longitude: float = 0.0

    def laid(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.latitude is None:
            return coordinates
        north = (coordinates[:, 0] - self.latitude) * KM_A_DEGREE
        east = (coordinates[:, 1] - self.longitude) * KM_A_DEGREE * math.cos(math.radians(self.latitude))
        return np.column_stack([north, east])

    def back(self, place: tuple[float, float]) -> tuple[float, float]:
        if self.latitude is None:
            return place
        wide = KM_A_DEGREE * math.cos(math.radians(self.latitude))
        return self.latitude + place[0] / KM_A_DEGREE, self.longitude + place[1] / wide


def _sheet_of(attribute: PointsAttribute) -> _Sheet:
    if attribute.geometry == "plane":
        return _Sheet(attribute.unit)
    low, high = attribute.coordinates.min(axis=0), attribute.coordinates.max(axis=0)
    middle = (low + high) / 2
    return _Sheet("km", float(middle[0]), float(middle[1]))


def _on_lattice(laid: NDArray[np.float64], step: Fraction) -> NDArray[np.int64]:
    return np.rint(laid / float(step)).astype(np.int64)


def _present(
    attribute: PointsAttribute,
    sheet: _Sheet,
    laid: NDArray[np.float64],
    errors: tuple[str, ...],
    answer: Place,
) -> SecretAnswer:
    """Where the answer lies, in the coordinates of the places' file, and the place that is nearest to it."""
    spot = (float(answer[0]), float(answer[1]))
    back = sheet.back(spot)
    nearest = attribute.keys[int(np.argmin(np.linalg.norm(laid - np.array(spot), axis=1)))]
    names = ("x", "y") if sheet.latitude is None else ("latitude", "longitude")
    value = {**{name: round(number, 6) for name, number in zip(names, back, strict=True)}, "nearest": nearest}
    where = ", ".join(f"{name} {number:.6g}" for name, number in zip(names, back, strict=True))
    return SecretAnswer(
        value, f"{where}; nearest is {nearest}", sheet.unit if sheet.latitude is None else "degrees", errors
    )
