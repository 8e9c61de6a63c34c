"""What the package answers today, so that later steps can be held against it byte for byte.

Of every example policy: its metric with fingerprint, title, budget, certificate and distances; what ``dxgeom check``,
``dxgeom explain`` and ``dxgeom plan`` print; a seeded release with all its figures, and the ledger's entry. Of every
kind of mechanism: its account and seeded draws. Times and paths are left out.

Fingerprints of plans and mechanisms stand in a file of their own, because they are to change on their own: they hash
float variances. What a release reads, how a metric is written and what a query means have fingerprints too; these
stand with the rest.

Numbers are written in full. On the machine that recorded them (the same NumPy and SciPy, and products and
decompositions of matrices that are the same to the last bit) every bit has to be the same. Elsewhere matrix products
round otherwise, and searches for shapes of noise start from there: between two processors the error of a searched
shape was seen to differ by 18 %, and a bound by 4 %. There, policies and metrics have to be the same to rounding, plans
and releases within NEAR as far as no searched shape is in them, and fingerprints that hash float figures are not
compared.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import platform
import re
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from reference.example_policies import TABLES, policy_file, queries_file, table_file
from reference.mechanisms import CASES
from reference.project import POLICIES
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.claims import claims_of
from dxgeom.cli.main import app
from dxgeom.ledger.entry import Entry
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.candidates import build
from dxgeom.planner.wish import PlanOptions
from dxgeom.universe.people.people import PUBLIC_NUMBER

HERE = Path(__file__).parent / "recorded"
SEED = 20
ROUNDING, NEAR = 1e-12, 1e-3
"""How far figures may be apart, relatively, on a machine other than the recorded one: metrics', and plans'."""

SEARCH = 1e-7
"""How far apart, relatively, two runs of one search may end: where arrays lie in memory moves its last bits."""

SEARCHED = (
    "gaussian",
    "box",
    "ellipsoid",
    "rotated-laplace",
    "coarse-hull",
    "block-hulls",
    "strategy",
    "gaussian-with-jumps",
    "changed-queries",
    "kronecker-gaussian",
    "adaptive tables",
    "adaptive tables on a histogram",
)
"""Mechanisms whose shape a search in float64 finds."""

EVERY_MECHANISM = ("clinic", "payroll", "smart-meters")
"""Policies whose queries are also answered by every mechanism that can, not only by the one that is chosen."""

_SECONDS = re.compile(r", [0-9.e+-]+ s$")
"""How long a candidate took to build, at the end of its line."""

Record = dict[str, Any]


class Recorded(NamedTuple):
    """``told``: what stays. ``fingerprints``: what the plans' and mechanisms' fingerprints are."""

    told: Record
    fingerprints: Record


@cache
def machine() -> Record:
    """What decides the last bits of float64 figures."""
    return {
        "processor": platform.machine(),
        "rounding": _rounding(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
    }


def _rounding() -> str:
    """SHA-256 of matrices' products and decompositions, of sizes that are worked out whole and in blocks, and of
    functions: which instructions and which sizes of blocks they use depends on more than the processor's name."""
    told = hashlib.sha256()
    random = np.random.default_rng(SEED)
    for size in (3, 8, 17, 40, 90, 200, 500):
        one, other = random.normal(size=(2, size, size))
        square = one @ one.T + np.eye(size)
        results = [
            one @ other,
            one[: size // 2].T @ other[: size // 2],
            one @ other[0],
            np.einsum("ij,ij->i", one, other),
        ]
        results += [
            np.linalg.cholesky(square),
            *np.linalg.eigh(square),
            *np.linalg.svd(one),
            np.linalg.solve(one, other),
        ]
        results += [scipy.linalg.solve_triangular(square, other, lower=True), *scipy.linalg.qr(one)]
        results += [np.exp(one), np.log(np.abs(one)), np.sin(one), one.sum(axis=0), np.hypot(one, other)]
        for result in results:
            told.update(np.ascontiguousarray(result).tobytes())
    return told.hexdigest()


@cache
def here_as_recorded() -> bool:
    return read("machine") == machine()


def read(part: str) -> Record:
    found: Record = json.loads((HERE / f"{part}.json").read_text(encoding="utf-8"))
    return found


def text_of(record: Record) -> str:
    return json.dumps(record, indent=1, ensure_ascii=False) + "\n"


def write(part: str, record: Record) -> None:
    (HERE / f"{part}.json").write_text(text_of(record), encoding="utf-8")


def policy_record(name: str) -> Recorded:
    """One example, from the file to the answers."""
    policy = dx.load_policy(policy_file(name))
    metric = policy.compile()
    queries = dx.load_queries(queries_file(name), policy)
    plan = dx.plan(metric, queries, thorough=True)
    printed = json.loads(_printed("plan", policy_file(name), queries_file(name), "--thorough"))
    prints: Record = {"plan": plan.fingerprint, "printed": printed.pop("fingerprint")}
    told = {
        "policy": {"fingerprint": policy.fingerprint, "about": policy.about, "yaml": policy.to_yaml().splitlines()},
        "metric": claims_of(metric, "policy"),
        "check": _printed("check", policy_file(name), "--explain", output="text").splitlines(),
        "check as JSON": json.loads(_printed("check", policy_file(name), "--explain")),
        "explained": [policy.explain(*pair).as_dict() for pair in _pairs(policy)],
        "explained in words": [policy.explain(*pair).lines() for pair in _pairs(policy)],
        "queries": {"fingerprint": queries.fingerprint, "names": list(queries.names)},
        "plan": printed,
        "plan in words": [_SECONDS.sub("", line) for line in plan.lines()],
        **_released(plan, name, prints, "chosen"),
    }
    if name in EVERY_MECHANISM:
        shared = CandidateBuilder(sensitivity_of(metric, queries), options=PlanOptions(records=queries.records))
        others = {kind: replace(plan, mechanism=build(kind, shared)) for kind in _buildable(metric, queries)}
        told["by every mechanism"] = {kind: _released(other, name, prints, kind) for kind, other in others.items()}
    return Recorded(_without_paths(told, name), prints)


def mechanism_record() -> Recorded:
    """Every kind of mechanism of the laws."""
    told: Record = {}
    prints: Record = {}
    for name, case in CASES.items():
        mechanism = case.make()
        account = mechanism.account
        randomness = InsecureSeededRandomness(SEED)
        release = dx.release(mechanism, case.data, ledger=":memory:", spend=case.spend, insecure_test_seed=SEED)
        prints[name] = {"mechanism": mechanism.fingerprint, "account": account.policy_fingerprint}
        told[name] = {
            "account": {"policy": account.policy_name, "budget": str(account.budget)},
            "only spend": str(mechanism.only_spend),
            "stated": float(case.stated(mechanism, case.spend)),
            "drawn": {
                "release": _without(release.as_dict(), "time", "plan_fingerprint", "policy", "public"),
                "draws": [_plain(one) for one in mechanism.draws(case.data, case.spend, 5, randomness)],
            },
        }
    return Recorded(told, prints)


def difference(recorded: Record, found: Record, *, hashed: bool = False) -> str:
    """What differs, to be read; empty when nothing does."""
    found = _with_what_was_not_chosen(recorded, json.loads(text_of(found)))
    if not here_as_recorded() and (hashed or _alike_elsewhere(recorded, found)):
        return ""
    if (before := text_of(recorded)) == (now := text_of(found)):
        return ""
    lines = difflib.unified_diff(before.splitlines(), now.splitlines(), "recorded", "found", n=4, lineterm="")
    return "\n".join(list(lines)[:200])


def _printed(*words: Any, output: str = "json") -> str:
    result = CliRunner().invoke(app, [*map(str, words), "--format", output])
    assert result.exit_code == 0, result.output
    return str(result.stdout)


def _pairs(policy: dx.Policy) -> list[tuple[int, int]]:
    """A few pairs of records, the absent one among them where there is one."""
    last = policy.universe.size - 1
    return [(0, last), (last // 3, 2 * last // 3), (1, last // 2)]


def _released(plan: dx.Plan, name: str, prints: Record, key: str) -> Record:
    """A seeded release into a new ledger; the fingerprints in it go to ``prints[key]``."""
    table, count_column = table_file(name), TABLES[name][1]
    with tempfile.TemporaryDirectory() as folder:
        ledger = str(Path(folder) / "ledger.db")
        release = plan.release(table, count_column=count_column, ledger=ledger, spend="1/2", insecure_test_seed=SEED)
        entries, spent = _entries(plan, ledger)
    small = plan.release(table, count_column=count_column, ledger=":memory:", spend="1/7", insecure_test_seed=SEED + 1)
    agreeing = release.consistent().as_dict()
    prints[key] = {
        "mechanism": plan.mechanism.fingerprint,
        "release": release.as_dict()["plan_fingerprint"],
        "agreeing": agreeing["plan_fingerprint"],
        "entries": [entry.plan_fingerprint for entry in entries],
    }
    return {
        "release": _without(release.as_dict(), "time", "plan_fingerprint", "ledger"),
        "release at another spend": _without(small.as_dict(), "time", "plan_fingerprint", "ledger"),
        "agreeing": _without(agreeing, "plan_fingerprint"),
        "ledger": {
            "spent": str(spent),
            "entries": [[one.number, str(one.spend), one.purpose, str(one.remaining)] for one in entries],
        },
    }


def _entries(plan: dx.Plan, path: str) -> tuple[tuple[Entry, ...], Fraction]:
    account = plan.mechanism.account
    with Ledger.open(
        path,
        policy_fingerprint=account.policy_fingerprint,
        policy_name=account.policy_name,
        budget=account.budget,
        data_set=account.data_set,
        privacy_measure=account.privacy_measure,
    ) as ledger:
        return tuple(ledger.entries()), ledger.spent()


def _buildable(metric: dx.VerifiedMetric, queries: dx.LinearQueries) -> list[str]:
    candidates = dx.plan(metric, queries, thorough=True, search=dx.Search(published=True)).candidates
    return [candidate.name for candidate in candidates if candidate.predicted_mse is not None]


def _without_paths(record: Any, name: str) -> Any:
    """The same with words for the files, wherever they lie; without the sentence on public numbers, which is the same
    wherever it stands and tested where it is made."""
    match record:
        case str():
            for file, word in ((policy_file(name), "POLICY"), (queries_file(name), "QUERIES")):
                record = record.replace(str(file), word)
            return record.replace(f"{POLICIES}{os.sep}", "")
        case list() | tuple():
            return [_without_paths(value, name) for value in record]
        case dict():
            return {key: _without_paths(value, name) for key, value in record.items() if value != PUBLIC_NUMBER}
        case _:
            return record


def _plain(answer: Any) -> Any:
    """An answer with its exact rationals as text."""
    match answer:
        case Fraction():
            return str(answer)
        case tuple() | list():
            return [_plain(part) for part in answer]
        case np.ndarray() | np.generic():
            return answer.tolist()
        case _ if hasattr(answer, "as_dict"):
            return answer.as_dict()
        case _:
            return answer


def _without(record: Mapping[str, Any], *keys: str) -> Record:
    return {key: value for key, value in record.items() if key not in keys}


def _alike_elsewhere(recorded: Record, found: Record) -> bool:
    """Whether another machine may answer so."""
    plans = ("plan", "release", "release at another spend", "agreeing")
    apart = (*plans, "plan in words", "by every mechanism")
    if "plan" not in recorded:
        return list(recorded) == list(found) and all(
            _near(_without(told, *_drawn_by(name)), _without(found[name], *_drawn_by(name)), NEAR)
            for name, told in recorded.items()
        )
    searched = bool(_drawn_by(recorded["plan"]["mechanism"]))
    apart = (*apart, "ledger") if searched else apart
    return _near(_without(recorded, *apart), _without(found, *apart), ROUNDING) and (
        searched or all(_near(_settled(recorded[part]), _settled(found[part]), NEAR) for part in plans)
    )


def _with_what_was_not_chosen(recorded: Record, found: Record) -> Record:
    """What was found, but with the recorded figures of searches that were not chosen, where ``SEARCH`` allows it."""
    if "plan" not in recorded or "candidates" not in recorded["plan"]:
        return found
    pairs = zip(recorded["plan"]["candidates"], found["plan"].get("candidates", []), strict=False)
    candidates = [
        old
        if old["name"] in SEARCHED and old["name"] != recorded["plan"]["mechanism"] and _near(old, new, SEARCH)
        else new
        for old, new in pairs
    ]
    same = len(candidates) == len(found["plan"].get("candidates", []))
    return {**found, "plan": {**found["plan"], "candidates": candidates}} if same else found


def _drawn_by(name: str) -> tuple[str, ...]:
    """What of a mechanism's record hangs on a search."""
    return ("drawn",) if name in SEARCHED else ()


def _settled(part: Record) -> Record:
    """Without what is said of mechanisms that were not chosen, and of bounds, which are searched for, too."""
    return _without(part, "candidates", "reason", "lower_bound", "gap")


def _near(one: Any, other: Any, apart: float) -> bool:
    match one, other:
        case dict(), dict():
            return list(one) == list(other) and all(_near(one[key], other[key], apart) for key in one)
        case list(), list():
            return len(one) == len(other) and all(_near(a, b, apart) for a, b in zip(one, other, strict=True))
        case float(), float():
            return math.isclose(one, other, rel_tol=apart)
        case _:
            return bool(one == other)
