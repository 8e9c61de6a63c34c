"""``--consistent``: beside released answers the nearest ones that agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, final

import typer

from dxgeom.cli.terminal.failures import error_dict
from dxgeom.cli.terminal.options import TableFormat
from dxgeom.cli.terminal.printing import print_lines, print_table
from dxgeom.errors import DxgeomError
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.planner.answers.consistency import ConsistentAnswers
    from dxgeom.planner.release import Release
    from dxgeom.planner.releases.plans import ChosenPlan

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
        if self.wanted and self.output in (TableFormat.csv, TableFormat.parquet):
            raise typer.BadParameter(
                "answers that agree are shown as text or JSON, beside the released ones; not as a table alone"
            )

    def check(self, plan: ChosenPlan, spend: Fraction) -> None:
        """Raises: TooLarge, before anything is charged, when there are too many answers; UnsupportedCombination for a
        level that no error bar can be computed for, and for answers without bars, or that are not made to agree."""
        if self.wanted:
            plan.require_agreement()
        plan.require_bars(self.bars.level, spend, joint=self.bars.joint)

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
