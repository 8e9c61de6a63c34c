"""Records anew what the package answers: ``PYTHONPATH=tests python -m golden.record [part ...]``.

Parts are names of policies, ``mechanisms``, ``fingerprints``, ``mistakes``, ``refusals``, ``screens``,
``kinds``, ``shown`` and ``long-tests``; without any, all but the last is recorded. Do so only where a
change is meant, and say in the commit which. Without a part, the machine is recorded, too.

``kinds`` are plan files, releases, ledgers and fingerprints of every kind of question and noise. They are those of
version 0.2.1 and are never recorded anew: of them only what is not there yet is made, for a kind that comes later.
``shown`` is what is told of these releases, in words and bars, which may change where that is meant.
``long-tests`` are those of which DXGEOM_TIMES, a file that ``make test`` or ``make test-long`` wrote, says that they
took more than half a second of a slow core; those that it says nothing of stay.
"""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
from pathlib import Path

from reference.calibration import LONG_SECONDS
from reference.example_policies import TABLES
from reference.project import LONG_TESTS

from golden.kinds.keeping import LEDGERS
from golden.kinds.record import record_kinds, record_shown
from golden.matrix import record_refusals
from golden.recording import machine, mechanism_record, policy_record, write
from golden.screens import EXAMPLES, FORMS, file_of, text_of
from golden.typical_mistakes.every import EVERY
from golden.typical_mistakes.mistake import TEXTS, answered


def record(parts: list[str]) -> None:
    known = [*TABLES, "mechanisms", "fingerprints", "mistakes", "refusals", "screens", "kinds", "shown"]
    if parts == ["long-tests"]:
        record_long_tests(Path(os.environ["DXGEOM_TIMES"]))
        return
    if unknown := set(parts) - set(known):
        sys.exit(f"there is no part {', '.join(sorted(unknown))}; known are {', '.join(known)}")
    wanted = parts or known
    fingerprints = {}
    for name in [*TABLES, "mechanisms"]:
        if name in wanted or "fingerprints" in wanted:
            found = mechanism_record() if name == "mechanisms" else policy_record(name)
            fingerprints[name] = found.fingerprints
            if name in wanted:
                write(name, found.told)
    if "fingerprints" in wanted:
        write("fingerprints", fingerprints)
    if "mistakes" in wanted:
        record_mistakes()
    if "refusals" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            record_refusals(Path(folder))
    if "screens" in wanted:
        for example, form in itertools.product(EXAMPLES, FORMS):
            file_of(example, *form).write_text(text_of(example, *form), encoding="utf-8")
    if "kinds" in wanted:
        record_kinds()
    if "shown" in wanted:
        record_shown([path.stem for path in LEDGERS.iterdir()])
    if not parts:
        write("machine", machine())


def record_long_tests(times: Path) -> None:
    took = {
        name: float(seconds)
        for seconds, name in (line.split(maxsplit=1) for line in times.read_text(encoding="utf-8").splitlines())
    }
    kept = set(LONG_TESTS.read_text(encoding="utf-8").splitlines()) - set(took)
    long = kept | {name for name, seconds in took.items() if seconds > LONG_SECONDS}
    LONG_TESTS.write_text("".join(f"{name}\n" for name in sorted(long)), encoding="utf-8")


def record_mistakes() -> None:
    """What typical mistakes are answered with, a file each."""
    for old in TEXTS.glob("*.txt"):
        old.unlink()
    for name, mistake in EVERY.items():
        with tempfile.TemporaryDirectory() as folder:
            (TEXTS / f"{name}.txt").write_text(answered(mistake, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
