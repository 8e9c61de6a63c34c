"""AIM as its paper has it, with the authors' own estimator, mbi, an extra of the benchmarks: to be run beside ours.

Definition: McKenna, Mullins, Sheldon & Miklau 2022, algorithm 2, with the constants of their code: 16 rounds for each
attribute, nine tenths of a round to measure, half the noise and twice the epsilon after a round that taught nothing,
and a last round that takes all that is left of less than two. Models have no limit: all tables fit here. The model is
found by mirror descent in as many steps a round as are said, from where the last one ended, in float64.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np


class Aim:
    """One data set, ``counts`` (values of each attribute), and the tables that are asked for, as places."""

    def __init__(self, counts: np.ndarray, asked: Sequence[tuple[int, ...]], steps: int) -> None:
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mbi
        self._mbi, self._counts, self._asked, self._steps = mbi, counts, asked, steps
        self._domain = mbi.Domain([str(place) for place in range(counts.ndim)], counts.shape)
        inside = {one for own in asked for ways in range(1, len(own) + 1) for one in combinations(own, ways)}
        self._weights = {one: float(sum(len({*one} & {*own}) for own in asked)) for one in sorted(inside)}

    def answers(self, rho: float, seed: int) -> tuple[list[np.ndarray], int]:
        """Each table that was asked for, flat, and how many rounds there were."""
        random, spent, rounds = np.random.default_rng(seed), 0.0, 0
        most = 16 * self._counts.ndim
        sigma, epsilon = np.sqrt(most / (2 * 0.9 * rho)), np.sqrt(8 * 0.1 * rho / most)
        measured = [self._measured(one, sigma, random) for one in self._weights if len(one) == 1]
        spent += len(measured) * 0.5 / sigma**2
        model, last = self._fitted(measured, None), False
        while not last:
            if rho - spent < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
                sigma, epsilon = np.sqrt(1 / (2 * 0.9 * (rho - spent))), np.sqrt(8 * 0.1 * (rho - spent))
                last = True
            spent += 0.5 / sigma**2 + epsilon**2 / 8
            chosen = self._selected(model, sigma, epsilon, random)
            before = self._table(model, chosen)
            measured.append(self._measured(chosen, sigma, random))
            model, rounds = self._fitted(measured, model), rounds + 1
            moved = np.abs(self._table(model, chosen) - before).sum()
            if moved <= sigma * np.sqrt(2 / np.pi) * before.size:
                sigma, epsilon = sigma / 2, 2 * epsilon
        return [self._table(model, one) for one in self._asked], rounds

    def _names(self, axes: Sequence[int]) -> tuple[str, ...]:
        return tuple(map(str, axes))

    def _true(self, axes: Sequence[int]) -> np.ndarray:
        others = tuple(place for place in range(self._counts.ndim) if place not in axes)
        return np.asarray(self._counts.sum(axis=others), dtype=np.float64).ravel()

    def _table(self, model: Any, axes: Sequence[int]) -> np.ndarray:
        return np.asarray(model.project(self._names(axes)).datavector(), dtype=np.float64)

    def _measured(self, axes: Sequence[int], sigma: float, random: np.random.Generator) -> Any:
        noisy = self._true(axes) + random.normal(0, sigma, self._true(axes).size)
        return self._mbi.LinearMeasurement(noisy, self._names(axes), stddev=float(sigma))

    def _fitted(self, measured: list[Any], model: Any) -> Any:
        found = self._mbi.estimation.MirrorDescent()
        return found.estimate(self._domain, measured, iters=self._steps, warm_start=model)

    def _selected(self, model: Any, sigma: float, epsilon: float, random: np.random.Generator) -> tuple[int, ...]:
        scores: Mapping[tuple[int, ...], float] = {}
        for axes, weight in self._weights.items():
            true = self._true(axes)
            off = np.abs(true - self._table(model, axes)).sum()
            scores = {**scores, axes: weight * (off - np.sqrt(2 / np.pi) * sigma * true.size)}
        rates = epsilon / 2 / max(self._weights.values()) * np.array([*scores.values()])
        return [*scores][int(np.argmax(rates + random.gumbel(size=len(rates))))]
