"""``--consistent``: beside released answers the nearest ones that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, final

import typer

from dxgeom.cli.terminal.failures import error_dict
from dxgeom.cli.terminal.options import TableFormat
from dxgeom.cli.terminal.printing import print_lines, print_table
from dxgeom.errors import DxgeomError, UnsupportedCombination
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.answers.consistency import ConsistentAnswers
    from dxgeom.planner.boxes.box_plan import BoxPlan
    from dxgeom.planner.marginals.marginal_plan import MarginalPlan
    from dxgeom.planner.release import Release
    from dxgeom.planner.releases.plans import ChosenPlan, OtherPlan
    from dxgeom.planner.tasks.families import FamilyPlan

ConsistentOption: TypeAlias = Annotated[
    bool, typer.Option("--consistent", help="Also show the nearest answers that agree with each other.")
]
NonnegativeOption: TypeAlias = Annotated[
    bool, typer.Option("--nonnegative", help="With --consistent: answers that cannot be negative are not.")
]
IntegersOption: TypeAlias = Annotated[
    bool, typer.Option("--integers", help="With --consistent: answers that are whole numbers are so.")
]


class Bars(NamedTuple):
    """The confidence of error bars, and whether all hold at once."""

    level: float
    joint: bool


@final
@dataclass(frozen=True)
class Agreement:
    """Whether answers that agree are shown beside the released ones, what is asked of them, and which error bars."""

    wanted: bool
    nonnegative: bool
    integers: bool
    output: TableFormat
    bars: Bars

    def __post_init__(self) -> None:
        if (self.nonnegative or self.integers) and not self.wanted:
            raise typer.BadParameter("--nonnegative and --integers are about the answers of --consistent: give it, too")
        if self.wanted and self.output is TableFormat.csv:
            raise typer.BadParameter(
                "answers that agree are told as text or JSON, beside the released ones; not as CSV"
            )

    def check(self, plan: ChosenPlan, spend: Fraction) -> None:
        """Raises: TooLarge, before anything is charged, when there are too many answers; UnsupportedCombination for a
        level that no error bar can be computed for, and where quantiles are to agree or have bars."""
        from dxgeom.planner.plan import Plan

        if not isinstance(plan, Plan):
            self._check_other(plan, spend)
            return
        widths = plan.bars(spend)
        _ = widths.joint_half_widths(self.bars.level) if self.bars.joint else widths.half_widths(self.bars.level)
        if self.wanted:
            from dxgeom.planner.answers.consistency import require_few

            require_few(plan.queries.count)

    def _check_other(self, plan: OtherPlan, spend: Fraction) -> None:
        """Raises: as :meth:`check`. What else is planned than noise on linear queries is loaded for these alone."""
        from dxgeom.planner.plan import Plan
        from dxgeom.planner.quantile_plan import QuantilePlan
        from dxgeom.planner.tasks.families import FamilyPlan
        from dxgeom.planner.tasks.task_plan import TaskPlan

        if isinstance(plan, FamilyPlan):
            self._check_family(plan, spend)
        elif isinstance(plan, TaskPlan):
            if self.wanted:
                raise UnsupportedCombination(
                    "answers of several tasks are not made to agree: leave out --consistent, or release the queries by "
                    "themselves"
                )
            for part, share in zip(plan.parts, plan.tasks.shares, strict=True):
                if isinstance(part, Plan):
                    self.check(part, share * spend)
        elif not isinstance(plan, QuantilePlan):
            self._check_counts(plan, spend)
        elif self.wanted or self.bars.joint:
            raise UnsupportedCombination(
                "quantiles agree as they are drawn and have no error bars: leave out --consistent and --joint"
            )

    def _check_counts(self, plan: MarginalPlan | BoxPlan, spend: Fraction) -> None:
        """Raises: as :meth:`check`."""
        from dxgeom.planner.boxes.box_plan import BoxPlan

        if self.wanted or self.bars.joint:
            what = "boxes" if isinstance(plan, BoxPlan) else "whole tables"
            raise UnsupportedCombination(
                f"{what} agree as they are drawn, and their bars are each count's own: leave out --consistent and "
                "--joint"
            )
        _ = plan.half_widths(self.bars.level, spend)

    def _check_family(self, plan: FamilyPlan, spend: Fraction) -> None:
        """Raises: as :meth:`check`, and where synthetic records are to agree, as they do anyway."""
        from dxgeom.planner.plan import Plan

        if isinstance(plan.chosen, Plan):
            self.check(plan.chosen, spend)
        elif self.wanted:
            raise UnsupportedCombination("answers of synthetic records agree as they are made: leave out --consistent")

    def of(self, released: Release[Any]) -> ConsistentAnswers | DxgeomError | None:
        """The answers that agree, or why there are none: the released ones are paid for, and shown in any case."""
        if not self.wanted:
            return None
        try:
            return released.consistent(nonnegative=self.nonnegative, integers=self.integers)
        except DxgeomError as error:
            return error


def agreeing_document(agreeing: ConsistentAnswers | DxgeomError | None) -> dict[str, Any]:
    """What goes into the release's JSON; nothing where nothing was asked for."""
    if agreeing is None:
        return {}
    document = {"error": error_dict(agreeing)} if isinstance(agreeing, DxgeomError) else agreeing.as_dict()
    return {"consistent": document}


def print_agreeing(agreeing: ConsistentAnswers | DxgeomError | None) -> None:
    """A table of the answers that agree, and what was done to the released ones."""
    if isinstance(agreeing, DxgeomError):
        print_lines(["", f"no answers that agree: {agreeing}"])
    elif agreeing is not None:
        exact = agreeing.exact_values
        shown = (plain(value) if value.denominator == 1 else f"{float(value):,.6g}" for value in exact)
        print_lines([""])
        print_table(("query", "answer that agrees"), list(zip(agreeing.names, shown, strict=True)))
        print_lines(["", *agreeing.done])
