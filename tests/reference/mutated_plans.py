"""Plan files changed by chance, by somebody who wants more than they say: numbers, words, lists, parts of others."""

from __future__ import annotations

import copy
import json
import re
import struct
from typing import Any

from reference.random_workloads import Chance

PARTS = (
    ("policy",),
    ("policy", "written"),
    ("policy", "written", "rules"),
    ("policy", "written", "universe"),
    ("queries",),
    ("queries", "written"),
    ("queries", "records"),
    ("boxes",),
    ("boxes", "upper"),
    ("objective",),
    ("mechanism",),
    ("mechanism", "law"),
    ("mechanism", "law", "scales"),
    ("mechanism", "mixing"),
    ("mechanism", "without_noise"),
    ("mechanism", "steps"),
    ("mechanism", "change"),
    ("mechanism", "name"),
    ("table_noise",),
    ("table_noise", "scales"),
    ("box_noise",),
    ("box_noise", "scales"),
    ("box_noise", "measured"),
    ("parts",),
    ("parts", 0),
    ("parts", 0, "mechanism"),
    ("parts", 0, "forms"),
    ("forms",),
    ("records",),
    ("spend",),
    ("errors",),
)
"""What is taken from one file and put into another."""
SEALS = ("fingerprint", "digest", "format")
_FIGURE = re.compile(r"-?\d+(/\d+|\.\d+)?")


def leaves(data, place=()):
    """All places at which there is neither a mapping nor a list."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves(value, (*place, key))
    else:
        yield place, data


def within(document, place):
    """What stands at a place, None where nothing does."""
    for step in place:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return None
    return document


def put(document, place, value):
    within(document, place[:-1])[place[-1]] = value


def mutant(chance: Chance, documents: dict[str, dict[str, Any]]) -> tuple[str, list[str], dict[str, Any]]:
    """The name of a file, what was done to it, and what it says then."""
    family = chance.one(sorted({name.partition(",")[0] for name in documents}))
    names = [name for name in sorted(documents) if name.partition(",")[0] == family]
    name = chance.one(names)
    document, done, wanted = copy.deepcopy(documents[name]), [], chance.one((1, 1, 1, 2, 3))
    while len(done) < wanted or document == documents[name]:
        change = chance.one(CHANGES)
        if change is spliced:
            donor = chance.one(names if chance.likely(0.6) else sorted(documents))
            done.append(f"spliced with {donor}: {spliced(document, documents[donor], chance)}")
        else:
            done.append(f"{change.__name__}: {change(document, chance)}")
    return name, done, document


def of_a_kind(document, chance, wanted):
    """One of the places whose leaves are wanted, seals left out; places in the policy and the law are as likely."""
    every = [(place, one) for place, one in leaves(document) if place[-1] not in SEALS and wanted(place, one)]
    tops = sorted({place[0] for place, _ in every})
    top = chance.one(tops) if tops else None
    found = [one for one in every if one[0][0] == top]
    return chance.one(found) if found else (None, None)


def is_float(place, one):
    return isinstance(one, str) and (one.startswith(("0x", "-0x")) or one == "inf")


def is_figure(place, one):
    return isinstance(one, str) and _FIGURE.fullmatch(one) is not None


def number_changed(document, chance):
    place, one = of_a_kind(document, chance, is_float)
    if place is None:
        return None
    value = float.fromhex(one)
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    (flipped,) = struct.unpack("<d", struct.pack("<Q", bits ^ (1 << chance.below(64))))
    others = [flipped, flipped, value * (1 - 1e-6), value * (1 + 1e-6), value / 2, value * 2, -value, 0.0, -0.0, 1e300]
    put(document, place, chance.one([*(_hex(other) for other in others), "nan", "inf", "-inf", 1]))
    return place


def _hex(value):
    return "inf" if value == float("inf") else value.hex()


def numbers_scaled(document, chance):
    """All floats of one array, as whoever wants narrower noise would do."""
    place, _ = of_a_kind(document, chance, is_float)
    if place is None:
        return None
    around = within(document, place[:-1])
    factor = chance.one((1 - 1e-6, 1 - 1e-12, 0.999, 0.5, 0.9, 1.1, 2.0, 1024.0))
    for key, one in around.items() if isinstance(around, dict) else enumerate(around):
        if is_float((), one):
            around[key] = _hex(float.fromhex(one) * factor)
    return place[:-1], factor


def figure_changed(document, chance):
    place, one = of_a_kind(document, chance, is_figure)
    if place is None:
        return None
    top, _, below = one.partition("/")
    if chance.likely(0.6) and "." not in one:
        other = chance.one((f"{int(top) + 1}", f"{int(top) - 1}", f"{int(top) * 2}", f"{int(top) * 10}"))
        other = f"{other}/{below}" if below else chance.one((other, f"{other}/2", f"{one}.5", f"0.{one}"))
    else:
        nearer = repr(float(one) * (1 - 1e-6)) if "/" not in one else f"{one}0"
        other = chance.one((nearer, f"{one}1", "0", f"-{one}", "1" * 40, "NaN", "1e-3", f"0.5{one}", f"{top}/0", "1/3"))
    put(document, place, other)
    return place, other


def whole_changed(document, chance):
    place, one = of_a_kind(document, chance, lambda place, one: isinstance(one, int) and not isinstance(one, bool))
    if place is None:
        return None
    other = chance.one((one + 1, one - 1, 0, -one, -1, one * 2, 2**53, 2**62, 10**16, True, str(one)))
    put(document, place, other)
    return place, other


def word_changed(document, chance):
    place, one = of_a_kind(document, chance, lambda place, one: isinstance(one, str) and not is_float(place, one))
    if place is None:
        return None
    others = [word for where, word in leaves(document) if isinstance(word, str) and where[-1] == place[-1]]
    words = [word for _, word in leaves(document) if isinstance(word, str)]
    other = chance.one(
        (chance.one(others), chance.one(others), chance.one(words), one[1:], one + one[-1:], "", "é", "true")
    )
    put(document, place, other)
    return place, other


def kind_changed(document, chance):
    place, _ = of_a_kind(document, chance, lambda place, one: True)
    other = chance.one((None, True, False, [], {}, [[]], "", 1, {"kind": "LaplaceNoise"}))
    put(document, place, other)
    return place, other


def containers(data, kind, place=()):
    if isinstance(data, kind) and len(data) > (kind is list):
        yield place
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from containers(value, kind, (*place, key))


def list_changed(document, chance):
    place = chance.one([*containers(document, list)] or [()])
    entries = within(document, place)
    if not isinstance(entries, list):
        return None
    first, second = chance.below(len(entries)), chance.below(len(entries))
    how = chance.one(("swapped", "dropped", "twice", "reversed", "copied", "turned"))
    if how == "swapped":
        entries[first], entries[second] = entries[second], entries[first]
    elif how == "dropped":
        del entries[first]
    elif how == "twice":
        entries.insert(second, copy.deepcopy(entries[first]))
    elif how == "copied":
        entries[first] = copy.deepcopy(entries[second])
    else:
        entries[:] = entries[::-1] if how == "reversed" else entries[1:] + entries[:1]
    return place, how


def keys_changed(document, chance):
    place = chance.one([*containers(document, dict)])
    fields = within(document, place)
    key, other = chance.one(sorted(fields)), chance.one(sorted(fields))
    how = chance.one(("dropped", "renamed", "swapped", "added", "moved to the end"))
    if how == "swapped":
        fields[key], fields[other] = fields[other], fields[key]
    elif how == "added":
        fields[chance.one(("seed", "spend", "parts", "law", "presence", "privacy", "budget"))] = copy.deepcopy(
            fields[key]
        )
    else:
        value = fields.pop(key)
        if how != "dropped":
            fields[f"{key}s" if how == "renamed" else key] = value
    return place, key, how


def policy_changed(document, chance):
    """Rules that promise more, or less, than those the noise was made for."""
    said = within(document, ("policy", "written"))
    said = said if isinstance(said, dict) else {}
    rules, shape = said.get("rules"), said.get("universe")
    if not (
        isinstance(rules, list) and rules and all(isinstance(one, dict) for one in rules) and isinstance(shape, dict)
    ):
        return None
    rule, names = chance.one(rules), [*(shape.get("attributes") or {"": None})]
    how = chance.below(8)
    if how == 0:
        rule["epsilon"] = chance.one(("0.1", "0.01", "0.3", "0.7", "2", "10", "0.4999999", "100"))
    elif how == 1:
        rules.remove(rule)
    elif how == 2:
        rules.append({"change": chance.one(names), "epsilon": chance.one(("0.05", "0.3", "2"))})
    elif how == 3:
        rules.append({"change": names, "together": "true", "epsilon": chance.one(("0.2", "0.5", "1", "3"))})
    elif how == 4:
        said.update(
            chance.one(({"privacy": "concentrated"}, {"privacy": "pure"}, {"budget": "1/3"}, {"budget": "0.1"}))
        )
    elif how == 5:
        rules.append({"presence": "true", "epsilon": chance.one(("0.1", "1", "5"))})
    elif how == 6:
        rule["per"] = chance.one(("1", "2", "0.5", "9"))
    else:
        rule["change"] = chance.one(names)
    return how


def spliced(document, donor, chance):
    there = [place for place in PARTS if within(donor, place) is not None and within(document, place[:-1]) is not None]
    place = chance.one(there)
    around = within(document, place[:-1])
    if isinstance(around, list) and not around:
        return None
    if isinstance(around, dict | list):
        put(document, place, copy.deepcopy(within(donor, place)))
    return place


def spoiled_text(text: str, chance: Chance) -> str:
    """A byte, or a key, of the text itself."""
    place = chance.below(len(text))
    if chance.likely(0.3):
        key = chance.one(sorted(json.loads(text)))
        return text.replace("{\n", f'{{\n"{key}": null,\n', 1)
    piece = chance.one(("", chr(chance.whole(32, 126)), '"', "\\", "0", "\n", "\x00", "\ud800", "é"))
    return text[:place] + piece + text[place + chance.below(3) :]


CHANGES = (
    number_changed,
    number_changed,
    numbers_scaled,
    figure_changed,
    figure_changed,
    whole_changed,
    word_changed,
    kind_changed,
    list_changed,
    list_changed,
    keys_changed,
    policy_changed,
    policy_changed,
    spliced,
    spliced,
)
