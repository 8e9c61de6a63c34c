"""What the project asks of its own code, as checks that fail: ``python checks/house_rules.py``.

Rooms hold few files, files few lines, functions few lines; classes are abstract or final; solvers and compilers stay in
files that say so; class names are used once; kinds of questions are told apart by themselves alone; no test module
imports another. The whole stays within ``budget.toml``.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "dxgeom"

MOST_LINES_OF_A_FILE = 600
MOST_LINES_OF_A_FUNCTION = 60
MOST_FILES_OF_A_ROOM = 30
LINES_OF_A_SMALL_FILE = 150
BUDGET = ROOT / "checks" / "budget.toml"
BANNED_ROOMS = {"utils", "common", "helpers", "misc", "base"}
KERNEL = "Kernel:"
"""A file that imports SciPy or numba says in its docstring, in a line that begins so, what of them it calls."""
KERNEL_LIBRARIES = {"scipy", "numba"}
KIND_ROOTS = {"AskedTask", "PlanKind", "ShownAnswers"}
"""What is asked as a task, planned, or answered stands below one of these;"""
QUESTIONS = {"LinearQueries", "QuantileQueries", "MarginalQueries", "BoxQueries", "Tasks"}
"""and these are asked in files of their own."""
ROOMS_ABOVE_KINDS = {"planner", "plan_files", "report", "document", "audit", "disclosure", "cli"}
"""What is done here with any kind of question is said by the kind: not even the word of a task stands here."""
NEITHER_ABSTRACT_NOR_FINAL = {"NamedTuple", "Protocol", "Enum", "IntEnum", "StrEnum", "TypedDict"}
"""What such a class derives from closes it already, or opens it on purpose."""


def main() -> int:
    """Print every breach; 1 when there are any."""
    rules = (rooms, files, functions, classes, class_names, kernels, kinds, tests, budgets)
    complaints = [f"{rule.__name__}: {where}: {what}" for rule in rules for where, what in rule()]
    print("\n".join(complaints) if complaints else "house rules: kept")
    return 1 if complaints else 0


Breaches = Iterator[tuple[str, str]]
"""Where, and what is wrong there."""


def rooms() -> Breaches:
    """A room holds at most so many files besides its ``__init__``, is not a jumble by name, and says what it is for."""
    for folder in (PACKAGE, *(path.parent for path in PACKAGE.rglob("__init__.py"))):
        held = [path for path in folder.glob("*.py") if path.name != "__init__.py"]
        if len(held) > MOST_FILES_OF_A_ROOM:
            yield _at(folder), f"{len(held)} files in a room, at most {MOST_FILES_OF_A_ROOM}"
        if not ast.get_docstring(_tree(folder / "__init__.py")):
            yield _at(folder), "a room without a door sign: its __init__ has no docstring"
    for path in PACKAGE.rglob("*"):
        if path.stem in BANNED_ROOMS:
            yield _at(path), "a name that says nothing about what lives there"


def files() -> Breaches:
    """A file has at most so many lines."""
    for path in _sources(PACKAGE):
        count = _count(path)
        if count > MOST_LINES_OF_A_FILE:
            yield _at(path), f"{count} lines, at most {MOST_LINES_OF_A_FILE}"


def functions() -> Breaches:
    """A function has at most so many lines, its docstring not counted."""
    for path in _sources(PACKAGE):
        for node in _nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                count = _lines_without_docstring(node)
                if count > MOST_LINES_OF_A_FUNCTION:
                    yield f"{_at(path)}:{node.name}", f"{count} lines, at most {MOST_LINES_OF_A_FUNCTION}"


def classes() -> Breaches:
    """A class is abstract or final; the errors are a tree of their own."""
    for path in _sources(PACKAGE):
        if path.name == "errors.py":
            continue
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef) and not (_is_final(node) or _is_abstract(node)):
                yield f"{_at(path)}:{node.name}", "neither abstract nor @final"


def class_names() -> Breaches:
    """Every public class of the package has a name of its own."""
    homes: defaultdict[str, list[str]] = defaultdict(list)
    for path in _sources(PACKAGE):
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(_at(path))
    for name, places in homes.items():
        if len(places) > 1:
            yield name, f"stands in {', '.join(places)}"


def kernels() -> Breaches:
    """Only files marked as kernels import SciPy or numba, and every file so marked does."""
    for path in _sources(PACKAGE):
        tree = _tree(path)
        marked = any(line.startswith(KERNEL) for line in (ast.get_docstring(tree) or "").splitlines())
        if marked != bool(KERNEL_LIBRARIES & {module.split(".")[0] for module in _imports(path)}):
            yield _at(path), f"marked '{KERNEL}' without need" if marked else f"imports a solver, but is no '{KERNEL}'"


def kinds() -> Breaches:
    """Nothing but the kinds themselves tells kinds of questions apart: no isinstance, no match, no comparison of types
    and no table of classes names what is asked, planned or answered; and no room above says a task's word."""
    named, words = _classes_of_kinds(), _words_of_tasks()
    for path in _sources(PACKAGE):
        above = path.relative_to(PACKAGE).parts[0] in ROOMS_ABOVE_KINDS
        for node in _nodes(path):
            if _tells_apart(node, named) or (above and isinstance(node, ast.Constant) and node.value in words):
                yield (
                    f"{_at(path)}:{getattr(node, 'lineno', 1)}",
                    "kinds of questions are told apart: let the kind say it",
                )


def tests() -> Breaches:
    """No test module imports another; what several need is a judge or a builder in ``tests/reference``."""
    for path in _sources(ROOT / "tests"):
        for module in _imports(path):
            if any(name.startswith("test_") for name in module.split(".")):
                yield _at(path), f"imports the test module {module}"


def budgets() -> Breaches:
    """The package stays within ``budget.toml``. What is saved lowers a limit in the same change: none has room for more
    than a hundredth of it."""
    spent = {
        "lines": sum(_count(path) for path in _sources(PACKAGE)),
        "files": len(_sources(PACKAGE)),
        "import_lines": sum(
            (node.end_lineno or 0) - node.lineno + 1
            for path in _sources(PACKAGE)
            for node in _nodes(path)
            if isinstance(node, ast.Import | ast.ImportFrom)
        ),
        "public_names": sum(len(_doors(path)) for path in PACKAGE.rglob("__init__.py")),
        "names_at_the_top": len(_doors(PACKAGE / "__init__.py")),
        "small_files_of_one_neighbour": len(_small_files_of_one_neighbour()),
        "folders_below_the_second_level": sum(
            len(path.parent.relative_to(PACKAGE).parts) > 2 for path in PACKAGE.rglob("__init__.py")
        ),
    }
    limits = tomllib.loads(BUDGET.read_text(encoding="utf-8"))["limits"]
    for name in spent.keys() ^ limits.keys():
        yield name, f"is not both measured and limited in {_at(BUDGET)}"
    for name in sorted(spent.keys() & limits.keys()):
        if spent[name] > limits[name]:
            yield name, f"{spent[name]:,}, at most {limits[name]:,}"
        elif limits[name] - spent[name] > limits[name] // 100:
            yield name, f"{spent[name]:,}: lower the limit of {limits[name]:,} in {_at(BUDGET)}"


def _doors(path: Path) -> list[str]:
    """The names that a room's ``__init__`` offers."""
    guarded = (node for node in _tree(path).body if isinstance(node, ast.If))
    imports = (line for block in guarded for line in block.body if isinstance(line, ast.ImportFrom))
    return [alias.name for line in imports for alias in line.names]


def _small_files_of_one_neighbour() -> list[str]:
    """Files of few lines that one file imports, and it stands beside them."""
    importers: defaultdict[str, set[Path]] = defaultdict(set)
    for path in _sources(PACKAGE):
        for module in set(_imports(path)):
            importers[module].add(path)
    found = []
    for path in _sources(PACKAGE):
        users = {user for user in importers[_at(path)[:-3].replace("/", ".")] if user.name != "__init__.py"}
        if len(users) == 1 and users.pop().parent == path.parent and _count(path) < LINES_OF_A_SMALL_FILE:
            found.append(_at(path))
    return found


@cache
def _nodes(path: Path) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(_tree(path)))


@cache
def _count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


@cache
def _classes_of_kinds() -> set[str]:
    """The names of all classes of questions, plans and answers."""
    bases: dict[str, set[str]] = {}
    for path in _sources(PACKAGE):
        for node in _nodes(path):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {*_names(node.bases)}
    found, before = {*KIND_ROOTS}, set[str]()
    while found != before:
        before = {*found}
        found |= {name for name, above in bases.items() if above & found}
    return (found - KIND_ROOTS) | QUESTIONS


@cache
def _words_of_tasks() -> set[str]:
    """The words that ask for a task in a file; 'queries' is the key of a file, too."""
    tasks = (node for path in _sources(PACKAGE) for node in _nodes(path) if isinstance(node, ast.ClassDef))
    lines = (line for node in tasks if "AskedTask" in _names(node.bases) for line in node.body)
    words = (line.value for line in lines if isinstance(line, ast.Assign) and _names(line.targets).keys() == {"word"})
    return {str(one.value) for one in words if isinstance(one, ast.Constant)} - {"queries"}


def _tells_apart(node: ast.AST, named: set[str]) -> bool:
    """Whether this very node decides by a kind's class."""
    if isinstance(node, ast.Call) and _names([node.func]).keys() & {"isinstance", "issubclass"}:
        return any(_mentions(argument, named) for argument in node.args[1:])
    if isinstance(node, ast.MatchClass):
        return _mentions(node.cls, named)
    if isinstance(node, ast.Compare):
        return any(_mentions(one, named) for one in (node.left, *node.comparators) if isinstance(one, ast.Name))
    if isinstance(node, ast.Dict):
        return any(isinstance(key, ast.Name) and key.id in named for key in node.keys)
    return False


def _mentions(tree: ast.AST, named: set[str]) -> bool:
    return any(isinstance(node, ast.Name | ast.Attribute) and _names([node]).keys() & named for node in ast.walk(tree))


def _sources(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _at(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    """Every module that is imported anywhere in the file; of ``from a import b`` both a and a.b."""
    for node in _nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _lines_without_docstring(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def _names(nodes: Iterable[ast.expr]) -> Counter[str]:
    """The last names of dotted and subscripted expressions."""
    found: Counter[str] = Counter()
    for node in nodes:
        bare = node.value if isinstance(node, ast.Subscript) else node
        found[bare.attr if isinstance(bare, ast.Attribute) else getattr(bare, "id", "")] += 1
    return found


def _is_final(node: ast.ClassDef) -> bool:
    return "final" in _names(node.decorator_list)


def _is_abstract(node: ast.ClassDef) -> bool:
    inherited = _names(node.bases)
    methods = (part for part in node.body if isinstance(part, ast.FunctionDef))
    return (
        "ABC" in inherited
        or bool(NEITHER_ABSTRACT_NOR_FINAL & inherited.keys())
        or any("abstractmethod" in _names(method.decorator_list) for method in methods)
    )


if __name__ == "__main__":
    sys.exit(main())
