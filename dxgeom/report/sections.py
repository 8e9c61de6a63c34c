"""The head of the page, and its sections of few words: in short, what is not hidden, rules together, who, evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from dxgeom.document.document import (
    Block,
    Code,
    Definitions,
    Notice,
    Paragraph,
    Section,
    ShownColumn,
    ShownTable,
    Signature,
    Strong,
    Words,
)
from dxgeom.planner.public_numbers import public_part, public_sentences, sentences_of_tables, told_of_plan
from dxgeom.policy.explain.telling import except_with
from dxgeom.policy.explain.tightening import NOBODY, Tightening
from dxgeom.policy.lower.lowered import Unprotected
from dxgeom.report.facts import Facts, spoken
from dxgeom.universe.people.people import People
from dxgeom.universe.wording import shown
from dxgeom.wording.glossary import WORDS
from dxgeom.wording.numbers import amount, at_most, guesses, in_full, odds


def who(facts: Facts) -> Section:
    """The section."""
    people = people_of(facts)
    said = [_nobody_said(facts)] if people is None else [*_counted(facts, people), _NAMES]
    return Section(4, "Who counts as a person", tuple(map(Paragraph, said)))


_NAMES = "Rows that name nobody are refused; one person under several names is several people."


def hides_presence(facts: Facts) -> bool:
    """Whether having a record is hidden."""
    return facts.policy.universe.absent is not None


def people_of(facts: Facts) -> People | None:
    """Who a person is, where the policy says it."""
    return facts.policy.universe.reading.people


def _nobody_said(facts: Facts) -> str:
    far = facts.extremes.closest.distance * facts.budget
    return (
        "The limits hold for one row. Each person is assumed to have one row; nothing checks it. For a person with k "
        f"rows the rows' limits multiply: the closest two, at {odds(far)} for one row, are at {odds(2 * far)} for two "
        f"and {odds(3 * far)} for three, {guesses(3 * far):,} right guesses of 1,000."
    )


def _counted(facts: Facts, people: People) -> Iterator[str]:
    yield f"A person is whoever {shown(people.column)} names."
    if people.count == "single":
        yield "A second row of a person stops the release before anything is spent, so the limits hold for a person."
    elif people.within is not None:
        yield (
            f"Each person weighs 1 in each period of {shown(people.within)}, shared over their rows of it: the limits "
            "hold for a person in one period, and over several periods distances add up."
        )
        yield "A count adds up shares of people, not people who ever match: one row of three counts a third."
    elif people.count == "once":
        yield (
            "Each person weighs 1, shared over their rows: the limits hold for a person, however many rows there are. "
            "Moving half of a person's share by a distance counts as half of that distance."
        )
        yield "A count adds up shares of people, not people who ever match: one row of three counts a third."
        if facts.policy.unprotected:
            yield (
                "Only people with equal shares in each group of records that rules join are compared; the sums of "
                "these shares are exact, and may reveal how many rows people have."
            )
    elif people.in_shares:
        yield from _in_shares_of_rows(facts, people)
    else:
        yield from _by_rows(facts, people)


def _in_shares_of_rows(facts: Facts, people: People) -> Iterator[str]:
    least, most = facts.extremes.closest.distance * facts.budget, people.most_rows
    yield (
        f"Every row counts 1, but nobody counts more than {most}: more rows of a person count {most} together, spread "
        f"evenly, and that there are more is hidden. A row tells a part in {most} of what the rules allow: with one "
        f"changed row the closest two are at {odds(least / most)}, with all of at least {most} at {odds(least)}."
    )
    yield "The errors of Section 5 leave out what is cut so."
    if not hides_presence(facts):
        yield f"Everybody's number of rows up to {most} is public."
    if facts.policy.unprotected:
        yield "In each group of records that rules join, sums of people's shares are exact, and may reveal rows."


def _by_rows(facts: Facts, people: People) -> Iterator[str]:
    least = facts.extremes.closest.distance * facts.budget
    most = people.most_rows
    yield (
        f"The first {most} rows of a person by {shown(people.order or '')} are kept, and each tells a part in {most} "
        f"of what the rules allow: if all {most} change, the limits are those of Section 1. With one changed row the "
        f"closest two are at {odds(least / most)}, with all at {odds(least)}."
    )
    yield "Which rows there are, and their order, is not hidden; the errors of Section 5 leave out rows cut off."
    if not hides_presence(facts):
        yield "How many rows of each person are kept is public."


Row: TypeAlias = tuple[str, str, str]


def not_hidden(facts: Facts) -> Section:
    """The section."""
    columns = (
        ShownColumn("Not hidden"),
        ShownColumn("What that means"),
        ShownColumn("Who decided, and how to change it"),
    )
    return Section(2, "What is not hidden", (ShownTable("What is not hidden", columns, tuple(_rows(facts))),))


def exact_questions(facts: Facts) -> tuple[str, ...]:
    """The questions that the data answer without noise; what public numbers answer is asked of no data."""
    if facts.plan is None:
        return ()
    mechanism, names = facts.plan.mechanism, facts.plan.queries.names
    public = public_part(mechanism)
    asked = [True] * len(names) if public is None else (~public.implied).tolist()
    each = zip(names, mechanism.ideal_variances, asked, strict=True)
    return tuple(name for name, variance, of_data in each if variance == 0 and of_data)


def _known(facts: Facts) -> Iterator[Row]:
    """The counts that everybody may know, and after them what whoever knows all of them may learn."""
    known, informed = facts.policy.resolved.known, facts.review.known
    if known is None or informed is None:
        return
    for one, line in zip(known.counts, known.lines, strict=True):
        given = "Its numbers are in the policy." if one.numbers is not None else "Listing it gives it away."
        words = f"{one.words[:1].upper()}{one.words[1:]}"
        yield words, f"Everybody may know it. {given}", f"The policy, by 'known:' (line {line})."
    yield "What known counts tell of records", f"{informed.sentences} {informed.remedy}", "The same."


def _rows(facts: Facts) -> Iterator[Row]:
    for one in facts.policy.unprotected:
        allowed = (
            f"The policy, by 'unconnected: allow' {_line_of(facts, 'unconnected')}. A rule that joins them hides it."
        )
        named = "Groups of records" if one.attribute is None else facts.policy.labels.attribute(one.attribute)
        yield named, _meaning(facts, one), allowed
    for name in sorted(facts.policy.resolved.public):
        yield (
            f"Whether {facts.policy.labels.attribute(name)} is missing",
            "It is told exactly whether a record has a value here.",
            f"The policy, by 'missing: public' of {name}. 'missing: {{epsilon: …}}' hides it.",
        )
    yield from _known(facts)
    for sentence in [] if facts.plan is None else public_sentences(facts.plan.queries, facts.plan.mechanism):
        yield "Answers with public numbers", in_full(sentence), "The policy, by 'numbers' and 'count' under 'known:'."
    shown = facts.plan_shown
    for sentence in sentences_of_tables(shown.mechanism) if shown is not None and told_of_plan(shown) else []:
        yield "Tables with public numbers", in_full(sentence), "The policy, by 'numbers' and 'count' under 'known:'."
    for name in exact_questions(facts):
        yield f"The answer to “{name}”", "It is told exactly, without noise.", "The policy hides nothing that it tells."
    if not hides_presence(facts):
        number = "Their number" if facts.records is None else f"{facts.records:,}"
        yield (
            "Having a record",
            "No limit is promised on what can be learnt about whether somebody is among the data.",
            "The policy: no rule about presence. 'presence: true' with an epsilon adds one, at the cost of more noise.",
        )
        told = f"{number} is told exactly; of a table that was filtered, how many passed."
        yield "The number of records", told, "The same."
    people = people_of(facts)
    if people is not None and people.count == "rows" and people.in_shares and not hides_presence(facts):
        yield (
            "How many rows a person has",
            f"Everybody's number of rows up to {people.at_most} may be told.",
            "The policy: no rule about presence, which would hide it; so would 'count: once'.",
        )
    if people is not None and people.count == "rows" and not people.in_shares:
        yield (
            "Which rows a person has",
            f"Which rows there are, and their order by {people.order}, may be told; {people.at_most} of each are kept.",
            "The policy, by 'people: {count: rows}'. 'count: once' hides it.",
        )
    yield (
        "What is true of many",
        "What the answers say of people in general can be held of anybody, in the data or not.",
        "The questions. No policy changes it.",
    )
    yield (
        "What others publish",
        "Answers about the same people from elsewhere add to these. This page does not know them.",
        "Whoever keeps the data.",
    )


def _meaning(facts: Facts, one: Unprotected) -> str:
    called = facts.policy.labels.value
    examples = [called(one.attribute or "", str(example)) for _, example in one.components[:2] if example]
    if len(examples) == 2:
        return (
            f"{examples[0]} and {examples[1]} may be told apart exactly; there are {len(one.components):,} such groups."
        )
    return "Any two of its values may be told apart exactly."


def _line_of(facts: Facts, key: str) -> str:
    """The line where a key of the file stands."""
    text = facts.policy.text
    lines = [] if text is None or text.paths is not None else text.content.splitlines()
    found = [number for number, line in enumerate(lines, 1) if line.split(":")[0].strip(" '\"") == key]
    return f"(line {found[0]})" if found else ""


def together(facts: Facts) -> Section:
    """The section."""
    tightened = (tightened_in_words(one, facts) for one in facts.review.tightened)
    return combined(facts, [_farthest(facts), *tightened])


def combined(facts: Facts, sentences: list[Words]) -> Section:
    """The same section of what is said of the farthest two and of rules that lower others; and what holds beside."""
    sentences += [f"Line {line} changes nothing: {why}." for line, why in idle(facts)]
    if len(sentences) == 1:
        sentences.append("No rule lowers what another one states, and none is idle.")
    unexamined = facts.review.not_examined
    if unexamined:
        names = ", ".join(map(facts.policy.labels.attribute, unexamined))
        sentences.append(f"Not examined pair by pair, because there are too many values or bounds: {names}.")
    return Section(3, "What the rules do together", tuple(Paragraph(words) for words in sentences))


def idle(facts: Facts) -> Iterator[tuple[int, str]]:
    """Lines of rules that change nothing, and why."""
    for rule in facts.review.rules:
        if rule.idle:
            yield rule.line, "it selects no pair"
        elif rule.redundant:
            yield rule.line, "other rules ask for more on every pair"


def _farthest(facts: Facts) -> Words:
    far = facts.extremes.farthest
    told = far.distance * facts.budget
    if not facts.extremes.exact:
        return ("Records that differ in everything: odds ", Strong(at_most(told)), ".")
    return (
        f"Two records may differ in everything at once. The farthest are {far.words}: odds ",
        Strong(at_most(told)),
        f", {guesses(told):,} right guesses of 1,000.",
    )


def way_of(one: Tightening, facts: Facts) -> str:
    """The way from one value to another, step by step with the lines of the rules."""
    called = facts.policy.labels.value
    steps = (f"{spoken(called(one.attribute, value))} (line {line})" for line, value in one.path)
    return " → ".join((spoken(called(one.attribute, one.start)), *steps))


def tightened_in_words(one: Tightening, facts: Facts) -> str:
    """What a rule states, what the pair gets, by which way, and what to change."""
    budget = facts.budget
    lines = list(dict.fromkeys(line for line, value in one.path if value != NOBODY)) or [one.line]
    undo = " or ".join(str(line) for line in lines)
    more = f", and so for {one.pairs:,} pairs" if one.pairs > 1 else ""
    return (
        f"Line {one.line} states {odds(one.stated * budget)}, but {way_of(one, facts)} gives "
        f"{odds(one.given * budget)}{more}: more hidden than asked. To undo: raise line {undo}."
    )


_NUMBERS = ("Nothing needs", "One thing needs", "Two things need", "Three things need", "Four things need")


def in_short(facts: Facts, notices: tuple[Notice, ...]) -> Section:
    """The closest and the farthest pair, and every warning."""
    blocks: tuple[Block, ...] = (Paragraph((*summary(facts), needed(notices))), *notices)
    return Section(0, "In short", blocks)


def needed(notices: tuple[Notice, ...]) -> str:
    """How many decisions the warnings ask for, as the end of a paragraph."""
    stops = sum(one.severity == "stop" for one in notices)
    decisions = sum(one.severity == "decide" for one in notices)
    needs = _NUMBERS[decisions] if decisions < len(_NUMBERS) else f"{decisions} things need"
    return " Something here stops a signature." if stops else f" {needs} a decision."


def summary(facts: Facts) -> tuple[str | Strong, ...]:
    """The one sentence that matters."""
    near, far = (pair.distance * facts.budget for pair in (facts.extremes.closest, facts.extremes.farthest))
    return (
        "All answers within the budget together tell the closest two kinds of record apart with odds of at most ",
        Strong(odds(near)),
        f" ({guesses(near):,} right of 1,000 guesses; a coin gets 500), and the farthest two with ",
        Strong(at_most(far)),
        f" ({guesses(far):,} right){except_with(facts.policy.delta)}.",
    )


def head(facts: Facts) -> tuple[tuple[str, Words], ...]:
    """A few facts at the head."""
    spent, budget = facts.spent, facts.policy.budget
    used = f"{amount(budget)}" if spent is None else f"{amount(spent)} of {amount(budget)} spent"
    return (
        ("Records", _records(facts)),
        ("Hidden attributes", ", ".join(_hidden(facts)) or "none"),
        ("Budget", used),
        ("Policy file", (facts.policy.file.rsplit("/", 1)[-1], " ", Code(facts.policy.fingerprint[:12]))),
    )


def _records(facts: Facts) -> str:
    if hides_presence(facts):
        return "their number is private"
    number = "number not stated" if facts.records is None else f"{facts.records:,}"
    people = people_of(facts)
    if people is None:
        return f"{number}, one per person assumed"
    return number if people.count == "rows" else f"{number}, each of one person"


def _hidden(facts: Facts) -> list[str]:
    bare = {one.attribute for one in facts.policy.unprotected if one.no_rule}
    return [facts.policy.labels.attribute(name) for name in facts.policy.universe.names if name not in bare]


def evidence(facts: Facts) -> Section:
    """Section 7."""
    columns = (ShownColumn("What"), ShownColumn("Established by"), ShownColumn("Digest (SHA-256)"))
    blocks: tuple[Block, ...] = (
        ShownTable("Certificates", columns, tuple(_evidence(facts))),
        Paragraph(
            (
                "This page is of your file if its digest is the same: ",
                Code(f"dxgeom check {facts.policy.file} --format json"),
                " prints it as “fingerprint”. It stands for what the file means; comments and layout do not change it.",
            )
        ),
    )
    return Section(7, "Check it yourself", blocks)


def words_and_signature(decisions: int) -> Section:
    """Section 8, and the signature."""
    marks = ", ".join(str(number) for number in range(1, decisions + 1)) or "none"
    labels = ("Name, office", f"Decisions taken on ▲ {marks}", "Date")
    terms = tuple((word.term[0].upper() + word.term[1:], word.meaning) for word in WORDS)
    return Section(8, "Words used here", (Definitions(terms), Signature(labels)))


def _evidence(facts: Facts) -> Iterator[tuple[Words, ...]]:
    certificate = facts.review.certificate
    yield (
        "Distances obey the triangle inequality",
        f"{certificate.form}: {certificate.reason}{_parts(facts)}",
        (Code(facts.policy.fingerprint),),
    )
    if facts.plan is not None:
        yield (
            "Noise fits the distances",
            "Checked on every pair that generates the distances, when the plan was made or read.",
            (Code(facts.plan.fingerprint),),
        )
        yield (
            "Questions",
            f"{facts.plan.queries.count:,} exact tables of weights",
            (Code(facts.plan.queries.fingerprint),),
        )
    if facts.plan_shown is not None:
        asked, digest = facts.plan_shown.question_in_words, facts.plan_shown.queries.fingerprint
        yield "Plan", "The law of all answers together, and what is asked.", (Code(facts.plan_shown.fingerprint),)
        yield "Questions", asked, (Code(digest),)
    if facts.plan_digest is not None:
        yield "Plan file", "Everything in it was proved again when it was read.", (Code(facts.plan_digest),)
    if facts.history is not None and facts.history.receipt is not None:
        number, seal = facts.history.receipt
        yield "Ledger", f"A chain of seals up to entry {number}, verified as a whole", (Code(seal),)


def _parts(facts: Facts) -> str:
    parts = [f"{part.form}, {part.reason}" for part in facts.review.certificate.parts]
    return f" ({'; '.join(parts)})" if parts else ""
