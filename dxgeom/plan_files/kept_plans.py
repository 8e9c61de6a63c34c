"""Plans that are kept beside a ledger, so that nothing is planned twice; none is trusted more than any plan file."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from dxgeom.errors import DataError, DxgeomError, PlanError, TooLarge, UnsupportedCombination
from dxgeom.ledger.stores import file_of
from dxgeom.planner.kind import kind_of
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.policy.source import yaml_tree
from dxgeom.policy.source.text import PolicyText

ENDING: Final = ".plans"
"""Of the folder's name, behind the ledger's."""
MOST_KEPT: Final = 100
"""Plans in a folder; a plan of a thousand answers has about a megabyte."""
_DIGITS: Final = frozenset("0123456789abcdef")


@final
@dataclass(frozen=True, eq=False)
class KeptPlan:
    """Where the plan of one question under one policy is kept, whether it is there or not.

    Definition: the file ``<ledger>.plans/<digest>.json``, a plan file; the digest is SHA-256 of the policy and the
    queries as they were written, and of all that was said of the plan. Nothing in it follows from data.
    Guarantee: the folder is its owner's alone (0700), and so is each file (0600); nothing is taken from, or left in,
    what is a symbolic link, another's, or open for others to write. A file gets its name when it is whole, so that two
    who plan at once do not meet. A plan comes from :func:`dxgeom.load_plan`: it is proved anew. It is used where policy
    and queries stand in it to the letter: fingerprints leave out the data set that is charged, and how a file is cut.
    """

    path: Path
    policy: Policy
    question: Any

    @classmethod
    def beside(cls, ledger: str, policy: Policy, question: Any, how: Mapping[str, Any]) -> KeptPlan | None:
        """Beside a ledger that is a file; None beside others, and for what was not read from files.

        Args: ``how``: what is said of the plan, and of which version it is. Of counts and sums the spend decides
        nothing, and is left out; but where the policy lets tables follow the data.
        """
        place = file_of(ledger)
        written = getattr(question, "source", None)
        if place is None or place.name in ("", "..") or policy.text is None or not isinstance(written, PolicyText):
            return None
        counts = kind_of(question).counts and how.get("mechanism") != "families"
        counts = counts and policy.resolved.document.adaptive is None  # else the spend decides whether tables follow
        said = {name: one for name, one in how.items() if name != "spend" or not counts}
        name = hashlib.sha256("\n".join(_meaning(policy, question, written, said)).encode("ascii")).hexdigest()
        return cls(place.with_name(place.name + ENDING) / f"{name}.json", policy, question)

    def plan(self, tell: Callable[[str], None]) -> Plan | None:
        """The plan, proved anew; None where there is none that serves, of which ``tell`` gets a line."""
        from dxgeom.plan_files.loading import load_plan

        try:
            if not self._is_there():
                return None
            found = load_plan(self.path)
        except PlanError as error:
            first = error.diagnostics[0]
            return _not_used(tell, f"{first.code}: {first.message}")
        except DxgeomError as error:
            return _not_used(tell, str(error))
        except OSError as error:
            return _not_used(tell, f"it cannot be read: {error.strerror}")
        return found.plan if self._is_of_this(found) else _not_used(tell, "it is of another policy or other queries")

    def _is_there(self) -> bool:
        """Whether a file of this name is there. Raises: DataError where others may have written it; OSError."""
        for place in (self.path.parent, self.path):
            try:
                _require_own(place)
            except FileNotFoundError:
                return False
        return self.path.is_file()

    def _is_of_this(self, found: Plan) -> bool:
        said: Any = found.file
        if getattr(said.document, "queries", None) is None:
            return False
        same = (found.metric.fingerprint, found.queries.fingerprint) == (
            self.policy.fingerprint,
            self.question.fingerprint,
        )
        texts: Any = ((said.document.policy, self.policy.text), (said.document.queries, self.question.source))
        return same and all(
            (part.written, part.files) == (yaml_tree.written(text), yaml_tree.files(text)) for part, text in texts
        )

    def keep(self, plan: Plan) -> bool:
        """Keep a plan, in the place of one that is there; False where no file can hold it, or none can be written."""
        from dxgeom.plan_files.saving import plan_text

        with suppress(OSError, DataError, UnsupportedCombination, TooLarge):
            if plan.queries.fingerprint != self.question.fingerprint:
                # Of another form than what was asked: its file would not be known again.
                return False
            text = plan_text(plan, self.policy)
            folder = self.path.parent
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            _require_own(folder)
            draft = folder / f".{self.path.name}.{os.getpid()}-{os.urandom(6).hex()}.new"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text.encode("ascii"))
                draft.replace(self.path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
            self._leave_newest()
            return True
        return False

    def _leave_newest(self) -> None:
        """Of more than :data:`MOST_KEPT` plans those that were written first are deleted, and never this one.

        Nothing else in the folder is touched. Another process may delete the same ones at once.
        """
        with suppress(OSError):
            each = self.path.parent.glob("?" * 64 + ".json")
            written = {one: one.lstat() for one in each if _DIGITS.issuperset(one.stem)}
            plans = sorted(
                (one for one, found in written.items() if one != self.path and stat.S_ISREG(found.st_mode)),
                key=lambda one: written[one].st_mtime_ns,
            )
            for one in plans[: max(0, len(plans) + 1 - MOST_KEPT)]:
                one.unlink(missing_ok=True)


def _not_used(tell: Callable[[str], None], why: str) -> Plan | None:
    tell(f"a plan kept beside the ledger is not used, and made anew: {why}")
    return None


def _require_own(place: Path) -> None:
    """Raises: DataError for a link, and for what others than who asks may have written; OSError."""
    found = place.lstat()
    # Windows keeps no owner and no such modes here; what its folders inherit is left to it.
    others = os.name == "posix" and (found.st_uid != os.geteuid() or found.st_mode & 0o022)
    if stat.S_ISLNK(found.st_mode) or others:
        raise DataError(f"'{place}' is a link, another's, or open for others to write")


def _meaning(policy: Policy, question: Any, written: PolicyText, said: Mapping[str, Any]) -> list[str]:
    from dxgeom.plan_files.sources import policy_data
    from dxgeom.plan_files.text.json_text import canonical

    queries = [yaml_tree.written(written), yaml_tree.files(written), question.fingerprint]
    options = [f"{name}={said[name]!r}" for name in sorted(said)]
    return [canonical(one) for one in (policy_data(policy), queries, options)]
