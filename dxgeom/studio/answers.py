"""How exact answers will be under the policy that is tried out: ± against what is spent, and what a smaller ± costs."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, final

from dxgeom.document.page import html_of
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.planner.choose import plan
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.queries.queries_file import load_queries
from dxgeom.report.showing import short_document_for
from dxgeom.report.usefulness import useless_of
from dxgeom.studio.draft import TriedPolicy
from dxgeom.universe.columns import plain
from dxgeom.wording.numbers import plus_minus

LEVEL: Final = 0.95
_MOST: Final = 200
"""Answers that are listed, the least exact first."""
_SHARE: Final = re.compile(r"[01](\.[0-9]{1,9})?")
_MARGIN: Final = Fraction(1001, 1000)


@final
class TriedAnswers:
    """The plan for a file of questions, made when it is asked for, under the policy as it was then."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._made: tuple[Policy, Plan] | None = None

    def planned(self, draft: TriedPolicy) -> None:
        """Plan under the present policy. Raises: QueryError and what planning raises."""
        if self.path is None:
            raise UnsupportedCombination("no file of questions was named: 'dxgeom studio policy.yaml queries.yaml'")
        if draft.policy is None:
            raise UnsupportedCombination("the policy has mistakes: mend them first")
        if self._made is None or self._made[0].fingerprint != draft.policy.fingerprint:
            asked = load_queries(self.path, draft.policy)
            self._made = draft.policy, plan(draft.policy.compile(), asked)

    def shown(self, draft: TriedPolicy, share: str) -> dict[str, Any]:
        """± of every answer when so much of the budget is spent on them: a share between 0 and 1.

        ``stale``: whether the policy has changed since the plan was made.
        """
        if self._made is None:
            return {"rows": [], "words": "", "notes": [], "stale": True, "planned": False}
        policy, made = self._made
        spend = _share(share) * policy.budget
        words = (
            f"Spending {plain(spend)} of the budget of {plain(policy.budget)} on these questions, an answer is off by "
            "at most ±, 19 times in 20."
        )
        listed = made.answers_a_list
        return {
            "rows": _rows(made, spend) if listed else [],
            "words": words if listed else "These questions have no ± one by one. What holds of their errors:",
            "notes": [] if listed else [str(one) for one in made.statements(spend)][:_MOST],
            "stale": draft.policy is None or draft.policy.fingerprint != policy.fingerprint,
            "planned": True,
        }

    def price(self, name: str, wanted: float) -> dict[str, Any]:
        """What has to be spent so that ± of an answer is at most so large."""
        policy, made = self._plan()
        if name not in made.queries.names:
            raise UnsupportedCombination(f"there is no answer {name!r}")
        if not (math.isfinite(wanted) and wanted > 0):
            raise UnsupportedCombination("± is a number above 0")
        place = made.queries.names.index(name)
        spend = _spend_for(made, place, Fraction(wanted), policy.budget)
        if spend is None:
            said = "No budget makes it so exact: what is not noise stays, such as rounding to groups of values."
            return {"words": said, "share": None}
        of = f"It costs {plain(spend)}"
        if spend > policy.budget:
            return {"words": f"{of}, more than the budget of {plain(policy.budget)}.", "share": None}
        share = float(spend / policy.budget)
        return {
            "words": f"{of} of the budget of {plain(policy.budget)}, on all these questions together.",
            "share": share,
        }

    def tried(self, share: str) -> dict[str, Any]:
        """The answers about made-up people, with their bars; every time other noise."""
        policy, made = self._plan()
        release = made.rehearse(spend=_share(share) * policy.budget)
        blocks = [one for part in short_document_for(release).sections for one in part.blocks if one.kind != "gauge"]
        return {"html": html_of(blocks)}

    def _plan(self) -> tuple[Policy, Plan]:
        if self._made is None:
            raise UnsupportedCombination("nothing is planned yet")
        return self._made


def _share(share: str) -> Fraction:
    if not _SHARE.fullmatch(share):  # what has an exponent could be longer than any memory
        raise UnsupportedCombination("a share of the budget is a number between 0 and 1")
    found = Fraction(share)
    if not 0 < found <= 1:
        raise UnsupportedCombination("a share of the budget is above 0 and at most 1")
    return found


def _rows(made: Plan, spend: Fraction) -> list[dict[str, Any]]:
    """Every answer with ±, the least exact first."""
    widths = [float(one) for one in made.half_widths(LEVEL, spend)]
    useless: Mapping[str, str]
    try:
        useless = {one.name: one.note for one in useless_of(made, spend, LEVEL)}
    except DxgeomError:
        useless = {}
    most = max((one for one in widths if math.isfinite(one)), default=1.0) or 1.0
    order = sorted(range(len(widths)), key=lambda k: -widths[k])[:_MOST]
    names = made.queries.names
    return [
        {
            "name": names[k],
            "said": plus_minus(widths[k]),
            "length": min(widths[k] / most, 1.0),
            "note": useless.get(names[k], ""),
        }
        for k in order
    ]


def _spend_for(made: Plan, place: int, wanted: Fraction, budget: Fraction) -> Fraction | None:
    """The least of three digits, *rounded up*: noise is as wide as one over it, but for the lattice and what stays."""
    spend = budget
    for _ in range(40):
        width = float(made.half_widths(LEVEL, spend)[place])
        if width <= float(wanted):
            return spend if spend != budget else _less(made, place, wanted, budget, width)
        if not math.isfinite(width):
            return None
        spend = _up(spend * max(Fraction(width) / wanted, _MARGIN))
        if spend > budget * 10**6:
            return None
    return None


def _less(made: Plan, place: int, wanted: Fraction, budget: Fraction, width: float) -> Fraction:
    """Where the whole budget is enough: as little as is enough, too."""
    spend = _up(budget * max(Fraction(width) / wanted, Fraction(1, 10**6)))
    while spend < budget and float(made.half_widths(LEVEL, spend)[place]) > float(wanted):
        spend = _up(spend * Fraction(102, 100))
    return min(spend, budget)


def _up(amount: Fraction) -> Fraction:
    unit = Fraction(10) ** (math.floor(math.log10(amount)) - 2)
    return math.ceil(amount / unit) * unit
