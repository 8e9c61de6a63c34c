"""A policy: read with every mistake reported at once, compiled to a verified metric."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, final

from dxgeom.displayed import Pictured
from dxgeom.errors import DxgeomError, PolicyError, TooLarge, UnsupportedCombination
from dxgeom.metrics.metric import DataSet, Metric
from dxgeom.metrics.over_periods import OverPeriods
from dxgeom.metrics.verification import VerifiedMetric, verify
from dxgeom.policy.lower.blocks import MetricDescription, describe
from dxgeom.policy.lower.lowered import Unprotected, check_connected, lower
from dxgeom.policy.resolve.labels import labels_of
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy, resolve
from dxgeom.policy.resolve.rules import ResolvedRule
from dxgeom.policy.resolve.time import PolicyTime, time_of
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.text import MAX_BYTES, Folder, Language, PolicyText
from dxgeom.policy.source.yaml_tree import from_one_line, in_one_line, read_language, read_tree, with_word
from dxgeom.policy.syntax.reader import read_syntax
from dxgeom.policy.syntax.writing import write_policy
from dxgeom.privacy.measures import Privacy
from dxgeom.universe.labels import PolicyLabels
from dxgeom.universe.periods import along_time
from dxgeom.universe.universe import Universe

if TYPE_CHECKING:  # loaded by the method that needs it, for most commands do not
    from pathlib import Path

    from dxgeom.policy.explain.explanation import Explanation
    from dxgeom.policy.explain.forms import Form
    from dxgeom.policy.explain.informed import Informed
    from dxgeom.policy.explain.review import Review
    from dxgeom.policy.explain.two_people import PeopleExplanation

Record: TypeAlias = int | str | Mapping[str, Any]
"""A record as people put it: its index, its values by attribute, or "absent"."""

_POLICIES: Final = Language("policy", "Policy.from_dict", "data", PolicyError)


class PartsOfRules(NamedTuple):
    """The rules with a part of their ε in each period, where they are about several; and their metric."""

    rules: tuple[ResolvedRule, ...]
    metric: Metric


@final
@dataclass(frozen=True, eq=False, repr=False)
class Policy(Pictured):
    """What records exist, which differences between them stay hidden, and how strongly.

    Made by :func:`load_policy`; two policies of equal ``fingerprint`` mean the same. ``parts``: each attribute's
    metric, none where a table lists the records. ``text``: what it was read from, with the data files it names.
    ``each_period``: where rules are about several periods, smaller distances of records that are enough for them; None
    where ``metric`` is all that is promised.
    """

    file: str
    resolved: ResolvedPolicy = field(repr=False)
    description: MetricDescription = field(repr=False)
    parts: tuple[Metric, ...] = field(repr=False)
    metric: Metric = field(repr=False)
    unprotected: tuple[Unprotected, ...]
    text: PolicyText | None = field(default=None, repr=False)
    each_period: PartsOfRules | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.resolved.name

    @cached_property
    def labels(self) -> PolicyLabels:
        """What readers are shown instead of names of attributes and values."""
        return labels_of(self.resolved.document, self.universe)

    @property
    def title(self) -> str:
        """What readers see the policy called."""
        return self.resolved.document.title or self.name

    @property
    def about(self) -> str:
        """What its author says about it; may be empty."""
        return self.resolved.about

    @property
    def universe(self) -> Universe:
        """The possible records."""
        return self.resolved.universe

    @property
    def budget(self) -> Fraction:
        """Releases may spend this multiple of the metric in total."""
        return self.resolved.budget

    @property
    def delta(self) -> Fraction | None:
        """With which chance all releases together may be outside its promise; None for never."""
        return self.resolved.delta

    @property
    def privacy(self) -> Privacy:
        """What a distance promises, and how spends add up: "pure" or "concentrated"."""
        return self.resolved.privacy

    @cached_property
    def time(self) -> PolicyTime | None:
        """The periods that answers are about, and the attribute that has them; None where ``time`` is not stated."""
        return time_of(self.resolved.document, self.universe)

    @property
    def data_set(self) -> DataSet:
        """Which data it is about, as far as it says."""
        return self.resolved.data_set

    @property
    def rules(self) -> tuple[ResolvedRule, ...]:
        """The rules, in the file's order; the order has no meaning."""
        return self.resolved.rules

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the meaning; comments, layout and the order of rules do not change it."""
        return self.resolved.fingerprint

    @cached_property
    def meaning(self) -> str:
        """SHA-256 of the distances and of how rows are read: policies of one meaning share one account of a ledger.

        Rules that never bind, the order of rules and of attributes, the budget and ``from:`` an attribute's own name
        do not change it, which the fingerprint all tells apart.
        """
        from dxgeom.policy.lower.meaning import meaning_of

        return meaning_of(self.resolved, self.description, self.parts, self.metric)

    def means(self, stated: str) -> bool:
        """Whether the policy of :meth:`source_text` has this meaning; not sure counts as no."""
        try:
            return Policy.from_stated(stated).meaning == self.meaning
        except DxgeomError:
            return False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What later versions refuse, and what the promise does not cover."""
        from dxgeom.policy.explain.review import doubts_of_data, doubts_of_form

        return (*doubts_of_data(self.resolved.document.dataset), *doubts_of_form(self.universe.form))

    @classmethod
    def from_dict(
        cls,
        data: Mapping[str, Any],
        *,
        file: str = "policy",
        folder: str | os.PathLike[str] | Folder | None = None,
    ) -> Policy:
        """The policy that Python data states: the mappings, lists, words and numbers that a policy file would hold.

        Where a file would name a data file, a graph of NetworkX, a data frame or geometries may stand, which are taken
        for the file that they amount to.
        Numbers are exact: integers, ``Decimal``, a ``Fraction`` that is a decimal; a float stands for the decimal it is
        written as, 0.1 for one tenth. Data files are read from ``folder`` only, and without one not at all. Lines in
        reviews are those of :meth:`to_yaml`.

        Raises: PolicyError with every mistake, each with the path to it, such as ``rules[0].epsilon``.
        """
        from dxgeom.policy.handed import text_with_files

        return _policy_of(text_with_files(data, _POLICIES, file, folder))

    def to_yaml(self) -> str:
        """The policy as the text of a file that means the same: comments are lost, numbers exact, fingerprint equal.

        Data files keep the names they have; load the text with the same folder.

        Raises: TooLarge when the file would be longer than a policy file may be.
        """
        text = write_policy(self.resolved.document).content
        if len(text.encode("utf-8")) > MAX_BYTES:
            raise TooLarge(
                f"this policy needs a file of more than {MAX_BYTES:,} bytes; use ranges, bins or a points file"
            )
        return text

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``policy.yaml`` and every data file that the policy read into a folder; the path of the former.

        Raises: FileExistsError where one of these is there already, which then stays as it is; TooLarge.
        """
        from dxgeom.policy.handed import save

        return save(self.to_yaml(), self.text, folder)

    def stated(self) -> str | None:
        """What the policy and every data file beside it say, as one line of JSON, for :meth:`from_stated`.

        Comments are lost. None when that takes more than four million characters, or it was not read from a text.
        """
        return None if self.text is None else in_one_line(self.text)

    @classmethod
    def from_stated(cls, text: str) -> Policy:
        """The policy of :meth:`source_text`; the disk is not looked at. Raises: PolicyError, UnsupportedCombination."""
        try:
            data, folder = from_one_line(text)
            return cls.from_dict(data, folder=folder)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnsupportedCombination("this text is no policy that was kept with its files") from error

    def compile(self) -> VerifiedMetric:
        """The largest pseudometric under all rules, with its certificate. Every distance is *rounded down*.

        Where people count by rows, at most m each, it is that of a row: the m-th part, so that m rows together tell no
        more than the policy says of people. Where rules are about several periods it is a part of what they say, so
        that all of these together tell no more; noise that is proved for several at once may tell more of each.
        """
        from dxgeom.metrics.components import divided

        people = self.universe.reading.people
        metric = self.metric if self.each_period is None else self.each_period.metric
        return verify(
            metric if people is None or people.most_rows == 1 else divided(metric, people.most_rows),
            people=people,
            title=self.name,
            fingerprint=self.fingerprint,
            budget=self.budget,
            universe=self.universe,
            data_set=self.data_set,
            source_text=self.stated,
            alike=self.means,
            labels=self.labels or None,
            privacy=self.privacy,
            known=self.resolved.known,
            over_periods=self._over_periods,
            delta=self.delta,
            adaptive=self.resolved.document.adaptive is not None,
        )

    @property
    def _over_periods(self) -> OverPeriods | None:
        time = along_time(self.universe.attributes)
        if self.each_period is None or time is None:
            return None
        return OverPeriods(self.metric, time[0], self.resolved.lasting)

    @cached_property
    def informed(self) -> Informed | None:
        """What whoever knows the counts that it lists as public may learn; None where it lists none."""
        from dxgeom.policy.explain.informed import informed_of

        return informed_of(self.resolved, self.parts, self.metric)

    def review(self) -> Review:
        """What the policy amounts to, for its author to read before anything is released."""
        from dxgeom.policy.explain.review import review

        return review(self.file, self.resolved, self.parts, self.metric, self.unprotected)

    def forms(self) -> tuple[Form, ...]:
        """The form that each attribute's metric was given and why, then that of the metric on records."""
        from dxgeom.policy.explain.forms import forms

        return forms(self.description, self.parts, self.metric, self.rules)

    def to_networkx(self, attribute: str | None = None) -> Any:
        """A ``networkx.Graph`` of the pairs that generate the metric, with distances as ``weight``: of an attribute's
        values, by their words, as of a secret graph; or, left out, of whole records, as
        :meth:`VerifiedMetric.to_networkx`.

        Raises: UnsupportedCombination for an attribute that there is none of; TooLarge; MissingExtra.
        """
        from dxgeom.policy.handed import graph_of_attribute

        return self.compile().to_networkx() if attribute is None else graph_of_attribute(self, attribute)

    def to_shapely(self, attribute: str) -> dict[str, Any]:
        """The Shapely geometry of each value of an attribute of places: a point, or the region of the policy's file.

        Raises: UnsupportedCombination for values that are no places; DataError where the file has changed.
        """
        from dxgeom.policy.handed import geometries_of

        return geometries_of(self, attribute)

    def explain(self, first: Record, second: Record) -> Explanation:
        """Why two records are as far apart as they are: the shortest path between them, rule by rule.

        Args: each record's index, or its values by attribute; attributes that neither mentions are alike in both;
        ``"absent"`` for the absent record.
        Guarantee: exact, except where distances between places are involved or an attribute of more than 2,000 values
        mixes bounds: then *rounded down* floats. What is told agrees with the compiled metric, or this refuses.
        Raises: DataError for a record that does not exist; TooLarge; UnsupportedCombination.
        """
        from dxgeom.policy.explain.explanation import explain

        return explain(self.file, self.resolved, self.description, self.parts, self.metric, first, second)

    def explain_people(self, first: Sequence[Record], second: Sequence[Record]) -> PeopleExplanation:
        """Why two people are as far apart as they are: the cheapest way to carry the one's rows to the other's.

        Args: the record of each row, as :meth:`explain` takes it with all attributes; where rows are counted, in their
        order. A person without rows is absent.
        Guarantee: *exact*; where distances of records are rounded, *rounded up*. Where people are spread over rows, the
        few shares by which more than 16 rows are rounded are left out.
        Raises: DataError for rows that such a person cannot have, and as :meth:`explain`.
        """
        from dxgeom.policy.explain.telling import Telling
        from dxgeom.policy.explain.two_people import explain_people

        return explain_people(
            self.universe, self.explain, first, second, Telling(self.privacy, self.budget, self.delta)
        )


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file and the data files it names.

    Raises: PolicyError with every mistake in the file, each with its line, column and code.
    """
    return _policy_of(_POLICIES.read(path))


def parse_policy(
    content: str, *, file: str = "policy", folder: str | os.PathLike[str] | Folder | None = None
) -> Policy:
    """The policy of a text; data files are read from ``folder`` only, and without one not at all.

    Raises: PolicyError.
    """
    return _policy_of(_POLICIES.given(content, file, folder))


def with_number(text: PolicyText, place: Span, number: str) -> Policy:
    """The policy of a text that was read without a mistake, with another number in place of the one that stands there.

    The same as :func:`parse_policy` of the changed text, of which only that number is read anew.

    Raises: PolicyError.
    """
    content = f"{text.content[: place.start]}{number}{text.content[place.end :]}"
    changed = _POLICIES.given(content, text.file, text.folder)
    root = read_tree(Mistakes(text))
    if root is not None:
        changed.trees.append(with_word(root, place, number))
    return _policy_of(changed)


def _policy_of(text: PolicyText) -> Policy:
    """The phases in their order; each takes what the one before it made, so another order does not type-check."""
    mistakes = Mistakes(text)
    tree = read_language(mistakes, "policy")
    syntax = None if tree is None else read_syntax(tree, mistakes)
    resolved = None if syntax is None else resolve(syntax, mistakes)
    if resolved is None or mistakes:
        raise PolicyError(mistakes.all)
    shown = resolved.of_single_records
    description = describe(shown)
    parts, apart, lowered = lower(shown, description, mistakes)
    check_connected(shown, apart, mistakes)
    if mistakes:
        raise PolicyError(mistakes.all)
    each = None
    if resolved.lasting:
        each = PartsOfRules(resolved.rules, lower(resolved, describe(resolved), mistakes)[2]())
    return Policy(text.file, shown, description, parts, lowered(), apart, text, each)
