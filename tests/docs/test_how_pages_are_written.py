"""The counts of ``checks/words.py``: what they count, and that a rise is a breach."""

from __future__ import annotations

import importlib.util

import pytest
from reference.project import ROOT

_SPEC = importlib.util.spec_from_file_location("words_check", ROOT / "checks" / "words.py")
words = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(words)


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("One two three. Four five! Six?", [3, 2, 1]),
        ("See `dxgeom check --table x. Y` in [the guide](a/b.md), please.", [6]),
        ("About e.g. this, 0.5 of it. And $a + b. C$ more.", [6, 3]),
        ("**Bold ends.** Next one.", [2, 2]),
        ("", []),
    ],
)
def test_sentences_are_counted_without_code_links_and_formulas(text, lengths):
    assert [words.length(sentence) for sentence in words.sentences(text)] == lengths


def test_a_page_is_its_prose():
    page = "---\na: b\n---\n# Title\n\nOne two.\n\n| a |\n|---|\n\n```sh\nuniverse\n```\n- three four five\n- six\n"
    assert list(words.paragraphs(page)) == ["One two.", "three four five", "six"]
    assert words.measured(words.paragraphs(page)) == (2, 3, 0)


@pytest.mark.parametrize("pattern", words.HOUSE_WORDS)
def test_a_house_word_is_found_unless_it_is_code(pattern):
    word = (
        "a spend"
        if "spend" in pattern
        else pattern.partition("(?!")[0].replace("?", "").replace(r"\w+", "").split("(")[0]
        + ("y" if pattern.startswith("currenc") else "e" if pattern.startswith("rehears") else "")
    )
    assert words.measured([f"There is {word} in it."]).house == 1
    assert words.measured([f"There is `{word}` in it."]).house == 0


def test_messages_are_the_texts_that_are_shown():
    module = (
        '"""The docstring of a module is none."""\nNAME = "short"\n# a comment "with four more words"\n'
        'raise DataError(\n    f"the table has {rows} rows, "\n    "and no door is open"\n)\n'
    )
    assert list(words.messages(module)) == ["the table has `x` rows, and no door is open"]


def test_docstrings_are_those_of_public_names():
    module = (
        '"""Of a module."""\ndef f():\n    """Of f.\n\n    >>> f()\n    1\n    """\ndef _g():\n    """Of no one."""\n'
        'class A:\n    """Of A."""\n'
    )
    assert list(words.docstrings(module)) == ["Of a module.", "Of f.", "Of A."]


def test_a_count_may_fall_and_never_rise():
    allowed = {"a.md": words.Measured(20.0, 50, 3)}
    assert list(words.breaches({"a.md": words.Measured(19.0, 50, 3)}, allowed)) == []
    for risen in ((20.1, 50, 3), (20.0, 51, 3), (20.0, 50, 4)):
        (breach,) = words.breaches({"a.md": words.Measured(*risen)}, allowed)
        assert "at most" in breach
    assert len(list(words.breaches({"b.md": words.Measured(18.1, 41, 1)}, {}))) == 3


def test_what_is_as_it_should_be_leaves_the_list():
    (breach,) = words.breaches({"a.md": words.GOOD}, {"a.md": words.Measured(20.0, 50, 3)})
    assert "--lower" in breach


MOST_READ = [
    "README.md",
    "docs/index.md",
    *(f"docs/tutorials/{page}.md" for page in ("first-release", "a-real-table", "many-rows", "reading-a-plan")),
    *(f"docs/explanation/{page}.md" for page in ("what-it-means", "when-not")),
    *(
        f"docs/guide/{page}.md"
        for page in ("start", "policies", "queries", "people", "engines", "plans", "ledger", "review", "guarantee")
    ),
    "docs/reference/words.md",
]


@pytest.mark.parametrize("page", MOST_READ)
def test_the_most_read_pages_are_as_they_should_be_and_show_something(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert not list(words.measured(words.paragraphs(text)).over(words.GOOD))
    assert "```" in text or "\n| " in text
