"""A plan of several tasks: each planned by itself, all released as one mechanism, charged once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, final

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import in_sequence
from dxgeom.mechanisms.contract.mechanism import Mechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.amounts import Amount, agreed_records
from dxgeom.planner.answers.shown_answers import ShownAnswers
from dxgeom.planner.kind import Planning, Rebuilding, kind_of
from dxgeom.planner.overview import PlanOverview, StatedQuestion
from dxgeom.planner.releases.releasable import KnownErrors, Releasable, Releasing
from dxgeom.planner.tasks.task_answers import TaskAnswers
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.tasks.tasks import Tasks, TaskWithShare
from dxgeom.wording.numbers import counted

_REFUSED = (UnsupportedCombination, TooLarge, UnboundedLoss, NotANormBall, CertificateRefused)


@final
@dataclass(frozen=True, eq=False, repr=False)
class TaskPlan(Releasable[TaskAnswers]):
    """How several tasks are answered; reusable for many releases, each charged once for all tasks.

    ``parts``: the plan of each task, in their order; it has its task's share of a release's spend. ``records``: their
    public number, None where it was not stated; ``compared_at``: the spend at which forms of quantiles were compared.
    What is known of errors is that of all tasks, one after the other, each at its share; where a task has none, it
    refuses.
    Guarantee: that of the parts, at the whole spend: what several answers about the same records cost adds up.
    """

    no_loss = Unknown("each task has a loss and a bound of its own", "take those of plan.parts")
    no_list = Unknown("each task is told by itself", "ask the plan of a task, plan.parts")
    why = "each task is planned by itself"

    metric: VerifiedMetric = field(repr=False)
    tasks: Tasks
    parts: tuple[Releasable[Any], ...]
    records: int | None
    compared_at: Fraction = field()

    @property
    def queries(self) -> Tasks:
        return self.tasks

    @property
    def candidates(self) -> tuple[Any, ...]:
        """Those of each task."""
        return tuple(one for part in self.parts for one in part.candidates)

    def _known(self, spend: Fraction, records: int | None) -> KnownErrors:
        known: list[Any] = []
        for task, part in zip(self.tasks.parts, self.parts, strict=True):
            try:
                known.append(part._known(task.share * spend, records))
            except UnsupportedCombination as error:
                raise UnsupportedCombination(f"task '{task.name}': {error}") from error
        return TaskAnswers(self.tasks, tuple(known), spend)

    @cached_property
    def mechanism(self) -> Mechanism[Any, Any]:
        """All of it as one mechanism."""
        return in_sequence([part.releasing.mechanism for part in self.parts], self.tasks.shares, name="tasks")

    @cached_property
    def fingerprint(self) -> str:
        parts = [part.fingerprint for part in self.parts]
        return canonical_digest("plan of tasks", self.mechanism.fingerprint, parts, self.tasks.fingerprint)

    def _releasing(self) -> Releasing[TaskAnswers]:
        made = [part.releasing for part in self.parts]
        purpose = f"tasks: {', '.join(self.tasks.names)}"
        blanks, taken = tuple(one.blank for one in made), made[0].taken if len(made) == 1 else _as_it_is
        return Releasing(self.mechanism, purpose, self._said, blanks, self._made_up_records, taken)

    def _made_up(self, records: int) -> Any:
        return self.parts[0]._made_up(records) if len(self.parts) == 1 else super()._made_up(records)

    @property
    def least_spend(self) -> Fraction | None:
        """The smallest spend at which all answers have the errors that were asked for; None where none were."""
        each = zip(self.parts, self.tasks.shares, strict=True)
        least = [part.at_spend() / share for part, share in each if part.wants_errors]
        return max(least, default=None)

    @property
    def wants_errors(self) -> bool:
        return any(part.wants_errors for part in self.parts)

    @property
    def _made_up_records(self) -> int | None:
        stated = [one.records for one in (part.releasing for part in self.parts) if one.records is not None]
        return self.records or next(iter(stated), None)

    def _said(self, answers: tuple[Any, ...], spend: Fraction, records: int | None) -> TaskAnswers:
        each = zip(self.parts, answers, self.tasks.shares, strict=True)
        said: list[ShownAnswers] = [part.releasing.said(answer, share * spend, records) for part, answer, share in each]
        return TaskAnswers(self.tasks, tuple(said), spend)

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": {"title": self.metric.title, "fingerprint": self.metric.fingerprint},
            "tasks": [
                {"name": task.name, "kind": task.asked.word, "share": str(task.share), "plan": part.as_dict()}
                for task, part in zip(self.tasks.parts, self.parts, strict=True)
            ],
            "records": self.records,
            **people_in_words(self.metric.people),
            "compared_at_spend": str(self.compared_at),
            "fingerprint": self.fingerprint,
        }

    def statements(self, spend: Amount | None = None, level: float = 0.95) -> tuple[tuple[str, ...], ...]:
        """For each task what holds of its errors at a spend of all, in sentences."""
        amount = self.spend_of_figures(spend)
        each = zip(self.parts, self.tasks.shares, strict=True)
        return tuple(tuple(part.statements(amount * share, level=level)) for part, share in each)

    @property
    def records_of(self) -> tuple[str, ...]:
        each = zip(self.tasks.names, self.parts, strict=True)
        return tuple(name for name, part in each if part.makes_records)

    @property
    def question_in_words(self) -> str:
        return counted(len(self.parts), "task")

    def each_stated(self, spend: Amount | None = None, level: float = 0.95) -> Sequence[StatedQuestion]:
        each = zip(self.tasks.parts, self.statements(spend, level), strict=True)
        return tuple(
            StatedQuestion(task.name, f"{task.asked.word}, with {plain(task.share)} of the spend", "; ".join(said))
            for task, said in each
        )

    def overview(self, spend: Amount | None = None, level: float = 0.95) -> PlanOverview:
        """How each task is answered, and what is known of its errors at its share of a spend."""
        amount = self._shown_spend(spend)
        each = list(zip(self.tasks.parts, self.parts, self.statements(amount, level), strict=True))
        told = [{"name": task.name, "statements": list(said)} for task, _, said in each]
        return PlanOverview(
            {**self.as_dict(), "expected": {"spend": str(amount), "level": level, "tasks": told}},
            [f"{self.metric.title}: {len(self.parts)} tasks, in one release"],
            ("task", "kind", "mechanism", "share", "spend"),
            [
                (task.name, task.asked.word, part.mechanism.name, plain(task.share), plain(task.share * amount))
                for task, part, _ in each
            ],
            [
                "",
                *(f"error   '{task.name}': {sentence}" for task, _, said in each for sentence in said),
                *(f"{name:<7} {said}" for name, said in people_in_words(self.metric.people).items()),
            ],
        )

    def lines(self) -> list[str]:
        each = zip(self.tasks.parts, self.statements(), strict=True)
        return [f"'{task.name}': {sentence}" for task, sentences in each for sentence in sentences]


def plan_tasks(tasks: Tasks, how: Planning, rebuilt: Callable[[TaskWithShare], Rebuilding] | None = None) -> TaskPlan:
    """Plan each task by itself, at its share of the spend.

    Args: ``rebuilt``: for each task what makes anew that which a plan file decided; left out, it is decided here.
    Guarantee: reads no data; whatever is chosen honours the metric.
    Raises: UnsupportedCombination, TooLarge, UnboundedLoss, NotANormBall, CertificateRefused, naming the task that
    cannot be answered.
    """
    metric, wish = how.metric, how.wish
    if metric.universe is None or not metric.universe.lists_the_same_records(tasks.universe):
        raise UnsupportedCombination("the tasks are about other records than the metric: load both from one policy")
    number = agreed_records(metric, tasks.records, wish.records, "as the file says")
    parts = []
    for task in tasks.parts:
        own = replace(how.saying(records=number, spend=wish.spend * task.share), rebuilt=rebuilt and rebuilt(task))
        try:
            parts.append(kind_of(task.asked).part(task.asked, own))
        except _REFUSED as error:
            raise type(error)(f"task '{task.name}': {error}") from error
    return TaskPlan(metric, replace(tasks, records=number), tuple(parts), number, wish.spend)


def _as_it_is(data: Any) -> Any:
    return data
