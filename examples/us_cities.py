"""Where 153 million residents of US cities live, released privately: the whole path in one file.

Run with ``make demo``, or ``python examples/us_cities.py --output some-folder``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dxgeom as dx

POLICIES = Path(__file__).resolve().parent.parent / "policies"
SPEND = "0.25"
LEVEL = 0.95
MADE_HERE = ("privacy.db", "privacy.db-journal", "noise-body.png", "improvement.png", "release.json")


def main() -> None:
    """Check, plan, release, draw."""
    output = fresh_folder()
    policy = dx.load_policy(POLICIES / "us-cities" / "policy.yaml")
    queries = dx.load_queries(POLICIES / "us-cities" / "queries.yaml", policy)
    show_policy(policy)
    plan = dx.plan(policy.compile(), queries)
    show_plan(plan)
    release = plan.release(
        POLICIES / "us-cities" / "people.csv",
        count_column="residents",
        ledger=str(output / "privacy.db"),
        spend=SPEND,
        purpose="demonstration",
    )
    show_answers(release, dx.plan(policy.compile(), queries, mechanism="epsilon-dp"))
    (output / "release.json").write_text(release.to_json(LEVEL) + "\n", encoding="utf-8")
    central, mountain = queries.names[1:3]
    dx.report.noise_body_picture(plan, central, mountain, output / "noise-body.png")
    dx.report.improvement_picture(plan, output / "improvement.png")
    heading(f"4. What was written to {output}")
    print("  noise-body.png   the shape of the noise, seen on two queries")
    print("  improvement.png  what it gains over ordinary ε-DP, query by query")
    print("  release.json     the answers, for machines")
    print(f"  privacy.db       the ledger: {release.spent} spent, {release.remaining} remains")


def fresh_folder() -> Path:
    """The folder for what is written, without what an earlier run left there."""
    parser = argparse.ArgumentParser(description="Release private answers about the residents of US cities.")
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="where to write (demo-output)")
    folder: Path = parser.parse_args().output
    folder.mkdir(parents=True, exist_ok=True)
    for name in MADE_HERE:
        (folder / name).unlink(missing_ok=True)
    return folder


def show_policy(policy: dx.Policy) -> None:
    """What the policy promises."""
    review = policy.review()
    heading(f"1. The policy '{policy.name}', checked")
    print(f"  {policy.about}")
    for attribute in review.attributes:
        apart = f"distances from {attribute.smallest:.4f} to {attribute.diameter:.4g}"
        print(f"  {attribute.name}: {attribute.values:,} values, {apart}")
    for rule in review.rules:
        print(f"  {rule.sentence}")
    for line in review.certificate.lines("  metric: "):
        print(line)


def show_plan(plan: dx.Plan) -> None:
    """What was considered, and why one was chosen, before any data was read."""
    heading(f"2. The plan for {plan.queries.count} queries")
    for candidate in plan.candidates:
        error = candidate.reason if candidate.loss is None else f"{plan.objective.title} {candidate.loss:>14,.2f}"
        print(f"  {candidate.name:<15} {error}")
    print(f"  chosen: {plan.reason}")
    print(f"  no additive noise that fits every spend can go below {plan.lower_bound:,.2f}:")
    print(f"  this plan is within a factor {plan.gap:.3g} of it")


def show_answers(release: dx.Release, ordinary: dx.Plan) -> None:
    """The private answers, beside the error bars that ordinary ε-DP would need."""
    heading(f"3. The answers, at spend {release.spent}, with {LEVEL:.0%} error bars")
    widths = release.half_widths(LEVEL)
    others = ordinary.half_widths(LEVEL, release.spent, release.records)
    print(f"  {'':<44}{'answer':>16}{'±':>12}{'± with ε-DP':>14}")
    for name, value, width, other in zip(release.names, release.values, widths, others, strict=True):
        places = 0 if width > 1 else 4
        print(f"  {name:<44}{value:>16,.{places}f}{width:>12,.{places}f}{other:>14,.{places}f}")
    print("  ε-DP: ordinary differential privacy that protects the two closest cities as well as this policy does,")
    print("        and therefore all others far more than the policy asks.")


def heading(words: str) -> None:
    """A line that stands out."""
    print(f"\n{words}\n{'-' * len(words)}")


if __name__ == "__main__":
    main()
