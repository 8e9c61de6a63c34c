"""``dxgeom answer``: a private answer about one secret, charged to the ledger."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from dxgeom.cli.options import (
    AllotmentOption,
    Format,
    FormatOption,
    IdOption,
    LedgerOption,
    OutputOption,
    PurposeOption,
    record_of,
    spend_of,
)
from dxgeom.cli.showing import account_lines, kept_safe, marked, whatever_becomes_of_the_terminal
from dxgeom.cli.terminal import begun_file, json_lines, print_json, print_lines, refusals
from dxgeom.errors import DataError

if TYPE_CHECKING:
    from dxgeom.lab.answers import AnswerPlan
    from dxgeom.lab.secrets import SecretAnswer
    from dxgeom.planner.release import Release

PolicyOrSpace: TypeAlias = Annotated[Path, typer.Argument(help="The policy file (YAML).", metavar="POLICY")]
TaskWordOrFile: TypeAlias = Annotated[
    str, typer.Argument(help="A mechanism, such as 'staircase', or a task file (YAML).", metavar="TASK")
]
SecretText: TypeAlias = Annotated[
    str | None,
    typer.Argument(
        help="The secret: a value, or a record like 'sex=F,age=40'; '-' reads it from standard input. Left out when "
        "rehearsing.",
        metavar="SECRET",
    ),
]
SpendOfAnswer: TypeAlias = Annotated[
    Fraction,
    typer.Option("--spend", parser=spend_of, metavar="S", help="The part of the policy's metric that this uses up."),
]
RehearseOption: TypeAlias = Annotated[
    bool, typer.Option("--rehearse", help="Do all of it on a made-up secret: SECRET and --ledger are left out.")
]


def answer(
    policy: PolicyOrSpace,
    task: TaskWordOrFile,
    secret: SecretText = None,
    *,
    spend: SpendOfAnswer,
    ledger: LedgerOption = None,
    purpose: PurposeOption = "",
    allotment: AllotmentOption = None,
    key: IdOption = None,
    written: OutputOption = None,
    rehearse: RehearseOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Answer about one secret privately, once, and charge the ledger: where somebody is, which value holds.

    Tasks name a mechanism: truncated_geometric, finite_laplace, halved_exponential, optimal, bracketed, planar,
    staircase or layered; of a policy about a whole graph or database privacy_first, ladder or composed. How far off its
    answers are is told with every rehearsal. A secret on the command line is in the shell's history: '-' reads it from
    standard input.

    \b
    Example:
      dxgeom answer policies/us-cities/policy.yaml planar --rehearse --spend 0.25
      echo 4049979 | dxgeom answer policies/us-cities/policy.yaml planar - --spend 0.25 --ledger privacy.db
    """
    _require_whole(secret, ledger, key, rehearse)
    with refusals(output):
        from dxgeom.lab.answers import plan_answer

        planned = plan_answer(policy, task, spend=spend)
        with begun_file(written, 0o600) as write, whatever_becomes_of_the_terminal():
            if rehearse:
                released = planned.rehearse()
            else:
                told = _secret(secret, planned)
                released = planned.release(told, ledger=str(ledger), purpose=purpose, id=key, allotment=allotment)
            with kept_safe(released):
                document = released.as_dict()
                if write is not None:
                    write(json_lines(document))
                if output is Format.json:
                    print_json(document)
                else:
                    _print(released)


def _require_whole(secret: str | None, ledger: str | None, key: str | None, rehearse: bool) -> None:
    """Raises: typer.BadParameter where a release lacks something, or a rehearsal has what it does not keep."""
    if rehearse:
        for given, hint in ((secret, "SECRET"), (ledger, "--ledger"), (key, "--id")):
            if given is not None:
                raise typer.BadParameter(
                    "a rehearsal makes up its secret and is not kept; leave it out", param_hint=hint
                )
        return
    for given, hint in ((secret, "SECRET"), (ledger, "--ledger")):
        if given is None:
            raise typer.BadParameter("is missing; only a rehearsal goes without secret and ledger", param_hint=hint)


def _secret(text: str | None, planned: AnswerPlan) -> Any:
    """A record, or the text of a value, or of a data set. Raises: DataError where standard input has none."""
    from dxgeom.lab.secrets import RecordSecrets

    written = _one_line() if text == "-" else str(text)
    if not isinstance(planned.secrets, RecordSecrets):
        return written
    whole = planned.secrets.attribute is None or written.startswith("{")
    named = planned.secrets.attribute is not None and written.startswith(f"{planned.secrets.attribute.name}=")
    return record_of(written) if whole or named else written


def _one_line() -> str:
    """The first line of standard input. Raises: DataError where there is none."""
    try:
        line = sys.stdin.readline().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("standard input cannot be read as text, and '-' asks for the secret there") from error
    if not line:
        raise DataError(
            "standard input has no line, and '-' asks for the secret there: write it there, or in its place"
        )
    return line


def _print(released: Release[SecretAnswer]) -> None:
    made_up = " that is made up" if released.rehearsal else ""
    with marked(rehearsal=released.rehearsal):
        print_lines(
            [
                f"{released.mechanism.account.policy_name}: about one secret{made_up}",
                f"answer     {released.answer.in_words}",
                f"mechanism  {released.mechanism.name}",
                *(f"error      {said}" for said in released.answer.errors),
                *account_lines(released),
            ]
        )
