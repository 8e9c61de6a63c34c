"""The plans that there are, for type checkers: nothing is loaded for their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dxgeom.planner.boxes.box_plan import BoxPlan
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.quantile_plan import QuantilePlan
    from dxgeom.planner.tasks.families import FamilyPlan
    from dxgeom.planner.tasks.task_plan import TaskPlan

    SavablePlan: TypeAlias = Plan | QuantilePlan | MarginalPlan | BoxPlan | TaskPlan
    OtherPlan: TypeAlias = QuantilePlan | MarginalPlan | BoxPlan | TaskPlan | FamilyPlan
    ChosenPlan: TypeAlias = Plan | OtherPlan
