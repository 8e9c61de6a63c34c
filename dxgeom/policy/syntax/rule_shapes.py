"""Which keys go together in a rule: one way to select its pairs, one to bound them, and what belongs to each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from dxgeom.policy.rule_kinds import RULE_KINDS, AnyRuleKind, ValuesKind, kind_of_rule
from dxgeom.policy.source.fields import AT_ONCE, EVER, EdgeList, have_numbers
from dxgeom.policy.syntax.models import BOUNDS, SELECTS, WRITTEN, RuleSyntax, listed
from dxgeom.universe.columns import Column, TextColumn, plain

_NEVER_TOGETHER: Final = (*(kind.key for kind in RULE_KINDS), "weight", "secrets", "within", "beyond")

Noted = tuple[str, str | None, str, str]
"""Code, key of the rule (None for the rule as a whole), message, advice."""


def splits_records(rule: RuleSyntax) -> bool:
    """Whether the rule selects the records that agree in some attributes: a partition of all of them."""
    partition = rule.secrets is not None and rule.secrets.edges is None and rule.secrets.partition is not None
    return partition and all(one is None for one in (rule.change, rule.between, rule.presence, rule.any))


def joins_alone(rule: RuleSyntax) -> bool:
    """Whether the rule selects by nothing but edges: its attribute is the one whose values they join."""
    selectors = (rule.change, rule.between, rule.presence, rule.together, rule.any)
    return rule.secrets is not None and rule.secrets.edges is not None and all(one is None for one in selectors)


def block_numbers(column: Column) -> tuple[int, ...]:
    """The block of each code: codes of equal words or numbers share one; blocks are numbered as they first occur."""
    facts = column.texts if isinstance(column, TextColumn) else column.numbers
    number = {fact: place for place, fact in enumerate(dict.fromkeys(facts))}
    return tuple(number[fact] for fact in facts)


def joint_mistakes(rule: RuleSyntax) -> Iterator[Noted]:
    """What is wrong with the keys ``together``, ``measure`` and ``partition`` of a rule."""
    yield from _about_together(rule)
    yield from _about_measure(rule)
    if rule.secrets is not None:
        found = [key for key in ("edges", "partition") if getattr(rule.secrets, key) is not None]
        if len(found) != 1:
            told = "both" if found else "neither"
            message = f"secrets have either 'edges' or 'partition', found {told}"
            yield "DX130", "secrets", message, "write one rule each" if found else WRITTEN["secrets"]
        elif found == ["partition"] and rule.change is not None and len(rule.change) > 1:
            yield "DX130", "secrets", "a partition by a column is of one attribute in 'change'", "write one rule each"
        elif found == ["partition"] and rule.between is not None:
            message = "'between: everything' selects all pairs, found a partition beside it"
            yield "DX130", "secrets", message, "leave out 'between'"


def clashes(rule: RuleSyntax, keys: Iterable[str], beside: str, advice: str, code: str = "DX131") -> Iterator[Noted]:
    """Those of the keys that stand in a rule beside another one that they do not go with."""
    for key in keys:
        if getattr(rule, key) is not None:
            yield code, key, f"'{key}' does not go with '{beside}'", advice


def _about_together(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.together is None:
        return
    if rule.change is None or len(rule.change) < 2:
        found = "one" if rule.change else "none"
        message = f"'together' goes with 'change' of several attributes, found {found}"
        yield "DX145", "together", message, "list the attributes that change at once, or leave out 'together'"
    advice = "give all the attributes one epsilon, or use 'measure: max' with 'per'"
    yield from clashes(rule, _NEVER_TOGETHER, "together", advice, "DX145")
    if rule.per is not None and rule.measure is None:
        message = "'per' with 'together' needs to know how several changes are measured"
        yield "DX145", "per", message, "write 'measure: max': the attribute that changes most counts"


def _about_measure(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.measure is None:
        return
    if rule.together is None:
        message = "'measure' goes with 'together: true'"
        yield "DX145", "measure", message, "write 'together: true', or leave out 'measure'"
    elif rule.per is None:
        advice = "say for which change epsilon holds, such as 'per: 1'; or leave out 'measure'"
        yield "DX145", "measure", "'measure: max' needs 'per'", advice


def _along(edges: str | EdgeList) -> str:
    return f"along the edges of {edges}" if isinstance(edges, str) else f"along {len(edges):,} listed edges"


def _edge_bound(rule: RuleSyntax) -> str:
    if rule.epsilon is not None:
        return f"epsilon {plain(rule.epsilon)}"
    return "an epsilon each" if rule.weight is None else f"weight {rule.weight}"


def words_of(rule: RuleSyntax) -> str:
    """A rule in one line, as its author might say it."""
    if rule.published is not None:
        ages = [
            f"{plain(epsilon)} {age if age in (AT_ONCE, EVER) else f'within {age}'}"
            for age, epsilon in rule.published.items()
        ]
        return f"presence: epsilon {', '.join(ages)}"
    if rule.presence is not None or rule.any is not None:
        what = "presence" if rule.any is None else f"any {rule.any}"
        return f"{what}: epsilon {plain(rule.epsilon or Fraction(0))}"
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


_NEVER_WITH_PRESENCE: Final = (
    "together",
    "measure",
    *(kind.key for kind in RULE_KINDS),
    "otherwise",
    "per",
    "within",
    "beyond",
    "secrets",
    "weight",
)

VALUES: Final = ValuesKind.key
_NAME_THEM: Final = "name the attributes with 'change'"


def shape_mistakes(rule: RuleSyntax) -> Iterator[Noted]:
    """What is wrong with the keys of a rule, whatever the universe; without a key where it is the rule as a whole."""
    selectors = [f"'{key}'" for key in ("change", "between", "presence", "any") if getattr(rule, key) is not None]
    alone = splits_records(rule) or joins_alone(rule)
    if len(selectors) != 1 and not (alone or (rule.together and not selectors)):
        found = " and ".join(selectors) or "none of them"
        message = f"a rule has one of 'change', 'between: everything', 'presence: true' and 'any', found {found}"
        yield "DX130", None, message, SELECTS if selectors else _what_to_select(rule)
    if rule.presence is not None or rule.any is not None:
        yield from _about_presence(rule)
        return
    if rule.published is not None:
        yield "DX131", "published", "'published' goes with 'presence: true'", "add it, or bound the rule by 'epsilon'"
    bounds = ("epsilon", *(kind.key for kind in RULE_KINDS), "weight")
    stated = [f"'{key}'" for key in bounds if getattr(rule, key) is not None]
    if rule.secrets is not None and have_numbers(rule.secrets.edges):
        stated.append("the numbers of its edges")
    if len(stated) != 1:
        found = " and ".join(stated) or "none of them"
        known = listed([f"'{key}'" for key in bounds], " and ")
        message = f"a rule has one of {known}, found {found}"
        yield "DX131", None, message, BOUNDS
    yield from joint_mistakes(rule)
    yield from _about_secrets(rule)
    for kind in RULE_KINDS:
        if kind.key != VALUES and getattr(rule, kind.key) is not None:
            yield from _about_own_key(rule, kind)
    given = kind_of_rule(rule)
    if rule.otherwise is not None and not (given and given[0].takes_otherwise(given[1])):
        yield "DX131", "otherwise", "'otherwise' goes with 'values' or a list of 'individuals'", WRITTEN["values"]
    yield from _about_lengths(rule)
    by_value = getattr(rule, VALUES) is not None
    if rule.between is not None and by_value:
        yield "DX131", "values", "'values' goes with 'change', not with 'between'", _NAME_THEM
    if by_value and rule.change is not None and len(rule.change) > 1:
        yield "DX131", "values", "'values' belong to one attribute, found several in 'change'", "write one rule each"


def _what_to_select(rule: RuleSyntax) -> str:
    """For a rule that selects nothing: what its other keys need."""
    if kind_of_rule(rule) is not None:
        return "add 'change' with the attribute whose values these are"
    return SELECTS


def _of_no_single_attribute(rule: RuleSyntax) -> bool:
    """Whether it selects by something else than one attribute; that it selects by nothing is told once, elsewhere."""
    return rule.between is not None or (rule.change is not None and len(rule.change) > 1)


def _about_presence(rule: RuleSyntax) -> Iterator[Noted]:
    what = "presence" if rule.any is None else "any"
    yield from clashes(rule, _NEVER_WITH_PRESENCE, what, "bound it by 'epsilon' alone")
    if rule.any is not None:
        yield from clashes(rule, ("published",), what, "write two rules")
    elif rule.epsilon is not None:
        yield from clashes(rule, ("published",), "epsilon", "keep one of them")
    if rule.epsilon is None and rule.published is None:
        yield "DX131", None, f"'{what}' needs an 'epsilon'", "write one below it, such as 'epsilon: 0.5'"


def _about_secrets(rule: RuleSyntax) -> Iterator[Noted]:
    if rule.weight is not None and (rule.secrets is None or rule.secrets.edges is None):
        yield "DX131", "weight", "'weight' goes with 'secrets: {edges}'", "name the file of edges"
    if rule.secrets is None:
        return
    if rule.secrets.edges is not None and _of_no_single_attribute(rule):
        yield "DX130", "secrets", "edges go with 'change' of one attribute", "write one rule each"
    advice = "give the edges an epsilon or a weight, a partition an epsilon"
    yield from clashes(rule, ("per", "within", "values"), "secrets", advice)


def _about_own_key(rule: RuleSyntax, kind: AnyRuleKind) -> Iterator[Noted]:
    yield from clashes(rule, ("per", "within", "secrets"), kind.key, "write two rules")
    said = rule.secrets is not None or rule.together is not None
    if not said and _of_no_single_attribute(rule):
        message = f"'{kind.key}' {kind.goes} with 'change' of one attribute"
        yield "DX131", kind.key, message, "write one rule each"


def _about_lengths(rule: RuleSyntax) -> Iterator[Noted]:
    lengths = [key for key in ("per", "within") if getattr(rule, key) is not None]
    if len(lengths) == 2:
        yield "DX131", "within", "a rule has 'per' or 'within', found both", "write two rules"
    for key in lengths:
        if getattr(rule, VALUES) is not None:
            yield "DX131", key, f"'{key}' goes with 'epsilon', not with 'values'", "write two rules"
        if rule.between is not None:
            yield "DX131", key, f"'{key}' goes with 'change', not with 'between'", _NAME_THEM
    if rule.beyond is not None and rule.within is None:
        yield "DX131", "beyond", "'beyond: linear' goes with 'within'", "say within which distance epsilon holds"
