"""What the answers of every plan can say of themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dxgeom.displayed import Displayed
from dxgeom.errors import UnsupportedCombination
from dxgeom.numeric.arrays import Columns
from dxgeom.planner.answers.ratios import EVERYTHING, Combined, Range, RatioAnswer
from dxgeom.planner.answers.tables import of_query, part_of, with_labels
from dxgeom.planner.unknown import Unknown
from dxgeom.universe.wording import did_you_mean, shown
from dxgeom.universe.workloads.groups import AnswerOrigin

if TYPE_CHECKING:
    from dxgeom.planner.estimates.estimate import Estimate, EstimateWish
    from dxgeom.universe.labels import PolicyLabels


class ShownAnswers(Displayed, ABC):
    """What a plan answered: by name, as numbers with what is known of their errors, as a table, and as the part of a
    release's JSON that is about answers. What a kind has not it refuses in two sentences of its own."""

    answers_a_list: ClassVar[bool] = False
    """Whether they are answers to a list of queries, with noise on each."""
    never_joint: ClassVar[str] = ""
    """Why their intervals cannot hold all at once; empty where they can, or always do."""
    no_numbers: ClassVar[Unknown] = Unknown(
        "these answers are not one list of numbers", "take them by name, or to_arrow()"
    )
    no_bars: ClassVar[Unknown]
    """Why there are no intervals."""
    no_rmse: ClassVar[Unknown]
    no_biases: ClassVar[Unknown] = Unknown(
        "how far these answers are off apart from noise is in no number", "as_dict() has what is known of errors"
    )
    no_law: ClassVar[Unknown] = Unknown(
        "only of answers to a list of queries is the joint noise known that ratios and sums need",
        "ask for what is to be combined in a list of queries",
    )
    not_to_agree: ClassVar[Unknown] = Unknown(
        "only answers to a list of queries are made to agree", "others agree as they are made: leave out --consistent"
    )

    no_estimate: ClassVar[Unknown] = Unknown(
        "only answers to a list of queries, whole tables and boxes are moved to what is known",
        "take these as they were released",
    )

    @property
    @abstractmethod
    def question_fingerprint(self) -> str | None:
        """SHA-256 of what was asked; None where nobody knows."""

    @property
    @abstractmethod
    def by_name(self) -> Mapping[str, Any]:
        """Every answer by its name."""

    @property
    def all_origins(self) -> Sequence[AnswerOrigin]:
        """What each answer is about; itself, where no query of a file has several."""
        return tuple(map(AnswerOrigin, self.names))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What each answer is called."""
        return tuple(self.by_name)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """(K,): the private answers; of dates days since the first."""
        raise self.no_numbers.refusal

    @cached_property
    def exact_values(self) -> tuple[Fraction, ...]:
        """(K,): the private answers as exact rationals."""
        return tuple(map(Fraction, self.values.tolist()))

    @cached_property
    def rmse(self) -> NDArray[np.float64]:
        """(K,): root mean squared error of each answer."""
        raise self.no_rmse.refusal

    @cached_property
    def biases(self) -> NDArray[np.float64]:
        """(K,): how far each answer can be off apart from its noise."""
        raise self.no_biases.refusal

    def half_widths(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K,): each answer's error is at most this with probability *at least* ``level``."""
        raise self.no_bars.refusal

    def intervals(self, level: float = 0.95, *, joint: bool = False) -> NDArray[np.float64]:
        """(K, 2): each true answer lies between these with probability *at least* ``level``."""
        widths = self.half_widths(level, joint=joint)
        return np.column_stack([self.values - widths, self.values + widths])

    def __getitem__(self, name: str) -> Any:
        """The answer of that name.

        Raises: UnsupportedCombination for an unknown name.
        """
        if not isinstance(name, str):
            raise UnsupportedCombination(
                f"answers are asked for by name, found {name!r}; all of them are in to_arrow()"
            )
        if name in self.by_name:
            return self.by_name[name]
        several = any(origin.query == name for origin in self.all_origins)
        advice = f"it has several: take to_arrow(query={name!r})" if several else did_you_mean(name, self.by_name)
        raise UnsupportedCombination(f"no answer is called {shown(name)}" + (f"; {advice}" if advice else ""))

    def ratios(self, level: float = 0.95, *, joint: bool = False) -> tuple[RatioAnswer, ...]:
        """The ratios that were asked for; none, where no ratio can be."""
        return ()

    def ratio(
        self,
        numerator: Combined,
        denominator: Combined,
        level: float = 0.95,
        *,
        within: Range = EVERYTHING,
    ) -> RatioAnswer:
        """The ratio of two answers, or of combinations: see :meth:`dxgeom.Release.ratio`."""
        raise self.no_law.refusal

    def combination(self, shares: Combined, level: float = 0.95) -> tuple[float, float]:
        """Value and half-width of a combination of answers: see :meth:`dxgeom.Release.combination`."""
        raise self.no_law.refusal

    def estimated(self, plan_fingerprint: str, wish: EstimateWish) -> Estimate:
        """The answers moved to what is known: see :meth:`dxgeom.Release.estimate`."""
        raise (self.no_estimate if wish.nonnegative else self.not_to_agree).refusal

    def columns(self, level: float = 0.95, query: str | None = None, *, joint: bool = False) -> Columns:
        """A row for each answer: see :meth:`dxgeom.Release.to_arrow`. Raises: UnsupportedCombination."""
        found = part_of(of_query(self.as_dict(level, joint=joint), query)).columns or {}
        return {title: cells for title, cells in found.items() if title != "exact"}

    def whole(
        self,
        level: float = 0.95,
        query: str | None = None,
        *,
        joint: bool = False,
        labels: PolicyLabels | None = None,
    ) -> Columns:
        """The same as files and ledgers have it: with the exact numbers, and what readers see answers called."""
        return part_of(with_labels(of_query(self.as_dict(level, joint=joint), query), labels)).whole or {}

    def batches(
        self, level: float = 0.95, *, joint: bool = False, labels: PolicyLabels | None = None
    ) -> Iterator[Columns]:
        """:meth:`whole`, a part at a time."""
        yield self.whole(level, joint=joint, labels=labels)

    def to_arrow(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``pyarrow.Table``: see :meth:`dxgeom.Release.to_arrow`."""
        from dxgeom.engines.answer_frames import arrow_table  # slow to load

        return arrow_table(self.columns(level, query, joint=joint))

    def to_pandas(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``pandas.DataFrame``. Raises: also MissingExtra without pandas."""
        from dxgeom.engines.answer_frames import data_frame  # slow to load

        return data_frame(self.columns(level, query, joint=joint))

    def to_polars(self, query: str | None = None, *, level: float = 0.95, joint: bool = False) -> Any:
        """The answers as a ``polars.DataFrame``. Raises: also MissingExtra without polars."""
        from dxgeom.engines.answer_frames import polars_frame  # slow to load

        return polars_frame(self.columns(level, query, joint=joint))

    @abstractmethod
    def as_dict(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The answers ready for JSON, with what holds of their errors."""

    def notes(self, level: float = 0.95) -> tuple[tuple[str, str], ...]:
        """What holds of their errors: what each sentence is about, in a word, and the sentence."""
        return ()

    def document(self, level: float = 0.95, *, joint: bool = False) -> dict[str, Any]:
        """The part of a release's JSON that is about answers: :meth:`as_dict` and the notes."""
        notes = [{"about": about, "sentence": sentence} for about, sentence in self.notes(level)]
        return {**self.as_dict(level, joint=joint), **({"notes": notes} if notes else {})}

    @classmethod
    def require_joint(cls, *, joint: bool) -> None:
        """Raises: UnsupportedCombination for ``joint`` where intervals cannot hold all at once."""
        if joint and cls.never_joint:
            raise UnsupportedCombination(cls.never_joint)

    @property
    def warnings(self) -> Sequence[str]:
        """What whoever reads the answers has to know first, in sentences."""
        return ()

    @property
    def reads_stepped_values(self) -> bool:
        """Whether values that stand for many numbers make their bars wider."""
        return False
