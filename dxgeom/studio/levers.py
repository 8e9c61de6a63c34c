"""The numbers of a policy file that can be moved: where each stands, what it is called, and how far it goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, final

from dxgeom.errors import UnsupportedCombination
from dxgeom.policy.policy import Policy
from dxgeom.policy.rule_kinds import RULE_KINDS
from dxgeom.policy.source.mistakes import Mistakes, Span
from dxgeom.policy.source.yaml_tree import Mapping, Node, Path, Scalar, Sequence, node_at, read_tree

BUDGET: Final = "budget"
_NUMBER: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_KEYS: Final = ("epsilon", "otherwise")
_STEPS: Final = (
    "1",
    "1.1",
    "1.2",
    "1.35",
    "1.5",
    "1.7",
    "2",
    "2.25",
    "2.5",
    "3",
    "3.5",
    "4",
    "4.5",
    "5",
    "6",
    "7",
    "8",
)
_POWERS: Final = range(-3, 1)
_LAST: Final = ("10", "12", "15", "20")


@final
@dataclass(frozen=True)
class Lever:
    """A number in the text of a policy.

    ``name``: its path, the same as long as the policy has the same rules. ``rule``: the policy's rule that it belongs
    to, from 0; None for the budget. ``words``: which of the rule's numbers it is, empty where it has one. ``prefix``:
    what is written before it where the text has none yet.
    """

    name: str
    rule: int | None
    words: str
    value: str
    line: int
    span: Span
    prefix: str = ""

    def moved(self, content: str, value: str) -> str:
        """The text with another number in this place. Raises: UnsupportedCombination for what is no such number."""
        if not _NUMBER.fullmatch(value) or float(value) == 0:
            raise UnsupportedCombination(f"a number above 0 with at most nine digits is needed here, found {value!r}")
        return f"{content[: self.span.start]}{self.prefix}{value}{content[self.span.end :]}"

    def stands_in(self, content: str) -> bool:
        """Whether the text has a number in this place, and no quotes around it."""
        return _NUMBER.fullmatch(content[self.span.start : self.span.end]) is not None

    @property
    def stops(self) -> list[str]:
        """The numbers that a slider goes through, the present one among them."""
        return sorted({*_STOPS, self.value}, key=float)


def _decimal(mantissa: str, power: int) -> str:
    return f"{float(mantissa) * 10.0**power:.6f}".rstrip("0").rstrip(".")


_STOPS: Final = (*(_decimal(step, power) for power in _POWERS for step in _STEPS), *_LAST)


def levers_of(policy: Policy) -> tuple[Lever, ...]:
    """Every number that promises something, in the order of the file's rules, and the budget last."""
    text = policy.text
    root = None if text is None else read_tree(Mistakes(text))
    if text is None or root is None:
        return ()
    found = list(_of_missing(root, policy))
    written = node_at(root, ("rules",))
    items = written.items if isinstance(written, Sequence) else ()
    first = len(policy.rules) - len(items)
    for number, rule in enumerate(items):
        found += _of_rule(rule, number, first + number)
    budget = node_at(root, (BUDGET,))
    end = len(text.content)
    if isinstance(budget, Scalar):
        found.append(_lever((BUDGET,), None, "", budget))
    else:
        line = "" if text.content.endswith("\n") else "\n"
        found.append(Lever(BUDGET, None, "", "1", 0, Span(end, end), f"{line}budget: "))
    # Where something stands is counted once all is found.
    return tuple(_placed(one, policy) for one in found if _NUMBER.fullmatch(one.value))


def _of_missing(root: Node, policy: Policy) -> Iterator[Lever]:
    """What attributes state about their missing values comes before the file's rules."""
    for number, rule in enumerate(policy.rules):
        if rule.missing and rule.bounds:
            path: Path = ("universe", "attributes", rule.bounds[0][0], "missing", "epsilon")
            node = node_at(root, path)
            if isinstance(node, Scalar):
                yield _lever(path, number, "", node)


def _of_rule(rule: Node, number: int, place: int) -> Iterator[Lever]:
    if not isinstance(rule, Mapping):
        return
    for key, node in rule.entries:
        if key.text in _KEYS and isinstance(node, Scalar):
            words = "all others" if key.text == "otherwise" else ""
            yield _lever(("rules", number, key.text), place, words, node)
        elif key.text in {kind.key for kind in RULE_KINDS} and isinstance(node, Mapping):
            for value, epsilon in node.entries:
                if isinstance(epsilon, Scalar):
                    yield _lever(("rules", number, key.text, value.text), place, value.text, epsilon)


def _lever(path: Path, rule: int | None, words: str, node: Scalar) -> Lever:
    return Lever("/".join(map(str, path)), rule, words, node.text, 0, node.span)


def _placed(lever: Lever, policy: Policy) -> Lever:
    line = policy.text.position(lever.span.start)[0] if policy.text is not None else 0
    return Lever(lever.name, lever.rule, lever.words, lever.value, line, lever.span, lever.prefix)
