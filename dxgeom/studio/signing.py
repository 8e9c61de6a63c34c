"""What the one who signs a policy decides: every warning that asks for it, and a record of it with the fingerprint."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any, Final

from dxgeom.document.document import Notice
from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.policy import Policy
from dxgeom.studio.draft import TriedPolicy, promise
from dxgeom.universe.columns import plain

_LONGEST: Final = 200


def decisions(draft: TriedPolicy, *, saved: bool) -> dict[str, Any]:
    """What is promised, and what is to be decided. Raises: UnsupportedCombination for what cannot be signed."""
    policy, open_ones = _signable(draft, saved=saved)
    return {
        "title": policy.title,
        "fingerprint": policy.fingerprint,
        "budget": plain(policy.budget),
        "rules": [promise(policy, rule) for rule in policy.rules],
        "decisions": [{"lead": one.lead, "more": one.more} for one in open_ones],
    }


def signed(draft: TriedPolicy, *, asked: dict[str, Any], saved: bool) -> dict[str, Any]:
    """The record of who decided what, as the text of a JSON file, and a name for it.

    Raises: UnsupportedCombination unless it is of this policy, by its fingerprint, and everything is decided.
    """
    found = decisions(draft, saved=saved)
    name = asked.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > _LONGEST or not name.isprintable():
        raise UnsupportedCombination(f"a name of 1 to {_LONGEST} letters is needed for the one who signs")
    if asked.get("fingerprint") != found["fingerprint"]:
        raise UnsupportedCombination("the policy has changed since the decisions were shown: read them again")
    if asked.get("decided") != [True] * len(found["decisions"]):
        raise UnsupportedCombination("not everything is decided: tick each decision, or change the policy")
    moment = datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="seconds")
    record = {
        "document": "decisions on a policy",
        "policy": found["title"],
        "file": Path(draft.file).name,
        **{key: found[key] for key in ("fingerprint", "budget", "rules")},
        "decided": found["decisions"],
        "by": name.strip(),
        "at": moment,
    }
    return {
        "file": f"decisions-{found['fingerprint'][:12]}.json",
        "text": json.dumps(record, indent=2, ensure_ascii=False),
    }


def _signable(draft: TriedPolicy, *, saved: bool) -> tuple[Policy, tuple[Notice, ...]]:
    if draft.policy is None:
        raise UnsupportedCombination("a policy with mistakes cannot be signed: mend them first")
    if not saved:
        raise UnsupportedCombination("the file is not saved: save it first, so that what is signed is what is in it")
    if draft.facts is None:
        raise UnsupportedCombination(
            "there are too many possible records to look at their pairs: what is to be decided is not known here"
        )
    stops = [one.lead for one in draft.notices if one.severity == "stop"]
    if stops:
        raise UnsupportedCombination(f"this cannot be signed: {' '.join(stops)}")
    return draft.policy, tuple(one for one in draft.notices if one.severity == "decide")
