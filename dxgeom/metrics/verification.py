"""From a metric to a verified one: the only door, and mechanisms accept nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field, replace
from fractions import Fraction
from types import NoneType
from typing import Any, Final, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dxgeom.arguments import require
from dxgeom.displayed import Displayed
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.metrics.combinations import (
    CapMetric,
    GroupedMetric,
    MaxMetric,
    OneMoreMetric,
    PresenceMetric,
    ReorderedMetric,
    SumMetric,
)
from dxgeom.metrics.families import DiscreteMetric, LineMetric, PartitionMetric, StarMetric, ValueSensitivityMetric
from dxgeom.metrics.graph import GraphMetric
from dxgeom.metrics.matrices import (
    DenseMetric,
    Progress,
    certify_matrix,
    fingerprint_of,
    matrix_of,
    require_of_a_check,
)
from dxgeom.metrics.metric import UNNAMED, DataSet, Metric, MetricCertificate
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.metrics.points import PointsMetric
from dxgeom.numeric.rounding import round_down
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.privacy.measures import PURE, Privacy, privacy_measure_of
from dxgeom.universe.labels import PolicyLabels
from dxgeom.universe.people.people import People
from dxgeom.universe.public_counts import KnownCounts
from dxgeom.universe.universe import Universe

_DOOR = object()

FAMILIES: Final[tuple[type[Metric], ...]] = (
    CapMetric,
    DenseMetric,
    DiscreteMetric,
    GraphMetric,
    GroupedMetric,
    LineMetric,
    MaxMetric,
    OneMoreMetric,
    PartitionMetric,
    PointsMetric,
    PresenceMetric,
    ReorderedMetric,
    StarMetric,
    SumMetric,
    ValueSensitivityMetric,
)
"""The metrics whose certificates are trusted; of any other kind no proof is known here."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class VerifiedMetric(Displayed):
    """A metric whose axioms were established; only :func:`verify` and ``verify_metric`` make one.

    ``fingerprint``: names the meaning it came from (a policy, a matrix) and, where they are known, the records that the
    indices mean, so that a ledger can tell.
    ``budget``: releases may spend this multiple of the metric in total. ``universe``: the records that the indices
    mean, None for a bare matrix. ``data_set``: which data it is about, as far as that was said; it changes no
    distance, and so no fingerprint. ``source_text``: gives the text that it was compiled from, or None; None where
    there is none. ``alike``: whether another such text means the same. ``labels``: what readers see instead of names
    and values, None for those themselves; no distance and no fingerprint knows them. ``block``: a digest of which
    records of a larger metric these are, whose account it keeps; None for a metric of its own. ``privacy``: what a
    distance promises, "pure" or "concentrated", which the fingerprint knows, too.
    ``people``: how people with many rows count, None where every row is taken to be a person's only one; where rows are
    counted, ``metric`` is what a policy says of people, divided by the rows that one person may have. ``known``: counts
    that everybody may know; no distance knows them, and the fingerprint of a policy does. ``held``: whether its
    distances hold for who knows these counts, too, which not every noise honours; also of a part of such a metric.
    ``over_periods``: what the policy promises of records in several periods, of which these distances keep more than is
    asked; None where they are all of it.
    ``delta``: with which chance all releases together may be outside what distances promise, None for never.
    ``adaptive``: whether whole tables may follow the data unasked; it changes no distance, and so no fingerprint.
    """

    metric: Metric
    certificate: MetricCertificate
    title: str
    fingerprint: str
    budget: Fraction
    universe: Universe | None = None
    data_set: DataSet = UNNAMED
    source_text: Callable[[], str | None] | None = field(default=None, repr=False)
    alike: Callable[[str], bool] | None = field(default=None, repr=False)
    block: str | None = None
    privacy: Privacy = PURE
    people: People | None = None
    labels: PolicyLabels | None = field(default=None, repr=False)
    known: KnownCounts | None = field(default=None, repr=False)
    held: bool = False
    over_periods: OverPeriods | None = field(default=None, repr=False)
    delta: Fraction | None = None
    adaptive: bool = False
    door: InitVar[object] = None

    def __post_init__(self, door: object) -> None:
        if door is not _DOOR:
            raise DxgeomError("a VerifiedMetric is made by verify_metric or by compiling a policy, never directly")
        privacy_measure_of(self.privacy)
        if self.budget <= 0:
            raise DxgeomError(f"a budget is a positive multiple of the metric, found {self.budget}")
        if self.universe is not None and self.universe.size != self.metric.size:
            raise UnsupportedCombination(
                f"a metric on {self.metric.size:,} records does not fit a universe of {self.universe.size:,}"
            )
        if self.universe is not None and isinstance(self.metric, PresenceMetric) and self.universe.absent is None:
            raise UnsupportedCombination("this metric has an absent record, the universe has none")
        if self.universe is not None and self.universe.reading.people != self.people:
            raise UnsupportedCombination("a metric on records counts people as these records say")

    def on(self, universe: Universe) -> VerifiedMetric:
        """The same metric on these records, which its fingerprint then names; itself if it knows them already.

        Raises: UnsupportedCombination for other records than it knows, or a universe that does not fit.
        """
        require(universe, Universe, "universe", "give policy.universe")
        if self.universe is not None:
            if self.universe.lists_the_same_records(universe):
                return self
            raise UnsupportedCombination("the metric is about another universe: load both from one policy")
        if self.block is not None:
            raise UnsupportedCombination(
                "the metric of a block is about some records of a larger one: give its queries as a matrix"
            )
        named = canonical_digest("metric on records", self.fingerprint, universe.digest)
        return replace(self, fingerprint=named, universe=universe, people=_people_of(universe), door=_DOOR)

    def narrowed(self, metric: Metric, block: str | None = None) -> VerifiedMetric:
        """What ``metric``, proved here, says of the same people on the same account: of some of the records, which
        ``block`` names, or of one attribute. Raises: as :func:`verify`."""
        _require_known(metric)
        given: dict[str, Any] = {"metric": metric, "certificate": metric.certificate(), "block": block}
        return replace(self, **given, universe=None, known=None, over_periods=None, door=_DOOR)

    def about(self, data_set: DataSet) -> VerifiedMetric:
        """The same metric about these data. What it says of them already stays: a name or an edition is only added.

        Raises: LedgerError for other data than it is about.
        """
        require(data_set, DataSet, "data_set", "give a dx.ledger.DataSet")
        return replace(self, data_set=self.data_set.completed(data_set), door=_DOOR)

    @property
    def records(self) -> str | None:
        """A digest of the records that the indices mean; None where nobody said."""
        return self.block if self.universe is None else self.universe.digest

    @property
    def size(self) -> int:
        """The number of possible records, the absent one included where there is one."""
        return self.metric.size

    @property
    def absent(self) -> int | None:
        """The index that means no record; None where the number of records is public."""
        if self.universe is not None:
            return self.universe.absent
        return self.metric.inner.size if isinstance(self.metric, PresenceMetric) else None

    def distance(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float64]:
        """d(i, j), elementwise over index arrays, *rounded down*.

        Raises: IndexError when an index is outside 0..size-1.
        """
        for indices in (np.asarray(i), np.asarray(j)):
            if indices.size and (indices.min() < 0 or indices.max() >= self.size):
                found = int(indices.min() if indices.min() < 0 else indices.max())
                raise IndexError(f"record indices run from 0 to {self.size - 1}; found {found}")
        return self.metric.distance(i, j)

    def to_networkx(self) -> Any:
        """A ``networkx.Graph``: the pairs of records that generate the metric, with their distances as ``weight``.

        Nodes are indices of records, with the values of their attributes where these are known; the absent record has
        none. Shortest paths by ``weight`` are all distances; records without a path may be told apart.
        Guarantee: weights are *rounded down*.
        Raises: TooLarge beyond two million records or pairs; MissingExtra without NetworkX.
        """
        from dxgeom.metrics.graph import graph_of_metric

        universe = self.universe
        return graph_of_metric(self.metric, int, lambda place: universe.record(place) if universe else {}, self.title)


def require_verified(metric: object) -> None:
    """Raises: WrongArgument unless the argument ``metric`` is a verified one; mechanisms accept nothing else."""
    advice = (
        "compile a policy, policy.compile(), or use dx.verify_metric(matrix): mechanisms accept verified metrics only"
    )
    require(metric, VerifiedMetric, "metric", advice)


def verify(
    metric: Metric,
    *,
    title: str,
    fingerprint: str,
    budget: Fraction,
    universe: Universe | None = None,
    data_set: DataSet = UNNAMED,
    source_text: Callable[[], str | None] | None = None,
    alike: Callable[[str], bool] | None = None,
    block: str | None = None,
    privacy: Privacy = PURE,
    people: People | None = None,
    labels: PolicyLabels | None = None,
    known: KnownCounts | None = None,
    over_periods: OverPeriods | None = None,
    delta: Fraction | None = None,
    adaptive: bool = False,
) -> VerifiedMetric:
    """Establish the axioms: by theorem from checked defining data, or pair by pair for a matrix.

    Args: ``fingerprint``: of all that was stated, ``privacy`` included, and the universe where one is given; else see
    :meth:`VerifiedMetric.on`. ``people``: left out, as the universe says; stated for people whose rows are counted,
    where ``metric`` has to be that of a row. ``known``: counts of these records that everybody may know.
    ``over_periods``: what is promised of several periods, which ``metric`` keeps. ``delta``: the chance that a policy
    states. ``adaptive``: whether it lets whole tables follow the data unasked.

    Raises: NotAMetric with a witness where there is one; UnsupportedCombination for a universe that does not fit.
    """
    _require_known(metric)
    counted = _people_of(universe) if people is None and universe is not None else people
    return VerifiedMetric(
        metric,
        metric.certificate(),
        title,
        fingerprint,
        budget,
        universe,
        data_set,
        source_text,
        alike,
        block,
        privacy,
        counted,
        labels,
        known,
        known is not None and known.hold is not None,
        over_periods,
        delta,
        adaptive,
        door=_DOOR,
    )


def _people_of(universe: Universe) -> People | None:
    """Who people are, as records say. Raises: UnsupportedCombination where the metric of a row is another one."""
    people = universe.reading.people
    if people is not None and people.most_rows > 1:
        raise UnsupportedCombination(
            "these records count people by their rows, each at a part of what the policy says: use the metric that "
            "the policy itself compiles to"
        )
    return people


def _require_known(metric: Metric) -> None:
    if type(metric) not in FAMILIES:
        raise UnsupportedCombination(f"no proof is known here that a {type(metric).__name__} is a metric")
    for held in vars(metric).values():
        for part in held if isinstance(held, tuple | list) else (held,):
            if isinstance(part, Metric):
                _require_known(part)


def verify_metric(
    matrix: ArrayLike,
    *,
    title: str = "matrix",
    budget: Fraction | int = 1,
    universe: Universe | None = None,
    progress: Progress | None = None,
    first: bool = False,
    privacy: Privacy = PURE,
) -> VerifiedMetric:
    """The triangle-inequality checker for a distance matrix that came from elsewhere.

    Args: ``matrix`` (N, N) of floats, integers, or exact rationals (``Fraction``); ∞ allowed, NaN refused.
    ``universe``: what the indices mean, when queries about it are to be answered. ``first``: stop at the first rows
    that show a violation. ``progress``: called with the rows done and the number of rows. ``privacy``: what a distance
    promises: "pure", odds within e^d; or "concentrated", Rényi divergences within α·d²/2, for Gaussian noise.
    Guarantee: integers and rationals are decided *exactly*; float64 input may miss the triangle inequality by a
    relative 2⁻⁴⁸ (its own rounding), which the certificate then says.
    Raises: NotAMetric with the worst witness ``(i, k, j)`` and the count of each broken axiom; UnsupportedCombination
    for a universe that does not fit.
    """
    require_of_a_check(title, budget, progress, first)
    privacy_measure_of(privacy)
    require(universe, (Universe, NoneType), "universe", "give policy.universe, or leave it out")
    entries, factor = matrix_of(matrix)
    certificate = certify_matrix(entries, factor, progress, first)
    if factor != 1:
        entries = np.array([[_scaled(entry, factor) for entry in row] for row in entries])
    metric = DenseMetric(entries)
    named = named_in(privacy, fingerprint_of(entries, factor))
    bare = VerifiedMetric(metric, certificate, title, named, Fraction(budget), privacy=privacy, door=_DOOR)
    return bare if universe is None else bare.on(universe)


def named_in(privacy: Privacy, fingerprint: str) -> str:
    """The fingerprint of distances that count this privacy."""
    return fingerprint if privacy == PURE else canonical_digest("metric of another currency", privacy, fingerprint)


def _scaled(entry: float, factor: Fraction) -> float:
    return float(entry) if np.isinf(entry) else round_down(Fraction(entry) * factor)
