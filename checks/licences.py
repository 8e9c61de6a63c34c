"""Licences of all that dxgeom needs, from what each library says of itself: ``python checks/licences.py``.

Looks at what is installed: dxgeom's own requirements, theirs, and so on, without extras; with ``--all`` everything in
this environment. Ends with 1 where a library says none, or one that would bind whoever uses dxgeom: the GPL and its
kin. The LGPL does not, as nothing of such a library is in dxgeom.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageMetadata, PackageNotFoundError, distributions, metadata, requires

from packaging.requirements import Requirement

BINDING = re.compile(
    r"(?<!L)(?<!Lesser )(?<!Lesser General )\b(?:A?GPL|SSPL|BUSL)|(?<!Lesser )General Public", re.IGNORECASE
)
NONE = "says none"


def needed(name: str, found: dict[str, str] | None = None) -> dict[str, str]:
    """What a library needs, itself included, each with its licence, by their names."""
    found = {} if found is None else found
    try:
        found[name] = licence(metadata(name))
    except PackageNotFoundError:
        return found
    for line in requires(name) or ():
        one = Requirement(line)
        key = re.sub(r"[-_.]+", "-", one.name).lower()
        if key not in found and (one.marker is None or one.marker.evaluate({"extra": ""})):
            needed(key, found)
    return found


def licence(said: PackageMetadata) -> str:
    """What a library says of its licence: an expression, a class, or a line."""
    if said["License-Expression"]:
        return str(said["License-Expression"])
    classes = [one.split("::")[-1].strip() for one in said.get_all("Classifier") or () if one.startswith("License ::")]
    lines = (said["License"] or "").strip().splitlines()
    return " OR ".join(classes) or (lines[0] if lines else NONE)


def everything() -> dict[str, str]:
    """Whatever is installed here."""
    return {one.metadata["Name"]: licence(one.metadata) for one in distributions()}


def refused(found: dict[str, str]) -> Iterator[str]:
    """Libraries whose licence is not known, or binds others."""
    for name, words in found.items():
        free = any(not BINDING.search(one) for one in re.split(r"\bOR\b", words))
        if words == NONE or not free:
            yield f"{name}: {words}"


def main(arguments: list[str]) -> int:
    """Print them; 1 where one is refused."""
    found = everything() if "--all" in arguments else needed("dxgeom")
    print("| library | licence |\n|---|---|")
    for name in sorted(found, key=str.lower):
        print(f"| {name} | {found[name]} |")
    wrong = [*refused(found)]
    for one in wrong:
        print(f"licences: {one}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
