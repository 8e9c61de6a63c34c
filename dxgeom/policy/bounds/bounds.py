"""What a rule states about one attribute, or several together, in exact numbers of the attributes' own measures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final

from dxgeom.policy.axes.axis import Axis


@final
@dataclass(frozen=True, order=True)
class Constant:
    """ε for every pair of different values."""

    epsilon: Fraction


@final
@dataclass(frozen=True)
class ByValue:
    """min(ε_a, ε_b) for values a ≠ b; None where a value has no ε of its own: then the other one's counts alone."""

    epsilons: tuple[Fraction | None, ...]


@final
@dataclass(frozen=True)
class Growing:
    """max(floor, rate·D) for values at distance D; floor 0 for ``per``, ε for ``within`` and ``beyond: linear``."""

    axis: Axis
    rate: Fraction
    floor: Fraction


@final
@dataclass(frozen=True)
class Near:
    """ε for values at distance at most ``reach``, the border included."""

    axis: Axis
    epsilon: Fraction
    reach: Fraction


@final
@dataclass(frozen=True)
class Edges:
    """Its own ε for each listed pair of codes; the pairs increase, each with its lower code first."""

    pairs: tuple[tuple[int, int], ...]
    epsilons: tuple[Fraction, ...]


@final
@dataclass(frozen=True)
class ByIndividual:
    """ε_a + ε_b for values a ≠ b; None where a value has no ε of its own: nothing is stated for its pairs."""

    epsilons: tuple[Fraction | None, ...]


@final
@dataclass(frozen=True)
class Blocks:
    """ε for values of one block; ``blocks`` numbers the block of each code, in the order of their first codes."""

    blocks: tuple[int, ...]
    epsilon: Fraction


Bound: TypeAlias = Constant | ByValue | Growing | Near | Edges | ByIndividual | Blocks


@final
@dataclass(frozen=True)
class AllAtOnce:
    """ε for records that differ only in these attributes, in however many of them at once; two names at least."""

    names: tuple[str, ...]
    epsilon: Fraction


@final
@dataclass(frozen=True)
class LargestChange:
    """The largest of the attributes' own bounds, for records that differ only in these; every floor is 0."""

    names: tuple[str, ...]
    each: tuple[Growing, ...]


JointBound: TypeAlias = AllAtOnce | LargestChange
"""What a rule states about several attributes together; names come in the universe's order."""
