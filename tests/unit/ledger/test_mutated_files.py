"""Spoiled ledger files are used as they were, or refused with the file and what to do; never a traceback."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from dxgeom.errors import LedgerError
from dxgeom.ledger.chronicle import _VERIFIED
from dxgeom.ledger.history import migrate_ledger, read_answer, verify_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet

MUTATIONS = int(os.environ.get("DXGEOM_MUTATED_LEDGERS", "80"))
"""How many files of each kind are spoiled; ``make soak`` spoils more."""

FILES = Path(__file__).parent / "files"
VISITS = DataSet("visits", "2026-01", budget=Fraction(3, 2))


def opened(path: Path) -> Ledger:
    return Ledger.open(path, policy_fingerprint="a" * 64, policy_name="clinic", budget=Fraction(1), data_set=VISITS)


@pytest.fixture(scope="module", params=["new", "format_1", "format_2", "format_2_divided"])
def whole(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, bytes]:
    """A sound ledger's file, and of which kind it is."""
    if request.param != "new":
        return request.param, (FILES / f"{request.param}.ledger").read_bytes()
    path = tmp_path_factory.mktemp("sound") / "a.db"
    with opened(path) as ledger:
        entry = ledger.charge(Fraction(1, 3), purpose="für €", plan_fingerprint="p", key="monday", reserve=100)
        ledger.store(entry, "an answer")
        ledger.allot({"ana": Fraction(1, 4)})
        ledger.charge(Fraction(1, 8), purpose="", plan_fingerprint="p", owner="ana")
    return request.param, path.read_bytes()


def used(path: Path) -> Iterator[Callable[[], object]]:
    """Everything that is done with a ledger, each as by a new process."""
    yield lambda: verify_ledger(path)
    yield lambda: read_answer(path, 1)
    yield lambda: opened(path).find("monday", plan_fingerprint="p", spend=Fraction(1, 3))
    yield lambda: opened(path).charge(Fraction(1, 100), purpose="", plan_fingerprint="p")
    yield lambda: migrate_ledger(path)


def one_byte(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(len(content))] = chance.randrange(256)


def no_utf_8(content: bytearray, chance: random.Random) -> None:
    """In a text, which all are that have letters."""
    letters = [place for place, byte in enumerate(content) if 97 <= byte <= 122]
    content[chance.choice(letters)] = chance.choice([0x80, 0xC3, 0xFF, 0xED])


def header(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(100)] = chance.randrange(256)


def head_of_a_page(content: bytearray, chance: random.Random) -> None:
    page = 4096 * chance.randrange(len(content) // 4096)
    content[page + chance.randrange(120 if page == 0 else 24)] = chance.randrange(256)


def a_piece(content: bytearray, chance: random.Random) -> None:
    start, size = chance.randrange(len(content)), chance.randrange(1, 200)
    content[start : start + size] = chance.randbytes(min(size, len(content) - start))


def a_page_for_another(content: bytearray, chance: random.Random) -> None:
    here, there = (4096 * chance.randrange(len(content) // 4096) for _ in range(2))
    content[here : here + 4096] = content[there : there + 4096]


def cut_short(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


MUTATIONS_OF = [one_byte, no_utf_8, header, head_of_a_page, a_piece, a_page_for_another, cut_short]


def test_a_spoiled_file_is_refused_in_words_or_used_as_it_was(whole: tuple[str, bytes], tmp_path: Path) -> None:
    kind, sound = whole
    chance, path, refused = random.Random(f"spoiled {kind}"), tmp_path / "spoiled.db", 0
    for turn in range(MUTATIONS):
        content = bytearray(sound)
        MUTATIONS_OF[turn % len(MUTATIONS_OF)](content, chance)
        for use in used(path):
            _VERIFIED.clear()
            for left in tmp_path.iterdir():
                left.unlink()
            path.write_bytes(content)
            try:
                use()
            except LedgerError as error:
                refused += 1
                assert "spoiled.db' cannot be used: " in str(error) and "; " in str(error)
    assert refused > MUTATIONS / 2
