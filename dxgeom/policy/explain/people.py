"""What a policy promises to people with many rows, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from dxgeom.policy.explain.sentences import NEIGHBOURS, NEIGHBOURS_IN_PRESENCE, ONE_RECORD
from dxgeom.policy.resolve.resolved_policy import ResolvedPolicy
from dxgeom.universe.people.people import People

_ROUNDED: Final = (
    "Rows are rounded to shares: exactly for people of up to 16 rows; with k different records among a person's rows "
    "before and k' after, the distance that counts is larger by at most (k + k')/184,504,320 of the largest finite one."
)
_MOVER: Final = (
    "The distance of two people is the earth mover's: what it costs at least to carry the one's rows, spread evenly, "
    "to the other's, each part of a row at the distance of the records ('dxgeom explain' shows the plan)."
)
_APART: Final = (
    "Some records are infinitely far apart: people are compared only where equal fractions of their rows lie in each "
    "group of records that rules join; sums of these fractions may be told exactly, and with them numbers of rows."
)
_ANSWERS_ONCE: Final = (
    "A count adds up each person's fraction of matching rows, not the people who ever match; an unconditional mean "
    "without missing values is the mean of people's own means, any other weighs people by the fraction it counts."
)
_DROPPED: Final = (
    "Rows outside are refused; where they are dropped, the promise is about kept rows only, each person's weight is "
    "spread over these, and whether a person keeps any is public."
)
_DROPPED_IN_PRESENCE: Final = "A row outside that is dropped counts as absent, with its part of the person's weight."
_IDS: Final = "Rows that name nobody are refused; one person under several names is several people."


@final
@dataclass(frozen=True)
class PeopleReview:
    """Who is a neighbour, what is assumed of people, and what else is to be known of them."""

    neighbours: str
    assumed: str
    more: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """For a reader."""
        return (self.neighbours, self.assumed, *self.more)

    def as_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        more = {"people": list(self.more)} if self.more else {}
        return {"neighbours": self.neighbours, "assumed": self.assumed, **more}


def people_review(policy: ResolvedPolicy, unprotected: Sequence[object]) -> PeopleReview:
    """What the policy says of people; ``unprotected``: what is infinitely far apart."""
    people, presence = policy.universe.reading.people, policy.universe.absent is not None
    if people is None:
        return PeopleReview(NEIGHBOURS_IN_PRESENCE if presence else NEIGHBOURS, ONE_RECORD)
    apart = (_APART,) if unprotected and people.count == "once" else ()
    if people.count == "once":
        dropped = _DROPPED_IN_PRESENCE if presence else _DROPPED
        return PeopleReview(_once(presence), people.sentence, (_MOVER, _ROUNDED, *apart, _ANSWERS_ONCE, dropped, _IDS))
    if people.count == "rows":
        return PeopleReview(_rows(presence), people.sentence, (*_rows_more(people, presence), _IDS))
    neighbours = NEIGHBOURS_IN_PRESENCE if presence else NEIGHBOURS
    return PeopleReview(neighbours, people.sentence, (_IDS,))


def _once(presence: bool) -> str:
    whole = "added or removed with all of them; the number of people is private"
    return (
        "Who is a neighbour: tables in which one person's rows are replaced by any others, however many"
        + (f", or the person is {whole}. " if presence else "; the number of people is public. ")
        + "Answers depend on the fractions of a person's rows, never on their number."
    )


def _rows(presence: bool) -> str:
    told = "kept rows may be absent" if presence else "how many rows of each person are kept is public"
    return (
        "Who is a neighbour: tables in which one person's protected attributes are replaced in all their rows; which "
        f"rows there are and their order stay, and {told}."
    )


def _rows_more(people: People, presence: bool) -> tuple[str, ...]:
    absence = (
        " A person who is absent is at most the largest distance to absence away."
        if presence
        else " With rows outside dropped, a place left empty is not filled by a later row."
    )
    return (
        f"Each row tells a part in {people.at_most} of what the rules allow, so that all kept rows of a person "
        "together tell no more than they allow.",
        f"Kept are the first {people.at_most} by '{people.order}', whatever they say.{absence}",
        f"'{people.order}' is not protected: if it changes, only the largest distance of two records bounds what is "
        "told, at an equal number of kept rows.",
    )
