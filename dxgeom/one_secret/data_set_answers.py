"""Answers about a whole small data set, by layers of data sets around it."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import final

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.finite.private_table import PrivateTable
from dxgeom.mechanisms.metric_space.dataset_space import DatasetSpace
from dxgeom.mechanisms.metric_space.layers import calibrated_table, composed_layers, ladder_layers, privacy_first_layers
from dxgeom.one_secret.answer_kind import AnswerKind, ReadyAnswer
from dxgeom.one_secret.data_set_secrets import GraphSecrets
from dxgeom.one_secret.secret_answer import SecretAnswer
from dxgeom.one_secret.secrets import Secrets
from dxgeom.one_secret.task import SecretTask
from dxgeom.universe.columns import plain


@final
class DataSetLayers(AnswerKind):
    """Layers of values around a data set, at the level that they measurably have on the whole space."""

    words = ("privacy_first", "ladder", "composed")
    keys = ("of", "width")

    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        if not isinstance(secrets, GraphSecrets):
            raise UnsupportedCombination(f"{task.answer} is about whole small data sets, such as graphs")
        if task.width is not None and task.answer != "composed":
            raise UnsupportedCombination(f"'width' is about composed layers, not about {task.answer}: leave it out")
        table = self._table(task, secrets, spend)
        even = [Fraction(1, secrets.space.size)] * secrets.space.size
        mean = float(table.expected_loss(even, secrets.space.losses))
        errors = (f"off by {mean:.4g} on average over all graphs alike likely; exact",)
        return ReadyAnswer(table, partial(_said, secrets.space, errors), errors)

    def _table(self, task: SecretTask, secrets: GraphSecrets, spend: Fraction) -> PrivateTable:
        space = secrets.space
        match task.answer:
            case "privacy_first":
                layers = privacy_first_layers(space)
            case "ladder":
                layers = ladder_layers(space)
            case _:
                width = Fraction(1) if task.width is None else task.width
                layers = composed_layers(space, [width] * space.size)
        name = task.answer.replace("_", " ")
        return calibrated_table(space, layers, secrets.rate, name, spend, title=secrets.name, budget=secrets.budget)


def _said(space: DatasetSpace, errors: tuple[str, ...], answer: int) -> SecretAnswer:
    value = plain(space.range[answer])
    return SecretAnswer(value, value, "", errors)
