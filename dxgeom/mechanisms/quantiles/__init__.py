"""Quantiles and medians of one ordered attribute, by what it would cost to make a value the quantile.

Touches ``contract``, ``noise``, ``metrics`` and ``universe``; knows no queries.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.quantiles.choice import (
        QuantileCandidate as QuantileCandidate,
        QuantileChoice as QuantileChoice,
        choice_between as choice_between,
        evenly_spread as evenly_spread,
        expected_errors as expected_errors,
        mechanism_of_form as mechanism_of_form,
        quantile_choice as quantile_choice,
        quantile_mechanism as quantile_mechanism,
        quantiles_by as quantiles_by,
    )
    from dxgeom.mechanisms.quantiles.laplace_quantiles import LaplaceQuantiles as LaplaceQuantiles
    from dxgeom.mechanisms.quantiles.question import (
        OrderedValues as OrderedValues,
        QuantileAnswer as QuantileAnswer,
        QuantileQuestion as QuantileQuestion,
        mask_of as mask_of,
        ordered_values as ordered_values,
        quantile_question as quantile_question,
        ranks_of as ranks_of,
    )
    from dxgeom.mechanisms.quantiles.reach import (
        LineReach as LineReach,
        ListedReach as ListedReach,
        Reach as Reach,
        reach_of as reach_of,
        whole_units as whole_units,
    )
    from dxgeom.mechanisms.quantiles.transport import (
        LargestLength as LargestLength,
        TransportQuantiles as TransportQuantiles,
        lengths_with_absence as lengths_with_absence,
        parts_of_a_record as parts_of_a_record,
    )

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
