"""How many fits an estimator and all its copies may pay for: what copies share, so that none is a budget of its own."""

from __future__ import annotations

import threading
from typing import final

from dxgeom.errors import BudgetExceeded


@final
class Lineage:
    """Counts the fits of an estimator, its clones and its copies. Copies of this are this."""

    def __init__(self) -> None:
        self._made = 0
        self._lock = threading.Lock()

    def count(self, allowed: int) -> None:
        """One fit more.

        Raises: BudgetExceeded, before anything is charged, when more were not asked for.
        """
        with self._lock:
            if self._made >= allowed:
                raise BudgetExceeded(
                    f"this estimator and its clones have paid for {self._made} fit{'s' * (self._made != 1)}, and each "
                    "further one is charged as well, as every fold of a cross-validation and every candidate of a "
                    f"search is: ask for that by fits={self._made + 1} or more, or fit a new estimator"
                )
            self._made += 1

    def take_back(self) -> None:
        """A fit that was refused with nothing spent."""
        with self._lock:
            self._made -= 1

    def __copy__(self) -> Lineage:
        return self

    def __deepcopy__(self, memo: object) -> Lineage:
        return self

    def __reduce__(self) -> tuple[type[Lineage], tuple[()]]:
        """In another process it counts from 0: the ledger's file is what all processes share."""
        return Lineage, ()
