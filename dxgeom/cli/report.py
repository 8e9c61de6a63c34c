"""``dxgeom report``: a page for whoever signs a policy, its questions and its budget."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from dxgeom.cli.options import Format, FormatOption, PolicyFile, RecordsOption, spend_of
from dxgeom.cli.planning import planned
from dxgeom.cli.terminal import begun_file, print_json, print_lines, refusals

if TYPE_CHECKING:
    from dxgeom.document.document import Document
    from dxgeom.planner.plan import Plan
    from dxgeom.policy.policy import Policy

AskedFile: TypeAlias = Annotated[
    Path | None, typer.Argument(help="The queries file (YAML); with --diff the newer policy.", metavar="[QUERIES]")
]
SpendOption: TypeAlias = Annotated[
    Fraction | None,
    typer.Option(
        "--spend", parser=spend_of, metavar="S", help="Of the budget on these queries; left out, the whole budget."
    ),
]
PlanOption: TypeAlias = Annotated[
    Path | None, typer.Option("--plan", metavar="FILE", help="A plan file, in the place of the queries.")
]
ReleasesOption: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option("--release", metavar="FILE", help="Released answers, as JSON; may be repeated."),
]
LedgerOption: TypeAlias = Annotated[
    str | None, typer.Option("--ledger", metavar="LEDGER", help="What was told so far; it is read, and not changed.")
]
TargetOption: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the page to this new file, as HTML.")
]
DiffOption: TypeAlias = Annotated[
    bool, typer.Option("--diff", help="Take two policies, old and new, and say pair by pair what changed, worst first.")
]


class Export(StrEnum):
    """The forms of others in which a page can be written."""

    registry = "registry"
    checklist = "checklist"


ExportOption: TypeAlias = Annotated[
    Export | None,
    typer.Option(
        "--export", help="Print or write it as registry (an entry of the public registry) or checklist (NIST's)."
    ),
]


WhatIfOption: TypeAlias = Annotated[
    bool, typer.Option("--what-if", help="Write a page on which the policy's numbers can be moved; it needs --output.")
]


def report(
    policy: PolicyFile,
    queries: AskedFile = None,
    spend: SpendOption = None,
    plan: PlanOption = None,
    release: ReleasesOption = None,
    ledger: LedgerOption = None,
    records: RecordsOption = None,
    target: TargetOption = None,
    diff: DiffOption = False,
    export: ExportOption = None,
    what_if: WhatIfOption = False,
    output: FormatOption = Format.text,
) -> None:
    """Write a page for whoever signs a policy, its questions and its budget. Reads no data.

    Says what is hidden and how strongly, what is not, what the rules do together, how exact answers will be, what was
    told so far, and what is to be decided. Without --output it is printed as text.

    \b
    Example:
      dxgeom report policies/clinic/policy.yaml policies/clinic/queries.yaml --spend 0.5 -o report.html
      dxgeom report --diff old.yaml new.yaml
      dxgeom report policies/clinic/policy.yaml policies/clinic/queries.yaml --export checklist
      dxgeom report policies/clinic/policy.yaml --what-if -o what-if.html
    """
    with refusals(output), begun_file(target) as write:
        if what_if:
            others = [queries, spend, plan, release, ledger, records, diff or None, export]
            if write is None or any(one is not None and one != [] for one in others):
                raise typer.BadParameter("--what-if is a page of a policy alone: name only the policy, and --output")
            write(_movable(policy))
            if output is Format.json:
                print_json({"file": str(target)})
            return
        if export is not None:
            if diff:
                raise typer.BadParameter("--export is of one policy: leave --diff out")
            text = _exported(export, _policy_and_plan(policy, queries, plan, records, spend), ledger, release or [])
            _written(text, export, write, target, output)
            return
        if diff:
            page = _differences(policy, queries)
        else:
            loaded, chosen, amount, digest = _policy_and_plan(policy, queries, plan, records, spend)
            page = _page(loaded, chosen, amount, digest, ledger, release or [])
        if write is not None:
            write(page.html())
        elif output is Format.text:
            print_lines(page.lines())
        if output is Format.json:
            print_json(page.as_dict() if target is None else {"file": str(target), "digest": page.digest})


def _movable(policy: Path) -> str:
    from dxgeom.policy.policy import load_policy
    from dxgeom.studio.what_if import what_if_page

    return what_if_page(load_policy(policy))


def _exported(
    form: Export,
    about: tuple[Policy, Plan | None, Fraction | None, str | None],
    ledger: str | None,
    files: list[Path],
) -> str:
    from dxgeom.report.released import read_release
    from dxgeom.report.review import exported_page

    policy, plan, spend, digest = about
    releases = [read_release(file) for file in files]
    return exported_page(form, policy, plan, spend=spend, ledger=ledger, releases=releases, plan_digest=digest)


def _written(text: str, form: Export, write: Callable[[str], None] | None, target: Path | None, output: Format) -> None:
    """Write an exported page to its file, or print it."""
    if write is not None:
        write(text)
    elif output is Format.text:
        print_lines(text.splitlines())
    if output is Format.json:
        print_json({"export": form.value, "text": text} if target is None else {"file": str(target)})


def _policy_and_plan(
    policy: Path, queries: Path | None, plan: Path | None, records: int | None, spend: Fraction | None
) -> tuple[Policy, Plan | None, Fraction | None, str | None]:
    """The policy, and the plan for its queries or from a file, with its spend and digest."""
    if queries is not None and plan is not None:
        raise typer.BadParameter("name a queries file or --plan, not both")
    if queries is not None:
        chosen, loaded = planned(policy, queries, records, spend=spend)
        return loaded, chosen, spend, None
    from dxgeom.policy.policy import load_policy

    loaded = load_policy(policy)
    if plan is None:
        return loaded, None, None, None
    from dxgeom.plan_files.loading import load_plan

    kept = load_plan(plan)
    amount = kept.at_spend(spend) if spend is not None or kept.spend is not None else loaded.budget
    return loaded, kept.plan, amount, kept.digest


def _page(
    policy: Policy,
    plan: Plan | None,
    spend: Fraction | None,
    digest: str | None,
    ledger: str | None,
    files: list[Path],
) -> Document:
    from dxgeom.report.released import read_release
    from dxgeom.report.review import review_page

    releases = [read_release(file) for file in files]
    return review_page(policy, plan, spend=spend, ledger=ledger, releases=releases, plan_digest=digest)


def _differences(old: Path, new: Path | None) -> Document:
    if new is None:
        raise typer.BadParameter("name two policies, the older one first")
    from dxgeom.policy.policy import load_policy
    from dxgeom.report.changes import changes_page

    return changes_page(load_policy(old), load_policy(new))
