"""The grammar of tasks: their kinds, and a file's list of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from dxgeom.kinds import registry
from dxgeom.policy.source.text import PolicyText
from dxgeom.policy.source.yaml_tree import Mapping, Node, kind_of
from dxgeom.queries.syntax import instead_of
from dxgeom.queries.tasks.task_kind import TaskKind, TaskReader, well_formed
from dxgeom.universe.tasks.questions import AskedTask
from dxgeom.universe.tasks.tasks import Tasks, TaskWithShare
from dxgeom.universe.wording import shown

_BESIDE: Final = ("name", "share")


class _Read(NamedTuple):
    """A task of the list, and where it stands."""

    node: Node
    name: str
    share: Fraction | None
    question: AskedTask
    kind: TaskKind


def task_kinds() -> tuple[TaskKind, ...]:
    """The kinds of tasks, in the order in which they are listed."""
    return tuple(kind for kind in registry.kinds() if isinstance(kind, TaskKind))


def tasks_of_histograms(entries: Sequence[Node]) -> tuple[Node, ...]:
    """Those of a file's list that need a count of every possible record."""
    words = {kind.word for kind in task_kinds() if kind.of_any_size}
    return tuple(
        one for one in entries if not (isinstance(one, Mapping) and any(key.text in words for key, _ in one.entries))
    )


def tasks_listed(entries: Sequence[Node], reader: TaskReader, source: PolicyText) -> Tasks | None:
    """The tasks of a file's list; None where a mistake was noted."""
    read = [one for place, entry in enumerate(entries) if (one := _task(entry, place, reader)) is not None]
    if len(read) == len(entries):
        _check_names(read, reader)
        _check_shares(read, reader)
        _check_data(read, reader)
    if reader.mistakes or len(read) < len(entries):
        return None
    even = Fraction(1, len(read))
    parts = tuple(TaskWithShare(one.name, one.share or even, one.question) for one in read)
    return Tasks(parts, reader.universe, reader.queries.records, source)


def _task(node: Node, place: int, reader: TaskReader) -> _Read | None:
    kind = _kind(node, reader)
    if kind is None or not isinstance(node, Mapping):
        return None
    said = well_formed(kind.syntax, node, "a task", reader.mistakes)
    entry = node.entry(kind.word)
    asked = None if entry is None else kind.read_entry(said, node, entry[1], reader)
    if said is None or asked is None:
        return None
    return _Read(node, said.name or f"{kind.word} {place + 1}", said.share, asked, kind)


def _kind(node: Node, reader: TaskReader) -> TaskKind | None:
    known = {kind.word: kind for kind in task_kinds()}
    what = f"a task asks for one of {', '.join(known)}"
    if not isinstance(node, Mapping):
        reader.note("DX230", node.span, f"{what}; found {kind_of(node)}", "write a colon and a space behind its kind")
        return None
    found = [key.text for key, _ in node.entries if key.text in known]
    if len(found) == 1:
        return known[found[0]]
    strangers = [key for key, _ in node.entries if key.text not in (*known, *_BESIDE)]
    told = f"found {' and '.join(found)}" if found else "found none of them"
    advice = "write each as a task of its own" if found else ""
    if not found and strangers:
        advice = instead_of(strangers[0].text, tuple(known))
    reader.note("DX230", node.span, f"{what}; {told}", advice)
    return None


def _check_names(read: list[_Read], reader: TaskReader) -> None:
    times = Counter(one.name for one in read)
    for one in read:
        if times[one.name] > 1:
            message = f"there are {times[one.name]} tasks called {shown(one.name)}"
            reader.note("DX235", one.node.span, message, "give each a 'name' of its own")
            return


def _check_data(read: list[_Read], reader: TaskReader) -> None:
    """What is asked of data of its own stands alone."""
    alone = next((one for one in read if one.kind.alone), None)
    if alone is not None and len(read) > 1:
        reader.note("DX233", alone.node.span, alone.kind.alone, "put it into a file of its own")
    elif len(read) > 1 and not reader.universe.indexable:
        message = "this task reads tables of its own, as this policy has too many possible records to count each"
        reader.note("DX233", read[0].node.span, message, "put each task into a file of its own")


def _check_shares(read: list[_Read], reader: TaskReader) -> None:
    stated = [one.share for one in read if one.share is not None]
    without = next((one for one in read if one.share is None), None)
    if without is not None and stated:
        message = "some tasks state their share of the spend, and this one does not"
        reader.note("DX231", without.node.span, message, "give each a 'share', or none, and all have the same")
    elif stated and sum(stated) != 1:
        message = f"the shares of the tasks sum to {sum(stated)}, not to 1"
        reader.note("DX231", read[-1].node.span, message, "they are parts of one spend, such as 1/2, 1/4 and 1/4")
