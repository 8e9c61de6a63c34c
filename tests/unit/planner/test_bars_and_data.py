"""Bars are about policy, plan and answers alone; nothing kept of a release is a digest of its data."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import dxgeom as dx
from dxgeom.planner.answers.linear_answers import LinearAnswers

POLICY = """
policy: pay
universe:
  attributes:
    ward: [north, south]
    age: {range: [0, 20], step: 5}
    salary: {bins: [0, 40, 60, 100]}
rules:
  - {change: [ward, salary], epsilon: 1}
  - {change: age, epsilon: 1, per: 5}
"""
ASKED = """
queries:
  - {name: salary, sum: salary, by: ward}
  - {name: people, count: true, by: ward}
  - {name: mean age, mean: age, where: ward == 'north'}
  - marginal: [ward, salary]
"""
EMPTIER = "  - {presence: true, epsilon: 1}\n"


def planned(rules, mechanism):
    policy = dx.parse_policy(POLICY + rules)
    return dx.plan(policy.compile(), dx.parse_queries(ASKED, policy), mechanism=mechanism)


def tables(plan):
    """Two tables of equally many records that share nothing else, and one of far more, for where that is private."""
    size = plan.queries.universe.record_types
    first, second = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    first[0], second[size // 2 :] = 2 * (size - size // 2), 2
    return first, second, np.full(size, 1000)


@pytest.mark.parametrize("mechanism", ["laplace", "ellipsoid", "strategy"])
@pytest.mark.parametrize("rules", ["", EMPTIER])
def test_the_same_answers_have_the_same_bars_whatever_the_data_were(rules, mechanism):
    plan = planned(rules, mechanism)
    told = []
    for counts in tables(plan)[: 3 if rules else 2]:
        release = plan.release(counts, ledger=":memory:", spend="1/2", insecure_test_seed=3)
        # The same answers, though noise cannot have made them of all of these data.
        some = np.append(tables(plan)[1], 0)[: plan.queries.size]
        same = tuple(plan.queries.answers(some))
        answers = replace(release.answer, exact_values=same)
        assert isinstance(answers, LinearAnswers)
        told.append(
            (
                answers.half_widths(0.95).tolist(),
                answers.intervals(0.95, joint=True).tolist(),
                answers.rmse.tolist(),
                [ratio.interval for ratio in answers.ratios(0.95)],
                answers.bars.bias_of_each(),
                answers.bars.in_words(),
            )
        )
    assert all(json.dumps(one) == json.dumps(told[0]) for one in told)


def kept(folder: Path) -> bytes:
    """All that a release leaves on the disk, the packed answers unpacked."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\n".join(gzip.decompress(one.read_bytes()) if one.suffix == ".gz" else one.read_bytes() for one in files)


def digests(content: bytes) -> list[str]:
    return [
        hashlib.new(name, content).hexdigest() for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s")
    ]


def test_no_digest_of_data_or_of_exact_answers_is_kept_or_shown(tmp_path):
    """In the ledger, in files beside it, in the release and in its public form.

    The usual digests of the table, of its counts and of the exact answers are looked for, in every form.
    """
    plan = planned("", "laplace")
    first = tables(plan)[0]
    header, rows = "ward,age,salary", ["north,0,10"] * int(first.sum())
    table = tmp_path / "table.csv"
    table.write_text("\n".join([header, *rows]) + "\n")
    folder = tmp_path / "kept"
    folder.mkdir()
    release = plan.release(table, ledger=folder / "ledger.db", spend="1/2", insecure_test_seed=5)
    (folder / "release.json").write_text(json.dumps(release.as_dict()))
    (folder / "public.json").write_text(json.dumps(release.public_dict()))
    exact = plan.queries.answers(first)
    told = [str([str(one) for one in exact]), json.dumps([str(one) for one in exact]), str(exact)]
    data = [table.read_bytes(), first.tobytes(), first.astype("<i4").tobytes(), *(text.encode() for text in told)]
    found = kept(folder)
    assert release.as_dict()["plan_fingerprint"].encode() in found
    for digest in (one for content in data for one in digests(content)):
        assert digest.encode() not in found
        assert bytes.fromhex(digest) not in found


def shown_of(plan, counts, folder: Path, seed: int) -> tuple[list[str], dict]:
    release = plan.release(counts, ledger=folder, spend="1/2", insecure_test_seed=seed)
    told = release.as_dict()
    return [one["exact"] for one in told["answers"]], told


def test_a_release_of_other_data_with_the_same_answers_is_the_same(tmp_path):
    """The queries do not look at ages: tables that differ there only are released alike, down to every byte shown."""
    policy = dx.parse_policy(POLICY)
    queries = dx.parse_queries("queries:\n  - marginal: [ward, salary]\n", policy)
    plan = dx.plan(policy.compile(), queries, mechanism="laplace")
    shape = tuple(attribute.size for attribute in policy.universe.attributes)
    counts = np.arange(math.prod(shape)).reshape(shape)
    told = []
    for number, order in enumerate(list(permutations(range(shape[1])))[:4]):
        other = counts[:, list(order), :].ravel()
        _, shown = shown_of(plan, other, tmp_path / f"{number}.db", 7)
        told.append({key: value for key, value in shown.items() if key not in ("time", "ledger")})
    assert all(one == told[0] for one in told)
