"""``dxgeom init``: a policy and queries to begin with, from the columns of one's own table."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption, spend_of, table_of
from dxgeom.cli.terminal import Outcome, begun_file, print_error, print_json, printable, refusals
from dxgeom.errors import PolicyError, QueryError
from dxgeom.progress_line import begun_by_a_kernel

if TYPE_CHECKING:
    from dxgeom.starting.choices import Chosen, Wishes
    from dxgeom.starting.declared import Declared
    from dxgeom.starting.drafts import Draft
    from dxgeom.starting.form import FormDoubt, Said
    from dxgeom.starting.tables import FoundTable

MOST_VALUES: Final = 200
MOST_RECORDS: Final = 10_000_000
_WIDTH: Final = 80
TableArgument: TypeAlias = Annotated[
    Any,  # a path, or the URL of a table on a server
    typer.Argument(
        parser=table_of, metavar="TABLE", help="The table: CSV, .gz, Parquet, a workbook, or postgresql://…#table."
    ),
]
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
TakeOption: TypeAlias = Annotated[
    list[str] | None, typer.Option("--take", metavar="COLUMN", help="An attribute all the same. May be repeated.")
]
EpsilonOption: TypeAlias = Annotated[
    Fraction, typer.Option("--epsilon", parser=spend_of, metavar="E", help="Of every rule, to be changed in the file.")
]
PersonOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--person", metavar="COLUMN", help="Says who a row is of; repeated, several say it together."),
]
RowsOption: TypeAlias = Annotated[
    int | None, typer.Option("--rows", metavar="M", help="Every row of a person counts, nobody more than so many.")
]
OneRowOption: TypeAlias = Annotated[bool, typer.Option("--one-row-each", help="Nobody has two rows.")]
WrittenOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--written", metavar="COLUMN=DAY", help="How it writes 31 December 2025, 23:59. May be repeated."),
]
AcceptOption: TypeAlias = Annotated[
    bool, typer.Option("--accept", help="What the rows show of how cells are written is known without them.")
]
HeaderOption: TypeAlias = Annotated[
    str | None, typer.Option("--header", metavar="LINE", help="The number of the line that names the columns, or none.")
]
NamesOption: TypeAlias = Annotated[
    str | None, typer.Option("--names", metavar="a,b,c", help="The columns' names, where no line says them.")
]
SheetOption: TypeAlias = Annotated[str | None, typer.Option("--sheet", metavar="NAME", help="Of a workbook.")]
EncodingOption: TypeAlias = Annotated[
    str | None, typer.Option("--encoding", metavar="NAME", help="Of a file that is not UTF-8, as windows-1252.")
]
SeparatorOption: TypeAlias = Annotated[
    str | None, typer.Option("--separator", metavar="SIGN", help="What separates cells: a sign, or tab.")
]
HeaderOnlyOption: TypeAlias = Annotated[
    bool, typer.Option("--header-only", help="Look at the names of columns, and at no row but those at the top.")
]


def init(
    table: TableArgument,
    target: TargetOption = Path("policy.yaml"),
    person: PersonOption = None,
    rows: RowsOption = None,
    one_row_each: OneRowOption = False,
    values: ValuesOption = None,
    ends: RangeOption = None,
    public: PublicOption = None,
    written: WrittenOption = None,
    left_out: LeftOutOption = None,
    take: TakeOption = None,
    accept: AcceptOption = False,
    header: HeaderOption = None,
    names: NamesOption = None,
    sheet: SheetOption = None,
    encoding: EncodingOption = None,
    separator: SeparatorOption = None,
    header_only: HeaderOnlyOption = False,
    epsilon: EpsilonOption = Fraction(1),
    output: FormatOption = Format.text,
) -> None:
    """Write a policy and a queries file to begin with, for a table of your own.

    Looks at the rows to find how they are written, and writes down no value, end or count of them: only names of
    columns, and what you say. What is not said here is asked for on a terminal, and elsewhere marked FILL IN, which
    'dxgeom check' then points at. Of a table on a server only the schema is read.

    \b
    Example:
      dxgeom init patients.csv --person patient_id --values sex=F,M --range age=0:110 -o policy.yaml
    """
    from dxgeom.starting.choices import Wishes
    from dxgeom.starting.form import FormDoubt, Said

    beside = target.with_name(f"{target.stem}-queries.yaml")
    sign = {"tab": "\t", "\\t": "\t"}.get(separator or "", separator)
    named = None if names is None else tuple(name.strip() for name in names.split(","))
    said = Said(encoding, sign, header, named)
    with refusals(output), begun_file(target) as write, begun_file(beside) as write_queries:
        declared = _declared(table, values or [], ends or [], public or [])
        days = {name: tuple(filter(None, (text,))) for name, text in map(_split, written or [])}
        people = (tuple(person or ()), rows, one_row_each)
        wishes = Wishes(*people, days, accept, tuple(take or ()), tuple(left_out or ()), declared, epsilon)
        asking = output is Format.text and _somebody_answers()
        try:
            found = _found(table, said, sheet, header_only, asking)
        except FormDoubt as doubt:
            raise _refused(doubt, output) from doubt
        chosen = _chosen(found, wishes, asking, output)
        draft = chosen.draft(found, epsilon, beside.name)
        if write is not None and write_queries is not None:
            write(draft.policy)
            write_queries(draft.queries)
    _tell(draft, found, (target, beside), table, output, asked=asking)


def _found(table: Any, said: Said, sheet: str | None, header_only: bool, asking: bool) -> FoundTable:
    """What is found out of the table; where its form is in doubt and somebody answers, they say it."""
    from dxgeom.starting.form import FormDoubt, encoding_doubt
    from dxgeom.starting.tables import found_of

    while True:
        try:
            found = found_of(table, said, sheet, header_only=header_only)
            if asking and found.form is not None and found.form.encoding is None:
                raise encoding_doubt(table)  # no name has other letters than ASCII, but cells have
            return found
        except FormDoubt as doubt:
            if not asking:
                raise
            typer.echo(printable(str(doubt)))
            picked = _picked([way for way, _ in doubt.ways])
            option = doubt.ways[picked][1].removeprefix("--").partition(" ")[2]
            if doubt.about == "header" and picked == 0:
                typed = _asked(f"Names for the {doubt.width} columns, with commas > ")
                said = replace(said, header="none", names=tuple(name.strip() for name in typed.split(",")))
            elif doubt.about == "header":
                said = replace(said, header=option)
            elif doubt.about == "sheet":
                sheet = doubt.ways[picked][0].strip('"')
            elif doubt.about == "separator":
                sign = doubt.ways[picked][0].strip('"')
                said = replace(said, separator="\t" if sign == "tab" else sign)
            else:
                said = replace(said, encoding=option)


def _picked(ways: list[str]) -> int:
    while True:
        answer = _asked("  ".join(f"[{k}] {way}" for k, way in enumerate(ways, 1)) + "  > ")
        if answer.isdigit() and 1 <= int(answer) <= len(ways):
            return int(answer) - 1


def _asked(question: str) -> str:
    answer: str = typer.prompt(printable(question), default="", show_default=False, prompt_suffix="")
    return answer.strip()


def _refused(doubt: FormDoubt, output: Format) -> typer.Exit:
    ways = [f"  {way}: {option}" for way, option in doubt.ways]
    print_error("\n".join([f"error: {doubt} Nothing is written. Say which it is:", *ways]))
    if output is Format.json:
        error = {"kind": "FormDoubt", "message": str(doubt), "ways": [option for _, option in doubt.ways]}
        print_json({"error": {**error, "exit_code": int(Outcome.NOT_UNDERSTOOD)}})
    return typer.Exit(Outcome.NOT_UNDERSTOOD)


def _chosen(found: FoundTable, wishes: Wishes, asking: bool, output: Format) -> Chosen:
    from dxgeom.starting.choices import Dialogue, chosen_alone, facts_in_words, repeats_in_words

    if output is Format.text:
        _echo(facts_in_words(found))
    if not asking:
        return chosen_alone(found, wishes)
    _echo(repeats_in_words(found))
    typer.echo("")
    chosen = Dialogue(_asked, lambda line: typer.echo(printable(line))).chosen(found, wishes)
    typer.echo("")
    return chosen


def _declared(table: Any, values: list[str], ends: list[str], public: list[str]) -> dict[str, Declared]:
    from dxgeom.engines.opening import public_values
    from dxgeom.starting.declared import Values, ends_of, values_of

    found: dict[str, Declared] = {}
    for name in public:
        found[name] = Values(public_values(table, name, MOST_VALUES))
    for name, text in map(_split, values):
        found[name] = values_of(text)
    for name, text in map(_split, ends):
        found[name] = ends_of(text, whole=False)
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


def _echo(lines: Any) -> None:
    for line in lines:
        typer.echo("\n".join(textwrap.wrap(printable(line), _WIDTH)))


def _tell(
    draft: Draft, found: FoundTable, files: tuple[Path, Path], table: Any, output: Format, *, asked: bool
) -> None:
    """What was written, and whether it can be used as it is."""
    complaints, size, widest = _use(draft, files)
    target, beside = files
    if output is Format.json:
        missing = {"missing": list(draft.missing), "left_out": list(draft.left_out), "mistakes": complaints}
        print_json({"policy": str(target), "queries": str(beside), **missing})
        return
    if draft.left_out and not asked:
        _echo([f"left out: {', '.join(draft.left_out)}"])
    marks = sum(line.partition("#")[0].count("FILL IN") for line in draft.policy.splitlines())
    if draft.todo:
        _echo([f"to fill in: {', '.join(draft.todo)}"])
    _echo([f"written: {target}, {beside}{size}", *widest])
    see = "" if found.table.from_schema or not isinstance(table, Path) else f" --table {table}"
    if marks:
        _echo([f"next:    fill in what says FILL IN, then dxgeom check {target}"])
    else:
        _echo([*complaints, f"next:    dxgeom check {target}{see}"])


def _use(draft: Draft, files: tuple[Path, Path]) -> tuple[list[str], str, list[str]]:
    """What is wrong with the files; how many answers and possible records they are; what to do about too many."""
    from dxgeom.policy.policy import load_policy
    from dxgeom.queries.queries_file import load_queries

    try:
        policy = load_policy(files[0])
        answers = load_queries(files[1], policy)
    except (PolicyError, QueryError) as error:
        return [f"{one.file}:{one.line}: {one.message}" for one in error.diagnostics], "", []
    universe = policy.universe
    count = getattr(answers, "count", None)
    said = f"{count} answers, " if count is not None else ""
    widest = sorted(universe.attributes, key=lambda attribute: -attribute.size)[:2]
    much = f"Over ten million possible records: {' and '.join(one.name for one in widest)} have the most values."
    return [], f" ({said}{universe.size:,} possible records)", [much] if universe.size > MOST_RECORDS else []
