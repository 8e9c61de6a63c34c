"""Whole tables that follow the data, on attributes of Adult: errors and processor seconds by ρ and by seed.

Five attributes and all ten tables of three. Beside them, at the last ρ: the certified plan of the same tables as
released, and one model of these answers. Then a policy that protects some attributes less than others, and the same
tables at its least ε for all. Recorded errors are of AIM (McKenna, Mullins, Sheldon & Miklau 2022; its authors' code on
the same tables, 300 steps a round, two seeds). "aim" runs it in the same run, with as many seeds, where mbi is
installed (benchmarks/aim.py).
"nine" is all 36 tables of two of nine attributes, 648 million possible cells, at the last two ρ; "hundred" all 4,950 of
a hundred made-up attributes, each drawn given one of the ten before, of 30,000 records at ρ = .01: models in cliques,
beside the product of the model's own one-way tables, and with the most memory that the process had.
Run as ``python benchmarks/adaptive.py adult.csv [seeds] [part …]``; the file has the columns of :data:`WANTED`, parts
are a ρ, "aim" (beside each ρ), "plan", "unequal", "nine" or "hundred", all of them where none is named.
"""

from __future__ import annotations

import math
import resource
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as csv
from aim import Aim

import dxgeom as dx
from dxgeom.engines.counted_tables import TableCounts
from dxgeom.mechanisms.synthetic.adaptive import adaptive_tables
from dxgeom.mechanisms.synthetic.table_model import MeasuredTable, TableModel, fitted
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.workloads.whole_tables import MarginalQueries

WANTED = ("age", "education", "occupation", "workclass", "salary-class")
RHOS = (Fraction(1, 1600), Fraction(1, 100), Fraction(4, 25))
RECORDED = {Fraction(1, 1600): 0.340, Fraction(1, 100): 0.230, Fraction(4, 25): 0.125}
AIM_STEPS = 300
"""Of mirror descent, in each round."""
UNEQUAL = ("0.1", "0.8", "0.8", "0.4", "0.1")
"""ε of each attribute, in the order of :data:`WANTED`."""
NINE = (*WANTED, "sex", "race", "marital-status", "native-country")


def codes_of(path: Path, names: Sequence[str] = WANTED) -> tuple[dict[str, list[str]], np.ndarray]:
    """The words of each column, and (n, columns) codes."""
    table = csv.read_csv(path)
    each, words = [], {}
    for name in names:
        column = np.array([str(one).strip() for one in table[name].to_pylist()])
        own, codes = np.unique(column, return_inverse=True)
        words[name] = own.tolist()
        each.append(codes)
    return words, np.stack(each, axis=1)


def made_up(attributes: int, records: int) -> tuple[dict[str, list[str]], np.ndarray]:
    """Words and codes of attributes of 2 to 10 values, each drawn given one of the ten before, or alone."""
    random = np.random.default_rng(5)
    sizes = random.integers(2, 11, attributes).tolist()
    codes = np.zeros((records, attributes), dtype=np.int64)
    for own, size in enumerate(sizes):
        if own == 0 or random.random() < 0.1:
            codes[:, own] = random.choice(size, records, p=random.dirichlet(np.ones(size)))
            continue
        before = int(random.integers(max(0, own - 10), own))
        totals = np.cumsum(random.dirichlet(np.full(size, 0.5), sizes[before]), axis=1)
        above = random.random(records)[:, None] > totals[codes[:, before]]
        codes[:, own] = above.sum(axis=1).clip(0, size - 1)
    words = {f"a{own:03}": [f"v{value}" for value in range(size)] for own, size in enumerate(sizes)}
    return words, codes


def calibration() -> float:
    """Seconds of ten million additions in a plain loop."""
    begin, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - begin


def error_of(answers: list[np.ndarray], truth: list[np.ndarray], records: int) -> float:
    """Mean over tables of Σ|cell − truth|/n."""
    return float(np.mean([np.abs(a - t).sum() / records for a, t in zip(answers, truth, strict=True)]))


class Case:
    """A policy, its tables, and what they count."""

    def __init__(
        self, words: dict[str, list[str]], codes: np.ndarray, rules: list[dict[str, str]], ways: int = 3
    ) -> None:
        names = list(words)
        self.policy = dx.Policy.from_dict(
            {
                "policy": "adult",
                "privacy": "concentrated",
                "universe": {"attributes": dict(words)},
                "budget": "10",
                "rules": rules,
                "unconnected": "allow",
            }
        )
        self.metric, self.records = self.policy.compile(), len(codes)
        self.queries = MarginalQueries.of(self.policy.universe, [list(one) for one in combinations(names, ways)])
        column = [names.index(one.column) for one in self.queries.columns]
        each = zip(self.queries.attribute_sets, self.queries.shapes, strict=True)
        self.truth = [
            np.bincount(
                np.ravel_multi_index([codes[:, column[axis]] for axis in own], shape), minlength=int(np.prod(shape))
            ).astype(np.int64)
            for own, shape in each
        ]
        self.data = TableCounts(tuple(self.truth), self.records)
        self.codes = codes[:, column]

    def adaptive(self, spend: Fraction, seeds: int, most_rounds: int | None = None) -> str:
        """Errors and seconds of tables that follow the data."""
        mechanism = adaptive_tables(self.metric, self.queries, bars=0, rounds=most_rounds)
        errors, seconds, rounds, products = [], [], [], []
        for seed in range(seeds):
            begin = time.process_time()
            answer = mechanism.drawn(self.data, spend, InsecureSeededRandomness(seed))
            seconds.append(time.process_time() - begin)
            errors.append(error_of(list(answer.tables), self.truth, self.records))
            rounds.append(len(answer.transcript) - len(self.queries.sizes))
            products.append(error_of(self.products(answer.model), self.truth, self.records))
        said = f"error {np.median(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
        said += f", {np.median(seconds):.1f} s, {np.median(rounds):.0f} rounds; one-way tables multiplied "
        return f"{said}{np.median(products):.3f}"

    def aim(self, rho: float, seeds: int) -> str:
        """Errors and seconds of AIM."""
        flat = np.ravel_multi_index(list(self.codes.T), self.queries.sizes)
        counts = np.bincount(flat, minlength=math.prod(self.queries.sizes)).reshape(self.queries.sizes)
        tried = Aim(counts, self.queries.attribute_sets, AIM_STEPS)
        errors, seconds, rounds = [], [], []
        for seed in range(seeds):
            begin = time.process_time()
            answers, number = tried.answers(rho, seed)
            seconds.append(time.process_time() - begin)
            errors.append(error_of(answers, self.truth, self.records))
            rounds.append(number)
        said = f"AIM: error {np.median(errors):.3f} ({min(errors):.3f} to {max(errors):.3f})"
        return f"{said}, {np.median(seconds):.1f} s, {np.median(rounds):.0f} rounds"

    def products(self, model: TableModel) -> list[np.ndarray]:
        """Every table as if attributes told nothing of each other."""
        alone = [one / model.total for one in model.tables([(axis,) for axis in range(len(model.shape))])]
        found = []
        for own in self.queries.attribute_sets:
            table = np.full(1, model.total)
            for axis in own:
                table = np.outer(table, alone[axis]).ravel()
            found.append(table)
        return found

    def planned(self, spend: Fraction, seeds: int) -> str:
        """Errors of the certified plan, and of one model of what it released."""
        plan: Any = dx.plan(self.metric, self.queries)
        deviations = np.sqrt(plan.mechanism.mean_squares(spend))
        released, modelled, seconds = [], [], []
        for seed in range(seeds):
            noisy = plan.mechanism.drawn(self.data, spend, InsecureSeededRandomness(seed))
            raw = [noisy.counts(place).ravel() for place in range(len(self.truth))]
            released.append(error_of(raw, self.truth, self.records))
            begin = time.process_time()
            each = zip(self.queries.attribute_sets, raw, deviations.tolist(), strict=True)
            model = fitted(self.queries.sizes, [MeasuredTable(*one) for one in each], raw[0].sum(), 200)
            seconds.append(time.process_time() - begin)
            tables = list(map(model.table, self.queries.attribute_sets))
            modelled.append(error_of(tables, self.truth, self.records))
        said = f"{plan.mechanism.name}: error {np.median(released):.3f}; one model of its answers "
        return (
            f"{said}{np.median(modelled):.3f} ({min(modelled):.3f} to {max(modelled):.3f}), {np.median(seconds):.1f} s"
        )


def main() -> None:
    words, codes = codes_of(Path(sys.argv[1]))
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    parts = sys.argv[3:] or [*(f"{float(rho):g}" for rho in RHOS), "aim", "plan", "unequal", "nine", "hundred"]
    sizes = " × ".join(str(len(own)) for own in words.values())
    print(f"{len(codes):,} records, {sizes} cells; {seeds} seeds; calibration {calibration():.2f} s", flush=True)
    everybody = Case(words, codes, [{"presence": "true", "epsilon": "1"}])
    # ρ is ε₀²/2: presence at 1, and what is spent the root of 2ρ, rounded down.
    spends = {rho: Fraction(int(float(2 * rho) ** 0.5 * 10**9), 10**9) for rho in RHOS}
    for rho, spend in spends.items():
        if f"{float(rho):g}" in parts:
            said = everybody.adaptive(spend, seeds)
            print(f"rho {float(rho):<8g} {said}; AIM, recorded, {RECORDED[rho]:.3f}", flush=True)
            if "aim" in parts and find_spec("mbi") is not None:
                print(f"rho {float(rho):<8g} {everybody.aim(float(rho), seeds)}", flush=True)
    if "plan" in parts:
        print(f"rho {float(RHOS[-1]):<8g} {everybody.planned(spends[RHOS[-1]], seeds)}", flush=True)
    if "unequal" in parts:
        for title, epsilons in (("unequal", UNEQUAL), ("the least for all", (min(UNEQUAL),) * len(WANTED))):
            rules = [{"change": one, "epsilon": own} for one, own in zip(WANTED, epsilons, strict=True)]
            print(f"{title}: {Case(words, codes, rules).adaptive(Fraction(1), seeds)}", flush=True)
    if "nine" in parts:
        case = Case(*codes_of(Path(sys.argv[1]), NINE), [{"presence": "true", "epsilon": "1"}], 2)
        for rho in RHOS[1:]:
            print(f"nine, rho {float(rho):g}: {case.adaptive(spends[rho], seeds)}, {memory():.2f} GB", flush=True)
    if "hundred" in parts:
        case = Case(*made_up(100, 30_000), [{"presence": "true", "epsilon": "1"}], 2)
        for most in (100, None):
            said = case.adaptive(spends[RHOS[1]], seeds, most)
            print(f"hundred, at most {most or 1600} rounds: {said}, {memory():.2f} GB", flush=True)


def memory() -> float:
    """The most that this process had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


if __name__ == "__main__":
    main()
