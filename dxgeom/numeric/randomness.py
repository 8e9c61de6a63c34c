"""Where random bits come from: the operating system, unless a test asks otherwise by name."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import final

import numpy as np
from numpy.typing import NDArray


class Randomness(ABC):
    """A source of independent uniform 64-bit words."""

    @abstractmethod
    def words(self, count: int) -> NDArray[np.uint64]:
        """``count`` fresh words."""


@final
class SystemRandomness(Randomness):
    """The operating system's cryptographic source, asked anew at each call.

    Nothing is buffered, so a forked process cannot repeat its parent's bits.
    """

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@final
class InsecureSeededRandomness(Randomness):
    """A reproducible stream for tests and simulations; whoever knows the seed can subtract the noise."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Philox(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)
