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


def require_same_reading(readers: Sequence[HistogramMechanism[Any]]) -> None:
    """Raises: UnsupportedCombination when an index means different records to two, or only some hide how many."""
    universes = [reader.universe for reader in readers if reader.universe is not None]
    if not all(universe.lists_the_same_records(universes[0]) for universe in universes):
        raise UnsupportedCombination("the parts of a sequence count the same records: build them from one universe")
    if len({reader.absent for reader in readers}) > 1:
        raise UnsupportedCombination("for some parts records may be absent, for others their number is public")


def require_fixed(parts: object, kind: type, rule: str) -> None:
    """Raises: UnsupportedCombination unless these are a tuple of that kind, one at least."""
    if not (isinstance(parts, tuple) and parts and all(isinstance(part, kind) for part in parts)):
        raise UnsupportedCombination(rule)
