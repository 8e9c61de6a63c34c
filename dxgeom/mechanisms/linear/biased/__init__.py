"""Answering other queries than were asked: a bias known beforehand for less noise.

Touches ``linear`` and everything below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.linear.biased.bias_lines import (
        BiasLines as BiasLines,
        ScaleCost as ScaleCost,
        SquaredError as SquaredError,
        UniformBound as UniformBound,
        cheapest_scale as cheapest_scale,
    )
    from dxgeom.mechanisms.linear.biased.bias_search import (
        JointSearch as JointSearch,
        best_scale as best_scale,
        closest_map as closest_map,
        middle_map as middle_map,
    )
    from dxgeom.mechanisms.linear.biased.bias_search import (
        CommonChange as CommonChange,
        changed_alike as changed_alike,
    )
    from dxgeom.mechanisms.linear.biased.query_change import (
        biased_mechanism as biased_mechanism,
        changed as changed,
        most_saved as most_saved,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
