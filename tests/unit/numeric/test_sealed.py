"""What a proof is about is plain numbers that nobody else can write to, whatever they were handed over as."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dxgeom.numeric.sealed import Sealed, frozen_integers


class Lying(np.ndarray):
    def __array_finalize__(self, source):
        self.flags.writeable = True

    def max(self, *args, **kwargs):
        return 0


@dataclass(frozen=True)
class Thing(Sealed):
    numbers: np.ndarray


@pytest.mark.parametrize("keep", [frozen_integers, lambda numbers: Thing(numbers).numbers])
@pytest.mark.parametrize(
    "numbers", [np.ma.array([1, 2, 3], mask=[0, 1, 0]), np.array([1, 2, 3]).view(Lying), np.array([1, 2, 3])]
)
def test_an_array_of_any_class_is_kept_as_the_plain_numbers_that_it_holds(keep, numbers):
    numbers = numbers.astype(np.int64)
    kept = keep(numbers)
    numbers.view(np.ndarray)[0] = 7
    assert type(kept) is np.ndarray
    assert not kept.flags.writeable
    assert kept.tolist() == [1, 2, 3]


def test_numbers_in_a_file_that_others_may_write_are_copied(tmp_path):
    np.save(tmp_path / "numbers.npy", np.arange(3))
    shared = np.load(tmp_path / "numbers.npy", mmap_mode="r")
    assert type(Thing(shared).numbers) is np.ndarray
