"""What the answers of every plan can say of themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from dxgeom.errors import UnsupportedCombination
from dxgeom.planner.answers.answer_table import Columns
from dxgeom.universe.workloads.groups import AnswerOrigin


class ShownAnswers(ABC):
    """What a plan answered: by name, as a table, and as the part of a release's JSON that is about answers."""

    never_joint: ClassVar[str] = ""
    """Why their intervals cannot hold all at once; empty where they can, or always do."""

    @property
    @abstractmethod
    def asked_fingerprint(self) -> str:
        """SHA-256 of what was asked."""

    @property
    @abstractmethod
    def by_name(self) -> Mapping[str, Any]:
        """Every answer by its name."""

    @property
    @abstractmethod
    def all_origins(self) -> Sequence[AnswerOrigin]:
        """What each answer is about."""

    @abstractmethod
    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each answer: see :meth:`dxgeom.Release.to_arrow`. Raises: UnsupportedCombination."""

    def batches(self, level: float = 0.95, *, joint: bool = False) -> Iterator[Mapping[str, Any]]:
        """The same, as it goes into a file, a part at a time."""
        yield self.columns(level, joint=joint)

    @abstractmethod
    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The answers ready for JSON, with what holds of their errors."""

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        """What holds of their errors: what each sentence is about, in a word, and the sentence."""
        del level
        return ()

    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The part of a release's JSON that is about answers: :meth:`as_dict` and the notes."""
        notes = [{"about": about, "sentence": sentence} for about, sentence in self.notes(level)]
        return {**self.as_dict(level, joint=joint), **({"notes": notes} if notes else {})}

    @classmethod
    def require_joint(cls, *, joint: bool) -> None:
        """Raises: UnsupportedCombination for ``joint`` where intervals cannot hold all at once."""
        if joint and cls.never_joint:
            raise UnsupportedCombination(cls.never_joint)

    @property
    def warnings(self) -> Sequence[str]:
        """What whoever reads the answers has to know first, in sentences."""
        return ()
