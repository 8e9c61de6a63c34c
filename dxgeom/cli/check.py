"""``dxgeom check``: what a policy amounts to."""

from __future__ import annotations

from dxgeom.cli.failures import refusals
from dxgeom.cli.options import Format, FormatOption, PolicyFile
from dxgeom.cli.printing import print_json, print_lines


def check(policy: PolicyFile, output: FormatOption = Format.text) -> None:
    """Check a policy and say what it amounts to.

    Prints the number of record types, how far apart the values of each attribute are, a worked sentence for each rule,
    what the rules tighten or leave unprotected, and why the result is a metric. All mistakes are reported at once.

    \b
    Example:
      dxgeom check policies/clinic.yaml
    """
    with refusals(output):
        from dxgeom.policy.policy import load_policy

        review = load_policy(policy).review()
        if output is Format.json:
            print_json(review.as_dict())
        else:
            print_lines(review.lines())
