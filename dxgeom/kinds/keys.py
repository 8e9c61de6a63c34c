"""A task that counts keys: which of very many combinations of values have records, and how many."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, Final, cast, final

from pydantic import Field, PlainValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from dxgeom.errors import UnsupportedCombination
from dxgeom.mechanisms.linear.key_counts import MOST_KEYS
from dxgeom.numeric.sealed import canonical_digest
from dxgeom.planner.kind import Planning, QuestionKind
from dxgeom.planner.plan_kind import PlanKind
from dxgeom.planner.unknown import Unknown
from dxgeom.policy.source.fields import Chance
from dxgeom.policy.source.yaml_tree import Mapping, Node
from dxgeom.queries.columns import groups_by
from dxgeom.queries.query_kind import SEVERAL_WORDS
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, TaskSyntax, whole
from dxgeom.universe.decimals import NotANumber, exact
from dxgeom.universe.tasks.questions import KeysTask
from dxgeom.universe.wording import shown
from dxgeom.universe.workloads.groups import Groups

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from dxgeom.mechanisms.linear.key_counts import NoisyKeys
    from dxgeom.planner.plan import Plan
    from dxgeom.planner.tasks.key_answers import KeyAnswers

_LEAST: Final = 2**40
_SOME: Final = "write 'rollup: {country: 0.1}' beside 'keys: [page, country]'"
_EITHER: Final = "a task of keys says either 'spurious' or 'at_least'"
_SPURIOUS: Final = "write 'spurious: 1', or 'at_least: 90'"
_DELTA: Final = "write 'delta: 1e-10' beside 'keys'"


def _spurious(value: Any) -> Fraction:
    try:
        number = exact(value.strip()) if isinstance(value, str) else Fraction(0)
    except NotANumber:
        number = Fraction(0)
    if not 0 < number <= MOST_KEYS:
        said = "'spurious' is how many keys without a record may be reported on average, a number above 0"
        raise PydanticCustomError("DX232", "{said}", {"said": said, "advice": "write 1, or 0.05"})
    return number


def _rollup(value: Any) -> dict[str, Fraction]:
    said = value if isinstance(value, dict) else {}
    try:
        found = {str(name): exact(str(share).strip()) for name, share in said.items()}
    except NotANumber:
        found = {}
    if not found or min(found.values()) <= 0 or sum(found.values()) >= 1:
        about = "'rollup' names attributes from the top, each with a part of what is spent, and leaves some of it"
        raise PydanticCustomError("DX232", "{said}", {"said": about, "advice": "write {country: 0.1}"})
    return found


def _at_least(value: Any) -> int:
    return whole(value, "the count with noise from which keys are reported", 1, _LEAST)


_ROLLUP_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {"type": ["number", "string"], "exclusiveMinimum": 0},
}


@final
class KeysTaskSyntax(TaskSyntax):
    """``{keys: [attributes…], spurious: 1}``, or with ``at_least: 90`` in its place; and perhaps ``rollup``."""

    keys: Annotated[Any, WithJsonSchema(SEVERAL_WORDS)] = Field(
        description="Attributes or columns: which combinations of their values have records, and how many; of those "
        "whose count with noise is large enough."
    )
    spurious: Annotated[
        Fraction | None,
        PlainValidator(_spurious),
        WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0}),
        Field(description="So many keys that no record has are reported on average, at most."),
    ] = None
    at_least: Annotated[
        int | None,
        PlainValidator(_at_least),
        WithJsonSchema({"type": ["integer", "string"], "minimum": 1, "maximum": _LEAST}),
        Field(description="A key is reported where its count with noise is this or more."),
    ] = None
    rollup: Annotated[
        dict[str, Fraction] | None,
        PlainValidator(_rollup),
        WithJsonSchema(_ROLLUP_SCHEMA),
        Field(
            description="Attributes of the keys from the top, each with its part of what is spent: keys are reported "
            "below reported ones alone, with what they leave."
        ),
    ] = None
    delta: Annotated[
        Chance | None,
        Field(
            description="Of keys that nobody listed: with this chance one that a single person has is reported, above "
            "0 and at most the policy's own 'delta'. It decides from which count on keys are."
        ),
    ] = None


@final
class KeysKind(TaskKind, QuestionKind[KeysTask], PlanKind):
    """Keys of a space that everybody knows, such as pages and countries, of which most have no record."""

    question = KeysTask
    about = called = "counts of keys"
    word = "keys"
    syntax = KeysTaskSyntax
    of_any_size = True
    alone = "keys are counted without a count of every possible record, which other tasks need"
    why = "noise on every key by itself can be drawn without those that are not reported"
    no_errors = Unknown(
        "how far off a key's count is depends on whether it is reported",
        "statements() say what holds of keys that are reported and of those that are not",
    )

    def part(self, question: KeysTask, how: Planning) -> Plan:
        """Raises: as :class:`dxgeom.mechanisms.linear.key_counts.KeyCounts`."""
        from dxgeom.mechanisms.linear.key_counts import KeyCounts  # slow to load, as all that plans is
        from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys
        from dxgeom.planner.plan import Plan

        if how.metric.universe is None:
            raise UnsupportedCombination("keys are of a policy's attributes, and this metric is of a bare matrix")
        asked = (question.spurious, question.at_least)
        if question.unlisted or question.delta is not None:
            if question.delta is None or question.rollup or asked != (None, None):
                raise UnsupportedCombination("keys that nobody listed are asked for with 'delta', and nothing else")
            keys = UnlistedKeys(how.metric, question.columns, question.delta)
            return Plan(self, how.metric, question, keys, how.wish.records)
        made: Any = KeyCounts(how.metric, question.columns, *asked) if not question.rollup else None
        if question.rollup:
            from dxgeom.mechanisms.linear.rolled_up_keys import RolledUpKeys

            made = RolledUpKeys(how.metric, question.columns, question.rollup, *asked)
        return Plan(self, how.metric, question, made, how.wish.records)

    def queries(self, plan: Plan) -> Any:
        raise self.no_question.refusal

    def purpose(self, plan: Plan) -> str:
        own = plan.question
        return f"{own.called}, " + ("which nobody listed" if own.unlisted else f"of {own.count:,} that there can be")

    def answers(self, plan: Plan, answer: NoisyKeys, spend: Fraction, records: int | None) -> KeyAnswers:
        from dxgeom.planner.tasks.key_answers import KeyAnswers

        return KeyAnswers(plan.question, plan.mechanism, answer, spend)

    def blank(self, plan: Plan, records: int | None) -> NoisyKeys:
        """No key."""
        from dxgeom.mechanisms.linear.key_counts import NoisyKeys

        nothing: NDArray[np.int64] = plan.question.columns[0].codes[:0]
        return NoisyKeys(nothing, nothing, plan.mechanism.shares)

    def fingerprint(self, plan: Plan) -> str:
        return canonical_digest("plan of keys", plan.mechanism.fingerprint, plan.question.fingerprint)

    def statements(self, plan: Plan, spend: Fraction, level: float, records: int | None) -> tuple[str, ...]:
        from dxgeom.planner.tasks.key_answers import statements_of

        return statements_of(plan.question, plan.mechanism, spend, level)

    def facts(self, plan: Plan) -> dict[str, Any]:
        asked = plan.question
        if asked.delta is not None:
            return {"keys": [*asked.titles], "delta": str(asked.delta)}
        said = {"spurious": str(asked.spurious)} if asked.at_least is None else {"at_least": asked.at_least}
        titles = {one.axis: one.title for one in asked.columns}
        along = {"rollup": {titles[axis]: str(share) for axis, share in asked.rollup}} if asked.rollup else {}
        return {"keys": [*asked.titles], "possible": asked.count, **said, **along}

    def read(self, value: Node, reader: TaskReader) -> KeysTask | None:
        columns = reader.queries.columns
        found = groups_by(value, columns, self.word, unlisted=True)
        columns.stepped.clear()  # a key is a value of the policy, whatever it stands for
        if found is None:
            return None
        if reader.universe.listed is not None:
            message = "keys are made of attributes, and this policy lists its records in a table"
            reader.note("DX233", value.span, message, "ask for 'marginal' of the same columns, below 'queries'")
            return None
        asked = KeysTask(tuple(sorted(found, key=_place)))
        if sum(one.unlisted for one in asked.columns) > 1:
            message = "keys have one attribute at most whose values nobody listed"
            reader.note("DX233", value.span, message, "ask for each of them by itself")
            return None
        if asked.count <= MOST_KEYS:
            return asked
        message = f"these are {asked.count:,} keys; there can be at most {MOST_KEYS:,}"
        reader.note("DX207", value.span, message, "take fewer attributes, or coarser values")
        return None

    def read_entry(self, said: TaskSyntax | None, node: Mapping, value: Node, reader: TaskReader) -> KeysTask | None:
        asked = self.read(value, reader)
        if said is None or asked is None:
            return None
        said = cast("KeysTaskSyntax", said)
        if asked.unlisted or said.delta is not None:
            return _not_listed(asked, said, node, reader)
        stated = [one for one in ("spurious", "at_least") if getattr(said, one) is not None]
        if len(stated) != 1:
            found = "found both" if stated else "found neither"
            advice = "leave one out" if stated else "write 'spurious: 1' beside 'keys', or 'at_least: 90'"
            reader.note("DX233", node.span, f"{_EITHER}; {found}", advice)
            return None
        rollup, axes = said.rollup or {}, {one.title: one.axis for one in asked.columns}
        if not rollup.keys() < axes.keys() and rollup:
            strange = next((name for name in rollup if name not in axes), None)
            found = "it names all of them" if strange is None else f"found '{strange}'"
            reader.note("DX233", node.span, f"'rollup' names some of the attributes of the keys; {found}", _SOME)
            return None
        along = tuple((axes[name], share) for name, share in rollup.items())
        return KeysTask(asked.columns, said.spurious, said.at_least, along)


def _not_listed(asked: KeysTask, said: KeysTaskSyntax, node: Mapping, reader: TaskReader) -> KeysTask | None:
    """The task of keys that nobody listed; None where a mistake was noted."""
    before = len(reader.mistakes.all)
    if not asked.unlisted:
        reader.note("DX233", node.span, "'delta' is for keys that nobody listed, and these are listed", _SPURIOUS)
        return None
    if said.delta is None:
        message = "nobody listed these keys, and with some chance one that a single person has is reported: say which"
        reader.note("DX233", node.span, message, _DELTA)
    for word in ("spurious", "at_least", "rollup"):
        if getattr(said, word) is not None:
            message = f"'{word}' is for keys that are listed, and nobody listed these"
            reader.note("DX233", node.span, message, "leave it out: 'delta' decides which keys are reported")
    people = reader.universe.reading.people
    if people is not None and people.in_shares:
        message = "who is spread over rows may have keys in any number, each of which shows with some chance"
        reader.note("DX233", node.span, message, f"count {shown(people.column)} by rows in the policy, with an order")
    if len(reader.mistakes.all) > before or said.delta is None:
        return None
    return KeysTask(asked.columns, delta=said.delta)


def _place(column: Groups) -> int:
    return column.axis


KEYS: Final = KeysKind()
