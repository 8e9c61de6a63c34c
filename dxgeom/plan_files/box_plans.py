"""Plans of boxes as files: the boxes' ends, how each attribute is measured, the scale of the noise in each block."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.mechanisms.parts.factors import Factor
from dxgeom.mechanisms.parts.toeplitz_mechanism import TOEPLITZ, ToeplitzMechanism, TotalsStrategy
from dxgeom.plan_files.codec import Codec
from dxgeom.plan_files.document import Decimal, Digest, PolicyPart, Rational
from dxgeom.plan_files.laws import measured_data, measured_of, scales_data, scales_of, strategy_data, strategy_of
from dxgeom.plan_files.sources import require_same_errors
from dxgeom.plan_files.text.exact_text import figure_of
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.boxes.choosing import boxes_of_scales
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.universe.workloads.box_queries import MOST_BOXES, BoxQueries

_STRICT: Final = ConfigDict(extra="forbid", defer_build=True, frozen=True, strict=True)


@final
class BoxesPart(BaseModel):
    """What is asked: counts in boxes, by their ends."""

    model_config = _STRICT

    attributes: list[str] = Field(description="The attributes that some box restricts, in the policy's order.")
    lower: list[list[int]] = Field(description="For each box and attribute the place of the first value inside.")
    upper: list[list[int]] = Field(description="Likewise the place of the first value beyond.")
    importance: list[Rational] | None = Field(description="What squared errors count; null for all alike.")
    errors: list[Rational | None] = Field(description="The error that each count may have; empty where none was said.")
    records: int | None = Field(description="The public number of records, where it is stated.", ge=1, le=2**53)
    fingerprint: Digest = Field(description="SHA-256 of what is asked.")


@final
class TotalsPart(BaseModel):
    """How running totals along an attribute are measured: coefficients and lengths of a Toeplitz matrix follow."""

    model_config = _STRICT

    theta: str = Field(
        description="A float64 in hexadecimal: of ((1 − x)(1 − θx))^(−1/2), whose coefficients the matrix has."
    )
    window: int | None = Field(description="Or of ((1 − x^window)/(1 − x))^(1/2); null for none.", ge=2)
    scaled: bool = Field(description="Whether each value's column has a length of its own.")
    alpha: str = Field(
        default="0x0.0p+0",
        description="Another such float64: of ((1 − αx)/((1 − x)(1 − θx)))^(1/2); left out for 0.",
    )


@final
class WeighedTotalsPart(BaseModel):
    """How running totals along an attribute are measured, by weights of changes: a triangular matrix follows."""

    model_config = _STRICT

    records: list[str] = Field(description="Weights of records over squared distances, float64 in hexadecimal.")
    steps: list[str] = Field(description="Likewise of steps from each value to the next.")
    costs: list[str] = Field(description="What squared errors of totals count.")
    nodes: list[int] = Field(description="The first power of four that weights are taken at, and how many.")


@final
class RootPart(BaseModel):
    """How running totals are measured along one of several attributes."""

    model_config = _STRICT

    root: dict[str, Any] = Field(description="A lower triangular matrix of whole numbers, over 2²⁴, row by row.")


@final
class BoxNoisePart(BaseModel):
    """How boxes are measured, and the noise in it."""

    model_config = _STRICT

    name: Literal["boxes-gaussian", "boxes-laplace", "toeplitz-gaussian"]
    measured: list[Literal["line"] | list[int] | TotalsPart | WeighedTotalsPart | RootPart] = Field(
        description="For each attribute whose values boxes tell apart: cut by cut along its line, or into how many "
        "classes each level of a tree splits those above; or of one attribute its running totals, of several a root."
    )
    scales: dict[str, Any] = Field(description="The scale of the noise in each block at spend 1; 0 for none.")


@final
class BoxPlanDocument(BaseModel):
    """A plan of counts in boxes: everything that decides the law of its releases, and nothing private."""

    model_config = _STRICT

    format: Literal["dxgeom plan 1"]
    policy: PolicyPart
    boxes: BoxesPart
    objective: Literal["mse", "max"] = Field(description="What was made small: the total squared error, or the worst.")
    box_noise: BoxNoisePart
    spend: Rational | None = Field(description="The spend of a release, where it was stated with the plan.")
    errors: list[Decimal] = Field(
        description="Root mean squared error of each count at spend 1; recomputed when the file is loaded."
    )
    fingerprint: Digest = Field(description="What ledgers remember the plan's releases by.")
    digest: Digest = Field(description="SHA-256 of all other fields, in their order, as JSON without blanks.")


@final
class BoxCodec(Codec):
    """Plans of boxes: trees, lines and scales are the file's, and they are proved to be enough for what the policy
    protects, every budget in integers."""

    document = BoxPlanDocument

    def fields(self, plan: Plan, policy: Policy) -> dict[str, Any]:
        asked = plan.queries
        boxes = {
            "attributes": [asked.universe.names[one.axis] for one in asked.columns],
            "lower": asked.lower.tolist(),
            "upper": asked.upper.tolist(),
            "importance": None if asked.importance is None else [*map(str, asked.importance)],
            "errors": [None if one is None else str(one) for one in asked.errors],
            "records": asked.records,
            "fingerprint": asked.fingerprint,
        }
        noise = {
            "name": plan.mechanism.name,
            "measured": _measured_data(plan.mechanism),
            "scales": scales_data(plan.mechanism.scales),
        }
        errors = [repr(error) for error in plan.rmse().tolist()]
        return {"boxes": boxes, "objective": plan.objective, "box_noise": noise, "errors": errors}

    def rebuilt(self, document: BoxPlanDocument, policy: Policy) -> Plan:
        queries = _queries(document.boxes, policy)
        factors = _measured_of(document.box_noise, queries.merged.sizes)
        scales = scales_of(document.box_noise.scales, "box_noise.scales")
        with refused_as("DX306", "box_noise"):
            return boxes_of_scales(
                policy.compile(), queries, document.objective, document.box_noise.name, factors, scales
            )

    def require_errors(self, document: BoxPlanDocument, plan: Plan) -> None:
        require_same_errors(document.errors, plan)


def _measured_data(mechanism: BoxMechanism | ToeplitzMechanism) -> list[Any]:
    if isinstance(mechanism, ToeplitzMechanism):
        return strategy_data(mechanism.strategy)
    return measured_data(mechanism.trees)


def _measured_of(part: BoxNoisePart, sizes: Sequence[int]) -> Sequence[Factor] | TotalsStrategy:
    """Raises: Wrong."""
    place = "box_noise.measured"
    totals = [one for one in part.measured if isinstance(one, BaseModel)]
    if len(part.measured) == len(totals) == len(sizes) and part.name == TOEPLITZ:
        return strategy_of([one.model_dump() for one in totals], sizes, place)
    if totals or part.name == TOEPLITZ:
        raise Wrong("DX305", place, f"running totals have noise that is called {TOEPLITZ}, of each attribute")
    return measured_of(part.measured, sizes, place)


def _queries(part: BoxesPart, policy: Policy) -> BoxQueries:
    """Raises: Wrong for ends that are no boxes of this policy, or others than those that the file says they are."""
    names = policy.universe.names
    if not part.attributes or part.attributes != [one for one in names if one in set(part.attributes)]:
        raise Wrong("DX304", "boxes.attributes", "these are attributes of the policy, in its order")
    width = len(part.attributes)
    for name, rows in (("lower", part.lower), ("upper", part.upper)):
        proper = 0 < len(rows) <= MOST_BOXES and all(len(row) == width for row in rows)
        if not proper or any(abs(end) > 2**53 for row in rows for end in row):
            raise Wrong("DX304", f"boxes.{name}", "there is a row for each box, and in it a place for each attribute")
    stated = None if part.importance is None else _figures(part.importance, "boxes.importance")
    wanted = tuple(
        None if one is None else figure_of(one, f"boxes.errors[{place}]") for place, one in enumerate(part.errors)
    )
    with refused_as("DX304", "boxes"):
        columns = BoxQueries.columns_of(policy.universe, part.attributes)
        ends = np.array(part.lower, dtype=np.int64), np.array(part.upper, dtype=np.int64)
        queries = BoxQueries(policy.universe, columns, *ends, stated, wanted, part.records)
    if queries.fingerprint != part.fingerprint:
        raise Wrong("DX304", "boxes.fingerprint", f"these boxes' fingerprint is {queries.fingerprint}")
    return queries


def _figures(texts: list[str], place: str) -> tuple[Fraction, ...]:
    return tuple(figure_of(one, f"{place}[{number}]") for number, one in enumerate(texts))


CODEC: Final = BoxCodec()
