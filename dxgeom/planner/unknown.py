"""What is not known of a kind of question, or not said in that form: why, and what there is instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from dxgeom.errors import UnsupportedCombination


@final
@dataclass(frozen=True)
class Unknown:
    """A member that other kinds have: ``why`` this one has not, and what to take ``instead``, in words."""

    why: str
    instead: str

    @property
    def refusal(self) -> UnsupportedCombination:
        """What the member raises."""
        return UnsupportedCombination(f"{self.why}; {self.instead}")
