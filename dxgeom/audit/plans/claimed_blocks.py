"""Which numbers a mechanism says that its noise is in: only said, and taken up to be held against what it releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from dxgeom.audit.plans.counted_blocks import AboveFirst, Along, AtCuts, CountedBlock, FirstOfTwo, InClasses
from dxgeom.errors import CertificateRefused
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.counts_with_noise import CountsWithNoise
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.noise.laws.composed import ProductNoise
from dxgeom.noise.laws.laplace import LaplaceNoise
from dxgeom.noise.laws.law import NoiseLaw

_SUMMED: Final[Mapping[str, Callable[[Any], Along]]] = {
    "Classes": lambda one: InClasses(one.count, one.width),
    "FirstLessSecond": lambda one: FirstOfTwo(),
    "Siblings": lambda one: AboveFirst(one.groups, one.radix, one.width),
    "Cuts": lambda one: AtCuts(one.size),
}


@final
class NoisyBlock(NamedTuple):
    """A block with the laws of its noise, one after the other, in lattice steps: one of all its numbers, or of each of
    its groups of siblings."""

    block: CountedBlock
    laws: Sequence[NoiseLaw]


def blocks_with_noise(mechanism: LatticeNoise[Any]) -> dict[int, NoisyBlock]:
    """Of noise in tables, or in boxes, for each part with noise by its number.

    Raises: CertificateRefused unless there is a coordinate for each number.
    """
    made: Any = _of_boxes if isinstance(mechanism, BoxMechanism) else _of_tables
    found = {
        number: NoisyBlock(made(mechanism, number), [law] * draws) for number, law, draws in mechanism.noisy_parts()
    }
    if any(one.block.size != sum(law.dimension for law in one.laws) for one in found.values()):
        raise CertificateRefused("this noise has other coordinates than the numbers that it is said to be in")
    return found


def _of_tables(mechanism: CountsWithNoise, number: int) -> CountedBlock:
    """Sets of attributes; the same again, in Laplace noise, for differences of two."""
    family, told, axes = mechanism.family, mechanism.queries.classes, sorted(mechanism.queries.classes)
    members = family.members_of(number % family.count)
    sizes = [int(family.sizes[a]) for a in members]
    if mechanism.normal:
        along: list[Along] = [AboveFirst(1, size, 1) for size in sizes]
    else:
        along = [FirstOfTwo() if number >= family.count and size == 2 else InClasses(size, 1) for size in sizes]
    return CountedBlock(tuple(axes[a] for a in members), tuple(along), told, mechanism.step.denominator)


def _of_boxes(mechanism: BoxMechanism, number: int) -> CountedBlock:
    columns, levels, axes, along = mechanism.told.columns, mechanism.question.blocks[number], [], []
    for column, factor, level in zip(columns, mechanism.factors, levels, strict=True):
        if level:
            axes.append(column.axis)
            along.append(_level(getattr(factor, "radices", ()), level, mechanism.normal, factor.size))
    told = {one.axis: one.codes for one in columns}
    return CountedBlock(tuple(axes), tuple(along), told, mechanism.step.denominator)


def _level(radices: Sequence[int], level: int, normal: bool, size: int) -> Along:
    """What is counted of a level of a tree, or of a line where it splits nothing."""
    if not radices:
        return AtCuts(size)
    above, width = math.prod(radices[: level - 1]), math.prod(radices[level:])
    return AboveFirst(above, radices[level - 1], width) if normal else InClasses(above * radices[level - 1], width)


def of_answers(mechanism: Any) -> list[NoisyBlock]:
    """Of noise in measured numbers that answers to linear queries are made of, in the order of its coordinates.

    Raises: CertificateRefused unless its law has as many coordinates, part by part.
    """
    mixing, law = mechanism.mixing, mechanism.law
    measured, answers = mixing.measured, len(mechanism.sensitivity.queries.names)
    fits = mixing.numerators.shape == (answers, law.dimension) and len(mixing.divisors) == answers
    if not (fits and all(mixing.divisors)):
        raise CertificateRefused("the noise has other coordinates than those that the answers take")
    blocks = []
    for one in measured.blocks:
        along = tuple(_SUMMED[type(each).__name__](each) for each in one.sums)
        blocks.append(CountedBlock(one.axes, along, measured.codes, measured.steps_per_count))
    return [*_with_laws(blocks, law)]


def _with_laws(blocks: Sequence[CountedBlock], law: NoiseLaw) -> Iterator[NoisyBlock]:
    """The law's parts, block by block: of Laplace noise one for each number."""
    single = (LaplaceNoise(np.array([scale])) for scale in law.scales) if isinstance(law, LaplaceNoise) else None
    parts: Iterator[NoiseLaw] = iter(single or (law.parts if isinstance(law, ProductNoise) else [law]))
    for block in blocks:
        own: list[NoiseLaw] = []
        left = block.size
        while left > 0 and (one := next(parts, None)) is not None:
            own.append(one)
            left -= one.dimension
        if left:
            raise CertificateRefused("this noise has other coordinates than the numbers that it is said to be in")
        yield NoisyBlock(block, own)
    if next(parts, None) is not None:
        raise CertificateRefused("this noise has more coordinates than the numbers that it is said to be in")
