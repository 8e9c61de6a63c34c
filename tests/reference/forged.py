"""What cannot be made: a frozen thing with other contents, past every check that would refuse it."""

from __future__ import annotations

import copy
from dataclasses import fields


def forged(frozen, **changed):
    """A copy with these fields; what it had worked out from the old ones is forgotten."""
    found = copy.copy(frozen)
    own = {field.name: getattr(frozen, field.name) for field in fields(frozen)}
    vars(found).clear()
    for name, value in (own | changed).items():
        object.__setattr__(found, name, value)
    return found
