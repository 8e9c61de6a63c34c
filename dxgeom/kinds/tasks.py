"""Several tasks of one file, each with its share of a spend, and the task that is a list of queries."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, final

from pydantic import Field

from dxgeom.errors import CertificateRefused, NotANormBall, TooLarge, UnboundedLoss, UnsupportedCombination
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.kind import OF_NOISE, Planning, QuestionKind, kind_of
from dxgeom.planner.overview import OverviewTable, PlanOverview, StatedQuestion
from dxgeom.planner.plan_kind import KnownErrors, PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.queries.tasks.task_kind import ListOfQueries, TaskKind, TaskReader, TaskSyntax
from dxgeom.universe.columns import plain
from dxgeom.universe.people.people import people_in_words
from dxgeom.universe.tasks.questions import QueriesTask
from dxgeom.universe.tasks.tasks import Tasks, TaskWithShare
from dxgeom.wording.numbers import counted

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import EstimateWish
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.task_answers import TaskAnswers

_REFUSED = (UnsupportedCombination, TooLarge, UnboundedLoss, NotANormBall, CertificateRefused)


@final
class TasksKind(QuestionKind[Tasks], PlanKind):
    """Several tasks, each planned by itself, all released as one mechanism, charged once.

    A plan has ``parts``, the plan of each in their order, with its task's share of a release's spend, and ``decided``:
    the spend at which forms of quantiles were compared. What is known of errors is that of all tasks, one after the
    other, each at its share; where a task has none, it refuses.
    Guarantee: that of the parts, at the whole spend: what several answers about the same records cost adds up.
    """

    question = Tasks
    about = "several tasks"
    heeds = OF_NOISE
    instead = MappingProxyType({"errors": "write 'error' in the file", "importance": "write it in the file"})
    codec, field = "dxgeom.plan_files.task_plans:CODEC", "parts"
    no_loss = Unknown("each task has a loss and a bound of its own", "take those of plan.parts")
    no_list = Unknown("each task is told by itself", "ask the plan of a task, plan.parts")
    why = "each task is planned by itself"

    def part(self, question: Tasks, how: Planning) -> Plan:
        """Raises: UnsupportedCombination, TooLarge, UnboundedLoss, NotANormBall, CertificateRefused, naming the task
        that cannot be answered."""
        from dxgeom.mechanisms.contract.composition import in_sequence  # slow to load, as all that plans is
        from dxgeom.planner.amounts import agreed_records
        from dxgeom.planner.plan import Plan
        from dxgeom.planner.wish import NAMED_FAMILIES

        metric, wish = how.metric, how.wish
        if wish.mechanism in NAMED_FAMILIES:
            raise UnsupportedCombination(
                f"'{wish.mechanism}' is about one workload: a file of tasks asks for 'synthesize' or 'small_database'"
            )
        if metric.universe is None or not metric.universe.lists_the_same_records(question.universe):
            raise UnsupportedCombination("the tasks are about other records than the metric: load both from one policy")
        number = agreed_records(metric, question.records, wish.records, "as the file says")

        def planned(task: TaskWithShare, share: Fraction) -> Plan:
            own = replace(how.saying(records=number, spend=wish.spend * share), task=task.name)
            try:
                return own.of(task.question)
            except _REFUSED as error:
                raise type(error)(f"task '{task.name}': {error}") from error

        parts = [planned(task, task.share) for task in question.parts]
        shares = _shares(question, parts)
        for place, (task, share) in enumerate(zip(question.parts, shares, strict=True)):
            # Of counts and sums no spend decides anything.
            if share not in (0, task.share) and not parts[place].answers_a_list:
                parts[place] = planned(task, share)
        made = in_sequence([part.mechanism for part in parts], shares, name="tasks")
        return Plan(self, metric, replace(question, records=number), made, number, tuple(parts), decided=wish.spend)

    def tasks(self, plan: Plan) -> Tasks:
        tasks: Tasks = plan.question
        return tasks

    def purpose(self, plan: Plan) -> str:
        return f"tasks: {', '.join(plan.question.names)}"

    def answers(self, plan: Plan, answer: tuple[Any, ...], spend: Fraction, records: int | None) -> TaskAnswers:
        from dxgeom.planner.tasks.task_answers import TaskAnswers

        each = zip(_each_at(plan, spend), answer, strict=True)
        answered = tuple(part.kind.answers(part, one, own, records) for (_, part, own), one in each)
        return TaskAnswers(plan.question, answered, spend, plan.mechanism.shares)

    def blank(self, plan: Plan, records: int | None) -> tuple[Any, ...]:
        return tuple(part.kind.blank(part, records) for part in plan.parts)

    def require_estimate(self, plan: Plan, wish: EstimateWish) -> None:
        part, _ = self.estimated_part(plan)
        part.kind.require_estimate(part, wish)

    def estimated_part(self, plan: Plan) -> tuple[Plan, Fraction]:
        from dxgeom.planner.tasks.task_answers import TaskAnswers

        listed = [(part, share) for _, part, share in _each_at(plan, Fraction(1)) if part.answers_a_list]
        if len(listed) != 1:
            raise TaskAnswers.not_to_agree.refusal
        return listed[0]

    def inside(self, plan: Plan) -> tuple[Plan, ...]:
        return plan.parts

    def fingerprint(self, plan: Plan) -> str:
        parts = [part.fingerprint for part in plan.parts]
        return canonical_digest("plan of tasks", plan.mechanism.fingerprint, parts, plan.question.fingerprint)

    def records(self, plan: Plan) -> int | None:
        stated = [one for one in (part.kind.records(part) for part in plan.parts) if one is not None]
        return plan.records or next(iter(stated), None)

    def made_up(self, plan: Plan, records: int) -> Any:
        if len(plan.parts) > 1:
            return super().made_up(plan, records)
        return plan.parts[0].kind.made_up(plan.parts[0], records)

    def taken(self, plan: Plan, data: Any) -> Any:
        return plan.parts[0].kind.taken(plan.parts[0], data) if len(plan.parts) == 1 else data

    def known(self, plan: Plan, spend: Fraction, records: int | None) -> KnownErrors:
        from dxgeom.planner.tasks.task_answers import TaskAnswers

        known: list[Any] = []
        for task, part, own in _each_at(plan, spend):
            try:
                known.append(part.kind.known(part, own, records))
            except UnsupportedCombination as error:
                raise UnsupportedCombination(f"task '{task.name}': {error}") from error
        return TaskAnswers(plan.question, tuple(known), spend, plan.mechanism.shares)

    def wants_errors(self, plan: Plan) -> bool:
        return any(part.wants_errors for part in plan.parts)

    def least_spend(self, plan: Plan) -> Fraction | None:
        each = zip(plan.parts, plan.mechanism.shares, strict=True)
        least = [part.at_spend() / share for part, share in each if share and part.wants_errors]
        return max(least, default=None)

    def candidates(self, plan: Plan) -> tuple[Any, ...]:
        """Those of each task."""
        return tuple(one for part in plan.parts for one in part.candidates)

    def compared_at(self, plan: Plan) -> Fraction | None:
        spend: Fraction = plan.decided
        return spend

    def records_of(self, plan: Plan) -> tuple[str, ...]:
        each = zip(plan.question.names, plan.parts, strict=True)
        return tuple(name for name, part in each if part.kind.makes_records)

    def question_in_words(self, plan: Plan) -> str:
        return counted(len(plan.parts), "task")

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[tuple[str, ...], ...]:
        """For each task what holds of its errors at a spend of all, and why it is asked where nobody wrote it."""
        why = (plan.question.why,) if plan.question.why else ()
        return tuple((*part.statements(own, level, records), *why) for _, part, own in _each_at(plan, spend))

    def reason(self, plan: Plan) -> str:
        return f"{plan.mechanism.name}: {plan.question.why or self.why}"

    def lines(self, plan: Plan) -> list[str]:
        each = zip(plan.question.names, plan.statements(), strict=True)
        return [f"'{name}': {sentence}" for name, sentences in each for sentence in sentences]

    def each_stated(self, plan: Plan, spend: Fraction | None, level: float) -> Sequence[StatedQuestion]:
        each = zip(plan.question.parts, plan.mechanism.shares, plan.statements(spend, level), strict=True)
        return tuple(
            StatedQuestion(task.name, f"{task.question.word}, with {plain(share)} of the spend", "; ".join(said))
            for task, share, said in each
        )

    def as_dict(self, plan: Plan) -> dict[str, Any]:
        return {
            "metric": {"title": plan.metric.title, "fingerprint": plan.metric.fingerprint},
            "tasks": [
                {"name": task.name, "kind": task.question.word, "share": str(share), "plan": part.as_dict()}
                for task, part, share in zip(plan.question.parts, plan.parts, plan.mechanism.shares, strict=True)
            ],
            "records": plan.records,
            **people_in_words(plan.metric.people),
            "compared_at_spend": str(plan.compared_at),
            "fingerprint": plan.fingerprint,
        }

    def overview(self, plan: Plan, spend: Fraction, level: float) -> PlanOverview:
        """How each task is answered, and what is known of its errors at its share of a spend."""
        stated, shares = plan.statements(spend, level), plan.mechanism.shares
        each = list(zip(plan.question.parts, plan.parts, shares, stated, strict=True))
        told = [{"name": task.name, "statements": list(said)} for task, _, _, said in each]
        table = OverviewTable(
            ("task", "kind", "mechanism", "share", "spend"),
            [
                (task.name, task.question.word, part.mechanism.name, plain(share), plain(share * spend))
                for task, part, share, _ in each
            ],
            [
                "",
                *(f"error   '{task.name}': {sentence}" for task, _, _, said in each for sentence in said),
                *(f"{name:<7} {said}" for name, said in people_in_words(plan.metric.people).items()),
            ],
        )
        document = {**plan.as_dict(), "expected": {"spend": str(spend), "level": level, "tasks": told}}
        tasks = counted(len(plan.parts), "task")
        return PlanOverview(document, [f"{plan.metric.title}: {tasks}, in one release"], (table,))


def _shares(tasks: Tasks, parts: Sequence[Plan]) -> tuple[Fraction, ...]:
    """Of what is spent: nothing for a task whose answers are all public, and all for the others, as their shares are to
    each other."""
    each = zip(parts, tasks.shares, strict=True)
    asked = [Fraction(0) if part.mechanism.public_answers is not None else share for part, share in each]
    whole = sum(asked)
    return tasks.shares if whole in (0, 1) else tuple(share / whole for share in asked)


def _each_at(plan: Plan, spend: Fraction) -> Iterator[tuple[TaskWithShare, Plan, Fraction]]:
    """Each task with its plan and its part of what is spent; what is public costs nothing, and is as exact at any."""
    for task, part, share in zip(plan.question.parts, plan.parts, plan.mechanism.shares, strict=True):
        yield task, part, (share or 1) * spend


@final
class QueriesTaskSyntax(TaskSyntax):
    """``{queries: [...]}``."""

    queries: ListOfQueries = Field(description="What to ask, as in a file of queries: linear queries, or quantiles.")


@final
class QueriesKind(TaskKind, QuestionKind[QueriesTask]):
    """Answers to queries."""

    question = QueriesTask
    about = "a task of queries"

    word = "queries"
    syntax = QueriesTaskSyntax
    lists = ("queries",)

    def read(self, value: Node, reader: TaskReader) -> QueriesTask | None:
        found = reader.listed(value, self.word)
        return None if found is None else QueriesTask(found)

    def part(self, question: QueriesTask, how: Planning) -> Plan:
        # A mechanism is named for the tasks of a file that ask for counts and sums.
        own = how if kind_of(question.queries).counts else how.saying(mechanism="auto")
        return own.of(question.queries)


TASKS: Final = TasksKind()
QUERIES: Final = QueriesKind()
