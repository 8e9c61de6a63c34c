"""A kind of question that is in no release: the most frequent value of an attribute; all that a new kind takes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import dxgeom as dx
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.releases.releasable import Releasable, Releasing
from dxgeom.queries.query_kind import Word, one_line
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.workloads.groups import AnswerOrigin


@final
@dataclass(frozen=True)
class Mode:
    attribute: str
    counts: dx.LinearQueries
    word = "mode"
    fingerprint = property(lambda self: canonical_digest("mode", self.counts.fingerprint))


@final
class ModeSyntax(TaskSyntax):
    mode: Word


@final
@dataclass(frozen=True, eq=False)
class ModeAnswer(ShownAnswers):
    question: Mode
    place: int
    asked_fingerprint = property(lambda self: self.question.fingerprint)
    by_name = property(lambda self: {self.question.attribute: self.place})
    all_origins = property(lambda self: (AnswerOrigin(self.question.attribute),))

    def columns(self, level=0.95, query=None, *, joint=False):
        return {"query": [self.question.attribute], "name": [*self.names], "value": [self.place]}

    def as_dict(self, level=0.95, *, joint=False):
        return {"answers": [{"name": self.question.attribute, "value": self.place, "bound": None}], "level": level}


@final
@dataclass(frozen=True, eq=False, repr=False)
class ModePlan(Releasable[ModeAnswer]):
    question: Mode
    mechanism: Any = field()
    queries = property(lambda self: self.question.counts)
    fingerprint = property(lambda self: canonical_digest("plan of a mode", self.mechanism.fingerprint))

    def _releasing(self):
        purpose = f"the most frequent {self.question.attribute}"
        return Releasing(self.mechanism, purpose, lambda place, *_: ModeAnswer(self.question, place), 0, None)

    def statements(self, spend=None, level=0.95):
        below = self.mechanism.shortfall(level, self.spend_of_figures(spend))
        return (f"its value has at most {below:.3g} records less than the most frequent",)

    def as_dict(self):
        return {"kind": "mode", "attribute": self.question.attribute, "fingerprint": self.fingerprint}


@final
class ModeKind(TaskKind, QuestionKind[Mode]):
    word, syntax, question, about = "mode", ModeSyntax, Mode, "a mode"

    def read(self, value: Any, reader: TaskReader):
        name = one_line(value)
        if name not in reader.universe.names:
            return reader.note("DX201", value.span, f"there is no attribute '{name}'")
        return Mode(name, dx.LinearQueries.marginals(reader.universe, [[name]]))

    def part(self, question: Mode, how: Planning):
        return ModePlan(question, dx.selection(how.metric, question.counts))


MODE = ModeKind()
