"""A policy on one screen: how far each rule lets odds move, what is assumed, and what must not stay silent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from dxgeom.document.document import Block, Document, Paragraph, Section, ShownColumn, ShownTable
from dxgeom.policy.explain.review import Review
from dxgeom.policy.explain.sentences import listed
from dxgeom.policy.explain.telling import MOST_SAID, concentrated
from dxgeom.policy.explain.tightening import LISTED, AttributeExamination
from dxgeom.policy.policy import Policy
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.source.fields import Length, edges_words
from dxgeom.privacy.measures import PURE, Privacy
from dxgeom.report.facts import comparisons
from dxgeom.universe.columns import chance_in_words, plain
from dxgeom.universe.labels import PolicyLabels
from dxgeom.universe.people.people import People
from dxgeom.universe.wording import shown
from dxgeom.wording.numbers import amount, counted, odds

ONE_ROW_EACH: Final = "Each row is another person's, as the policy states; nothing checks it."
_MOST_ROWS: Final = 12
_MOST_WARNINGS: Final = 2
_SAME: Final = 1e-9
_NOT_HIDDEN: Final = math.log(1000)
"""Beyond this distance two values are hardly hidden from each other."""
PLAIN: Final = (ShownColumn(""), ShownColumn(""), ShownColumn(""))


class RuleRow(NamedTuple):
    """What a rule hides in one attribute: ``what`` differs, ``least`` and ``most`` of its epsilons, ``step``: for how
    much of a difference; ``more``: what belongs to the epsilons; ``title``: what the rule is called, with a colon where
    it has several rows."""

    what: str
    least: Fraction
    most: Fraction | float
    step: str = ""
    more: str = ""
    title: str | None = None

    def odds(self, spend: Fraction, privacy: Privacy) -> str:
        """How far odds move at that spend, *rounded up*, without what they are compared to."""
        low, high = (_figure(one, spend, privacy) for one in (self.least, self.most))
        return low if low == high else f"{low} to {high}"

    def epsilons(self, spend: Fraction = Fraction(1)) -> str:
        """Its epsilons times the spend."""
        low, high = (plain(one * spend) if isinstance(one, Fraction) else "no limit" for one in (self.least, self.most))
        return low if low == high else f"{low} to {high}"


def _figure(epsilon: Fraction | float, spend: Fraction, privacy: Privacy) -> str:
    if isinstance(epsilon, float):
        return odds(epsilon)
    if privacy == PURE:
        return odds(min(float(epsilon * spend), MOST_SAID)).removesuffix(" to 1")
    return concentrated(epsilon * spend).removeprefix("at most ").removesuffix(" to 1")


def rule_rows(policy: Policy) -> Iterator[RuleRow]:
    """A row for each rule and attribute, in the order of the file."""
    for rule in policy.rules:
        rows, title = [*_rows_of(rule, policy.privacy)], rule.syntax.title
        yield from (row._replace(title=title and (title if len(rows) == 1 else f"{title}: ")) for row in rows)


def _rows_of(rule: ResolvedRule, privacy: Privacy) -> Iterator[RuleRow]:
    syntax = rule.syntax
    # Odds of pure privacy multiply from step to step; those of concentrated privacy move farther than that.
    every = "every " if privacy == PURE else "the first "
    step = f" for {every}{_length(syntax.per)}" if syntax.per else ""
    step = step or (f" within {syntax.within}" if syntax.within else "")
    if rule.lasting is not None:
        yield RuleRow(f"anything {rule.lasting.words}", rule.lasting.epsilon, rule.lasting.epsilon)
    elif rule.presence is not None:
        yield RuleRow("being in the table", rule.presence, rule.presence)
    elif rule.everything is not None:
        yield RuleRow("anything at all", rule.everything, rule.everything)
    elif rule.joint is not None:
        epsilon = rule.joint.constant or syntax.epsilon or Fraction(0)
        block = listed(syntax.secrets.partition or ()) if syntax.secrets is not None else ""
        what = f"anything inside one {block}" if block else f"{listed(rule.joint.names)} together"
        yield RuleRow(what, epsilon, epsilon, step)
    else:
        for name, bound in rule.bounds:
            if bound.to_missing is not None and rule.missing:
                stated = syntax.epsilon or Fraction(bound.to_missing)
                yield RuleRow(f"{name}, missing or not", stated, stated)
            elif step and syntax.epsilon is not None:
                yield RuleRow(name, syntax.epsilon, syntax.epsilon, step)
            else:
                yield _by_extremes(name, rule)


def _length(length: Length) -> str:
    """A length after "every".

    >>> _length(Length(Fraction(1), "step")), _length(Length(Fraction(50), "km"))
    ('step', '50 km')
    """
    return str(length.unit) if length.amount == 1 and length.unit else str(length)


def _by_extremes(name: str, rule: ResolvedRule) -> RuleRow:
    """What a rule states for an attribute from one pair of values to another."""
    low, high = dict(rule.bounds)[name].extremes
    secrets = rule.syntax.secrets
    along = "" if secrets is None or secrets.edges is None else f"along {edges_words(secrets.edges)}"
    most = high if isinstance(high, float) and math.isinf(high) else Fraction(high)
    return RuleRow(name, Fraction(low), most, " a step" if along else "", along)


def policy_screen(policy: Policy, review: Review) -> Document:
    """The policy in at most fifteen lines at 80 characters, and a line for each further rule."""
    whole = "" if policy.budget == 1 else f" of {plain(policy.budget)}"
    intro = f"If the whole budget{whole} is spent, the odds between two {policy.labels.people} who differ only in"
    rules = Section(0, "", (Paragraph(intro), ShownTable("What the rules hide", PLAIN, tuple(_table(policy, review)))))
    return Document(
        policy.title,
        policy.about or "a policy without a word about it.",
        "",
        (),
        (rules, Section(0, "", tuple(_closing(policy, review)))),
        policy.fingerprint,
    )


def _table(policy: Policy, review: Review) -> Iterator[tuple[str, str, str]]:
    rows = [*rule_rows(policy)]
    examined = {one.name: one for one in review.attributes}
    for number, row in enumerate(rows[:_MOST_ROWS]):
        one = examined.get(row.what)
        moved, limit = _moved(policy, row, one)
        step = "" if " up to " in moved else row.step
        strength = "" if number else "epsilon " if policy.privacy == PURE else "distance "
        yield (
            f"  {called(policy.labels, row)}",
            f"{'' if number else 'move '}{_by(moved, number)}{step}{unit_of(policy.labels, row)}",
            f"({strength}{limit})",
        )
        if row.step and one is not None and policy.privacy == PURE:
            yield from _ends(policy, one)
    if len(rows) > _MOST_ROWS:
        yield f"  and {len(rows) - _MOST_ROWS} more: --all", "", ""


def called(labels: PolicyLabels, row: RuleRow) -> str:
    """What a row is about, by the titles of its rule and its attribute."""
    if row.title is not None and not row.title.endswith(": "):
        return row.title
    return f"{row.title or ''}{labels.attribute(row.what)}"


def unit_of(labels: PolicyLabels, row: RuleRow) -> str:
    """The unit of a step that is written without one, with a blank before it."""
    unit = labels.units.get(row.what)
    return f" {unit}" if unit and row.step and row.step[-1].isdecimal() else ""


def _by(moved: str, number: int) -> str:
    """How far odds move, in the first row as a sentence."""
    if number or moved.startswith(("no limit", "more")) or " up to " in moved:
        return moved if number or " up to " not in moved else f"by {moved}"
    return f"by at most {moved} to 1" if " to " not in moved else f"by {moved} to 1"


def _moved(policy: Policy, row: RuleRow, one: AttributeExamination | None) -> tuple[str, str]:
    """How far odds move under all rules, and the epsilons: of a rule whose pairs differ, from the closest to the
    farthest two."""
    moved, limit = row.odds(policy.budget, policy.privacy), row.epsilons()
    told = "; ".join(filter(None, (limit, row.more)))
    if one is None or one.diameter is None or one.smallest is None or row.least == row.most or policy.privacy != PURE:
        return moved, told
    if not math.isfinite(one.diameter) or (row.more and not one.examined):
        return moved, told
    if row.more:  # along edges: steps add up
        near, far = _closest_and_farthest(policy, one)
        ends = [odds(min(end, MOST_SAID) * float(policy.budget)) for end in (one.smallest, one.diameter)]
        return f"{ends[0]}{near} up to {ends[1]}{far}", f"{one.smallest:.4g} to {one.diameter:.4g}, {row.more}"
    if one.diameter >= float(row.most) * (1 - _SAME):
        return moved, told
    most = f"{plain(Fraction(row.most))} is" if math.isfinite(row.most) else "for some no limit is"
    written = f"{one.smallest:.4g} to {one.diameter:.4g}; {most} written"
    ends = [odds(end * float(policy.budget)).removesuffix(" to 1") for end in (one.smallest, one.diameter)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}", written


def _ends(policy: Policy, one: AttributeExamination) -> Iterator[tuple[str, str, str]]:
    """The two values that are hidden best and worst, where these hardly are."""
    if one.diameter is None or one.diameter * float(policy.budget) <= _NOT_HIDDEN:
        return
    pair = _closest_and_farthest(policy, one)[1]
    pair = f", {pair[2:-1]}" if pair else ""
    said = odds(min(one.diameter, MOST_SAID) * float(policy.budget)) if math.isfinite(one.diameter) else "no limit"
    nearest = "" if not one.smallest else f"nearest: {odds(one.smallest * float(policy.budget))}. "
    yield "", f"{nearest}▲ farthest{pair}: {said}, so hardly hidden from each other", ""


def _closest_and_farthest(policy: Policy, one: AttributeExamination) -> tuple[str, str]:
    """Both pairs in words; nothing where they are too many to be looked at."""
    if not policy.universe.indexable or policy.universe.listed is not None or not one.examined:
        return "", ""
    [found] = comparisons(policy, (one,))
    pairs = found.closest(found.every), found.farthest(found.every)
    near, far = ("" if pair is None else f" ({pair.words})" for pair in pairs)
    return near, far


def _closing(policy: Policy, review: Review) -> Iterator[Block]:
    hidden = any(rule.presence is not None for rule in policy.rules)
    public = (
        "Whether somebody is in the table is hidden, too."
        if hidden
        else f"The number of {policy.labels.people} is public."
    )
    seldom = "" if policy.privacy == PURE else " One time in a million odds move farther."
    yield Paragraph(f"Anybody may know everybody else. {public}{seldom}")
    if review.delta is not None:
        named, chance = " and ".join(map(shown, review.unlisted)), chance_in_words(review.delta)
        yield Paragraph(
            f"Nobody listed {named}: a key that one person alone has may show, in all releases together with chance "
            f"{chance} at most. Odds hold except with it."
        )
    universe = policy.universe
    yield Paragraph(ONE_ROW_EACH if universe.one_row_each else people_words(universe.reading.people))
    if review.time is not None:
        yield Paragraph(review.time.in_short)
    if review.known is not None:
        held = "" if review.known.hold is None else f" {review.known.remedy}"
        yield Paragraph(f"▲ Known: {'; '.join(review.known.counts)}. {review.known.sentences}{held}")
    for said in _warnings(review):
        yield Paragraph(f"▲ {said}")
    records = "" if policy.delta is not None else f": {counted(review.size, 'possible record')}"
    yield Paragraph(f"The file is right{records}. More: --all")


def people_words(people: People | None) -> str:
    """Who a person is, and how they count."""
    if people is None:
        return "▲ Each person is taken to have one row; `people` would make sure."
    match people.count:
        case "once" if people.within is not None:
            return f"Each person ({people.column}) counts once in each period of {people.within}."
        case "once":
            return f"Each person ({people.column}) counts once, over all their rows."
        case "rows":
            return f"Every row of a person ({people.column}) counts, and nobody more than {amount(people.most_rows)}."
        case _:
            return f"Each person ({people.column}) has one row, or the table is refused."


def _warnings(review: Review) -> Iterator[str]:
    """What must not stay silent: what nothing hides first."""
    every: Sequence[str] = (*(f"Not hidden: {one}" for one in review.unprotected), *review.warnings)
    every = (*every, *(f"Examined only in part: {one}" for one in review.not_examined if one != LISTED))
    for one in every[:_MOST_WARNINGS]:
        yield f"{one[:1].upper()}{one[1:].removesuffix('.')}."
    if len(every) > _MOST_WARNINGS:
        yield f"{counted(len(every) - _MOST_WARNINGS, 'more thing')} to know: --all"
