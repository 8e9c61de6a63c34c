"""A rule in one line, as its author might say it."""

from __future__ import annotations

from fractions import Fraction

from dxgeom.policy.rule_kinds.rule_kinds import kind_of_rule
from dxgeom.policy.source.fields import EdgeList
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.universe.columns import plain


def _along(edges: str | EdgeList) -> str:
    return f"along the edges of {edges}" if isinstance(edges, str) else f"along {len(edges):,} listed edges"


def _edge_bound(rule: RuleSyntax) -> str:
    if rule.epsilon is not None:
        return f"epsilon {plain(rule.epsilon)}"
    return "an epsilon each" if rule.weight is None else f"weight {rule.weight}"


def words_of(rule: RuleSyntax) -> str:
    """A rule in one line, as its author might say it."""
    if rule.presence is not None:
        return f"presence: epsilon {plain(rule.epsilon or Fraction(0))}"
    what = "between everything" if rule.between else f"change {', '.join(rule.change or ())}"
    if rule.secrets is not None and rule.secrets.partition is not None:
        by = ", ".join(rule.secrets.partition)
        what = f"{what} inside each {by}" if rule.change else f"agree in {by}"
    elif rule.secrets is not None:
        return f"{what} {_along(rule.secrets.edges or '')}: {_edge_bound(rule)}"
    given = kind_of_rule(rule)
    if given is not None:
        return f"{what}: {given[0].words(given[1])}"
    what += " together" if rule.together else ""
    parts = [f"{what}: epsilon {plain(rule.epsilon or Fraction(0))}"]
    for key, length in (("per", rule.per), ("within", rule.within)):
        if length is not None:
            parts.append(f"{key} {length}")
    ends = ["and linear beyond"] if rule.beyond else ["of the largest change"] if rule.measure else []
    return " ".join([*parts, *ends])
