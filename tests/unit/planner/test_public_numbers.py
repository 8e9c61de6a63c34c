"""Public numbers in answers: implied ones are exact and free, of others the rest is asked; nothing is ever compared."""

from __future__ import annotations

import itertools
import json
import random
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.plan_audit import audit_plan, mechanisms_within
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused, PlanError, UnsupportedCombination
from dxgeom.mechanisms.contract.composition import followed_by, in_sequence
from dxgeom.mechanisms.linear.public_centres import projection, public_fits
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.plan_files.text.json_text import digest_of
from dxgeom.planner.answers.linear_answers import LinearAnswers
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.public_numbers import numbers_of, public_sentences
from dxgeom.policy.policy import parse_policy
from dxgeom.universe.public_counts import PublicCount
from dxgeom.universe.public_shares import PublicNumbers, less_public
from dxgeom.universe.queries import LinearQueries
from dxgeom.universe.workloads.whole_tables import MarginalQueries


def policy(folder, known, *, sizes=(3, 3), epsilon=("1", "1"), more="", presence=""):
    """Attributes a, b, … of so many values; ``known``: for each entry the attributes of its totals."""
    letters = "abc"[: len(sizes)]
    rules = "".join(f"  - {{change: {x}, epsilon: {e}}}\n" for x, e in zip(letters, epsilon, strict=True))
    listed = "".join(
        f"    {x}: [{', '.join(f'{x}{i}' for i in range(size))}]\n" for x, size in zip(letters, sizes, strict=True)
    )
    entries = ""
    for one, numbers in known:
        if isinstance(numbers, int):
            entries += f"  - {{where: {one}, count: {numbers}}}\n"
            continue
        name = f"{'_'.join(one)}.csv"
        cells = itertools.product(*(range(sizes[letters.index(x)]) for x in one))
        rows = [",".join(f"{x}{i}" for x, i in zip(one, cell, strict=True)) for cell in cells]
        lines = "\n".join(f"{row},{number}" for row, number in zip(rows, numbers, strict=True))
        (folder / name).write_text(f"{','.join(one)},count\n{lines}\n")
        entries += f"  - {{totals: [{', '.join(one)}], numbers: {name}}}\n"
    text = (
        f"policy: t\n{more}universe:\n  attributes:\n{listed}rules:\n{rules}{presence}"
        f"{f'known:{chr(10)}{entries}' if known else ''}"
    )
    return parse_policy(text, folder=folder)


MARGINS = [(("a",), (2, 3, 1)), (("b",), (1, 3, 2))]


def counted(universe, table):
    """The numbers of a histogram by attribute."""
    grid = np.array(table[: universe.record_types]).reshape(universe.shape)
    return [(("a",), tuple(grid.sum(axis=1).tolist())), (("b",), tuple(grid.sum(axis=0).tolist()))]


def test_what_is_asked_and_what_is_public_are_what_was_asked_for_every_table_with_these_numbers(tmp_path):
    generator = random.Random(1)
    for trial in range(6):
        presence = "  - {presence: true, epsilon: 1}\n" if trial % 3 == 2 else ""
        universe = policy(tmp_path, [], sizes=(2, 3), presence=presence).universe
        table = [generator.randrange(3) for _ in range(6)] + [0] * bool(presence)
        numbers = counted(universe, table)
        known = [numbers, numbers[:1], [("b == 'b0' or a == 'a1'", 0), numbers[1]]][trial % 3]
        if trial % 3 == 2:
            grid = np.array(table[:6]).reshape(2, 3)
            known[0] = (known[0][0], int(grid[:, 0].sum() + grid[1, 1:].sum()))
        metric = policy(tmp_path, known, sizes=(2, 3), presence=presence).compile()
        rows = [[Fraction(generator.randrange(-3, 4), generator.choice([1, 2, 7])) for _ in range(6)] for _ in range(3)]
        queries = LinearQueries.from_matrix(["x", "y", "z"], rows, metric.universe)
        numbered = numbers_of(metric)
        for shares in public_fits(metric, numbered, queries):
            answered, part = less_public(numbered, queries, shares)
            weights = answered.tables.matrix()
            for place, row in enumerate(rows):
                asked = sum((one * count for one, count in zip(row, table, strict=False)), Fraction(0))
                left = answered.units[place] * sum(int(w) * c for w, c in zip(weights[place], table, strict=True))
                assert left + part.offsets[place] == asked


def test_only_what_public_numbers_imply_is_implied(tmp_path):
    metric = policy(tmp_path, MARGINS).compile()
    universe, numbers = metric.universe, numbers_of(metric)
    rows = [
        [1, 1, 1, 0, 0, 0, 0, 0, 0],
        [2, 1, 1, 1, 0, 0, 1, 0, 0],  # a0 and b0
        [1, 1, 1, 1, 1, 1, 1, 1, 1],
        [1, 0, 0, 0, 1, 0, 0, 0, 1],
    ]
    queries = LinearQueries.from_matrix(["a0", "both", "all", "diagonal"], rows, universe)
    found = projection(metric, numbers, queries)
    assert found.implied == (True, True, True, False)
    _, part = less_public(numbers, queries, found.shares)
    assert part.implied.tolist() == [True, True, True, False]
    assert part.offsets[:3] == (2, 3, 6)


@pytest.mark.long
def test_counts_of_records_that_are_nobodys_by_the_numbers_are_exactly_zero(tmp_path):
    metric = policy(tmp_path, [(("a",), (2, 0, 1))]).compile()
    plan = dx.plan(metric, dx.queries_from_dict({"queries": [{"count": "a == 'a1' and b == 'b0'"}]}, _same(metric)))
    assert plan.mechanism.law is None
    assert plan.mechanism.sensitivity.queries.public.implied.all()
    answer = plan.mechanism.drawn(np.array([0, 0, 0, 5, 0, 0, 0, 0, 0]), Fraction(1), 1, InsecureSeededRandomness(1))
    assert answer == [(0,)]


def _same(metric):
    return metric.source_text.__self__


@pytest.mark.parametrize(
    ("sizes", "known", "epsilon", "hull", "gaussian"),
    [
        ((2, 2), [(("a",), (3, 3)), (("b",), (2, 4))], ("1", "1"), 2, 1),
        ((3, 3), MARGINS, ("1", "1"), 16 + 2 / 3, 5 + 1 / 3),
        ((3, 2), [(("a",), (3, 3, 2))], ("1", "1"), 12, 6),
        ((2, 3), [(("a",), (3, 3))], ("0.2", "1"), 176.61485319517, 68.7285223368),
    ],
)
def test_errors_of_whole_tables_are_those_of_the_projection(tmp_path, sizes, known, epsilon, hull, gaussian):
    for privacy, expected in (("", hull), ("privacy: concentrated\n", gaussian)):
        metric = policy(tmp_path, known, sizes=sizes, epsilon=epsilon, more=privacy).compile()
        queries = LinearQueries.marginals(metric.universe, [["a", "b"]])
        answered, part = less_public(
            numbers_of(metric), queries, projection(metric, numbers_of(metric), queries).shares
        )
        builder = CandidateBuilder(sensitivity_of(metric, answered, part))
        made = builder.best_gaussian.mechanism if privacy else builder.hull
        assert made.ideal_variances.sum() == pytest.approx(expected, rel=1e-4)


def test_one_query_changes_by_no_more_than_the_largest_change_of_tables_with_equal_counts(tmp_path):
    """min over r of max |q′_i − q′_j|/d(i, j) = max {q·z : Az = 0, W(z) ≤ 1}, by two programmes of different kind."""
    generator = random.Random(3)
    for trial in range(6):
        known = [MARGINS, MARGINS[:1], [*MARGINS[1:], ("a == 'a0' and b == 'b1' or a == 'a2'", 2)]][trial % 3]
        presence = "  - {presence: true, epsilon: 0.7}\n" if trial >= 3 else ""
        metric = policy(tmp_path, known, epsilon=("1", "0.5"), presence=presence).compile()
        weights = [[generator.randrange(-4, 5) for _ in range(9)]]
        queries = LinearQueries.from_matrix(["q"], weights, metric.universe)
        numbers = numbers_of(metric)
        fits = public_fits(metric, numbers, queries)
        answered, part = less_public(numbers, queries, fits[0]) if fits else (queries, None)
        sensitivity = sensitivity_of(metric, answered, part)
        found = float(sensitivity.of_each_query[0]) * float(sensitivity.queries.steps[0])
        assert found == pytest.approx(_largest_change(metric, numbers, weights[0]), rel=1e-7)


def _largest_change(metric, numbers, weights):
    """By flows between records: at most 1 is moved, and counts stay."""
    size = metric.size
    row = np.array([*weights, *[0] * (size - 9)], dtype=float)
    pairs = [*itertools.permutations(range(size), 2)]
    gains = np.array([row[j] - row[i] for i, j in pairs])
    costs = np.array([float(metric.distance(i, j)) for i, j in pairs])
    sets = []
    for place in range(len(numbers.counts)):
        labels = numbers.sets_over(place, (0, 1)).ravel()
        for one in range(numbers.starts[place + 1] - numbers.starts[place]):
            inside = np.array([*(labels == one), *[False] * (size - 9)], dtype=float)
            sets.append([inside[j] - inside[i] for i, j in pairs])
    found = linprog(-gains, A_ub=[costs], b_ub=[1], A_eq=sets, b_eq=[0] * len(sets), method="highs")
    return -found.fun


def test_answers_are_the_same_in_law_whatever_the_data_have_in_the_public_counts(tmp_path):
    plan, _ = planned(tmp_path)
    mechanism = plan.mechanism
    tables = np.array([[2, 0, 0, 0, 3, 0, 0, 0, 1], [0, 1, 1, 1, 1, 1, 1, 0, 0], [6, 0, 0, 0, 0, 0, 0, 0, 0]])
    drawn = [mechanism.drawn(one, Fraction(1), 1, InsecureSeededRandomness(7))[0] for one in tables]
    answered = [mechanism.sensitivity.queries.integer_answers(one) for one in tables]
    steps, offsets = mechanism.sensitivity.queries.steps, mechanism.sensitivity.queries.public.offsets
    for answer, exact in zip(drawn, answered, strict=True):
        noise = [
            (value - offset) / step - whole
            for value, offset, step, whole in zip(answer, offsets, steps, exact, strict=True)
        ]
        assert noise == [
            (value - offset) / step - whole
            for value, offset, step, whole in zip(drawn[0], offsets, steps, answered[0], strict=True)
        ]
        assert answer[1] == 2  # implied: of the file, whatever the data


@pytest.mark.long
def test_a_release_never_counts_what_is_public(tmp_path, monkeypatch):
    def never(*_):
        raise AssertionError("a release looked whether the policy's numbers are those of the data")

    plan, read = planned(tmp_path)
    monkeypatch.setattr(PublicCount, "counted", never)
    rows = {"a": ["a0"] * 6, "b": ["b0"] * 6}
    released = plan.release(_frame(rows), ledger=str(tmp_path / "l.ledger"), spend=1)
    assert released["two"].exact_value == 2
    document = released.as_dict()
    assert [one.get("public") for one in document["answers"]] == ["in part", "exact, public"]
    assert document["answers"][1]["interval"] == [2.0, 2.0]
    assert any("never compared" in one["sentence"] for one in document["notes"])
    assert "exact, public" in released.to_arrow().column("public").to_pylist()
    assert "exact, public" in str(released)
    assert "exact, public" in str(plan)
    assert read.universe is not None
    shown = CliRunner().invoke(app, ["ledger", "show", str(tmp_path / "l.ledger"), "--entry", "1"]).stdout
    assert "never compared" in " ".join(shown.split())


def _frame(rows):
    import pyarrow as pa

    return pa.table(rows)


def planned(folder):
    read = policy(folder, MARGINS)
    asked = {"queries": [{"name": "one", "count": "a == 'a0' and b == 'b0'"}, {"name": "two", "count": "a == 'a0'"}]}
    return dx.plan(read.compile(), dx.queries_from_dict(asked, read), mechanism="laplace"), read


@pytest.mark.long
def test_plan_files_keep_what_is_public_and_forgeries_are_refused(tmp_path):
    plan, read = planned(tmp_path)
    again = dx.save_plan(plan, tmp_path / "p.json", policy=read)
    assert again.fingerprint == plan.fingerprint
    assert audit_plan(again).holds
    document = json.loads((tmp_path / "p.json").read_text())
    public = document["mechanism"]["public"]
    assert public[1]
    for change in (
        lambda part: part[1][0].update(share="2"),
        lambda part: part[0].append({"number": 99, "share": "1"}),
        lambda part: part.pop(),
        lambda part: part.__setitem__(1, None),
    ):
        forged = json.loads(json.dumps(document))
        change(forged["mechanism"]["public"])
        forged.pop("digest")
        forged["digest"] = digest_of({**forged, "digest": ""})
        path = tmp_path / "forged.json"
        path.write_text(json.dumps(forged))
        with pytest.raises(PlanError) as caught:
            dx.load_plan(path)
        assert "mechanism" in str(caught.value)


def test_other_numbers_are_another_plan(tmp_path):
    first, _ = planned(tmp_path)
    read = policy(tmp_path, [(("a",), (3, 2, 1)), MARGINS[1]])
    asked = {"queries": [{"name": "one", "count": "a == 'a0' and b == 'b0'"}, {"name": "two", "count": "a == 'a0'"}]}
    second = dx.plan(read.compile(), dx.queries_from_dict(asked, read), mechanism="laplace")
    assert first.fingerprint != second.fingerprint


def test_counts_without_numbers_change_no_plan(tmp_path):
    bare = policy(tmp_path, [])
    listed = parse_policy(f"{bare.to_yaml()}known:\n  - totals: a\n")
    asked = {"queries": [{"count": "a == 'a0'"}]}
    plans = [dx.plan(one.compile(), dx.queries_from_dict(asked, one), mechanism="laplace") for one in (bare, listed)]
    assert plans[0].mechanism.sensitivity.queries.digest == plans[1].mechanism.sensitivity.queries.digest
    assert plans[1].mechanism.sensitivity.queries.public is None


def test_whole_tables_of_few_cells_are_listed_where_public_numbers_help(tmp_path):
    read = policy(tmp_path, MARGINS[:1], sizes=(3, 3))
    plan = dx.plan(read.compile(), MarginalQueries.of(read.universe, [["a"]]))
    assert plan.answers_a_list
    assert plan.mechanism.law is None
    assert plan.reason.endswith("public numbers imply all answers, and nothing is asked of the data")


def test_changed_queries_and_public_numbers_are_refused_together(tmp_path):
    read = policy(tmp_path, MARGINS)
    asked = dx.queries_from_dict({"queries": [{"count": "a == 'a0' and b == 'b0'"}]}, read)
    with pytest.raises(UnsupportedCombination, match="not changed once more"):
        dx.plan(read.compile(), asked, mechanism="changed-queries", records=6)


def test_a_plain_count_is_not_refused_where_what_gains_most_is_no_simple_share(tmp_path):
    """Where presence is private no weight is rounded, so shares of public numbers are not finer than what is kept."""
    generator = random.Random(8)
    known, cells = [], [*itertools.product(range(4), range(3))]
    for _ in range(4):
        own = generator.sample(cells, generator.randrange(2, 11))
        known.append((" or ".join(f"a == 'a{i}' and b == 'b{j}'" for i, j in own), 3 * len(own)))
    epsilon = [f"{generator.uniform(0.1, 1):.6f}" for _ in range(3)]
    presence = f"  - {{presence: true, epsilon: {epsilon[2]}}}\n"
    metric = policy(tmp_path, known, sizes=(4, 3), epsilon=epsilon[:2], presence=presence).compile()
    queries = LinearQueries.from_matrix(["q"], [[generator.randrange(2) for _ in range(12)]], metric.universe)
    plan = dx.plan(metric, queries, mechanism="laplace")
    (shares,) = plan.mechanism.sensitivity.queries.public.shares
    assert max(one.denominator for _, one in shares) > 720


def test_weights_that_are_fine_already_are_asked_as_they_are(tmp_path):
    """A sum in 30 binary places less half a number would have to be rounded."""
    metric = policy(tmp_path, MARGINS[:1], presence="  - {presence: true, epsilon: 0.01}\n").compile()
    rows = [[2**30 - 1, 2**30 - 3, 6, 0, 0, 0, 0, 0, 0]]
    queries = LinearQueries.from_matrix(["fine"], rows, metric.universe)
    plan = dx.plan(metric, queries, mechanism="laplace")
    assert plan.mechanism.sensitivity.queries.weight_errors == (0,)


def test_numbers_of_counts_that_cross_may_not_contradict_each_other(tmp_path):
    with pytest.raises(dx.PolicyError) as caught:
        policy(tmp_path, [(("a", "b"), (1, 0, 0, 1)), (("b", "c"), (1, 1, 0, 0))], sizes=(2, 2, 2), epsilon=("1",) * 3)
    assert [one.code for one in caught.value.diagnostics] == ["DX197"]


def test_public_numbers_of_a_matrix_without_a_universe(tmp_path):
    metric = policy(tmp_path, MARGINS).compile()
    plan = dx.plan(metric, LinearQueries.from_matrix(["a0"], [[1, 1, 1, 0, 0, 0, 0, 0, 0]]), mechanism="laplace")
    assert plan.mechanism.law is None
    assert isinstance(numbers_of(metric), PublicNumbers)


def test_totals_of_an_estimate_that_the_policy_does_not_list_as_public_are_said_to_be_missing_there(tmp_path):
    read = policy(tmp_path, [])
    asked = {"queries": [{"name": "cell", "count": "a == 'a0' and b == 'b0'"}, {"name": "row", "count": "a == 'a0'"}]}
    for known, missing in (("", True), ("known:\n  - totals: b\n", True), ("known:\n  - totals: a\n", False)):
        one = parse_policy(f"{read.to_yaml()}{known}")
        plan = dx.plan(one.compile(), dx.queries_from_dict(asked, one), mechanism="laplace")
        released = plan.release(np.ones(9, dtype=np.int64), ledger=":memory:", spend=1)
        (said,) = (one for one in released.consistent(totals={"row": 3}).done if "rule out" in one)
        assert ("'known:'" in said) == missing


STEPPED = """policy: t
universe:
  attributes:
    a: [a0, a1]
    x: {range: [0, 4], step: 2}
rules:
  - {change: a, epsilon: 1}
  - {change: x, per: 1, epsilon: 1}
known:
  - {totals: x, numbers: x.csv}
"""


def test_public_sums_of_values_that_stand_for_many_numbers_are_not_called_exact(tmp_path):
    (tmp_path / "x.csv").write_text("x,count\n0,1\n2,2\n4,3\n")
    read = parse_policy(STEPPED, folder=tmp_path)
    asked = [{"name": "sum", "sum": "x"}, {"name": "low", "count": "x < 2"}]
    plan = dx.plan(read.compile(), dx.queries_from_dict({"queries": asked, "records": 6}, read))
    answers = LinearAnswers(plan.queries, plan.mechanism, plan.mechanism.drawn(np.zeros(6, int), 1, 1, None)[0], 1, 6)
    sum_, low = answers.as_dicts()
    assert sum_["interval"][0] < sum_["interval"][1]
    assert (sum_["public"], low["public"]) == ("public, of rounded values", "exact, public")
    assert "exact, public, but for rounded values" in answers.notes()[0][1]
    assert "exact, public" not in str(plan).split("\n")[3]


@pytest.mark.long
def test_nothing_is_charged_for_answers_that_are_all_public(tmp_path):
    read = policy(tmp_path, MARGINS)
    asked = {"queries": [{"name": "first", "count": "a == 'a0'"}]}
    plan = dx.plan(read.compile(), dx.queries_from_dict(asked, read))
    ledger, rows = tmp_path / "l.db", _frame({"a": ["a0"], "b": ["b0"]})
    twice = in_sequence([plan.mechanism, plan.mechanism])
    for refused in (
        lambda: plan.release(rows, ledger=ledger, spend=1),
        lambda: dx.release(plan.mechanism, rows, ledger=ledger, spend=1),
        lambda: dx.release(twice, rows, ledger=ledger, spend=1),
        lambda: dx.release(followed_by(plan.mechanism, len, name="n"), rows, ledger=ledger, spend=1),
    ):
        with pytest.raises(UnsupportedCombination, match=r"'first' is 2.* nothing is charged"):
            refused()
    assert not ledger.exists()
    assert in_sequence([plan.mechanism, planned(tmp_path)[0].mechanism]).public_answers is None
    assert "a release of nothing else is refused" in " ".join(str(plan).split())
    assert any(one.startswith("all of it is public") for one in public_sentences(plan.queries, plan.mechanism))
    plan, _ = planned(tmp_path)
    assert "all of it is public" not in str(plan).lower()


@pytest.mark.long
def test_what_an_older_version_was_paid_for_is_shown_again(tmp_path, monkeypatch):
    """It released answers that are all public; whoever paid for them finds them by their key."""
    read = policy(tmp_path, MARGINS)
    asked = {"queries": [{"name": "first", "count": "a == 'a0'"}]}
    plan = dx.plan(read.compile(), dx.queries_from_dict(asked, read))
    ledger, rows = tmp_path / "l.db", _frame({"a": ["a0"], "b": ["b0"]})
    with monkeypatch.context() as older:
        older.setattr("dxgeom.planner.releases.answer_once._require_asked", lambda _: None)
        paid = plan.release(rows, ledger=ledger, spend=1, id="then")
    again = plan.release(rows, ledger=ledger, spend=1, id="then")
    assert again.repeated and again.values.tolist() == paid.values.tolist()
    with pytest.raises(UnsupportedCombination, match="nothing is charged"):
        plan.release(rows, ledger=ledger, spend=1, id="now")


@pytest.mark.long
def test_public_numbers_never_make_a_plan_worse_than_it_is_without_them(tmp_path):
    """Whole tables have noise in parts, which what is left of them has not."""
    sizes = (10, 10)
    with_, without = (policy(tmp_path, known, sizes=sizes, epsilon=("1", "1")) for known in ([(("a",), (3,) * 10)], []))
    plans = [dx.plan(one.compile(), LinearQueries.marginals(one.universe, [["a", "b"]])) for one in (with_, without)]
    assert plans[0].loss <= plans[1].loss * (1 + 1e-9)


TASKS = {
    "tasks": [
        {"name": "free", "share": "1/2", "queries": [{"name": "first", "count": "a == 'a0'"}]},
        {"name": "cell", "share": "3/8", "queries": [{"name": "both", "count": "a == 'a0' and b == 'b0'"}]},
        {"name": "best", "share": "1/8", "select": {"best": [{"count": f"a == 'a{i}' and b == 'b0'"} for i in "01"]}},
    ]
}


def test_a_task_whose_answers_are_all_public_has_no_share_of_the_spend(tmp_path):
    read = policy(tmp_path, MARGINS)
    plan = dx.plan(read.compile(), dx.queries_from_dict(TASKS, read))
    assert plan.mechanism.shares == (0, Fraction(3, 4), Fraction(1, 4))
    assert plan.tasks.shares == (Fraction(1, 2), Fraction(3, 8), Fraction(1, 8))
    rows = _frame({"a": ["a0"] * 6, "b": ["b0"] * 6})
    made = plan.release(rows, ledger=":memory:", spend=1)
    free, cell, best = made.as_dict()["tasks"]
    assert [one["spent"] for one in (free, cell, best)] == ["0", "3/4", "1/4"]
    assert (free["answers"][0]["exact"], free["answers"][0]["interval"]) == ("2", [2.0, 2.0])
    alone = plan.parts[1].rmse(Fraction(3, 4))
    assert made.answer["cell"].rmse.tolist() == alone.tolist()
    assert [one["share"] for one in plan.as_dict()["tasks"]] == ["0", "3/4", "1/4"]
    checked = " ".join(audit_plan(plan).checked)
    assert "no answer has noise, and none needs any" in checked and "all 0 pairs" not in checked
    with pytest.raises(UnsupportedCombination, match="only a part of nothing but public answers may have none"):
        in_sequence([one.mechanism for one in plan.parts], (Fraction(1, 2), Fraction(0), Fraction(1, 2)))


def test_plans_of_free_tasks_are_kept_and_read_again(tmp_path):
    read = policy(tmp_path, MARGINS)
    plan = dx.plan(read.compile(), dx.queries_from_dict(TASKS, read))
    dx.save_plan(plan, tmp_path / "plan.json", policy=read)
    again = dx.load_plan(tmp_path / "plan.json")
    assert (again.fingerprint, again.mechanism.shares) == (plan.fingerprint, plan.mechanism.shares)
    two = {"tasks": [{**TASKS["tasks"][1], "share": "3/4"}, {**TASKS["tasks"][2], "share": "1/4"}]}
    plain = dx.plan(read.compile(), dx.queries_from_dict(two, read))
    assert [one.fingerprint for one in plain.parts] == [one.fingerprint for one in plan.parts[1:]]
    all_free = {"tasks": [TASKS["tasks"][0] | {"name": name} for name in "xy"]}
    free = dx.plan(read.compile(), dx.queries_from_dict(all_free, read))
    assert free.mechanism.shares == (Fraction(1, 2), Fraction(1, 2))


def test_the_audit_refuses_a_part_that_asks_something_without_a_share(tmp_path):
    read = policy(tmp_path, MARGINS)
    plan = dx.plan(read.compile(), dx.queries_from_dict(TASKS, read))
    object.__setattr__(plan.mechanism, "shares", (Fraction(1, 2), Fraction(0), Fraction(1, 2)))
    with pytest.raises(CertificateRefused, match="no part of the budget"):
        [*mechanisms_within(plan.mechanism, "")]


def test_a_release_that_is_refused_for_being_public_leaves_nothing_beside_the_ledger(tmp_path):
    text = "policy: t\nuniverse: {attributes: {a: [a0, a1]}}\nrules: [{change: a, epsilon: 1}]\n"
    (tmp_path / "p.yaml").write_text(f"{text}known: [{{where: a == 'a0', count: 2}}]\n")
    (tmp_path / "q.yaml").write_text("queries: [{name: x, count: a == 'a0'}]\n")
    (tmp_path / "d.csv").write_text("a\na0\na0\n")
    before, (p, d, q) = sorted(tmp_path.iterdir()), (str(tmp_path / one) for one in ("p.yaml", "d.csv", "q.yaml"))
    told = CliRunner().invoke(app, ["release", p, d, q, "--ledger", str(tmp_path / "l.db"), "--spend", "1"])
    assert (told.exit_code, sorted(tmp_path.iterdir())) == (1, before)
    assert "'x' is 2" in told.output
