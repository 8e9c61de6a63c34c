"""Every wrong queries file has its messages beside it, to be read like a manual."""

from __future__ import annotations

from pathlib import Path

import pytest

from dxgeom.errors import QueryError
from dxgeom.policy.policy import load_policy
from dxgeom.queries.queries_file import parse_queries

FOLDER = Path(__file__).parent / "queries"
POLICY = FOLDER / "policy.yaml"
SAID_IN_THE_MESSAGE = {"DX108", "DX201", "DX202", "DX210"}
"""Codes some of whose messages end with what is right."""
WRONG = sorted(path for path in FOLDER.glob("*.yaml") if path != POLICY)


@pytest.mark.parametrize("queries", WRONG, ids=lambda path: path.stem)
def test_wrong_queries_get_the_messages_written_beside_them(queries):
    with pytest.raises(QueryError) as caught:
        parse_queries(queries.read_text(encoding="utf-8"), load_policy(POLICY), file=queries.name, folder=FOLDER)
    assert str(caught.value) + "\n" == queries.with_suffix(".txt").read_text(encoding="utf-8")
    assert all(one.advice or one.code in SAID_IN_THE_MESSAGE for one in caught.value.diagnostics)


def test_no_wrong_queries_are_without_messages():
    assert {path.stem for path in FOLDER.glob("*.txt")} == {path.stem for path in WRONG}
