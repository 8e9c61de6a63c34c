"""``{bins: [edges…]}``, with ``whole`` and ``clamp``: intervals between increasing edges."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Annotated, ClassVar, final

from pydantic import Field

from dxgeom.policy.axes.axis import Axis
from dxgeom.policy.axes.line import LineAxis
from dxgeom.policy.kinds.attribute_keys import AttributeKeys
from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit, misfit_of_numbers, obeyed, written_as
from dxgeom.policy.kinds.raw_numbers import Clamp, Whole, raw_numbers
from dxgeom.policy.source.fields import Exact
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.columns import plain
from dxgeom.universe.numbers.numeric_attributes import FINEST, BinnedAttribute

_EDGES = Field(description="Every edge, the outer two included.", json_schema_extra=obeyed({"minItems": 2}))


@final
class BinsSyntax(AttributeKeys):
    """``{bins: [edges…], whole: true, clamp: [lowest, highest]}``."""

    model_config = written_as(
        "Bins", "intervals between increasing edges; in sums a bin counts as the middle of its numbers."
    )

    bins: Annotated[tuple[Exact, ...], _EDGES]
    whole: Whole = None
    clamp: Clamp = None


@final
class BinsKind(AttributeKind[BinsSyntax, BinnedAttribute]):
    """Intervals of numbers; lengths are between midpoints in their own unit, or in steps from bin to bin."""

    key: ClassVar[str] = "bins"
    noun: ClassVar[str] = "bins"
    form: ClassVar[str] = "{bins}"
    syntax = BinsSyntax
    makes = BinnedAttribute

    def resolve(self, syntax: BinsSyntax, declared: Declared) -> BinnedAttribute | None:
        edges = syntax.bins
        if len(edges) < 2:
            message = f": bins need at least two edges, found {len(edges)}"
            declared.note("DX112", message, "write every edge, the outer two included", at=("bins",))
            return None
        if not declared.few_enough(len(edges) - 1):
            return None
        largest = max(map(abs, edges))
        for place, (low, high) in enumerate(pairwise(edges), start=1):
            if (high - low) * FINEST <= largest:
                problem = "edges increase" if high <= low else "these edges are too close beside numbers as large"
                message = f": {problem}, found {plain(low)} then {plain(high)}"
                declared.note("DX112", message, "sort the edges and remove doubles", at=("bins", place))
                return None
        raw = raw_numbers(declared, syntax.whole, syntax.clamp, edges[:-1], edges[-1])
        return None if raw is None else BinnedAttribute(declared.name, edges, raw)

    def measured(self, attribute: BinnedAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit == "step":
            return LineAxis("steps", tuple(map(Fraction, range(attribute.size)))), length.amount
        if length.unit == "":
            return LineAxis("numbers", attribute.numbers), length.amount
        return misfit_of_numbers(attribute, length)
