"""The candidates: every mechanism that a plan may choose from. A new one is its own file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from dxgeom.displayed import Displayed
from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms import shapes  # whose files are loaded when a candidate is built
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.laplace import epsilon_dp_laplace, equal_shares, one_scale, proportional_shares
from dxgeom.planner.comparing import candidate_bounds
from dxgeom.planner.wish import AUTO, NAMED_FAMILIES
from dxgeom.universe.wording import did_you_mean

if TYPE_CHECKING:
    from dxgeom.planner.candidate_builder import CandidateBuilder


class Kind(Enum):
    """When a candidate is built, and when it is chosen."""

    SHAPE = "shape"
    """Always built; the one with the smallest error is taken, among equally good ones the earlier: it is simpler."""
    ORDINARY = "ordinary differential privacy"
    """As a shape; it is what the others are compared with."""
    PURE = "pure privacy"
    """Built where the policy counts pure privacy, or when asked for; then as a shape: where it counts concentrated
    privacy, Gaussian noise alone has less."""
    CONCENTRATED = "concentrated privacy"
    """Built where the policy counts concentrated privacy, or when asked for, which a policy that counts pure privacy
    refuses; then as a shape."""
    TABLES = "whole tables of counts"
    """Built where the queries are whole tables of counts over attributes with constants of their own, or when asked
    for; then as a shape."""
    CONCENTRATED_TABLES = "whole tables of counts, concentrated privacy"
    """Built where both hold."""
    UNEVEN_TABLES = "whole tables of counts, concentrated privacy, values that are not all equally far apart"
    """Built where all three hold, or when asked for; then as a shape."""
    BOXES = "very many counts in boxes"
    """Built where queries outgrow a search for shapes and are all counts in boxes, under rules about single attributes.
    Named, it answers them as ``BoxQueries``, of which nothing is laid out."""
    CONCENTRATED_BOXES = "very many counts in boxes, concentrated privacy"
    """Built where both hold."""
    PRODUCTS = "very many products of weights along attributes, records that come and go"
    """Built where queries outgrow a search for shapes and each multiplies weights of single attributes, under a rule
    about presence and none that is nearer; or when asked for. Then as a shape."""
    CONCENTRATED_PRODUCTS = "very many products of weights along attributes, concentrated privacy"
    """Built where queries outgrow a search for shapes and each multiplies weights of single attributes, or when asked
    for. Then as a shape."""
    USER_BODY = "a body of one's own"
    """Built when a body is given; then as a shape."""
    CHANGED_QUERIES = "changed queries"
    """Answers other queries than were asked, with a known bias: built where the number of records is public, or when
    asked for; taken when that is worth a bias."""
    OTHERWISE_DRAWN = "another's law, drawn otherwise"
    """Built and taken when named: its error is that of the other, and so it is never compared."""
    PUBLISHED = "published baseline"
    """The literature's: built when asked for, taken when named; a shape is no worse."""


NORMAL_KINDS: Final = (
    Kind.CONCENTRATED,
    Kind.CONCENTRATED_TABLES,
    Kind.UNEVEN_TABLES,
    Kind.CONCENTRATED_BOXES,
    Kind.CONCENTRATED_PRODUCTS,
)
"""Those of normal noise."""


@final
@dataclass(frozen=True)
class Candidate:
    """One mechanism for linear queries: its name everywhere, its title in pictures, and how it is built.

    ``build`` raises TooLarge, NotANormBall or CertificateRefused when it cannot be built this time.
    ``candidate_bound``: what its objective cannot be below, found much sooner than it is built; None where nothing such
    is known.
    """

    name: str
    title: str
    kind: Kind
    build: Callable[[CandidateBuilder], AdditiveMechanism]
    candidate_bound: Callable[[CandidateBuilder], float] | None = None


CANDIDATES: Final[tuple[Candidate, ...]] = (
    Candidate("laplace", "optimal Laplace", Kind.SHAPE, lambda shared: shared.laplace),
    Candidate(
        "box",
        "box",
        Kind.SHAPE,
        lambda shared: shapes.box_mechanism(shared.search_space),
        candidate_bounds.box_bound,
    ),
    Candidate(
        "ellipsoid",
        "ellipsoid",
        Kind.SHAPE,
        lambda shared: shapes.ellipsoid_mechanism(shared.search_space),
        candidate_bounds.ellipsoid_bound,
    ),
    Candidate(
        "rotated-laplace",
        "rotated Laplace",
        Kind.SHAPE,
        lambda shared: shapes.rotated_laplace(shared.search_space, shared.strategy),
        candidate_bounds.rotated_bound,
    ),
    Candidate("hull", "sensitivity hull", Kind.SHAPE, lambda shared: shared.hull),
    Candidate("coarse-hull", "coarsened hull", Kind.SHAPE, lambda shared: shared.coarse_hull),
    Candidate("block-hulls", "hulls of blocks", Kind.SHAPE, lambda shared: shared.block_hulls),
    Candidate(
        "strategy",
        "strategy of sums",
        Kind.SHAPE,
        lambda shared: shapes.strategy_mechanism(shared.search_space, shared.sums),
        candidate_bounds.strategy_bound,
    ),
    Candidate("gaussian-with-jumps", "Gaussian with jumps", Kind.PURE, lambda shared: shared.gaussian_with_jumps),
    Candidate("gaussian", "Gaussian", Kind.CONCENTRATED, lambda shared: shared.gaussian),
    Candidate("marginal-laplace", "Laplace in tables", Kind.TABLES, lambda shared: shared.marginal_laplace),
    Candidate(
        "marginal-gaussian",
        "Gaussian in tables",
        Kind.CONCENTRATED_TABLES,
        lambda shared: shared.marginal_gaussian,
    ),
    Candidate(
        "kronecker-gaussian",
        "Gaussian along bases",
        Kind.UNEVEN_TABLES,
        lambda shared: shared.kronecker_gaussian,
    ),
    Candidate("product-laplace", "Laplace in products", Kind.PRODUCTS, lambda shared: shared.product_laplace),
    Candidate(
        "product-gaussian",
        "Gaussian in products",
        Kind.CONCENTRATED_PRODUCTS,
        lambda shared: shared.product_gaussian,
    ),
    Candidate("body", "your own body", Kind.USER_BODY, lambda shared: shared.own_body),
    Candidate("epsilon-dp", "ordinary ε-DP", Kind.ORDINARY, lambda shared: epsilon_dp_laplace(shared.sensitivity)),
    Candidate("changed-queries", "changed queries", Kind.CHANGED_QUERIES, lambda shared: shared.changed_queries),
    Candidate("hull-by-rejection", "hull, by rejection", Kind.OTHERWISE_DRAWN, lambda shared: shared.hull_by_rejection),
    Candidate(
        "laplace-equal-shares",
        "Laplace, equal shares",
        Kind.PUBLISHED,
        lambda shared: equal_shares(shared.sensitivity),
    ),
    Candidate("laplace-one-scale", "Laplace, one scale", Kind.PUBLISHED, lambda shared: one_scale(shared.sensitivity)),
    Candidate(
        "laplace-proportional-shares",
        "Laplace, proportional shares",
        Kind.PUBLISHED,
        lambda shared: proportional_shares(shared.sensitivity),
    ),
    Candidate("boxes-laplace", "Laplace in boxes", Kind.BOXES, lambda shared: shared.in_boxes.built("boxes-laplace")),
    Candidate(
        "boxes-gaussian",
        "Gaussian in boxes",
        Kind.CONCENTRATED_BOXES,
        lambda shared: shared.in_boxes.built("boxes-gaussian"),
    ),
    Candidate(
        "toeplitz-gaussian",
        "Gaussian in running totals",
        Kind.CONCENTRATED_BOXES,
        lambda shared: shared.toeplitz_gaussian,
    ),
)


def names(*kinds: Kind) -> tuple[str, ...]:
    """The names of all candidates of these kinds, of all kinds when none is given, in their order."""
    return tuple(candidate.name for candidate in CANDIDATES if not kinds or candidate.kind in kinds)


def title_of(name: str) -> str:
    """What a mechanism is called in pictures: by its own name where it is no candidate."""
    return next((candidate.title for candidate in CANDIDATES if candidate.name == name), name)


def require_known(mechanism: str) -> str:
    """The same name.

    Raises: UnsupportedCombination unless it is "auto", that of a candidate, or of a family of mechanisms.
    """
    known = (AUTO, *names(), *NAMED_FAMILIES)
    if mechanism not in known:
        guess = did_you_mean(mechanism, known) if isinstance(mechanism, str) else ""
        guess = f"; {guess}" if guess.startswith("did") else ""
        raise UnsupportedCombination(f"there is no mechanism '{mechanism}'{guess}; known are {', '.join(known)}")
    return mechanism


def build(name: str, shared: CandidateBuilder) -> AdditiveMechanism:
    """The mechanism of that name.

    Raises: TooLarge, NotANormBall or CertificateRefused when it cannot be built.
    """
    return next(candidate for candidate in CANDIDATES if candidate.name == name).build(shared)


def candidate_bound_of(name: str) -> Callable[[CandidateBuilder], float] | None:
    """What the candidate's objective cannot be below, as a function; None where nothing is known before it is built."""
    return next(candidate for candidate in CANDIDATES if candidate.name == name).candidate_bound


@final
@dataclass(frozen=True, repr=False)
class CandidateResult(Displayed):
    """What became of one candidate.

    ``predicted_mse``: total mean squared error over the queries at spend 1, None when it was not built; then ``reason``
    says why not. ``per_query`` (K,): the same for each answer. ``loss``: the plan's objective there. ``build_cost``:
    the size of what had to be built, the same on every machine; ``seconds``: how long that took on this one, not part
    of the plan's JSON.
    """

    name: str
    predicted_mse: float | None
    per_query: tuple[float, ...] = field(default=(), repr=False)
    reason: str = ""
    loss: float | None = None
    build_cost: str = ""
    seconds: float | None = field(default=None, compare=False, repr=False)

    @property
    def worst_query(self) -> int | None:
        """The place of the query with the largest mean squared error, None when nothing was built."""
        return int(np.argmax(self.per_query)) if self.per_query else None

    def as_dict(self) -> dict[str, Any]:
        """The candidate ready for JSON."""
        return {
            "name": self.name,
            "predicted_mse": self.predicted_mse,
            "worst_query": self.worst_query,
            "per_query": list(self.per_query),
            "loss": self.loss,
            "set_up": self.build_cost,
            "reason": self.reason,
        }
