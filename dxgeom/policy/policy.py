"""A policy: read with every mistake reported at once, compiled to a verified metric."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import final

from dxgeom.errors import Diagnostic, PolicyError, TooLarge
from dxgeom.metrics.metric import Metric
from dxgeom.metrics.verification import VerifiedMetric, verify
from dxgeom.policy.connectivity import Unprotected, check_connected, unprotected
from dxgeom.policy.describe import MetricDescription, describe
from dxgeom.policy.lower import lower, lower_attribute
from dxgeom.policy.mistakes import Mistakes
from dxgeom.policy.resolve import ResolvedPolicy, resolve
from dxgeom.policy.resolve_rules import ResolvedRule
from dxgeom.policy.review import Review, review
from dxgeom.policy.syntax import read_syntax
from dxgeom.policy.text import PolicyText, Unreadable, read_text, text_of_string
from dxgeom.policy.yaml_tree import read_tree
from dxgeom.universe.universe import Universe
from dxgeom.universe.wording import shown


@final
@dataclass(frozen=True, eq=False)
class Policy:
    """What records exist, which differences between them stay hidden, and how strongly.

    Made by :func:`load_policy`; two policies of equal ``fingerprint`` mean the same.
    """

    file: str
    resolved: ResolvedPolicy = field(repr=False)
    description: MetricDescription = field(repr=False)
    parts: tuple[Metric, ...] = field(repr=False)
    metric: Metric = field(repr=False)
    unprotected: tuple[Unprotected, ...]

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.resolved.name

    @property
    def about(self) -> str:
        """What its author says about it; may be empty."""
        return self.resolved.about

    @property
    def universe(self) -> Universe:
        """The record types."""
        return self.resolved.universe

    @property
    def budget(self) -> Fraction:
        """Releases may spend this multiple of the metric in total."""
        return self.resolved.budget

    @property
    def rules(self) -> tuple[ResolvedRule, ...]:
        """The rules, in the file's order; the order has no meaning."""
        return self.resolved.rules

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the meaning; comments, layout and the order of rules do not change it."""
        return self.resolved.fingerprint

    def compile(self) -> VerifiedMetric:
        """The largest pseudometric under all rules, with its certificate. Every distance is *rounded down*."""
        return verify(
            self.metric, title=self.name, fingerprint=self.fingerprint, budget=self.budget, universe=self.universe
        )

    def review(self) -> Review:
        """What the policy amounts to, for its author to read before anything is released."""
        return review(self.file, self.resolved, self.parts, self.compile(), self.unprotected)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file and the data files it names.

    Raises: PolicyError with every mistake in the file, each with its line, column and code.
    """
    try:
        text = read_text(path)
    except Unreadable as error:
        raise PolicyError([Diagnostic(os.fspath(path), 1, 1, "DX100", str(error))]) from error
    return _policy_of(text)


def parse_policy(content: str, *, file: str = "policy", folder: str | os.PathLike[str] | None = None) -> Policy:
    """The policy of a text; data files are read from ``folder`` only, and without one not at all.

    Raises: PolicyError.
    """
    try:
        text = text_of_string(content, file, None if folder is None else Path(folder))
    except Unreadable as error:
        raise PolicyError([Diagnostic(file, 1, 1, "DX100", str(error))]) from error
    return _policy_of(text)


def _policy_of(text: PolicyText) -> Policy:
    """The phases in their order; each takes what the one before it made, so another order does not type-check."""
    mistakes = Mistakes(text)
    tree = read_tree(mistakes)
    syntax = None if tree is None else read_syntax(tree, mistakes)
    resolved = None if syntax is None else resolve(syntax, mistakes)
    if resolved is None or mistakes:
        raise PolicyError(mistakes.found)
    description = describe(resolved)
    parts = _lowered(resolved, description, mistakes)
    apart = unprotected(description, parts)
    check_connected(resolved, apart, mistakes)
    if mistakes:
        raise PolicyError(mistakes.found)
    return Policy(text.file, resolved, description, parts, lower(description, parts), apart)


def _lowered(resolved: ResolvedPolicy, description: MetricDescription, mistakes: Mistakes) -> tuple[Metric, ...]:
    """Each attribute's metric; stops at the sizes that cannot be kept exactly."""
    parts = []
    for part in description.parts:
        try:
            parts.append(lower_attribute(part))
        except TooLarge as error:
            name = part.attribute.name
            rule = next(rule for rule in resolved.rules if any(name == stated for stated, _ in rule.bounds))
            mistakes.add("DX138", rule.span, f"attribute {shown(name)}: {error}")
    if mistakes:
        raise PolicyError(mistakes.found)
    return tuple(parts)
