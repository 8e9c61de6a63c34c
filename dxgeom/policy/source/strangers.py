"""Texts that are not what they are taken for: a table of data, the other language's file, the name of a file."""

from __future__ import annotations

import re
from typing import Final

from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.tree_places import kind_of
from dxgeom.policy.source.yaml_tree import Mapping, Node, Scalar

_ORDER: Final = "the order is policy, data, queries: 'dxgeom release POLICY DATA QUERIES'"
_FILE_NAME: Final = re.compile(r"\S+\.(ya?ml|json)")
_CELLS: Final = re.compile(r"[^\s,;\t]+([,;\t]\s?[^\s,;\t]*)+(\s|$)")
_POLICY: Final = ("policy", "universe", "rules")
_QUERIES: Final = ("queries",)


def note_no_mapping(root: Node, language: str, advice: str, mistakes: Mistakes) -> None:
    """Note that a text is no mapping, as one of this ``language`` is; nothing is shown of what may be data."""
    what = f"a {language} file is a mapping" if language == "queries" else f"a {language} is a mapping"
    text = root.text if isinstance(root, Scalar) else ""
    if _FILE_NAME.fullmatch(text):
        advice = f"this is the name of a file, which dx.load_{language} reads"
    elif _CELLS.match(text):
        mistakes.add("DX108", root.span, f"{what}, found what looks like a table of data", _ORDER)
        return
    mistakes.add("DX108", root.span, f"{what}, found {kind_of(root)}", advice)


def is_queries(root: Mapping, mistakes: Mistakes) -> bool:
    """Whether a text that is read as a policy is a queries file, which is noted."""
    return _is_other(
        root, _QUERIES, _POLICY, "this is a queries file; the policy is another file, and is named first", mistakes
    )


def is_policy(root: Mapping, mistakes: Mistakes) -> bool:
    """Whether a text that is read as queries is a policy, which is noted."""
    return _is_other(
        root, _POLICY, _QUERIES, "this is a policy; the queries are another file, and are named last", mistakes
    )


def _is_other(root: Mapping, theirs: tuple[str, ...], ours: tuple[str, ...], advice: str, mistakes: Mistakes) -> bool:
    stranger = next((entry[0] for key in theirs if (entry := root.entry(key)) is not None), None)
    if stranger is None or any(root.entry(key) is not None for key in ours):
        return False
    mistakes.add("DX105", stranger.span, f"the key '{stranger.text}' is not known here", advice)
    return True
