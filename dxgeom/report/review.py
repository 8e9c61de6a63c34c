"""The review page: a policy, its questions and its account, for whoever signs it; first what has to be decided."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import NoneType
from typing import Any, Final, cast

from dxgeom.arguments import require
from dxgeom.document.document import Document
from dxgeom.errors import DataError, UnsupportedCombination
from dxgeom.ledger.history import History, read_answer, read_ledger
from dxgeom.planner.amounts import Amount, exact_amount
from dxgeom.planner.plan import Plan
from dxgeom.policy.policy import Policy
from dxgeom.privacy.measures import PURE
from dxgeom.report.account import account
from dxgeom.report.checklist import checklist
from dxgeom.report.curves import curves_page
from dxgeom.report.facts import Facts, facts_of
from dxgeom.report.questions import questions_section
from dxgeom.report.registry_entry import registry_entry
from dxgeom.report.released import Released, release_of
from dxgeom.report.rules import hidden
from dxgeom.report.sections import (
    evidence,
    head,
    in_short,
    not_hidden,
    together,
    who,
    words_and_signature,
)
from dxgeom.report.warnings import warnings


def review_page(
    policy: Policy,
    plan: Plan | None = None,
    *,
    spend: Amount | None = None,
    ledger: str | Path | None = None,
    releases: Iterable[Released] = (),
    plan_digest: str | None = None,
) -> Document:
    """What whoever signs a policy, its questions and its budget has to know, as a document.

    Args: ``plan``: how the questions are answered, under this policy; quantiles, tasks and whole tables by what
    holds of their errors. ``spend``: of the budget on them; left out, the
    whole budget. ``ledger``: what was told so far is read from it, and not changed. ``releases``: answers from files
    (``read_release``), beside those in the ledger. ``plan_digest``: of the plan's file.
    Guarantee: odds and errors are *rounded up*; nothing on it comes from data but released answers and what is public.
    A policy that counts concentrated privacy has curves over distance, and no odds that always hold.
    Raises: LedgerError; UnsupportedCombination for a plan under another policy; TooLarge.
    """
    return document_of(_facts(policy, plan, spend, ledger, releases, plan_digest))


EXPORTS: Final[dict[str, Callable[[Facts], str]]] = {"registry": registry_entry, "checklist": checklist}
"""The forms of others in which a page can be written."""


def exported_page(
    form: str,
    policy: Policy,
    plan: Plan | None = None,
    *,
    spend: Amount | None = None,
    ledger: str | Path | None = None,
    releases: Iterable[Released] = (),
    plan_digest: str | None = None,
) -> str:
    """Return what a review page says in the form of others: ``registry`` or ``checklist``.

    Args: ``form``: an entry of the public registry of deployments (YAML), or a list after NIST SP 800-226 (Markdown).
    The others are those of ``review_page``. Raises: what that raises; UnsupportedCombination for another form.
    """
    if form not in EXPORTS:
        raise UnsupportedCombination(
            f"a page is exported as {' or '.join(EXPORTS)}, not as {form!r}: name one of these"
        )
    return EXPORTS[form](_facts(policy, plan, spend, ledger, releases, plan_digest))


def _facts(
    policy: Policy,
    plan: Plan | None,
    spend: Amount | None,
    ledger: str | Path | None,
    releases: Iterable[Released],
    plan_digest: str | None,
) -> Facts:
    require(policy, Policy, "policy", "load it with dx.load_policy")
    require(plan, (Plan, NoneType), "plan", "make it with dx.plan, or load one with dx.load_plan")
    if plan is not None and plan.metric.fingerprint != policy.fingerprint:
        raise UnsupportedCombination(
            f"the plan is under another policy than '{policy.name}': plan under this one, or name the plan's own"
        )
    if plan_digest is not None:
        require(plan_digest, str, "plan_digest", "it is the digest that a plan's file states")
    released = _released(releases)
    history = None if ledger is None else read_ledger(ledger)
    amount = None if plan is None else policy.budget if spend is None else exact_amount(spend, "spend")
    chosen: Any = None if plan is None else plan.kept
    linear, stated = (chosen, None) if chosen is not None and chosen.answers_a_list else (None, chosen)
    facts = facts_of(policy, linear, amount, plan_digest, history, plan_shown=stated)
    kept = () if ledger is None or history is None else _answers(ledger, history, facts)
    further = tuple(one for one in released if one not in kept)
    return replace(facts, releases=(*kept, *further))


def _released(releases: object) -> tuple[Released, ...]:
    """Raises: WrongArgument for anything but releases from files."""
    advice = "make a list of what dx.report.read_release returns"
    require(releases, Iterable, "releases", advice)
    found = tuple(cast("Iterable[Released]", releases))
    for one in found:
        require(one, Released, "releases", advice)
    return found


def document_of(facts: Facts) -> Document:
    """The page of these facts."""
    if facts.policy.privacy != PURE:
        return curves_page(facts)
    notices = warnings(facts)
    decisions = sum(one.severity == "decide" for one in notices)
    sections = (
        in_short(facts, notices),
        hidden(facts),
        not_hidden(facts),
        together(facts),
        who(facts),
        questions_section(facts),
        account(facts),
        evidence(facts),
        words_and_signature(decisions),
    )
    return Document(
        "Privacy review", facts.policy.title, facts.policy.about, head(facts), sections, facts.policy.fingerprint
    )


def _answers(ledger: str | Path, history: History, facts: Facts) -> tuple[Released, ...]:
    """The answers to queries that the ledger holds of this policy."""
    found = []
    for entry in facts.entries:
        kept = entry.number in history.answers or entry.number in history.waiting
        content = read_answer(ledger, entry.number) if kept else None
        if content is not None:
            with suppress(DataError):  # answers of other mechanisms are in the ledger, too
                found.append(release_of(content, f"entry {entry.number} of the ledger"))
    return tuple(found)
