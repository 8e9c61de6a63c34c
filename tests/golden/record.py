"""Records anew what the package answers: ``PYTHONPATH=tests python -m golden.record [part ...]``.

Parts are names of policies, ``mechanisms``, ``fingerprints``, ``mistakes`` and ``test-names``; without any, all is
recorded. Do so only where a change is meant, and say in the commit which. Without a part, the machine is recorded, too.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from reference.example_policies import TABLES

from golden.recording import HERE, machine, mechanism_record, names_of_tests, policy_record, write
from golden.typical_mistakes.every import EVERY
from golden.typical_mistakes.mistake import TEXTS, answered


def record(parts: list[str]) -> None:
    known = [*TABLES, "mechanisms", "fingerprints", "mistakes", "test-names"]
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
    if "test-names" in wanted:
        (HERE / "test-names.txt").write_text("\n".join(names_of_tests()) + "\n", encoding="utf-8")
    if not parts:
        write("machine", machine())


def record_mistakes() -> None:
    """What typical mistakes are answered with, a file each."""
    for old in TEXTS.glob("*.txt"):
        old.unlink()
    for name, mistake in EVERY.items():
        with tempfile.TemporaryDirectory() as folder:
            (TEXTS / f"{name}.txt").write_text(answered(mistake, Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    record(sys.argv[1:])
