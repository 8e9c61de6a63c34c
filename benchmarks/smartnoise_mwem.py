"""SmartNoise's MWEM on a histogram, for mwem.py to compare with; run by the Python of an environment that has it.

Run: PYTHON benchmarks/smartnoise_mwem.py HISTOGRAM.npz EPSILON SEED, with arrays ``counts`` (N,) and ``shape`` inside.
Prints the largest and the mean error over all two-way marginals, and the seconds it took, as JSON.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
import warnings

import numpy as np
from snsynth.mwem import MWEMSynthesizer


def main(place: str, epsilon: float, seed: int) -> None:
    """Its own settings but for the width of marginals, which is that of the workload."""
    warnings.simplefilter("ignore")
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    stored = np.load(place)
    shape = tuple(stored["shape"].tolist())
    records = np.stack(np.unravel_index(np.repeat(np.arange(stored["counts"].size), stored["counts"]), shape), axis=1)
    learner = MWEMSynthesizer(epsilon=epsilon, marginal_width=2, split_factor=len(shape))
    learner._get_train_data = lambda data, *_, **__: data  # it is coded already
    started = time.perf_counter()
    learner.fit(records)
    seconds = time.perf_counter() - started
    ((made, true, _),) = learner.synthetic_histograms
    errors = []
    for pair in itertools.combinations(range(len(shape)), 2):
        others = tuple(axis for axis in range(len(shape)) if axis not in pair)
        errors.append(np.abs((made - true).sum(axis=others)).ravel())
    every = np.concatenate(errors)
    print(json.dumps({"largest": float(every.max()), "mean": float(every.mean()), "seconds": seconds}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
