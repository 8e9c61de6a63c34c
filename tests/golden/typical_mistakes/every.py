"""All typical mistakes, by name."""

from __future__ import annotations

from golden.typical_mistakes.in_calls import IN_CALLS
from golden.typical_mistakes.in_data import IN_DATA
from golden.typical_mistakes.in_policies import IN_POLICIES
from golden.typical_mistakes.in_queries import IN_QUERIES
from golden.typical_mistakes.mistake import Mistake
from golden.typical_mistakes.of_later_words import OF_LATER_WORDS
from golden.typical_mistakes.of_newcomers import OF_NEWCOMERS

EVERY: dict[str, Mistake] = {**IN_POLICIES, **IN_QUERIES, **IN_DATA, **IN_CALLS, **OF_NEWCOMERS, **OF_LATER_WORDS}
