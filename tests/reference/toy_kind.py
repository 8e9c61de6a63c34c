"""A kind of question that is in no release: the most frequent value of an attribute; all that a new kind takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import dxgeom as dx
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan import Plan
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.queries.query_kind import Word, one_line
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, TaskSyntax


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
    question_fingerprint = property(lambda self: self.question.fingerprint)
    by_name = property(lambda self: {self.question.attribute: self.place})

    def as_dict(self, level=0.95, *, joint=False):
        return {"answers": [{"name": self.question.attribute, "value": self.place, "bound": None}], "level": level}


@final
class ModeKind(TaskKind, QuestionKind[Mode], PlanKind):
    word, syntax, question, about = "mode", ModeSyntax, Mode, "a mode"
    called = "a mode"

    queries = staticmethod(lambda plan: plan.question.counts)

    def purpose(self, plan):
        return f"the most frequent {plan.question.attribute}"

    def answers(self, plan, answer, spend, records):
        return ModeAnswer(plan.question, answer)

    def blank(self, plan, records):
        return 0

    def statements(self, plan, spend, level, records):
        return (f"its value has at most {plan.mechanism.shortfall(level, spend):.3g} records less than any",)

    def facts(self, plan):
        return {"attribute": plan.question.attribute}

    def read(self, value: Any, reader: TaskReader):
        name = one_line(value)
        if name not in reader.universe.names:
            return reader.note("DX201", value.span, f"there is no attribute '{name}'")
        return Mode(name, dx.LinearQueries.marginals(reader.universe, [[name]]))

    def part(self, question: Mode, how: Planning):
        return Plan(self, how.metric, question, dx.selection(how.metric, question.counts))


MODE = ModeKind()
