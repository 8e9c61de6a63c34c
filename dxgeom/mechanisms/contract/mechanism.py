"""What every mechanism offers, whatever it reads and whatever it answers.

Answers of numbers as a ledger keeps them: whole numbers as such, exact fractions as text.

What every mechanism offers that answers with one secret: a place, a value, a whole small dataset.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

import numpy as np

from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.entry import Account
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import Sealed

ANSWER_BYTES: Final = 2**16
"""Room for an answer whose size nobody states."""

FLOAT_BYTES: Final = 24
"""No float64 is longer as text: -2.2250738585072014e-308."""


def kept_numbers(answer: Any) -> Any:
    """Whole numbers and fractions, and tuples of them, as JSON.

    >>> kept_numbers((3, (Fraction(1, 2),)))
    [3, ['1/2']]

    Raises: UnsupportedCombination for anything else.
    """
    match answer:
        case int() | np.integer():
            return int(answer)
        case Fraction():
            return str(answer)
        case tuple() | list():
            return [kept_numbers(part) for part in answer]
        case _:
            raise UnsupportedCombination(
                f"an answer of type {type(answer).__name__} is kept as it is shown: give its mechanism "
                "'encode_answer' and 'decode_answer' to have it made again"
            )


def decoded_numbers(stored: Any) -> Any:
    """The answer that :func:`kept_numbers` wrote.

    >>> recalled_numbers([3, ["1/2"]])
    (3, (Fraction(1, 2),))
    """
    match stored:
        case list():
            return tuple(decoded_numbers(part) for part in stored)
        case str():
            return Fraction(stored)
        case _:
            return stored


def fraction_bytes(numerator: int, denominator: int) -> int:
    """No fraction that is at most this far from 0, over a divisor of this denominator, is longer as text.

    Its numerator in lowest terms is at most as large, its denominator too; a sign and a stroke are added. A number
    below 2^b has at most b·log10(2) + 1 digits.
    """
    digits = numerator.bit_length() * 0.30103 + denominator.bit_length() * 0.30103
    return int(digits) + 6


Data = TypeVar("Data", contravariant=True)
Answer = TypeVar("Answer", covariant=True)


class Mechanism(Sealed, ABC, Generic[Data, Answer]):
    """A randomised map from private data to answers.

    Guarantee: replacing the data by others at distance D changes the odds of any set of answers by at most
    e^(spend·D). Which data are how far apart, each class says. Where :attr:`delta` is stated, that holds except with
    this chance.
    """

    name: str

    if TYPE_CHECKING:  # a dataclass field could not take the place of a real property

        @property
        def account(self) -> Account:
            """Whose budget a release spends: that of the policy under which D is measured."""

    def __str__(self) -> str:
        return self.name

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """SHA-256 of everything that the answers' law depends on, but the spend where any spend will do."""

    @property
    def only_spend(self) -> Fraction | None:
        """The one spend that it was made for, None where any will do."""
        return None

    @property
    def delta(self) -> Fraction | None:
        """The chance with which an answer is outside the guarantee, which a ledger counts; None for never."""
        return None

    @property
    def public_answers(self) -> tuple[tuple[str, Fraction], ...] | None:
        """Each answer's name and value where public numbers are all of each; None where data are asked."""
        return None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the rows that it reads by their places; none where data are read otherwise."""
        return ()

    @abstractmethod
    def check(self, data: Data, spend: Fraction) -> None:
        """Refuse, before anything is charged, what are no data, and what could not be drawn.

        Raises: DataError, TooLarge, UnsupportedCombination. Proper data are refused for public reasons only.
        """

    def draw(self, data: Data, spend: Fraction, randomness: Randomness) -> Answer:
        """An answer, exactly by the law. Charges no ledger: that is the release's work."""
        return self.draws(data, spend, 1, randomness)[0]

    @abstractmethod
    def draws(self, data: Data, spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        """``count`` independent answers; more than one for audits: whoever sees them all has seen as many releases."""

    @property
    def without_functions(self) -> Mechanism[Data, Any]:
        """The same mechanism before any function of its answers: what it answers is what a ledger keeps."""
        return self

    def finished(self, answer: Any) -> Answer:
        """This mechanism's answer, made of one of :attr:`without_functions`."""
        return cast(Answer, answer)

    def encode_answer(self, answer: Any) -> Any:
        """An answer as JSON of which :meth:`decode_answer` makes it again; here of numbers, and tuples of such.

        Raises: UnsupportedCombination for others, which this has to be overridden for.
        """
        return kept_numbers(answer)

    def decode_answer(self, stored: Any) -> Answer:
        """The answer again that was :meth:`encode_answer`, exactly."""
        return cast(Answer, decoded_numbers(stored))

    def answer_bytes(self, spend: Fraction) -> int:
        """Bytes that an answer adds to a release at most, as shown and as kept together; from public facts alone.

        So much room is made before the charge. Generous here, and no promise for answers without a known size: what is
        longer is stored as long as the disk has room.
        """
        return ANSWER_BYTES


def require_spend(spend: object) -> None:
    """Raises: UnsupportedCombination unless it is a positive Fraction."""
    if not (isinstance(spend, Fraction) and spend > 0):
        raise UnsupportedCombination(f"a spend is a positive Fraction, found {spend!r}")


def digest_of(*meaning: object) -> str:
    """SHA-256 of what these say as text, with a blank between."""
    return hashlib.sha256(" ".join(map(str, meaning)).encode()).hexdigest()


def require_not_held(metric: VerifiedMetric, name: str) -> VerifiedMetric:
    """Raises: UnsupportedCombination where the policy holds its distances for who knows its public counts, of which
    nothing is proved here."""
    if metric.held:
        raise UnsupportedCombination(
            f"the policy says 'hold', which only noise on few counts and sums honours, and {name} is none: ask for "
            "counts and sums, or use a policy without 'hold'"
        )
    return metric


def account_of(metric: VerifiedMetric) -> Account:
    """The account of the policy that the metric came from."""
    return Account(
        metric.title,
        metric.fingerprint,
        metric.budget,
        metric.privacy,
        metric.data_set,
        metric.source_text,
        metric.alike,
        metric.labels,
        metric.delta,
    )


class SecretMechanism(Mechanism[int, Answer]):
    """A randomised map from the secrets 0..metric.size−1 to answers, made for one spend.

    Guarantee: replacing the secret i by j changes the odds of any set of answers by at most e^(spend·d(i, j)).
    """

    metric: VerifiedMetric
    spend: Fraction

    @property
    def account(self) -> Account:
        return account_of(require_not_held(self.metric, self.name))

    @property
    def only_spend(self) -> Fraction:
        """The spend that it was made for."""
        return self.spend

    def check(self, data: int, spend: Fraction) -> None:
        if isinstance(data, bool) or not (isinstance(data, (int, np.integer)) and 0 <= data < self.metric.size):
            raise DataError(f"secrets are integers from 0 to {self.metric.size - 1:,}; this one is none of them")
        require_one_record(self.metric, self.name)
        if spend != self.spend:
            raise UnsupportedCombination(
                f"this {self.name} was made for a spend of {self.spend}, not {spend}: make another one"
            )

    def draws(self, data: int, spend: Fraction, count: int, randomness: Randomness) -> list[Answer]:
        self.check(data, spend)
        return self.reports(data, count, randomness)

    @abstractmethod
    def report(self, secret: int, randomness: Randomness) -> Answer:
        """An answer at the spend that it was made for, exactly by the law. Charges no ledger.

        Raises: IndexError when there is no such secret.
        """

    def reports(self, secret: int, count: int, randomness: Randomness) -> list[Answer]:
        """Many independent answers, for audits."""
        return [self.report(secret, randomness) for _ in range(count)]


def require_one_record(metric: VerifiedMetric, name: str) -> None:
    """Raises: UnsupportedCombination where people may have many rows, of which an answer would be about one."""
    people = metric.people
    if people is not None and people.count != "single":
        raise UnsupportedCombination(
            f"a {name} answers with one record, and people here may have many: of a row drawn at random it tells more "
            "than the rules allow; let people be 'single', or ask for counts"
        )
