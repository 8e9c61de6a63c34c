"""What a text says and what the files beside it hold, as data: all that its meaning is made of."""

from __future__ import annotations

import json
from typing import Any, Final

from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import FolderInMemory, PolicyText
from dxgeom.policy.source.tree_places import as_data
from dxgeom.policy.source.yaml_tree import read_tree

_LONGEST_LINE: Final = 1 << 22


def written(text: PolicyText) -> dict[str, Any]:
    """The mappings, lists and words of a text that has been read without a mistake."""
    root = read_tree(Mistakes(text))
    data = {} if root is None else as_data(root)
    if not isinstance(data, dict):
        raise UnsupportedCombination("a policy, or a file of queries, that is kept elsewhere is a mapping")
    return data


def files(text: PolicyText) -> dict[str, str]:
    """The content of every data file that was read for a text."""
    taken = {} if text.folder is None else text.folder.taken
    return {name: taken[name].decode("utf-8") for name in sorted(taken)}


def in_one_line(text: PolicyText) -> str | None:
    """What a text and its data files say, as one line of JSON; None where that is longer than such lines may be."""
    line = json.dumps({"written": written(text), "files": files(text)}, separators=(",", ":"), ensure_ascii=True)
    return line if len(line) <= _LONGEST_LINE else None


def from_one_line(line: str) -> tuple[Any, FolderInMemory]:
    """The data and the folder of such a line. Raises: ValueError, KeyError, TypeError or AttributeError for another."""
    said = json.loads(line)
    return said["written"], folder_with(said["files"])


def folder_with(contents: dict[str, str]) -> FolderInMemory:
    """The folder of these files."""
    return FolderInMemory({name: text.encode("utf-8") for name, text in contents.items()})
