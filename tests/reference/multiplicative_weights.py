"""Multiplicative weights by the definition, in float64 arrays: nothing is updated in place, no marginal is kept."""

from __future__ import annotations

import numpy as np


def run(rows, start, measured, records):
    """States y⁰, …, y^T of the corrected printed update for measurements (query, value) of queries ``rows`` (K, N)."""
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


def fitted(rows, y, blocks, passes):
    """The histogram y (N,) after so many passes at most along ``blocks``, lists of (query, value, scale, step)."""
    n = y.sum()

    def misfit(block):
        squares = [
            (value - rows[query] @ y) ** 2 / (2 * scale**2 + step**2 / 12) for query, value, scale, step in block
        ]
        return sum(squares) / len(block)

    def bounded(value, query):
        return min(max(value, rows[query].min() * n), rows[query].max() * n)

    for _ in range(passes):
        wrong = [block for block in blocks if misfit(block) > 0.8]
        if not wrong:
            break
        for block in wrong:
            exponents = np.zeros(y.size)
            for query, value, scale, _ in block:
                row, wanted, found = rows[query], bounded(value, query), rows[query] @ y
                low, high = row.min() * n, row.max() * n
                softening = 64 * scale + (high - low) / n
                ratio = (wanted - low + softening) / (found - low + softening)
                if len(block) == 1:
                    ratio *= (high - found + softening) / (high - wanted + softening)
                exponents += np.log(ratio) / (high - low) * n * row
            raised = y * np.exp(exponents)
            y = raised / raised.sum() * n
    return y
