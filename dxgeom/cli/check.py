"""``dxgeom check``: what a policy amounts to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dxgeom.cli.options import CertificateOption, Format, FormatOption, PolicyFile, table_of
from dxgeom.cli.terminal import check_new, print_json, print_lines, refusals
from dxgeom.universe.people.people import PUBLIC_NUMBER

if TYPE_CHECKING:
    from dxgeom.policy.policy import Policy

NOTHING_SEEN: Final = "no column looks like people with several rows, or the policy says who people are"


def check(
    policy: PolicyFile,
    certificate: CertificateOption = None,
    output: FormatOption = Format.text,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also say in which form each attribute's distances are computed, and why.")
    ] = False,
    table: Annotated[
        Any,  # a path, or the URL of a table on a server
        typer.Option(
            "--table",
            parser=table_of,
            metavar="DATA",
            help="Also look whether a column of this table names people repeatedly.",
        ),
    ] = None,
) -> None:
    """Check a policy and say what it amounts to.

    Prints the number of record types, how far apart the values of each attribute are, a worked sentence for each rule,
    what the rules tighten or leave unprotected, and why the result is a metric. All mistakes are reported at once.

    \b
    Example:
      dxgeom check policies/clinic/policy.yaml
    """
    with refusals(output):
        from dxgeom.policy.policy import load_policy

        if certificate is not None:
            check_new(certificate)
        loaded = load_policy(policy)
        review = loaded.review()
        if certificate is not None:
            from dxgeom.audit.claims import claims_of, write_claims

            write_claims(certificate, claims_of(loaded.compile(), "policy"))
        doubts = _doubts(loaded, table)
        forms = loaded.forms() if explain else ()
        if output is Format.json:
            more = {"forms": [form.as_dict() for form in forms]} if explain else {}
            seen = {} if table is None else {"table": [line for line in doubts if line != NOTHING_SEEN]}
            print_json({**review.as_dict(), **more, **seen})
        else:
            told = ["", "forms", *(f"  {form}" for form in forms)] if explain else []
            looked = [] if table is None else ["", "the table", *(f"  {line}" for line in doubts)]
            print_lines([*review.lines(), *told, *looked])


def _doubts(policy: Policy, table: Path | str | None) -> tuple[str, ...]:
    """What the table makes one doubt of what the policy says of people, and whether their number is public. Reads
    nothing but columns named like people."""
    if table is None:
        return ()
    from dxgeom.engines.likenesses import repeated_identifiers
    from dxgeom.universe.people.people import repeated_in_words

    seen = [f"Warning: {repeated_in_words(name)}." for name in repeated_identifiers(str(table), policy.universe)]
    return (*(seen or (NOTHING_SEEN,)), *(() if policy.universe.absent is not None else (PUBLIC_NUMBER,)))
