"""The secrets that a task can be about, records or the values of one attribute; what a mechanism needs of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, final

import numpy as np

from dxgeom.arguments import described
from dxgeom.errors import DataError, TooLarge, UnsupportedCombination
from dxgeom.lab.task import SecretTask
from dxgeom.mechanisms.contract.mechanism import SecretMechanism
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.old_names import OldName
from dxgeom.policy.policy import Policy
from dxgeom.universe.attributes import OUTSIDE, Attribute, NotAValue
from dxgeom.universe.columns import NumberColumn, plain
from dxgeom.universe.dates import DateAttribute
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import did_you_mean, shown

MOST_PAIRS: Final = 20_000_000
"""Pairs of records by which the metric of one attribute is held to that of the records."""


class Secrets(ABC):
    """What may be true: ``metric`` says which secrets are hidden from which, and whose budget is spent."""

    metric: VerifiedMetric

    if TYPE_CHECKING:

        @property
        def attribute(self) -> Attribute | None:
            """The attribute whose values they are; None for anything else."""

    else:
        attribute = None

    @abstractmethod
    def index_of(self, secret: Any) -> int:
        """The secret that is meant by what a person hands over. Raises: DataError."""

    @abstractmethod
    def label(self, index: int) -> str:
        """A secret in words."""

    @property
    def numbers(self) -> tuple[Fraction, ...] | None:
        """The exact number of each secret, or day after the first; None where they have none."""
        return None

    def column(self, name: str) -> tuple[Fraction, ...]:
        """The numbers of a column. Raises: UnsupportedCombination where there is none of that name."""
        raise UnsupportedCombination(f"these secrets have no column {shown(name)}: write 'even', or weights")


@final
@dataclass(frozen=True, eq=False)
class RecordSecrets(Secrets):
    """The records of a universe, or the values of the attribute that is asked about.

    ``metric``: that of the policy, or of its attribute. ``attribute``: None for records of several.
    """

    metric: VerifiedMetric = field(repr=False)
    universe: Universe = field(repr=False)
    attribute: Attribute | None

    def index_of(self, secret: Any) -> int:
        if self.attribute is not None and not (isinstance(secret, Mapping) and len(secret) > 1):
            found = secret.get(self.attribute.name) if isinstance(secret, Mapping) else secret
            return self._code(self.attribute, found)
        if not isinstance(secret, Mapping) or set(secret) != set(self.universe.names):
            example = ",".join(f"{name}=…" for name in self.universe.names)
            raise DataError(f"a secret here is a record, {example}; found {described(secret)} that is none")
        codes = {one.name: self._code(one, secret[one.name]) for one in self.universe.attributes}
        if self.attribute is not None:
            return codes[self.attribute.name]
        index = int(self.universe.indices_of([np.array([code]) for code in codes.values()])[0])
        if index == OUTSIDE:
            raise DataError("the policy's table of records does not list this one")
        return index

    def label(self, index: int) -> str:
        if self.attribute is not None:
            return self.attribute.labels[index]
        if index == self.universe.absent:
            return "absent"
        return ", ".join(f"{name}={value}" for name, value in self.universe.record(index).items())

    @cached_property
    def numbers(self) -> tuple[Fraction, ...] | None:
        if isinstance(self.attribute, DateAttribute):
            return self.attribute.days
        column = None if self.attribute is None else self.attribute.columns[0]
        if not isinstance(column, NumberColumn) or column.missing or len(column.numbers) != self.metric.size:
            return None
        return column.numbers

    def column(self, name: str) -> tuple[Fraction, ...]:
        columns = () if self.attribute is None else self.attribute.columns
        found = {column.name: column for column in columns if isinstance(column, NumberColumn) and not column.missing}
        if name not in found:
            advice = did_you_mean(name, tuple(found)) if found else "there is none"
            raise UnsupportedCombination(f"no column of numbers here is called {shown(name)}: {advice}")
        return found[name].numbers

    def _code(self, attribute: Attribute, cell: Any) -> int:
        if isinstance(cell, bool) or not isinstance(cell, str | int | float | Fraction | np.generic):
            raise DataError(f"a value of {shown(attribute.name)} is a word or a number; found {described(cell)}")
        try:
            return attribute.code_of(plain(cell) if isinstance(cell, Fraction) else str(cell))
        except NotAValue as error:
            raise DataError(f"there is no such secret: {error}") from error


def secrets_of(policy: Policy, about: str | None) -> RecordSecrets:
    """The secrets of a policy: the values of the attribute ``about``, or of the only one, or whole records.

    Raises: UnsupportedCombination for an attribute that there is none of, or that the metric on records does not go
    with; TooLarge.
    """
    metric, universe = policy.compile(), policy.universe
    alone = len(universe.attributes) == 1 and universe.listed is None and universe.absent is None
    if about is not None and about not in universe.names:
        raise UnsupportedCombination(f"no attribute is called {shown(about)}: {did_you_mean(about, universe.names)}")
    if alone or about is None:
        return RecordSecrets(metric, universe, universe.attributes[0] if alone else None)
    return RecordSecrets(_of_attribute(policy, metric, about), universe, universe.attribute(about))


def _of_attribute(policy: Policy, metric: VerifiedMetric, about: str) -> VerifiedMetric:
    """The attribute's own metric, with the policy's account.

    Guarantee: no two records are nearer than their values: compared along the generating pairs, which is enough.
    Raises: UnsupportedCombination where some are, or where records may be absent; TooLarge.
    """
    universe, place = policy.universe, policy.universe.names.index(about)
    if universe.absent is not None or not policy.parts:
        what = "may be absent" if universe.absent is not None else "are listed in a table"
        raise UnsupportedCombination(
            f"records of this policy {what}, so that '{about}' has no metric of its own: ask about whole records"
        )
    part, codes, left = policy.parts[place], universe.listed_codes[place], MOST_PAIRS
    for block in metric.metric.generating_pairs():
        left -= block.first.size
        if left < 0:
            raise TooLarge(f"a policy of more than {MOST_PAIRS:,} neighbouring records is too large for one attribute")
        if np.any(part.distance(codes[block.first], codes[block.second]) > block.bound):
            raise UnsupportedCombination(
                f"rules about several attributes keep records nearer than their values of '{about}': ask about whole "
                "records"
            )
    return metric.narrowed(part)


@final
@dataclass(frozen=True)
class SecretAnswer:
    """What was answered: ``value``, a word, an exact number as text, or coordinates; ``unit``; in words, ``in_words``.

    ``errors``: what is known of its error, from public facts.
    """

    value: Any
    in_words: str
    unit: str
    errors: tuple[str, ...]
    told = OldName("in_words")

    def as_dict(self) -> dict[str, Any]:
        """The answer ready for JSON."""
        unit = {"unit": self.unit} if self.unit else {}
        return {"value": self.value, "told": self.in_words, **unit, "errors": list(self.errors)}


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
