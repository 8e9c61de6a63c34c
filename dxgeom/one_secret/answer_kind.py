"""What a mechanism that a task can name is: what it needs of the secrets, and its answers as they are shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Final, final

from dxgeom.mechanisms.contract.secret_mechanism import SecretMechanism
from dxgeom.one_secret.secrets import Secrets
from dxgeom.one_secret.task import SecretTask


@final
@dataclass(frozen=True)
class SecretAnswer:
    """What was answered: ``value``, a word, an exact number as text, or coordinates; ``unit``; in words, ``told``.

    ``errors``: what is known of its error, from public facts.
    """

    value: Any
    told: str
    unit: str
    errors: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The answer ready for JSON."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"value": self.value, "told": self.told, **unit, "errors": list(self.errors)}


LEVEL: Final = 0.95
"""Of the statements about errors."""


@final
@dataclass(frozen=True, eq=False)
class ReadyAnswer:
    """A mechanism, and what its answers are in words. ``errors``: what is known of them before any is drawn."""

    mechanism: SecretMechanism[Any]
    present: Callable[[Any], SecretAnswer]
    errors: tuple[str, ...]


class AnswerKind(ABC):
    """A mechanism that a task can name: ``words``, and the ``keys`` of a task that it heeds."""

    words: ClassVar[tuple[str, ...]]
    keys: ClassVar[tuple[str, ...]]

    @abstractmethod
    def prepared(self, task: SecretTask, secrets: Secrets, spend: Fraction) -> ReadyAnswer:
        """The mechanism at a spend. Raises: UnsupportedCombination, TooLarge, UnboundedLoss, CertificateRefused."""
