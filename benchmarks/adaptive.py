"""Whole tables that follow the data, on the five attributes of Adult: errors and processor seconds by ρ and by seed.

Beside them: each table by itself with independent normal noise, and recorded errors of AIM (McKenna, Mullins, Sheldon &
Miklau 2022; its authors' code on the same tables, 300 steps a round, two seeds). Run as ``python benchmarks/adaptive.py
adult.csv [seeds]``; the file has the columns of :data:`WANTED`.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pyarrow.csv as csv

import dxgeom as dx
from dxgeom.engines.counted_tables import TableCounts
from dxgeom.mechanisms.synthetic.adaptive import adaptive_tables
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.workloads.whole_tables import MarginalQueries

WANTED = ("age", "education", "occupation", "workclass", "salary-class")
RHOS = (Fraction(1, 1600), Fraction(1, 100), Fraction(4, 25))
RECORDED = {Fraction(1, 1600): 0.340, Fraction(1, 100): 0.230, Fraction(4, 25): 0.125}


def codes_of(path: Path) -> tuple[dict[str, list[str]], np.ndarray]:
    """The words of each column, and (n, 5) codes."""
    table = csv.read_csv(path)
    each, words = [], {}
    for name in WANTED:
        column = np.array([str(one).strip() for one in table[name].to_pylist()])
        own, codes = np.unique(column, return_inverse=True)
        words[name] = own.tolist()
        each.append(codes)
    return words, np.stack(each, axis=1)


def calibration() -> float:
    """Seconds of ten million additions in a plain loop."""
    begin, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - begin


def error_of(answers: list[np.ndarray], truth: list[np.ndarray], records: int) -> float:
    """Mean over tables of Σ|cell − truth|/n."""
    return float(np.mean([np.abs(a - t).sum() / records for a, t in zip(answers, truth, strict=True)]))


def main() -> None:
    words, codes = codes_of(Path(sys.argv[1]))
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    records, shape = len(codes), [len(own) for own in words.values()]
    groups = [list(one) for one in combinations(WANTED, 3)]
    places = [tuple(map(WANTED.index, group)) for group in groups]
    truth = []
    for own in places:
        flat = np.ravel_multi_index([codes[:, axis] for axis in own], [shape[axis] for axis in own])
        truth.append(np.bincount(flat, minlength=int(np.prod([shape[axis] for axis in own]))))
    print(f"{records:,} records, {' × '.join(map(str, shape))} cells; calibration {calibration():.2f} s")
    for rho in RHOS:
        # ρ is ε₀²/2: presence at 1, and what is spent the root of 2ρ, rounded down.
        spend = Fraction(int(float(2 * rho) ** 0.5 * 10**9), 10**9)
        policy = dx.Policy.from_dict(
            {
                "policy": "adult",
                "privacy": "concentrated",
                "universe": {"attributes": dict(words)},
                "budget": "10",
                "rules": [{"presence": "true", "epsilon": "1"}],
                "unconnected": "allow",
            }
        )
        metric = policy.compile()
        mechanism = adaptive_tables(metric, MarginalQueries.of(policy.universe, groups), bars=0)
        order = [places.index(tuple(one)) for one in mechanism.queries.attribute_sets]
        data = TableCounts(tuple(truth[place].astype(np.int64) for place in order), records)
        errors, seconds, rounds = [], [], []
        for seed in range(seeds):
            begin = time.process_time()
            answer = mechanism.drawn(data, spend, InsecureSeededRandomness(seed))
            seconds.append(time.process_time() - begin)
            errors.append(error_of(list(answer.tables), [truth[place] for place in order], records))
            rounds.append(len(answer.transcript) - len(shape))
        noise = np.sqrt(2 / np.pi) * np.sqrt(len(groups)) / float(spend)
        at_once = float(np.mean([noise * len(one) / records for one in truth]))
        print(
            f"rho {float(rho):<8g} error {np.median(errors):.3f} ({min(errors):.3f} to {max(errors):.3f}), "
            f"{np.median(seconds):.1f} s, {np.median(rounds):.0f} rounds; AIM, recorded, {RECORDED[rho]:.3f}; "
            f"each table with its own noise {at_once:.2f}"
        )


if __name__ == "__main__":
    main()
