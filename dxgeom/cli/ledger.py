"""``dxgeom ledger``: what was spent and answered, and whether it is still what was written."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from dxgeom.cli.ledger_show import show
from dxgeom.cli.ledgers import (
    NOT_ANSWERED,
    AccountDataset,
    AccountPolicy,
    LedgerFile,
    about,
    allotment_dict,
    last_seal,
    opened,
    print_division,
    state_of,
)
from dxgeom.cli.options import Format, FormatOption, spend_of
from dxgeom.cli.terminal import print_either, print_json, print_lines, refusals
from dxgeom.universe.columns import plain

GrantOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--grant", metavar="ROLE", help="A role of the server that may release; may be repeated."),
]

ledger = typer.Typer(
    help="Begin, divide and look at a ledger: accounts, entries, past answers, seals.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@ledger.callback()
def _ledgers() -> None:
    """Begin, divide and look at a ledger: what was spent and answered, and whether it is still what was written."""


@ledger.command()
def init(
    ledger: LedgerFile,
    policy: AccountPolicy,
    dataset: AccountDataset = None,
    grant: GrantOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Begin a ledger, or open one more policy's account in it; what is there already stays as it is.

    A ledger on a server, postgresql://user@host/database?ledger=name, has a schema of that name for itself and is only
    begun in this way; whoever begins it keeps it. Roles that are granted may read it and release under accounts that
    are open; they cannot open accounts, divide them, or change anything that was written.

    \b
    Example:
      dxgeom ledger init privacy.db --policy policies/clinic/policy.yaml
      dxgeom ledger init postgresql://keeper@db.example/privacy --policy policies/clinic/policy.yaml --grant analysts
    """
    with refusals(output):
        from dxgeom.ledger.history import read_ledger

        with opened(ledger, policy, dataset) as kept:
            for role in grant or ():
                kept.grant(role)
            account = kept.account
        history = read_ledger(ledger)
        accounts = [one.policy_fingerprint for one in history.accounts]
        granted = [f"granted  {', '.join(grant)} may release on it"] if grant else []
        budget = f"account  policy '{account.policy_name}', budget {plain(account.budget)}"
        document = {"ledger": ledger, "accounts": accounts, "granted": grant or []}
        print_either(output, document, [about(history), budget, *granted])


ledger.command()(show)


def _seal_of(text: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,17}:[0-9a-f]{64}", text):
        raise typer.BadParameter("a release prints its seal as the entry's number, ':', and 64 hexadecimal digits")
    return text


@ledger.command()
def verify(
    ledger: LedgerFile,
    seal: Annotated[
        str | None,
        typer.Option("--seal", parser=_seal_of, metavar="N:SEAL", help="The entry and seal that a release printed."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Verify a ledger: all its pages, rows, seals, sums and answers.

    Whoever can write the file can replace it by an older copy, or rewrite its end so that it fits; both show when it is
    compared with a seal that a release printed. Changes nothing.

    \b
    Example:
      dxgeom ledger verify privacy.db --seal 12:9f2c...
    """
    with refusals(output):
        from dxgeom.ledger.history import verify_ledger

        number, _, printed = (seal or "").partition(":")
        history = verify_ledger(ledger, seal=(int(number), printed) if seal else None)
        unanswered = sum(state_of(history, one.number) == NOT_ANSWERED for one in history.entries)
        last = last_seal(history)
        counts = {"entries": len(history.entries), "answers": len(history.answers), "unanswered": unanswered}
        document = {"ledger": ledger, "verdict": "holds", **counts, "waiting": len(history.waiting)}
        compared = "none given: an older copy would not show" if seal is None else f"agrees with {seal}"
        lines = [
            about(history),
            "verdict    holds",
            f"entries    {len(history.entries):,}, of which {unanswered:,} charged and not answered",
            f"answers    {len(history.answers):,}, each as it was stored",
            f"seal       {compared}",
            f"last seal  {last or 'none: nothing was charged'}",
        ]
        print_either(output, {**document, "compared_with": seal, "last_seal": last}, lines)


@ledger.command()
def told(
    ledger: LedgerFile,
    policy: Annotated[Path, typer.Option("--policy", metavar="POLICY", help="Whose pairs of records are asked about.")],
    others: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="POLICY", help="A further policy, under which was released; may be repeated."),
    ] = None,
    edition: Annotated[
        str | None, typer.Option("--edition", help="Of the data, where editions have different people.")
    ] = None,
    plans: Annotated[
        list[Path] | None,
        typer.Option("--plan", metavar="PLAN", help="A plan file, by which was released; may be repeated."),
    ] = None,
    output: FormatOption = Format.text,
) -> None:
    """Say what all releases so far, under whatever policies, may have told about a policy's pairs of records.

    About a pair, a release at spend s tells at most s times its own policy's distance; these add up. Policies that read
    the same columns otherwise are compared value by value, and what one of them hides another may have told. Very many
    releases under one policy are told as a curve, too; where it counts concentrated privacy, plan files say which of
    them had Gaussian noise. Under a policy with a time it says what was disclosed of one row in each of several
    periods, and of a life: plan files of running totals may show that it is less than promised.

    \b
    Example:
      dxgeom ledger told privacy.db --policy policies/clinic/policy.yaml
    """
    with refusals(output):
        from dxgeom.disclosure.all_releases import disclosed_loss
        from dxgeom.ledger.history import read_ledger
        from dxgeom.plan_files.loading import load_plan
        from dxgeom.policy.policy import load_policy

        history = read_ledger(ledger)
        known = [load_plan(plan) for plan in plans or ()]
        noises = {plan.fingerprint: plan.noise for plan in known if plan.noise is not None}
        times = {plan.fingerprint: noise for plan in known if (noise := plan.over_time) is not None}
        asked = load_policy(policy), map(load_policy, others or ())
        found = disclosed_loss(history, *asked, edition, noises, times)
        print_either(output, {"ledger": ledger, **found.as_dict()}, found.lines())


def _part_of(text: str) -> tuple[str, Fraction]:
    owner, equals, amount = text.rpartition("=")
    if not equals or not owner:
        raise typer.BadParameter("write each allotment as NAME=AMOUNT, as in ana=0.25")
    return owner, Fraction(0) if amount.strip() == "0" else spend_of(amount)


@ledger.command()
def allot(
    ledger: LedgerFile,
    parts: Annotated[list[str], typer.Argument(metavar="NAME=AMOUNT...", help="What each may spend; 0 ends it.")],
    policy: AccountPolicy,
    dataset: AccountDataset = None,
    output: FormatOption = Format.text,
) -> None:
    """Divide a policy's account: each name may spend its own part and no more, all together never above the budget.

    Releases say whom they charge with --allotment NAME. What is not allotted stays for releases without a name. A name
    that is given again gets the new part in place of the old, but never less than it has spent. All or nothing.

    \b
    Example:
      dxgeom ledger allot privacy.db ana=0.25 'weekly report=0.5' --policy policies/clinic/policy.yaml
    """
    wanted = dict(map(_part_of, parts))
    if len(wanted) < len(parts):
        raise typer.BadParameter("a name is given twice")
    with refusals(output):
        from dxgeom.ledger.history import read_ledger

        with opened(ledger, policy, dataset) as kept:
            kept.allot(wanted)
        history = read_ledger(ledger)
        if output is Format.json:
            print_json({"ledger": ledger, "allotments": [allotment_dict(history, one) for one in history.allotments]})
        else:
            print_lines([about(history)])
            print_division(history)


@ledger.command()
def migrate(ledger: LedgerFile, output: FormatOption = Format.text) -> None:
    """Bring a ledger of an older format to this one, as its next release does.

    All at once or not at all; entries, spends and what remains stay as they are. An older dxgeom refuses it afterwards.
    On a server it is for whoever keeps the ledger, who does it before the next release.
    Keep no copy of the old file: a copy is a second budget.

    \b
    Example:
      dxgeom ledger migrate privacy.db
    """
    with refusals(output):
        from dxgeom.ledger.history import migrate_ledger
        from dxgeom.ledger.tables import COMMITTED

        history = migrate_ledger(ledger)
        document = {"ledger": ledger, "format": COMMITTED, "entries": len(history.entries)}
        lines = [about(history), f"format   {COMMITTED}", f"entries  {len(history.entries):,}"]
        print_either(output, document, lines)


@ledger.command()
def move(
    ledger: LedgerFile,
    server: Annotated[
        str, typer.Argument(help="Where to: postgresql://… of a ledger that nobody has begun.", metavar="SERVER")
    ],
    grant: GrantOption = None,
    output: FormatOption = Format.text,
) -> None:
    """Bring a ledger's file to a server, where many can share it, with every row, seal and answer as it is.

    All at once or not at all; every seal that was printed holds there. The file can still be looked at, says where its
    ledger went, and takes no charge any more: two ledgers would be two budgets. Keep no copy of it from before.

    \b
    Example:
      dxgeom ledger move privacy.db postgresql://keeper@db.example/privacy?ledger=clinic --grant analysts
    """
    with refusals(output):
        from dxgeom.ledger.history import move_ledger

        history = move_ledger(ledger, server, grant=grant or [])
        last = last_seal(history)
        counts = {"entries": len(history.entries), "answers": len(history.answers)}
        lines = [
            about(history),
            f"moved      from '{ledger}', which takes no charge any more",
            f"entries    {len(history.entries):,}, answers {len(history.answers):,}",
            f"last seal  {last or 'none: nothing was charged'}",
        ]
        print_either(output, {"ledger": server, "moved_from": ledger, **counts, "last_seal": last}, lines)
