"""A forger who knows how a plan file's fingerprints, errors and digest are made, and lets the package find them."""

from __future__ import annotations

import copy
import re
from typing import Any

import numpy as np

from dxgeom.plan_files import loading
from dxgeom.plan_files.text.json_text import digest_of
from dxgeom.plan_files.wrong import Wrong
from reference.mutated_plans import put, within

MOST_TIMES = 80


def with_own_seals(document: dict[str, Any]) -> dict[str, Any]:
    """The same with what the package says that its fingerprints and errors are, until it refuses something else."""
    document = copy.deepcopy(document)
    for _ in range(MOST_TIMES):
        try:
            document["digest"] = digest_of(document)
            loading.loaded(document)
            return document
        except Wrong as wrong:
            if not _mended(document, wrong):
                return document
    return document


def _mended(document: dict[str, Any], wrong: Wrong) -> bool:
    steps: list[Any] = [int(one) if one.isdigit() else one for one in re.findall(r"[^.\[\]]+", wrong.place)]
    if wrong.code not in ("DX303", "DX304", "DX307") or not steps or within(document, steps[:-1]) is None:
        return False
    if steps[-1] == "fingerprint":
        found = wrong.message.rsplit(" ", 1)[-1]
    elif "errors" in steps and wrong.message.startswith("this is "):
        number = float(wrong.message.split("this is ")[1].split(",")[0])
        if not np.isfinite(number):
            return False
        found = repr(number)
    else:
        return False
    put(document, steps, found)
    return True
