"""The record of how a metric's axioms were established."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

from dxgeom.displayed import Displayed
from dxgeom.errors import NotAMetric

Verdict: TypeAlias = Literal["holds", "within rounding"]


@final
@dataclass(frozen=True, repr=False)
class MetricCertificate(Displayed):
    """Why the axioms of a pseudometric hold.

    ``form``: the metric's family. ``reason``: the theorem or the check, in words. ``pairs``, ``triples``: how many
    were compared one by one (0 where a theorem covers them all). ``verdict``: "within rounding" when float64 input
    broke the triangle inequality by no more than its own rounding, ``excess`` by how much, relative to the entry,
    ``tolerance`` how much was allowed (0 where the decision is exact).
    """

    form: str
    size: int
    reason: str
    pairs: int = 0
    triples: int = 0
    verdict: Verdict = "holds"
    excess: float = 0.0
    tolerance: float = 0.0
    parts: tuple[MetricCertificate, ...] = ()

    def lines(self, indent: str = "") -> list[str]:
        """The certificate for a reader, one line per part."""
        checked = f"; {self.pairs:,} pairs and {self.triples:,} triples checked" if self.pairs else ""
        rounding = (
            f"; within rounding of equality (relative excess {self.excess:.3g}, allowed {self.tolerance:.3g})"
            if self.excess
            else ""
        )
        head = f"{indent}{self.form} on {self.size:,} values: {self.reason}{checked}{rounding}"
        return [head, *(line for part in self.parts for line in part.lines(indent + "  "))]

    def as_dict(self) -> dict[str, Any]:
        """The certificate ready for JSON."""
        return {**vars(self), "parts": [part.as_dict() for part in self.parts]}


def require(holds: bool, rule: str) -> None:
    """What a proof rests on.

    Raises: NotAMetric, which states the rule, when it does not hold.
    """
    if not holds:
        raise NotAMetric(rule, ())
