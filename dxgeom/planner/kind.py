"""What a kind of question is to a plan: what it heeds, and how it is answered."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeAlias, TypeVar, final

from dxgeom.arguments import described
from dxgeom.errors import UnsupportedCombination, WrongArgument
from dxgeom.kinds import registry

if TYPE_CHECKING:
    from dxgeom.metrics.verification import VerifiedMetric
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.wish import Wish

Question = TypeVar("Question")
Rebuilding: TypeAlias = "Callable[[QuestionKind[Any], Any, Planning], Plan]"
ALWAYS = frozenset({"spend", "thorough", "progress"})
"""How long is looked, who is told of it, and at which spend plans are compared, may be said of anything."""

OF_NOISE = frozenset({"objective", "mechanism", "records", "hull_limits", "coarse_facets", "work"})
"""What may be said wherever noise on counts and sums is one of several things that are planned."""


@final
@dataclass(frozen=True, eq=False)
class Planning:
    """Something to be planned. ``wish``: what is said of it; ``rebuilt``: makes what a plan file decided, of a kind and
    its question, anew; None where it is to be decided here. ``task``: for which task of a file; empty for none."""

    metric: VerifiedMetric
    wish: Wish
    rebuilt: Rebuilding | None = field(default=None, repr=False)
    task: str = ""

    def of(self, question: Any) -> Plan:
        """The whole plan of a question that another is made of. Raises: also KeyboardInterrupt if it was cut short."""
        kind = kind_of(question)
        if self.rebuilt is not None:
            return self.rebuilt(kind, question, self)
        return kind.part(question, self).uninterrupted()

    def saying(self, **other: Any) -> Planning:
        """The same, where something else is said."""
        return replace(self, wish=replace(self.wish, **other))


class QuestionKind(ABC, Generic[Question]):
    """One kind of question.

    ``question``: the class of what is asked. ``about``: what plans of it are of, in words. ``heeds``: what may be said
    of its plans beside :data:`ALWAYS`; ``instead``: what to do in place of saying something else, by its name.
    ``counts``: whether it asks for counts and sums, to which noise is added; ``own_noise``: the names of what it is
    answered by in its own form, empty where all are that exist. ``codec``: where what its plan files hold
    is named, empty where all follows from policy, question and public numbers; ``field``: which field only these have,
    empty for those that have none of other kinds.
    ``within_tasks``: whether a task may ask for it as it stands, so that a file of tasks holds its plans in a part.
    """

    question: ClassVar[type[Any]]
    about: ClassVar[str]
    heeds: ClassVar[frozenset[str]] = frozenset()
    instead: ClassVar[Mapping[str, str]] = MappingProxyType({})
    counts: ClassVar[bool] = False
    own_noise: ClassVar[frozenset[str]] = frozenset()
    codec: ClassVar[str] = ""
    field: ClassVar[str] = ""
    within_tasks: ClassVar[bool] = False

    def leaves_public(self, metric: VerifiedMetric, question: Question) -> bool:
        """Whether noise of its own form leaves out what the policy's public numbers tell of it."""
        del metric, question
        return False

    @abstractmethod
    def part(self, question: Question, how: Planning) -> Plan:
        """The plan of it. Raises: UnsupportedCombination, TooLarge, UnboundedLoss, NotANormBall, CertificateRefused."""

    def earlier(self, question: Question, how: Planning) -> Iterator[Plan]:
        """The plans that earlier versions made of it, where their law was another: files of these keep it."""
        return iter(())

    def require_heeded(self, wish: Wish) -> None:
        """Raises: UnsupportedCombination where anything is said that plans of this kind do not heed."""
        ignored = [name for name in wish.given if name not in self.heeds | ALWAYS]
        if ignored:
            known = " and ".join(filter(None, (", ".join(sorted(self.heeds)[:-1]), *sorted(self.heeds)[-1:])))
            raise UnsupportedCombination(
                f"a plan of {self.about} heeds {known or 'nothing of this'}, and not '{ignored[0]}': "
                f"{self.instead.get(ignored[0], 'leave it out')}"
            )


def kind_of(question: object, called: str = "queries") -> QuestionKind[Any]:
    """The kind of what is asked. ``called``: the argument that it came as. Raises: WrongArgument for no question."""
    found: QuestionKind[Any] | None = registry.kind_of(question)
    if found is None:
        raise WrongArgument(
            f"'{called}' is of type LinearQueries; found {described(question)}: load them with "
            "dx.load_queries('queries.yaml', policy), a dict with dx.queries_from_dict(queries, policy), or use "
            "dx.LinearQueries.from_matrix"
        )
    return found
