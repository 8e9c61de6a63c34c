"""``dxgeom ledger show``: entries, what is left, past answers and synthetic records again."""

from __future__ import annotations

import base64
import json
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from dxgeom.cli.ledgers import (
    LedgerFile,
    about,
    allotment_dict,
    brief_text,
    chance_lines,
    chances_of,
    entry_dict,
    last_seal,
    left,
    print_division,
    receipt_text,
    state_of,
    window_dicts,
    window_rows,
)
from dxgeom.cli.options import AllOption, LevelOption, TableFormat, TableFormatOption, require_shown
from dxgeom.cli.showing import Bars, EstimateOption, ShownEstimate, print_answer_table, print_release
from dxgeom.cli.terminal import (
    begun_file,
    print_csv,
    print_json,
    print_lines,
    print_parts,
    print_screen,
    print_table,
    refusals,
)
from dxgeom.errors import LedgerError, UnsupportedCombination
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.document.document import Document
    from dxgeom.ledger.chances import EntryChance
    from dxgeom.ledger.history import History
    from dxgeom.planner.answers.tables import AnswerPart, Listed

LEVEL: Final = 0.95
PlanOption: TypeAlias = Annotated[
    Path | None, typer.Option("--plan", metavar="FILE", help="The plan file that the entry was released by.")
]


@cache
def _record_makers() -> dict[str, Any]:
    """The kinds of tasks that make records, by their words."""
    from dxgeom.kinds import registry

    return {kind.word: kind for kind in registry.kinds() if getattr(kind, "makes_records", False)}


def kept_records(history: History, number: int, document: Any) -> dict[str, list[Any]]:
    """The records of the one task of an entry that made any, as columns; ``document``: what was stored of the release.

    Raises: LedgerError where there is no such task, or more than one, or the ledger does not know the policy.
    """
    task, kept = _task(number, document)
    universe = _policy(history, number).universe
    try:
        columns: dict[str, list[Any]] = _record_makers()[task["kind"]].kept_columns(task, kept, universe)
    except (KeyError, TypeError, ValueError) as error:
        raise LedgerError(f"the records of entry {number} were stored otherwise; show it as json") from error
    return columns


def has_records(document: Any) -> bool:
    """Whether a task of a release made synthetic records."""
    return bool(_makers(document))


def _task(number: int, document: Any) -> tuple[dict[str, Any], Any]:
    """The task that made records, and what was kept of its answer."""
    found = _makers(document)
    if len(found) != 1:
        raise LedgerError(f"entry {number} has {len(found) or 'no'} tasks that made synthetic records; one has to")
    if found[0][0].get("estimate", "weights") != "weights":
        raise LedgerError(
            f"the records of entry {number} were estimated by {found[0][0]['estimate']}, which a ledger does not keep: "
            "release again with the same --id, which costs nothing"
        )
    return found[0]


def _makers(document: Any) -> list[tuple[dict[str, Any], Any]]:
    """The tasks that made records, each with what was kept of its answer."""
    tasks = document.get("tasks") if isinstance(document, dict) else None
    kept = document.get("kept") if isinstance(document, dict) else None
    if tasks is None and isinstance(document, dict) and {"rows", "bounds", "kept"} <= {*document}:
        makers = _record_makers().items()
        return [({**document, "kind": word}, kept) for word, kind in makers if kind.kept_as is type(kept)]
    pairs: list[tuple[dict[str, Any], Any]] = []
    if isinstance(tasks, list) and isinstance(kept, list) and len(tasks) == len(kept):
        pairs = list(zip(tasks, kept, strict=True))
    return [(task, one) for task, one in pairs if task.get("kind") in _record_makers()]


def _policy(history: History, number: int) -> Any:
    from dxgeom.policy.policy import Policy

    account = history.accounts[history.entries[number - 1].account - 1]
    stated = history.documents.get(account.number)
    policy = None if stated is None else Policy.from_stated(stated)
    if policy is None or policy.fingerprint != account.policy_fingerprint:
        raise LedgerError(
            f"the ledger does not know the policy of entry {number}, which says what its records are: release again "
            "with the same --id, which costs nothing"
        )
    return policy


def show(
    ledger: LedgerFile,
    entry: Annotated[
        int | None, typer.Option("--entry", min=1, metavar="N", help="This entry only, with its answer.")
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="Write the entry's synthetic records, or else its answers, to this new file: .csv or .parquet.",
        ),
    ] = None,
    estimate: EstimateOption = None,
    plan: PlanOption = None,
    level: LevelOption = LEVEL,
    everything: AllOption = False,
    output: TableFormatOption = TableFormat.text,
) -> None:
    """Show a ledger's entries and what is left, or the answer of one entry again, at no cost.

    The ledger is verified first, and not changed. A charge without an answer counts as spent: its release was ended
    between charge and answer, or is still running. With --estimate and the plan that the entry was released by, its
    answers are shown with estimates beside them.

    \b
    Example:
      dxgeom ledger show privacy.db
      dxgeom ledger show privacy.db --entry 3 --format csv
      dxgeom ledger show privacy.db --entry 3 --plan plan.json --estimate auto
    """
    require_shown(output)
    with refusals(output, everything=everything):
        from dxgeom.ledger.history import read_answer, read_ledger

        history = read_ledger(ledger)
        if level != LEVEL and estimate is None and plan is None:
            raise UnsupportedCombination(
                "a ledger keeps the intervals of the level that was asked for at the release: --level goes with "
                "--entry, --estimate and --plan FILE, by which they are made anew"
            )
        if estimate is not None or plan is not None:
            shown = ShownEstimate(estimate, False, False, False, output, Bars(level, False, everything))
            _show_estimated(ledger, entry, plan, target, shown)
        elif target is not None:
            _write(history, ledger, entry, target)
        elif entry is None:
            if output is TableFormat.text and not everything:
                print_screen(_screen(history))
                return
            _SHOW[output](history)
        else:
            answer = read_answer(ledger, entry)
            if output is TableFormat.text and not everything and _parts(answer):
                print_screen(_entry_screen(history, entry, answer))
                return
            _SHOW_ENTRY[output](history, entry, answer)


def _write(history: History, ledger: str, entry: int | None, target: Path) -> None:
    """The synthetic records of an entry, or else its answers, as a file.

    Raises: LedgerError, DataError, UnsupportedCombination.
    """
    from dxgeom.engines.answer_frames import is_table_file, write_batches
    from dxgeom.ledger.history import read_answer

    if entry is None or not is_table_file(target):
        raise UnsupportedCombination(
            "--output is of the synthetic records, or else the answers, of one entry: say which, --entry, and name a "
            ".csv or .parquet file"
        )
    answer = read_answer(ledger, entry)
    made = has_records(_document(answer))
    columns = kept_records(history, entry, _document(answer)) if made else _table(history, entry, answer)
    with begun_file(target) as write:
        if write is not None:
            write(lambda file: write_batches(iter([columns]), file, target.suffix))
    rows = len(next(iter(columns.values()), []))
    print_lines([f"{rows:,} {'records' if made else 'answers'} written to {target}"])


def _show_estimated(
    ledger: str, entry: int | None, plan: Path | None, target: Path | None, shown: ShownEstimate
) -> None:
    """The release of an entry again, with estimates beside its answers.

    Raises: LedgerError, PlanError, UnsupportedCombination.
    """
    from dxgeom.plan_files.loading import load_plan

    if entry is None or plan is None or shown.named is None or target is not None:
        raise UnsupportedCombination(
            "estimates are of one entry and made with the plan that it was released by: give --entry, --estimate and "
            "--plan FILE; where nobody kept a file, 'dxgeom plan' with the same policy and queries writes it, "
            "--output. They are printed, and not written by --output: take --format csv"
        )
    released = load_plan(plan).release_again(ledger, entry)
    found = shown.of(released)
    if shown.output is TableFormat.json:
        document = released.as_dict(shown.bars.level)
        print_json({"entry": entry, **document, **shown.document(found)})
    elif shown.output is TableFormat.text:
        print_release(released, shown.bars, found)
    else:
        print_answer_table(released, shown.bars, shown.output, found)


_WINDOW: Final = ("instalments of", "released", "next", "missed", "state")
_MOST_ENTRIES: Final = 12
"""So many entries are shown, the last ones."""


def _accounts(history: History) -> list[tuple[str, str, str, str]]:
    """Whose, budget, spent and left."""
    return [
        (_whose(history, number, edition), plain(history.accounts[number - 1].budget), plain(spent), plain(remaining))
        for number, edition, spent, remaining in left(history)
    ]


def _screen(history: History) -> Document:
    """What is left, and the last entries."""
    from dxgeom.document.document import Document, Paragraph, Section, ShownColumn, ShownTable

    figures = [ShownColumn(title, figures=True) for title in ("budget", "spent", "left")]
    accounts = _accounts(history)
    cap = history.data_set.budget
    said = [f"Together: {one}." for one in history.together]
    said += [] if cap is None else [f"The budget for all policies together is {plain(cap)}."]
    said += ["Squares of spends add up."] if history.privacy_measure.squares else []
    said += chance_lines(history)
    said += [f"{len(history.allotments):,} allotments: --all"] if history.allotments else []
    table = ShownTable("What is left", (ShownColumn("policy"), *figures), tuple(accounts))
    sections = [Section(0, "", (table, *map(Paragraph, said)))]
    rows = tuple(
        (
            f"{one.number}  {one.time_utc[:10]}  {_whose(history, one.account, one.edition)}"
            f"  {brief_text(one.purpose)}",
            plain(one.spend),
            plain(one.remaining),
            state_of(history, one.number),
        )
        for one in history.entries[-_MOST_ENTRIES:]
    )
    earlier = len(history.entries) - len(rows)
    more = (Paragraph(f"and {earlier:,} earlier: --all"),) if earlier else ()
    columns = (
        ShownColumn("entry"),
        *(ShownColumn(title, figures=True) for title in ("spend", "left")),
        ShownColumn("state"),
    )
    if rows:
        sections.append(Section(0, "", (ShownTable("Entries", columns, rows), *more)))
    if history.windows:
        table = ShownTable("Instalments", tuple(map(ShownColumn, _WINDOW)), tuple(window_rows(history)))
        sections.append(Section(0, "", (table,)))
    heading, _, whose = about(history).partition(" ")
    return Document(heading, whose, "", (), tuple(sections), last_seal(history) or "")


def _entry_screen(history: History, number: int, answer: bytes | None) -> Document:
    """An entry's answers again, by the labels that they had then, what they cost and what was left then."""
    from dxgeom.document.document import Document, Paragraph, Section
    from dxgeom.report.short_release import answer_sections, bars_in_words, not_compared

    one, parts = history.entries[number - 1], _parts(answer)
    bars = bars_in_words(parts)
    spent = f"{bars}Spent {plain(one.spend)}; {plain(one.remaining)} was left then."
    said = [spent, *_chance_of(history, number), *not_compared(parts)]
    said += [*([f"▲ {one.warning}"] if one.warning else []), "More: --all"]
    purpose = f", for {brief_text(one.purpose)}" if one.purpose else ""
    title = f"{_whose(history, one.account, one.edition)}, {one.time_utc[:16].replace('T', ' ')}{purpose}"
    sections = (*answer_sections(parts), Section(0, "", tuple(map(Paragraph, said))))
    return Document(f"entry {number}", title, "", (), sections, one.plan_fingerprint)


def _chance_of(history: History, number: int) -> list[str]:
    from dxgeom.report.short_release import except_for

    found = history.chances.get(number)
    return except_for(None if found is None else found.chance)


def _parts(answer: bytes | None) -> tuple[AnswerPart, ...]:
    """The answers as tables; none where they make none."""
    from dxgeom.planner.answers.tables import known_parts

    return known_parts(_document(answer))


def _show_text(history: History) -> None:
    cap = history.data_set.budget
    all_spent = "" if cap is None else f"; budget for all policies together {plain(cap)}"
    how = "; squares of spends add up" if history.privacy_measure.squares else ""
    print_lines([about(history) + all_spent + how, ""])
    accounts = _accounts(history)
    print_table(("policy", "budget", "spent", "remaining"), accounts)
    for one in history.together:
        print_lines([f"together   {one}"])
    print_lines(chance_lines(history))
    print_division(history)
    if history.entries:
        print_lines([""])
        rows = [
            (
                f"{one.number}  {one.time_utc[:16].replace('T', ' ')}  {_whose(history, one.account, one.edition)}"
                f"  {brief_text(one.purpose)}" + ("" if one.key is None else f"  (key {brief_text(one.key)})"),
                plain(one.spend),
                plain(one.remaining),
                state_of(history, one.number),
            )
            for one in history.entries
        ]
        print_table(("entry", "spend", "remaining", "state"), rows)
    if history.windows:
        print_lines([""])
        print_table(_WINDOW, window_rows(history))
    if history.receipt is not None:
        print_lines(["", f"last seal  {last_seal(history)}"])


def _delta_dict(found: EntryChance | None) -> dict[str, Any]:
    return {} if found is None else {"delta": {"spent": str(found.total), "allowed": str(found.allowed)}}


def _show_json(history: History) -> None:
    chances = chances_of(history)
    accounts = [
        {
            "policy": history.accounts[number - 1].policy_name,
            "fingerprint": history.accounts[number - 1].policy_fingerprint,
            "currency": history.accounts[number - 1].privacy_measure,
            "budget": str(history.accounts[number - 1].budget),
            "edition": edition,
            "spent": str(spent),
            "remaining": str(remaining),
            **_delta_dict(chances.get(number)),
        }
        for number, edition, spent, remaining in left(history)
    ]
    data_set = {
        "name": history.data_set.name,
        "people": "disjoint" if history.disjoint else "shared",
        "budget": None if history.data_set.budget is None else str(history.data_set.budget),
    }
    entries = [entry_dict(history, one) for one in history.entries]
    allotments = [allotment_dict(history, one) for one in history.allotments]
    divided = {"allotments": allotments} if allotments else {}
    windows = [{"entry": number, **one} for number, one in window_dicts(history).items()]
    divided |= {"instalments": windows} if windows else {}
    several = {"together": [one.as_dict() for one in history.together]} if history.together else {}
    print_json(
        {
            "data_set": data_set,
            "accounts": accounts,
            **several,
            **divided,
            "entries": entries,
            "last_seal": last_seal(history),
        }
    )


def _show_csv(history: History) -> None:
    rows = [entry_dict(history, one) for one in history.entries]
    for row in rows:
        policy = row.pop("policy")
        row |= {"policy": policy["name"], "policy_fingerprint": policy["fingerprint"]}
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["entry"]
    print_csv(columns, ([row.get(column) for column in columns] for row in rows))


def _entry_text(history: History, number: int, answer: bytes | None) -> None:
    one = history.entries[number - 1]
    lines = [
        f"entry {number} of {about(history)}",
        f"time       {one.time_utc}",
        f"policy     {_whose(history, one.account, one.edition)}",
        f"purpose    {one.purpose}",
        *([] if one.owner is None else [f"allotment  {one.owner}"]),
        *([] if one.charged_by is None else [f"charged by {one.charged_by}"]),
        f"spent      {plain(one.spend)}, remaining then {plain(one.remaining)}",
        *_chance_of(history, number),
        f"plan       {one.plan_fingerprint}",
        *([] if one.key is None else [f"key        {one.key}"]),
        f"seal       {receipt_text(number, _seal(history, number))}",
        f"state      {state_of(history, number)}",
        *([] if one.warning is None else [f"warning    {one.warning}"]),
        "",
    ]
    print_lines(lines)
    if number in history.windows:
        found = window_dicts(history)[number]
        rows = [(one["period"], *(one[step] or "" for step in ("sealed", "released"))) for one in found["periods"]]
        print_lines([f"opened     {found['opened']}", f"closed     {found['closed'] or 'no'}", ""])
        print_table(("period", "sealed", "released"), rows)
    document, parts = _document(answer), _parts(answer)
    if parts:
        print_lines(print_parts(parts))
    elif answer is not None:
        print_lines((document if isinstance(document, str) else json.dumps(document, indent=2)).splitlines())


def _entry_json(history: History, number: int, answer: bytes | None) -> None:
    entry = history.entries[number - 1]
    warning = {} if entry.warning is None else {"warning": entry.warning}
    try:
        windows = window_dicts(history)
        told = {"instalments": windows[number]} if number in windows else {}
        print_json({**entry_dict(history, entry), **warning, **told, "answer": _document(answer)})
    except ValueError:
        raise LedgerError(f"the answer of entry {number} has no form in JSON; show it as text") from None


def _entry_csv(history: History, number: int, answer: bytes | None) -> None:
    table = _table(history, number, answer)
    print_csv(tuple(table), zip(*table.values(), strict=True))


def _entry_parquet(history: History, number: int, answer: bytes | None) -> None:
    from dxgeom.engines.answer_frames import write_batches

    write_batches(iter([_table(history, number, answer)]), sys.stdout.buffer, ".parquet")


def _table(history: History, number: int, answer: bytes | None) -> Listed:
    """All answers of an entry as one table. Raises: LedgerError where they are none."""
    from dxgeom.planner.answers.tables import known_parts, whole_of

    table = whole_of(known_parts(_document(answer)))
    if table is None:
        raise LedgerError(
            f"entry {number} is {state_of(history, number)}, and has no answers here that make a table; show it as "
            "json, or release again with the same --id, which costs nothing"
        )
    return table


def _document(answer: bytes | None) -> Any:
    """The answer as JSON has it, else as text, else as text in base 64."""
    if answer is None:
        return None
    try:
        return json.loads(answer)
    except ValueError:
        pass
    try:
        return answer.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(answer).decode()}


def _whose(history: History, account: int, edition: str | None) -> str:
    name = brief_text(history.accounts[account - 1].policy_name)
    return name if edition is None else f"{name}, edition {brief_text(edition)}"


def _seal(history: History, number: int) -> str:
    kept = history.answers.get(number)
    return history.entries[number - 1].seal if kept is None else kept.seal


def _no_parquet(history: History) -> None:
    raise UnsupportedCombination(f"Parquet is for the answers of one entry of {history.described}: say which, --entry")


_SHOW = {
    TableFormat.text: _show_text,
    TableFormat.json: _show_json,
    TableFormat.csv: _show_csv,
    TableFormat.parquet: _no_parquet,
}
_SHOW_ENTRY = {
    TableFormat.text: _entry_text,
    TableFormat.json: _entry_json,
    TableFormat.csv: _entry_csv,
    TableFormat.parquet: _entry_parquet,
}
