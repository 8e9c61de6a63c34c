"""A typical mistake, and the files beside which it is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app

TEXTS = Path(__file__).parents[1] / "mistakes"
"""Where the answers are, a file each."""
POLICY = """\
policy: clinic
universe:
  attributes:
    sex: [F, M]
    age: {range: [0, 100], step: 5}
rules:
  - change: [sex, age]
    epsilon: 0.5
budget: 2
"""
QUERIES = "queries:\n  - count: sex == 'F'\n"
DATA = "sex,age\nF,10\nM,20\n"
POSTCODES = """\
policy: streets
universe:
  attributes:
    postcode: ['01', '02', '11']
rules:
  - change: postcode
    epsilon: 1
"""


class Mistake(NamedTuple):
    """What is done, in a folder with the files above, and what its answer has to say.

    ``made``: raises, or returns what is said. ``rule``, ``found``, ``place``, ``remedy``: parts of the answer, which
    says how it should be, what was found, where, and what to do.
    """

    made: Callable[[], Any]
    rule: str
    found: str
    place: str
    remedy: str


def answered(mistake: Mistake, folder: Path) -> str:
    """What a mistake is answered with, in a new folder."""
    for name, text in (("policy.yaml", POLICY), ("queries.yaml", QUERIES), ("data.csv", DATA)):
        (folder / name).write_text(text, encoding="utf-8")
    with chdir(folder):
        try:
            said = str(mistake.made())
        except dx.DxgeomError as error:
            said = f"{type(error).__name__}: {error}"
    return said.replace(str(folder.resolve()), "FOLDER").replace(str(folder), "FOLDER").rstrip() + "\n"


def policy(old: str = "", new: str = "") -> str:
    """Checks the policy after an edit; returns what it warns of."""
    Path("policy.yaml").write_text(POLICY.replace(old, new), encoding="utf-8")
    return "\n".join(f"Warning: {one}." for one in dx.load_policy("policy.yaml").review().warnings)


def queries(text: str, of: str = POLICY) -> Any:
    """Reads queries about a policy."""
    Path("queries.yaml").write_text(text, encoding="utf-8")
    return dx.load_queries("queries.yaml", dx.parse_policy(of))


@cache
def plan(of: str = POLICY, asked: str = QUERIES) -> Any:
    """The plan that data are released under."""
    read = dx.parse_policy(of)
    return dx.plan(read.compile(), dx.parse_queries(asked, read), mechanism="laplace")


def release(table: Any, **options: Any) -> Any:
    """Releases from a table."""
    return plan().release(table, **{"ledger": ":memory:", "spend": 1, **options})


def file(name: str, content: str | bytes) -> str:
    """A file of that content beside the others; returns its name."""
    path = Path(name)
    path.write_bytes(content) if isinstance(content, bytes) else path.write_text(content, encoding="utf-8")
    return name


def command(*words: str) -> str:
    """What the command line says."""
    result = CliRunner().invoke(app, [*words])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return f"exit code {result.exit_code}\n{result.output}"
