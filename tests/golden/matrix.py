"""Every public member of releases beside every kind of question: what it refuses, and in which words.

A member of one kind is asked of all. Of a member that needs arguments these are plain ones. What comes back is not
looked at here: that a cell works, or refuses as what it is, is all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import dxgeom as dx
from dxgeom.errors import DxgeomError, MissingExtra
from dxgeom.one_secret.answer_plan import plan_answer
from dxgeom.planner.release import Release
from golden.kinds import keeping
from golden.kinds.recipes import mixed_policy

REFUSALS: Final = Path(__file__).parent / "recorded" / "refusals.txt"
"""A line for each member and kind: the member, the kind, and the reason."""
LEDGER: Final = ":memory:"
PEOPLE: Final = keeping.TABLES / "people.csv"
FILES: Final = (
    "words, every word",
    "words, ratios, presence",
    "listed, pure, changed-queries",
    "tables, pure, plain, marginal-laplace",
    "tables, pure, presence, plain, marginal-laplace",
    "boxes, pure, plain",
    "boxes, pure, presence, plain",
    "quantiles, groups",
    "quantiles, pure, transport",
    "quantiles, pure, presence, transport",
    "tasks, pure, several",
    "tasks, pure, counts",
    "tasks, pure, quantiles",
    "tasks, pure, select",
    "tasks, pure, select several",
    "tasks, pure, synthesize",
    "tasks, pure, small database",
    "tasks, pure, statistics",
    "tasks, pure, fit linear",
    "tasks, pure, fit logistic",
    "tasks, pure, series",
)
"""One of each kind of question, and of some one whose number of records is private."""
FAMILIES: Final = ("mwem", "small-database")
KINDS: Final = (*FILES, *(f"family, {one}" for one in FAMILIES), "a secret", "a mechanism")
MEMBERS: Final = (
    *(name for name in dir(Release) if not name.startswith("_")),
    "__getitem__",
    "__repr__",
    "_repr_html_",
)


class Cell(NamedTuple):
    """A member of what a kind released: the sentence of a refusal, or a crash; neither where it works."""

    member: str
    kind: str
    refused: str = ""
    crashed: str = ""

    @property
    def line(self) -> str:
        return " | ".join((self.member, self.kind, self.refused))


def releases(kind: str, folder: Path) -> Iterator[Release[Any]]:
    """Those of a plan, of the plan's file, and found again in a ledger; of what is in no file one alone."""
    if kind in FILES:
        loaded = dx.load_plan(keeping.plan_file(kind))
        spend = loaded.spend or keeping.SPEND
        yield loaded.plan.release(keeping.table_of(kind), ledger=LEDGER, spend=spend, insecure_test_seed=1)
        yield keeping.released(loaded, kind, LEDGER)
        yield keeping.found_again(loaded, kind, keeping.copied(keeping.ledger_of(kind), folder))
    elif kind == "a secret":
        ages = {"policy": "ages", "universe": {"attributes": {"age": {"range": [0, 6], "step": 2}}}, "budget": 9}
        policy = dx.Policy.from_dict({**ages, "rules": [{"change": "age", "epsilon": 1}]})
        yield plan_answer(policy, "staircase", spend=1).release(4, ledger=LEDGER, insecure_test_seed=1)
    elif kind == "a mechanism":
        mechanism = dx.load_plan(keeping.plan_file(FILES[0])).plan.mechanism
        yield dx.release(mechanism, PEOPLE, ledger=LEDGER, spend=1, insecure_test_seed=1)
    else:
        policy = mixed_policy("pure")
        counts = dx.queries_from_dict({"records": 40, "queries": [{"marginal": "sex"}, {"count": "age < 3"}]}, policy)
        plan = dx.plan(policy.compile(), counts, mechanism=kind.removeprefix("family, "))
        yield plan.release(PEOPLE, ledger=LEDGER, spend=1, insecure_test_seed=1)


def cells(kind: str, folder: Path) -> list[Cell]:
    """What comes of each member; the same however a release came about."""
    found = [[_cell(kind, one, member) for member in MEMBERS] for one in releases(kind, folder)]
    assert all(one == found[0] for one in found)
    return found[0]


def _cell(kind: str, release: Release[Any], member: str) -> Cell:
    made = partial(Cell, member, kind)
    try:
        found = getattr(release, member)
        if callable(found):
            found(*_arguments(found, release))
    except MissingExtra:
        pass  # works, where the library is installed
    except DxgeomError as error:
        return made(refused=" ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001 (that it is none of the package's is what is looked for)
        return made(crashed=f"{type(error).__name__}: {error}")
    return made()


def _arguments(call: Callable[..., Any], release: Release[Any]) -> list[str]:
    """Names, for whatever has to be given."""
    each = inspect.signature(call).parameters.values()
    needed = [one.name for one in each if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    names = {"name": lambda: next(iter(getattr(release.answer, "by_name", release.names)))}
    return [names.get(one, lambda: release.names[0])() for one in needed]


def record_refusals(folder: Path) -> None:
    """Writes what is refused."""
    lines = sorted(cell.line for kind in KINDS for cell in cells(kind, folder) if cell.refused)
    REFUSALS.write_text("\n".join(lines) + "\n", encoding="utf-8")
