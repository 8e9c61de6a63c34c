"""The policy of a plan file: its content, compiled anew; and the files that came with a text."""

from __future__ import annotations

from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.plan_files.document import PolicyPart
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.content import files, folder_with, written
from dxgeom.policy.source.text import FolderInMemory
from dxgeom.universe.wording import shown


def policy_data(policy: Policy) -> dict[str, Any]:
    """The policy as a file holds it.

    Raises: UnsupportedCombination for a policy that was put together by hand.
    """
    if policy.text is None:
        raise UnsupportedCombination("a plan file holds policies that were read: load or parse one")
    return {"written": written(policy.text), "files": files(policy.text), "fingerprint": policy.fingerprint}


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
