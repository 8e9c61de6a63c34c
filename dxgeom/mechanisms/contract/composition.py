"""Several mechanisms on the same data as one, which share a spend; a mechanism with a function behind it.

The parts of a composition: what they must have alike, and their answers as a ledger keeps them. How several mechanisms
share one spend. Several mechanisms on separate blocks of records as one: each has the spend whole.

What a release may tell about several records at once: the cheapest way to turn one table into another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import NoneType
from typing import Any, Final, Generic, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import array_of, require, require_function
from dxgeom.errors import CertificateRefused, TooLarge, UnsupportedCombination
from dxgeom.ledger.entry import Account
from dxgeom.mechanisms.contract.mechanism import Answer, Data, Mechanism
from dxgeom.mechanisms.contract.readers import HistogramMechanism, KeyReader, TableReader
from dxgeom.metrics.components import SeparateBlocks, separate_blocks
from dxgeom.metrics.diameters import path_lengths
from dxgeom.metrics.verification import VerifiedMetric, require_verified
from dxgeom.numeric.arrays import exact_sum
from dxgeom.numeric.randomness import Randomness
from dxgeom.numeric.rounding import round_up
from dxgeom.numeric.sealed import cached_property, canonical_digest
from dxgeom.numeric.shortest_paths import ConstraintRows, minimise_linear
from dxgeom.universe.decimals import SMALLEST


def kept_by(parts: Sequence[Mechanism[Any, Any]], answers: Sequence[Any]) -> list[Any]:
    """Each part's answer as JSON, of which :func:`_decoded_by` makes them again."""
    return [part.encode_answer(answer) for part, answer in zip(parts, answers, strict=True)]


def _decoded_by(parts: Sequence[Mechanism[Any, Any]], stored: Sequence[Any]) -> tuple[Any, ...]:
    """The answers that were kept."""
    return tuple(part.decode_answer(one) for part, one in zip(parts, stored, strict=True))


def _require_alike(parts: Sequence[Mechanism[Any, Any]], readers: Sequence[HistogramMechanism[Any]]) -> None:
    """What the parts of a sequence have alike, and those of them that read its histogram.

    Raises: UnsupportedCombination when an index means different records to two, when only some hide how many there are,
    or when not one budget of one policy on one data set pays for all.
    """
    known = {reader.universe.digest for reader in readers if reader.universe is not None}
    if len(known | {reader.metric.records for reader in readers if reader.metric.records is not None}) > 1:
        raise UnsupportedCombination("the parts of a sequence count the same records: build them from one universe")
    if len({reader.metric.people for reader in readers}) > 1:
        raise UnsupportedCombination("the parts of a sequence count people alike: build them from one policy")
    if len({reader.absent for reader in readers}) > 1:
        raise UnsupportedCombination("for some parts records may be absent, for others their number is public")
    accounts = [part.account for part in parts]
    if len({(one.policy_fingerprint, one.budget, one.privacy_measure, one.data_set) for one in accounts}) > 1:
        raise UnsupportedCombination(
            "the parts of a sequence honour one policy with one budget on one data set: build them from one"
        )


def _require_fixed(parts: object, kind: type, rule: str) -> None:
    """Raises: UnsupportedCombination unless these are a tuple of that kind, one at least."""
    if not (isinstance(parts, tuple) and parts and all(isinstance(part, kind) for part in parts)):
        raise UnsupportedCombination(rule)


_FINEST_SHARE = 10**6


def least_error_shares(errors: Sequence[float]) -> tuple[Fraction, ...]:
    """The shares of a spend at which Σ errors[k]/shares[k]² is least: in proportion to the cube roots.

    Args: ``errors``: the mean squared error of each part at spend 1, times what it counts; as that of all additive
    noise, it must fall with the square of the spend.
    Guarantee: exact fractions that sum to 1; optimal up to one in a million.
    Raises: UnsupportedCombination unless all are finite and positive.
    """
    roots = np.cbrt(np.array(errors, dtype=np.float64))
    if roots.ndim != 1 or not roots.size or not np.all(np.isfinite(roots) & (roots > 0)):
        raise UnsupportedCombination("the errors that a spend is shared by are finite and positive")
    parts = [max(1, round(_FINEST_SHARE * root)) for root in (roots / roots.sum()).tolist()]
    total = sum(parts)
    return tuple(Fraction(part, total) for part in parts)


def _default_shares(parts: Sequence[Mechanism[Any, Any]]) -> tuple[Fraction, ...]:
    """Equal ones where all parts serve any spend, else those that the parts' own spends imply.

    Raises: UnsupportedCombination when only some were made for one spend.
    """
    made_for = [part.only_spend for part in parts]
    if all(spend is None for spend in made_for):
        return tuple(Fraction(1, len(parts)) for _ in parts)
    spends = [spend for spend in made_for if spend is not None]
    if len(spends) < len(parts):
        raise UnsupportedCombination("some parts were made for one spend and others serve any: say the shares")
    return tuple(spend / sum(spends) for spend in spends)


_NAME: Final = "give the name that a ledger is to know the mechanism by"


@final
@dataclass(frozen=True, eq=False)
class Parallel(HistogramMechanism[tuple[Any, ...]]):
    """Part b answers about the records of block b alone, at the whole spend, see :func:`in_parallel`.

    Guarantee: replacing record i by j changes the odds of any set of answers by at most e^(spend·d(i, j)). Records of
    two blocks are infinitely far apart under d, so a replacement that counts stays within one block, where only one
    part sees it. How many records each block holds is public.
    Raises: UnsupportedCombination when a part was made for other records than its block's, or is a sequence: make a
    sequence of parallels instead, which says the same.
    """

    name: str
    blocks: SeparateBlocks = field(repr=False)
    parts: tuple[HistogramMechanism[Any], ...] = field(repr=False)

    def __post_init__(self) -> None:
        _require_fixed(
            self.parts,
            HistogramMechanism,
            "the part of a block is a mechanism on its histogram: of sequences, make a sequence of parallels; apply "
            "functions to the answer of all blocks",
        )
        if len(self.parts) != len(self.blocks.members):
            raise UnsupportedCombination(f"{len(self.blocks.members)} blocks have a part each, found {len(self.parts)}")
        for part, metric in zip(self.parts, self.blocks.metrics, strict=True):
            if part.metric is not metric:
                raise UnsupportedCombination("the part of a block is made with the metric that is handed to make")
            if part.absent is not None:
                raise UnsupportedCombination(
                    "the numbers of records of parallel blocks are public, this part hides its own"
                )
            if part.delta is not None:
                raise UnsupportedCombination(
                    "parallel parts keep their promise always, and this one only except with a chance 'delta'"
                )

    @property
    def metric(self) -> VerifiedMetric:
        """The metric on all records."""
        return self.blocks.whole

    @cached_property
    def fingerprint(self) -> str:
        parts = [part.fingerprint for part in self.parts]
        return canonical_digest("parallel", self.metric.fingerprint, list(self.blocks.members), parts)

    def check(self, data: NDArray[np.int64], spend: Fraction) -> None:
        super().check(data, spend)
        for part, counts in zip(self.parts, self.blocks.cut(data), strict=True):
            part.check(counts, spend)

    def check_size(self, records: int, spend: Fraction) -> None:
        """Nothing of its own: each part is asked about the records of its block."""

    def drawn(
        self, counts: NDArray[np.int64], spend: Fraction, count: int, randomness: Randomness
    ) -> list[tuple[Any, ...]]:
        """The answers of all parts, in the blocks' order."""
        cut = zip(self.parts, self.blocks.cut(counts), strict=True)
        return list(zip(*(part.drawn(inside, spend, count, randomness) for part, inside in cut), strict=True))

    def encode_answer(self, answer: Any) -> Any:
        return kept_by(self.parts, answer)

    def decode_answer(self, stored: Any) -> tuple[Any, ...]:
        return _decoded_by(self.parts, stored)

    def answer_bytes(self, spend: Fraction) -> int:
        return sum(part.answer_bytes(spend) for part in self.parts)


def in_parallel(
    metric: VerifiedMetric,
    labels: ArrayLike,
    make: Callable[[VerifiedMetric, NDArray[np.int64]], HistogramMechanism[Any]],
    name: str = "parallel",
) -> Parallel:
    """One mechanism for each block of records that the policy keeps apart, all at the price of one.

    Args: ``labels`` (N,): the block of each possible record, as a policy with ``partition`` or an attribute that no
    rule speaks of implies. ``make(metric, members)``: the part of a block, given the metric on its records and their
    indices.
    Raises: UnsupportedCombination when the metric hides two blocks' records from each other, naming two; else as
    :class:`Parallel`.
    """
    require(name, str, "name", _NAME)
    require_function(make, "make", "pass one that makes a mechanism of a block's metric and its records' indices")
    blocks = separate_blocks(metric, labels)
    return Parallel(name, blocks, tuple(map(make, blocks.metrics, blocks.members)))


New = TypeVar("New")
_PARTS = "a sequence has at least one part, and its parts all are mechanisms"


@final
@dataclass(frozen=True, eq=False)
class Sequential(Mechanism[Data, tuple[Any, ...]]):
    """Every part answers about the same data, part k at ``shares[k]`` of the spend, see :func:`in_sequence`.

    A part of nothing but public answers may have no share: it loses nothing, and has as much as all together.
    Guarantee: that of the parts, at the whole spend: losses under one policy add up.
    Raises: UnsupportedCombination when the parts answer for different policies or records, or for unfit shares.
    Source: Kamalaruban et al. 2020, §3.4; McSherry 2009 for ordinary differential privacy.
    """

    name: str
    parts: tuple[Mechanism[Data, Any], ...] = field(repr=False)
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        _require_fixed(self.parts, Mechanism, _PARTS)
        _require_alike(self.parts, histogram_readers(self))
        if len({part.columns for part in self.parts}) > 1:
            raise UnsupportedCombination(
                "the parts of a sequence read the same rows: give their statistics the same columns in the same order"
            )
        exact = isinstance(self.shares, tuple) and all(isinstance(share, Fraction) for share in self.shares)
        if not exact or len(self.shares) != len(self.parts) or sum(self.shares) != 1 or not self._proper:
            raise UnsupportedCombination(
                "the shares of a sequence are a positive Fraction for each part, at least 1e-30, and they sum to 1; "
                "only a part of nothing but public answers may have none"
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
    def delta(self) -> Fraction | None:
        """The sum of the parts' chances."""
        return sum((part.delta for part in self.parts if part.delta is not None), Fraction(0)) or None

    @property
    def public_answers(self) -> tuple[tuple[str, Fraction], ...] | None:
        each = [part.public_answers for part in self.parts]
        found = [own for own in each if own is not None]
        return tuple(itertools.chain.from_iterable(found)) if len(found) == len(each) else None

    @property
    def _proper(self) -> bool:
        each = zip(self.parts, self.shares, strict=True)
        return all(share >= SMALLEST or (share == 0 and part.public_answers is not None) for part, share in each)

    @property
    def _wholes(self) -> set[Fraction]:
        """The whole spends at which a part gets the one that it was made for."""
        return {part.only_spend / share for part, share, _ in self._alike if part.only_spend is not None}

    def check(self, data: Data, spend: Fraction) -> None:
        for part, share, _ in self._alike:
            part.check(data, (share or 1) * spend)

    def draws(self, data: Data, spend: Fraction, count: int, randomness: Randomness) -> list[tuple[Any, ...]]:
        """The answers of all parts, in order."""
        answers: list[Any] = [()] * len(self.parts)
        for part, share, places in self._alike:
            drawn = part.draws(data, (share or 1) * spend, count * len(places), randomness)
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

    def encode_answer(self, answer: Any) -> Any:
        return kept_by(self.parts, answer)

    def decode_answer(self, stored: Any) -> tuple[Any, ...]:
        return _decoded_by(self.parts, stored)

    def answer_bytes(self, spend: Fraction) -> int:
        return sum(part.answer_bytes((share or 1) * spend) for part, share in zip(self.parts, self.shares, strict=True))


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

    @property
    def delta(self) -> Fraction | None:
        return self.inner.delta

    @property
    def public_answers(self) -> tuple[tuple[str, Fraction], ...] | None:
        return self.inner.public_answers

    def check(self, data: Data, spend: Fraction) -> None:
        self.inner.check(data, spend)

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
    _require_fixed(tuple(parts), Mechanism, _PARTS)
    require(shares, (Sequence, NoneType), "shares", "list a Fraction for each part, or leave them out")
    taken = _default_shares(parts) if shares is None else tuple(shares)
    return Sequential(name, tuple(parts), taken)


def followed_by(
    mechanism: Mechanism[Data, Answer], function: Callable[[Answer], New], name: str
) -> PostProcessed[Data, Answer, New]:
    """The mechanism, with its answer handed to a function that looks at nothing private. ``name``: for the ledger."""
    require(name, str, "name", _NAME)
    return PostProcessed(name, mechanism, function)


def metrics_of_rows(mechanism: Mechanism[Any, Any]) -> list[VerifiedMetric]:
    """The metrics of the mechanisms that read a table's rows, as a histogram, whole tables of counts, or keys."""
    if isinstance(mechanism, TableReader):
        return [mechanism.metric]
    keyed = key_reader(mechanism)
    return [reader.metric for reader in histogram_readers(mechanism)] if keyed is None else [keyed.metric]


def key_reader(mechanism: Mechanism[Any, Any]) -> KeyReader[Any] | None:
    """The mechanism that reads counts of keys, alone in a sequence or before a function; None where none does."""
    match mechanism:
        case KeyReader():
            return mechanism
        case Sequential(parts=(alone,)):
            return key_reader(alone)
    return key_reader(mechanism.inner) if isinstance(mechanism, PostProcessed) else None


def histogram_readers(mechanism: Mechanism[Any, Any]) -> list[HistogramMechanism[Any]]:
    """The mechanisms that read its histogram, through sequences and functions; none where something else is read."""
    match mechanism:
        case HistogramMechanism():
            return [mechanism]
        case Sequential(parts=parts):
            return [reader for part in parts for reader in histogram_readers(part)]
    return histogram_readers(mechanism.inner) if isinstance(mechanism, PostProcessed) else []


MOST_MOVES = 200_000
"""Pairs of a possible record that loses records and one that gains some."""
MOST_RECORDS = 2**53
"""Beyond, float64 cannot count the records that move."""


def group_loss(metric: VerifiedMetric, before: ArrayLike, after: ArrayLike, spend: Fraction = Fraction(1)) -> float:
    """Nats by which releases of this total spend may tell the one histogram from the other, *rounded up*.

    Definition: spend·OT_d(before, after), the least Σ d(i, j) over all ways to move records of ``before`` from type i
    to type j until they are ``after``: each move makes a neighbour, and costs its distance. Where records may be
    absent, that is one of the types. ∞ when something has to move an infinite distance: nothing hides it.

    Args: ``before``, ``after`` (N,): whole numbers of records of each type. ``spend``: a positive Fraction.
    Guarantee: a bound whatever the solver did: the moves it found are whole, checked, and added up exactly.
    Raises: UnsupportedCombination for histograms that do not fit, or of different size where that is public; TooLarge
    when more than 200,000 kinds of moves come into question, or beyond 2⁵³ records.
    Source: corrected from Kamalaruban et al. 2020, whose k·max d for k replaced records can be far more.
    """
    require_verified(metric)
    if not (isinstance(spend, (int, Fraction)) and spend > 0):
        raise UnsupportedCombination(f"a spend is a positive Fraction, found {spend!r}")
    change = _balanced(metric, _counts(metric, after) - _counts(metric, before))
    losing, gaining = np.flatnonzero(change < 0), np.flatnonzero(change > 0)
    if losing.size == 0:
        return 0.0
    if losing.size * gaining.size > MOST_MOVES:
        raise TooLarge(
            f"{losing.size:,} possible records lose records and {gaining.size:,} gain some: too many to match"
        )
    costs = path_lengths(metric.metric, losing, gaining)
    supply, demand = -change[losing], change[gaining]
    if not _can_be_moved(np.isfinite(costs), supply, demand):
        return math.inf
    moves = _cheapest_moves(costs, supply, demand)
    return round_up(spend * sum(int(m) * Fraction(c) for m, c in zip(moves[moves > 0], costs[moves > 0], strict=True)))


def _counts(metric: VerifiedMetric, histogram: ArrayLike) -> NDArray[np.int64]:
    counts = array_of(histogram, "a histogram", "list the number of records of each type")
    if counts.shape != (metric.size,) or counts.dtype.kind not in "iu" or np.any(counts < 0):
        raise UnsupportedCombination(
            f"a histogram here has a whole number for each of {metric.size:,} possible records"
        )
    if exact_sum(counts) > MOST_RECORDS:
        raise TooLarge(f"tables of at most {MOST_RECORDS:,} records are compared")
    return counts.astype(np.int64)


def _balanced(metric: VerifiedMetric, change: NDArray[np.int64]) -> NDArray[np.int64]:
    more = int(change.sum())
    if more == 0:
        return change
    if metric.absent is None:
        raise UnsupportedCombination("the number of records is public under this policy, so both tables have the same")
    change = change.copy()
    change[metric.absent] -= more
    return change


def _can_be_moved(finite: NDArray[np.bool_], supply: NDArray[np.int64], demand: NDArray[np.int64]) -> bool:
    """Finite distance is an equivalence: each class has to balance by itself."""
    classes = np.unique(finite, axis=0)
    if np.any(classes.sum(axis=0) != 1) or not np.all(classes.any(axis=1)):
        return False
    return all(supply[(finite == one).all(axis=1)].sum() == demand[one].sum() for one in classes)


def _cheapest_moves(
    costs: NDArray[np.float64], supply: NDArray[np.int64], demand: NDArray[np.int64]
) -> NDArray[np.int64]:
    """(S, D): a vertex of the transport polytope, whose entries are whole.

    Raises: CertificateRefused when the solver's are not.
    """
    from_type, to_type = np.nonzero(np.isfinite(costs))
    width = len(from_type)
    ends = np.concatenate([from_type, len(supply) + to_type])
    rows = ConstraintRows(len(supply) + len(demand), ends, np.tile(np.arange(width), 2), np.ones(2 * width))
    nothing = ConstraintRows(0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    sides = np.concatenate([supply, demand]).astype(np.float64)
    moves = np.zeros(costs.shape, dtype=np.int64)
    moves[from_type, to_type] = np.rint(minimise_linear(costs[from_type, to_type], nothing, rows, sides))
    whole = np.all(moves >= 0) and np.array_equal(moves.sum(axis=1), supply)
    if not (whole and np.array_equal(moves.sum(axis=0), demand)):
        raise CertificateRefused("the solver's moves do not add up to the change; no bound is given")
    return moves
