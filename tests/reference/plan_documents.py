"""Plan files as whoever wants to forge one would write them: changed at a place, with a digest that fits again."""

from __future__ import annotations

import copy
import json

from dxgeom.plan_files.text.json_text import digest_of, document_text


def read(path):
    return json.loads(path.read_text(encoding="ascii"))


def write(path, document):
    """The document with the digest that it ought to have."""
    path.write_text(document_text({**document, "digest": digest_of(document)}), encoding="ascii")
    return path


def changed(document, place, value):
    """A copy in which something else stands at a place, such as ``("mechanism", "steps", 0)``."""
    found = copy.deepcopy(document)
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value(inner[place[-1]]) if callable(value) else value
    return found


def without(document, place):
    found = copy.deepcopy(document)
    inner = found
    for step in place[:-1]:
        inner = inner[step]
    del inner[place[-1]]
    return found
