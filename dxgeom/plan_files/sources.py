"""What every plan file begins and ends with: the policy, compiled anew, the files that came with it, and the seal."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any, Final

from pydantic import BaseModel

from dxgeom.errors import UnsupportedCombination
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.plan_files.aims import spend_of
from dxgeom.plan_files.document import FORMAT, PolicyPart
from dxgeom.plan_files.text.json_text import digest_of, document_text
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.plan import Plan, PlanFile
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.text import FolderInMemory
from dxgeom.policy.source.yaml_tree import files, folder_with, written
from dxgeom.universe.wording import shown

_SAME: Final = 1e-9
"""Relative: errors are computed in float64, whose last digits another machine may round otherwise."""


def policy_data(policy: Policy) -> dict[str, Any]:
    """The policy as a file holds it.

    Raises: UnsupportedCombination for a policy that was put together by hand.
    """
    if policy.text is None:
        raise UnsupportedCombination("a plan file holds policies that were read: load or parse one")
    return {"written": written(policy.text), "files": files(policy.text), "fingerprint": policy.fingerprint}


def sealed_text(plan: Plan, metric: VerifiedMetric, policy: Policy, spend: Amount | None, parts: dict[str, Any]) -> str:
    """The text of a plan's file: ``parts`` between what every plan's file begins and ends with.

    Where ``parts`` hold errors, these stand behind the spend. Raises: UnsupportedCombination for another policy.
    """
    if metric.fingerprint != policy.fingerprint:
        raise UnsupportedCombination("this plan is for another policy: give the one that its metric was compiled from")
    document = {
        "format": FORMAT,
        "policy": policy_data(policy),
        **{name: part for name, part in parts.items() if name != "errors"},
        "spend": None if spend is None else str(exact_amount(spend, "spend")),
        **{name: part for name, part in parts.items() if name == "errors"},
        "fingerprint": plan.fingerprint,
    }
    return document_text({**document, "digest": digest_of(document)})


def of_file(plan: Plan, policy: Policy, part: BaseModel) -> Plan:
    """The plan of a document that was read: the law that was planned, made anew and proved again.

    Raises: Wrong for a spend that the policy does not allow.
    """
    said: Any = part
    spend = spend_of(said.spend, policy)
    return replace(plan, file=PlanFile(policy, spend, said.digest, part, partial(_text, part)))


def _text(part: BaseModel) -> str:
    return document_text(part.model_dump())


def require_same_plan(plan: Plan, fingerprint: str) -> None:
    """Raises: Wrong unless a plan that was made anew has the fingerprint that its file states."""
    if plan.fingerprint != fingerprint:
        raise Wrong("DX307", "fingerprint", f"this plan's fingerprint is {plan.fingerprint}")


def require_same_error(document: str, found: float, place: str) -> None:
    """Raises: Wrong unless an error, or a bias, that a file states is what was found, which is a number."""
    found = float(found)
    if not (math.isfinite(found) and abs(float(document) - found) <= _SAME * found):
        raise Wrong("DX307", place, f"this is {found!r}, the file says {document}")


def require_same_errors(stated: list[str], plan: Plan) -> None:
    """Raises: Wrong unless these are the plan's errors at spend 1, in the order of the tables, or boxes."""
    with refused_as("DX307", "errors"):
        found = plan.rmse().tolist()
    if len(stated) != len(found):
        raise Wrong("DX307", "errors", f"there is one for each {plan.queries.one}, in their order")
    for place, (said, error) in enumerate(zip(stated, found, strict=True)):
        require_same_error(said, error, f"errors[{place}]")


def policy_of(part: PolicyPart) -> Policy:
    """The policy, compiled from what the file says.

    Raises: Wrong.
    """
    folder = folder_with(part.files)
    with refused_as("DX303", "policy.written"):
        policy = Policy.from_dict(part.written, folder=folder)
    require_all_read(folder, "policy.files", "DX303")
    if policy.fingerprint != part.fingerprint:
        raise Wrong("DX303", "policy.fingerprint", f"this policy's fingerprint is {policy.fingerprint}")
    return policy


def require_all_read(folder: FolderInMemory, place: str, code: str) -> None:
    """Nothing comes along that decides nothing.

    Raises: Wrong.
    """
    unread = sorted({*folder.contents} - {*folder.taken})
    if unread:
        raise Wrong(code, place, f"nothing names the file {shown(unread[0])} that is here")
