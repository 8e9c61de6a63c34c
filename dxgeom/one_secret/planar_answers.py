"""Answers anywhere near a place, by planar Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.metric_space.planar import Place, planar_laplace
from dxgeom.one_secret.answer_kind import LEVEL, AnswerKind, ReadyAnswer
from dxgeom.one_secret.secret_answer import SecretAnswer
from dxgeom.one_secret.secrets import Secrets
from dxgeom.one_secret.task import SecretTask
from dxgeom.universe.places import PointsAttribute

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
        return ReadyAnswer(noise, partial(_said, secrets.attribute, sheet, laid, errors), errors)


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


def _said(
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
