"""Rules with meaning: which pairs each one selects in this universe, and its exact bound there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, final

from dxgeom.policy.axes import Amount, Axis
from dxgeom.policy.bounds.bound import Bound, Constant
from dxgeom.policy.bounds.distance_bounds import Edges, Partition, PerDistance, Threshold
from dxgeom.policy.bounds.joint_bounds import JointBound, JointConstant, LargestChange, Moves
from dxgeom.policy.bounds.value_bounds import among_present
from dxgeom.policy.kinds.attribute_kinds import measured
from dxgeom.policy.kinds.kind import Misfit
from dxgeom.policy.resolve.time import Lasting, lasting_of
from dxgeom.policy.rule_kinds import StatedRule, kind_of_rule
from dxgeom.policy.source.data_files import CsvTable, WrongContent, edges_of, read_or_note
from dxgeom.policy.source.fields import AT_ONCE, BY_AGE, EVER, EdgeList, Length, edges_words, have_numbers, length
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import Folder
from dxgeom.policy.syntax.models import RuleSyntax
from dxgeom.policy.syntax.reader import SyntaxTree
from dxgeom.policy.syntax.schema import block_numbers, shape_mistakes, splits_records, words_of
from dxgeom.universe.attributes import Attribute
from dxgeom.universe.periods import PeriodAttribute, along_time
from dxgeom.universe.wording import did_you_mean, shown

_OWN: Final = "its number"


def secret_edges(
    attribute: Attribute, folder: Folder | None, edges: str | EdgeList, epsilon: Fraction | None, weight: str | None
) -> Edges:
    """The edges of a file whose first two columns hold values of the attribute; the smallest bound of each pair.

    Args: ``epsilon`` for every edge, or ``weight``, the column that holds each edge's own; a list has them beside
    the ends.
    Raises: Unreadable, WrongContent.
    """
    table = _table(folder, edges)
    file = table.file
    weight = _OWN if have_numbers(edges) else weight
    if weight is not None and weight in table.header[:2]:
        raise WrongContent(f"{file}: the column {shown(weight)} holds values; the weights need a column of their own")
    code_of = {label: code for code, label in enumerate(attribute.labels)}
    bounds = _weights(table, weight) if weight is not None else (epsilon or Fraction(0),) * len(table.rows)
    smallest: dict[tuple[int, int], Fraction] = {}
    for row, line, bound in zip(table.rows, table.lines, bounds, strict=True):
        one, other = (_code(attribute, code_of, cell, table, line) for cell in row[:2])
        if one == other:
            raise WrongContent(f"{table.at(line)}: {shown(row[0])} is joined to itself; an edge joins two values")
        pair = (min(one, other), max(one, other))
        smallest[pair] = min(bound, smallest.get(pair, bound))
    ordered = sorted(smallest)
    return Edges(tuple(ordered), tuple(smallest[pair] for pair in ordered))


def joined_attribute(attributes: Mapping[str, Attribute], folder: Folder | None, edges: str | EdgeList) -> str:
    """The one attribute that has all values which the edges join.

    Raises: Unreadable; WrongContent when none has them all, or several have.
    """
    table = _table(folder, edges)
    words = dict.fromkeys(cell for row in table.rows for cell in row[:2])
    missing = {name: [word for word in words if word not in set(one.labels)] for name, one in attributes.items()}
    fitting = [name for name, lacks in missing.items() if not lacks]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        several = " and ".join(map(shown, fitting))
        raise WrongContent(
            f"{table.file}: its values are those of {several}; say with 'change' which attribute is meant"
        )
    if not missing:
        raise WrongContent(f"{table.file}: no attribute is known whose values these edges could join")
    nearest = min(missing, key=lambda name: len(missing[name]))
    raise WrongContent(
        f"{table.file}: no attribute has all the values that its edges join; {shown(nearest)} lacks "
        f"{shown(missing[nearest][0])}; say with 'change' which attribute is meant, or correct the values"
    )


def _table(folder: Folder | None, edges: str | EdgeList) -> CsvTable:
    table = edges_of(folder, edges, _OWN)
    if len(table.header) < 2:
        raise WrongContent(f"{table.file} needs two columns of values, found only {shown(table.header[0])}")
    return table


def _weights(table: CsvTable, column: str) -> tuple[Fraction, ...]:
    weights = table.numbers(column)
    for weight, line in zip(weights, table.lines, strict=True):
        if weight <= 0:
            raise WrongContent(f"{table.at(line)}: {column} is not above 0; a weight is an epsilon")
    return weights


def _code(attribute: Attribute, code_of: dict[str, int], cell: str, table: CsvTable, line: int) -> int:
    if cell not in code_of:
        guess = did_you_mean(cell, code_of)
        message = f"{table.at(line)}: the attribute {shown(attribute.name)} has no value {shown(cell)}"
        raise WrongContent(f"{message}; {guess}" if guess else message)
    return code_of[cell]


@final
@dataclass(frozen=True)
class ResolvedRule:
    """A rule in its universe.

    ``line``: where it stands. ``bounds``: what it states for records that differ only in the named attribute.
    ``everything``: for a rule about all pairs; ``joint``: for one about several attributes together, but not all;
    ``presence``: for one about a record and its absence; ``lasting``: for one about several periods, what it states of
    them, beside what this comes to for records of one period.
    ``words``: the rule as written, in brief.
    """

    line: int
    span: Span
    words: str
    bounds: tuple[tuple[str, Bound], ...]
    everything: Fraction | None
    syntax: RuleSyntax
    joint: JointBound | None = None
    presence: Fraction | None = None
    lasting: Lasting | None = None

    def alone(self, name: str) -> Bound | None:
        """What it states for records that differ only in one attribute; None when it says nothing about them."""
        if self.everything is not None:
            return Constant(self.everything)
        if self.joint is not None and name in self.joint.names:
            return self.joint.alone(name)
        return dict(self.bounds).get(name)

    def between(self, moves: Moves) -> Amount:
        """What it states for records that differ by these moves only, if it is not about all pairs; ∞ where nothing."""
        if self.joint is not None and set(moves) <= set(self.joint.names):
            return self.joint.between(moves)
        [(name, codes), *more] = moves.items()
        bound = None if more else self.alone(name)
        return math.inf if bound is None else bound.between(*codes)

    def names(self, every: Iterable[str]) -> tuple[str, ...]:
        """The attributes it is about, of all there are."""
        if self.everything is not None:
            return tuple(every)
        return self.joint.names if self.joint is not None else tuple(name for name, _ in self.bounds)

    @property
    def of_single_records(self) -> ResolvedRule:
        """What it states of one record of one period, where what it states of several is kept beside: all of its ε."""
        if self.lasting is None:
            return self
        whole = self.lasting.epsilon
        bounds = tuple((name, Constant(whole)) for name, _ in self.bounds)
        joint = None if self.joint is None else JointConstant(self.joint.names, whole)
        return replace(self, bounds=bounds, joint=joint, presence=whole)

    @property
    def missing(self) -> bool:
        """Whether an attribute states it about its missing value."""
        return any(bound.to_missing is not None for _, bound in self.bounds)

    @property
    def constant(self) -> Fraction | None:
        """Its ε when it is one for several attributes, or all, at once."""
        return self.everything if self.joint is None else self.joint.constant


def stated_alone(rules: Iterable[ResolvedRule], name: str) -> tuple[tuple[ResolvedRule, Bound], ...]:
    """What rules state for records that differ only in one attribute, but those of one ε for several or for all.

    What is about one attribute at a time comes first.
    """
    ordered = sorted((rule for rule in rules if rule.constant is None), key=lambda rule: rule.joint is not None)
    found = ((rule, rule.alone(name)) for rule in ordered)
    return tuple((rule, bound) for rule, bound in found if bound is not None)


def resolve_rules(
    tree: SyntaxTree,
    attributes: dict[str, Attribute],
    known: dict[str, None] | None,
    public: frozenset[str],
    mistakes: Mistakes,
) -> tuple[ResolvedRule, ...]:
    """Every rule that makes sense; mistakes noted for the others.

    ``known``: the names of all attributes, also of those that make no sense; None when nobody knows them. ``public``:
    those of which it is not hidden whether they are missing.
    """
    found = []
    for number, broken, rule in zip(tree.rule_numbers, tree.broken_keys, tree.document.rules, strict=True):
        before = len(mistakes.all)
        if mistakes.full:
            break
        context = _Context(tree, number, rule, public, mistakes)
        names = rule.change or ()
        context.check_listed(names, dict.fromkeys(names) if known is None else known, ("change",))
        if broken:
            continue  # what is missing from it now has been complained about
        for mistake in shape_mistakes(rule):
            context.note(*mistake)
        bounds = context.bounds(attributes)
        lasting = context.lasting(attributes)
        joint = context.joint(attributes, known) if lasting is None else _of_one_period(attributes, lasting)
        if len(mistakes.all) == before:
            span = tree.span("rules", number)
            line, _ = mistakes.text.position(span.start)
            everything = rule.epsilon if rule.between else None
            presence = (rule.epsilon or min((rule.published or {}).values())) if rule.presence else None
            presence = presence if lasting is None else lasting.share
            words = words_of(rule)
            resolved = ResolvedRule(line, span, words, tuple(bounds), everything, rule, joint, presence, lasting)
            found.append(_simplest(resolved, len(attributes)))
    return tuple(found)


def _simplest(rule: ResolvedRule, attributes: int) -> ResolvedRule:
    """One ε for all attributes at once is about all pairs, and one for a single attribute is its own."""
    if rule.joint is None or rule.joint.constant is None:
        return rule
    if len(rule.joint.names) == attributes:
        return replace(rule, everything=rule.joint.constant, joint=None)
    if len(rule.joint.names) == 1:
        return replace(rule, bounds=((rule.joint.names[0], Constant(rule.joint.constant)),), joint=None)
    return rule


def _of_one_period(attributes: dict[str, Attribute], lasting: Lasting) -> JointBound | None:
    """What a rule about several periods states of two records of one of them, whatever else differs."""
    found = along_time([*attributes.values()])
    others = tuple(name for name in attributes if found is None or name != found[1].name)
    return JointConstant(others, lasting.share) if others else None


@final
@dataclass(frozen=True)
class _Context:
    """One rule, where it stands, and where its mistakes go."""

    tree: SyntaxTree
    number: int
    rule: RuleSyntax
    public: frozenset[str]
    mistakes: Mistakes

    def note(self, code: str, key: str | None, message: str, advice: str = "") -> None:
        path = ("rules", self.number) if key is None else ("rules", self.number, key)
        span = self.tree.span(*path) if key is None else self.tree.key_span(*path)
        self.mistakes.add(code, span, message, advice)

    def check_listed(self, names: tuple[str, ...], known: dict[str, None], path: tuple[str, ...]) -> None:
        seen: set[str] = set()
        for place, name in enumerate(names):
            if self.mistakes.full:
                return
            span = self.tree.span("rules", self.number, *path, place)
            if name not in known:
                message = f"there is no attribute {shown(name)}"
                listed = f"write [{name.strip('()[]')}]" if "," in name else ""
                self.mistakes.add("DX132", span, message, listed or did_you_mean(name, known))
            elif name in seen:
                message = f"the attribute {shown(name)} is listed twice in this rule"
                self.mistakes.add("DX137", span, message, "remove one of them")
            seen.add(name)

    def bounds(self, attributes: dict[str, Attribute]) -> list[tuple[str, Bound]]:
        found = []
        if self.rule.together is not None:
            return []
        for name in dict.fromkeys(self.rule.change or ()):
            if name in attributes:
                attribute = attributes[name]
                bound = self._bound(attribute.present if name in self.public else attribute)
                if bound is not None and name in self.public:
                    bound = among_present(bound, attribute)
                if bound is not None:
                    found.append((name, bound))
        return found

    def _bound(self, attribute: Attribute) -> Bound | None:
        rule = self.rule
        if rule.secrets is not None and rule.secrets.edges is not None:
            return self._along_edges(attribute, rule.secrets.edges)
        if rule.secrets is not None:
            return self._in_blocks(attribute, rule.secrets.partition)
        given = kind_of_rule(rule)
        if given is not None:
            stated = StatedRule(self.number, self.tree.root, self.mistakes, rule.otherwise)
            return given[0].bound(given[1], attribute, stated)
        if rule.epsilon is None:
            return None
        if rule.per is not None:
            measured = self._measure(attribute, "per", rule.per)
            growing = measured and PerDistance(measured[0], rule.epsilon / measured[1], Fraction(0))
            return growing and among_present(growing, attribute)
        if rule.within is None:
            return Constant(rule.epsilon)
        measured = self._measure(attribute, "within", rule.within)
        if measured is None:
            return None
        axis, reach = measured
        if rule.beyond:
            return among_present(PerDistance(axis, rule.epsilon / reach, rule.epsilon), attribute)
        return among_present(Threshold(axis, rule.epsilon, reach), attribute)

    def lasting(self, attributes: dict[str, Attribute]) -> Lasting | None:
        """What the rule states about several periods; None for any other rule, and where a mistake was noted."""
        rule = self.rule
        key = "any" if rule.any is not None else "published"
        if rule.any is None and rule.published is None:
            return None
        if self.tree.document.time is None:
            message = f"'{key}' is about periods, and the policy states no time"
            self.note("DX192", key, message, "state a 'time', or bound 'presence' by an epsilon alone")
            return None
        found = along_time([*attributes.values()])
        if found is None:
            return None  # the time makes no sense, which has been complained about
        if rule.published is not None:
            self._check_ages(rule.published, found[1])
        if rule.any is None or rule.epsilon is None:
            return None
        meant = lasting_of(rule.any, rule.epsilon, found[1])
        if isinstance(meant, Lasting):
            return meant
        self.note("DX192", key, meant, "write 'any: 7 steps', or 'any: life'; a step is a period")
        return None

    def _check_ages(self, published: dict[str, Fraction], attribute: PeriodAttribute) -> None:
        """Notes what is wrong with ages: they rise in whole periods from 'at once' to 'ever', and so do epsilons."""
        ages, between = [*published], [one for one in published if one not in (AT_ONCE, EVER)]
        meant = [lasting_of(length(age), Fraction(1), attribute) for age in between]
        periods = [one.periods for one in meant if isinstance(one, Lasting)]
        if ages != [AT_ONCE, *between, EVER]:
            self.note("DX192", "published", f"ages go from '{AT_ONCE}' to '{EVER}', found {', '.join(ages)}", BY_AGE)
        elif len(periods) < len(between):
            message = next(one for one in meant if not isinstance(one, Lasting))
            advice = "write '7 steps'; a step is a period"
            self.note("DX192", "published", message.replace("'any'", "an age"), advice)
        elif periods != sorted({*periods}):
            self.note("DX192", "published", f"ages rise, found {', '.join(between)}", "put them in order")
        elif [*published.values()] != sorted(published.values()):
            self.note("DX192", "published", "of what is older as much may be revealed, or more", BY_AGE)

    def joint(self, attributes: dict[str, Attribute], known: dict[str, None] | None) -> JointBound | None:
        """What the rule states about several attributes together; None for any other rule."""
        rule = self.rule
        if rule.epsilon is None:
            return None
        if splits_records(rule):
            return None if known is None else self._across_partition(attributes, known, rule.epsilon)
        if rule.together is None:
            return None
        names = tuple(name for name in attributes if name in (rule.change or ()))
        if rule.measure is None:
            return JointConstant(names, rule.epsilon)
        if rule.per is None:
            return None
        measured = [self._measure(attributes[name], "per", rule.per) for name in names]
        each = [PerDistance(one[0], rule.epsilon / one[1], Fraction(0)) for one in measured if one is not None]
        return LargestChange(names, tuple(each))

    def _across_partition(
        self, attributes: dict[str, Attribute], known: dict[str, None], epsilon: Fraction
    ) -> JointBound | None:
        by = self.rule.secrets.partition if self.rule.secrets is not None else None
        self.check_listed(by or (), known, ("secrets", "partition"))
        if not any(name not in (by or ()) for name in known):
            span = self.tree.span("rules", self.number, "secrets", "partition")
            message = "records that agree in every attribute are the same: this partition leaves no pair to hide"
            self.mistakes.add("DX146", span, message, "leave out the attributes that may differ")
            return None
        return JointConstant(tuple(name for name in attributes if name not in (by or ())), epsilon)

    def _in_blocks(self, attribute: Attribute, columns: tuple[str, ...] | None) -> Bound | None:
        if columns is None or self.rule.epsilon is None:
            return None
        span = self.tree.span("rules", self.number, "secrets", "partition")
        further = {column.name: column for column in attribute.columns[1:]}
        if len(columns) > 1:
            message = f"one attribute is split by one column, found {len(columns)}"
            self.mistakes.add("DX146", span, message, "write a column into the file that joins them")
        elif columns[0] not in further:
            message = f"{shown(attribute.name)} has no further column {shown(columns[0])} to split it by"
            advice = did_you_mean(columns[0], further) or "further columns are those of an attribute's own file"
            self.mistakes.add("DX146", span, message, advice)
        else:
            return among_present(Partition(block_numbers(further[columns[0]]), self.rule.epsilon), attribute)
        return None

    def _along_edges(self, attribute: Attribute, edges: str | EdgeList) -> Bound | None:
        span = self.tree.span("rules", self.number, "secrets", "edges")
        folder, epsilon, weight = self.mistakes.text.folder, self.rule.epsilon, self.rule.weight
        return read_or_note(
            lambda: secret_edges(attribute, folder, edges, epsilon, weight),
            self.mistakes,
            span,
            f"the file of edges {shown(edges_words(edges))}",
        )

    def _measure(self, attribute: Attribute, key: str, length: Length) -> tuple[Axis, Fraction] | None:
        """The axis and the exact amount along it that a length means for values that this attribute has."""
        found = measured(attribute.present, key, length)
        if isinstance(found, Misfit):
            self.note(found.code, key, found.message, found.advice)
            return None
        return found
