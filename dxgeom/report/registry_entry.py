"""A review page as an entry of the public registry of deployments of differential privacy, in its YAML.

The registry is that of the OpenDP project: ``opendp/deployments-registry-data``, its schema of 2026.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import version
from typing import Any, Final

from dxgeom.document.document import ShownTable, plain_words
from dxgeom.numeric.rounding import round_up
from dxgeom.privacy.measures import PURE
from dxgeom.report.exactness import expected
from dxgeom.report.facts import Facts
from dxgeom.report.sections import hides_presence, not_hidden, people_of
from dxgeom.universe.columns import chance_in_words
from dxgeom.universe.wording import shown
from dxgeom.wording.numbers import amount, plus_minus

FILL_IN: Final = "FILL IN"
"""What only people know."""
_UP: Final = 1 + 1e-9
_DIGITS: Final = 1_000_000
_SAME: Final = 1e-9
_HEAD: Final = (
    "# An entry for the public registry of deployments, as far as policy, plan and ledger say it.\n"
    "# Write what stands for FILL IN, and read the rest. Region, use and date are yours to state.\n"
)


def registry_entry(facts: Facts) -> str:
    """Return the entry. Its epsilon or rho holds for any two records, whole budget, *rounded up*."""
    from ruamel.yaml import YAML

    slug = re.sub(r"[^a-z0-9]+", "-", facts.policy.name.lower()).strip("-") or "policy"
    sections = {
        "basic": _basic(facts),
        "dp_variant": _variant(facts),
        "privacy_loss": _loss(facts),
        "deployment_model": _model(facts),
        "implementation": _implementation(facts),
        "administrative": {"status": "Draft", "registry_authors": [FILL_IN], "tier": 3},
    }
    writer = YAML(pure=True)
    writer.default_flow_style, writer.allow_unicode, writer.width = False, True, 110
    text = io.StringIO()
    writer.dump({"url_slug": slug, "deployment": sections}, text)
    return _HEAD + text.getvalue()


def whole_loss(facts: Facts) -> float | None:
    """What any two records are apart once the whole budget is spent, *rounded up*: an epsilon, or a rho.

    None where some two may be told apart exactly.
    """
    distance = facts.extremes.farthest.distance
    if not math.isfinite(distance):
        return None
    told = distance * facts.budget * _UP
    return math.ceil((told if facts.policy.privacy == PURE else told * told / 2 * _UP) * _DIGITS) / _DIGITS


def uniform(facts: Facts) -> bool:
    """Whether any two records are equally far apart, as in ordinary differential privacy of replaced records."""
    near, far = facts.extremes.closest.distance, facts.extremes.farthest.distance
    return math.isfinite(far) and facts.extremes.exact and far <= near * (1 + _SAME)


def unit_of(facts: Facts) -> str:
    """Return who is protected, in some words."""
    people = people_of(facts)
    if people is None:
        return "One row, each taken for another person"
    within = "" if people.within is None else f", in each period of {shown(people.within)}"
    return f"One person, whoever {shown(people.column)} names{within}"


def bounded_by(facts: Facts) -> str:
    """Return what keeps a person's part in answers bounded."""
    people = people_of(facts)
    if people is None:
        return "Nothing checks that a person has one row."
    if people.count == "single":
        return "A person with a second row stops the release before anything is spent."
    if people.count == "once":
        return "A person weighs 1, spread evenly over their rows."
    more = "more are spread evenly over that many" if people.in_shares else f"the first by {shown(people.order or '')}"
    return f"A person counts for at most {people.at_most} rows; {more}."


def accuracy_of(facts: Facts) -> str | None:
    """Return how exact the answers will be; None without questions."""
    if facts.plan_shown is not None:
        return f"{facts.plan_shown.question_in_words}. Their errors stand in the plan."
    if facts.plan is None or facts.spend is None:
        return None
    widths = sorted(row.half_width for row in expected(facts, facts.plan, facts.spend))
    least, most = (plus_minus(one) for one in (widths[0], widths[-1]))
    return (
        f"{len(widths):,} answers by {facts.plan.mechanism.name} noise. With {amount(facts.spend)} of the budget "
        f"bars are {least if least == most else f'{least} to {most}'}, 19 times in 20, with all that rounding adds."
    )


def failing_of(facts: Facts) -> str:
    """Return that some releases are outside the promise with a chance, a sentence more; nothing where none is."""
    if facts.policy.delta is None:
        return ""
    return (
        " Releases of keys that nobody listed may show one that a single person has. The promise holds except with "
        f"chance delta, at most {chance_in_words(facts.policy.delta)} for all releases together, which a ledger counts."
    )


def composition_of(facts: Facts) -> str:
    """Return how several releases add up, and what was spent so far."""
    adds = "Spends add up" if facts.policy.privacy == PURE else "Squares of spends add up"
    told = "" if facts.spent is None else f" So far {amount(facts.spent)} is spent."
    limit = f"up to a budget of {amount(facts.policy.budget)}"
    return f"{adds}, in a ledger that is charged before noise is drawn, {limit}.{told}"


def _basic(facts: Facts) -> dict[str, Any]:
    return {
        "name": facts.policy.title,
        "data_curators": [{"data_curator_name": FILL_IN, "data_curator_type": FILL_IN}],
        "description": facts.policy.about or FILL_IN,
        "intended_use": FILL_IN,
        "data_product_type": "Summary statistics",
        "data_product_region": FILL_IN,
        "publication_date": FILL_IN,
    }


def _variant(facts: Facts) -> dict[str, Any]:
    pure, sometimes = facts.policy.privacy == PURE, facts.policy.delta is not None
    named = ("Approximate DP" if sometimes else "Pure DP") if pure else "Zero-concentrated DP"
    standard = uniform(facts) and (pure or not sometimes)
    titles = ", ".join(map(facts.policy.labels.attribute, facts.policy.universe.names))
    return {
        "variant_name": named if standard else "Custom",
        "data_domain": f"{facts.policy.universe.record_types:,} possible records, by {titles}.",
        "unprotected_quantities": " ".join(_unprotected(facts)),
    }


def _unprotected(facts: Facts) -> Iterator[str]:
    for block in not_hidden(facts).blocks:
        if isinstance(block, ShownTable):
            for name, meaning, _ in block.rows:
                yield f"{plain_words(name)}: {plain_words(meaning)}"


def _loss(facts: Facts) -> dict[str, Any]:
    near, far, loss = facts.extremes.closest, facts.extremes.farthest, whole_loss(facts)
    pure = facts.policy.privacy == PURE
    replaced = "one record is replaced" + (", added or removed" if hides_presence(facts) else "")
    bound = (
        "the odds of any output change by at most e to the power of their distance"
        if pure
        else "Renyi divergences of order a are at most a/2 times the square of their distance"
    )
    whole = (
        "No one number holds for all pairs."
        if loss is None
        else "The number here is that of the farthest, rounded up, for the whole budget."
    )
    found: dict[str, Any] = {
        "privacy_unit": unit_of(facts),
        "privacy_unit_details": f"Adjacent data sets differ in that {replaced}. {bounded_by(facts)}",
    }
    if facts.records is not None and not hides_presence(facts):
        found["number_of_privacy_units"] = facts.records
    delta = facts.policy.delta
    stated = ({} if loss is None else {"epsilon" if pure else "rho": loss}) | (
        {} if delta is None else {"delta": _as_number(delta)}
    )
    if stated:
        found["privacy_parameters"] = stated
    found["privacy_parameters_details"] = (
        f"The input metric is that of the policy: for two records {bound}, times what is spent of "
        f"{amount(facts.policy.budget)}. The closest two, {near.words}, are {_distance(near.distance)} apart; the "
        f"farthest, {far.words}, {_distance(far.distance)}. {whole}{failing_of(facts)}"
    )
    return found


def _as_number(chance: Fraction) -> float:
    """As YAML writes it, whose digits are not below it."""
    nearest = float(chance)
    return nearest if Fraction(str(nearest)) >= chance else round_up(chance)


def _distance(distance: float) -> str:
    return f"about {distance:.4g}" if math.isfinite(distance) else "without limit"


def _model(facts: Facts) -> dict[str, Any]:
    entries = len(facts.entries)
    many = {} if facts.history is None else {"release_type": "Many releases" if entries > 1 else "One release"}
    return {
        "model_name": "Central",
        "actors": "Who holds the table runs releases and is trusted. Readers see answers, and need not be.",
        **many,
        "access_type": "Non-interactive",
    }


def _implementation(facts: Facts) -> dict[str, Any]:
    utility = accuracy_of(facts)
    return {
        "preprocessing_and_hyperparameter_tuning": (
            "Policy and plan are made without looking at the data. "
            "What was done to the table before is for its holder to say."
        ),
        "mechanisms": (
            f"dxgeom {version('dxgeom')}. Noise comes from the operating system's randomness by exact sampling on "
            "integers, against attacks on floating-point numbers. Running time is not hidden."
        ),
        "composition": composition_of(facts),
        **({} if utility is None else {"utility": utility}),
        "additional_information": f"The policy's digest (SHA-256): {facts.policy.fingerprint}",
    }
