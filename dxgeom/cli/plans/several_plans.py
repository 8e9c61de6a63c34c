"""``dxgeom plan`` of several queries files: what each has to spend of one account."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dxgeom.cli.options import Format
from dxgeom.cli.terminal import print_json, print_lines, print_warnings
from dxgeom.errors import UnsupportedCombination


def show_several(
    policy: Path,
    files: Sequence[Path],
    records: int | None,
    spend: Fraction | None,
    errors: dict[str, str] | None,
    output: Format,
) -> None:
    """Plans the files together, and prints each one's spend and errors.

    Raises: UnsupportedCombination for files of quantiles, and for an error of a query that no file, or more than one,
    has; and as plan_together.
    """
    from dxgeom.planner.kind import kind_of
    from dxgeom.planner.plan_together import plan_together
    from dxgeom.policy.policy import load_policy
    from dxgeom.queries.queries_file import load_queries

    policy_read = load_policy(policy)
    print_warnings(policy_read)
    workloads: list[Any] = []
    for file in files:
        asked = load_queries(file, policy_read, records)
        kind = kind_of(asked)
        if not kind.counts:
            raise UnsupportedCombination(f"{file} asks for {kind.about}: plan it on its own")
        workloads.append(asked)
    together = plan_together(
        policy_read.compile(), workloads, errors=_errors_of(workloads, errors), spend=spend, records=records
    )
    named = [str(file) for file in files]
    if output is Format.json:
        print_json({"files": named, **together.as_dict()})
        return
    head, *rest, foot = together.lines()
    print_lines([head, *(f"{line}  ({name})" for line, name in zip(rest, named, strict=True)), foot])


def _errors_of(workloads: Sequence[object], errors: dict[str, str] | None) -> list[dict[str, str] | None]:
    """To each workload the wanted errors of its queries."""
    names = [set(getattr(one, "names", ())) for one in workloads]
    for query in errors or ():
        holders = sum(query in own for own in names)
        if holders != 1:
            raise UnsupportedCombination(
                f"an error is wanted for {query!r}, which {holders or 'none'} of these files ask for"
            )
    return [{query: error for query, error in (errors or {}).items() if query in own} or None for own in names]
