"""Answers on the line of a secret's numbers or days, by noise in layers."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction
from typing import final

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.metric_space.line_noise import LineNoise, layered_line, staircase
from dxgeom.one_secret.answer_kind import LEVEL, AnswerKind, ReadyAnswer
from dxgeom.one_secret.secret_answer import SecretAnswer
from dxgeom.one_secret.secrets import Secrets
from dxgeom.one_secret.task import SecretTask
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.dates import DateAttribute


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

        def said(answer: Fraction) -> SecretAnswer:
            return SecretAnswer(plain(answer), _told(answer, secrets.attribute), "", errors)

        return ReadyAnswer(noise, said, errors)

    def _errors(self, noise: LineNoise) -> tuple[str, ...]:
        return (
            f"off by {noise.mean_absolute:.4g} on average, {noise.root_mean_square:.4g} root mean squared; exact",
            f"off by at most {float(noise.radius(LEVEL)):.4g} with probability at least {LEVEL:g}",
        )


def _told(answer: Fraction, attribute: Attribute | None) -> str:
    """A number, or the day that is so many days after the first."""
    if not isinstance(attribute, DateAttribute):
        return plain(answer)
    try:
        return (attribute.first + timedelta(days=int(answer))).isoformat()
    except OverflowError:
        return f"{int(answer):,} days after {attribute.first.isoformat()}"
