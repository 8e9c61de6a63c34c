"""What a reader is shown at a glance: recorded, as wide as the terminal, in what its encoding has, and short."""

from __future__ import annotations

import re

import pytest

from golden import screens

FEW = ["hospital-stays", *(pytest.param(one, marks=pytest.mark.long) for one in ("adult", "us-cities"))]
ANSWERS = {"hospital-stays": 3, "adult": 7, "us-cities": 7}


@pytest.mark.parametrize("form", screens.FORMS)
@pytest.mark.parametrize("name", FEW)
def test_screens_are_what_was_recorded_as_wide_as_said_and_in_their_encoding(name, form):
    width, encoding = form
    text = screens.text_of(name, *form)
    assert text == screens.file_of(name, *form).read_text("utf-8")
    assert max(map(len, text.splitlines())) <= width
    text.encode(encoding)


@pytest.mark.parametrize("name", FEW)
def test_a_screen_has_fifteen_lines_and_one_for_each_answer(name):
    for document, answers in zip(screens.documents(name), (0, ANSWERS[name], ANSWERS[name]), strict=True):
        lines = document.lines()
        assert len(lines) <= 15 + answers, "\n".join(lines)
        assert not re.search(r"\de[+-]\d", "\n".join(lines))
