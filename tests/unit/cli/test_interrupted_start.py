"""Whoever stops the command line in its first second reads a sentence and no traceback."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from dxgeom.__main__ import run


def test_an_interrupt_while_loading_is_told_in_a_sentence(monkeypatch, capsys):
    class Loading(ModuleType):
        def __getattr__(self, name: str) -> None:
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "dxgeom.cli.main", Loading("dxgeom.cli.main"))
    with pytest.raises(SystemExit) as caught:
        run()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "interrupted; nothing was read, spent or written\n"
