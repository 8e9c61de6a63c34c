"""A short document for each thing, by the parts of the review page: the sentence that matters, and small tables."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from dxgeom.report.showing.briefs import name_of

if TYPE_CHECKING:
    from dxgeom.report.document.document import Document

_HOMES: Final = {
    "Policy": "policies",
    "VerifiedMetric": "metrics",
    "MetricCertificate": "metrics",
    "Plan": "plans",
    "Releasable": "plans",
    "CandidateResult": "plans",
    "Release": "releases",
    "Ledger": "ledgers",
}
"""The file here that says what a class looks like; its function has the class's name in small letters."""


def document_for(thing: object) -> Document:
    """What a notebook shows of it."""
    name = name_of(thing, _HOMES)
    say: Callable[[Any], Document] = getattr(import_module(f"dxgeom.report.showing.{_HOMES[name]}"), name.lower())
    return say(thing)


def fragment_for(thing: object) -> str:
    """The same as HTML."""
    return document_for(thing).fragment()
