"""The mechanism of a plan file: its law from its numbers, its sensitivity from metric and queries, its proof anew."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import TooLarge
from dxgeom.mechanisms.gaussian.jumps import jump_law
from dxgeom.mechanisms.gaussian.mechanism import NAME as GAUSSIAN
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.lattice import LatticeQueries, QueryChange
from dxgeom.mechanisms.linear.lengths_in_boxes import boxes_left
from dxgeom.mechanisms.linear.mixing import DiagonalMixing, IntegerMixing
from dxgeom.mechanisms.linear.sensitivity import Sensitivity, sensitivity_of
from dxgeom.mechanisms.parts.box_candidates import in_answers
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.contrast_answers import CONTRASTS, in_contrasts
from dxgeom.mechanisms.parts.contrasts import ContrastNumbers
from dxgeom.mechanisms.parts.products import NAME as PRODUCTS
from dxgeom.mechanisms.parts.products import ProductNumbers, in_products, product_of, product_queries
from dxgeom.mechanisms.parts.scales import LAPLACE, NORMAL
from dxgeom.mechanisms.parts.table_candidates import marginal_space, proved
from dxgeom.mechanisms.parts.table_mechanism import KRONECKER
from dxgeom.mechanisms.parts.toeplitz_mechanism import (
    TOEPLITZ,
    ToeplitzMechanism,
    WeightsAround,
    totals_in_answers,
)
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.noise.jumps import GaussianWithJumps
from dxgeom.noise.law import NoiseLaw
from dxgeom.noise.triangular import TriangularNormals
from dxgeom.plan_files.document import ChangePart, MechanismPart
from dxgeom.plan_files.laws import (
    ALONG,
    IN_BOXES,
    IN_TOTALS,
    JUMPS,
    THROUGH_A_TRIANGLE,
    bases_data,
    bases_of,
    contrasts_data,
    contrasts_of,
    jump_axes_of,
    jumps_data,
    law_data,
    law_of,
    measured_data,
    measured_of,
    products_data,
    products_of,
    scales_data,
    scales_of,
    strategy_data,
    strategy_of,
    triangle_data,
    triangle_of,
)
from dxgeom.plan_files.queries_data import weighed, weights_data
from dxgeom.plan_files.text.exact_text import floats_of, keys_of, rationals_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.candidates import names
from dxgeom.planner.changed_queries import public_records
from dxgeom.planner.public_numbers import numbers_of, sensitivity_less_public
from dxgeom.planner.wish import BOX_NOISE
from dxgeom.universe.public_shares import PublicPart, Shares
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.box_queries import BoxQueries


def mechanism_data(mechanism: AdditiveMechanism) -> dict[str, Any]:
    """The mechanism as a file holds it.

    Raises: UnsupportedCombination, TooLarge for what no file can hold.
    """
    mixing, change = mechanism.mixing, mechanism.change
    if not isinstance(mixing, IntegerMixing):
        law = None if mechanism.law is None else _law_data(mechanism.law)
    else:
        measured = mixing.measured
        law = scales_data(measured.scales)
        if measured.bases:
            law |= {"kind": ALONG, "bases": bases_data(measured.bases)}
        if isinstance(measured, ToeplitzMechanism):
            law |= {"kind": IN_TOTALS, "strategy": strategy_data(measured.strategy)[0]}
        if measured.trees:
            law |= {"kind": IN_BOXES, "measured": measured_data(measured.trees)}
        if isinstance(measured, ProductNumbers):
            law = products_data(measured.products, product_of(mixing))
        if isinstance(measured, ContrastNumbers):
            law = contrasts_data(measured.parts)
    diagonal = not isinstance(mixing, np.ndarray)
    return {
        "name": mechanism.name,
        "steps": [*map(str, mechanism.sensitivity.queries.steps)],
        "law": law,
        "without_noise": np.flatnonzero(~mixing.noisy).tolist() if isinstance(mixing, DiagonalMixing) else None,
        "mixing": None if diagonal else [[*map(str, row)] for row in mechanism.mixing_matrix.tolist()],
        "change": None if change is None else _change_data(mechanism.sensitivity.queries, change),
        **_public_data(mechanism.sensitivity.queries.public),
        "fingerprint": mechanism.fingerprint,
    }


def _change_data(answered: LatticeQueries, change: QueryChange) -> dict[str, Any]:
    queries = LinearQueries(answered.names, answered.tables, answered.steps)
    return {"records": change.records, "weights": weights_data(queries), "shifts": [*map(str, change.shifts)]}


def _public_data(public: PublicPart | None) -> dict[str, Any]:
    if public is None:
        return {}
    each = (
        None if one is None else [{"number": row, "share": str(share)} for row, share in one] for one in public.shares
    )
    return {"public": [*each]}


def mechanism_of(part: MechanismPart, metric: VerifiedMetric, queries: LinearQueries) -> AdditiveMechanism:
    """The mechanism that a file holds, proved to hide every difference that metric and queries have.

    Raises: Wrong.
    """
    if part.name not in names():
        raise Wrong("DX305", "mechanism.name", f"there is no such mechanism; known are {', '.join(names())}")
    with refused_as("DX304", "queries"):
        asked, _ = sensitivity_less_public(metric, queries, _shares(part, metric, queries.count))
    sensitivity, change = (asked, None) if part.change is None else _changed(part.change, asked, queries)
    if rationals_of(part.steps, "mechanism.steps") != sensitivity.queries.steps:
        raise Wrong("DX307", "mechanism.steps", "these are not the steps of the lattice that these queries have")
    if part.name in (NORMAL, LAPLACE, KRONECKER, PRODUCTS, CONTRASTS, *BOX_NOISE) and part.law is not None:
        mechanism = _of_tables(part, sensitivity)
    else:
        law = None if part.law is None else _law_of(part.law, sensitivity)
        if law is not None and law.normal != (part.name == GAUSSIAN):
            raise Wrong("DX305", "mechanism.name", f"'{GAUSSIAN}' is what normal noise is called, and no other")
        mixing = _mixing(part, queries.count)
        with refused_as("DX306", "mechanism.law"):
            mechanism = AdditiveMechanism(part.name, sensitivity, law, mixing, change)
    if mechanism.fingerprint != part.fingerprint:
        raise Wrong("DX307", "mechanism.fingerprint", f"this mechanism's fingerprint is {mechanism.fingerprint}")
    return mechanism


def _shares(part: MechanismPart, metric: VerifiedMetric, count: int) -> Shares | None:
    """What is taken away of each query; None where nothing is. Raises: Wrong."""
    if part.public is None:
        return None
    place, numbers = "mechanism.public", numbers_of(metric)
    if numbers is None or part.change is not None or len(part.public) != count:
        raise Wrong("DX305", place, "there is one for each query, of a policy with public numbers, and none is changed")
    shares: list[tuple[tuple[int, Fraction], ...] | None] = []
    for query, one in enumerate(part.public):
        rows = [] if one is None else [share.number for share in one]
        if rows != sorted({*rows}) or any(row >= len(numbers.numbers) for row in rows):
            raise Wrong("DX305", f"{place}[{query}]", f"these are places of {len(numbers.numbers):,} numbers, rising")
        own = () if one is None else rationals_of([share.share for share in one], f"{place}[{query}]")
        shares.append(None if one is None else tuple(zip(rows, own, strict=True)))
    return tuple(shares)


def _law_data(law: NoiseLaw) -> dict[str, Any]:
    if isinstance(law, TriangularNormals):
        return triangle_data(law)
    return jumps_data(law) if isinstance(law, GaussianWithJumps) else law_data(law)


def _law_of(data: dict[str, Any], sensitivity: Sensitivity) -> NoiseLaw:
    """Raises: Wrong."""
    if data.get("kind") == THROUGH_A_TRIANGLE:
        return triangle_of(data, "mechanism.law")
    if data.get("kind") != JUMPS:
        return law_of(data, "mechanism.law")
    axes = jump_axes_of(data, "mechanism.law")
    with refused_as("DX306", "mechanism.law"):
        return jump_law(sensitivity, axes)


def _of_tables(part: MechanismPart, sensitivity: Sensitivity) -> AdditiveMechanism:
    """Noise in parts of tables, from its scales; all else follows from the queries, and the proof is made anew."""
    if part.without_noise is not None or part.mixing is not None or part.change is not None:
        raise Wrong("DX302", "mechanism", "how tables of counts take their noise follows from the queries")
    if part.name == KRONECKER:
        return _along_bases(part, sensitivity)
    if part.name == TOEPLITZ:
        return _in_totals(part, sensitivity)
    if part.name in BOX_NOISE:
        return _in_boxes(part, sensitivity)
    if part.name == PRODUCTS:
        products, places = products_of(part.law, "mechanism.law")
        with refused_as("DX306", "mechanism.law"):
            return in_products(sensitivity, product_queries(sensitivity), products, places)
    if part.name == CONTRASTS:
        parts = contrasts_of(part.law, "mechanism.law")
        with refused_as("DX306", "mechanism.law"):
            return in_contrasts(sensitivity, product_queries(sensitivity), parts)
    scales = scales_of(part.law, "mechanism.law")
    with refused_as("DX306", "mechanism.law"):
        return proved(part.name, marginal_space(sensitivity, None, worst=False), scales)


def _along_bases(part: MechanismPart, sensitivity: Sensitivity) -> AdditiveMechanism:
    """Raises: Wrong."""
    law = keys_of(part.law, ("kind", "scales", "bases"), "mechanism.law")
    bases = bases_of(law["bases"], "mechanism.law.bases")
    if law["kind"] != ALONG:
        raise Wrong("DX305", "mechanism.law", f"the 'kind' of this is {ALONG}")
    scales = floats_of(law["scales"], "mechanism.law.scales")
    with refused_as("DX306", "mechanism.law"):
        return proved(KRONECKER, marginal_space(sensitivity, None, worst=False), scales, bases)


def _in_totals(part: MechanismPart, sensitivity: Sensitivity) -> AdditiveMechanism:
    """Raises: Wrong."""
    law = keys_of(part.law, ("kind", "scales", "strategy"), "mechanism.law")
    if law["kind"] != IN_TOTALS:
        raise Wrong("DX305", "mechanism.law", f"the 'kind' of this is {IN_TOTALS}")
    scales = floats_of(law["scales"], "mechanism.law.scales")
    around = _around(sensitivity)
    boxes, left = _boxes_left(sensitivity) if around is None else (around.prefixes, None)
    strategy = strategy_of([law["strategy"]], boxes.merged, "mechanism.law.strategy")
    with refused_as("DX306", "mechanism.law"):
        if around is not None:
            return around.through(sensitivity, strategy, scales)
        made = ToeplitzMechanism(part.name, sensitivity.metric, boxes, strategy, scales)
        return totals_in_answers(made, sensitivity, left)


def _in_boxes(part: MechanismPart, sensitivity: Sensitivity) -> AdditiveMechanism:
    """Raises: Wrong."""
    law = keys_of(part.law, ("kind", "scales", "measured"), "mechanism.law")
    if law["kind"] != IN_BOXES:
        raise Wrong("DX305", "mechanism.law", f"the 'kind' of this is {IN_BOXES}")
    scales = floats_of(law["scales"], "mechanism.law.scales")
    boxes, left = _boxes_left(sensitivity)
    with refused_as("DX306", "mechanism.law"):
        factors = measured_of(law["measured"], boxes.merged.sizes, "mechanism.law.measured")
        return in_answers(BoxMechanism(part.name, sensitivity.metric, boxes, factors, scales), sensitivity, left)


def _around(sensitivity: Sensitivity) -> WeightsAround | None:
    """Queries that are no boxes, of values that go round; None for all others."""
    try:
        boxes_left(sensitivity)
    except TooLarge:
        with suppress(TooLarge):
            return WeightsAround.of(sensitivity)
    return None


def _boxes_left(sensitivity: Sensitivity) -> tuple[BoxQueries, NDArray[np.int64]]:
    """Raises: Wrong."""
    try:
        return boxes_left(sensitivity)
    except TooLarge as error:
        raise Wrong(
            "DX306",
            "mechanism.law",
            f"noise in boxes hides counts in boxes and nothing else, and {error}. Version 0.2.0 of 23 November 2026 "
            "wrote such files by mistake",
            "plan again, and see docs/guide/guarantee.md, 'What was wrong', for what was released from this file",
        ) from error


def _mixing(part: MechanismPart, count: int) -> DiagonalMixing | NDArray[Any]:
    if (part.without_noise is None) == (part.mixing is None):
        raise Wrong("DX302", "mechanism", "answers carry coordinates of their own, or the field 'mixing' says how many")
    if part.without_noise is not None:
        noisy = np.ones(count, dtype=bool)
        if part.without_noise != sorted({*part.without_noise} & {*range(count)}):
            raise Wrong("DX302", "mechanism.without_noise", f"these are places of the {count:,} answers, rising")
        noisy[part.without_noise] = False
        return DiagonalMixing(noisy)
    rows = part.mixing or []
    width = len(rows[0]) if rows else 0
    if len(rows) != count or width == 0 or any(len(row) != width for row in rows):
        raise Wrong("DX302", "mechanism.mixing", "there is a row for each answer, and in it a share of each coordinate")
    mixing = np.empty((count, width), dtype=object)
    for number, row in enumerate(rows):
        mixing[number] = rationals_of(row, f"mechanism.mixing[{number}]")
    return mixing


def _changed(part: ChangePart, sensitivity: Sensitivity, queries: LinearQueries) -> tuple[Sensitivity, QueryChange]:
    """The sensitivity of the queries that are answered, and how far they are from those asked; *exact*."""
    place, metric = "mechanism.change", sensitivity.metric
    universe = metric.universe
    if universe is None or part.weights.names != list(queries.names) or part.weights.of_universe:
        raise Wrong("DX302", f"{place}.weights", "changed queries have the names of those asked, and bare weights")
    with refused_as("DX305", place):
        number = public_records(metric, queries, part.records)
        answered = sensitivity_of(metric, weighed(part.weights, universe, None, f"{place}.weights"))
    if any(answered.queries.weight_errors):
        raise Wrong("DX305", f"{place}.weights", "the changed weights are too fine for the lattice of their noise")
    shifts = tuple(_shifts(sensitivity.queries, answered.queries))
    if rationals_of(part.shifts, f"{place}.shifts") != shifts or number is None:
        raise Wrong("DX307", f"{place}.shifts", "the changed queries are not as far from those asked as this says")
    return answered, QueryChange(sensitivity.queries, number, shifts)


def _shifts(queries: LatticeQueries, answered: LatticeQueries) -> list[Fraction]:
    """(K,): the largest distance of two weights of a possible record, and what rounding had moved those asked
    before."""
    found = []
    for place, (before, after) in enumerate(zip(queries.numerators, answered.numerators, strict=True)):
        step, unit = queries.steps[place], answered.steps[place]
        pairs = {*zip(before.tolist(), after.tolist(), strict=True)}
        found.append(max(abs(old * step - new * unit) for old, new in pairs) + queries.weight_errors[place])
    return found
