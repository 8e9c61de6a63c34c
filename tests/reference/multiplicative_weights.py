"""Multiplicative weights by the definition, in float64 arrays: every state is kept, nothing is updated in place."""

from __future__ import annotations

import numpy as np


def run(rows, start, measured, records):
    """States y⁰, …, y^T for measurements (query, value) of queries ``rows`` (K, N)."""
    states = [start / start.sum() * records]
    for query, value in measured:
        row, y = rows[query], states[-1]
        reach = np.abs(row).max()
        bounded = min(max(value, -reach * records), reach * records)
        # c·q' of the paper is the query scaled to [-1, 1].
        raised = y * np.exp(row / reach * (bounded / reach - row @ y / reach) / (2 * records))
        states.append(raised / raised.sum() * records)
    return states


def run_as_printed(rows, c, start, answers_of, records, rounds):
    """The update with mixed scales: c·q'(x) is compared with q'(y), and the step is taken along q'."""
    y = start / start.sum() * records
    for _ in range(rounds):
        truth = answers_of(rows)
        query = int(np.argmax(np.abs(truth - rows @ y)))
        scaled = rows[query] / c
        raised = y * np.exp(scaled * (truth[query] - scaled @ y) / (2 * records))
        y = raised / raised.sum() * records
    return y
