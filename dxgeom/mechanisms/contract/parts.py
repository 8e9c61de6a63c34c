"""The parts of a composition: what they must have alike, and their answers as a ledger keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.contract.histogram_mechanism import HistogramMechanism
from dxgeom.mechanisms.contract.mechanism import Mechanism


def kept_by(parts: Sequence[Mechanism[Any, Any]], answers: Sequence[Any]) -> list[Any]:
    """Each part's answer as JSON, of which :func:`recalled_by` makes them again."""
    return [part.kept(answer) for part, answer in zip(parts, answers, strict=True)]


def recalled_by(parts: Sequence[Mechanism[Any, Any]], kept: Sequence[Any]) -> tuple[Any, ...]:
    """The answers that were kept."""
    return tuple(part.recalled(one) for part, one in zip(parts, kept, strict=True))


def require_alike(parts: Sequence[Mechanism[Any, Any]], readers: Sequence[HistogramMechanism[Any]]) -> None:
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
    if len({(one.policy_fingerprint, one.budget, one.currency, one.data_set) for one in accounts}) > 1:
        raise UnsupportedCombination(
            "the parts of a sequence honour one policy with one budget on one data set: build them from one"
        )


def require_fixed(parts: object, kind: type, rule: str) -> None:
    """Raises: UnsupportedCombination unless these are a tuple of that kind, one at least."""
    if not (isinstance(parts, tuple) and parts and all(isinstance(part, kind) for part in parts)):
        raise UnsupportedCombination(rule)
