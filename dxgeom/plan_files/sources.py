"""The policy of a plan file: its content, compiled anew; and the files that came with a text."""

from __future__ import annotations

from typing import Any

from dxgeom.errors import UnsupportedCombination
from dxgeom.plan_files.document import PolicyPart
from dxgeom.plan_files.wrong import Wrong, refused_as
from dxgeom.policy.policy import Policy
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import FolderInMemory, PolicyText
from dxgeom.policy.source.tree_places import as_data
from dxgeom.policy.source.yaml_tree import read_tree
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


def written(text: PolicyText) -> dict[str, Any]:
    """The mappings, lists and words of a text that has been read without a mistake."""
    root = read_tree(Mistakes(text))
    data = {} if root is None else as_data(root)
    if not isinstance(data, dict):
        raise UnsupportedCombination("a plan file holds policies and queries that are mappings")
    return data


def files(text: PolicyText) -> dict[str, str]:
    """The content of every data file that was read for a text."""
    taken = {} if text.folder is None else text.folder.taken
    return {name: taken[name].decode("utf-8") for name in sorted(taken)}


def folder_with(contents: dict[str, str]) -> FolderInMemory:
    """The folder of these files."""
    return FolderInMemory({name: text.encode("utf-8") for name, text in contents.items()})


def require_all_read(folder: FolderInMemory, place: str, code: str) -> None:
    """Nothing comes along that decides nothing.

    Raises: Wrong.
    """
    unread = sorted({*folder.contents} - {*folder.taken})
    if unread:
        raise Wrong(code, place, f"nothing names the file {shown(unread[0])} that is here")
