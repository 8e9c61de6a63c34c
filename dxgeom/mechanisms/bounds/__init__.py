"""What no noise errs less than, for workloads of any size: by duality on weights of pairs, and in closed form.

Touches ``mechanisms/linear``.
"""

from __future__ import annotations

from dxgeom.doors import doors_of

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
