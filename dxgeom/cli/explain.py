"""``dxgeom explain``: why two records are as far apart as they are."""

from __future__ import annotations

import json
from typing import Annotated, Any, TypeAlias

import typer

from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.options import Format, FormatOption, PolicyFile
from dxgeom.cli.terminal.printing import print_json, print_lines


def record_of(text: str) -> int | str | dict[str, Any]:
    """A record as written: a number, a JSON object, ``attribute=value,attribute=value``, or ``absent``.

    A piece between commas that has no equals sign belongs to the value before it, as in ``age=[0, 18)``.
    Raises: typer.BadParameter.
    """
    written = text.strip()
    if written.isascii() and written.isdecimal() and len(written) < 20:
        return int(written)
    if written == "absent":
        return written
    if written.startswith("{"):
        return _from_json(written)
    pieces: list[str] = []
    for piece in written.split(","):
        if "=" in piece or not pieces:
            pieces.append(piece)
        else:
            pieces[-1] += f",{piece}"
    pairs = [(name.strip(), sign, value.strip()) for name, sign, value in (one.partition("=") for one in pieces)]
    if not all(sign and name for name, sign, _ in pairs) or len({name for name, _, _ in pairs}) < len(pairs):
        raise typer.BadParameter(f"a record is a number, a JSON object, 'absent', or like sex=F,age=40; found {text!r}")
    return {name: value for name, _, value in pairs}


def _from_json(text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"this is not JSON: {error}") from error
    if not all(isinstance(value, str) for value in record.values()):
        raise typer.BadParameter("the values of a record are words and numbers")
    return dict(record)


Record: TypeAlias = Annotated[
    Any,
    typer.Argument(
        parser=record_of, metavar="RECORD", help="Like 'sex=F,age=40', a JSON object, a record's number, or 'absent'."
    ),
]


def explain(policy: PolicyFile, first: Record, second: Record, output: FormatOption = Format.text) -> None:
    """Explain why two records are as far apart as they are.

    Prints their distance and the shortest path between them, each step with the rule that bounds it. An attribute that
    neither record names is the same in both.

    \b
    Example:
      dxgeom explain policies/clinic/policy.yaml gender=M,native=Yes gender=F,native=No
    """
    with refusals(output):
        from dxgeom.policy.policy import load_policy

        explanation = load_policy(policy).explain(first, second)
        if output is Format.json:
            print_json(explanation.as_dict())
        else:
            print_lines(explanation.lines())
