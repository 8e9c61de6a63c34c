"""``[a, b, …]``: a list of words, which are no distance apart."""

from __future__ import annotations

from typing import ClassVar, final

from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit
from dxgeom.policy.source.lengths import Length
from dxgeom.universe.attributes import CategoricalAttribute
from dxgeom.universe.wording import shown


@final
class WordsKind(AttributeKind[tuple[str, ...], CategoricalAttribute]):
    """A list of words; the only kind that is no mapping, so that no key begins it."""

    key: ClassVar[str] = "values"
    noun: ClassVar[str] = "a list of words"
    form: ClassVar[str] = "a list of values"
    syntax = tuple[str, ...]
    makes = CategoricalAttribute

    def resolve(self, syntax: tuple[str, ...], declared: Declared) -> CategoricalAttribute | None:
        sound = declared.few_enough(len(syntax))
        if not syntax:
            declared.note("DX110", " has no values", "list at least one")
        seen: set[str] = set()
        for place, value in enumerate(syntax):
            if value in seen:
                message = f" lists the value {shown(value)} twice"
                declared.note("DX110", message, "remove one of them", at=(place,))
            seen.add(value)
        return CategoricalAttribute(declared.name, syntax) if sound and 0 < len(seen) == len(syntax) else None

    def measured(self, attribute: CategoricalAttribute, key: str, length: Length) -> Misfit:
        advice = "use 'epsilon' alone, or make the attribute a range, bins, dates, points or a graph"
        message = f"'{key}' needs distances, and {shown(attribute.name)} is a plain list of values"
        return Misfit(message, advice, "DX136")
