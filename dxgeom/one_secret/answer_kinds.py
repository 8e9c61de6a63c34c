"""The mechanisms that a task can name."""

from __future__ import annotations

from typing import Final

from dxgeom.one_secret.answer_kind import AnswerKind
from dxgeom.one_secret.data_set_answers import DataSetLayers
from dxgeom.one_secret.line_answers import Lines
from dxgeom.one_secret.planar_answers import Planar
from dxgeom.one_secret.table_answers import Tables

ANSWERS: Final[tuple[AnswerKind, ...]] = (Tables(), Lines(), Planar(), DataSetLayers())
"""All of them."""


def kind_of(word: str) -> AnswerKind:
    """What answers by that word."""
    return next(kind for kind in ANSWERS if word in kind.words)
