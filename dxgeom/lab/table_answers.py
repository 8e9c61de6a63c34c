"""Answers among the secrets themselves, by exact tables of probabilities; and what a good one is: how likely each
secret is, and what it costs to be off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import ClassVar, Final, final

import numpy as np

from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.lab.finite_mechanism import Losses, Prior
from dxgeom.lab.laplace_tables import BandedTable, finite_laplace, halved_exponential, truncated_geometric
from dxgeom.lab.optimal_tables import bracketed_table, optimal_table
from dxgeom.lab.private_table import PrivateTable
from dxgeom.lab.secrets import AnswerKind, ReadyAnswer, SecretAnswer, Secrets
from dxgeom.lab.task import LossWord, SecretTask
from dxgeom.metrics.verification import VerifiedMetric
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
