"""What answers about one secret: among the secrets themselves by exact tables, near numbers, days and places by noise.

What a good answer among the secrets is: how likely each secret is, and what it costs to be off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import partial
from typing import ClassVar, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.lab.finite_mechanism import Losses, Prior, PrivateTable
from dxgeom.lab.laplace_tables import BandedTable, finite_laplace, halved_exponential, truncated_geometric
from dxgeom.lab.line_noise import LineNoise, layered_line, staircase
from dxgeom.lab.optimal_tables import bracketed_table, optimal_table
from dxgeom.lab.planar import Place, planar_laplace
from dxgeom.lab.secrets import LEVEL, AnswerKind, ReadyAnswer, SecretAnswer, Secrets
from dxgeom.lab.task import LossWord, SecretTask
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.places import PointsAttribute
from dxgeom.universe.wording import shown

MOST_COSTS: Final = 4_000_000
"""Entries of a table of losses."""


def prior_of(task: SecretTask, secrets: Secrets) -> Prior:
    """The probability of each secret. Raises: UnsupportedCombination for values or columns that there are none of."""
    size = secrets.metric.size
    if isinstance(task.prior, Mapping):
        weights = [Fraction(0)] * size
        for name, weight in task.prior.items():
            weights[secrets.index_of(name)] += weight
    elif task.prior == "even":
        weights = [Fraction(1)] * size
    else:
        weights = list(secrets.column(task.prior))
    total = sum(weights, Fraction(0))
    if min(weights) < 0 or total == 0:
        raise UnsupportedCombination(
            f"the numbers of {shown(str(task.prior))} are no weights: some are negative, or all 0"
        )
    return [weight / total for weight in weights]


def loss_word(task: SecretTask, secrets: Secrets) -> LossWord:
    """The loss that is asked for; else how far off numbers and places are, and whether words are wrong."""
    if task.loss is not None:
        return task.loss
    return "absolute" if secrets.numbers is not None or isinstance(secrets.attribute, PointsAttribute) else "wrong"


def losses_of(task: SecretTask, secrets: Secrets) -> Losses:
    """(N, N): what each answer costs at each secret.

    Definition: "absolute" and "squared" of the difference of numbers or days, or of the way between places, in their
    own unit or kilometres; "wrong" is 1 for any other secret; "distance" is the policy's own.
    Raises: UnsupportedCombination where values have no numbers and no places; TooLarge.
    """
    size, word = secrets.metric.size, loss_word(task, secrets)
    if size * size > MOST_COSTS:
        raise TooLarge(f"losses are listed for at most {int(MOST_COSTS**0.5):,} secrets, here are {size:,}")
    if word == "wrong":
        return [[Fraction(x != w) for w in range(size)] for x in range(size)]
    power = 2 if word == "squared" else 1
    if word != "distance" and secrets.numbers is not None:
        numbers = secrets.numbers
        return [[abs(here - there) ** power for there in numbers] for here in numbers]
    places = np.arange(size)
    if word == "distance":
        apart = secrets.metric.distance(places[:, None], places[None, :])
    elif isinstance(secrets.attribute, PointsAttribute):
        apart = _ways(secrets.attribute)
    else:
        raise UnsupportedCombination(
            f"'{word}' is about numbers and places, and these are words: take 'wrong' or 'distance'"
        )
    if not np.all(np.isfinite(apart)):
        raise UnsupportedCombination(
            "some of these secrets are infinitely far apart: take another loss than 'distance'"
        )
    return [[Fraction(float(length)) ** power for length in row] for row in apart]


def _ways(attribute: PointsAttribute) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    from dxgeom.metrics.points import lower_distance

    every = np.arange(attribute.size)
    first, second = np.broadcast_arrays(every[:, None], every[None, :])
    return np.asarray(lower_distance(attribute.coordinates, attribute.geometry, first, second))


_MOST_TOLD: Final = 256
"""Secrets up to which the expected loss of a table is told."""


@final
class Tables(AnswerKind):
    """Exact tables on the secrets themselves."""

    words = ("truncated_geometric", "finite_laplace", "halved_exponential", "optimal", "bracketed")
    keys = ("of", "loss", "prior", "guess", "stretch")
    made: ClassVar[dict[str, Callable[[VerifiedMetric, Fraction], PrivateTable | BandedTable]]] = {
        "truncated_geometric": truncated_geometric,
        "finite_laplace": finite_laplace,
        "halved_exponential": halved_exponential,
    }

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        table = self._table(task, secrets, spend)
        if task.guess is not None:
            table = table.with_best_guesses(prior_of(task, secrets), losses_of(task, secrets))
        errors = self._errors(table, task, secrets)

        def present(answer: int) -> SecretAnswer:
            return SecretAnswer(secrets.label(answer), secrets.label(answer), "", errors)

        return ReadyAnswer(table, present, errors)

    def _table(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> PrivateTable | BandedTable:
        if task.answer in self.made:
            if task.stretch is not None:
                raise UnsupportedCombination(
                    f"'stretch' is about optimal tables, not about {task.answer}: leave it out"
                )
            try:
                return self.made[task.answer](secrets.metric, spend)
            except CertificateRefused as error:
                raise CertificateRefused(f"{task.answer} does not fit these secrets: {error}") from error
        prior, losses = prior_of(task, secrets), losses_of(task, secrets)
        if task.answer == "bracketed":
            return bracketed_table(secrets.metric, prior, losses, spend).table
        return optimal_table(secrets.metric, prior, losses, spend, task.stretch or Fraction(1))

    def _errors(self, table: PrivateTable | BandedTable, task: SecretTask, secrets: Secrets) -> tuple[str, ...]:
        word = loss_word(task, secrets)
        if isinstance(table, BandedTable) and word == "absolute" and secrets.numbers is not None:
            each = table.mean_absolute_errors([float(number) for number in secrets.numbers])
            mean = float(
                sum(float(chance) * error for chance, error in zip(prior_of(task, secrets), each, strict=True))
            )
            return (_in_words(mean, word, task),)
        if secrets.metric.size > _MOST_TOLD:
            return ()
        loss = table.expected_loss(prior_of(task, secrets), losses_of(task, secrets))
        return (_in_words(float(loss), word, task),)


def _in_words(loss: float, word: str, task: SecretTask) -> str:
    prior = task.prior if isinstance(task.prior, str) else "the weights stated"
    how = "all values alike likely" if prior == "even" else f"values as likely as {prior}"
    return f"expected {word} loss {loss:.4g}, {how}; exact"


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
            return SecretAnswer(plain(answer), _number_or_day(answer, secrets.attribute), "", errors)

        return ReadyAnswer(noise, present, errors)

    def _errors(self, noise: LineNoise) -> tuple[str, ...]:
        return (
            f"off by {noise.mean_absolute:.4g} on average, {noise.root_mean_square:.4g} root mean squared; exact",
            f"off by at most {float(noise.radius(LEVEL)):.4g} with probability at least {LEVEL:g}",
        )


def _number_or_day(answer: Fraction, attribute: Attribute | None) -> str:
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
