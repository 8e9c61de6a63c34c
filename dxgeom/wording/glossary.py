"""The words that the page uses in a sense of their own."""

from __future__ import annotations

import re
from typing import Final

GLOSSARY: Final = (
    ("Bar", "Range holding the true value in a stated share of repetitions."),
    ("Bias", "Error that repetition does not average away."),
    ("Budget", "Limit on all spends together."),
    ("Certificate", "Checkable evidence for the distances."),
    ("Concentrated", "A promise without an odds ceiling; rare answers tell more."),
    ("Distance", "Logarithm of the odds limit at spend 1."),
    ("Group", "Records that chains of rules join."),
    ("Hidden", "Hard to tell apart to a stated degree; never impossible."),
    ("Ledger", "The account, charged before noise is drawn."),
    ("Noise", "A random amount added to an answer, once."),
    ("Odds", "Chance for to chance against."),
    ("Presence", "Having a record at all."),
    ("Record", "One row."),
    ("Spend", "A release's share of the budget."),
    ("Tightened", "Closer than its own rule states."),
)
MEANINGS: Final = {term.lower(): meaning for term, meaning in GLOSSARY}
_FORMS: Final = "|".join(sorted((rf"{term}s?" for term in MEANINGS), key=len, reverse=True))
TERMS: Final = re.compile(rf"\b({_FORMS})\b", re.IGNORECASE)
"""Finds a word of the glossary in a sentence."""


def term_of(found: str) -> str:
    """The word of the glossary that a word in a sentence is.

    >>> term_of("Records"), term_of("bias")
    ('record', 'bias')
    """
    word = found.lower()
    return word if word in MEANINGS else word.removesuffix("s")
