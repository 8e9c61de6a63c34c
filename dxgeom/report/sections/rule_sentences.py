"""What each rule promises, as a sentence that a lawyer reads; the odds are those that the rule states."""

from __future__ import annotations

import math
from fractions import Fraction

from dxgeom.policy.explain.sentences import listed
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.rule_kinds.rule_kinds import kind_of_rule
from dxgeom.policy.source.fields import edges_words
from dxgeom.wording.numbers import odds


def rule_title(number: int, rule: ResolvedRule) -> str:
    """How the page calls a rule."""
    return f"Rule {number} (line {rule.line}): {rule.words}"


def rule_sentence(rule: ResolvedRule, budget: float) -> str:
    """What the rule promises of all answers within the budget together."""
    if rule.presence is not None:
        once, twice = (odds(times * float(rule.presence) * budget) for times in (1, 2))
        return (
            f"Having a record or none: odds at most {once}; so any two records at most {twice}, and the number of "
            "records is private."
        )
    if rule.everything is not None:
        return f"Any two records: odds at most {odds(float(rule.everything) * budget)}, whatever other rules say."
    if rule.joint is not None:
        return _together(rule, budget)
    names = [name for name, _ in rule.bounds]
    if rule.missing:
        return (
            f"Whether {names[0]} is missing, or what it is: odds at most {_stated(rule, budget)} between a missing "
            "value and any other."
        )
    if rule.syntax.secrets is not None:
        return _secret(rule, names, budget)
    if kind_of_rule(rule.syntax) is not None:
        return _by_value(rule, names, budget)
    length = rule.syntax.per or rule.syntax.within
    if length is None:
        return _constant(rule, names, budget)
    who, epsilon = f"Two records that differ only in {' or only in '.join(names)}", float(rule.syntax.epsilon or 0)
    if rule.syntax.per:
        return f"{who}: odds grow with the difference, {odds(epsilon * budget)} for every {length}."
    beyond = "in proportion" if rule.syntax.beyond else "along chains of near ones"
    return f"{who}, by up to {length}: odds at most {odds(epsilon * budget)}; farther, {beyond}."


def _stated(rule: ResolvedRule, budget: float) -> str:
    return odds(float(rule.syntax.epsilon or rule.bounds[0][1].to_missing or 0) * budget)


def _constant(rule: ResolvedRule, names: list[str], budget: float) -> str:
    epsilon = float(rule.syntax.epsilon or 0) * budget
    if len(names) == 1:
        return f"Two records that differ only in {names[0]}: odds at most {odds(epsilon)}."
    both = f"; in {'both' if len(names) == 2 else 'all of them'}, at most {odds(len(names) * epsilon)}"
    return f"Two records that differ only in {' or only in '.join(names)}: odds at most {odds(epsilon)}{both}."


def _together(rule: ResolvedRule, budget: float) -> str:
    if rule.joint is None:
        return ""
    names, constant = listed(rule.joint.names), rule.joint.constant
    if rule.syntax.secrets is not None and constant is not None:
        by = listed(rule.syntax.secrets.partition or ())
        return f"Inside one {by}, whatever else differs: odds at most {odds(float(constant) * budget)}."
    if constant is not None:
        return f"Two records that differ only in {names}, in any of them at once: odds at most " + (
            f"{odds(float(constant) * budget)}."
        )
    epsilon = float(rule.syntax.epsilon or 0) * budget
    return (
        f"Two records that differ only in {names}: the largest of their differences counts, odds {odds(epsilon)} for "
        f"every {rule.syntax.per}."
    )


def _secret(rule: ResolvedRule, names: list[str], budget: float) -> str:
    secrets = rule.syntax.secrets
    if secrets is None:
        return ""
    if secrets.edges is None:
        by, bound = listed(secrets.partition or ()), rule.bounds[0][1]
        epsilon = float(bound.extremes[0])
        across = "between two, only what other rules hide" if bound.of_present is None else "between two, see below"
        return f"{names[0]} inside one {by}: odds at most {odds(epsilon * budget)}; {across}."
    least, most = (float(end) * budget for end in rule.bounds[0][1].extremes)
    each = f"each step has its own odds, {odds(least)} to {odds(most)}" if least != most else f"a step: {odds(most)}"
    way = edges_words(secrets.edges)
    return f"The shorter the way in {way}, the harder two records are to tell apart: {each}; steps multiply."


def _by_value(rule: ResolvedRule, names: list[str], budget: float) -> str:
    kind, given = kind_of_rule(rule.syntax) or (None, None)
    least, most = (float(end) for end in rule.bounds[0][1].extremes)
    reach = (
        odds(least * budget)
        if least == most or math.isinf(most)
        else f"{odds(least * budget)} to " + odds(most * budget)
    )
    if kind is not None and kind.key == "values":
        return f"Every value of {names[0]} has its own number, and of two the smaller counts: odds at most {reach}."
    if kind is not None and kind.key == "individuals":
        return f"Every value of {names[0]} has its own number, and two of them add up: odds at most {reach}."
    if kind is None:
        return ""

    def told(epsilon: Fraction) -> str:
        return odds(float(epsilon) * budget)

    said = kind.sentence(names[0], given, rule.syntax.otherwise, rule.bounds[0][1], told)
    return said[:1].upper() + said[1:] + "."
