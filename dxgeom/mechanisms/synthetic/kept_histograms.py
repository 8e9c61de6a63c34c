"""Synthetic histograms as a ledger keeps them: every number exactly, float64 by its shortest text."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from dxgeom.mechanisms.contract.kept_answers import ANSWER_BYTES, FLOAT_BYTES
from dxgeom.mechanisms.synthetic.common_unit import IntegerQueries
from dxgeom.mechanisms.synthetic.synthetic import LastLook, Measurement, SyntheticHistogram


def kept_histogram(answer: SyntheticHistogram) -> dict[str, Any]:
    """The histogram as JSON; names of queries are left to what was asked."""
    look = answer.last_look
    return {
        "records": answer.records,
        "distribution": answer.distribution.tolist(),
        "measurements": [
            [one.round, one.selected, one.query, str(one.value), one.scale, str(one.step), one.modelled]
            for one in answer.measurements
        ],
        "last_look": None if look is None else [look.per_nat, *look.answers.tolist()],
    }


def recalled_histogram(kept: dict[str, Any], asked: IntegerQueries) -> SyntheticHistogram:
    """The histogram that was kept."""
    names, look = asked.queries.names, kept["last_look"]
    return SyntheticHistogram(
        np.array(kept["distribution"], dtype=np.float64),
        asked,
        kept["records"],
        tuple(
            Measurement(number, selected, query, names[query], Fraction(value), scale, Fraction(step), modelled)
            for number, selected, query, value, scale, step, modelled in kept["measurements"]
        ),
        None if look is None else LastLook(np.array(look[1:], dtype=np.float64), look[0]),
    )


def histogram_bytes(asked: IntegerQueries) -> int:
    """No histogram over these queries takes more, as shown and as kept, while its exact values have 200 digits.

    Each record type has a float; each query an answer, perhaps a measurement, and a place in the last look; a letter of
    a name is at most six bytes in JSON.
    """
    queries = sum(2 * (6 * len(name) + 400) + 4 * FLOAT_BYTES for name in asked.queries.names)
    return ANSWER_BYTES + (FLOAT_BYTES + 1) * asked.queries.size + queries
