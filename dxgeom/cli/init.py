"""``dxgeom init``: a policy and queries to begin with, from the columns of one's own table."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption, spend_of
from dxgeom.cli.terminal import begun_file, print_json, print_lines, refusals
from dxgeom.errors import DataError, PolicyError
from dxgeom.progress_line import begun_by_a_kernel

if TYPE_CHECKING:
    from dxgeom.engines.opening import OutlinedColumn
    from dxgeom.starting.drafts import Declared, Draft


MOST_VALUES = 200
TableFile: TypeAlias = Annotated[Path, typer.Argument(help="The table: CSV or Parquet.", metavar="TABLE")]
TargetOption: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", metavar="FILE", help="The new policy file; queries are written beside it.")
]
PublicOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--public-values", metavar="COLUMN", help="Its values are public: read them. May be repeated."),
]
ValuesOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--values", metavar="COLUMN=a,b,c", help="All values that there can be. May be repeated."),
]
RangeOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--range", metavar="COLUMN=LOW:HIGH[:STEP]", help="The ends that there can be, numbers or days."),
]
LeftOutOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--leave-out", metavar="COLUMN", help="No attribute of the policy. May be repeated.")
]
EpsilonOption: TypeAlias = Annotated[
    Fraction, typer.Option("--epsilon", parser=spend_of, metavar="E", help="Of every rule, to be changed in the file.")
]


def init(
    table: TableFile,
    target: TargetOption = Path("policy.yaml"),
    public: PublicOption = None,
    values: ValuesOption = None,
    ends: RangeOption = None,
    left_out: LeftOutOption = None,
    epsilon: EpsilonOption = Fraction(1),
    output: FormatOption = Format.text,
) -> None:
    """Write a policy and a queries file to begin with, for a table of your own.

    Reads the names and types of the columns, and no values but those of columns that you declare public. What is not
    said here is asked for on a terminal, and elsewhere marked FILL IN, which 'dxgeom check' then points at.

    \b
    Example:
      dxgeom init patients.csv --values sex=F,M --range age=0:110 --leave-out name -o policy.yaml
    """
    beside = target.with_name("queries.yaml" if target.stem == "policy" else f"{target.stem}-queries.yaml")
    with refusals(output), begun_file(target) as write, begun_file(beside) as write_queries:
        columns = _columns(table, left_out or [])
        declared = _declared(table, columns, public or [], values or [], ends or [])
        if output is Format.text and _somebody_answers():
            declared |= _asked(columns, declared)
        from dxgeom.starting.drafts import draft_of

        draft = draft_of(table.name.split(".")[0] or "policy", table.name, columns, declared, epsilon)
        if write is not None and write_queries is not None:
            write(draft.policy)
            write_queries(draft.queries)
    _tell(draft, target, beside, output)


def _columns(table: Path, left_out: list[str]) -> list[OutlinedColumn]:
    from dxgeom.engines.opening import outline_of
    from dxgeom.universe.wording import did_you_mean

    found = outline_of(table)
    names = [column.name for column in found]
    for name in left_out:
        if name not in names:
            raise DataError(f"the table has no column '{name}'; {did_you_mean(name, names) or 'see its header'}")
    return [column for column in found if column.name not in left_out]


def _declared(
    table: Path, columns: list[OutlinedColumn], public: list[str], values: list[str], ends: list[str]
) -> dict[str, Declared]:
    from dxgeom.engines.opening import public_values
    from dxgeom.starting.drafts import Values, ends_of

    found: dict[str, Declared] = {}
    for name in public:
        found[name] = Values(public_values(table, name, MOST_VALUES))
    for name, text in map(_split, values):
        found[name] = Values(tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip())))
    for name, text in map(_split, ends):
        whole = any(column.name == name and column.holds == "whole numbers" for column in columns)
        found[name] = ends_of(text, whole=whole)
    return found


def _split(text: str) -> tuple[str, str]:
    """The column and what is said of it. Raises: typer.BadParameter."""
    name, sign, said = text.partition("=")
    if not (name.strip() and sign and said.strip()):
        raise typer.BadParameter(
            f"write the column and what there can be, such as sex=F,M or age=0:110; found {text!r}"
        )
    return name.strip(), said.strip()


def _somebody_answers() -> bool:
    """Whether a person types: not where a notebook's kernel began this, whose terminal nobody sees."""
    return sys.stdin.isatty() and not begun_by_a_kernel()


def _asked(columns: list[OutlinedColumn], declared: dict[str, Declared]) -> dict[str, Declared]:
    """What a person says on a terminal of the columns that nothing is known of."""
    found: dict[str, Declared] = {}
    for column in columns:
        if column.name not in declared and column.holds != "yes or no":
            text = typer.prompt(
                f"{column.name} ({column.holds}): values a,b,c or ends LOW:HIGH", default="", show_default=False
            )
            said = _understood(text.strip(), whole=column.holds == "whole numbers")
            if said is not None:
                found[column.name] = said
    return found


def _understood(text: str, *, whole: bool) -> Declared | None:
    from dxgeom.starting.drafts import Values, ends_of

    if not text:
        return None
    if ":" in text and "," not in text:
        return ends_of(text, whole=whole)
    return Values(tuple(dict.fromkeys(word.strip() for word in text.split(",") if word.strip())))


def _tell(draft: Draft, target: Path, beside: Path, output: Format) -> None:
    """What was written, and whether it can be used as it is."""
    from dxgeom.policy.policy import load_policy

    complaints: list[str] = []
    try:
        load_policy(target)
    except PolicyError as error:
        complaints = [f"{one.file}:{one.line}: {one.message}" for one in error.diagnostics]
    if output is Format.json:
        print_json(
            {"policy": str(target), "queries": str(beside), "missing": list(draft.missing), "mistakes": complaints}
        )
        return
    todo = [f"to be filled in: {', '.join(draft.missing)}"] if draft.missing else []
    todo += [] if draft.missing else complaints
    end = f"next: dxgeom {'check' if todo else 'report'} {target}" + ("" if todo else f" {beside}")
    print_lines([f"written: {target}, {beside}", *todo, end])
