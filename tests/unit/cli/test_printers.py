"""Every kind of answers has its way onto the terminal."""

from __future__ import annotations

from reference.families import members

import dxgeom.pipeline
from dxgeom.cli.answers import printers
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.tasks import planners


def test_every_kind_of_answers_is_printed():
    assert planners.PLANNERS
    assert dxgeom.pipeline
    assert {kind.__name__ for kind in members(ShownAnswers)} <= printers().keys()
