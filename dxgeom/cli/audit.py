"""``dxgeom audit``: finished claims, checked again by another route."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dxgeom.cli.ledgers import LedgerFile
from dxgeom.cli.options import Format, FormatOption
from dxgeom.cli.terminal import Outcome, print_either, refusals
from dxgeom.errors import CertificateRefused

if TYPE_CHECKING:
    from dxgeom.audit.policy_audit import Audit

audit = typer.Typer(help="Check finished claims again, by another route.", no_args_is_help=True, rich_markup_mode=None)


@audit.callback()
def _audits() -> None:
    """Check finished claims again, by another route than the one that made them."""


@audit.command()
def certificate(
    claimed: Annotated[Path, typer.Argument(help="A certificate file of 'check' or 'verify'.", metavar="CERTIFICATE")],
    subject: Annotated[
        Path, typer.Argument(help="The policy, matrix or edge list that it is about.", metavar="POLICY_OR_MATRIX")
    ],
    output: FormatOption = Format.text,
) -> None:
    """Check a metric's certificate again.

    For a policy, the claimed distances are derived anew from what the rules state; for a matrix or an edge list,
    detours are compared anew. A certificate that was altered, or that is about something else, is refused.

    \b
    Example:
      dxgeom check policies/clinic/policy.yaml --certificate clinic.json
      dxgeom audit certificate clinic.json policies/clinic/policy.yaml
    """
    with refusals(output):
        from dxgeom.audit.claims import read_claims

        claims = read_claims(claimed)
        found = _audited(claims, subject)
        document = {"certificate": str(claimed), "subject": str(subject), "verdict": "holds"}
        lines = [f"certificate {claimed} of {subject}", "verdict  holds", *(f"checked  {line}" for line in found.lines)]
        print_either(output, {**document, "checked": list(found.lines)}, lines)


@audit.command()
def covariance(
    planned: Annotated[Path, typer.Argument(help="A plan file of 'plan --output'.", metavar="PLAN")],
    output: FormatOption = Format.text,
) -> None:
    """Check the Gaussian noise of a plan file again: that it hides every difference, and how near it is to the best.

    Differences are held against the covariance in balls; the bound that no Gaussian noise is below is found anew.

    \b
    Example:
      dxgeom plan policy.yaml queries.yaml --output plan.json
      dxgeom audit covariance plan.json
    """
    with refusals(output):
        from dxgeom.audit.covariance_audit import audit_covariance
        from dxgeom.plan_files.loading import load_plan

        found = audit_covariance(load_plan(planned).plan)
        document = {"plan": str(planned), "verdict": "holds", "differences": found.differences}
        lines = [f"Gaussian noise of {planned}", "verdict  holds", *(f"checked  {one}" for one in found.lines())]
        print_either(output, {**document, "in_balls": found.in_balls, "gap": found.gap}, lines)


@audit.command()
def plan(
    planned: Annotated[Path, typer.Argument(help="A plan file of 'plan --output'.", metavar="PLAN")],
    output: FormatOption = Format.text,
) -> None:
    """Check by a second route, without data, that what a plan file releases hides what its policy protects.

    The release's own step from counts and noise to answers is driven with random numbers, the numbers that have the
    noise are counted anew, and what changes of a record shift them by is held against the policy's distances. A plan,
    or a part of one, that there is no second route for is named, and the command ends with 1. How near noise on a list
    of queries is to the best is said, by a bound that is found and proved anew.

    \b
    Example:
      dxgeom plan policy.yaml queries.yaml --output plan.json
      dxgeom audit plan plan.json
    """
    with refusals(output):
        from dxgeom.audit.plan_audit import audit_plan
        from dxgeom.plan_files.loading import load_plan

        found = audit_plan(load_plan(planned))
        document = {"plan": str(planned), "verdict": found.verdict, "checked": list(found.checked)}
        checked = (f"checked  {line}" for line in found.checked)
        left = (f"not audited  {line}" for line in found.not_audited)
        near = (f"how near  {one.in_words}" for one in found.bounds)
        lines = [f"plan {planned}", f"verdict  {found.verdict}", *checked, *left, *near]
        bounds = [{**one._asdict(), "gap": one.gap, "in_words": one.in_words} for one in found.bounds]
        print_either(output, {**document, "not_audited": list(found.not_audited), "bounds": bounds}, lines)
        if not found.holds:
            raise typer.Exit(Outcome.REFUSED)


@audit.command()
def hull(
    planned: Annotated[Path, typer.Argument(help="A plan file of 'plan --output'.", metavar="PLAN")],
    seconds: Annotated[
        float, typer.Option(help="How long the other process may take for each hull.", min=0.001)
    ] = 60.0,
    output: FormatOption = Format.text,
) -> None:
    """Check by double description that the hulls of a plan file's noise have all their facets, and no other.

    Facets are found anew from the vertices by pycddlib, in a process of its own. It comes with dxgeom[cdd] and works
    in float64, which might miss some; with GMP it works in rationals. The answer says which it was.

    \b
    Example:
      dxgeom plan policy.yaml queries.yaml --mechanism hull --output plan.json
      dxgeom audit hull plan.json
    """
    with refusals(output):
        from dxgeom.audit.hull_audit import audit_hulls
        from dxgeom.plan_files.loading import load_plan

        found = audit_hulls(load_plan(planned), seconds)
        lines = [f"hulls of {planned}", "verdict  holds"]
        lines += [f"checked  {name}: {line}" for name, one in found for line in one.lines()]
        each = [{"mechanism": name, **asdict(one)} for name, one in found]
        print_either(output, {"plan": str(planned), "verdict": "holds", "hulls": each}, lines)


@audit.command()
def release(
    ledger: LedgerFile,
    entry: Annotated[int, typer.Option("--entry", min=1, metavar="N", help="The entry of the release.")],
    planned: Annotated[
        Path, typer.Option("--plan", metavar="FILE", help="The plan file that the entry was released by.")
    ],
    output: FormatOption = Format.text,
) -> None:
    """Check what the steps of a stored release paid, for tables that follow the data.

    Each step is made anew from public numbers and the steps before it, and all that the steps tell of a change of a
    record is held against its distance. A transcript that was altered is refused.

    \b
    Example:
      dxgeom plan policy.yaml tasks.yaml --output plan.json
      dxgeom release plan.json people.csv --ledger privacy.db --spend 0.5
      dxgeom audit release privacy.db --entry 1 --plan plan.json
    """
    with refusals(output):
        from dxgeom.audit.transcript_audit import audit_release
        from dxgeom.plan_files.loading import load_plan

        found = audit_release(load_plan(planned), ledger, entry)
        document = {"ledger": str(ledger), "entry": entry, "plan": str(planned), "verdict": "holds"}
        lines = [f"entry {entry} of {ledger}", "verdict  holds", *(f"checked  {line}" for line in found.checked)]
        print_either(output, {**document, "checked": list(found.checked)}, lines)


def _audited(claims: dict[str, Any], subject: Path) -> Audit:
    match claims["kind"]:
        case "policy":
            from dxgeom.audit.policy_audit import audit_policy
            from dxgeom.policy.policy import load_policy

            return audit_policy(claims, load_policy(subject))
        case "matrix":
            from dxgeom.audit.policy_audit import audit_matrix
            from dxgeom.cli.distances import read_matrix

            return audit_matrix(claims, read_matrix(subject).entries)
        case "edges":
            from dxgeom.audit.policy_audit import audit_edges
            from dxgeom.cli.distances import read_edges

            return audit_edges(claims, read_edges(subject).edges)
        case other:
            raise CertificateRefused(f"a certificate is about a policy, a matrix or edges; this claims {other!r}")
