"""Commands in new processes: checks, plans, releases planned anew, from kept plans and from plan files.

The package is compiled before, as installers do. Seconds of CPU, the least of three runs, since other work on the
machine makes them more; beside them CPU s: times .48 over the seconds that ten million additions take in the
same run, the mean of one before and one after. Run: .venv/bin/python benchmarks/plan_files.py [flights]

flights: 104 answers and 65 ratios of 336,776 made-up rows, once, since a slow machine takes a minute.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POLICIES = Path(__file__).parents[1] / "policies"
RUNS = 3


def seconds(compiled: str, *arguments: str) -> float:
    """CPU seconds of ``dxgeom`` with these arguments, its modules compiled in a folder."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    kept["PYTHONPYCACHEPREFIX"] = compiled
    before = os.times()
    subprocess.run([sys.executable, "-m", "dxgeom", *arguments], check=True, stdout=subprocess.DEVNULL, env=kept)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def loop() -> float:
    """CPU seconds of ten million additions."""
    started, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number
    return time.process_time() - started


def told(what: str, compiled: str, *words: str, runs: int = RUNS) -> None:
    """Print the least of some runs. A word with @ in it is another file in each."""
    found = []
    for run in range(runs):
        before = loop()
        taken = seconds(compiled, *(word.replace("@", str(run)) for word in words))
        found.append((taken, (before + loop()) / 2))
    least, additions = min(found)
    print(f"{what}: {least:.2f} s, {least * 0.48 / additions:.2f} CPU s (a loop takes {additions:.2f} s)", flush=True)


FLIGHTS = """policy: flights
universe:
  attributes:
    carrier: [9E, AA, AS, B6, DL, EV, F9, FL, HA, MQ, OO, UA, US, VX, WN, YV]
    origin: [EWR, JFK, LGA]
    month: {range: [1, 12], step: 1, whole: true}
    dep_delay: {range: [-60, 120], step: 15, clamp: true}
    arr_delay: {range: [-60, 120], step: 15, clamp: true}
people: one row each
rules:
  - {change: carrier, epsilon: 1}
  - {change: origin, epsilon: 1}
  - {change: month, epsilon: 1}
  - {change: dep_delay, epsilon: 1, per: 60}
  - {change: arr_delay, epsilon: 1, per: 60}
budget: 4
"""
CARRIERS = ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"]


def flights(folder: Path, compiled: str) -> None:
    """A plan of 104 answers, and a release from it."""
    draws = random.Random(0)
    with (folder / "flights.csv").open("w") as file:
        file.write("carrier,origin,month,dep_delay,arr_delay\n")
        for _ in range(336_776):
            late = min(int(draws.expovariate(1 / 30)) - 15, 600)
            place = f"{draws.choice(CARRIERS)},{draws.choice(['EWR', 'JFK', 'LGA'])},{draws.randrange(1, 13)}"
            file.write(f"{place},{late},{late + draws.randrange(-30, 21)}\n")
    means = (f"{{mean: {delay}, by: {by}}}" for by in ("carrier", "month", "origin") for delay in DELAYS)
    counts = (f"{{name: over {k}, count: dep_delay >= {k}}}" for k in (-45, -30, 0, 30, 45, 60, 75, 90))
    asked = [*means, "{name: late, share: dep_delay >= 15, by: origin}", *counts]
    (folder / "flights.yaml").write_text(FLIGHTS)
    (folder / "asked.yaml").write_text("queries:\n" + "".join(f"  - {one}\n" for one in asked))
    policy, queries, plan, table, ledger = (
        str(folder / name) for name in ("flights.yaml", "asked.yaml", "flights.json", "flights.csv", "flights.db")
    )
    # What installers compile is compiled before: by a plan of the same noise alone, and a release of a few rows.
    few, warm = str(folder / "few.csv"), str(folder / "warm.json")
    Path(few).write_text("".join(Path(table).read_text().splitlines(keepends=True)[:100]))
    named = ("--spend", "1", "--mechanism", "gaussian-with-jumps")
    seconds(compiled, "plan", policy, queries, *named, "--output", warm)
    seconds(compiled, "release", warm, few, "--ledger", str(folder / "warm.db"))
    told("plan of 104 answers", compiled, "plan", policy, queries, "--spend", "1", "--output", plan, runs=1)
    told("release of 104 answers from it", compiled, "release", plan, table, "--ledger", ledger, runs=1)


DELAYS = ("dep_delay", "arr_delay")


def main() -> None:
    """Print the figures."""
    cities, asked, people = (str(POLICIES / "us-cities" / name) for name in FILES)
    adult, adults_asked, adults = (str(POLICIES / "adult" / name) for name in FILES)
    clinic = str(POLICIES / "clinic" / "policy.yaml")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        compiled = str(folder / "compiled")
        if sys.argv[1:] == ["flights"]:
            flights(folder, compiled)
            return
        plan, laplace, kept = (str(folder / name) for name in ("plan.json", "laplace.json", "kept.db"))
        common = ("--count-column", "residents", "--ledger", str(folder / "ledger.db"))
        spend = ("--spend", "1/16")
        seconds(compiled, "plan", cities, asked, *spend, "--output", plan)
        seconds(compiled, "plan", adult, adults_asked, *spend, "--mechanism", "laplace", "--output", laplace)
        seconds(compiled, "release", adult, adults, adults_asked, *spend, "--ledger", kept)
        told("check of the clinic", compiled, "check", clinic)
        told("plan of the US cities", compiled, "plan", cities, asked, *spend, "--output", str(folder / "@.json"))
        anew = ("--ledger", str(folder / "@.db"))
        told("adults planned anew", compiled, "release", adult, adults, adults_asked, *spend, *anew)
        told("adults from a kept plan", compiled, "release", adult, adults, adults_asked, *spend, "--ledger", kept)
        told("adults from a plan file", compiled, "release", laplace, adults, "--ledger", str(folder / "adult.db"))
        told("US cities planned anew", compiled, "release", cities, people, asked, *spend, *common)
        told("US cities from a plan file", compiled, "release", plan, people, *common)


FILES = ("policy.yaml", "queries.yaml", "people.csv")


if __name__ == "__main__":
    main()
