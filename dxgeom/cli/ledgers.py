"""What the commands about ledgers share: their accounts, as the policies say whose they are, and what all say alike."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from dxgeom.cli.options import data_set_of
from dxgeom.cli.terminal import print_table, print_warnings
from dxgeom.privacy.measures import privacy_measure_of
from dxgeom.universe.columns import chance_in_words, plain

if TYPE_CHECKING:
    from dxgeom.ledger.book import Allotment
    from dxgeom.ledger.chances import EntryChance
    from dxgeom.ledger.entry import Entry
    from dxgeom.ledger.history import History
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.metrics.metric import DataSet


LedgerFile: TypeAlias = Annotated[str, typer.Argument(help="The ledger.", metavar="LEDGER")]

NOT_ANSWERED: Final = "charged, not answered"
_LONGEST: Final = 48


def about(history: History) -> str:
    """What the ledger is kept for."""
    name, accounts = history.data_set.name, history.accounts
    if name is not None:
        people = ", other people in each edition" if history.disjoint else ""
        return f"ledger {history.described} of data set '{name}'{people}"
    return f"ledger {history.described}" + (f" of policy '{accounts[0].policy_name}'" if accounts else "")


def state_of(history: History, number: int) -> str:
    """Whether a charge was answered."""
    if number in history.answers:
        return "answered"
    if number in history.windows:
        return "closed" if history.windows[number].closing is not None else "released in instalments"
    if number in history.waiting:
        return "answered, waiting to be booked"
    # Whoever makes no room for an answer, as older versions did, does not keep it here.
    return NOT_ANSWERED if history.entries[number - 1].reserved else "charged, answer not kept here"


def window_rows(history: History) -> list[tuple[str, str, str, str, str]]:
    """Of each plan that is released in instalments: its entry, what was released, what comes next, was missed, and the
    state."""
    rows = []
    for number, found in window_dicts(history).items():
        missed = found["missed"]
        late = "none" if not missed else missed[0] if len(missed) == 1 else f"{len(missed):,} from {missed[0]}"
        done = f"{found['released']:,} of {len(found['periods']):,}"
        rows.append((f"{number}", done, found["next"] or "none", late, "closed" if found["closed"] else "open"))
    return rows


def window_dicts(history: History) -> dict[int, dict[str, Any]]:
    """The same, and each period by itself, ready for JSON; by entry."""
    now, found = datetime.now(UTC), {}
    for number, window in sorted(history.windows.items()):
        periods = [
            {
                "period": period,
                "sealed": None if period not in window.seals else window.seals[period].time_utc,
                "released": None if period not in window.answers else window.answers[period].time_utc,
            }
            for period in window.periods
        ]
        after = next((one["period"] for one in periods if one["released"] is None), None)
        found[number] = {
            "opened": None if window.opening is None else window.opening.time_utc,
            "spent": str(window.entry.spend),
            "released": len(window.answers),
            "next": None if window.closing is not None else after,
            "missed": [*window.missed(now)],
            "closed": None if window.closing is None else window.closing.time_utc,
            "periods": periods,
        }
    return found


def size_of(history: History, number: int) -> int | None:
    """Bytes of an entry's answer, None where there is none."""
    kept = history.answers.get(number)
    return history.waiting.get(number) if kept is None else kept.size


def left(history: History) -> list[tuple[int, str | None, Fraction, Fraction]]:
    """Account, edition, spent and remaining: a row for each account, and each edition where these have other people."""
    rows = []
    for account in history.accounts:
        charged = [entry for entry in history.entries if entry.account == account.number]
        editions = dict.fromkeys(entry.edition for entry in charged) if history.disjoint and charged else {None: None}
        for edition in editions:
            last = [entry for entry in charged if not history.disjoint or entry.edition == edition]
            currency = privacy_measure_of(account.privacy_measure)
            whole = currency.counted(account.budget)
            remaining = last[-1].counted_remaining if last else whole
            spent = currency.spend_above(whole - remaining)
            rows.append((account.number, edition, spent, currency.spend_below(remaining)))
    return rows


def entry_dict(history: History, entry: Entry) -> dict[str, Any]:
    """An entry ready for JSON; spends are exact, as text."""
    account = history.account_of(entry)
    return {
        "entry": entry.number,
        "time": entry.time_utc,
        "policy": {"name": account.policy_name, "fingerprint": account.policy_fingerprint},
        "edition": entry.edition,
        "owner": entry.owner,
        "key": entry.key,
        "purpose": entry.purpose,
        "plan_fingerprint": entry.plan_fingerprint,
        "spend": str(entry.spend),
        "remaining": str(entry.remaining),
        "total": str(entry.total),
        "state": state_of(history, entry.number),
        "answer_bytes": size_of(history, entry.number),
        "seal": entry.seal,
        **({} if entry.charged_by is None else {"charged_by": entry.charged_by}),
        **({"delta": str(history.chances[entry.number].chance)} if entry.number in history.chances else {}),
    }


def chances_of(history: History) -> dict[int, EntryChance]:
    """By account, what its releases' chances of being outside their promise came to, where there are any."""
    return {one.account: one for one in history.chances.values()}


def chance_lines(history: History) -> list[str]:
    """The same in words."""
    return [
        f"Odds of policy '{history.accounts[number - 1].policy_name}' hold except with chance "
        f"{chance_in_words(one.total)}, of {chance_in_words(one.allowed)} that its 'delta' allows."
        for number, one in sorted(chances_of(history).items())
    ]


def receipt_text(number: int, seal: str) -> str:
    """An entry's number and seal, as ``dxgeom ledger verify --seal`` reads them."""
    return f"{number}:{seal}"


def last_seal(history: History) -> str | None:
    """The receipt of the last entry; None where nothing was charged."""
    return None if history.receipt is None else receipt_text(*history.receipt)


def brief_text(text: str | None) -> str:
    """A text in a cell of a table."""
    words = " ".join((text or "").split())
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


AccountPolicy: TypeAlias = Annotated[
    Path, typer.Option("--policy", metavar="POLICY", help="The policy whose account it is, and its budget.")
]
AccountDataset: TypeAlias = Annotated[
    Any,  # a DataSet, whose class is loaded when the option is used
    typer.Option("--dataset", parser=data_set_of, metavar="NAME[/EDITION]", help="Which data the policy is about."),
]


def opened(ledger: str, policy: Path, data_set: DataSet | None) -> Ledger:
    """The ledger, begun where there is none, with the policy's account. Raises: PolicyError, LedgerError."""
    from dxgeom.ledger.ledger import Ledger
    from dxgeom.mechanisms.contract.mechanism import account_of
    from dxgeom.policy.policy import load_policy

    policy_read = load_policy(policy)
    print_warnings(policy_read)
    metric = policy_read.compile()
    account = account_of(metric if data_set is None else metric.about(data_set))
    stated = account.policy if isinstance(account.policy, str | None) else account.policy()
    kept = Ledger.open(
        ledger,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        data_set=account.data_set,
        policy=stated,
        alike=account.alike,
        privacy_measure=account.privacy_measure,
    )
    kept.open_account()
    return kept


def print_division(history: History) -> None:
    """A table of the allotments, with a blank line above, where there are any."""
    if history.allotments:
        typer.echo()
        rows = [
            (
                f"{brief_text(history.accounts[one.account - 1].policy_name)}, allotment {brief_text(one.owner)}"
                + ("" if one.edition is None else f", edition {brief_text(one.edition)}"),
                plain(one.amount),
                plain(one.spent),
                plain(one.remaining),
            )
            for one in history.allotments
        ]
        print_table(("allotment", "part", "spent", "remaining"), rows)


def allotment_dict(history: History, one: Allotment) -> dict[str, Any]:
    """An allotment ready for JSON; amounts are exact, as text."""
    account = history.accounts[one.account - 1]
    return {
        "policy": {"name": account.policy_name, "fingerprint": account.policy_fingerprint},
        "allotment": one.owner,
        "edition": one.edition,
        "amount": str(one.amount),
        "spent": str(one.spent),
        "remaining": str(one.remaining),
    }
