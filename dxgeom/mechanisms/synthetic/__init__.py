"""Histograms learnt from private answers, with bounds on how far off they can be: by multiplicative weights; and from
whole tables, each measured where a model answers worst, under one charge with an exact vector of budgets inside.

Touches ``selection``, ``parts``, ``linear`` and everything below them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.synthetic.adaptive import adaptive_tables as adaptive_tables
    from dxgeom.mechanisms.synthetic.graphical_model import by_graphical_model as by_graphical_model
    from dxgeom.mechanisms.synthetic.multiplicative_weights import Mwem as Mwem, mwem as mwem

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
