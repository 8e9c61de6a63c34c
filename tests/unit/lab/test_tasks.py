"""Tasks as files: every mistake at its place, and what editors are told."""

from __future__ import annotations

from fractions import Fraction

import pytest
from reference.json_schema import is_valid

from dxgeom.errors import QueryError
from dxgeom.lab.answers import ANSWERS
from dxgeom.lab.task import WORDS, load_task, task_from_dict, task_schema

RIGHT = (
    {"answer": "staircase"},
    {"answer": "optimal", "of": "age", "loss": "squared", "prior": {"18": "0.5", "40": 0.5}, "stretch": "1.05"},
    {"answer": "planar", "step": "0.05"},
    {"answer": "layered", "width": 0},
    {"answer": "finite_laplace", "prior": "population", "guess": "best"},
)
WRONG = {
    "": "DX107",
    "- answer: staircase": "DX108",
    "answer: starcase": "DX108.*did you mean 'staircase'",
    "answer: optimal\nlost: squared": "DX105.*did you mean 'loss'",
    "answer: optimal\nloss: cubed": "DX108.*'absolute', 'squared', 'wrong' or 'distance'",
    "answer: planar\nstep: 0": "DX109",
    "answer: planar\nstep: far": "DX109",
    "answer: layered\nwidth: -1": "DX109.*at least 0",
    "answer: optimal\nprior: {}": "DX108.*how likely",
    "answer: optimal\nprior: {a: -1}": "DX109.*not negative",
    "answer: optimal\nof: [a, b]": "DX108.*attribute or a statistic",
    "policy: clinic\nrules: []": "DX105.*this is a policy",
    "loss: squared": "DX107.*'answer' is missing",
    "answer: [staircase]": "DX108",
}


@pytest.mark.parametrize("content", WRONG)
def test_a_mistake_is_told_with_its_place_and_code(content, tmp_path):
    file = tmp_path / "task.yaml"
    file.write_text(content)
    with pytest.raises(QueryError) as refused:
        load_task(file)
    assert f"{file}:" in str(refused.value)
    for part in WRONG[content].split(".*"):
        assert part in str(refused.value)


@pytest.mark.parametrize("data", RIGHT)
def test_what_loads_is_valid_for_editors(data):
    assert task_from_dict(data).answer == data["answer"]
    assert is_valid(data, task_schema())


def test_numbers_are_exact():
    task = task_from_dict(RIGHT[1])
    assert task.prior == {"18": Fraction(1, 2), "40": Fraction(1, 2)}
    assert (task.stretch, task.stated) == (Fraction("1.05"), ("loss", "of", "prior", "stretch"))


def test_every_word_is_answered_by_one_kind():
    assert sorted(word for kind in ANSWERS for word in kind.words) == sorted(set(WORDS))
