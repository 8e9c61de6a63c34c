"""The policy language as JSON Schema, for editors that complete and underline while a policy is written.

Its structure comes from the grammar's models. A schema knows nothing of names, units or files: ``check`` does.

Which keys go together in a rule: one way to select its pairs, one to bound them, and what belongs to each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, Final

from dxgeom.policy.kinds.attribute_kinds import ATTRIBUTE_KINDS
from dxgeom.policy.rule_kinds import RULE_KINDS, AnyRuleKind, ValuesKind, kind_of_rule
from dxgeom.policy.source.fields import AT_ONCE, EVER, EdgeList, have_numbers
from dxgeom.policy.syntax.models import BOUNDS, SELECTS, WRITTEN, PolicySyntax, RuleSyntax, listed
from dxgeom.universe.columns import Column, TextColumn, plain

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_WORD: Final = ["string", "number", "boolean"]
"""A word may look like a number or a truth value to an editor; here ``No`` and ``010`` are words."""

_NOUNS: Final = listed([kind.noun for kind in ATTRIBUTE_KINDS], " or ")

DESCRIPTIONS: Final[dict[str, dict[str, str]]] = {
    "PolicySyntax": {
        "": "dxgeom policy: what records exist, which differences between them stay hidden, and how strongly.",
        "policy": "The policy's name.",
        "title": "What readers see it called instead of its name.",
        "about": "What the policy protects, in a sentence for its readers.",
        "called": "What those that the records are of are called, in the plural, such as patients; people if left out.",
        "reading": "How a table's file is written, and what its cells mean; left out, a .csv file of UTF-8.",
        "universe": "What records exist.",
        "time": "The periods that answers are about, one after another, by the day in a column.",
        "rules": "Which differences between records stay hidden, and how strongly. Their order has no meaning; "
        "a rule more can only protect more.",
        "budget": "All releases together may spend this multiple of the metric.",
        "delta": "With this chance all releases together may show what a single person has. With attributes of "
        "'open: text' only, whose keys are counted; above 0, below 1, such as 1e-9.",
        "privacy": "'pure': epsilons bound odds, and spends add up. 'concentrated': epsilons bound Rényi divergences, "
        "Gaussian noise is among the answers, and squares of spends add up.",
        "people": "Whose row a row of the data is, and how people with many rows count; 'one row each' states what is "
        "assumed where it is left out.",
        "known": "Counts of records that everybody may know, from elsewhere.",
        "hold": "The stated distances hold for who knows these counts, too: who is unsure of 2 people, or of all.",
        "dataset": "Which data the policy is about: policies about the same data share a ledger.",
        "unconnected": "'allow': records that no chain of rules connects may be told apart exactly.",
        "adaptive": "'allow': whole tables may follow the data, unasked, where noise would be most of them.",
    },
    "TimeSyntax": {
        "": "Time: periods in a row, as one more attribute of the column's name.",
        "column": "The column that holds the day of a row; best the day on which it was loaded.",
        "from": "The first day, as year-month-day.",
        "to": "The last day, the end of a period.",
        "every": "How long a period is; a week has seven days from the first day on.",
        "zone": "Where calendars show the day of moments that know their own zone, such as Europe/Berlin.",
        "written": "How 31 December 2025, 23:59 is written in the column, or a list of ways.",
        "title": "What the attribute is called where people read of it.",
        "before": "false: rows of earlier days are outside. Left out, they are one value more, which no period counts.",
        "after": "false: rows of later days are outside. Left out, they are one value more, which no period counts.",
    },
    "DatasetSyntax": {
        "": "Dataset: which data the policy is about.",
        "name": "The same for all policies and editions that are about the same people.",
        "edition": "Which version of the data. Spends add up across editions.",
        "people": "'disjoint': nobody is in two editions, so each has the whole budget.",
        "budget": "All releases together, under whatever policies, may spend this much; 'none' where nothing bounds "
        "it. Left out, it loads with a warning, and from version 0.3 on it is refused.",
    },
    "PeopleSyntax": {
        "": "People: whose row a row of the data is, and how people with many rows count.",
        "column": "The column that names the person; no attribute is made of it.",
        "count": "'once': each person weighs 1, spread evenly over their rows. 'rows': every row counts, but no "
        "person more than so many. 'single': more than one row of a person is refused.",
        "at_most": "With 'rows': what a person counts at most; the rows of one with more are spread evenly.",
        "in": "'period': with 'once', each person weighs 1 in each period of the policy's time.",
        "order": "With 'rows': only the first by this column are kept, which differs in all rows of a person.",
    },
    "KnownSyntax": {
        "": "Known: counts of records that everybody may know. Listing them gives them away.",
        "totals": "How many records there are of each value of this attribute, or of each combination of a list.",
        "numbers": "A CSV file beside the policy with these totals: a column for each attribute, and 'count'. They "
        "come from elsewhere, never from the data.",
        "where": "A condition on records, as in queries.",
        "count": "How many records satisfy it. It comes from elsewhere, never from the data.",
    },
    "ReadingSyntax": {
        "": "Reading: how a table's file is written, and what its cells mean.",
        "separator": "The sign between cells, such as ';', '|' or tab; left out, the file's name says it.",
        "quote": "The sign around cells that hold separators; 'none' where there is none, and a row is a line.",
        "encoding": "The encoding of the file, such as windows-1252; utf-8 where it is left out.",
        "header": "The line that names the columns, 1 where it is left out; 'none' where no line does.",
        "names": "The names of the columns, with 'header: none'.",
        "sheet": "The sheet of a workbook.",
        "line_breaks": "true: cells may hold line breaks, and a quotation mark that one person opens may swallow rows "
        "of others. Left out, such a table is refused.",
        "decimal": "The sign before the decimals of numbers in cells of text: a point or a comma.",
        "thousands": "The sign between groups of three digits.",
        "trim": "true: blanks at the ends of cells do not count, and a blank cell is empty.",
        "case": "'fold': capital and small letters are the same.",
        "missing": "Words that mean that a cell is empty, in every column that attributes read.",
        "ignore": "Rows that are no records, such as totals: words by the column that has them. No attribute reads it.",
    },
    "UniverseSyntax": {
        "": "Universe: what records exist.",
        "table": "A CSV file beside the policy that lists the possible records; its columns are the attributes.",
        "attributes": f"Every attribute with its values, by name: {_NOUNS}. Beside 'table' only those that are not "
        "words.",
    },
    "SecretsSyntax": {
        "": "Secrets: the pairs of values or records that must stay hidden.",
        "edges": "A CSV file beside the policy; its first two columns are values of the rule's attribute.",
        "partition": "Pairs of records that agree in this attribute, or in all of a list; with 'change', pairs of "
        "values that agree in this further column of the attribute's file.",
    },
    "RuleSyntax": {
        "": "Rule: selects pairs of records and bounds how well they may be told apart.",
        "title": "What readers see it called, such as 'Everyday facts'.",
        "change": "Records that differ only in this attribute; for a list, in each of them on its own.",
        "together": "true: records that differ in any of the listed attributes at once.",
        "measure": "'max': with 'together' and 'per', distance is that of the attribute that changes most.",
        "between": "'everything': all pairs of records, as in ordinary differential privacy.",
        "presence": "true: a record and its absence, so that the number of records is private.",
        "any": "With a time: anything within so many periods in a row, as '30 days' or '4 steps', or within a 'life'.",
        "published": "With presence and a time, in place of epsilon: what may be revealed of a row by its age, as "
        "{at once: 0.5, 7 days: 0.7, ever: 1}.",
        "secrets": "Only the pairs that a file lists, or those inside the blocks of a partition; others follow along "
        "chains of them.",
        "weight": "The column of that file with each pair's own epsilon.",
        "epsilon": "The bound, above 0; smaller protects more. 0.1 moves the odds of a guess by at most 1.11 to 1.",
        "per": "The bound grows with distance: epsilon for every such length, as '10 km', '500 m', '2 steps' or 5.",
        "within": "Only pairs at most so far apart, as '10 km', '500 m', '2 steps' or 5.",
        "beyond": "'linear': beyond 'within' the bound grows in proportion to distance.",
        **{kind.key: kind.about for kind in RULE_KINDS},
        "otherwise": "The epsilon of the values that 'values' or 'individuals' does not list.",
    },
}
"""What editors show: of each model under "" (the part before the colon is its title), and of each of its keys; kinds of
attributes say it themselves."""

_LIMITS: Final[dict[tuple[str, str], dict[str, Any]]] = {
    ("UniverseSyntax", ""): {"minProperties": 1},
    ("RuleSyntax", ""): {"minProperties": 2},
    **{("RuleSyntax", kind.key): kind.limits for kind in RULE_KINDS},
}
"""What every file must also obey, and the models leave to later phases."""

_LEFT_OUT: Final = ("title", "default", "description", "limits")
_STRUCTURE: Final = ("type", "required", "additionalProperties")


def policy_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of policy files.

    Guarantee: a file that loads is valid, read as YAML 1.2 or 1.1; a valid file may still have other mistakes.
    """
    schema = PolicySyntax.model_json_schema()
    parts = schema.pop("$defs")
    ways = schema["properties"]["people"]["anyOf"]
    parts["PeopleSyntax"], ways[0] = ways[0], {"$ref": "#/$defs/PeopleSyntax"}
    described = {name: _described(name, part) for name, part in parts.items()}
    return {"$schema": DIALECT, **_described("PolicySyntax", schema), "$defs": described}


def _described(model: str, schema: dict[str, Any]) -> dict[str, Any]:
    """A model's schema with the words of the table, and without what only Python needs."""
    words = DESCRIPTIONS.get(model) or _own_words(schema)
    title, _, about = words[""].partition(": ")
    keys = {}
    for key, form in schema["properties"].items():
        cleaned = _as_written(form)
        default = {} if form.get("default") is None else {"default": form["default"]}
        limits = form.get("limits") or _LIMITS.get((model, key), {})
        keys[key] = {**cleaned, **default, **limits, "description": words[key]}
    rest: dict[str, Any] = {key: schema[key] for key in _STRUCTURE if key in schema}
    return {"title": title, "description": about, **rest, "properties": keys, **_LIMITS.get((model, ""), {})}


def _own_words(schema: dict[str, Any]) -> dict[str, str]:
    """What a kind of attribute says of itself and of its keys."""
    keys = {key: form["description"] for key, form in schema["properties"].items()}
    return {"": f"{schema['title']}: {schema['description']}", **keys}


def _as_written(form: Any) -> Any:
    """A key that may be left out is not one that may be empty, and a word may look like something else."""
    if isinstance(form, list):
        return [_as_written(one) for one in form]
    if not isinstance(form, dict):
        return form
    kept = {key: _as_written(value) for key, value in form.items() if key not in _LEFT_OUT}
    options = [one for one in kept.pop("anyOf", ()) if one != {"type": "null"}]
    kept |= options[0] if len(options) == 1 else {"anyOf": options} if options else {}
    free = kept.get("type") == "string" and "const" not in kept and "enum" not in kept
    return {**kept, "type": _WORD} if free else kept


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
