"""Pictures of what a plan does. They need matplotlib, an optional library: ``dxgeom[plots]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dxgeom.doors import doors_of
from dxgeom.numeric.optional_library import optional_library

if TYPE_CHECKING:
    from dxgeom.report.body_pictures import (
        contour_picture as contour_picture,
        shadows_picture as shadows_picture,
        solid_picture as solid_picture,
    )
    from dxgeom.report.canvas import save as save
    from dxgeom.report.pictures import (
        improvement_factors as improvement_factors,
        improvement_picture as improvement_picture,
        noise_body_picture as noise_body_picture,
    )
    from dxgeom.report.statistic_pictures import adjacent_outputs_picture as adjacent_outputs_picture

_open, __dir__, __all__ = doors_of(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        optional_library("matplotlib", "plots", "pictures are drawn")
    return _open(name)
