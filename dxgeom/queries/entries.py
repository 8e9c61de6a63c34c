"""From an entry of a queries file to what it asks for, every mistake at its place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, final

from pydantic import ValidationError

from dxgeom.errors import TooLarge
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar, as_data, key_span_at, kind_of, node_at
from dxgeom.queries.columns import ColumnReader, by_groups
from dxgeom.queries.query_kind import NOT_A_WORD, ONE_EACH, NamedSyntax, QueryKind, one_line
from dxgeom.queries.syntax import KINDS, QUERY_KINDS, WORDS_OF_A_QUERY, instead_of, kinds_with
from dxgeom.queries.weights import AskedQueries
from dxgeom.universe.quantile_queries import AskedQuantiles
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import AnswerOrigin

_UNIMPORTANT = "DX209"
"""A wrong importance does not hide what else is wrong with its query."""


class _Said(NamedTuple):
    """What may be said of linear queries of any kind."""

    name: str | None
    label: str | None
    importance: Fraction | None
    unit: str | None
    error: Fraction | None


@final
@dataclass(frozen=True)
class QueryReader:
    """Reads queries of one file, over one universe; notes mistakes and returns None for the query that has one."""

    columns: ColumnReader
    records: int | None

    def read(self, node: Node) -> AskedQueries | AskedQuantiles | None:
        """The queries of one entry of the list."""
        found = self.checked(node)
        if found is None or not isinstance(node, Mapping):
            return None
        kind, syntax, value = found
        before = len(self.columns.mistakes.all)
        self.columns.stepped.clear()
        try:
            made = kind.read(node, value, self.columns, self.records)
        except TooLarge as error:
            self.columns.note("DX207", value.span, str(error))
            return None
        if made is None or syntax is None or len(self.columns.mistakes.all) > before:
            return None
        if isinstance(made, AskedQuantiles):
            return replace(made, name=syntax.name or made.name, label=syntax.label or "")
        return self._linear(made, syntax, kind, node)

    def checked(self, node: Node) -> tuple[QueryKind, NamedSyntax | None, Node] | None:
        """The kind of one entry, the entry as its model has it, None where only its importance is wrong, and what is
        behind its word."""
        if not isinstance(node, Mapping):
            message = f"a query is a mapping such as 'count: age >= 65', found {kind_of(node)}"
            self.columns.note("DX200", node.span, message, "write a colon and a space behind its kind")
            return None
        kind = self._kind(node)
        empty = self._empty_values(node)
        if kind is None:
            return None
        syntax, wrong = self._checked(kind, node)
        if empty or wrong - {_UNIMPORTANT}:
            return None
        _, value = node.entry(kind.word) or (None, node)
        return kind, syntax, value

    def _linear(self, made: AskedQueries, syntax: NamedSyntax, kind: QueryKind, node: Mapping) -> AskedQueries | None:
        """The queries with their names, by group, and with what else is said of them."""
        said = _Said(*(getattr(syntax, key, None) for key in _Said._fields))
        if made.ratios and said.error is not None:
            message = "'error' is asked of answers that noise is chosen for, not of the ratio of two"
            advice = "ask for the sum and the count, or for two counts, with an 'error' each"
            self.columns.note("DX200", (node.entry("error") or (node,))[0].span, message, advice)
            return None
        _, value = node.entry(kind.word) or (None, node)
        named, by = _named(made, said.name, kind, value), node.entry("by")
        grouped = named if by is None or kind.by_itself else by_groups(named, by[1], self.columns)
        if grouped is None:
            return None
        return replace(
            grouped if said.label is None else _with_label(grouped, said.label, said.name or _title(named)),
            importance=said.importance or Fraction(1),
            measure=said.unit or grouped.measure,
            error=said.error,
            stepped=tuple(dict.fromkeys(self.columns.stepped)),
        )

    def _kind(self, node: Mapping) -> QueryKind | None:
        found = [key.text for key, _ in node.entries if key.text in KINDS]
        if len(found) == 1:
            return QUERY_KINDS[KINDS.index(found[0])]
        what = f"found {' and '.join(found)}" if found else "found none of them"
        advice = "write each as a query of its own" if found else ""
        along = [word for word in found if QUERY_KINDS[KINDS.index(word)].by_itself]
        if len(found) == 2 and "count" in found and along:
            advice = f"leave out 'count': '{along[0]}' counts by itself; a condition stands behind 'where'"
        elif len(found) == 2 and len(along) == 1:
            advice = f"leave out '{along[0]}', and group by the periods: 'by: column', the policy's time"
        strangers = [key for key, _ in node.entries if key.text not in WORDS_OF_A_QUERY]
        if not found and strangers:
            advice = instead_of(strangers[0].text, KINDS)
        self.columns.note("DX200", node.span, f"a query asks for one of {', '.join(KINDS)}; {what}", advice)
        return None

    def _empty_values(self, node: Mapping) -> bool:
        empty = [key for key, value in node.entries if key.text in WORDS_OF_A_QUERY and _is_empty(value)]
        for key in empty:
            self.columns.note("DX107", key.span, f"{shown(key.text)} has no value", "write one or remove the key")
        return bool(empty)

    def _checked(self, kind: QueryKind, node: Mapping) -> tuple[NamedSyntax | None, set[str]]:
        """The query as its model has it, and the codes of what the model refuses."""
        try:
            return kind.syntax.model_validate(as_data(node)), set()
        except ValidationError as error:
            return None, {self._report(kind, node, problem) for problem in error.errors(include_url=False)}

    def _report(self, kind: QueryKind, node: Mapping, problem: Any) -> str:
        key, context = str(problem["loc"][0]), problem.get("ctx", {})
        value = node_at(node, (key,))
        match problem["type"]:
            case "extra_forbidden":
                span, (code, message, advice) = key_span_at(node, (key,)), _out_of_place(kind, key)
            case "missing":
                span, code, message = node.span, "DX107", f"the key {shown(key)} is missing"
                advice = f"a query for {kind.word} says it"
            case _ if value is None or _is_empty(value):
                return "DX107"
            case str(code) if code == NOT_A_WORD:
                span, code = value.span, "DX108"
                message, advice = f"{shown(key)} is a single word or condition", ONE_EACH
            case code:
                span, message, advice = value.span, problem["msg"], str(context.get("advice", ""))
        self.columns.note(code, span, message, advice)
        return str(code)


def _instead(key: str, kind: QueryKind) -> str:
    itself = "write the condition itself, as in 'count: age >= 65'"
    return itself if (key, kind.word) == ("where", "count") else "leave it out"


def _out_of_place(kind: QueryKind, key: str) -> tuple[str, str, str]:
    if key in kind.refused:
        return kind.refused[key]
    others = kinds_with(key)
    if not others:
        return "DX105", f"the key {shown(key)} is not known here", instead_of(key, WORDS_OF_A_QUERY)
    message = f"'{key}' goes with {', '.join(others[:-1])} and {others[-1]}, not with {kind.word}"
    return "DX200", message, _instead(key, kind)


def _named(made: AskedQueries, name: str | None, kind: QueryKind, value: Node) -> AskedQueries:
    """The answers with their names; without one, a query is called what it asks."""
    if made.ratios:
        (ratio,) = made.ratios
        names = tuple(f"{name}: {own}" for own in made.names) if name else made.names
        origins = tuple(map(AnswerOrigin, names))
        title = name or ratio.title
        asked = ratio._replace(title=title, asks=AnswerOrigin(title))
        return replace(made, names=names, origins=origins, ratios=(asked,))
    if name is None:
        called = f"{kind.word} of {one_line(value)}" if kind.several else made.names[0]
        return replace(made, origins=made.origins or (AnswerOrigin(called),) * len(made.names))
    names = tuple(f"{name}: {own}" for own in made.names) if kind.several else (name,)
    groups = [origin.group for origin in made.origins] or [()] * len(names)
    return replace(made, names=names, origins=tuple(AnswerOrigin(name, group) for group in groups))


def _title(made: AskedQueries) -> str:
    """What a query is called that has no name."""
    return made.ratios[0].title if made.ratios else made.origins[0].query


def _with_label(made: AskedQueries, label: str, title: str) -> AskedQueries:
    """The answers of a query of this ``title``, which readers see called ``label``."""
    about = AnswerOrigin(title, label=label)
    origins = tuple(replace(one, label=about.called(one.query)) for one in made.origins)
    asked = ((ratio, ratio.asks or AnswerOrigin(ratio.title)) for ratio in made.ratios)
    ratios = tuple(ratio._replace(asks=replace(asks, label=about.called(asks.query))) for ratio, asks in asked)
    return replace(made, origins=origins, ratios=ratios)


def _is_empty(node: Node) -> bool:
    return isinstance(node, Scalar) and node.plain and not node.text
