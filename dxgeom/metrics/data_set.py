"""Which data an account is about: policies come and go, and editions follow each other, while the people stay."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dxgeom.errors import LedgerError


@final
@dataclass(frozen=True)
class DataSet:
    """The data that a release reads, as its data holder calls them.

    ``name``: the same for all policies and editions that are about the same people; None where nobody named it, and
    then a ledger serves one policy only. ``edition``: which version of the data. ``disjoint``: no person is in two
    editions, so that what is spent on one is not spent on another; else spends add across editions. ``budget``: a cap
    on the sum of all spends under whatever policies (of one edition, where editions are disjoint); about a pair (i, j)
    it promises that all releases together tell at most budget · max_k d_k(i, j), k over the policies.
    Raises: LedgerError where these do not go together.
    """

    name: str | None = None
    edition: str | None = None
    disjoint: bool = False
    budget: Fraction | None = None

    def __post_init__(self) -> None:
        if self.name is None and (self.edition is not None or self.disjoint or self.budget is not None):
            raise LedgerError("a data set that has an edition or a budget has a name; add 'name' to the dataset")
        if self.disjoint and self.edition is None:
            raise LedgerError("people that are disjoint between editions need an edition; add 'edition' to the dataset")

    def completed(self, given: DataSet) -> DataSet:
        """This data set, with what else was said of it. Raises: LedgerError when that contradicts what it says."""
        if self.name is None:
            return given
        stated = ((self.name, given.name), (self.edition, given.edition), (self.budget, given.budget))
        contradicts = any(None not in pair and pair[0] != pair[1] for pair in stated)
        if contradicts or (given.disjoint and not self.disjoint):
            raise LedgerError(
                f"the policy is about {self}, and these were said to be {given}; what a policy states is not "
                "overridden: leave the data set out, or change the policy"
            )
        return DataSet(self.name, self.edition or given.edition, self.disjoint, self.budget or given.budget)

    def __str__(self) -> str:
        named = "a data set without a name" if self.name is None else f"data set '{self.name}'"
        return named if self.edition is None else f"{named}, edition '{self.edition}'"


UNNAMED = DataSet()
"""Data that nobody named: their ledger serves one policy."""
