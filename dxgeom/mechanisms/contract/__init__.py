"""What every mechanism offers, compositions of mechanisms, and what a release tells about groups.

Touches ``metrics``, ``ledger`` accounts and ``numeric``; knows no particular mechanism.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.mechanisms.contract.composition import (
        Parallel as Parallel,
        PostProcessed as PostProcessed,
        Sequential as Sequential,
        followed_by as followed_by,
        in_parallel as in_parallel,
        in_sequence as in_sequence,
        least_error_shares as least_error_shares,
    )
    from dxgeom.mechanisms.contract.composition import group_loss as group_loss
    from dxgeom.mechanisms.contract.mechanism import Mechanism as Mechanism
    from dxgeom.mechanisms.contract.readers import HistogramMechanism as HistogramMechanism
    from dxgeom.mechanisms.contract.mechanism import SecretMechanism as SecretMechanism

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
