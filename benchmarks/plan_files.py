"""A release of the US cities in a new process, planned anew and from a plan file; a check, and a release of adults.

The package is compiled before, as installers do. Seconds of CPU, the least of three runs, since other work on the
machine makes them more; beside them the seconds that ten million steps of a loop take, to compare machines by. Run:
.venv/bin/python benchmarks/plan_files.py
"""

from __future__ import annotations

import os
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
        total += number * number
    return time.process_time() - started


def main() -> None:
    """Print the figures."""
    policy, queries, data = (
        str(POLICIES / "us-cities" / name) for name in ("policy.yaml", "queries.yaml", "people.csv")
    )
    adult, asked, adults = (str(POLICIES / "adult" / name) for name in ("policy.yaml", "queries.yaml", "people.csv"))
    with tempfile.TemporaryDirectory() as folder:
        plan, laplace, compiled = (str(Path(folder) / name) for name in ("plan.json", "laplace.json", "compiled"))
        common = ("--count-column", "residents", "--ledger", str(Path(folder) / "ledger.db"))
        further = ("--ledger", str(Path(folder) / "adult.db"))
        seconds(compiled, "plan", policy, queries, "--spend", "1/8", "--output", plan)
        seconds(compiled, "plan", adult, asked, "--spend", "1/8", "--mechanism", "laplace", "--output", laplace)
        told = {
            "US cities planned anew": ("release", policy, data, queries, "--spend", "1/8", *common),
            "US cities from a plan file": ("release", plan, data, *common),
            "adults from a plan file": ("release", laplace, adults, *further),
            "check of the clinic": ("check", str(POLICIES / "clinic" / "policy.yaml")),
        }
        for what, words in told.items():
            print(f"{what}: {min(seconds(compiled, *words) for _ in range(RUNS)):.2f} s")
    print(f"a loop of ten million: {loop():.2f} s")


if __name__ == "__main__":
    main()
