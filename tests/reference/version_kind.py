"""A kind of attribute that the package does not have, written as a new one would be: ``{version: [3.8, 3.12]}``.

Run as a program it is registered by one line, before the grammar is built, and taken through everything a kind is for:
``python -m reference.version_kind FOLDER`` prints what came of it as JSON.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeAlias, final

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, PlainValidator, WithJsonSchema

from dxgeom.policy.axes import Axis, LineAxis
from dxgeom.policy.kinds.kind import AttributeKind, Declared, Misfit, written_as, wrote
from dxgeom.policy.source.fields import Length, wrong_field
from dxgeom.universe.attributes import OUTSIDE, Attribute
from dxgeom.universe.columns import Column, TextColumn

_VERSION = re.compile(r"(\d+)\.(\d+)(\.\d+)*", re.ASCII)


def _version(value: Any) -> str:
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        raise wrong_field("DX108", "a version is expected here", "write a version such as 3.8")
    return value


Version: TypeAlias = Annotated[str, PlainValidator(_version), WithJsonSchema({"type": "string"})]


@final
@dataclass(frozen=True)
class VersionAttribute(Attribute):
    """The minor versions first, …, last of one major version. A raw version belongs to its minor version."""

    name: str
    major: int
    first: int
    last: int

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(f"{self.major}.{minor}" for minor in range(self.first, self.last + 1))

    @property
    def columns(self) -> tuple[Column, ...]:
        return (TextColumn(self.name, self.labels),)

    def encode(self, raw: Sequence[Any] | NDArray[Any]) -> NDArray[np.int64]:
        return np.array([self._code(word) for word in raw], dtype=np.int64)

    def _code(self, word: Any) -> int:
        found = _VERSION.fullmatch(word) if isinstance(word, str) else None
        inside = found is not None and int(found[1]) == self.major and self.first <= int(found[2]) <= self.last
        return int(found[2]) - self.first if found is not None and inside else OUTSIDE

    def accepted(self, found: str) -> str:
        return f"accepted are versions from {self.labels[0]} to {self.labels[-1]}"


@final
class VersionSyntax(BaseModel):
    """``{version: [first, last]}``."""

    model_config = written_as("Versions", "the minor versions between two.")

    version: Annotated[tuple[Version, Version], Field(description="The first and the last version.")]


@final
class VersionKind(AttributeKind[VersionSyntax, VersionAttribute]):
    """Versions; lengths are in steps."""

    key: ClassVar[str] = "version"
    noun: ClassVar[str] = "versions"
    form: ClassVar[str] = "{version}"
    example: ClassVar[str] = "write {version: [3.8, 3.12]}"
    syntax = VersionSyntax
    makes = VersionAttribute

    def resolve(self, syntax: VersionSyntax, declared: Declared) -> VersionAttribute | None:
        (major, first), (other, last) = (tuple(map(int, word.split(".")[:2])) for word in syntax.version)
        if major != other or first > last:
            declared.note("DX111", ": versions run upwards within one major version", at=("version",))
            return None
        return VersionAttribute(declared.name, major, first, last) if declared.few_enough(last - first + 1) else None

    def measured(self, attribute: VersionAttribute, key: str, length: Length) -> tuple[Axis, Fraction] | Misfit:
        if length.unit != "step":
            return Misfit(f"versions are steps apart, found {wrote(length)}", "write '2 steps'")
        return LineAxis("steps", tuple(map(Fraction, range(attribute.size)))), length.amount


POLICY = """policy: installations
universe:
  attributes:
    python: {version: [3.8, 3.12]}
    paid: [yes, no]
rules:
  - change: python
    epsilon: 0.5
    per: 1 step
  - change: paid
    epsilon: 1
"""
TABLE = "python,paid\n3.9.7,yes\n3.12,no\n3.12.1,no\n3.8.0,yes\n"
QUERIES = "queries:\n  - count: python == '3.12'\n  - marginal: python\n"
WRONG = {
    "value": ("[3.8, 3.12]", "[3.8, three]"),
    "order": ("[3.8, 3.12]", "[3.12, 3.8]"),
    "key": ("{version: [3.8, 3.12]}", "{versoin: [3.8, 3.12]}"),
    "unit": ("1 step", "1 km"),
    "list": ("{version: [3.8, 3.12]}", "{version: 3.8}"),
}


def taken_through_everything(folder: Path) -> dict[str, Any]:
    """What the package makes of the kind, from the text of a policy to a release."""
    import dxgeom as dx
    from dxgeom.policy.policy import parse_policy
    from dxgeom.policy.syntax.schema import policy_schema
    from dxgeom.queries.queries_file import parse_queries

    policy = parse_policy(POLICY)
    table, mistaken = folder / "table.csv", folder / "mistaken.csv"
    table.write_text(TABLE, encoding="utf-8")
    mistaken.write_text(TABLE + "2.7,yes\n", encoding="utf-8")
    metric, queries = policy.compile(), parse_queries(QUERIES, policy)
    plan = dx.plan(metric, queries)
    found: dict[str, Any] = {
        "schema": policy_schema(),
        "fingerprints": [policy.fingerprint, parse_policy(policy.to_yaml()).fingerprint],
        "review": policy.review().lines(),
        "explained": policy.explain({"python": "3.8.1", "paid": "yes"}, {"python": "3.11", "paid": "yes"}).lines(),
        "values": list(plan.release(table, ledger=folder / "ledger.db", spend=1).values),
        "wrong": {name: _told(partial(parse_policy, POLICY.replace(*change))) for name, change in WRONG.items()},
        "outside": _told(lambda: plan.release(mistaken, ledger=folder / "ledger.db", spend=1)),
        "unexplained": _told(lambda: policy.explain({"python": "4.0"}, {"python": "3.8"})),
    }
    return found


def _told(action: Any) -> str:
    from dxgeom.errors import DxgeomError

    try:
        action()
    except DxgeomError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    from dxgeom.policy.kinds import attribute_kinds

    kinds: Any = attribute_kinds
    kinds.ATTRIBUTE_KINDS = (*attribute_kinds.ATTRIBUTE_KINDS, VersionKind())
    print(json.dumps(taken_through_everything(Path(sys.argv[1])), default=str))
