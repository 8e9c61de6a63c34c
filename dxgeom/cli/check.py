"""``dxgeom check``: what a policy amounts to."""

from __future__ import annotations

from typing import Annotated

import typer

from dxgeom.cli.terminal.failures import refusals
from dxgeom.cli.terminal.new_files import check_new
from dxgeom.cli.terminal.options import CertificateOption, Format, FormatOption, PolicyFile
from dxgeom.cli.terminal.printing import print_json, print_lines


def check(
    policy: PolicyFile,
    certificate: CertificateOption = None,
    output: FormatOption = Format.text,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also say in which form each attribute's distances are computed, and why.")
    ] = False,
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
        forms = loaded.forms() if explain else ()
        if output is Format.json:
            print_json({**review.as_dict(), **({"forms": [form.as_dict() for form in forms]} if explain else {})})
        else:
            told = ["", "forms", *(f"  {form}" for form in forms)] if explain else []
            print_lines([*review.lines(), *told])
