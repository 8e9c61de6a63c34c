"""Keys that nobody listed, audited: the noise on them, the chance that a person's own keys show, and what is reported.

That chance is found again by another way to the same end: one after the other, for each number of rows that a key can
have, in closed form and in balls, it is looked at whether keys of so many rows more show more. That none is reported
which no record has, and nothing but counts with noise decides, is driven with tables that nobody knew before.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np
from flint import arb, ctx, fmpq

from dxgeom.audit.key_audit import Keys, Scales, chance_of, noise_of, scales_of
from dxgeom.audit.moves import moves_of
from dxgeom.errors import CertificateRefused, TooLarge
from dxgeom.mechanisms.linear.unlisted_keys import UnlistedKeys
from dxgeom.metrics.verification import VerifiedMetric
from dxgeom.numeric.randomness import InsecureSeededRandomness

_TRIALS: Final = 16
_RECORDED: Final = 64
_MOST_SPLITS: Final = 1_000_000
_PRECISION: Final = 160


def require_unlisted(mechanism: UnlistedKeys, metric: VerifiedMetric) -> list[str]:
    """That noise on keys that some record has hides every move, that a person's own keys show with the stated chance at
    most, which the policy allows, and that nothing else is reported; in sentences.

    Guarantee: scales are held against distances in rationals; chances are bounded in balls.
    Raises: CertificateRefused; TooLarge for very many rows of a person, or metrics of other forms.
    """
    known, columns = mechanism.known, mechanism.columns_of_keys
    axes = [one.axis for one in columns]
    _require(len({*axes}) == len(axes), "an attribute is in a key twice")
    same = [*known.columns_of_keys] == [*columns] and sum(one.unlisted for one in columns) == 1
    _require(same and mechanism.shares == 1, "noise is of other keys than those that are reported")
    people, allowed = metric.people, metric.delta
    _require(people is None or not people.in_shares, "people may have keys in any number")
    rows = 1 if people is None else people.most_rows
    _require(mechanism.rows == rows, "people have other numbers of rows than in the policy")
    _require(allowed is not None and 0 < mechanism.chance <= allowed, "the chance is none that the policy allows")
    _require(mechanism.delta == mechanism.chance, "the chance that is counted is another")
    scales = scales_of(known)
    for spend in (Fraction(1), Fraction(1, 3)):
        _require_threshold(mechanism, scales, rows, spend)
    trials = _require_reported(mechanism, scales)
    moves = moves_of(metric.metric, columns[0].universe.shape)
    scales.require_hidden(moves, {one.axis: one.codes for one in columns}, axes, normal=known.normal)
    how = "squares of the rates" if known.normal else "rates"
    return [
        "a key is reported if some record has it and its count with noise reaches the threshold, and for nothing else: "
        f"{trials} answers over random tables made by a second route",
        "keys that one person alone has are reported with the stated chance at most, in whatever way the person's rows "
        f"make them: {rows:,} rows, in balls",
        f"{how} of any two keys that a change moves come to no more than its distance"
        f"{' squared' if known.normal else ''}, in rationals",
    ]


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise CertificateRefused(f"keys that nobody listed are not what was proved: {what}")


def _require_threshold(mechanism: UnlistedKeys, scales: Scales, rows: int, spend: Fraction) -> None:
    """That the threshold hides a person's own keys: with f(w) the largest −log(1 − p(w)) of any noise, the most that
    keys of w₁ + w₂ + … ≤ rows come to is no more than −log(1 − δ)."""
    if rows * rows > _MOST_SPLITS:
        raise TooLarge(f"of {rows:,} rows of a person not every way to make keys is looked at in an audit")
    threshold, known = mechanism.threshold(spend), mechanism.known
    _require(type(threshold) is int and threshold >= 1, "keys without a record would be reported")
    with ctx.workprec(_PRECISION):
        stretched = [
            arb(scale) / arb(fmpq(spend.numerator, spend.denominator)) for scale in {*scales.scale.ravel().tolist()}
        ]
        best = [arb(0)] * (rows + 1)
        for own in range(1, rows + 1):
            edge = arb(fmpq(2 * (threshold - own) - 1, 2))
            shown = max((_log_shown(known, one, edge) for one in stretched), key=_upper)
            for at in range(own, rows + 1):
                best[at] = max(best[at], best[at - own] + shown, key=_upper)
        found = -(-best[rows]).expm1()
        most = arb(fmpq(*mechanism.chance.as_integer_ratio()))
        # Where the threshold is chosen this is rounded up, so it is never as near as balls are wide.
        _require(bool(found < most), "keys of one person show with more than the stated chance")


def _log_shown(known: object, stretched: arb, edge: arb) -> arb:
    """−log(1 − p) of a key that is reported from the edge on, whatever sign that has."""
    below = 1 - chance_of(known, stretched, edge) if edge >= 0 else chance_of(known, stretched, -edge)  # type: ignore[arg-type]
    return -below.log()


def _upper(ball: arb) -> arb:
    return ball.upper()


@final
@dataclass(frozen=True, eq=False)
class _RandomTexts:
    """Counts of keys of texts that nobody knew before."""

    words: tuple[str, ...]
    keys: Keys
    counts: Keys
    total: int


def _require_reported(mechanism: UnlistedKeys, scales: Scales) -> int:
    """That answers are what a second route makes of the same draws; how many were looked at."""
    spend = Fraction(1)
    threshold = mechanism.threshold(spend)
    listed = math.prod(len(one.words) for one in mechanism.columns_of_keys if not one.unlisted)
    _require(mechanism.listed_keys == listed, "keys are numbered otherwise")
    for _ in range(_TRIALS):
        words = sorted({secrets.token_hex(1 + secrets.randbelow(4)) for _ in range(_RECORDED // 2)})
        # Every text in some keys, and every combination with some text, as far as these are few.
        chosen = {secrets.randbelow(listed) + place * listed for place in range(len(words)) for _ in range(2)}
        chosen |= {secrets.randbelow(len(words)) * listed + one for one in range(min(listed, _RECORDED))}
        keys = np.array(sorted(chosen), dtype=np.int64)
        counts = np.array([1 + secrets.randbelow(2 * threshold) for _ in keys], dtype=np.int64)
        data, seed = _RandomTexts(tuple(words), keys, counts, int(counts.sum())), secrets.randbits(62)
        found = mechanism.drawn(data, spend, InsecureSeededRandomness(seed))
        _require(found.divisor == 1, "counts are in parts of a row")
        reported = _made_again(mechanism, scales, data, threshold, seed)
        texts = sorted({text for text, _ in reported})
        _require([*found.words] == texts, "other texts are in an answer than those that are reported")
        places = {text: place for place, text in enumerate(texts)}
        made = sorted((places[text] * listed + rest, value) for (text, rest), value in reported.items())
        told = [*zip(found.keys.tolist(), found.numerators.tolist(), strict=True)]
        _require(told == made, "others are reported than those whose count with noise reaches the threshold")
    return _TRIALS


def _made_again(
    mechanism: UnlistedKeys, scales: Scales, data: _RandomTexts, threshold: int, seed: int
) -> dict[tuple[str, int], int]:
    """What is reported, by text and combination; which key has which noise is found by this audit."""
    randomness, listed = InsecureSeededRandomness(seed), mechanism.listed_keys
    keys, counts, left = data.keys.tolist(), data.counts.tolist(), data.keys % listed
    groups: list[Keys] = []
    for own, column in zip(reversed(scales.groups), reversed(mechanism.columns_of_keys), strict=True):
        # Noise may not depend on a text: all have one group.
        _require(not (column.unlisted and own.any()), "texts have different noise")
        groups.append(np.zeros_like(left) if column.unlisted else own[left % len(own)])
        left = left if column.unlisted else left // len(own)
    places = [*zip(*(one.tolist() for one in reversed(groups)), strict=True)]
    reported: dict[tuple[str, int], int] = {}
    for place in scales.order:
        here = [at for at, own in enumerate(places) if own == place]
        law = noise_of(mechanism.known, float(scales.scale[place]))
        noise = law.draw(len(here), randomness, Fraction(1))[:, 0].tolist() if here else []
        for at, added in zip(here, noise, strict=True):
            if counts[at] + added >= threshold:
                reported[data.words[keys[at] // listed], keys[at] % listed] = counts[at] + added
    return reported
