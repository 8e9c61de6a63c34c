"""Answers in files beside the ledger: room kept for them before the charge, and large ones for good.

An answer's file is gzip, so that any tool can read it; its comment says the answer's size and digest, and by which
secret it is the answer of its charge, so that it can be booked once whoever charged is gone.
"""

from __future__ import annotations

import contextlib
import errno
import os
import platform
import re
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, NamedTuple, final

from dxgeom.ledger.tables import digest_of

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


_HEAD: Final = b"\x1f\x8b\x08\x10\x00\x00\x00\x00\x00\xff"
"""gzip, with a comment and no time."""

_COMMENT: Final = re.compile(
    rb"dxgeom answer to entry [0-9]+, ([0-9]{1,15}) bytes, digest ([0-9a-f]{64})(?:, secret ([0-9a-f]{64}))?\0"
)
_ROOM: Final = b"dxgeom keeps this room for an answer: %b\n"
_KEPT_BY: Final = re.compile(rb"dxgeom keeps this room for an answer: ([0-9a-f-]{1,80})\n")
_LONGEST_HEAD: Final = 512
_BLOCK: Final = 2**20


class Written(NamedTuple):
    """An answer, and the secret that its charge committed to; None of charges that committed to none."""

    content: bytes
    secret: str | None


@final
@dataclass(frozen=True)
class AnswerFiles:
    """The files of the ledger at ``ledger``, each named by its entry and readable by its owner only."""

    ledger: Path

    def path_of(self, entry: int) -> Path:
        """Where the answer of an entry is, if it has a file."""
        return self.ledger.with_name(f"{self.ledger.name}.answer-{entry}.gz")

    def reserve(self, entry: int, size: int) -> None:
        """Make room for an answer of so many bytes: writing it later takes no further blocks of the disk.

        Guarantee: on file systems that overwrite in place (ext4, XFS, tmpfs, NTFS); those that copy on every write
        (Btrfs, ZFS) may still find the disk full. Raises: OSError, with nothing left behind; FileExistsError for a file
        that is no such room, such as an answer of another ledger that once had this name.
        """
        path = self.path_of(entry)
        # A killed process may have left room for this number behind and never been charged.
        self.drop(entry)
        if path.exists():
            raise FileExistsError(
                errno.EEXIST, f"'{path.name}' is in the way, and no answer of this ledger: move it away"
            )
        self._make(entry, _largest(size))

    def write(self, entry: int, entry_seal: str, answer: Written) -> None:
        """Write the answer, once, into the room that was kept for it; it is on the disk when this returns.

        Raises: FileExistsError when an answer is there, of this entry or another; OSError.
        """
        new = not self.path_of(entry).exists()
        if not new and not self._is_room(entry):
            raise FileExistsError(errno.EEXIST, f"'{self.path_of(entry).name}' is there already")
        head, *pieces = _compressed(entry, entry_seal, answer)
        if new:
            self._make(entry)
        with _opened(self.path_of(entry)) as file:
            # The beginning comes last: whoever is killed before it leaves what still says that it is but room.
            file.seek(len(head))
            for piece in pieces:
                file.write(piece)
            file.truncate()
            _to_disk(file)
            file.seek(0)
            file.write(head)
            _to_disk(file)
        if new:
            sync_folder(self.ledger.parent)

    def read(self, entry: int, entry_seal: str) -> Written | None:
        """The answer, None where there is none that is whole and says that it is of this very entry; whether its
        secret is right is for others to see. Raises: OSError."""
        try:
            held = self.path_of(entry).read_bytes()
        except FileNotFoundError:
            return None
        found = _COMMENT.match(held, len(_HEAD)) if held.startswith(_HEAD) else None
        if found is None:
            return None
        inflate = zlib.decompressobj(31)
        try:
            content = inflate.decompress(held, int(found[1]) + 1)
        except zlib.error:
            return None
        whole = inflate.eof and len(content) == int(found[1])
        if not whole or digest_of(entry_seal, content).encode() != found[2]:
            return None
        return Written(content, None if found[3] is None else found[3].decode())

    def drop(self, entry: int, entry_seal: str | None = None) -> None:
        """Take away the room for an entry's answer, and with the entry's seal the answer itself.

        Nothing else is taken away. What is not there, or cannot be taken away, does not matter.
        """
        with contextlib.suppress(OSError):
            if self._is_room(entry) or (entry_seal is not None and self.read(entry, entry_seal) is not None):
                self.path_of(entry).unlink(missing_ok=True)

    def entries(self) -> list[int]:
        """Which entries have a file, answered or only room for it. Raises: OSError."""
        name = re.compile(re.escape(self.ledger.name) + r"\.answer-([1-9][0-9]{0,17})\.gz")
        with os.scandir(self.ledger.parent) as found:
            matches = (name.fullmatch(one.name) for one in found)
            return sorted(int(match[1]) for match in matches if match)

    def is_abandoned(self, entry: int) -> bool:
        """Whether the file only keeps room for an answer, and who was to write it is gone. Raises: OSError."""
        path = self.path_of(entry)
        kept_by = _KEPT_BY.match(_head(path))
        return self._is_room(entry) and is_left_over(path, kept_by[1].decode() if kept_by else "")

    def _make(self, entry: int, size: int = 0) -> None:
        """Make the entry's file, with room for so many bytes. Raises: OSError, with nothing left behind."""
        mark = maker_mark()
        draft = draft_of(self.ledger, mark)
        try:
            with _opened(draft) as file:
                file.write(_ROOM % mark.encode())
                file.flush()
                if size:
                    _allocate(file, size)
            # Under its name there is never a file that does not say whose room it is, whenever its maker is killed.
            os.link(draft, self.path_of(entry))
        finally:
            draft.unlink(missing_ok=True)

    def _is_room(self, entry: int) -> bool:
        """Whether the file holds nothing but room. Raises: OSError for no such file."""
        head = _head(self.path_of(entry))
        # Earlier versions left a file of zeros when they were killed while they made room.
        return _KEPT_BY.match(head) is not None or not head.strip(b"\0")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_LONGEST_HEAD)


def sync_folder(folder: Path) -> None:
    """Puts names of files on the disk. Raises: OSError."""
    # Windows has no such call; there the file system keeps the order itself.
    if os.name == "posix" and folder.is_dir():
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def owner_only(descriptor: int) -> None:
    """Readable by its owner only, whatever the umask. Raises: OSError."""
    if os.name == "posix":
        os.fchmod(descriptor, 0o600)


def _opened(path: Path) -> IO[bytes]:
    descriptor = os.open(
        path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0), 0o600
    )
    owner_only(descriptor)
    return os.fdopen(descriptor, "r+b")


def _allocate(file: IO[bytes], size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.EOPNOTSUPP):
                raise
        else:
            return
    for start in range(0, size, _BLOCK):
        file.write(bytes(min(_BLOCK, size - start)))
    _to_disk(file)


def _to_disk(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _largest(size: int) -> int:
    """No answer of so many bytes takes more as a file: what deflate cannot shrink it stores, five bytes a block."""
    return _LONGEST_HEAD + size + size // 1000 + 64


def _compressed(entry: int, entry_seal: str, answer: Written) -> Iterator[bytes]:
    content, secret = answer
    said = f"{len(content)} bytes, digest {digest_of(entry_seal, content)}{f', secret {secret}' if secret else ''}"
    yield _HEAD + f"dxgeom answer to entry {entry}, {said}\0".encode()
    deflate = zlib.compressobj(6, zlib.DEFLATED, -15)
    for start in range(0, len(content), _BLOCK):
        yield deflate.compress(content[start : start + _BLOCK])
    yield deflate.flush()
    yield zlib.crc32(content).to_bytes(4, "little") + (len(content) % 2**32).to_bytes(4, "little")
