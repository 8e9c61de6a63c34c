"""Real processes whose standard streams are open, closed, full, or pipes that nobody reads any more."""

from __future__ import annotations

import fcntl
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

CLOSED = {"absent": "{}>&-", "for reading": "{}</dev/null"}
"""Standard output that is known to take nothing before anything is done; as a shell says it."""
BROKEN = ("full", "nobody", "ends", "lost")
"""Standard output that takes nothing, which only shows when it is written to."""
WAYS_OUT = ("open", *CLOSED, *BROKEN)
WAYS_IN = {"open": "", "absent": "<&-", "empty": "</dev/null", "for writing": "0>/dev/null"}


class Ended(NamedTuple):
    """How a process ended, and what was to be read; nothing where its streams did not come to us."""

    code: int
    output: str
    errors: str


def ended(
    *words: str,
    script: str | None = None,
    said: str = "",
    way_in: str = "open",
    way_out: str = "open",
    way_of_errors: str = "open",
    env: Mapping[str, str] | None = None,
) -> Ended:
    """``dxgeom`` with these words in a process of its own, or a script of Python with them.

    Ways out: "full" is a disk without room; of "nobody" the reader left before, of "ends" it leaves while it is
    waited for; "lost" is a terminal that was closed.
    """
    python = [sys.executable, *(("-m", "dxgeom") if script is None else ("-c", script)), *words]
    with _way_out(1, way_out) as (output, shell_out), _way_out(2, way_of_errors) as (errors, shell_errors):
        process = subprocess.run(
            ["bash", "-c", f'exec "$@" {WAYS_IN[way_in]} {shell_out} {shell_errors}', "bash", *python],
            input=said.encode(),
            stdout=output,
            stderr=errors,
            check=False,
            timeout=300,
            env=None if env is None else {**os.environ, **env},
        )
    return Ended(process.returncode, (process.stdout or b"").decode(), (process.stderr or b"").decode())


@contextmanager
def _way_out(number: int, way: str) -> Iterator[tuple[int, str]]:
    """What a process is handed as standard output or error, and what a shell makes of that."""
    if way in CLOSED:
        yield subprocess.DEVNULL, CLOSED[way].format(number)
    elif way == "full":
        yield subprocess.DEVNULL, f"{number}>/dev/full"
    elif way == "open":
        yield subprocess.PIPE, ""
    else:
        reading, writing = pty.openpty() if way == "lost" else os.pipe()
        leaving = threading.Timer(2, os.close, [reading])
        if way == "ends":
            os.write(
                writing, bytes(fcntl.fcntl(writing, fcntl.F_GETPIPE_SZ))
            )  # what is written now waits for the reader
            leaving.start()
        else:
            os.close(reading)
        try:
            yield writing, ""
        finally:
            os.close(writing)
            if way == "ends":
                leaving.join()


def clinic(folder: Path) -> list[str]:
    """The words of a release of a small table, whose ledger is 'p.db' in the folder."""
    from reference.project import POLICIES

    rows = [f"{'MF'[k % 2]},{('Yes', 'No')[k % 3 == 0]},{('above', 'below')[k % 5 == 0]} 18" for k in range(60)]
    (folder / "people.csv").write_text("\n".join(["gender,native,age", *rows]) + "\n", encoding="utf-8")
    policy, queries = (str(POLICIES / "clinic" / f"{name}.yaml") for name in ("policy", "queries"))
    options = ["--ledger", str(folder / "p.db"), "--spend", "0.2", "--mechanism", "laplace"]
    return ["release", policy, str(folder / "people.csv"), queries, *options]


def spent(folder: Path) -> tuple[int, int]:
    """How many charges the ledger has, and how many of them their answers."""
    from dxgeom.ledger.history import read_ledger

    if not (folder / "p.db").exists():
        return 0, 0
    history = read_ledger(folder / "p.db")
    return len(history.entries), len(history.answers)
