"""Where a plan is wanted whole: an interruption ends the work, as it ends any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dxgeom.planner.plan import Plan


def uninterrupted(plan: Plan) -> Plan:
    """The same plan. Raises: KeyboardInterrupt where planning it was interrupted."""
    if plan.interrupted is not None:
        raise KeyboardInterrupt
    return plan
