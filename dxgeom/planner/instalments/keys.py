"""The key that seals are closed with: a file of its owner alone, apart from every ledger; and what was sealed with it.

Whoever has the key and the ledger knows the exact sums so far, as if he had the table. So the key is never shown,
never written into a ledger, and does not lie in a ledger's folder.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from dxgeom.errors import LedgerError
from dxgeom.ledger.answer_files import owner_only, sync_folder
from dxgeom.ledger.stores import file_of
from dxgeom.ledger.windows import Window

KEY_BYTES: Final = 32
PATIENCE: Final = 30.0
"""Seconds that a process waits for another that is at work with the same key."""
VARIABLE: Final = "DXGEOM_KEY"
_FIRST_LINE: Final = "dxgeom key 1"
_OTHERS: Final = 0o077


def place_of_key(key: str | Path | None) -> Path:
    """The key's file: as given, else as the environment says, else in the user's folder of settings."""
    named = key or os.environ.get(VARIABLE)
    if named:
        return Path(named)
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "dxgeom" / "instalments.key"


@final
@dataclass(frozen=True)
class Keys:
    """``file``: where they are; ``current``: new seals are closed with it; ``earlier``: those that it took the place
    of, kept until no seal needs them."""

    file: Path
    current: bytes = field(repr=False)
    earlier: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        """What seals call the current key: it tells nothing of it."""
        return name_of(self.current)

    def named(self, name: str | None) -> bytes | None:
        """The key that seals call so, None where it is not here."""
        return next((key for key in (self.current, *self.earlier) if name_of(key) == name), None)

    def not_behind(self, read: Callable[[], Window]) -> Window:
        """What a ledger has; refused where it lacks what was sealed with this key already: an older copy, or one of two
        that both went on. Raises: LedgerError."""
        # First what is remembered, then the ledger: who writes meanwhile writes them the other way round.
        remembered = self._remembered()
        window = read()
        size = len(window.entry.seal)
        own = (line[size:].split() for line in remembered if line.startswith(window.entry.seal))
        # A line whose writer was ended is cut short.
        if any(len(seals) == 1 and len(seals[0]) == size and seals[0] not in window.written for seals in own):
            raise LedgerError(
                "this ledger is behind: it lacks periods that were sealed with this key, so it is an older copy, or "
                "one that another went on from. Go on with the newer one. Where that is lost for good, remove "
                f"'{self._seen}'; all from here on is then released a second time, which is up to 1.42 times the "
                "promise of a Gaussian plan, and twice that of another. Nothing was read"
            )
        return window

    def remember(self, window: Window) -> None:
        """Note what the ledger has, beside the key; where that cannot be written nothing is noted."""
        known = set(self._remembered())
        lines = [line for line in (f"{window.entry.seal} {seal}" for seal in window.written) if line not in known]
        with suppress(OSError):
            file = os.open(self._seen, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(file, "".join(f"\n{line}\n" for line in lines).encode())
            finally:
                os.close(file)

    @property
    def _seen(self) -> Path:
        return self.file.with_name(self.file.name + ".seen")

    def _remembered(self) -> list[str]:
        try:
            return self._seen.read_text("ascii", "replace").splitlines()
        except OSError:
            return []


_THERE: Final = "there is a key '{}' already, and seals may need it; name another file"


def name_of(key: bytes) -> str:
    """The name of a key: sixteen digits of a digest."""
    return hashlib.sha256(b"dxgeom key's name 1" + key).hexdigest()[:16]


def read_keys(file: Path, ledger: str | Path | None = None) -> Keys:
    """The keys of a file. ``ledger``: in whose folder they must not lie.

    Raises: LedgerError where there are none, others may read them, or they lie beside the ledger.
    """
    book = None if ledger is None else file_of(ledger)
    if book is not None and book.resolve().parent == file.resolve().parent:
        raise LedgerError(
            f"the key '{file}' lies in the ledger's folder: whoever copies that has the exact sums; keep it elsewhere, "
            f"and name it with --key or {VARIABLE}; nothing was read"
        )
    try:
        if os.name == "posix" and file.stat().st_mode & _OTHERS:
            raise LedgerError(f"others than its owner may read the key '{file}': chmod 600 it; nothing was read")
        lines = file.read_text().split("\n")
    except FileNotFoundError:
        raise LedgerError(f"there is no key '{file}': make one with 'dxgeom key make'; nothing was read") from None
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(f"the key '{file}' cannot be read: {error}") from error
    kept = [line for line in lines[1:] if line]
    if lines[0] != _FIRST_LINE or not kept or not all(re.fullmatch("[0-9a-f]{64}", line) for line in kept):
        raise LedgerError(f"'{file}' is no key of dxgeom's; name another file; nothing was read")
    first, *others = map(bytes.fromhex, kept)
    return Keys(file, first, tuple(others))


def make_key(file: Path) -> Keys:
    """A new key in a new file, which only its owner may read. It is there whole, or not at all: a process that is
    killed leaves at most a draft beside it, which is no key, and which the next one removes.

    Raises: LedgerError where a file is there already.
    """
    made = Keys(file, os.urandom(KEY_BYTES))
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise LedgerError(f"the key '{file}' cannot be written: {error}") from error
    with alone_with(file):
        if file.exists():
            raise LedgerError(_THERE.format(file))
        return replaced(made)


def with_new_key(keys: Keys) -> Keys:
    """The same with a new current key, on the disk. Raises: LedgerError."""
    return replaced(Keys(keys.file, os.urandom(KEY_BYTES), (keys.current, *keys.earlier)))


@contextmanager
def alone_with(file: Path) -> Iterator[None]:
    """While it lasts no other process changes these keys, or seals with them; it ends with the process, in any case.

    What a process that was ended left of new keys is removed. Where the folder cannot be written nobody changes keys
    there, and nothing is locked. Raises: LedgerError where another process does not come to an end.
    """
    lock = file.with_name(file.name + ".lock")
    try:
        os.close(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        yield
        return
    # An empty database is a lock that every system has, and that none keeps after its process.
    with closing(sqlite3.connect(lock, timeout=PATIENCE, isolation_level=None)) as connection:
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            message = f"another process is at work with the key '{file}': try again; nothing was changed"
            raise LedgerError(message) from error
        for left in (*file.parent.glob(f"{glob.escape(file.name)}.*.new"), _draft_of(file)):
            left.unlink(missing_ok=True)
        yield


def replaced(keys: Keys) -> Keys:
    """The file holds these keys in place of those that it had, on the disk; for whoever is :func:`alone_with` it.

    Raises: LedgerError.
    """
    draft = _draft_of(keys.file)
    try:
        _write_new(keys, draft)
        draft.replace(keys.file)
        sync_folder(keys.file.parent)
    except OSError as error:
        raise LedgerError(f"the key '{keys.file}' cannot be written: {error}") from error
    finally:
        draft.unlink(missing_ok=True)
    return keys


def _draft_of(file: Path) -> Path:
    return file.with_name(file.name + ".new")


def _write_new(keys: Keys, file: Path) -> Keys:
    text = "\n".join([_FIRST_LINE, *(key.hex() for key in (keys.current, *keys.earlier))]) + "\n"
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            owner_only(written)
            os.write(written, text.encode())
            os.fsync(written)
        finally:
            os.close(written)
        sync_folder(file.parent)
    except FileExistsError:
        raise LedgerError(_THERE.format(file)) from None
    except OSError as error:
        raise LedgerError(f"the key '{file}' cannot be written: {error}") from error
    return keys
