from __future__ import annotations

import subprocess
import sys

import numpy as np

from dxgeom.numeric.randomness import InsecureSeededRandomness, SystemRandomness


def test_the_system_source_never_repeats_itself():
    source = SystemRandomness()
    words = np.concatenate([source.words(1000), source.words(1000)])
    assert len(np.unique(words)) == 2000


FORKED = """
import os, sys
from dxgeom.numeric.randomness import SystemRandomness
source = SystemRandomness()
source.words(10)
child = os.fork()
sys.stdout.write(" ".join(map(str, source.words(4))) + "\\n")
sys.stdout.flush()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_forked_process_does_not_repeat_its_parents_bits():
    """In a process of its own: this one may have threads by now, which a fork would leave behind."""
    shown = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=True).stdout
    one, other = (set(line.split()) for line in shown.splitlines())
    assert len(one) == len(other) == 4 and not one & other


def test_a_seed_repeats_and_another_does_not():
    first, second, other = (InsecureSeededRandomness(seed).words(100) for seed in (5, 5, 6))
    assert np.array_equal(first, second)
    assert not np.intersect1d(first, other).size


def test_every_bit_of_a_word_is_fair():
    """64 bits, 100,000 words: each count lies within 6 standard deviations (false alarm below 2e-7 in all)."""
    words = SystemRandomness().words(100_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64).sum(axis=0, dtype=np.int64)
    assert np.all(np.abs(bits - 50_000) < 6 * np.sqrt(25_000))
