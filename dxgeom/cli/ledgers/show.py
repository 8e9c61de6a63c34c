"""``dxgeom ledger show``: entries, what is left, and past answers again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxgeom.cli.ledgers.accounts import allotment_dict, print_division
from dxgeom.cli.ledgers.words import (
    LedgerFile,
    about,
    brief_text,
    entry_dict,
    left,
    receipt_text,
    state_of,
)
from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.new_files import begun_file
from dxgeom.cli.terminal.options import TableFormat, TableFormatOption
from dxgeom.cli.terminal.printing import brief, print_csv, print_json, print_lines, print_table, rounded
from dxgeom.errors import LedgerError, UnsupportedCombination
from dxgeom.universe.columns import plain

if TYPE_CHECKING:
    from dxgeom.ledger.history import History


def show(
    ledger: LedgerFile,
    entry: Annotated[
        int | None, typer.Option("--entry", min=1, metavar="N", help="This entry only, with its answer.")
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("--output", metavar="FILE", help="Write the entry's synthetic records to this new file."),
    ] = None,
    output: TableFormatOption = TableFormat.text,
) -> None:
    """Show a ledger's entries and what is left, or the answer of one entry again, at no cost.

    The ledger is verified first, and not changed. A charge without an answer counts as spent: its release was ended
    between charge and answer, or is still running.

    \b
    Example:
      dxgeom ledger show privacy.db
      dxgeom ledger show privacy.db --entry 3 --format csv
    """
    with refusals(output):
        from dxgeom.ledger.history import read_answer, read_ledger

        history = read_ledger(ledger)
        if target is not None:
            _write_records(history, ledger, entry, target)
        elif entry is None:
            _SHOW[output](history)
        else:
            answer = read_answer(ledger, entry)
            _SHOW_ENTRY[output](history, entry, answer)


def _write_records(history: History, ledger: str, entry: int | None, target: Path) -> None:
    """The synthetic records of an entry as a file. Raises: LedgerError, DataError, UnsupportedCombination."""
    from dxgeom.cli.ledgers.kept_records import kept_records
    from dxgeom.engines.results.answer_files import write_batches
    from dxgeom.ledger.history import read_answer

    suffix = target.suffix.lower()
    if entry is None or suffix not in (".csv", ".parquet"):
        raise UnsupportedCombination(
            "--output is of the synthetic records of one entry: say which, --entry, and name a .csv or .parquet file"
        )
    columns = kept_records(history, entry, _document(read_answer(ledger, entry)))
    with begun_file(target) as write:
        if write is not None:
            write(lambda file: write_batches(iter([columns]), file, suffix))
    rows = len(next(iter(columns.values()), []))
    print_lines([f"{rows:,} records written to {target}"])


def _show_text(history: History) -> None:
    cap = history.data_set.budget
    all_spent = "" if cap is None else f"; budget for all policies together {plain(cap)}"
    how = "; squares of spends add up" if history.currency.squares else ""
    print_lines([about(history) + all_spent + how, ""])
    accounts = [
        (_whose(history, number, edition), plain(history.accounts[number - 1].budget), plain(spent), plain(remaining))
        for number, edition, spent, remaining in left(history)
    ]
    print_table(("policy", "budget", "spent", "remaining"), accounts)
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
    if history.receipt is not None:
        print_lines(["", f"last seal  {receipt_text(*history.receipt)}"])


def _show_json(history: History) -> None:
    accounts = [
        {
            "policy": history.accounts[number - 1].policy_name,
            "fingerprint": history.accounts[number - 1].policy_fingerprint,
            "currency": history.accounts[number - 1].currency,
            "budget": str(history.accounts[number - 1].budget),
            "edition": edition,
            "spent": str(spent),
            "remaining": str(remaining),
        }
        for number, edition, spent, remaining in left(history)
    ]
    data_set = {
        "name": history.data_set.name,
        "people": "disjoint" if history.disjoint else "shared",
        "budget": None if history.data_set.budget is None else str(history.data_set.budget),
    }
    entries = [entry_dict(history, one) for one in history.entries]
    last = None if history.receipt is None else receipt_text(*history.receipt)
    allotments = [allotment_dict(history, one) for one in history.allotments]
    divided = {"allotments": allotments} if allotments else {}
    print_json({"data_set": data_set, "accounts": accounts, **divided, "entries": entries, "last_seal": last})


def _show_csv(history: History) -> None:
    rows = [entry_dict(history, one) for one in history.entries]
    for row in rows:
        policy = row.pop("policy")
        row |= {"policy": policy["name"], "policy_fingerprint": policy["fingerprint"]}
    _print_rows(list(rows[0]) if rows else ["entry"], rows)


def _entry_text(history: History, number: int, answer: bytes | None) -> None:
    one = history.entries[number - 1]
    lines = [
        f"entry {number} of {about(history)}",
        f"time       {one.time_utc}",
        f"policy     {_whose(history, one.account, one.edition)}",
        f"purpose    {one.purpose}",
        *([] if one.owner is None else [f"allotment  {one.owner}"]),
        f"spent      {plain(one.spend)}, remaining then {plain(one.remaining)}",
        f"plan       {one.plan_fingerprint}",
        *([] if one.key is None else [f"key        {one.key}"]),
        f"seal       {receipt_text(number, _seal(history, number))}",
        f"state      {state_of(history, number)}",
        *([] if one.warning is None else [f"warning    {one.warning}"]),
        "",
    ]
    print_lines(lines)
    document = _document(answer)
    tasks = document.get("tasks") if isinstance(document, dict) else None
    if isinstance(tasks, list) and all(isinstance(one, dict) and "name" in one for one in tasks):
        for one in tasks:
            print_lines([f"{one['name']}  ({one.get('kind', 'task')}, spent {one.get('spent', '-')})"])
            _print_answers(one)
            print_lines([""])
    elif answer is not None and not _print_answers(document):
        print_lines((document if isinstance(document, str) else json.dumps(document, indent=2)).splitlines())


def _print_answers(document: Any) -> bool:
    """Print the answers of a release, or of a task in one, as a table; whether there were any of a known kind."""
    answers, quantiles = _rows(document, "answers", "rmse"), _rows(document, "quantiles", "label")
    bounded, picked = _rows(document, "answers", "bound"), _picked(document)
    if answers is not None:
        rows = [
            (str(row["name"]), rounded(float(row["value"]), float(row["rmse"])), brief(float(row["rmse"])))
            for row in answers
        ]
        print_table(("query", "answer", "rmse"), rows)
        _print_ratios(_rows(document, "ratios", "parts") or [])
    elif bounded is not None:
        rows = [(str(row["name"]), f"{float(row['value']):,.6g}", _bound(row["bound"])) for row in bounded]
        print_table(("query", "answer", "bound"), rows)
    elif quantiles is not None:
        print_table(("quantile", "value"), [(str(row["name"]), str(row["label"])) for row in quantiles])
    elif picked is not None:
        print_table(("picked", "of candidates"), [picked])
    return any(found is not None for found in (answers, bounded, quantiles, picked))


def _picked(document: Any) -> tuple[str, str] | None:
    """What a selection picked, and of how many; None where nothing was selected."""
    if not (isinstance(document, dict) and {"picked", "candidates"} <= {*document}):
        return None
    return str(document["picked"]), str(document["candidates"])


def _bound(bound: Any) -> str:
    return "-" if bound is None else brief(float(bound))


def _entry_json(history: History, number: int, answer: bytes | None) -> None:
    entry = history.entries[number - 1]
    warning = {} if entry.warning is None else {"warning": entry.warning}
    try:
        print_json({**entry_dict(history, entry), **warning, "answer": _document(answer)})
    except ValueError:
        raise LedgerError(f"the answer of entry {number} has no form in JSON; show it as text") from None


def _entry_csv(history: History, number: int, answer: bytes | None) -> None:
    document = _document(answer)
    quantiles = _rows(document, "quantiles", "label")
    if quantiles is not None:
        _print_rows([key for key in quantiles[0] if key != "group"] if quantiles else ["name", "value"], quantiles)
        return
    answers = _rows(document, "answers", "rmse")
    if answers is None:
        raise LedgerError(
            f"entry {number} is {state_of(history, number)}, and has no answers to queries that make a table; show it "
            "as json"
        )
    rows = [{key: value for key, value in row.items() if key != "interval"} for row in answers]
    for row, told in zip(rows, answers, strict=True):
        row["low"], row["high"] = told.get("interval", (None, None))
    _print_rows(list(rows[0]) if rows else ["name", "value"], rows)


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


def _rows(document: Any, kind: str, beside: str) -> list[dict[str, Any]] | None:
    """The answers of one kind in a release, None where there are none: each with a name, a value and what is
    ``beside``."""
    found = document.get(kind) if isinstance(document, dict) else None
    proper = isinstance(found, list) and all(
        isinstance(row, dict) and {"name", "value", beside} <= {*row} for row in found
    )
    return found if proper else None


def _print_ratios(ratios: list[dict[str, Any]]) -> None:
    """A table of the ratios that were asked for, each with the parts of its interval."""
    if not ratios:
        return
    rows = [
        (str(row["name"]), "-" if row["value"] is None else f"{float(row['value']):.6g}", _parts(row["parts"]))
        for row in ratios
    ]
    print_lines([""])
    print_table(("ratio", "value", "within"), rows)


def _parts(parts: Any) -> str:
    ends = [["-" if end is None else f"{float(end):.6g}" for end in part] for part in parts]
    return " or ".join(f"{low} to {high}" for low, high in ends)


def _whose(history: History, account: int, edition: str | None) -> str:
    name = brief_text(history.accounts[account - 1].policy_name)
    return name if edition is None else f"{name}, edition {brief_text(edition)}"


def _seal(history: History, number: int) -> str:
    kept = history.answers.get(number)
    return history.entries[number - 1].seal if kept is None else kept.seal


def _print_rows(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> None:
    print_csv(columns, ([row.get(column) for column in columns] for row in rows))


_SHOW = {TableFormat.text: _show_text, TableFormat.json: _show_json, TableFormat.csv: _show_csv}
_SHOW_ENTRY = {TableFormat.text: _entry_text, TableFormat.json: _entry_json, TableFormat.csv: _entry_csv}
