"""A release of the US cities in a new process: planned anew, and from a plan file.

Seconds of CPU, the least of three runs, since other work on the machine makes them more; beside them the seconds that
ten million steps of a loop take, to compare machines by. Run: .venv/bin/python benchmarks/plan_files.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CITIES = Path(__file__).parents[1] / "policies" / "us-cities"
RUNS = 3


def seconds(*arguments: str) -> float:
    """CPU seconds of ``dxgeom`` with these arguments."""
    before = os.times()
    subprocess.run([sys.executable, "-m", "dxgeom", *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def loop() -> float:
    """CPU seconds of ten million additions."""
    started, total = time.process_time(), 0
    for number in range(10_000_000):
        total += number * number
    return time.process_time() - started


def main() -> None:
    """Print the three figures."""
    policy, queries, data = (str(CITIES / name) for name in ("policy.yaml", "queries.yaml", "people.csv"))
    with tempfile.TemporaryDirectory() as folder:
        plan = str(Path(folder) / "plan.json")
        seconds("plan", policy, queries, "--spend", "1/8", "--output", plan)
        common = ("--count-column", "residents", "--ledger", str(Path(folder) / "ledger.db"))
        anew = min(seconds("release", policy, data, queries, "--spend", "1/8", *common) for _ in range(RUNS))
        from_file = min(seconds("release", plan, data, *common) for _ in range(RUNS))
    print(f"planned anew {anew:.2f} s, from a plan file {from_file:.2f} s; a loop of ten million {loop():.2f} s")


if __name__ == "__main__":
    main()
