"""What the page of the studio asks, and what it is answered: one policy, its draft, and the policy before."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Final, final

from dxgeom.document.page import html_of
from dxgeom.errors import DataError, UnsupportedCombination, file_errors
from dxgeom.policy.source.text import MAX_BYTES, FolderOnDisk, plain_lines
from dxgeom.studio.answers import TriedAnswers
from dxgeom.studio.comparing import compared, reasons
from dxgeom.studio.draft import TriedPolicy, cards, draft_of, lever_state, mistakes_of
from dxgeom.studio.nearness import nearness
from dxgeom.studio.signing import decisions, signed

Answer = dict[str, Any]
_MOST_WANTED: Final = 1e300
_HALVES: Final = re.compile(r"[\ud800-\udfff]")  # no text has them, and no file can
_ANOTHER: Final = "The draft was changed in another window; it is shown as it is now."


@final
class Studio:
    """One policy file that is tried out.

    The draft lives here and nowhere else until it is saved. ``before``: what changes are measured against, which is
    the file as it was at the start, or a draft that was taken in its place. Every question is answered one at a time.
    """

    def __init__(self, path: str | os.PathLike[str], queries: str | os.PathLike[str] | None = None) -> None:
        """``queries``: the file of questions, which is only read. Raises: DataError where a file cannot be read."""
        self.path = Path(path)
        self._kept = self._on_disk()
        self.draft = draft_of(self._text(self._kept), str(self.path), FolderOnDisk(self.path.parent))
        self.before = self.settled = self.draft
        self.revision = 0
        self.answers = TriedAnswers(None if queries is None else Path(queries))
        self._lock, self._planning = Lock(), Lock()
        self.questions: Mapping[str, Callable[[Answer], Answer]] = {
            "state": self._as_it_is,
            "move": partial(self._changed, self._moved),
            "edit": partial(self._changed, self._edited),
            "settle": self._settled,
            "reason": self._reason,
            "near": self._near,
            "plan": self._planned,
            "answers": self._answers,
            "price": self._price,
            "try": self._tried,
            "rebase": self._rebased,
            "decisions": lambda asked: self._held(decisions),
            "sign": lambda asked: self._held(partial(signed, asked=asked)),
            "save": self._saved,
        }

    @property
    def saved(self) -> bool:
        """Whether the file holds the draft."""
        return self.draft.content == self._text(self._kept)

    def ask(self, question: str, asked: Answer) -> Answer:
        """The answer to a question of the page. Raises: KeyError for no question; DxgeomError for what is refused."""
        return self.questions[question](asked)

    def _on_disk(self) -> bytes:
        with file_errors(self.path, "read"):
            content = self.path.read_bytes()
        if len(content) > MAX_BYTES:
            raise DataError(f"'{self.path}' has {len(content):,} bytes; at most {MAX_BYTES:,} are read")
        return content

    def _text(self, content: bytes) -> str:
        try:
            return plain_lines(content.decode("utf-8"))
        except UnicodeDecodeError as error:
            raise DataError(f"'{self.path}' is not UTF-8 text: save it as UTF-8 first") from error

    def _as_it_is(self, asked: Answer) -> Answer:
        with self._lock:
            return self._state()

    def _state(self, note: str = "") -> Answer:
        draft, policy = self.draft, self.draft.policy
        budget = [] if policy is None else [lever_state(one, policy) for one in draft.levers if one.rule is None]
        return {
            "revision": self.revision,
            "note": note,
            "file": self.path.name,
            "text": draft.content,
            "title": "" if policy is None else policy.title,
            "about": "" if policy is None else policy.about,
            "privacy": "" if policy is None else policy.privacy,
            "fingerprint": "" if policy is None else policy.fingerprint,
            "saved": self.saved,
            "queries": "" if self.answers.path is None else self.answers.path.name,
            "mistakes": mistakes_of(draft),
            "budget": budget,
            "rules": cards(draft, self.settled),
        }

    def _changed(self, change: Callable[[Answer], TriedPolicy], asked: Answer) -> Answer:
        """The state after a change, which is made only to the draft that the page has seen."""
        with self._lock:
            if asked.get("revision") != self.revision:
                return self._state(_ANOTHER)
            self.draft = change(asked)
            self.revision += 1
            return self._state()

    def _moved(self, asked: Answer) -> TriedPolicy:
        name, value = word(asked, "lever"), word(asked, "value")
        lever = next((one for one in self.draft.levers if one.name == name), None)
        if lever is None:
            raise UnsupportedCombination(f"the policy has no number {name!r} that could be moved")
        return self.draft.moved(lever, value)

    def _edited(self, asked: Answer) -> TriedPolicy:
        draft = self.draft.with_text(plain_lines(word(asked, "text")))
        if draft.policy is not None:
            self.settled = draft
        return draft

    def _settled(self, asked: Answer) -> Answer:
        """What takes longer than a move may: examples chosen anew, what to decide, and what changed."""
        draft, before = self.draft, self.before
        found = {"notices": html_of(draft.notices), "compared": compared(before, draft)}
        if draft.policy is not None and draft.examples is not None:  # which takes its time, and not that of a move
            with self._lock:
                self.settled = draft if self.draft is draft else self.settled
        return {**self._as_it_is(asked), **found}

    def _reason(self, asked: Answer) -> Answer:
        return reasons(
            self.before, self.draft, word(asked, "attribute"), number(asked, "first"), number(asked, "second")
        )

    def _near(self, asked: Answer) -> Answer:
        ends = number(asked, "first"), number(asked, "second")
        return nearness(self.before, self.draft, word(asked, "attribute"), *ends)

    def _planned(self, asked: Answer) -> Answer:
        with self._planning:
            self.answers.planned(self.draft)
        return self._answers(asked)

    def _answers(self, asked: Answer) -> Answer:
        return self.answers.shown(self.draft, word(asked, "share"))

    def _price(self, asked: Answer) -> Answer:
        wanted = asked.get("wanted")
        if not isinstance(wanted, int | float) or isinstance(wanted, bool) or not abs(wanted) <= _MOST_WANTED:
            raise UnsupportedCombination("the question lacks 'wanted', a number")
        return self.answers.price(word(asked, "name"), float(wanted))

    def _tried(self, asked: Answer) -> Answer:
        return self.answers.tried(word(asked, "share"))

    def _rebased(self, asked: Answer) -> Answer:
        """From now on changes are measured against the present draft."""
        with self._lock:
            if self.draft.policy is None:
                raise UnsupportedCombination("the policy has mistakes: mend them before you compare with it")
            self.before = self.draft
        return self._settled(asked)

    def _held(self, made: Callable[..., Answer]) -> Answer:
        """What is said of the policy in the file, which is read anew, with the data files that it names.

        Raises: UnsupportedCombination where that is not what is shown.
        """
        with self._lock:
            draft, saved = self.draft, self.saved
            if saved and draft.policy is not None:
                now = draft_of(self._text(self._on_disk()), draft.file, FolderOnDisk(self.path.parent))
                if now.policy is None or now.policy.fingerprint != draft.policy.fingerprint:
                    raise UnsupportedCombination(
                        f"'{self.path.name}', or a file that it names, was changed by another program: what is shown "
                        "here is not what is in it; start the studio anew"
                    )
        return made(draft, saved=saved)

    def _saved(self, asked: Answer) -> Answer:
        """The draft written to the file it came from, and to no other, unless somebody else changed it meanwhile."""
        with self._lock:
            if asked.get("revision") != self.revision:
                return self._state(_ANOTHER)
            if self._on_disk() != self._kept:
                raise UnsupportedCombination(
                    f"'{self.path.name}' was changed by another program and is not overwritten: copy the text "
                    "from here, and start the studio anew"
                )
            ending = "\r\n" if b"\r\n" in self._kept else "\n"
            content = self.draft.content.replace("\n", ending).encode("utf-8")
            with file_errors(self.path, "written"):
                _replace(self.path, content)
            self._kept = content
            return self._state("Saved.")


def _replace(path: Path, content: bytes) -> None:
    """The file is whole at any time, the old or the new; where a link leads to it, the link stays."""
    target = path.resolve(strict=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".new", dir=target.parent)
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.chmod(target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def word(asked: Answer, key: str) -> str:
    """A text of a question. Raises: UnsupportedCombination."""
    found = asked.get(key)
    if not isinstance(found, str) or len(found) > MAX_BYTES or _HALVES.search(found):
        raise UnsupportedCombination(f"the question lacks {key!r}, a text")
    return found


def number(asked: Answer, key: str) -> int:
    """A whole number of a question. Raises: UnsupportedCombination."""
    found = asked.get(key)
    if not isinstance(found, int) or isinstance(found, bool):
        raise UnsupportedCombination(f"the question lacks {key!r}, a whole number")
    return found
