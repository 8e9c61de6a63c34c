"""What changed from one plan to another, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final

from dxgeom.mechanisms.linear.distinct import DistinctCount
from dxgeom.plan_files.codec import codec_of_plan
from dxgeom.plan_files.document import path_text
from dxgeom.planner.plan import Plan

_LONGEST = 60
_SAME = 1e-9


class ErrorChange(NamedTuple):
    """An answer's root mean squared error before and after; None where it is not asked."""

    name: str
    before: float | None
    after: float | None


@final
@dataclass(frozen=True)
class PlanDifferences:
    """What differs between two plans. ``errors``: of the answers whose error changed, each at its own plan's spend."""

    policy: tuple[str, ...]
    queries: tuple[str, ...]
    mechanism: tuple[str, ...]
    errors: tuple[ErrorChange, ...]

    def lines(self) -> list[str]:
        """All of it, a sentence each; one that says so where nothing differs."""
        told = [*self.policy, *self.queries, *self.mechanism, *map(_error_in_words, self.errors)]
        return told or ["the two plans are the same"]

    def as_dict(self) -> dict[str, Any]:
        """The same ready for JSON."""
        return {
            "policy": list(self.policy),
            "queries": list(self.queries),
            "mechanism": list(self.mechanism),
            "errors": [change._asdict() for change in self.errors],
        }


def differences(old: Plan, new: Plan) -> PlanDifferences:
    """What differs between two plans: what their policies and queries say, the mechanism, the spend, each error."""
    return PlanDifferences(
        tuple(_of_policies(old, new)),
        tuple(_of_queries(old, new)),
        tuple(_of_mechanisms(old, new)),
        tuple(_of_errors(old, new)),
    )


def _of_policies(old: Plan, new: Plan) -> Iterator[str]:
    before, after = old.document.policy, new.document.policy
    changed = [*_changes(before.written, after.written, ()), *_of_files(before.files, after.files)]
    if old.policy.fingerprint != new.policy.fingerprint:
        yield "the policy means something else: releases of the two are charged to different ledgers"
    elif changed:
        yield "the policy is written otherwise and means the same"
    yield from (f"policy: {change}" for change in changed)


def _of_queries(old: Plan, new: Plan) -> Iterator[str]:
    asked, then = old.queries.names, new.queries.names
    before_names, after_names = set(asked), set(then)
    yield from (f"queries: '{name}' is no longer asked" for name in asked if name not in after_names)
    yield from (f"queries: '{name}' is asked" for name in then if name not in before_names)
    of_boxes = [hasattr(one.document, "boxes") for one in (old, new)]
    if any(of_boxes):
        yield from _of_boxes(old, new) if all(of_boxes) else ["queries: the one plan is of boxes, the other is not"]
        return
    before, after = old.document.queries, new.document.queries
    changed = list(_of_files(before.files, after.files))
    if before.written is not None and after.written is not None:
        changed += _changes(before.written, after.written, ())
    elif before.fingerprint != after.fingerprint:
        changed.append("the weights are others")
    if before.records != after.records:
        changed.append(
            f"the public number of records was {_in_words(before.records)} and is {_in_words(after.records)}"
        )
    yield from (f"queries: {change}" for change in changed)


def _of_boxes(old: Plan, new: Plan) -> Iterator[str]:
    before, after = old.document.boxes, new.document.boxes
    for what in ("importance", "errors", "records"):
        was, now = getattr(before, what), getattr(after, what)
        if was != now:
            yield from (f"queries: {change}" for change in _changes(was, now, (what,)))


def _of_mechanisms(old: Plan, new: Plan) -> Iterator[str]:
    before, after = old.mechanism, new.mechanism
    if before.name != after.name:
        yield f"mechanism: was {before.name} and is {after.name}"
    elif before.fingerprint != after.fingerprint:
        yield f"mechanism: {after.name} as before, with other numbers"
    for name, was in _laws(old).items():
        law = _laws(new).get(name, was)
        if law != was:
            yield f"{name}: picked by {was} before, by {law} now"
    codec = codec_of_plan(old)
    if codec is not None and codec is codec_of_plan(new):
        said, then = old.document.model_dump(), new.document.model_dump()
        for name, word in codec.decided_by.items():
            yield from (f"{word}: {change}" for change in _changes(said[name], then[name], ()))
    if old.spend != new.spend:
        yield f"spend: was {_in_words(old.spend)} and is {_in_words(new.spend)}"


def _laws(plan: Plan) -> dict[str, str]:
    """By task, the law by which one of several is picked."""
    names = [f"task '{name}'" for name in plan.tasks.names] if plan.tasks is not None else ["selection"]
    each = zip(names, plan.kind.inside(plan) or (plan,), strict=False)
    found = ((name, part.kind.picked_by(part)) for name, part in each)
    return {name: law for name, law in found if law is not None}


def _of_errors(old: Plan, new: Plan) -> Iterator[ErrorChange]:
    before, after = _errors(old), _errors(new)
    for name in dict.fromkeys((*before, *after)):
        was, now = before.get(name), after.get(name)
        if was is None or now is None or abs(was - now) > _SAME * max(was, now):
            yield ErrorChange(name, was, now)


def _errors(plan: Plan, spend: Fraction | None = None) -> dict[str, float]:
    """By answer, of noise on listed queries, and of numbers of different values; of tasks each at its share, after its
    name. What quantiles are off by has no such number."""
    spend = plan.spend_of_figures(None) if spend is None else spend
    if plan.tasks is not None:
        each = zip(plan.tasks.names, plan.parts, plan.mechanism.shares, strict=True)
        errors = ((name, _errors(part, (share or 1) * spend)) for name, part, share in each)
        return {f"{task}: {name}": error for task, own in errors for name, error in own.items()}
    if isinstance(plan.mechanism, DistinctCount):
        return {plan.question.called: plan.mechanism.root_mean_square(spend)}
    return dict(zip(plan.queries.names, plan.rmse(spend).tolist(), strict=True)) if plan.answers_a_list else {}


def _error_in_words(change: ErrorChange) -> str:
    match change:
        case ErrorChange(name, before, None):
            return f"error: '{name}' had {before:.4g}"
        case ErrorChange(name, None, after):
            return f"error: '{name}' has {after:.4g}"
    before, after = change.before or 0.0, change.after or 0.0
    times = f", {after / before:.3g} times as much" if before > 0 and after > 0 else ""
    return f"error: '{change.name}' had {before:.4g} and has {after:.4g}{times}"


def _of_files(before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        if before.get(name) != after.get(name):
            what = "is new" if name not in before else "is gone" if name not in after else "has another content"
            yield f"the file '{name}' {what}"


def _changes(before: Any, after: Any, place: tuple[str | int, ...]) -> Iterator[str]:
    """Every word that differs, with its place; of lists of other lengths what was added or taken away at the end."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            yield from _one_of_two(before, after, key, key in before, key in after, place)
        if before == after and list(before) != list(after):
            yield f"{path_text(place) or 'top level'} is in another order"
    elif isinstance(before, list) and isinstance(after, list):
        for number in range(max(len(before), len(after))):
            yield from _one_of_two(before, after, number, number < len(before), number < len(after), place)
    elif before != after:
        yield f"{path_text(place)} was {_in_words(before)} and is {_in_words(after)}"


def _one_of_two(
    before: Any, after: Any, step: str | int, was: bool, has: bool, place: tuple[str | int, ...]
) -> Iterator[str]:
    here = (*place, step)
    if was and has:
        yield from _changes(before[step], after[step], here)
    elif was:
        yield f"{path_text(here)} is gone, it was {_in_words(before[step])}"
    else:
        yield f"{path_text(here)} is new: {_in_words(after[step])}"


def _in_words(value: Any) -> str:
    if value is None:
        return "left open"
    text = value if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
