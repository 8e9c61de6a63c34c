"""How far records are apart by what a policy in a plan file says, read without the package: words of a few kinds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from reference.policy_closure import PlainAttribute, PlainRule, bound

KNOWN = {"policy", "universe", "rules", "budget", "dataset", "privacy", "people", "about", "unconnected", "adaptive"}
MOST = 70


def stated_distances(written):
    """(N, N) float64 with the absent record last, or None for words that this reader does not know."""
    try:
        attributes, rules = _attributes(written), [_rule(rule) for rule in written["rules"]]
        rows = _rows_of_a_person(written.get("people", {}))
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    if not set(written) <= KNOWN or np.prod([len(one.labels) for one in attributes]) > MOST:
        return None
    shape = [len(one.labels) for one in attributes]
    records = [tuple(int(code) for code in codes) for codes in np.ndindex(*shape)]
    records += [None] if any(rule.presence for rule in rules) else []
    apart = np.array([[0.0 if a == b else float(bound(attributes, rules, a, b)) for b in records] for a in records])
    for k in range(len(records)):
        apart = np.minimum(apart, apart[:, k, None] + apart[None, k])
    return apart / rows


def _rows_of_a_person(people):
    """All of them together are hidden as one record is; who counts once is spread over shares, as mechanisms say."""
    people = {} if people == "one row each" else people
    if people and people["count"] not in ("once", "rows"):
        raise ValueError
    return int(people["at_most"]) if people and people["count"] == "rows" else 1


def _attributes(written):
    universe = written["universe"]
    if set(universe) != {"attributes"}:
        raise ValueError
    return [_attribute(name, said) for name, said in universe["attributes"].items()]


def _attribute(name, said):
    if isinstance(said, list) and all(isinstance(label, str) for label in said):
        return PlainAttribute(name, "", tuple(said), None, "")
    around = set(said) == {"range", "step", "wraps"} and said["wraps"] == "true"
    if set(said) != {"range", "step"} and not around:
        raise ValueError
    (low, high), step = map(Fraction, said["range"]), Fraction(said["step"])
    places = tuple(low + number * step for number in range(int((high - low) / step) + 1))
    if step <= 0 or places[-1] != high:
        raise ValueError
    if around and len(places) < 3:
        raise ValueError
    roads = tuple((k, (k + 1) % len(places), step) for k in range(len(places))) if around else None
    return PlainAttribute(name, "", tuple(map(str, places)), None if around else places, "", roads=roads)


def _rule(said):
    epsilon = Fraction(said["epsilon"])
    if set(said) == {"presence", "epsilon"} and said["presence"] == "true":
        return PlainRule(None, epsilon, presence=True)
    change = said["change"]
    names = tuple(change) if isinstance(change, list) else (change,)
    if set(said) == {"change", "epsilon"}:
        return PlainRule(names, epsilon)
    if set(said) == {"change", "epsilon", "per"}:
        return PlainRule(names, epsilon, "per", Fraction(said["per"]))
    if set(said) == {"change", "epsilon", "together"} and said["together"] == "true":
        return PlainRule(names, epsilon, joint="together")
    raise ValueError


def tight_pairs(apart):
    """Pairs at finite distance that no third record lies between: what hides these hides all, by triangles."""
    size = len(apart)
    detour = np.full((size, size), np.inf)
    for k in range(size):
        through = apart[:, k, None] + apart[None, k]
        through[k], through[:, k] = np.inf, np.inf
        detour = np.minimum(detour, through)
    return [
        (i, j)
        for i, j in np.argwhere(np.triu(np.isfinite(apart), 1)).tolist()
        if detour[i, j] > apart[i, j] * (1 + 1e-12)
    ]
