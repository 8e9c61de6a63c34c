"""Answers among the secrets themselves, by exact tables of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar, Final, final

from dxgeom.errors import CertificateRefused, UnsupportedCombination
from dxgeom.mechanisms.finite.laplace_tables import BandedTable, finite_laplace, halved_exponential, truncated_geometric
from dxgeom.mechanisms.finite.optimal_tables import bracketed_table, optimal_table
from dxgeom.mechanisms.finite.private_table import PrivateTable
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.one_secret.answer_kind import AnswerKind, ReadyAnswer
from dxgeom.one_secret.prior_and_loss import loss_word, losses_of, prior_of
from dxgeom.one_secret.secret_answer import SecretAnswer
from dxgeom.one_secret.secrets import Secrets
from dxgeom.one_secret.task import SecretTask

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

        def said(answer: int) -> SecretAnswer:
            return SecretAnswer(secrets.label(answer), secrets.label(answer), "", errors)

        return ReadyAnswer(table, said, errors)

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
            return (_told(mean, word, task),)
        if secrets.metric.size > _MOST_TOLD:
            return ()
        loss = table.expected_loss(prior_of(task, secrets), losses_of(task, secrets))
        return (_told(float(loss), word, task),)


def _told(loss: float, word: str, task: SecretTask) -> str:
    prior = task.prior if isinstance(task.prior, str) else "the weights stated"
    how = "all values alike likely" if prior == "even" else f"values as likely as {prior}"
    return f"expected {word} loss {loss:.4g}, {how}; exact"
