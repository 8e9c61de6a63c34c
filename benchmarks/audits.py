"""Every mechanism audited from outside: a million answers about each of several data sets, and what they give away.

Run: .venv/bin/python benchmarks/audits.py [answers]     (a million when left out, a tenth of it for MWEM)

Each line: what the drawn answers show at least, with an error of one in ten billion for each pair, what the promise
allows between the two, and the answers that show it. All of it is the released law, drawn from the system's source.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference.mechanisms import CASES

from dxgeom.audit.observed_losses import observed_loss
from dxgeom.numeric.randomness import SystemRandomness

ERROR = 1e-10
SLOW = {"mwem": 10}
"""Of these so many times fewer answers are drawn."""


def main() -> None:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    worst = 0.0
    for name, case in CASES.items():
        mechanism = case.make()
        count = draws // SLOW.get(name, 1)
        start = time.perf_counter()
        here = mechanism.draws(case.data, case.spend, count, SystemRandomness())
        for other, distance in case.others:
            there = mechanism.draws(other, case.spend, count, SystemRandomness())
            views = [case.view(mechanism, sample, case.data, other) for sample in (here, there)]
            found = observed_loss(*views, ERROR)
            allowed = float(case.spend * distance)
            worst = max(worst, found.nats / allowed)
            print(f"{name:<22}{count:>10,} answers: at least {found.nats:.4f} of {allowed:.4f} nats ({found.event})")
        print(f"{'':<22}{time.perf_counter() - start:>8.0f} s", flush=True)
    print(f"the largest share of a promise that was seen: {worst:.4f}")


if __name__ == "__main__":
    main()
