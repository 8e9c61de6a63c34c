"""Is a plan from a file private under the policy in the file, and is what it says so? Nothing proved is believed.

Noise that is added is driven by unit vectors; what follows from policy and question alone is planned anew from these.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np

import dxgeom as dx
from dxgeom.errors import TooLarge
from dxgeom.kinds.quantiles import QUANTILES
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.parts.lattice_noise import LatticeNoise
from dxgeom.mechanisms.parts.table_mechanism import TableMechanism
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.policy.source.yaml_tree import folder_with
from dxgeom.queries.queries_file import queries_from_dict
from reference.driven_tables import driven_tables
from reference.least_shift import TOLERANCE, driven, least_shift
from reference.stated_policy import stated_distances, tight_pairs

MOST_CHANGES = 60
NEAR = 2e-3
"""Of squared errors: shares of Laplace noise in tables, and rounding to a lattice, are told up to a thousandth."""
IDLE = ("digest", "fingerprint", "spend")
"""Of a file: what may differ between two of the same noise."""
DRAWS = 400
LEAST_COVERED = 0.95 - 5 * (0.05 * 0.95 / DRAWS) ** 0.5
"""A correct bar falls below this in at most one of a million."""


class Judge:
    """``seen``: how many of what were judged."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self._known: set[tuple[str, ...]] = set()

    def judge(self, loaded, document):
        """Raises: AssertionError."""
        said = document["policy"]["written"]
        budget = Fraction(said["budget"]) if "budget" in said else loaded.policy.budget
        spend = None if document["spend"] is None else Fraction(document["spend"])
        assert loaded.spend == spend and (spend is None or 0 < spend <= budget), "the spend"
        assert loaded.plan.metric.title == _as_text(said["policy"]), "the title"
        apart = stated_distances(said)
        self.seen["distances read from the file" if apart is not None else "distances by the package"] += 1
        parts = [loaded.plan] if loaded.plan.tasks is None else loaded.plan.parts
        if loaded.plan.tasks is not None:
            assert sum(map(Fraction, loaded.plan.tasks.shares)) <= 1, "the shares"
        for number, part in enumerate(parts):
            self._part(part, number, loaded, document, apart)

    def _part(self, part, number, loaded, document, apart):
        inner = _inner(part)
        mechanism = getattr(inner, "mechanism", None)
        if isinstance(mechanism, AdditiveMechanism | LatticeNoise):
            key = (str(number), *(json.dumps(part) for name, part in sorted(document.items()) if name not in IDLE))
            if key not in self._known:
                self._driven(inner, mechanism, apart)
                self._known.add(key)
            self.seen[f"driven, {mechanism.name}"] += 1
        else:
            self._anew(inner, number, loaded, document)

    def _driven(self, plan, mechanism, apart):
        size, metric = mechanism.metric.size, mechanism.metric
        if apart is None:
            first, second = np.divmod(np.arange(size * size), size)
            apart = metric.distance(first, second).reshape(size, size)
        assert len(apart) == size, "the possible records"
        if isinstance(mechanism, AdditiveMechanism):
            (taken, weights), law = driven(mechanism), mechanism.law
        else:
            taken, weights, law = driven_tables(mechanism, size)
        excess = worst_of(taken, weights, law, apart)
        assert excess <= 1 + TOLERANCE, f"{mechanism.name} shows {excess} of what is promised"
        self._errors(plan, mechanism, np.asarray(taken, dtype=float), law)

    def _errors(self, plan, mechanism, taken, law):
        """The errors told are those of the noise, rounding to the lattice and biases included."""
        ideal = np.zeros(len(taken)) if law is None else np.einsum("kj,jl,kl->k", taken, law.second_moment, taken)
        ideal *= mechanism.shares**2
        if isinstance(mechanism, TableMechanism):
            ends = np.cumsum([np.prod(one, dtype=int) for one in mechanism.queries.shapes])[:-1]
            ideal = np.array([one.max() for one in np.split(ideal, ends)])
        rounding = 0.3 * (taken**2).sum(axis=1).max(initial=0)
        bias = getattr(mechanism, "biases", np.zeros(1))
        told = np.asarray(plan.rmse(1)) ** 2
        assert np.all(told >= ideal * (1 - NEAR)), f"errors {told**0.5} are more, {ideal**0.5}"
        told = mechanism.variances() if isinstance(mechanism, AdditiveMechanism) else told
        assert np.all(told <= ideal * 1.001 + rounding + bias**2), f"errors {told**0.5} are less, {ideal**0.5}"
        self.seen["errors"] += 1
        if isinstance(mechanism, AdditiveMechanism):
            self._bars(plan, mechanism)

    def _bars(self, plan, mechanism):
        nobody, widths = np.zeros(mechanism.metric.size, dtype=np.int64), plan.half_widths(0.95, 1)
        try:
            drawn = mechanism.drawn(nobody, 1 / Fraction(mechanism.shares), DRAWS, InsecureSeededRandomness(7))
        except TooLarge:
            self.seen["too wide to be drawn"] += 1
            return
        exact = np.array(mechanism.sensitivity.queries.integer_answers(nobody), dtype=float)
        off = np.abs(np.array(drawn, dtype=float) - exact * mechanism.sensitivity.queries.float_steps)
        covered = np.mean(off <= widths * (1 + 1e-12), axis=0)
        assert covered.min() >= LEAST_COVERED, f"bars hold {covered}"
        self.seen["bars"] += 1

    def _anew(self, part, number, loaded, document):
        """It is what anybody would be given who asks the same under the same policy."""
        own = None if part.kind is QUANTILES else part.fingerprint
        honest = [
            planned[number] for planned in honest_parts(json.dumps([document["policy"], document["queries"]]), loaded)
        ]
        if own is not None:
            assert own in [one.fingerprint for one in honest], f"{part.kind.called} is another"
        else:
            forms = {(place, one.mechanism.fingerprint) for plan in honest for place, one in enumerate(plan.parts)}
            for place, one in enumerate(part.parts):
                mixed = len(set(one.forms)) > 1
                assert mixed or (place, one.mechanism.fingerprint) in forms, "the quantiles are others"
        self.seen[f"planned anew, {part.kind.called}"] += 1


KEPT: dict[str, list[list[object]]] = {}


def honest_parts(key, loaded):
    """Plans by every way that may be asked for by name, of what the file's policy and queries say."""
    if key not in KEPT:
        policy, queries = json.loads(key)
        again = dx.Policy.from_dict(policy["written"], folder=folder_with(policy["files"]))
        asked = queries_from_dict(queries["written"], again, queries["records"], folder=folder_with(queries["files"]))
        tasks = loaded.plan.tasks is not None
        KEPT[key] = []
        for name in ("laplace",) if tasks else ("auto", "laplace", "transport"):
            try:
                spend = loaded.plan.spend
                plan = dx.plan(again.compile(), asked, mechanism=name, records=queries["records"], spend=spend)
            except dx.errors.DxgeomError:
                continue
            KEPT[key].append([_inner(one) for one in plan.parts] if tasks else [plan])
        assert KEPT[key], "nobody can plan this"
    return KEPT[key]


def _as_text(said):
    """A name that looks like a number, or like a word of JSON, is that text."""
    return said if isinstance(said, str) else json.dumps(said)


def _inner(part):
    return part.totals or part


def worst_of(taken, weights, law, apart):
    """The largest least shift over distance, over tight pairs: of each change once, at its smallest distance."""
    changes = {}
    for i, j in tight_pairs(apart):
        change = weights[:, i] - weights[:, j]
        if any(change):
            key = tuple(np.round(np.asarray(change, dtype=float), 12).tolist())
            if key not in changes or apart[i, j] < changes[key][0]:
                changes[key] = (apart[i, j], change)
    found, generator = 0.0, np.random.default_rng(len(changes))
    every = sorted(changes.items(), key=lambda one: one[0])
    for place in generator.permutation(len(every))[:MOST_CHANGES]:
        distance, change = every[place][1]
        if law is None or law.dimension == 0:
            return np.inf
        least = least_shift(law, taken, np.asarray(change, dtype=float))
        found = max(found, least / distance if distance else np.inf)
    return found
