"""``dxgeom explain``: why two records are as far apart as they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption, PolicyFile, json_of, record_of
from dxgeom.cli.terminal import print_either, refusals

if TYPE_CHECKING:
    from dxgeom.policy.explain.explanation import Explanation
    from dxgeom.policy.explain.two_people import PeopleExplanation

_DIGITS: Final = 7


def rows_of(text: str) -> Any:
    """A record as written, see :func:`record_of`; or a person's rows: a JSON list of records, or records with a
    semicolon behind each, as in ``cell=a; cell=b;``, of which ``3 * cell=a`` stands for three rows.

    Raises: typer.BadParameter.
    """
    written = text.strip()
    if written.startswith("["):
        rows = json_of(written)
        return [record_of(json.dumps(row) if isinstance(row, dict) else str(row)) for row in rows]
    if ";" not in written:
        return record_of(written)
    rows = []
    for piece in filter(None, (part.strip() for part in written.split(";"))):
        times, star, record = piece.partition("*")
        if star and times.strip().isdecimal() and times.strip().isascii() and len(times) < _DIGITS:
            rows += [record_of(record)] * int(times)
        else:
            rows.append(record_of(piece))
    return rows


Record: TypeAlias = Annotated[
    Any,
    typer.Argument(
        parser=rows_of,
        metavar="RECORD",
        help="Like 'sex=F,age=40', a JSON object, a record's number, or 'absent'; or a person's rows, like "
        "'sex=F,age=40; 2 * sex=F,age=41;', or a JSON list.",
    ),
]


def explain(policy: PolicyFile, first: Record, second: Record, output: FormatOption = Format.text) -> None:
    """Explain why two records are as far apart as they are.

    Prints their distance and the shortest path between them, each step with the rule that bounds it. An attribute that
    neither record names is the same in both. Of two people, given by the rows of either, prints the cheapest way to
    carry the one's rows to the other's.

    \b
    Example:
      dxgeom explain policies/clinic/policy.yaml gender=M,native=Yes gender=F,native=No
    """
    with refusals(output):
        from dxgeom.policy.policy import load_policy

        loaded = load_policy(policy)
        explanation: Explanation | PeopleExplanation
        if isinstance(first, list) or isinstance(second, list):
            here, there = ([*one] if isinstance(one, list) else [one] for one in (first, second))
            explanation = loaded.explain_people(here, there)
        else:
            explanation = loaded.explain(first, second)
        print_either(output, explanation.as_dict(), explanation.lines())
