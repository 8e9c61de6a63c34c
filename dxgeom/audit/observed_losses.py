"""How much two samples of answers give away, at least: a mechanism's guarantee put to the test from outside.

Kernel: SciPy's incomplete beta function.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from dxgeom.errors import UnsupportedCombination


def lower_chance(successes: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """A bound below each probability, wrong with a chance of at most ``error``.

    Guarantee: *exact* in law (Clopper & Pearson 1934), up to the rounding of float64.
    """
    hits = np.asarray(successes)
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), trials - hits + 1, error))


def upper_chance(successes: ArrayLike, trials: int, error: float) -> NDArray[np.float64]:
    """A bound above each probability, wrong with a chance of at most ``error``; as :func:`lower_chance`."""
    return 1 - lower_chance(trials - np.asarray(successes), trials, error)


FEWEST = 100
_LINES = 400


@final
@dataclass(frozen=True)
class ObservedLoss:
    """``nats``: with the confidence asked for, some answers are at least e^nats times as likely under one as the other.

    ``event``: which answers, in words. A mechanism that promises less than ``nats`` between these two data does not
    keep its promise, unless the samples were of the unlucky sort that the confidence leaves room for. Nothing observed
    proves that a promise is kept.
    """

    nats: float
    event: str


def observed_loss(one: ArrayLike, other: ArrayLike, error: float = 1e-9) -> ObservedLoss:
    """Compare independent answers about two data sets, each seen through one number.

    The answers at most, at least or equal to some number make an event; on the first half of each sample the event of
    the largest odds is found, and on the second half its odds are bounded, so that no search spoils the confidence.

    Args: ``one`` (n,), ``other`` (n',): at least 100 numbers each, in the order of drawing.
    Guarantee: ``nats`` exceeds the true loss with a chance of at most ``error`` (Clopper & Pearson's bounds).
    Raises: UnsupportedCombination for too few numbers, NaN, or an error outside (0, 1).
    """
    samples = [np.asarray(sample, dtype=np.float64) for sample in (one, other)]
    if any(sample.ndim != 1 or len(sample) < FEWEST or np.any(np.isnan(sample)) for sample in samples):
        raise UnsupportedCombination(f"an audit compares at least {FEWEST} numbers with as many others, without NaN")
    if not 0 < error < 1:
        raise UnsupportedCombination(f"an error probability lies strictly between 0 and 1, found {error}")
    (first, first_left), (second, second_left) = (np.array_split(sample, 2) for sample in samples)
    return max(
        _tested(_search(first, second, error / 2), first_left, second_left, error / 2),
        _tested(_search(second, first, error / 2), second_left, first_left, error / 2),
        key=lambda loss: loss.nats,
    )


@final
@dataclass(frozen=True)
class _Event:
    relation: Literal["at most", "at least", "equal to"]
    thresholds: NDArray[np.float64]

    def counts(self, sample: NDArray[np.float64]) -> NDArray[np.int64]:
        """How many numbers of the sample lie in the event of each threshold."""
        ordered = np.sort(sample)
        below, up_to = (np.searchsorted(ordered, self.thresholds, side) for side in ("left", "right"))
        match self.relation:
            case "at most":
                return up_to
            case "at least":
                return len(sample) - below
            case "equal to":
                return up_to - below

    def nats(self, likelier: NDArray[np.float64], rarer: NDArray[np.float64], error: float) -> NDArray[np.float64]:
        """The log of each event's odds, bounded from below; both bounds share the error."""
        low = lower_chance(self.counts(likelier), len(likelier), error / 2)
        high = upper_chance(self.counts(rarer), len(rarer), error / 2)
        return np.log(np.maximum(low / high, 1.0))


def _search(likelier: NDArray[np.float64], rarer: NDArray[np.float64], error: float) -> _Event:
    """The event that would show most if these were the samples to show it."""
    both = np.concatenate([likelier, rarer])
    lines = np.unique(np.quantile(both, np.linspace(0, 1, _LINES), method="inverted_cdf"))
    points, often = np.unique(likelier, return_counts=True)
    frequent = points[np.argsort(-often, kind="stable")[:_LINES]]
    events = (_Event("at most", lines), _Event("at least", lines), _Event("equal to", frequent))
    shown = [event.nats(likelier, rarer, error) for event in events]
    best = max(range(len(events)), key=lambda kind: float(shown[kind].max()))
    return _Event(events[best].relation, events[best].thresholds[[int(np.argmax(shown[best]))]])


def _tested(event: _Event, likelier: NDArray[np.float64], rarer: NDArray[np.float64], error: float) -> ObservedLoss:
    (nats,) = event.nats(likelier, rarer, error).tolist()
    return ObservedLoss(nats, f"answers {event.relation} {event.thresholds[0]:.17g}")
