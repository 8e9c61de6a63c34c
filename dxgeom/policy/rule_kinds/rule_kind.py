"""What a kind of rule is: a key that states a bound on one attribute, its meaning, and its words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, final

from dxgeom.policy.bounds.bound import Bound
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.tree_places import key_span_at, span_at
from dxgeom.policy.source.yaml_tree import Node
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.columns import plain
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.wording import did_you_mean, shown

Told: TypeAlias = Callable[[Fraction], str]
"""The odds that an epsilon leaves an observer of everything the budget allows, as a limit: "at most 1.11 to 1"."""


@final
@dataclass(frozen=True)
class StatedRule:
    """A rule of a policy file: its number, where its mistakes go, and the epsilon of values that it does not list."""

    number: int
    root: Node
    mistakes: Mistakes
    otherwise: Fraction | None

    def note(self, code: str, message: str, advice: str = "", *, at: tuple[str | int, ...], key: bool = False) -> None:
        """Remember a mistake at the place ``at`` below the rule, or at its key."""
        place = key_span_at if key else span_at
        self.mistakes.add(code, place(self.root, ("rules", self.number, *at)), message, advice)

    def listed(self, attribute: Attribute, key: str, given: dict[str, Fraction]) -> tuple[Fraction | None, ...] | None:
        """An ε for each value: the one that ``given`` lists, else 'otherwise', else None; None with mistakes noted."""
        code_of = {label: code for code, label in enumerate(attribute.labels)}
        epsilons: list[Fraction | None] = [self.otherwise] * attribute.size
        stated: dict[int, str] = {}
        for word, epsilon in given.items():
            if self.mistakes.full:
                return None
            code = code_of.get(word, code_of.get(_canonical(word)))
            if code is None:
                message = f"the attribute {shown(attribute.name)} has no value {shown(word)}"
                self.note("DX133", message, did_you_mean(word, attribute.labels), at=(key, word), key=True)
            elif code in stated:
                message = f"{shown(word)} and {shown(stated[code])} are the same value"
                self.note("DX133", message, "keep one of them", at=(key, word), key=True)
            else:
                epsilons[code], stated[code] = epsilon, word
        if not given:
            message = f"'{key}' lists no value"
            self.note("DX107", message, "list at least one with its epsilon", at=(key,), key=True)
            return None
        return tuple(epsilons)


Given = TypeVar("Given")


class RuleKind(ABC, Generic[Given]):
    """A key of a rule that states a bound on the values of one attribute, in the place of 'epsilon'.

    ``key``: the key; ``field``: the type of what stands behind it, as pydantic reads it; ``tagged``: whether that is a
    union with tags; ``about`` and ``limits``: what editors show and check; ``example``: how it is written; ``goes``:
    the verb of the key in a sentence.
    """

    key: ClassVar[str]
    field: ClassVar[Any]
    about: ClassVar[str]
    example: ClassVar[str]
    tagged: ClassVar[bool] = False
    limits: ClassVar[dict[str, Any]] = {}
    goes: ClassVar[str] = "goes"

    @abstractmethod
    def bound(self, given: Given, attribute: Attribute, rule: StatedRule) -> Bound | None:
        """What the rule states about the attribute; None when it makes no sense, which is then noted."""

    @abstractmethod
    def words(self, given: Given) -> str:
        """The bound in a few words, for one line about the rule."""

    @abstractmethod
    def sentence(self, name: str, given: Given, otherwise: Fraction | None, bound: Bound, at_most: Told) -> str:
        """What the rule leaves an observer, to be read aloud. Args: the ``name`` of the attribute."""

    @abstractmethod
    def takes_otherwise(self, given: Given) -> bool:
        """Whether 'otherwise' has a meaning beside it."""


def _canonical(word: str) -> str:
    try:
        return plain(exact(word))
    except NotANumber:
        return word
