"""In what privacy is counted, and what a distance tells an observer: numbers only, no metric, no data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.privacy.composition import Composition as Composition
    from dxgeom.privacy.measures import privacy_measure_of as privacy_measure_of
    from dxgeom.privacy.curves import (
        concentrated_delta as concentrated_delta,
        concentrated_epsilon as concentrated_epsilon,
        concentrated_odds as concentrated_odds,
        concentrated_right_guess as concentrated_right_guess,
        concentrated_tail as concentrated_tail,
        gaussian_delta as gaussian_delta,
        gaussian_distance as gaussian_distance,
        gaussian_epsilon as gaussian_epsilon,
        gaussian_right_guess as gaussian_right_guess,
        gaussian_tail as gaussian_tail,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
