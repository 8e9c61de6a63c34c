"""Several mechanisms on the same data as one, which share a spend; a mechanism with a function behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import NoneType
from typing import Any, Generic, TypeVar, final

from dxgeom.arguments import require, require_function
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.mechanisms.contract.parts import kept_by, recalled_by, require_alike, require_fixed
from dxgeom.mechanisms.contract.shares import default_shares
from dxgeom.mechanisms.contract.table_reader import TableReader
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.universe.decimals import SMALLEST

New = TypeVar("New")
_PARTS = "a sequence has at least one part, and its parts all are mechanisms"
_NAME = "give the name that a ledger is to know the mechanism by"


@final
@dataclass(frozen=True, eq=False)
class Sequential(Mechanism[Data, tuple[Any, ...]]):
    """Every part answers about the same data, part k at ``shares[k]`` of the spend, see :func:`in_sequence`.

    Guarantee: that of the parts, at the whole spend: losses under one policy add up.
    Raises: UnsupportedCombination when the parts answer for different policies or records, or for unfit shares.
    Source: Kamalaruban et al. 2020, §3.4; McSherry 2009 for ordinary differential privacy.
    """

    name: str
    parts: tuple[Mechanism[Data, Any], ...] = field(repr=False)
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        require_fixed(self.parts, Mechanism, _PARTS)
        require_alike(self.parts, histogram_readers(self))
        if len({part.columns for part in self.parts}) > 1:
            raise UnsupportedCombination(
                "the parts of a sequence read the same rows: give their statistics the same columns in the same order"
            )
        exact = isinstance(self.shares, tuple) and all(isinstance(s, Fraction) and s >= SMALLEST for s in self.shares)
        if not exact or len(self.shares) != len(self.parts) or sum(self.shares) != 1:
            raise UnsupportedCombination(
                "the shares of a sequence are a positive Fraction for each part, at least 1e-30, and they sum to 1"
            )
        if len(self._wholes) > 1:
            raise UnsupportedCombination(
                "these shares do not fit the spends that the parts were made for: leave the shares out, or make the "
                "parts for others"
            )

    @property
    def account(self) -> Account:
        return self.parts[0].account

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("sequence", [part.fingerprint for part in self.parts], self.shares)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.parts[0].columns

    @property
    def only_spend(self) -> Fraction | None:
        """What the parts' own spends imply, None where all serve any."""
        return next(iter(self._wholes), None)

    @property
    def _wholes(self) -> set[Fraction]:
        """The whole spends at which a part gets the one that it was made for."""
        return {part.only_spend / share for part, share, _ in self._alike if part.only_spend is not None}

    def check(self, data: Data, spend: Fraction) -> None:
        for part, share, _ in self._alike:
            part.check(data, share * spend)

    def draw(self, data: Data, spend: Fraction, randomness: Randomness) -> tuple[Any, ...]:
        """The answers of all parts, in order."""
        return self.draws(data, spend, 1, randomness)[0]

    def draws(self, data: Data, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Any, ...]]:
        answers: list[Any] = [()] * len(self.parts)
        for part, share, places in self._alike:
            drawn = part.draws(data, share * spend, count * len(places), randomness)
            for turn, place in enumerate(places):
                answers[place] = drawn[turn * count : (turn + 1) * count]
        return list(zip(*answers, strict=True))

    @cached_property
    def _alike(self) -> tuple[tuple[Mechanism[Data, Any], Fraction, tuple[int, ...]], ...]:
        """Each part, its share, and its places: one that is there many times is drawn all at once."""
        found: dict[tuple[int, int, int], list[int]] = {}
        for place, (part, share) in enumerate(zip(self.parts, self.shares, strict=True)):
            found.setdefault((id(part), *share.as_integer_ratio()), []).append(place)
        return tuple((self.parts[own[0]], self.shares[own[0]], tuple(own)) for own in found.values())

    @cached_property
    def without_functions(self) -> Sequential[Data]:
        return Sequential(self.name, tuple(part.without_functions for part in self.parts), self.shares)

    def finished(self, answer: Any) -> tuple[Any, ...]:
        return tuple(part.finished(one) for part, one in zip(self.parts, answer, strict=True))

    def kept(self, answer: Any) -> Any:
        return kept_by(self.parts, answer)

    def recalled(self, kept: Any) -> tuple[Any, ...]:
        return recalled_by(self.parts, kept)

    def answer_bytes(self, spend: Fraction) -> int:
        return sum(part.answer_bytes(share * spend) for part, share in zip(self.parts, self.shares, strict=True))


@final
@dataclass(frozen=True, eq=False)
class PostProcessed(Mechanism[Data, New], Generic[Data, Answer, New]):
    """What ``function`` makes of a mechanism's answer, see :func:`followed_by`.

    Guarantee: that of the inner mechanism, whatever the function does, provided it looks at nothing private.
    """

    name: str
    inner: Mechanism[Data, Answer] = field(repr=False)
    function: Callable[[Answer], New] = field(repr=False)

    def __post_init__(self) -> None:
        require(self.inner, Mechanism, "inner", "pass the mechanism whose answers the function takes")
        require_function(self.function, "function", "pass one that takes an answer and makes another one of it")

    @property
    def account(self) -> Account:
        return self.inner.account

    @cached_property
    def fingerprint(self) -> str:
        return canonical_digest("post-processed", self.inner.fingerprint, self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.inner.columns

    @property
    def only_spend(self) -> Fraction | None:
        return self.inner.only_spend

    def check(self, data: Data, spend: Fraction) -> None:
        self.inner.check(data, spend)

    def draw(self, data: Data, spend: Fraction, randomness: Randomness) -> New:
        return self.function(self.inner.draw(data, spend, randomness))

    def draws(self, data: Data, spend: Fraction, count: int, randomness: Randomness) -> list[New]:
        return [self.function(answer) for answer in self.inner.draws(data, spend, count, randomness)]

    @property
    def without_functions(self) -> Mechanism[Data, Any]:
        return self.inner.without_functions

    def finished(self, answer: Any) -> New:
        return self.function(self.inner.finished(answer))


def in_sequence(
    parts: Sequence[Mechanism[Data, Any]], shares: Sequence[Fraction] | None = None, name: str = "sequence"
) -> Sequential[Data]:
    """Several mechanisms on the same data, as one that is charged once.

    A mechanism that is to be chosen by another's answer needs no such object: release one after the other from one
    ledger, which adds up the same.

    Args: ``shares``: positive fractions that sum to 1; left out, in proportion to the spends that the parts were made
    for, or equal where all serve any. :func:`least_error_shares` finds good ones.
    Raises: UnsupportedCombination when the parts answer for different policies, or for shares that do not fit them.
    """
    require(name, str, "name", _NAME)
    require(parts, Sequence, "parts", "list the mechanisms that are to answer about the same data")
    require_fixed(tuple(parts), Mechanism, _PARTS)
    require(shares, (Sequence, NoneType), "shares", "list a Fraction for each part, or leave them out")
    taken = default_shares(parts) if shares is None else tuple(shares)
    return Sequential(name, tuple(parts), taken)


def followed_by(
    mechanism: Mechanism[Data, Answer], function: Callable[[Answer], New], name: str
) -> PostProcessed[Data, Answer, New]:
    """The mechanism, with its answer handed to a function that looks at nothing private. ``name``: for the ledger."""
    require(name, str, "name", _NAME)
    return PostProcessed(name, mechanism, function)


def metrics_of_rows(mechanism: Mechanism[Any, Any]) -> list[VerifiedMetric]:
    """The metrics of the mechanisms that read a table's rows, as a histogram or as whole tables of counts."""
    if isinstance(mechanism, TableReader):
        return [mechanism.metric]
    return [reader.metric for reader in histogram_readers(mechanism)]


def histogram_readers(mechanism: Mechanism[Any, Any]) -> list[HistogramMechanism[Any]]:
    """The mechanisms that read its histogram, through sequences and functions; none where something else is read."""
    match mechanism:
        case HistogramMechanism():
            return [mechanism]
        case Sequential(parts=parts):
            return [reader for part in parts for reader in histogram_readers(part)]
    return histogram_readers(mechanism.inner) if isinstance(mechanism, PostProcessed) else []
