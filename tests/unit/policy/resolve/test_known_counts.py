"""What a policy says everybody may know: read, held against each other, and turned into classes of records."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import numpy as np
import pytest

from dxgeom.errors import PolicyError
from dxgeom.policy.policy import Policy, load_policy, parse_policy

HEAD = """policy: example
universe:
  attributes:
    region: [north, south, west]
    age: {range: [0, 90], step: 10}
rules:
  - {change: [region, age], epsilon: 1}
"""


def policy(known: str, more: str = "", folder: object = None) -> Policy:
    return parse_policy(f"{HEAD}{more}known:\n{known}", folder=folder)


def codes_of(known: str, more: str = "", folder: object = None) -> list[str]:
    with pytest.raises(PolicyError) as caught:
        policy(known, more, folder)
    return [one.code for one in caught.value.diagnostics]


def classes(known: str, more: str = "", folder: object = None):
    return policy(known, more, folder).resolved.known.classes


def test_totals_make_a_class_of_each_combination():
    found = classes("  - totals: [age, region]\n")
    assert (found.count, found.partition, found.totals) == (30, True, (None,) * 30)
    assert sorted(found.labels.ravel().tolist()) == list(range(30))


def test_nested_counts_make_one_partition_with_its_numbers(tmp_path):
    (tmp_path / "n.csv").write_text("region,count\nwest,5\nnorth,20\nsouth,10\n")
    known = "  - {totals: region, numbers: n.csv}\n  - {where: region == 'north' and age >= 50, count: 8}\n"
    found = classes(known, folder=tmp_path)
    assert (found.count, found.partition, found.records, found.most_people) == (4, True, 35, 4)
    assert sorted(found.totals) == [5, 8, 10, 12]
    assert found.totals[int(found.labels[0, 9])] == 8
    assert found.totals[int(found.labels[0, 0])] == 12


def test_counts_that_cross_are_no_partition():
    for known in ("  - totals: region\n  - totals: age\n", "  - totals: region\n  - {where: age >= 50, count: 3}\n"):
        assert not classes(known).partition
    crossing = "  - {where: age >= 50, count: 3}\n  - {where: region == 'north', count: 3}\n"
    assert not classes(crossing).partition
    with_meet = f"{crossing}  - {{where: age >= 50 and region == 'north', count: 1}}\n"
    assert classes(with_meet).partition  # four classes, each of whose counts follows


def test_a_class_that_nobody_is_in_is_none(tmp_path):
    (tmp_path / "n.csv").write_text("region,count\nwest,0\nnorth,20\nsouth,10\n")
    found = classes("  - {totals: region, numbers: n.csv}\n", folder=tmp_path)
    assert (found.count, found.labels.tolist()) == (2, [0, 1, -1])
    nested = "  - {totals: region, numbers: n.csv}\n  - {where: region == 'north' and age >= 50, count: 20}\n"
    assert classes(nested, folder=tmp_path).count == 2


def test_an_absent_record_is_counted_with_those_that_no_count_is_about():
    presence = "  - {presence: true, epsilon: 1}\n"
    beside = parse_policy(f"{HEAD}{presence}known:\n  - {{where: age >= 50, count: 3}}\n").resolved.known.classes
    assert (beside.count, beside.partition, beside.records) == (2, True, None)
    assert beside.labels[0] == beside.absent
    alone = parse_policy(f"{HEAD}{presence}known:\n  - totals: age\n").resolved.known.classes
    assert (alone.count, alone.absent, alone.partition) == (11, 10, True)


def test_the_number_of_records_alone_makes_one_class():
    found = classes("  - {where: true, count: 100}\n")
    assert (found.count, found.partition, found.records) == (1, True, 100)


def test_numbers_that_no_table_has_are_refused(tmp_path):
    (tmp_path / "n.csv").write_text("region,count\nwest,5\nnorth,20\nsouth,10\n")
    (tmp_path / "a.csv").write_text("age,count\n" + "".join(f"{10 * k},4\n" for k in range(10)))
    by_region = "  - {totals: region, numbers: n.csv}\n"
    for other in (
        "{where: age >= 50, count: 36}",
        "{where: true, count: 34}",
        "{where: region == 'north' and age >= 50, count: 21}",
        "{where: \"region in ['north', 'south']\", count: 31}",
        "{totals: age, numbers: a.csv}",
    ):
        assert codes_of(f"{by_region}  - {other}\n", folder=tmp_path) == ["DX197"]
    for other in ("{where: age >= 50, count: 35}", "{where: \"region in ['north', 'south']\", count: 30}"):
        assert policy(f"{by_region}  - {other}\n", folder=tmp_path)


def test_every_set_of_nested_counts_is_a_partition_with_the_numbers_of_its_table():
    """Random nested conditions over a table: whatever follows is the table's own count."""
    rng = random.Random(4)
    for _ in range(60):
        table = [(rng.randrange(3), rng.randrange(10)) for _ in range(12)]
        spans, cuts = [], sorted(rng.sample(range(1, 10), 3))
        for low, high in itertools.pairwise([0, *cuts]):
            spans.append((low, high))
        lines = [
            f"  - {{where: age >= {10 * low} and age < {10 * high}, count: {sum(low <= a < high for _, a in table)}}}"
            for low, high in spans
        ]
        low, high = spans[0]
        inner = sum(r == 0 and low <= a < high for r, a in table)
        lines.append(f"  - {{where: region == 'north' and age >= {10 * low} and age < {10 * high}, count: {inner}}}")
        rng.shuffle(lines)
        found = classes("\n".join(lines) + "\n  - {where: true, count: 12}\n")
        assert found.partition
        counts = np.zeros(found.count, dtype=int)
        for region, age in table:
            place = (region, age) if len(found.axes) == 2 else (age,)
            counts[found.labels[place]] += 1
        assert tuple(counts) == found.totals


def test_the_fingerprint_knows_what_is_known_and_old_policies_keep_theirs():
    plain = parse_policy(HEAD)
    assert plain.fingerprint == "8d94a659d704bc54442d1068c7bf45d1e27ffd142d7da23a23ca70797382d3c6"
    first = policy("  - totals: region\n  - {where: age >= 50, count: 3}\n")
    again = policy("  - {where: 50 <= age, count: 3}\n  - totals: [region]\n")
    other = policy("  - totals: region\n  - {where: age >= 50, count: 4}\n")
    assert len({plain.fingerprint, first.fingerprint, other.fingerprint}) == 3
    assert again.fingerprint == first.fingerprint
    assert plain.meaning == first.meaning  # one account: distances are the same
    assert parse_policy(first.to_yaml()).fingerprint == first.fingerprint
    assert Policy.from_stated(first.stated()).fingerprint == first.fingerprint


def test_a_policy_lists_counts_and_files_are_read_beside_it(tmp_path):
    (tmp_path / "n.csv").write_text(
        "age,region,count,source\n"
        + "".join(f"{10 * a},{r},{a},census\n" for a in range(10) for r in ("north", "south", "west"))
    )
    (tmp_path / "p.yaml").write_text(f"{HEAD}known:\n  - {{totals: [region, age], numbers: n.csv}}\n")
    found = load_policy(tmp_path / "p.yaml")
    assert found.resolved.known.counts[0].numbers[:10] == tuple(range(10))
    assert found.resolved.known.counts[0].words == "how many records each combination of region and age has"
    assert found.resolved.known.lines == (9,)


def test_records_of_a_table_are_counted_as_any(tmp_path):
    (tmp_path / "r.csv").write_text("a,b\nx,1\nx,2\ny,1\n")
    text = "policy: p\nuniverse: {table: r.csv}\nrules: [{between: everything, epsilon: 1}]\nknown: [{totals: a}]\n"
    found = parse_policy(text, folder=tmp_path)
    assert found.resolved.known.classes.labels.tolist() == [0, 0, 1]
    assert found.informed.two == 1.0
    assert found.explain(0, 2).known.two == 1.0


def test_what_informed_observers_may_learn_is_said_of_policy_and_pairs():
    found = policy("  - totals: region\n")
    assert (found.informed.two, found.informed.separate) == (2.0, 3.0)
    assert "at most 7.39 to 1" in found.informed.sentences
    apart = found.explain({"region": "north"}, {"region": "south"})
    assert (apart.distance, apart.known.two, apart.known.separate) == (Fraction(1), 2.0, 3.0)
    together = found.explain({"age": "10"}, {"age": "20"})
    assert together.known.together
    assert "as stated" in "\n".join(together.lines())
    assert apart.as_dict()["known"]["judging_all_separately"] == 3.0
    assert "Public: how many records each region has." in "\n".join(found.review().lines())
    assert found.review().as_dict()["known"]["unsure_of_two"] == 2.0


def test_of_counts_that_cross_no_bound_is_said_but_of_two_people():
    found = policy("  - totals: region\n  - totals: age\n")
    assert (found.informed.two, found.informed.separate) == (4.0, None)
    assert "these counts cross: no bound but the number of people" in "\n".join(found.review().lines())
    assert found.explain({"region": "north"}, {"region": "south"}).known.two == 3.0


def test_records_that_the_numbers_rule_out_are_nobodys(tmp_path):
    (tmp_path / "n.csv").write_text("region,count\nwest,0\nnorth,20\nsouth,10\n")
    found = policy("  - {totals: region, numbers: n.csv}\n", folder=tmp_path)
    assert not found.explain({"region": "north"}, {"region": "west"}).known.possible
    assert found.informed.separate == 2.0  # two classes have records


def test_of_very_many_records_bounds_are_by_attribute():
    text = HEAD.replace("age: {range: [0, 90], step: 10}", "age: {range: [0, 999], step: 1}\n    b: [u, v]")
    text = text.replace("[region, age]", "[region, age, b]")
    found = parse_policy(f"{text}known:\n  - totals: region\n")
    assert (found.informed.two, found.informed.separate) == (4.0, 6.0)
    pair = found.explain({"region": "north"}, {"region": "south"}).known
    assert (pair.two, pair.separate) == (4.0, 6.0)


@pytest.mark.parametrize("known", ["  - {where: a == 'v1', count: 30}\n", "  - totals: a\n  - totals: b\n"])
def test_of_many_listed_records_absence_is_as_far_as_presence_says(known, tmp_path):
    """A rule about all pairs is not about absence; whoever may be absent is as far from others as of few records."""
    found = []
    for count in (40, 1100):
        listed = "".join(f"v{row % 4},u{row // 4}\n" for row in range(1, count))
        (tmp_path / "records.csv").write_text(f"a,b\n{listed}")
        rules = "  - {presence: true, epsilon: 1}\n  - {between: everything, epsilon: 0.2}\n"
        text = f"policy: p\nuniverse: {{table: records.csv}}\nrules:\n{rules}known:\n{known}"
        found.append(parse_policy(text, folder=tmp_path).informed)
    assert found[0].two > 1
    assert found[1].two >= found[0].two
    assert (found[1].separate or 0) >= (found[0].separate or 0)


def test_two_records_are_explained_where_all_possible_ones_are_counted_together():
    made = Policy.from_dict(
        {
            "policy": "p",
            "universe": {"attributes": {"age": {"range": [0, 1999], "step": 1}, "ill": ["no", "yes"]}},
            "rules": [{"change": "age", "per": "10 steps", "epsilon": 1}, {"change": "ill", "epsilon": 1}],
            "known": [{"where": "age >= 6", "count": 0}, {"where": "age < 5", "count": 0}],
        }
    )
    explained = made.explain({"ill": "no"}, {"ill": "yes"})
    assert explained.known.together


@pytest.mark.parametrize("where", ["age > 60", "age <= 60", "age == 60", "age in [60, 70]", "60 < age"])
def test_a_count_that_cuts_a_value_is_of_no_classes(where):
    """Who is 65 has the value 60, and is counted there or not: no class of values has that many."""
    with pytest.raises(PolicyError, match="DX202: this condition cuts values of 'age'"):
        policy(f"  - {{where: '{where}', count: 0}}\n")


def test_a_count_of_whole_values_is_one_of_classes():
    assert policy("  - {where: 'age >= 60 and not age >= 80', count: 3}\n").informed.classes == 2
    assert policy("  - {where: \"region == 'north'\", count: 3}\n").informed.classes == 2


def test_the_numbers_of_an_attribute_called_count_stand_in_records(tmp_path):
    text = """policy: example
universe: {attributes: {count: [one, more]}}
rules:
  - {change: count, epsilon: 1}
known:
  - {totals: count, numbers: n.csv}
"""
    (tmp_path / "n.csv").write_text("count,records\none,5\nmore,2\n")
    assert parse_policy(text, folder=tmp_path).resolved.known.classes.records == 7
    (tmp_path / "n.csv").write_text("count\none\nmore\n")
    with pytest.raises(PolicyError, match="records"):
        parse_policy(text, folder=tmp_path)


def test_under_time_a_record_is_protected_and_not_a_person():
    timed = """policy: example
universe: {attributes: {region: [north, south]}}
time: {column: day, from: 2027-03-01, to: 2027-03-14, every: week}
rules:
  - {presence: true, epsilon: 1}
  - {change: region, epsilon: 1}
  - {change: day, epsilon: 1}
known:
  - totals: region
"""
    assert "unsure of one record and one more" in parse_policy(timed).informed.sentences
    assert "all records separately" in parse_policy(timed).informed.sentences
    assert "unsure of one person and one more" in policy("  - totals: region\n").informed.sentences
