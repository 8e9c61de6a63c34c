"""diffprivlib's regressions on a table, for learning.py; run by the Python of an environment that has it.

Run: PYTHON benchmarks/learning_peers.py logistic|linear TABLE.npz SEED EPSILON...
The table has arrays ``X`` (n, p) and ``y`` (n,). Prints the intercept and the coefficients at each epsilon as JSON.
Bounds are the ones that the caller's features have: rows of which seven are 1 at most and the others 0 for the logistic
model, numbers within [−1, 1] for the linear one.
"""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression


def main(kind: str, place: str, seed: int, epsilons: list[str]) -> None:
    warnings.simplefilter("ignore")
    stored = np.load(place)
    found = {epsilon: fitted(kind, stored["X"], stored["y"], float(epsilon), seed) for epsilon in epsilons}
    print(json.dumps(found))


def fitted(kind: str, X: np.ndarray, y: np.ndarray, epsilon: float, seed: int) -> list[float]:
    if kind == "logistic":
        model = LogisticRegression(epsilon=epsilon, data_norm=float(np.sqrt(7)), max_iter=1000, random_state=seed)
    else:
        model = LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1), random_state=seed)
    model.fit(X, y)
    return [float(np.ravel(model.intercept_)[0]), *map(float, np.ravel(model.coef_))]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:])
