"""Whole tables of counts with noise, whatever the size of the universe: in residuals, in tables, or along bases.

How noise in these makes up the noise of each marginal: in whole numbers over a common divisor.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from types import MappingProxyType
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.contract.readers import CountedTables, require_own_records
from dxgeom.mechanisms.linear.distance_bounds import DistanceBounds, joint_distance_bounds_of
from dxgeom.mechanisms.linear.mixing import Classes, FirstLessSecond, Siblings, Summing
from dxgeom.mechanisms.parts.bases import Blocks, Loads, TurnedShifts, cell_errors, uneven_distances
from dxgeom.mechanisms.parts.factors import Tree
from dxgeom.mechanisms.parts.lattice_noise import FAR, LEAST_ROOM, LatticeNoise
from dxgeom.mechanisms.parts.loads import hides_everything
from dxgeom.mechanisms.parts.public_tables import public_tables
from dxgeom.mechanisms.parts.scales import (
    LAPLACE,
    NORMAL,
    SHARES,
    cell_variances,
    inverse,
    measurement_shares,
    residual_variances,
)
from dxgeom.mechanisms.parts.tables import CellErrors, MarginalQuestion, SetFamily, family_of
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.triangular import DifferencedNormals, KroneckerNormals
from dxgeom.numeric.arrays import LARGEST
from dxgeom.numeric.sealed import cached_property, canonical_digest, freeze_arrays, sealed
from dxgeom.privacy.measures import require_for_normal_noise
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def measured_shape(family: SetFamily, number: int) -> tuple[int, ...]:
    """How many numbers a measured table has along each of its attributes: one where it is of differences."""
    sizes = [int(family.sizes[a]) for a in family.members_of(number % family.count)]
    return tuple(1 if number >= family.count and size == 2 else size for size in sizes)


def centred(table: NDArray[Any], differenced: bool) -> NDArray[Any]:
    """Π n_a times the table less its margins, or the one with margins zero where each number is ``differenced``: above
    the first of its axis, which is left out. An axis of one number is of differences of two."""
    for axis in range(table.ndim):
        if differenced:
            table = np.concatenate([np.zeros_like(np.take(table, [0], axis=axis)), table], axis=axis)
        if table.shape[axis] == 1:
            table = np.concatenate([table, -table], axis=axis)
        else:
            table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
    return table


def _summed_to(table: NDArray[Any], own: Sequence[int], kept: Sequence[int]) -> NDArray[Any]:
    """The margin of a table over the attributes ``own`` that is over those ``encode_answer``."""
    others = tuple(place for place, a in enumerate(own) if a not in kept)
    return np.asarray(table.sum(axis=others), dtype=table.dtype)


def put_together(
    family: SetFamily, number: int, residuals: Mapping[int, NDArray[Any]], kind: type[Any]
) -> NDArray[Any]:
    """The noise of one marginal times its divisor: its residuals' tables, each over the cells it is spread over."""
    own = family.members_of(number)
    table = np.zeros([int(family.sizes[a]) for a in own], dtype=kind)
    for inside in subsets(family, number):
        if inside in residuals:
            kept = family.members_of(inside)
            shape = [int(family.sizes[a]) if a in kept else 1 for a in own]
            table += np.asarray(residuals[inside], dtype=kind).reshape(shape)
    return table


def subsets(family: SetFamily, number: int) -> Iterator[int]:
    """The numbers of all sets inside one."""
    level, place = family.place_of(number)
    yield from family.below[level][place].tolist()


MOST_CELLS: Final = 50_000_000
"""Of more cells no answers are kept in memory."""
_BITS: Final = 62
_LOW: Final = 2**64 - 1


@final
@dataclass(frozen=True, eq=False)
class NoisyTables:
    """Released counts: cell c of table A is ``numerators[A][c]/divisors[A]``, exactly. ``numerators``: int64, or
    Python's integers where people count once, whose shares are many."""

    numerators: tuple[NDArray[Any], ...] = field(repr=False)
    divisors: tuple[int, ...]

    def counts(self, table: int) -> NDArray[np.float64]:
        """The cells of a table, flat, each rounded once."""
        return np.asarray(self.numerators[table] / self.divisors[table], dtype=np.float64)

    def as_dict(self) -> dict[str, Any]:
        """The tables ready for JSON."""
        return {"numerators": [one.tolist() for one in self.numerators], "divisors": [*map(str, self.divisors)]}


KRONECKER: Final = "kronecker-gaussian"
Bases: TypeAlias = tuple[NDArray[np.float64] | None, ...]
"""Of each attribute looked at a square matrix: what every vector of its basis has at the second, third, … value above
the first; None where its values are all equally far apart."""


@final
@dataclass(frozen=True, eq=False)
class TableMechanism(LatticeNoise[NoisyTables]):
    """Counts in all cells of marginal tables, with noise of ``scales``, in counts, in their parts: normal in residuals,
    Laplace in measured tables, or normal along products of ``bases``, of one scale for each coordinate that ``Blocks``
    numbers. Released tables agree: what two of them have in common is the same, exactly. With ``public`` residuals that
    the policy's public numbers tell are made of these: they have no noise, and are never looked up in the data.

    Guarantee: replacing record i by j changes the odds of any output by at most e^{s·d(i, j)} at spend s, for normal
    noise D_α by at most α·(s·d(i, j))²/2. When this is made every budget is summed in integers; along bases what every
    change of a record moves is bounded above, with all rounding errors counted against it. Each block of noise is drawn
    from the source and rounded exactly; nothing as large as the universe is ever made.
    Raises: CertificateRefused for scales that are too small, or leave a part of the tables without noise; TooLarge
    where the metric is no sum over attributes; UnsupportedCombination for normal noise where it counts pure privacy.
    """

    name: str
    metric: VerifiedMetric = field(repr=False)
    queries: MarginalQueries = field(repr=False)
    bases: Bases = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)
    public: bool = False

    def __post_init__(self) -> None:
        freeze_arrays(self, "scales")
        require_own_records(self.metric, self.queries.universe)
        if not isinstance(self.bases, tuple):
            raise CertificateRefused(
                "'bases' are a tuple, of a matrix or None for each column; (), where noise has none"
            )
        own = (None if one is None else sealed(np.array(one, dtype=np.float64)) for one in self.bases)
        object.__setattr__(self, "bases", tuple(own))
        if self.name not in (NORMAL, LAPLACE, KRONECKER) or (self.bases and self.name != KRONECKER):
            raise CertificateRefused(f"noise in tables is {NORMAL} or {LAPLACE}, and along bases {KRONECKER}")
        if self.public and not self.told:
            raise CertificateRefused("the policy's public numbers tell no part of these tables, or not of such noise")
        if self.normal:
            require_for_normal_noise(self.metric.privacy)
        self.require_no_number()
        if self.name == KRONECKER:
            hides = self.loads.largest(self.scales) <= 1
        else:
            hides = hides_everything(self.family, self.distance_bounds, self.scales, self.normal, self.told)
        if not hides:
            raise CertificateRefused("noise in the parts of these tables does not hide what the metric protects")
        if self.told and np.any(self.scales.reshape(-1, self.family.count)[:, [*self.told]] > 0):
            raise CertificateRefused("what public numbers tell of these tables has no noise")

    @property
    def normal(self) -> bool:
        return self.name != LAPLACE

    @cached_property
    def fingerprint(self) -> str:
        asked = self.metric.fingerprint, self.queries.fingerprint
        if self.public:
            return canonical_digest("whole tables less public", self.name, *asked, self.scales, [*self.told.items()])
        if self.name != KRONECKER:
            return canonical_digest("whole tables with noise", self.name, *asked, self.scales)
        bases = [np.zeros((0, 0)) if one is None else one for one in self.bases]
        return canonical_digest("whole tables with noise along bases", self.name, *asked, bases, self.scales)

    @cached_property
    def distance_bounds(self) -> DistanceBounds:
        """What is protected: from the metric itself, whatever anybody says."""
        return joint_distance_bounds_of(self.metric.metric, self.queries.universe.shape, self.queries.classes)

    @cached_property
    def family(self) -> SetFamily:
        """The tables, and all sets of attributes inside them."""
        return family_of(self.queries.sizes, self.queries.attribute_sets)

    @cached_property
    def question(self) -> MarginalQuestion:
        """The tables under what is protected, all cells alike."""
        least, presence = self.distance_bounds.least, self.distance_bounds.presence
        costs = np.ones(len(self.queries.attribute_sets))
        return MarginalQuestion.under(self.family, least, presence, costs, self.told)

    @cached_property
    def told(self) -> Mapping[int, NDArray[np.int64]]:
        """The table of each set, by its number, whose residual is made of public numbers."""
        asked = self.public and self.name != KRONECKER and self.metric.people is None
        return public_tables(self.metric, self.queries, self.family) if asked else MappingProxyType({})

    @property
    def all_told(self) -> tuple[bool, ...]:
        """(tables,): whether public numbers are all of a table."""
        return tuple(number in self.told for number in self.family.workload_sets.tolist())

    @cached_property
    def public_answers(self) -> tuple[tuple[str, Fraction], ...] | None:
        if not all(self.all_told):
            return None
        found: list[tuple[str, Fraction]] = []
        for place, columns in enumerate(self.queries.attribute_sets):
            cells = self.told[int(self.family.workload_sets[place])].ravel().tolist()
            named = (", ".join(own) for own in product(*(self.queries.columns[a].words for a in columns)))
            found += [
                (name or self.queries.names[place], Fraction(count)) for name, count in zip(named, cells, strict=True)
            ]
        return tuple(found)

    @cached_property
    def coordinates(self) -> Blocks:
        """Of noise along bases."""
        return Blocks.of(self.family, [one is not None for one in self.bases])

    @cached_property
    def loads(self) -> Loads:
        """What noise along bases has to hide. Raises: CertificateRefused; TooLarge."""
        uneven = uneven_distances(self.metric.metric, self.queries.universe.shape, self.queries.classes)
        _require_bases(self.bases, [None if one is None else one.size for one in uneven])
        shifts = tuple(
            None if basis is None or own is None else TurnedShifts(basis, own)
            for basis, own in zip(self.bases, uneven, strict=True)
        )
        return Loads(self.coordinates, self.distance_bounds, shifts)

    @cached_property
    def factors(self) -> tuple[Tree, ...]:
        """Trees of one level."""
        return tuple(Tree(size, (size,)) for size in self.queries.sizes)

    @property
    def codes(self) -> Mapping[int, NDArray[np.int64]]:
        return self.queries.classes

    def sums_of(self, number: int) -> Mapping[int, Summing]:
        sizes, shape = self.queries.sizes, measured_shape(self.family, number)
        own = zip(self.family.members_of(number % self.family.count), shape, strict=True)
        if self.normal:
            return {a: Siblings(1, sizes[a]) for a, _ in own}
        return {a: Classes(sizes[a]) if numbers > 1 else FirstLessSecond() for a, numbers in own}

    def averages(self) -> Iterator[tuple[Mapping[int, int], Mapping[int, int]]]:
        for residual, shares in self._shares.items():
            yield dict.fromkeys(self.family.members_of(residual), 1), shares

    @property
    def drawn_parts(self) -> Sequence[int]:
        return self.noisy if self.normal else list(self._averaged)

    @cached_property
    def _averaged(self) -> Mapping[int, tuple[tuple[int, int], ...]]:
        """Of each measured table the residuals that it tells of, each with its part of SHARES."""
        found: dict[int, list[tuple[int, int]]] = {}
        for inside, shares in self._shares.items():
            for measured, share in shares.items():
                found.setdefault(measured, []).append((inside, share))
        return MappingProxyType({measured: tuple(parts) for measured, parts in found.items()})

    def _residuals(self, noisy: Mapping[int, NDArray[Any]]) -> dict[int, NDArray[Any]]:
        """Of every residual what these measured numbers say, times the cells of its table, and times :attr:`_averages`
        for Laplace noise; each but those of :attr:`noisy` parts says itself what it is."""
        family, found = self.family, dict[int, NDArray[Any]]()
        for place, table in noisy.items():
            if self.normal:
                found[place] = centred(table, differenced=True)
                continue
            own = family.members_of(place % family.count)
            for inside, share in self._averaged.get(place, ((place, SHARES),)):
                part = centred(_summed_to(table, own, family.members_of(inside)), differenced=False)
                part = share * self._averages // SHARES * part
                found[inside] = found[inside] + part if inside in found else part
        return found

    @cached_property
    def protected(self) -> NDArray[np.bool_]:
        """(sets,): whether a record can move the residual of the set at a finite distance, and it is not public."""
        return self.loads.protected if self.name == KRONECKER else self.question.protected

    @cached_property
    def exact_sets(self) -> frozenset[tuple[int, ...]]:
        """The sets of attributes whose residual no protected record moves, or that is public: what is released of it
        is exact."""
        return frozenset(map(self.family.members_of, np.flatnonzero(~self.protected).tolist()))

    @cached_property
    def noisy(self) -> Sequence[int]:
        if self.name == KRONECKER:
            return tuple(n for n in range(self.family.count) if np.all(self.coordinates.table(n, self.scales) > 0))
        return tuple(np.flatnonzero(self.scales > 0).tolist())

    def law_of(self, number: int, step: float) -> tuple[NoiseLaw, int]:
        if self.name == KRONECKER:
            maps = maps_of(self.family, self.bases, number)
            return KroneckerNormals(self.coordinates.table(number, self.scales) / step, maps), 1
        scale = float(self.scales[number]) / step
        if self.normal:
            own = self.family.members_of(number)
            return DifferencedNormals(scale, self.family.sizes[list(own)].astype(np.float64)), 1
        return LaplaceNoise(np.full(math.prod(measured_shape(self.family, number)), scale)), 1

    @cached_property
    def _shares(self) -> Mapping[int, Mapping[int, int]]:
        """Of each residual the part of SHARES that each measured table has in it; all of it where noise is normal."""
        found = {n: {n: 1} for n in self.noisy} if self.normal else measurement_shares(self.question, self.scales)
        return MappingProxyType({number: MappingProxyType(own) for number, own in found.items()})

    @cached_property
    def cell_errors(self) -> CellErrors:
        """Mean squared errors, rounding to the lattice left out, which adds less than a thousandth. Along bases cells
        of unlike values are not alike."""
        if self.name == KRONECKER:
            return cell_errors(self.coordinates, self.bases, self.scales)
        own = self.scales**2 if self.normal else residual_variances(self.question, inverse(self.scales))
        alike = cell_variances(self.question, own)
        return CellErrors(alike, alike)

    @property
    def _whole(self) -> type:
        """Of what whole numbers are: shares need more than 64 bits."""
        return np.int64 if self.shares == 1 else object

    @property
    def variances(self) -> NDArray[np.float64]:
        """(tables,): mean squared error of the least exact cell of each table at spend 1, rounding left out."""
        return self.cell_errors.most

    @cached_property
    def _averages(self) -> int:
        """What the part that a measured table has in an average is told over. It is 1 where nothing is averaged: under
        normal noise, and where each residual is told by one table only; there just of tables whose cells times SHARES
        leave too few bits for records, so that all others stay what they were."""
        if self.normal:
            return 1
        narrow = 2**_BITS // (max(map(math.prod, self.queries.shapes)) * SHARES) < LEAST_ROOM
        return 1 if narrow and all(len(own) == 1 for own in self._shares.values()) else SHARES

    @property
    def _finest(self) -> Fraction:
        room = 2**_BITS // (max(map(math.prod, self.queries.shapes)) * self._averages)
        return Fraction(1, 2 ** max(0, (room // (2 * LEAST_ROOM)).bit_length() - 1))

    @cached_property
    def divisors(self) -> tuple[int, ...]:
        """Of each table: its cells are whole multiples of one over this."""
        return tuple(self.shares * one for one in self._inner_divisors)

    @cached_property
    def _inner_divisors(self) -> tuple[int, ...]:
        """Of what is counted in the data, which are shares where people count once."""
        if not np.any(self.scales > 0) and (all(self.all_told) or not self.told):
            return (1,) * len(self.queries.shapes)
        return tuple(math.prod(shape) * self._averages * self.step.denominator for shape in self.queries.shapes)

    def check(self, data: CountedTables, spend: Fraction) -> None:
        if self.queries.count > MOST_CELLS:
            raise TooLarge(
                f"these tables have {self.queries.count:,} cells; at most {MOST_CELLS:,} are released at once"
            )
        self.require_counts(data)
        if self._most_records(spend) < LEAST_ROOM:
            much = 2**_BITS / max(self.divisors) >= LEAST_ROOM or self.shares > 1
            advice = "spend more, or ask" if much else "tables of so many cells leave no room beside it: ask"
            raise TooLarge(f"noise of this size does not fit 64-bit integers; {advice} for smaller tables")

    def _most_records(self, spend: Fraction) -> int:
        """So many that every number stays below 2⁶², for noise up to what has a chance below e⁻¹⁰⁰; of more, they are
        Python's integers."""
        widest = max((len(one) for one in self.queries.attribute_sets), default=0)
        drawn = float(self.scales.max(initial=0)) * 2.0**widest * math.sqrt(2) * FAR * self.shares / float(spend)
        if self.shares > 1:
            # What is put together are Python's integers; only what is drawn and what is read are not.
            return LARGEST if drawn / float(self.step) < 2**_BITS else 0
        return max(0, int(2**_BITS / max(self.divisors) - drawn * 4.0**widest))

    def answered(self, data: CountedTables, noise: Mapping[int, NDArray[np.int64]]) -> NoisyTables:
        if not self.noisy and all(self.all_told):
            whole = (self.told[number].ravel() for number in self.family.workload_sets.tolist())
            return NoisyTables(tuple(np.array(cells, dtype=self._whole) for cells in whole), self.divisors)
        if not self.noisy and not self.told:
            return NoisyTables(tuple(np.array(cells, dtype=self._whole) for cells in data.cells), self.divisors)
        kind, family = self._whole_for(data), self.family
        noisy = {number: self.with_noise(number, data, noise[number]) for number in self.drawn_parts}
        for number in {*np.flatnonzero(~self.protected).tolist()} - noisy.keys():
            own = self.told.get(number)
            noisy[number] = self.measured(number, data) if own is None else self.in_steps(self.sums_of(number), own)
        residuals = self._residuals({number: table.astype(kind) for number, table in noisy.items()})
        released = []
        for number in family.workload_sets.tolist():
            table = put_together(family, number, residuals, kind).ravel()
            # What type the answers have follows from the noisy numbers.
            released.append(table if self.shares > 1 or not _fits(table) else table.astype(np.int64, copy=False))
        return NoisyTables(tuple(released), self.divisors)

    def _whole_for(self, data: CountedTables) -> type:
        """Of what whole numbers are. Nobody is refused for how many records there are: of very many, they are Python's
        integers. Put together are at most so many times all records as each residual, less its margins, may be."""
        widest = max(map(len, self.queries.attribute_sets), default=0)
        read = [*data.cells, *self.told.values()]
        most = max(float(np.abs(cells).sum(dtype=np.float64)) for cells in read)
        return object if most * max(self._inner_divisors) * 4.0**widest >= 2.0 ** (_BITS - 1) else self._whole

    def encode_answer(self, answer: NoisyTables) -> Any:
        return {"tables": [packed(one) for one in answer.numerators], "divisors": list(answer.divisors)}

    def decode_answer(self, stored: Any) -> NoisyTables:
        return NoisyTables(tuple(unpacked(one) for one in stored["tables"]), tuple(stored["divisors"]))

    def answer_bytes(self, spend: Fraction) -> int:
        """Eight bytes for each cell in text of four thirds, once more in digits where these are shown, too; and what a
        table's compression and words add. Sixteen where people count once."""
        each = 33 if self.shares == 1 else 70
        return each * self.queries.count + 2048 * len(self.queries.attribute_sets) + 4096


def maps_of(family: SetFamily, bases: Bases, number: int) -> tuple[NDArray[np.float64], ...]:
    """The matrix along each attribute of a set: its basis, or what each number is above the first."""
    found = []
    for a in family.members_of(number):
        basis, size = bases[a], int(family.sizes[a])
        found.append(np.hstack([-np.ones((size - 1, 1)), np.eye(size - 1)]) if basis is None else basis)
    return tuple(found)


def _require_bases(bases: Bases, sizes: Sequence[int | None]) -> None:
    """Raises: CertificateRefused unless just the attributes with these sizes, None for others, have bases that fit."""
    same = len(bases) == len(sizes) and all(
        (basis is None and size is None)
        or (basis is not None and size is not None and basis.shape == (size - 1, size - 1) and np.isfinite(basis).all())
        for basis, size in zip(bases, sizes, strict=False)
    )
    if not same:
        raise CertificateRefused("these are bases of other attributes than those whose values are unlike")


def _fits(numbers: NDArray[Any]) -> bool:
    return numbers.dtype == np.int64 or all(-LARGEST <= number <= LARGEST for number in numbers.tolist())


def packed(numbers: NDArray[Any]) -> str:
    """Whole numbers as text: little-endian int64, byte by byte of equal weight, zlib, base64; Python's integers below
    2¹²⁷ in size as two of these, the lower one without a sign, behind a colon."""
    if numbers.dtype == object:
        lower = np.array([number & _LOW for number in numbers.tolist()], dtype=np.uint64).view(np.int64)
        upper = np.array([number >> 64 for number in numbers.tolist()], dtype=np.int64)
        return f":{packed(np.concatenate([lower, upper]))}"
    planes = np.ascontiguousarray(numbers.astype("<i8")).view(np.uint8).reshape(-1, 8).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).tobytes(), 1)).decode("ascii")


def unpacked(text: str) -> NDArray[Any]:
    """The numbers of :func:`packed`."""
    if text.startswith(":"):
        lower, upper = np.split(unpacked(text[1:]), 2)
        each = zip(lower.view(np.uint64).tolist(), upper.tolist(), strict=True)
        return np.array([(high << 64) + low for low, high in each], dtype=object)
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8).reshape(8, -1)
    return np.ascontiguousarray(planes.T).view("<i8").ravel().astype(np.int64)
