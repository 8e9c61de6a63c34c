"""Files that only their maker needs: marked with the process, so that others know when it is gone."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import time
import zlib
from pathlib import Path
from typing import Final

_OLD: Final = 86400.0
"""Seconds after which a file is left over wherever its maker ran."""

_MARK: Final = re.compile(r"([0-9a-f]{8})-([0-9]{1,10})-[0-9a-f]+")


def maker_mark() -> str:
    """This machine, this process, and a random number."""
    return f"{_machine()}-{os.getpid()}-{os.urandom(6).hex()}"


def draft_of(ledger: Path, mark: str) -> Path:
    """Where a file of the ledger is made before it gets its name."""
    return ledger.with_name(f".{ledger.name}.{mark}.new")


def tidy_drafts(ledger: Path) -> None:
    """Take away what processes that were killed while they made files of the ledger left behind. Raises: OSError."""
    draft = re.compile(re.escape(f".{ledger.name}.") + r"([0-9a-f-]+)\.new(-journal)?")
    with os.scandir(ledger.parent) as found:
        matches = [match for one in found if (match := draft.fullmatch(one.name))]
    for match in matches:
        file = ledger.with_name(match[0])
        with contextlib.suppress(OSError):
            if is_left_over(file, match[1]):
                file.unlink()


def is_left_over(file: Path, mark: str) -> bool:
    """Whether the process of this mark, which made the file, is known to be gone. Raises: OSError for no such file."""
    age = time.time() - file.stat().st_mtime
    found = _MARK.fullmatch(mark)
    # Elsewhere than on POSIX, asking whether a process is there would end it.
    if found is None or found[1] != _machine() or os.name != "posix":
        return age > _OLD
    # Clocks are set; who is running here is running, whatever they say.
    return not _is_running(int(found[2]))


def _machine() -> str:
    """Where numbers of processes mean the same: containers may share a name, and count their processes on their own."""
    where = f"{platform.node()} {_read('/proc/sys/kernel/random/boot_id')} {_processes_counted_in()}"
    return f"{zlib.crc32(where.encode('utf-8', 'surrogateescape')):08x}"


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _processes_counted_in() -> int:
    try:
        return Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return 0


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
