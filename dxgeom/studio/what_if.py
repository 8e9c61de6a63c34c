"""What if a number of the policy were another: one page as a file, which reckons in the browser and asks nobody."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from importlib.resources import files
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.policy import Policy, parse_policy
from dxgeom.policy.rule_kinds import RULE_KINDS
from dxgeom.privacy.measures import PURE
from dxgeom.studio.levers import Lever, levers_of
from dxgeom.studio.nearness import distances_from, labels_of
from dxgeom.universe.columns import plain

MOST_VALUES: Final = 120
"""Of an attribute that the page reckons with; its work grows with their third power."""
_MOST_RULES: Final = 60
_SAME: Final = 1e-9
_NOT_HERE: Final = "Its numbers are moved in the studio, or in the file."
_TOO_MANY: Final = "has too many values"
_ELSEWHERE: Final = "Try it out with 'dxgeom studio'."
_OTHERWISE: Final = "is hidden by rules that this page cannot reckon with"

Bounds = NDArray[np.float64]


@final
class WhatIf:
    """What the page of a policy reckons with.

    Of each attribute there are terms: a number that can be moved, or none, and what it is multiplied with for every
    pair of values. Bounds are the least of all terms, and distances their shortest paths. Guarantee: an attribute is
    on the page only if that gives the compiled distances, *within a billionth*, for the numbers of the file and for
    others on both sides of each.
    """

    def __init__(self, policy: Policy) -> None:
        """Raises: UnsupportedCombination for a policy with curves in place of odds, a time, or listed records."""
        _require(policy)
        self.policy = policy
        self._made: dict[tuple[tuple[int, str], ...], Policy] = {}
        found = levers_of(policy)
        if not found or found[-1].rule is not None:
            raise UnsupportedCombination(f"the budget in the file is no plain number. {_ELSEWHERE}")
        self.budget = found[-1]
        self.levers = {k: alone for k in range(len(policy.rules)) if (alone := _only(found, k)) is not None}
        names = [one.name for one in policy.universe.attributes if 1 < one.size <= MOST_VALUES]
        self.levers = {k: one for k, one in self.levers.items() if all(self._multiplies(k, name) for name in names)}
        self.terms = {name: dict(self._terms(name)) for name in names}
        tried = list(self._tried())
        self.names = tuple(name for name in names if all(self._is_compiled(name, *each) for each in tried))

    def values(self) -> dict[int, float]:
        """The file's own numbers that can be moved, by their rule."""
        return {k: float(Fraction(one.value)) for k, one in self.levers.items()}

    def distances(self, name: str, values: Mapping[int, float]) -> Bounds:
        """Of all pairs of an attribute's values, as the page reckons them: the shortest paths over the least bounds."""
        size = len(labels_of(self.policy, name))
        found = np.full((size, size), math.inf)
        for k, base in self.terms[name].items():
            found = np.minimum(found, base * values.get(k, 1.0))
        np.fill_diagonal(found, 0.0)
        for middle in range(size):
            found = np.minimum(found, found[:, middle, None] + found[None, middle, :])
        return found

    def model(self) -> dict[str, Any]:
        """All that the page is handed."""
        policy = self.policy
        presence = [k for k, rule in enumerate(policy.rules) if rule.presence is not None]
        away = [float(rule.presence) for rule in policy.rules if rule.presence is not None]
        return {
            "title": policy.title,
            "about": policy.about,
            "fingerprint": policy.fingerprint,
            "budget": _number(self.budget),
            "rules": [
                {
                    "words": rule.syntax.title or rule.words,
                    "line": rule.line,
                    "note": "" if k in self.levers else _NOT_HERE,
                    "number": _number(self.levers[k]) if k in self.levers else None,
                }
                for k, rule in enumerate(policy.rules)
            ],
            "presence": [k if k in self.levers else None for k in presence],
            "away": away,
            "attributes": [self._attribute(name) for name in self.names],
            "left": [
                f"{policy.labels.attribute(one.name)} {_TOO_MANY if one.size > MOST_VALUES else _OTHERWISE}."
                for one in policy.universe.attributes
                if one.size > 1 and one.name not in self.names
            ],
        }

    def _attribute(self, name: str) -> dict[str, Any]:
        upper = np.triu_indices(len(labels_of(self.policy, name)), 1)
        return {
            "name": self.policy.labels.attribute(name),
            "labels": labels_of(self.policy, name),
            "terms": [
                {
                    "rule": k if k in self.levers else None,
                    "base": [one if math.isfinite(one) else None for one in base[upper].tolist()],
                }
                for k, base in self.terms[name].items()
            ],
        }

    def _multiplies(self, k: int, name: str) -> bool:
        """Whether the rule's number multiplies all that it states."""
        one, two = (_stated(self._with({k: value}), k, name) for value in ("1", "2"))
        return bool(np.allclose(two, 2 * one, rtol=_SAME, atol=0))

    def _terms(self, name: str) -> Iterator[tuple[int, Bounds]]:
        """Of each rule what it states where its number is 1, or as it stands where that is not moved."""
        for k, rule in enumerate(self.policy.rules):
            if rule.presence is not None or rule.alone(name) is not None:
                yield k, _stated(self._with({k: "1"}) if k in self.levers else self.policy, k, name)

    def _with(self, moved: Mapping[int, str]) -> Policy:
        """The policy with other numbers in some rules."""
        key = tuple(moved.items())
        if key not in self._made:
            text = self.policy.text
            content = text.content if text is not None else ""
            for k in sorted(moved, key=lambda k: -self.levers[k].span.start):
                content = self.levers[k].moved(content, moved[k])
            self._made[key] = parse_policy(content, folder=None if text is None else text.folder)
        return self._made[key]

    def _tried(self) -> Iterator[tuple[dict[int, float], Policy]]:
        """The file's numbers, then each far below and above, then all at once."""
        yield self.values(), self.policy
        ways = [{k: value} for k, one in self.levers.items() for value in (_off(one, -6), _off(one, 6))]
        ways.append({k: _off(one, 5 if at % 2 else -4) for at, (k, one) in enumerate(self.levers.items())})
        for moved in ways:
            values = self.values() | {k: float(Fraction(value)) for k, value in moved.items()}
            yield values, self._with(moved)

    def _is_compiled(self, name: str, values: Mapping[int, float], policy: Policy) -> bool:
        size = len(labels_of(policy, name))
        compiled = np.stack([distances_from(policy, name, k, size) for k in range(size)])
        return bool(np.allclose(self.distances(name, values), compiled, rtol=_SAME, atol=0))


def what_if_page(policy: Policy) -> str:
    """A page as a file: each rule's number can be moved, and odds, guesses and errors of counts follow.

    Guarantee: it holds everything that it needs, and refers to nothing outside itself; odds and errors are *rounded
    up*. Raises: UnsupportedCombination for a policy that the page cannot reckon with.
    """
    model = WhatIf(policy).model()
    if not model["attributes"]:
        raise UnsupportedCombination(f"no page can be made: {' '.join(model['left'])} {_ELSEWHERE}")
    script = "\n".join(map(_module, ("elements.js", "reckoning.js", "what_if.js")))
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    parts = {
        "title": html.escape(policy.title),
        "style": _text("dxgeom.document", "page.css") + _text("dxgeom.studio", "studio.css"),
        "script": script,
        "digest": digest,
        "model": json.dumps(model, ensure_ascii=True).replace("<", "\\u003c"),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], _text("dxgeom.studio", "what_if.html"))


def _require(policy: Policy) -> None:
    if policy.text is None:
        raise UnsupportedCombination("a policy that stands in no file has no numbers to move: load it from a file")
    if policy.privacy != PURE or policy.delta is not None:
        raise UnsupportedCombination(f"this page shows odds that always hold, and this policy has none. {_ELSEWHERE}")
    if policy.time is not None:
        raise UnsupportedCombination(f"this page does not add up periods, and this policy has a time. {_ELSEWHERE}")
    if policy.universe.listed is not None or not policy.universe.indexable:
        raise UnsupportedCombination(f"this page is about attributes one by one, of few records. {_ELSEWHERE}")
    if len(policy.rules) > _MOST_RULES:
        raise UnsupportedCombination(f"this page has room for {_MOST_RULES} rules. {_ELSEWHERE}")


def _only(levers: tuple[Lever, ...], rule: int) -> Lever | None:
    """The number of a rule that has one; not a number for some values only."""
    mine = [one for one in levers if one.rule == rule]
    keys = {kind.key for kind in RULE_KINDS}
    return mine[0] if len(mine) == 1 and not keys & set(mine[0].name.split("/")) else None


def _stated(policy: Policy, rule: int, name: str) -> Bounds:
    """What a rule states of all pairs of an attribute's values; of presence twice its number, there and back."""
    size = len(labels_of(policy, name))
    resolved = policy.rules[rule]
    if resolved.presence is not None:
        return np.full((size, size), 2 * float(resolved.presence))
    bound = resolved.alone(name)
    found = np.full((size, size), math.inf)
    if bound is not None:
        first, second = np.triu_indices(size, 1)
        found[first, second] = found[second, first] = bound.as_written(None)(first, second)
    return found


def _off(lever: Lever, steps: int) -> str:
    """The number so many stops of its slider away, or the last there is."""
    stops = lever.stops
    return stops[min(max(stops.index(lever.value) + steps, 0), len(stops) - 1)]


def _number(lever: Lever) -> dict[str, Any]:
    return {"value": plain(Fraction(lever.value)), "at": lever.stops.index(lever.value), "stops": lever.stops}


def _module(name: str) -> str:
    """A module of the studio as a part of one script."""
    lines = _text("dxgeom.studio", name).split("\n")
    kept = (re.sub(r"^export (?=async|function|const)", "", line) for line in lines if not line.startswith("import "))
    return "\n".join(kept)


def _text(room: str, name: str) -> str:
    return files(room).joinpath(name).read_text(encoding="utf-8")
