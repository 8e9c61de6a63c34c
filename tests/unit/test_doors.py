"""Every capability has a front door: what a user may call is reachable from ``dx``."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from reference.project import ROOT

import dxgeom as dx
from dxgeom.doors import _homes, _listed_below

MOST_FLAT_NAMES = 45
PACKAGE = ROOT / "dxgeom"


def rooms():
    return [".".join(path.parent.relative_to(ROOT).parts) for path in sorted(PACKAGE.rglob("__init__.py"))]


def listed_things(room: str) -> set[str]:
    """What a room lists, but for the rooms in it."""
    module = import_module(room)
    return {name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)}


def public_names(path: Path) -> set[str]:
    """The classes and functions that a file defines for others."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    return {
        node.name
        for node in nodes
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")
    }


OPEN = [room for room in rooms() if hasattr(import_module(room), "__all__")]
MECHANISM_ROOMS = [room for room in rooms() if room.startswith("dxgeom.mechanisms.")]


@pytest.mark.parametrize("room", OPEN)
def test_every_listed_name_opens(room):
    module = import_module(room)
    for name in module.__all__:
        assert getattr(module, name) is not None
        assert name in dir(module)


@pytest.mark.parametrize("room", MECHANISM_ROOMS)
def test_a_mechanism_room_lists_only_what_it_defines(room):
    folder = ROOT.joinpath(*room.split("."))
    defined = set().union(*(public_names(path) for path in folder.glob("*.py") if path.name != "__init__.py"))
    listed = {
        name for name in import_module(room).__all__ if not isinstance(getattr(import_module(room), name), ModuleType)
    }
    assert listed <= defined


def test_no_public_name_of_the_papers_laboratory_is_unreachable():
    """But for those of answers about one secret, which have a door of their own, of the kind, and what the laboratory's
    files hand each other."""
    answers = {"answer_plan", "answers", "data_sets", "secrets", "task", "kind", "__init__"}
    handed = {"honouring", "odds_below", "require_metric_and_spend", "require_prior", "entry_sensitivities"}
    handed |= {"DatabasePolicy", "ProductSpace", "RatioSolution", "SmallGraphs", "ValuedDatasets", "rounded_and_mixed"}
    files = [path for path in (PACKAGE / "lab").glob("*.py") if path.stem not in answers]
    assert set().union(*map(public_names, files)) - handed <= listed_things("dxgeom.lab")


@pytest.mark.parametrize("room", MECHANISM_ROOMS)
def test_every_mechanism_room_is_reached_from_the_front(room):
    place = dx
    for part in room.split(".")[1:]:
        assert part in dir(place)
        place = getattr(place, part)
    assert place is import_module(room)


@pytest.mark.parametrize("room", OPEN)
def test_no_file_takes_the_place_of_what_its_room_lists(room):
    """Importing a file sets its name in its room; a function of that name would then be the file."""
    folder = ROOT.joinpath(*room.split("."))
    homes = _homes(str(folder / "__init__.py"))
    things = {name for name, (module, _) in homes.items() if module != room}
    assert not {path.stem for path in folder.glob("*.py")} & things


def test_a_name_means_the_same_wherever_it_is_listed():
    meanings = {}
    for room in OPEN:
        module = import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if not isinstance(thing, ModuleType):
                assert meanings.setdefault(name, thing) is thing, name


def test_the_flat_list_is_short_and_its_rooms_are_packages():
    things = [getattr(dx, name) for name in dx.__all__]
    assert sum(not isinstance(thing, ModuleType) for thing in things) <= MOST_FLAT_NAMES


def test_an_unknown_name_is_told_with_the_nearest_one():
    with pytest.raises(AttributeError, match="dxgeom has no 'load_polcy'; did you mean 'load_policy'"):
        _ = dx.load_polcy
    with pytest.raises(AttributeError, match=r"dxgeom.mechanisms.selection has no 'smal_database'"):
        _ = dx.mechanisms.selection.smal_database


def test_a_name_of_a_deeper_room_is_told_with_that_room():
    with pytest.raises(AttributeError, match=r"it is dxgeom\.lab\.regression_statistic$"):
        _ = dx.regression_statistic
    with pytest.raises(AttributeError, match=r"did you mean 'dxgeom\.lab\.regression_statistic'"):
        _ = dx.regresion_statistic
    with pytest.raises(AttributeError, match=r"dxgeom has no '_repr_unheard_of_'$"):
        _ = dx._repr_unheard_of_


def test_every_deeper_name_that_is_told_is_there():
    for room in OPEN:
        below = _listed_below(room, ROOT.joinpath(*room.split(".")))
        assert all(hasattr(import_module(home), name) for name, home in below.items())


def test_rooms_are_listed_without_loading_what_is_behind_their_names():
    code = (
        "import sys, dxgeom as dx; "
        "[dir(getattr(dx, room)) for room in ('mechanisms', 'geometry', 'noise', 'metrics', 'audit', 'report')]; "
        "heavy = {'numpy', 'scipy', 'numba', 'ibis', 'duckdb', 'pydantic', 'matplotlib', 'flint', 'typer'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_loading_a_policy_does_not_load_solvers_or_data_engines():
    code = (
        "import sys, dxgeom as dx; "
        f"dx.load_policy({str(ROOT / 'policies' / 'clinic' / 'policy.yaml')!r}).compile(); "
        "heavy = {'scipy', 'numba', 'ibis', 'duckdb', 'pyarrow', 'matplotlib', 'typer', 'pandas'}; "
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_checking_a_policy_loads_only_what_it_uses():
    policy = str(ROOT / "policies" / "clinic" / "policy.yaml")
    code = (
        f"import sys; sys.argv = ['dxgeom', 'check', {policy!r}]; "
        "from dxgeom.cli.main import app; "
        "app(standalone_mode=False); "
        "heavy = {'scipy', 'numba', 'ibis', 'duckdb', 'pyarrow', 'matplotlib', 'pandas', 'flint', 'shapely', 'rich'}; "
        "rooms = ('engines', 'ledger', 'planner', 'mechanisms', 'noise', 'geometry', 'queries', 'audit'); "
        "idle = {f'dxgeom.{room}' for room in rooms}; "
        "idle |= {f'dxgeom.policy.explain.{file}' for file in ('explanation', 'forms', 'record_path', 'block_path')}; "
        "found = (heavy | idle) & set(sys.modules); "
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)


def test_planning_queries_loads_only_what_plans_these():
    files = [str(ROOT / "policies" / "clinic" / name) for name in ("policy.yaml", "queries.yaml")]
    code = (
        f"import sys; sys.argv = ['dxgeom', 'plan', *{files!r}]; "
        "from dxgeom.cli.main import app; "
        "app(standalone_mode=False); "
        "heavy = {'numba', 'ibis', 'duckdb', 'pyarrow', 'matplotlib', 'pandas', 'shapely'}; "
        "heavy |= {'unittest', 'numpy.f2py.f2py2e', 'numpy.polynomial.polynomial'}; "
        "rooms = ('engines', 'ledger.ledger', 'plan_files.kept_plans', 'planner.tasks.task_answers', "
        "'planner.quantile_plan', "
        "'planner.marginals.marginal_plan', 'planner.releases.answer_once', 'mechanisms.quantiles.choice',"
        " 'mechanisms.parts.basis_program',"
        " 'mechanisms.synthetic', 'mechanisms.selection', 'audit'); "
        "found = (heavy | {f'dxgeom.{room}' for room in rooms}) & set(sys.modules); "
        "beside = ('dxgeom.lab.', 'dxgeom.learning.'); "
        "found |= {name for name in sys.modules if name.startswith(beside) and not name.endswith('.kind')}; "
        "import numpy as np; assert 'scipy.spatial' in sys.modules and np.polynomial.Polynomial([1, 2])(3) == 7; "
        "sys.exit(str(found) if found else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
