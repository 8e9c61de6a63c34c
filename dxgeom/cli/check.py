"""``dxgeom check``: what a policy amounts to, and whether a table fits it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dxgeom.cli.options import AllOption, CertificateOption, Format, FormatOption, PolicyFile, table_of
from dxgeom.cli.terminal import Outcome, check_new, print_json, print_lines, print_screen, refusals
from dxgeom.errors import DataError

if TYPE_CHECKING:
    from dxgeom.policy.policy import Policy
    from dxgeom.starting.table_page import PublicDifference

FILL_IN: Final = "FILL IN"
_QUOTED: Final = re.compile(r"""\"[^\"]*\"|'[^']*'""")
"""A column may be called so, too."""
_NUMBERS: Final = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}
_REMEDIES: Final = (
    (r"people:\s*FILL IN|at_most: FILL IN", "people: the column that says who a person is, or: one row each"),
    (r"dates: \[FILL IN", "dates: the first and the last day there can be, as in [2025-01-01, 2025-12-31]"),
    (r"zone: FILL IN", "zone: whose clocks, as in Europe/Berlin"),
    (r"written: FILL IN", "written: how 31 December 2025, 23:59 is written, as in 31.12.2025 23:59"),
    (r"values: FILL IN", "values: all words that there can be, as in [DE, FR]"),
    (r"range: FILL IN", "range: the lowest and the highest there can be, as in [1, 20]"),
    (r"bins: FILL IN", "bins: from the lowest to the highest, as in [0, 10, 25, 50, 100]"),
    (r"units: FILL IN", "units: as in {kg: 1, g: 0.001}"),
    (r"(?:decimal|encoding|line_breaks|missing|ignore)[^#]*FILL IN", "reading: as the comment behind it says"),
    (r"^ {4}[^{]*: FILL IN", "an attribute: as in [a, b], or {range: [0, 110], step: 10}"),
)


def check(
    policy: PolicyFile,
    certificate: CertificateOption = None,
    output: FormatOption = Format.text,
    explain: Annotated[
        bool, typer.Option("--explain", help="All, and in which form each attribute's distances are computed, and why.")
    ] = False,
    table: Annotated[
        Any,  # a path, or the URL of a table on a server
        typer.Option(
            "--table",
            parser=table_of,
            metavar="DATA",
            help="Look at all rows of this table instead: which do not fit, and what to add. It shows rows.",
        ),
    ] = None,
    quiet_data: Annotated[bool, typer.Option("--quiet-data", help="Of a table say only whether it fits.")] = False,
    everything: AllOption = False,
) -> None:
    """Check a policy and say what it amounts to, or whether a table fits it.

    Prints how far each rule lets odds move, what is assumed of people, and what nothing hides. With --all also how far
    apart the values of each attribute are, a worked sentence for each rule, what the rules tighten, and why the result
    is a metric. All mistakes are reported at once. With a table it prints instead which rows a release would refuse,
    why, and the lines to add, for your eyes only; the exit code is 1 if there are any.

    \b
    Example:
      dxgeom check policies/clinic/policy.yaml
    """
    with refusals(output, everything=everything):
        from dxgeom.policy.policy import load_policy

        if certificate is not None:
            check_new(certificate)
        _require_filled_in(policy)
        loaded = load_policy(policy)
        if table is not None:
            _check_table(loaded, table, output, quiet_data)
            return
        review = loaded.review()
        if certificate is not None:
            from dxgeom.audit.claims import claims_of, write_claims

            write_claims(certificate, claims_of(loaded.compile(), "policy"))
        forms = loaded.forms() if explain else ()
        if output is Format.json:
            print_json({**review.as_dict(), **({"forms": [form.as_dict() for form in forms]} if explain else {})})
        elif everything or explain:
            print_lines([*review.lines(), *(["", "forms", *(f"  {form}" for form in forms)] if explain else [])])
        else:
            from dxgeom.report.short_policy import policy_screen

            print_screen(policy_screen(loaded, review))


def _check_table(policy: Policy, table: Path | str, output: Format, quiet: bool) -> None:
    """Looks at all rows. Raises: typer.Exit with 1 where a release would refuse them; DataError."""
    from dxgeom.engines.fitting import fit_of
    from dxgeom.engines.likenesses import repeated_identifiers
    from dxgeom.engines.watching import muted
    from dxgeom.starting.table_page import TablePage

    with muted(quiet):
        fit = fit_of(str(table), policy.universe)
    verdict = "fits" if fit.fits else "refused"
    if quiet and output is Format.json:
        print_json({"verdict": verdict})
    elif quiet:
        print_lines([f"the table {'fits' if fit.fits else 'does not fit'}"])
    else:
        name = Path(table).name if isinstance(table, Path) else fit.described
        repeated = repeated_identifiers(str(table), policy.universe)
        page = TablePage(fit, policy.universe, name, repeated, _public(policy, table) if fit.fits else None)
        if output is Format.json:
            print_json(page.as_dict())
        else:
            print_lines(page.lines())
    if not fit.fits:
        raise typer.Exit(Outcome.REFUSED)


def _public(policy: Policy, table: Path | str) -> list[PublicDifference] | None:
    """The public numbers that the table does not have; None where the policy states none, or they cannot be counted.

    Only here, and on behalf of whoever holds the table: a release never compares them.
    """
    from dxgeom.engines.histogram import histogram_of_table
    from dxgeom.starting.table_page import public_differences

    known, universe = policy.resolved.known, policy.universe
    if known is None or not universe.indexable or all(one.numbers is None for one in known.counts):
        return None
    return public_differences(known, universe, histogram_of_table(str(table), universe).counts)


def _require_filled_in(policy: Path) -> None:
    """Raises: DataError where marks of a draft are left, all of them at once."""
    try:
        text = policy.read_text(encoding="utf-8")
    except (OSError, UnicodeError):
        return  # told by whoever reads it
    marks = {
        number: count
        for number, line in enumerate(text.splitlines(), 1)
        if (count := _QUOTED.sub("", line).partition("#")[0].count(FILL_IN))
    }
    if marks:
        raise DataError(_unfinished(str(policy), text, marks))


def _unfinished(name: str, text: str, marks: dict[int, int]) -> str:
    """A message of at most as many lines as there are kinds of marks, and three.

    Args: how many marks stand in which line.
    """
    total = sum(marks.values())
    lines = text.splitlines()
    shown = [f"{line} ({_NUMBERS.get(count, count)})" if count > 1 else str(line) for line, count in marks.items()]
    remedies = [say for kind, say in _REMEDIES if any(re.search(kind, lines[line - 1]) for line in marks)]
    places = "1 place" if total == 1 else f"{total} places"
    return "\n".join([f"{name}: {places} to fill in: line {', '.join(shown)}", *(f"  {say}" for say in remedies[:6])])
