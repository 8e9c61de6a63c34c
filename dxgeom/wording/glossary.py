"""The words: what each means, an example, where it is met. ``dxgeom words``, the review page and the site show them."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Word(NamedTuple):
    """A word: its meaning and an example in a sentence each, where it is met, and what others call it."""

    term: str
    meaning: str
    example: str
    where: str
    also: tuple[str, ...] = ()


FIRST: Final = (
    Word(
        "policy",
        "The file that says what is hidden and how well.",
        "'policy.yaml', which 'dxgeom init' drafts.",
        "check",
    ),
    Word(
        "attribute",
        "One thing that a row says, with all values it can have.",
        "'sex: [F, M]', or 'age: {range: [0, 110], step: 5}'.",
        "'attributes:' in a policy",
        ("column",),
    ),
    Word(
        "rule",
        "Which differences between two people are hidden, and how well.",
        "'change: age', 'epsilon: 1', 'per: 20': ages 20 years apart are hidden at epsilon 1.",
        "'rules:' in a policy",
    ),
    Word(
        "epsilon",
        "The strength of a rule: the smaller, the better hidden. Epsilon x lets odds move by e to the power x.",
        "Epsilon 0.2 is odds of 1.23 to 1, and epsilon 1 is 2.72 to 1.",
        "'epsilon:' in a rule",
        ("eps",),
    ),
    Word(
        "odds",
        "The chance that something is so, divided by the chance that it is not.",
        "3 to 1 is right 3 times in 4; answers may move odds of 1 to 1 to 2.72 to 1 at epsilon 1.",
        "check, plan, release, report",
    ),
    Word(
        "person",
        "Whom a rule protects: a row, or all rows with one name.",
        "'people: {column: Pat-Nr, count: once}' makes all rows of a patient one person.",
        "'people:' in a policy",
        ("people",),
    ),
    Word(
        "question",
        "One number asked of the table.",
        "'count: age >= 65', or 'mean: age'.",
        "'queries:' in a file of questions",
        ("query",),
    ),
    Word(
        "±",
        "19 times in 20 the true number is no farther from the answer.",
        "1,120 ± 26 is from 1,094 to 1,146.",
        "plan, release",
        ("bar", "error bar", "+/-", "interval"),
    ),
    Word(
        "budget",
        "How much all answers together may use up.",
        "'budget: 1' is used up by four releases of '--spend 0.25' each.",
        "'budget:' in a policy",
    ),
    Word(
        "ledger",
        "The file that keeps account of the budget, charged before an answer is drawn.",
        "'--ledger clinic.db', and 'dxgeom ledger show clinic.db'.",
        "release, ledger",
    ),
)
"""What is met before the first answer; no other word is."""

LATER: Final = (
    Word(
        "better hidden than written",
        "Closer than its own rule says, because a way over others is shorter.",
        "A to B costs 1 and B to C costs 1: then A and C are at most 2 apart, whatever their own rule says.",
        "check, report",
        ("tightened", "closure"),
    ),
    Word(
        "certificate",
        "Evidence that anybody can check, for distances or for noise.",
        "'dxgeom verify distances.csv --certificate proof.json'.",
        "verify, plan, report",
    ),
    Word(
        "concentrated",
        "A promise without a ceiling on odds: rare answers may disclose more.",
        "'privacy: concentrated' in a policy; its noise is Gaussian.",
        "'privacy:' in a policy",
    ),
    Word(
        "data holder",
        "Who may see the table, and makes the releases.",
        "Only the data holder should see refusals, since these may quote cells.",
        "check --table, release",
        ("curator", "custodian"),
    ),
    Word(
        "disclosed",
        "How far all releases so far let odds move.",
        "'dxgeom ledger told clinic.db --policy policy.yaml'.",
        "ledger, report",
        ("told", "loss"),
    ),
    Word(
        "distance",
        "The logarithm of the most that odds may move when the whole budget of 1 is spent.",
        "Two ages 20 years apart at epsilon 1 per 20 have distance 1.",
        "explain, verify",
        ("metric",),
    ),
    Word("group", "Records that chains of rules join.", "Nothing is hidden between two groups.", "check, report"),
    Word(
        "hidden",
        "Hard to tell apart to a degree that is written down; never impossible.",
        "At epsilon 0.1 of 1,000 guesses 525 are right at most.",
        "check, report",
    ),
    Word(
        "kind of noise",
        "A shape that noise can have; a plan compares several.",
        "'laplace' is noise for each answer alone; 'hull' is shaped by all questions.",
        "plan --all",
        ("mechanism", "candidate", "body"),
    ),
    Word("noise", "A random amount added to an answer, once.", "The count 1,130 is shown as 1,120.", "plan, release"),
    Word(
        "part of the budget",
        "What a release uses up of the budget.",
        "'--spend 0.25' of a budget of 1 leaves 0.75.",
        "plan, release, report",
        ("spend",),
    ),
    Word(
        "plan",
        "How questions will be answered, and how exactly. It reads no data.",
        "'dxgeom plan policy.yaml queries.yaml'.",
        "plan",
    ),
    Word(
        "possible record",
        "What a row can be: one value of each attribute.",
        "Two sexes and 22 ages make 44 possible records.",
        "check, init",
        ("record type", "universe"),
    ),
    Word(
        "presence",
        "Having a record at all.",
        "'change: presence' hides whether somebody is in the table.",
        "'rules:' in a policy",
    ),
    Word("record", "One row.", "304 stays are 304 records.", "'records:' in a file of questions", ("row",)),
    Word(
        "release",
        "Answers that were charged and drawn, once.",
        "'dxgeom release policy.yaml table.csv queries.yaml --ledger clinic.db --spend 0.25'.",
        "release",
        ("answer",),
    ),
    Word(
        "rounding",
        "Error that is there without noise, because values are read in groups.",
        "Ages in groups of five can move a mean by 2.5.",
        "plan, release",
        ("bias",),
    ),
    Word(
        "table of counts",
        "A count for each value of an attribute, or for each pair.",
        "'marginal: race', or 'marginal: [race, sex]'.",
        "'queries:' in a file of questions",
        ("marginal",),
    ),
    Word(
        "try with made-up people",
        "Release from people that do not exist: nothing is read or spent.",
        "'dxgeom release policy.yaml queries.yaml --rehearse'.",
        "release",
        ("rehearse", "rehearsal"),
    ),
)
WORDS: Final = FIRST + LATER
NAMED: Final = {name: word for word in WORDS for name in (word.term, *word.also)}
"""Each word by every name that it has."""
_FORMS: Final = "|".join(sorted((rf"{re.escape(name)}s?" for name in NAMED), key=len, reverse=True))
TERMS: Final = re.compile(rf"\b({_FORMS})\b", re.IGNORECASE)
"""Finds a word, by any of its names, in a sentence."""


def word_of(found: str) -> Word:
    """The word that stands in a sentence, by any of its names. Raises: KeyError.

    >>> word_of("Records").term, word_of("bias").term
    ('record', 'rounding')
    """
    name = found.lower()
    return NAMED[name if name in NAMED else name.removesuffix("s")]
