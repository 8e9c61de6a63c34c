"""What all releases so far, under whatever policies, may have told about one policy's pairs of records.

Definition: let b_k bin raw rows under release k's policy, s_k its spend and d_k its metric. About raw rows r and r' was
told at most T(r, r') = Σ_k s_k·d_k(b_k r, b_k r'): the odds of all answers together change by at most e^T. In a
ledger that counts concentrated privacy T = √(Σ_k (s_k·d_k)²), and Rényi divergences are at most α·T²/2. About
records i and j of the policy that is asked about: the supremum over raw rows r in i and r' in j; columns that it lacks
are free. Rows are those that all these policies have in their universes, or count as absent: others were refused, or
their number was told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dxgeom.disclosure.contributions import LossCurve, Noise, Spread, contributions, curve_of_entries, spread
from dxgeom.disclosure.over_time import NoiseOverTime, TimeLoss, time_loss
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.book import KeptAccount
from dxgeom.ledger.entry import Entry
from dxgeom.ledger.history import History
from dxgeom.old_names import OldName
from dxgeom.policy.explain.informed import PERSON, TWO, WhoseRecord
from dxgeom.policy.explain.telling import Telling
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE, Privacy
from dxgeom.universe.columns import chance_in_words, plain
from dxgeom.universe.people.people import MOVER, People
from dxgeom.universe.wording import shown

_DIGITS: Final = 4
_ROUNDING: Final = 1e-9
"""Relative: compiled distances are rounded down, by less than this in all."""


@final
@dataclass(frozen=True)
class AttributeLoss:
    """About records that the policy tells apart by one attribute only.

    ``disclosed_loss``: *rounded up*; ∞ where it may have been told exactly. ``pair``: two values of which so much was
    told, None where there are too many values to name the worst ones. ``allowed``: what the policy's whole budget would
    tell of that pair, None where it counts otherwise than the ledger. ``lines``: where the policy's rules stand that
    bound it, as a path.
    """

    name: str
    disclosed_loss: float
    pair: tuple[str, str] | None
    allowed: float | None
    lines: tuple[int, ...]
    told = OldName("disclosed_loss")


@final
@dataclass(frozen=True)
class KnownLoss:
    """The loss about any two records that the counts tell apart; the others' is that of everybody.

    ``two``: for whoever is unsure of one person and one more; ``separate``: for whoever judges all people separately,
    None where the counts cross and nothing bounds it. Both *rounded up*. ``by_class``: worked out inside the classes of
    the counts, where all releases are of this policy's distances; else from the largest loss of any two records.
    """

    counts: tuple[str, ...]
    two: float
    separate: float | None
    by_class: bool
    who: WhoseRecord = PERSON

    def lines(self, odds: Callable[[float], str]) -> list[str]:
        """For a reader. Args: ``odds``: a loss in words."""
        how = "" if self.by_class else " (bounds from above)"
        separate = self.who.crossing if self.separate is None else odds(self.separate)
        which = "any two records" if self.separate is None else "records that are counted apart"
        return [
            f"for whoever knows {'; '.join(self.counts)}: {which}{how}",
            f"  unsure of one {self.who.one} and one more: {odds(self.two)}",
            f"  judging all {self.who.several} separately: {separate}",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite figures are written "inf"."""
        separate = None if self.separate is None else _jsonable(self.separate)
        return {
            "counts": list(self.counts),
            "unsure_of_two": _jsonable(self.two),
            "judging_all_separately": separate,
            "by_class": self.by_class,
        }


@final
@dataclass(frozen=True)
class DisclosedLoss:
    """What a ledger's releases may have told about a policy's pairs.

    ``spends``: what was spent under each policy, by name. ``exact``: all of them have the records of the policy that is
    asked about, so that the figures are the suprema, up to rounding; else they are bounds from above, by attribute.
    ``hidden``: what is in them because a record of the policy stands for many raw rows, which others tell apart.
    ``of_any``: about any two records. ``of_presence``: about whether somebody has a record; None where the policy does
    not hide that. ``privacy``: what the ledger counts, and these figures are distances of. ``people``: what it means
    for people with many rows, in sentences; empty where none is said to have. ``curve``: over the policy's distances,
    where all releases were under it; a sum of ε says little of very many. ``known``: for whoever knows the counts that
    the policy lists as public, None where it lists none. ``chance``: with which any of these releases was outside its
    promise, 0 for never. ``over_time``: of rows in several periods, where the policy states a time and all
    releases were under it.
    """

    policy: str
    spends: tuple[tuple[str, Fraction], ...]
    exact: bool
    attributes: tuple[AttributeLoss, ...]
    hidden: float
    of_any: float
    of_presence: float | None
    privacy: Privacy = PURE
    people: tuple[str, ...] = ()
    curve: LossCurve | None = None
    known: KnownLoss | None = None
    chance: Fraction = Fraction(0)
    over_time: TimeLoss | None = None

    def lines(self) -> list[str]:
        """For a reader."""
        spends = [f"  {plain(spend)} under policy '{name}'" for name, spend in self.spends]
        if not spends:
            return [f"policy {self.policy}: nothing was released, nothing was told"]
        how = "the largest that can be" if self.exact else "bounds from above: the policies read rows differently"
        return [
            f"policy {self.policy}: what all releases so far may have told",
            "",
            "spent",
            *spends,
            "",
            f"records that differ in one attribute only ({how})",
            *(f"  {self._words(one)}" for one in self.attributes),
            *([f"  {_HIDDEN.format(self._odds(self.hidden))}"] if self.hidden else []),
            "",
            "any two records",
            f"  {self._odds(self.of_any)}",
            *self._nearer(),
            *(
                []
                if self.of_presence is None
                else ["", "whether somebody has a record", f"  {self._odds(self.of_presence)}"]
            ),
            *([] if self.over_time is None else ["", *self.over_time.lines(self._odds)]),
            *([] if self.known is None else ["", *self.known.lines(self._odds)]),
            *([] if self._shown is None else ["", *self._shown.lines()]),
            "",
            *([] if self.exact else [_ROWS]),
            *self.people,
            *([f"All this holds except with chance {chance_in_words(self.chance)}."] if self.chance else []),
            "Odds are those of an observer who saw all these answers, and may know every other record.",
        ]

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON; infinite figures are written "inf"."""
        return {
            "policy": self.policy,
            "spends": [{"policy": name, "spend": str(spend)} for name, spend in self.spends],
            "exact": self.exact,
            "attributes": [
                {
                    "name": one.name,
                    "told": one.disclosed_loss,
                    "pair": None if one.pair is None else list(one.pair),
                    "allowed": one.allowed,
                    "lines": list(one.lines),
                }
                for one in self.attributes
            ],
            "hidden": self.hidden,
            "any_two_records": self.of_any,
            "presence": self.of_presence,
            **({} if self.privacy == PURE else {"privacy": self.privacy}),
            **({"people": list(self.people)} if self.people else {}),
            **({} if self.over_time is None else {"over_time": self.over_time.as_dict()}),
            **({} if self.known is None else {"known": self.known.as_dict()}),
            **({"delta": str(self.chance)} if self.chance else {}),
            **({} if self._shown is None else {"curve": self._shown.as_dict()}),
        }

    @property
    def _shown(self) -> LossCurve | None:
        """The curve, unless the odds that are never exceeded say as much."""
        return self.curve if self.curve is not None and self.curve.worth_telling else None

    def _words(self, one: AttributeLoss) -> str:
        if one.pair is None:
            return f"{one.name}: {self._odds(one.disclosed_loss)}, whichever two of its values"
        first, second = map(shown, one.pair)
        allowed = "" if one.allowed is None else f"; the policy's budget allows {self._odds(one.allowed)}"
        rules = "" if not one.lines else f" (rule at line {', '.join(map(str, one.lines))})"
        return f"{one.name}: between {first} and {second} {self._odds(one.disclosed_loss)}{allowed}{rules}"

    def _odds(self, amount: float) -> str:
        if amount == math.inf:
            return "may have been told exactly"
        if amount == 0:
            return "nothing"
        return f"{amount:g}, odds {Telling(self.privacy, Fraction(1)).at_most(Fraction(amount))}"

    def _nearer(self) -> list[str]:
        """What was told of records that are nearer to each other: it is less than in proportion."""
        if self.privacy == PURE or not 0 < self.of_any < math.inf:
            return []
        steps = (("half as far apart", 2), ("a quarter as far", 4))
        return [f"  {words} {self._odds(self.of_any / part)}" for words, part in steps]


_ROWS: Final = (
    "Rows are those that all these policies can read: others were refused, or how many were dropped was told."
)
_HIDDEN: Final = "included is what was told of rows that this policy does not tell apart: {}"


def disclosed_loss(
    history: History,
    policy: Policy,
    others: Iterable[Policy] = (),
    edition: str | None = None,
    noises: Mapping[str, Noise] | None = None,
    over_time: Mapping[str, NoiseOverTime] | None = None,
) -> DisclosedLoss:
    """What the ledger's releases may have told about the policy's pairs of records.

    Args: ``others``: policies of the ledger's further accounts, where the ledger does not keep them. ``edition``: of
    the data, where the ledger counts editions as having different people; left out, the one that the policy names.
    ``noises``: of a ledger that counts concentrated privacy, which noise plans have, by their fingerprints, such as
    ``{plan.fingerprint: plan.noise}``: of releases by others no more is known than the promise. ``over_time``:
    likewise what their noise reveals of rows in several periods, ``plan.over_time`` where it is not None.
    Guarantee: *rounded up* to four digits, but for a relative 1e-9 by which compiled distances may be rounded down;
    nothing in it depends on data. Each person has one record; or, where the policy says who people are, all of a
    person's rows change alike, and what was released under policies that say otherwise of people counts as ∞.
    Raises: UnsupportedCombination when an account's policy is not given, lists its records in a table of its own, or
    reads a column of the policy in a way that cannot be compared; or when an edition is asked for.
    """
    entries = _entries(history, policy.data_set.edition if edition is None else edition)
    released = _released(history, _spends(history, entries), {one.fingerprint: one for one in (policy, *others)})
    found = contributions(policy, released, history.privacy_measure.squares)
    people = policy.universe.reading.people
    rows = unbounded_in(people, [one for one, _ in released])
    without_bound = math.inf if rows else 0.0
    alike = not rows and all(one.fingerprint == policy.fingerprint for one, _ in released)
    own = {name: spread(contribution) for name, contribution in found.own.items()}
    free = math.fsum(spread(one).within for one in found.foreign) + without_bound
    within = {name: one.within for name, one in own.items()}
    attributes = [
        _of_attribute(
            policy,
            name,
            one,
            free + math.fsum(within[other] for other in own if other != name),
            history.privacy_measure.name,
        )
        for name, one in own.items()
        if one.worst is not None
    ]
    widest = math.fsum(max(one.worst or 0.0, one.within) for one in own.values()) + free
    presence = None if policy.universe.absent is None else _up(found.presence + without_bound)
    curve = (
        curve_of_entries(entries, history.privacy_measure.name, noises or {}, _nearest(policy, own)) if alike else None
    )
    return DisclosedLoss(
        policy.name,
        tuple((one.name, spend) for one, spend in released),
        # Roots of sums of squares do not add up over attributes, unless all metrics are one.
        found.exact and (not history.privacy_measure.squares or len(released) < 2),
        tuple(attributes),
        _up(free + math.fsum(within.values())),
        _up(widest),
        presence,
        history.privacy_measure.name,
        people_in_words(people, rows, [one for one, _ in released]),
        curve,
        known_loss(policy, released, max(_up(widest), presence or 0.0), _up),
        sum((history.chances[one.number].chance for one in entries if one.number in history.chances), Fraction(0)),
        time_loss(policy, entries, history.privacy_measure.name, over_time or {}, _up) if alike else None,
    )


def _released(
    history: History, spends: Mapping[int, Fraction], known: Mapping[str, Policy]
) -> list[tuple[Policy, Fraction]]:
    """The policies that something was spent under, and how much."""
    accounts = [account for account in history.accounts if account.number in spends]
    return [(_policy_of(history, account, known), spends[account.number]) for account in accounts]


def _policy_of(history: History, account: KeptAccount, known: Mapping[str, Policy]) -> Policy:
    """The account's policy: one that is at hand, or as the ledger keeps it. Raises: UnsupportedCombination."""
    if account.policy_fingerprint in known:
        return known[account.policy_fingerprint]
    kept = history.documents.get(account.number)
    policy = None if kept is None else Policy.from_stated(kept)
    if policy is None or policy.fingerprint != account.policy_fingerprint:
        raise UnsupportedCombination(
            f"the policy '{account.policy_name}' ({account.policy_fingerprint[:12]}…), under which was released, is "
            f"not {'in the ledger' if kept is None else 'what the ledger keeps of it'}: give its file, too"
        )
    return policy


def _entries(history: History, edition: str | None) -> list[Entry]:
    """Those about the edition."""
    if history.disjoint and edition is None:
        raise UnsupportedCombination(
            "this ledger's editions have different people: say which edition is asked about, --edition"
        )
    return [entry for entry in history.entries if not history.disjoint or entry.edition in (None, edition)]


def _spends(history: History, entries: Iterable[Entry]) -> dict[int, Fraction]:
    """What was spent under each account, where anything was."""
    currency, spends = history.privacy_measure, dict[int, Fraction]()
    for entry in entries:
        spends[entry.account] = spends.get(entry.account, Fraction(0)) + currency.counted(entry.spend)
    return {account: currency.spend_above(counted) for account, counted in spends.items()}


def _nearest(policy: Policy, own: Mapping[str, Spread]) -> float:
    """The smallest distance of the pairs that are named, one for each attribute."""
    found = [math.inf]
    for name, one in own.items():
        if one.pair is not None and policy.universe.listed is None:
            labels = policy.universe.attribute(name).labels
            found.append(float(policy.explain(*({name: labels[code]} for code in one.pair)).distance))
        elif one.pair is not None:
            found.append(float(policy.explain(*one.pair).distance))
    return min((distance for distance in found if distance > 0), default=math.inf)


def _of_attribute(policy: Policy, name: str, found: Spread, more: float, privacy: Privacy) -> AttributeLoss:
    amount = _up((found.worst or 0.0) + more)
    if found.pair is None:
        return AttributeLoss(name, amount, None, None, ())
    if policy.universe.listed is None:
        labels = policy.universe.attribute(name).labels
        values = tuple(labels[code] for code in found.pair)
        explanation = policy.explain(*({name: value} for value in values))
    else:
        values = tuple(", ".join(policy.universe.record(index).values()) for index in found.pair)
        explanation = policy.explain(*found.pair)
    allowed = _up(float(explanation.distance) * float(policy.budget)) if policy.privacy == privacy else None
    lines = tuple(dict.fromkeys(hop.line for hop in explanation.hops))
    return AttributeLoss(name, amount, (values[0], values[1]), allowed, lines)


def _up(amount: float) -> float:
    """Rounded up to four digits, but for the rounding of distances."""
    if amount == 0 or not math.isfinite(amount):
        return amount
    place = 10.0 ** (math.floor(math.log10(amount)) - _DIGITS + 1)
    return float(f"{math.ceil(amount / place * (1 - _ROUNDING)) * place:.12g}")


def unbounded_in(people: People | None, released: Sequence[Policy]) -> tuple[str, ...]:
    """The policies under which a release may have told anything of a person: those that take every row to be another
    person's, or that say by another column who people are."""
    if people is None:
        return ()
    theirs = ((one.name, one.universe.reading.people) for one in released)
    return tuple(dict.fromkeys(name for name, said in theirs if said is None or said.column != people.column))


def people_in_words(people: People | None, unbounded: Sequence[str], released: Sequence[Policy]) -> tuple[str, ...]:
    """What the figures mean for people.

    Once: Σ s_k·W_k ≤ W under Σ s_k·d_k, W the earth mover's distance between a person's rows. By rows: s·d/m for each
    of at most m rows, so s·d where all change alike; spread over n rows, s·d·min(n, m)/m.
    """
    if people is None:
        return ()
    if unbounded:
        named = ", ".join(map(shown, unbounded))
        return (
            f"Releases under {named} do not count people by '{people.column}': what they told of somebody grows with "
            "the number of their rows, without bound.",
        )
    said = [
        "Figures are about people all of whose rows change from the one record to the other. What was told of any "
        f"other two is at most {MOVER} between their rows, under what was told of records: where all releases are "
        "under this policy, the spent multiple of the distance that 'dxgeom explain' shows of the two."
    ]
    counted = [one.universe.reading.people for one in released]
    if any(one is not None and one.count == "rows" for one in counted):
        said = [
            "Figures are about people all of whose rows change from the one record to the other; some releases count "
            "rows, and told a part of that of every row that counts."
        ]
    return tuple(said)


def known_loss(
    policy: Policy, released: Sequence[tuple[Policy, Fraction]], widest: float, up: Callable[[float], float]
) -> KnownLoss | None:
    """The loss for whoever knows the policy's public counts.

    Definition: the closed form on Σ_k s_k·d_k, which is s·d where every d_k is the policy's own. Args: ``released``:
    the policies and what was spent under each; ``widest``: the loss about any two records, or a record and none.
    """
    known, informed = policy.resolved.known, policy.informed
    if known is None or informed is None:
        return None
    if all(one.fingerprint == policy.fingerprint or one.meaning == policy.meaning for one, _ in released):
        spent = float(sum((spend for _, spend in released), Fraction(0)))
        two = up(_times(spent, informed.two))
        separate = None if informed.separate is None else up(_times(spent, informed.separate))
        return KnownLoss(informed.counts, two, separate, True, informed.who)
    if known.classes.count == 1:
        return KnownLoss(informed.counts, 0.0, 0.0, False, informed.who)
    separate = None if informed.separate is None else up(_times(float(known.classes.most_people), widest))
    return KnownLoss(informed.counts, up(TWO * widest), separate, False, informed.who)


def _times(factor: float, amount: float) -> float:
    return 0.0 if factor == 0 else math.nextafter(factor * amount, math.inf)


def _jsonable(figure: float) -> float | str:
    return "inf" if math.isinf(figure) else figure
