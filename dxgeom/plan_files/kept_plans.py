"""Plans that are kept beside a ledger, so that nothing is planned twice; none is trusted more than any plan file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from dxgeom.errors import DxgeomError, PlanError, TooLarge, UnsupportedCombination
from dxgeom.ledger.stores import file_of
from dxgeom.planner.kind import kind_of
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.text import PolicyText

ENDING: Final = ".plans"
"""Of the folder's name, behind the ledger's."""


@final
@dataclass(frozen=True, eq=False)
class KeptPlan:
    """Where the plan of one question under one policy is kept, whether it is there or not.

    Definition: the file ``<ledger>.plans/<digest>.json``, a plan file; the digest is SHA-256 of the policy and the
    queries as they were written, and of all that was said of the plan. Nothing in it follows from data.
    Guarantee: the folder is its owner's alone (0700), and so is each file (0600). A file gets its name when it is
    whole, so that two who plan at once do not meet. A plan comes from :func:`dxgeom.load_plan`: it is proved anew.
    """

    path: Path
    policy: Policy
    question: Any

    @classmethod
    def beside(cls, ledger: str, policy: Policy, question: Any, how: Mapping[str, Any]) -> KeptPlan | None:
        """Beside a ledger that is a file; None beside others, and for what was not read from files.

        Args: ``how``: what is said of the plan, and of which version it is. Of counts and sums the spend decides
        nothing, and is left out.
        """
        place = file_of(ledger)
        written = getattr(question, "source", None)
        if place is None or policy.text is None or not isinstance(written, PolicyText):
            return None
        said = {name: one for name, one in how.items() if name != "spend" or not kind_of(question).counts}
        name = hashlib.sha256("\n".join(_meaning(policy, question, written, said)).encode("ascii")).hexdigest()
        return cls(place.with_name(place.name + ENDING) / f"{name}.json", policy, question)

    def plan(self, tell: Callable[[str], None]) -> Plan | None:
        """The plan, proved anew; None where there is none that serves, of which ``tell`` gets a line."""
        from dxgeom.plan_files.loading import load_plan

        if not self.path.is_file():
            return None
        try:
            found = load_plan(self.path).plan
        except PlanError as error:
            first = error.diagnostics[0]
            tell(f"a plan kept beside the ledger is not used, and made anew: {first.code}: {first.message}")
            return None
        except DxgeomError as error:
            tell(f"a plan kept beside the ledger is not used, and made anew: {error}")
            return None
        if (found.metric.fingerprint, found.queries.fingerprint) != (
            self.policy.fingerprint,
            self.question.fingerprint,
        ):
            tell("a plan kept beside the ledger is not used, and made anew: it is of another policy or other queries")
            return None
        return found

    def keep(self, plan: Plan) -> None:
        """Keep a plan, in the place of one that is there; nothing where no file can hold it, or none can be written."""
        from dxgeom.plan_files.saving import plan_text

        with suppress(OSError, UnsupportedCombination, TooLarge):
            text = plan_text(plan, self.policy)
            folder = self.path.parent
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            draft = folder / f".{self.path.name}.{os.getpid()}-{os.urandom(6).hex()}.new"
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(text.encode("ascii"))
                draft.replace(self.path)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise


def _meaning(policy: Policy, question: Any, written: PolicyText, said: Mapping[str, Any]) -> list[str]:
    from dxgeom.plan_files.sources import policy_data
    from dxgeom.plan_files.text.json_text import canonical
    from dxgeom.policy.source import yaml_tree

    queries = [yaml_tree.written(written), yaml_tree.files(written), question.fingerprint]
    options = [f"{name}={said[name]!r}" for name in sorted(said)]
    return [canonical(one) for one in (policy_data(policy), queries, options)]
