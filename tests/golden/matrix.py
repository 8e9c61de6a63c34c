"""Every public member of plans and of releases beside every kind of question: what it refuses, in which words.

A member of one kind is asked of all; of plans fresh and from their files. Of a member that needs arguments these are
plain ones. What comes back is not looked at here: that a cell works, or refuses as what it is, is all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import dxgeom as dx
from dxgeom.errors import DxgeomError, MissingExtra
from dxgeom.lab.answers import plan_answer
from dxgeom.old_names import OldName
from dxgeom.planner.plan import Plan
from dxgeom.planner.release import Release
from dxgeom.planner.unknown import Unknown
from golden.kinds import keeping
from golden.kinds.recipes import mixed_policy

REFUSALS: Final = Path(__file__).parent / "recorded" / "refusals.txt"
"""A line for each member and kind: the member, the kind, and the reason."""
LEDGER: Final = ":memory:"
Given = Mapping[str, Callable[[], Any]]
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
    "distinct, pure",
    "adaptive, pure, bars",
    "adaptive, pure, presence, no bars",
    "keys, pure, at least",
)
"""One of each kind of question, and of some one whose number of records is private."""
FAMILIES: Final = ("mwem", "small-database")
KINDS: Final = (*FILES, *(f"family, {one}" for one in FAMILIES), "a secret", "a mechanism")
ALONE: Final = ("select", "select several", "synthesize", "small database", "fit linear", "fit logistic", "series")
"""Tasks whose plans are of kinds of their own, each in a file of one task."""
PLANS: Final = (
    *FILES,
    *(f"task, {one}" for one in ALONE),
    *(f"family, {one}" for one in FAMILIES),
    "planned",
    "planned, errors",
)
"""Those of files, of tasks, and such that were planned a moment ago, with their candidates."""
PLAN = "plan."
"""Before a member of plans, where its refusals are recorded."""
OF_INSTALMENTS: Final = ("open", "release_period", "close")
"""They need an attribute of periods; what they refuse is tested in ``tests/unit/planner/instalments``."""
PLAN_MEMBERS: Final = (
    *(
        name
        for name in dir(Plan)
        if name not in OF_INSTALMENTS
        and not name.startswith("_")
        and not isinstance(inspect.getattr_static(Plan, name), (Unknown, OldName, str))
    ),
    "__repr__",
    "_repr_html_",
)
MEMBERS: Final = (
    *(
        name
        for name in dir(Release)
        if not name.startswith("_") and not isinstance(inspect.getattr_static(Release, name), OldName)
    ),
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
        yield _planned(mechanism=kind.removeprefix("family, ")).release(
            PEOPLE, ledger=LEDGER, spend=1, insecure_test_seed=1
        )


def plans(kind: str) -> Iterator[Any]:
    """As it is, and as it is from its file; of what is in no file one alone."""
    if kind in FILES:
        loaded = dx.load_plan(keeping.plan_file(kind))
        yield loaded.plan
        yield loaded
    elif kind.startswith("task, "):
        (part,) = dx.load_plan(keeping.plan_file(f"tasks, pure, {kind.removeprefix('task, ')}")).parts
        yield part
    elif kind.startswith("family, "):
        yield _planned(mechanism=kind.removeprefix("family, "))
    else:
        yield _planned(errors=[2, 2, 3] if kind == "planned, errors" else None)


def _released(kind: str) -> tuple[Callable[[], str], Callable[[], int]]:
    """The ledger and the entry of a recorded release; an empty ledger for what was never recorded."""
    if kind not in FILES:
        return lambda: LEDGER, lambda: 1
    ledger = keeping.ledger_of(kind)
    entries = keeping.recorded_words(ledger)["entries"]
    number = next(int(number) for number, one in entries.items() if one["key"] == kind)
    return lambda: str(keeping.LEDGERS / f"{ledger}.ledger"), lambda: number


def _planned(**how: Any) -> Any:
    policy = mixed_policy("pure")
    counts = dx.queries_from_dict({"records": 40, "queries": [{"marginal": "sex"}, {"count": "age < 3"}]}, policy)
    return dx.plan(policy.compile(), counts, **how)


def cells(kind: str, folder: Path) -> list[Cell]:
    """What comes of each member; the same however a release came about."""
    return _alike([[_cell(kind, one, member, _names(one)) for member in MEMBERS] for one in releases(kind, folder)])


def plan_cells(kind: str) -> list[Cell]:
    """What comes of each member of plans; the same for the plan of a file."""
    table = keeping.table_of(kind.replace("task,", "tasks, pure,"))
    found = []
    for one in plans(kind):
        words = {"table": table, "ledger": LEDGER, "spend": (one.file and one.file.spend) or keeping.SPEND}
        given = {name: partial(str, word) for name, word in words.items()} | {"level": lambda: 0.9}
        given |= {"public_table": lambda: table}
        again = given | dict(zip(("ledger", "entry"), _released(kind), strict=True))
        each = [_cell(kind, one, member, again if member == "release_again" else given) for member in PLAN_MEMBERS]
        found.append([cell._replace(member=PLAN + cell.member) for cell in each])
    return _alike(found)


def _alike(found: list[list[Cell]]) -> list[Cell]:
    assert all(one == found[0] for one in found)
    return found[0]


def _cell(kind: str, asked: Any, member: str, given: Given) -> Cell:
    made = partial(Cell, member, kind)
    try:
        found = getattr(asked, member)
        if inspect.ismethod(found):
            found(**_arguments(found, given))
    except MissingExtra:
        pass  # works, where the library is installed
    except DxgeomError as error:
        return made(refused=" ".join(str(error).split()))
    except Exception as error:  # noqa: BLE001 (that it is none of the package's is what is looked for)
        return made(crashed=f"{type(error).__name__}: {error}")
    return made()


def _names(release: Release[Any]) -> Given:
    """Names, for whatever has to be given."""
    one = dict.fromkeys(("query", "numerator", "denominator", "shares"), lambda: release.names[0])
    return {**one, "name": lambda: next(iter(getattr(release.answer, "by_name", release.names)))}


def _arguments(call: Callable[..., Any], given: Given) -> dict[str, Any]:
    """What has to be given, and spends."""
    each = inspect.signature(call).parameters.values()
    return {
        one.name: given[one.name]()
        for one in each
        if one.kind is not one.VAR_POSITIONAL and (one.default is one.empty or one.name == "spend")
    }


def record_refusals(folder: Path) -> None:
    """Writes what is refused."""
    found = [*(cells(kind, folder) for kind in KINDS), *map(plan_cells, PLANS)]
    lines = sorted(cell.line for one in found for cell in one if cell.refused)
    REFUSALS.write_text("\n".join(lines) + "\n", encoding="utf-8")
