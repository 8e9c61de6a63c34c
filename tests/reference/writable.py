"""What somebody could still write to, among all that a thing is made of."""

from __future__ import annotations

import numpy as np


def writable(thing, path="", seen=None):
    """Paths to arrays that are not read-only, or views of such, and to lists and dicts, inside the package's things."""
    seen = {} if seen is None else seen
    if id(thing) in seen:
        return
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        whole = thing
        while isinstance(whole, np.ndarray) and not whole.flags.writeable:
            whole = whole.base
        if isinstance(whole, np.ndarray) and thing.size:
            yield path
    elif isinstance(thing, (list, dict, set)):
        yield path
    elif isinstance(thing, tuple):
        for place, one in enumerate(thing[:100]):
            yield from writable(one, f"{path}[{place}]", seen)
    elif type(thing).__module__.startswith("dxgeom") and hasattr(thing, "__dict__"):
        for name, one in vars(thing).items():
            yield from writable(one, f"{path}.{type(thing).__name__}.{name}".lstrip("."), seen)
