"""A moved number is read alone: the tree of the text, and the policy, are those of the whole text read anew."""

from __future__ import annotations

import re
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.policy.source.mistakes import Mistakes
from dxgeom.policy.source.text import PolicyText
from dxgeom.policy.source.yaml_tree import Scalar, Sequence, read_tree, with_word
from dxgeom.studio.levers import levers_of
from dxgeom.studio.session import Studio

EXAMPLES = sorted(path.parent.name for path in POLICIES.glob("*/policy.yaml"))

_VALUES = ("0.5", "2.75", "12", "1", "0.000000001", "999999999.123456789")


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tree_of_a_moved_number_is_that_of_the_text_read_anew(name):
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    text, root = policy.text, read_tree(Mistakes(policy.text))
    for number, lever in enumerate(one for one in levers_of(policy) if one.stands_in(text.content)):
        value = _VALUES[number % len(_VALUES)]
        anew = PolicyText(text.file, lever.moved(text.content, value), None)
        assert with_word(root, lever.span, value) == read_tree(Mistakes(anew))


_BETWEEN = st.sampled_from((" ", "   ", "  # 1 of 2, é\n  ", "\n\n  ", " 'x: 1' "))
_NUMBERS = st.sampled_from(("1", "0.5", "10", "7.125", "1000"))


@st.composite
def _texts(draw):
    """A mapping of blocks, flows, lists, quoted words and comments with numbers here and there."""
    said = ["first: 1"]
    for k in range(draw(st.integers(1, 6))):
        numbers = draw(st.lists(_NUMBERS, min_size=2, max_size=2))
        form = draw(
            st.sampled_from(
                (
                    "k{k}: {a}{gap}",
                    "k{k}: {{a: {a},b: {b} , 'é': \"{a}\"}}{gap}",
                    "k{k}:{gap}\n  - c: {a}\n    d: {b}\n  - {b}\n  -\n    - {a}",
                    "k{k}: [{a}, {b},{a} ]   # {b}\n",
                    "k{k}:\n    x:\n        y: {a}\n\n    z: >\n      {b}\n      {b}\n",
                    "k{k}: {a}\n\n# {b}\n",
                    "k{k}: {{a: [{a}, {{b: {b}}}],\n  c: {b}}}",
                )
            )
        )
        gap = draw(st.sampled_from(("", "  ", "   # 1 of 2, é")))
        said.append(form.format(k=k, a=numbers[0], b=numbers[1], gap=gap))
    return "\n".join(said) + draw(st.sampled_from(("", "\n", "\n\n", "\n# 1\n")))


def _numbers(node):
    if isinstance(node, Scalar):
        return [node] if node.plain and re.fullmatch(r"[0-9.]+", node.text) else []
    held = node.items if isinstance(node, Sequence) else [value for _, value in node.entries]
    return [one for part in held for one in _numbers(part)]


@given(_texts(), st.data())
def test_any_tree_with_another_number_is_that_of_the_text_read_anew(content, data):
    root = read_tree(Mistakes(PolicyText("t.yaml", content, None)))
    for _ in range(2):  # the tree of a change is changed again
        place = data.draw(st.sampled_from(_numbers(root))).span
        value = data.draw(_NUMBERS)
        content = f"{content[: place.start]}{value}{content[place.end :]}"
        root = with_word(root, place, value)
        assert root == read_tree(Mistakes(PolicyText("t.yaml", content, None)))


@pytest.mark.parametrize("name", ("clinic", "hospital-stays", "payroll", "poll"))
def test_a_draft_moved_time_and_again_is_the_draft_of_its_text(name, tmp_path):
    studio = Studio(shutil.copytree(POLICIES / name, tmp_path / name) / "policy.yaml")
    for value in ("0.125", "3", "1.5"):
        for lever in [one.name for one in studio.draft.levers]:
            found = studio.ask("move", {"revision": studio.revision, "lever": lever, "value": value})
            anew = studio.draft.with_text(studio.draft.content)
            assert anew.content == found["text"] and anew.policy.fingerprint == found["fingerprint"]
            assert anew.levers == studio.draft.levers and anew.mistakes == studio.draft.mistakes


@pytest.mark.parametrize("written", ('"1"', "'1'"))
def test_a_number_in_quotes_is_moved_by_reading_the_whole_text(written, tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text(f"policy: p\nuniverse: {{attributes: {{a: [x, y]}}}}\nrules: [{{change: a, epsilon: {written}}}]\n")
    studio = Studio(path)
    assert not studio.draft.levers[0].stands_in(studio.draft.content)
    found = studio.ask("move", {"revision": 0, "lever": "rules/0/epsilon", "value": "0.5"})
    assert found["text"].endswith("epsilon: 0.5}]\n") and found["mistakes"] == []


def test_a_number_that_goes_wrong_is_shown_where_it_stands(tmp_path):
    path = tmp_path / "policy.yaml"
    path.write_text("policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules:\n  - {change: a, epsilon: 1}\nbudget: 1\n")
    studio = Studio(path)
    lever = studio.draft.levers[0]
    draft = studio.draft.moved(lever, "999999999")
    anew = studio.draft.with_text(lever.moved(studio.draft.content, "999999999"))
    assert draft.mistakes == anew.mistakes and (draft.policy is None) == (anew.policy is None)
