from __future__ import annotations

from fractions import Fraction

import pytest

from dxgeom.errors import PolicyError
from dxgeom.policy.policy import parse_policy


def policy_with(values: str):
    return parse_policy(
        f"policy: p\nuniverse: {{attributes: {{a: {values}}}}}\nrules:\n  - change: a\n    epsilon: 1\n"
    )


def test_words_that_older_yaml_turns_into_other_things_stay_words():
    written = ["No", "Yes", "on", "off", "y", "true", "null", "~", "010", "0x1F", "1_000", "1:30", "2020-01-01", "1e3"]
    assert policy_with(f"[{', '.join(written)}]").universe.attributes[0].labels == tuple(written)


def test_quotes_are_not_part_of_a_value_and_do_not_make_a_new_one():
    assert policy_with("['No', \"it's\", '']").universe.attributes[0].labels == ("No", "it's", "")
    with pytest.raises(PolicyError, match="lists the value 'No' twice"):
        policy_with("[No, 'No']")


def test_a_leading_zero_does_not_make_a_number_octal():
    attribute = policy_with("{range: [010, 012], step: 01}").universe.attributes[0]
    assert attribute.labels == ("10", "11", "12")


def test_epsilon_is_the_decimal_that_was_written():
    policy = parse_policy(
        "policy: p\nuniverse: {attributes: {a: [u, v]}}\nrules:\n  - change: a\n    epsilon: 0.1\nbudget: 0.3\n"
    )
    assert policy.budget == Fraction(3, 10)
    assert policy.compile().distance(0, 1) <= Fraction(1, 10)


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path):
    text = "policy: p\nuniverse: {attributes: {a: [u, v]}}\nrules:\n  - change: a\n    epsilon: 1\n"
    other = "\ufeff" + text.replace("\n", "\r\n")
    assert parse_policy(text).fingerprint == parse_policy(other).fingerprint


def test_every_character_of_a_message_points_to_its_line_and_column():
    with pytest.raises(PolicyError) as caught:
        parse_policy("policy: p\nuniverse:\n  attributes:\n    ä: [u, v]\nrules:\n  - change: ä\n    epsilon: x\n")
    (mistake,) = caught.value.diagnostics
    assert (mistake.line, mistake.column, mistake.source) == (7, 14, "    epsilon: x")
    assert mistake.as_dict()["code"] == "DX109"
