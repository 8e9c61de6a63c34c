"""Pictures of what a plan does. They need matplotlib, an optional library: ``dxgeom[plots]``."""

from dxgeom.numeric.optional_library import optional_library

optional_library("matplotlib", "plots", "pictures are drawn")
