"""The accounts of spent budget and the answers that it bought, kept append-only.

Knows no policy, no mechanism and no data: fingerprints, exact spends, and bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dxgeom.doors import doors_of

if TYPE_CHECKING:
    from dxgeom.ledger.history import (
        read_answer as read_answer,
        read_ledger as read_ledger,
        verify_ledger as verify_ledger,
    )
    from dxgeom.ledger.ledger import Ledger as Ledger
    from dxgeom.ledger.history import move_ledger as move_ledger
    from dxgeom.metrics.metric import DataSet as DataSet

__getattr__, __dir__, __all__ = doors_of(__name__, __file__)
