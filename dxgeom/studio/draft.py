"""A policy as it stands in the studio: its text, what is wrong in it or what it means, and what a page says of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

import numpy as np

from dxgeom.document.document import Notice
from dxgeom.document.page import html_of
from dxgeom.errors import Diagnostic, DxgeomError, FileMistakes
from dxgeom.policy.explain.sentences import sentence
from dxgeom.policy.explain.telling import Telling, except_with
from dxgeom.policy.policy import Policy, parse_policy, with_number
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.source.text import Folder
from dxgeom.privacy.measures import PURE
from dxgeom.report.changes import in_curves
from dxgeom.report.curves import pairs_by_guesses
from dxgeom.report.facts import Facts, Pair, facts_of
from dxgeom.report.rules import pair_table, rows_of, rule_sentence
from dxgeom.report.warnings import warnings
from dxgeom.studio.levers import Lever, levers_of
from dxgeom.wording.numbers import at_most, band_of, guesses

_UNKNOWN: Final = "The numbers of this rule stand in a data file: change them there."
Examples = tuple[tuple[str, Pair], ...]


@final
@dataclass(frozen=True, eq=False)
class TriedPolicy:
    """A text that may be a policy.

    ``policy``: what it means, None where ``mistakes`` are in it. ``file``: what messages call it.
    """

    content: str
    file: str
    folder: Folder | None = field(repr=False)
    policy: Policy | None
    mistakes: tuple[Diagnostic, ...]

    @cached_property
    def levers(self) -> tuple[Lever, ...]:
        """The numbers that can be moved; none where the text has mistakes."""
        return () if self.policy is None else levers_of(self.policy)

    @cached_property
    def facts(self) -> Facts | None:
        """What is known of every attribute pair by pair; None where there is no policy, or nothing can be compared."""
        try:
            return None if self.policy is None else facts_of(self.policy)
        except DxgeomError:
            return None

    @cached_property
    def examples(self) -> tuple[Examples, ...]:
        """Of each rule the pairs of records that show what it does; computed anew, which takes a while for many."""
        facts = self.facts
        if facts is None:
            return ()
        return tuple(tuple(rows_of(facts, rule)) for rule in facts.policy.rules)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What stops, what is to be decided, what is to be known."""
        return () if self.facts is None else warnings(self.facts)

    def with_text(self, content: str) -> TriedPolicy:
        """Another text in its place."""
        return draft_of(content, self.file, self.folder)

    def moved(self, lever: Lever, value: str) -> TriedPolicy:
        """Another number in its place: what :meth:`with_text` makes of the changed text, in less time.

        Raises: UnsupportedCombination for what is no such number.
        """
        content = lever.moved(self.content, value)
        text = None if self.policy is None else self.policy.text
        if text is None or text.content != self.content or not lever.stands_in(self.content):
            return self.with_text(content)
        return _draft(content, self.file, self.folder, lambda: with_number(text, lever.span, value))


def draft_of(content: str, file: str, folder: Folder | None) -> TriedPolicy:
    """The draft of a text; data files that a policy names are read from the folder only."""
    return _draft(content, file, folder, lambda: parse_policy(content, file=file, folder=folder))


def _draft(content: str, file: str, folder: Folder | None, compiled: Callable[[], Policy]) -> TriedPolicy:
    try:
        return TriedPolicy(content, file, folder, compiled(), ())
    except FileMistakes as error:
        return TriedPolicy(content, file, folder, None, tuple(error.diagnostics))


def cards(draft: TriedPolicy, settled: TriedPolicy) -> list[dict[str, Any]]:
    """What the page says of each rule: a sentence, the numbers that can be moved, and real pairs of records.

    Args: ``settled``: the draft whose examples are shown. Their distances are those of the present policy, so that
    moving a number takes no longer than compiling it.
    """
    policy = draft.policy
    if policy is None:
        return []
    alike = settled.policy is not None and len(settled.policy.rules) == len(policy.rules)
    shown = settled.examples if alike and _same_records(draft, settled) else draft.examples
    facts = settled.facts if shown is settled.examples else draft.facts
    found = []
    for number, rule in enumerate(policy.rules):
        mine = [lever_state(one, policy) for one in draft.levers if one.rule == number]
        rows = _as_now(policy, rule, shown[number]) if shown else []
        found.append(
            {
                "number": number + 1,
                "line": rule.line,
                "title": rule.syntax.title or rule.words,
                "sentence": promise(policy, rule),
                "levers": mine,
                "note": "" if mine else _UNKNOWN,
                "pairs": _table(replace(facts, policy=policy), number, rows) if facts is not None and rows else "",
            }
        )
    return found


def _same_records(draft: TriedPolicy, settled: TriedPolicy) -> bool:
    one, other = draft.policy, settled.policy
    return one is not None and other is not None and one.universe.meaning == other.universe.meaning


def promise(policy: Policy, rule: ResolvedRule) -> str:
    """What a rule promises of all answers within the budget together."""
    if policy.privacy == PURE:
        unlisted = except_with(policy.delta).strip()
        return f"{rule_sentence(rule, float(policy.budget))} {unlisted}".rstrip()
    said = sentence(rule, Telling(policy.privacy, policy.budget, policy.delta))
    return f"{said[:1].upper()}{said[1:]}."


def _as_now(policy: Policy, rule: ResolvedRule, examples: Examples) -> list[tuple[str, Pair]]:
    """The examples at the distances of this policy; what is no pair of possible records is left out."""
    if rule.presence is not None:
        away = float(min(one.presence for one in policy.rules if one.presence is not None))
        return [(what, replace(pair, distance=away)) for what, pair in examples]
    known = [(what, pair) for what, pair in examples if pair.records is not None]
    distances = distances_of(policy, [pair for _, pair in known])
    return [(what, replace(pair, distance=at)) for (what, pair), at in zip(known, distances, strict=True)]


def distances_of(policy: Policy, pairs: Sequence[Pair]) -> list[float]:
    """How far the records of pairs are from each other, *rounded down*."""
    ends = np.array([pair.records for pair in pairs if pair.records is not None], dtype=np.int64).reshape(-1, 2)
    if not len(ends):
        return []
    found = np.maximum(policy.metric.distance(ends[:, 0], ends[:, 1]), policy.metric.distance(ends[:, 1], ends[:, 0]))
    return [float(one) for one in found]


def _table(facts: Facts, number: int, rows: list[tuple[str, Pair]]) -> str:
    label = f"Pairs under rule {number + 1}"
    pure = facts.policy.privacy == PURE
    return html_of([pair_table(facts, label, rows) if pure else pairs_by_guesses(label, rows, facts)])


def lever_state(lever: Lever, policy: Policy) -> dict[str, Any]:
    """A number as the page shows it: where its slider stands, and what it amounts to for the whole budget."""
    told = float(Fraction(lever.value)) * (1.0 if lever.rule is None else float(policy.budget))
    stops = lever.stops
    return {
        "name": lever.name,
        "words": lever.words,
        "line": lever.line,
        "value": lever.value,
        "at": stops.index(lever.value),
        "told": told,
        "stops": stops,
        **in_words(policy, told),
    }


def in_words(policy: Policy, told: float) -> dict[str, Any]:
    """A distance, times the budget, in odds and in right guesses, *rounded up*; and how well that hides."""
    if policy.privacy == PURE:
        band = band_of(told)
        return {
            "odds": f"odds {at_most(told)}{except_with(policy.delta)}",
            "right": f"{guesses(told):,}",
            "band": band.words,
            "look": band.look,
        }
    right, odds = in_curves(told)
    return {
        "odds": f"odds at most {odds}, but one time in a million{except_with(policy.delta)}",
        "right": right,
        "band": "",
        "look": "",
    }


def mistakes_of(draft: TriedPolicy) -> list[dict[str, Any]]:
    """Every mistake with its place in the text: ``length`` is how much of its line it is about."""
    lines = draft.content.split("\n")
    return list(_placed(draft.mistakes, lines))


def _placed(mistakes: Sequence[Diagnostic], lines: list[str]) -> Iterator[dict[str, Any]]:
    for one in mistakes:
        line = lines[one.line - 1] if one.line <= len(lines) else ""
        word = re.match(r"[^\s,:{}\[\]]+", line[one.column - 1 :])
        yield {
            "line": one.line,
            "column": one.column,
            "length": len(word[0]) if word else 1,
            "code": one.code,
            "message": one.message,
            "advice": one.advice,
        }
