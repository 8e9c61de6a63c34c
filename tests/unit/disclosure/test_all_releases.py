"""What all releases may have told about a policy's pairs, beside the supremum over all raw rows, by brute force."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.cli.main import app
from dxgeom.disclosure.all_releases import DisclosedLoss, disclosed_loss
from dxgeom.errors import UnsupportedCombination
from dxgeom.ledger.history import read_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.metrics.metric import DataSet
from dxgeom.policy.policy import Policy, parse_policy

UP = 1 + 1e-3
"""Figures are rounded up to four digits."""


def policy(attributes: str, *rules: str, name: str = "p", more: str = "") -> Policy:
    lines = "".join(f"  - {{{rule}}}\n" for rule in rules)
    return parse_policy(f"policy: {name}\nuniverse: {{attributes: {{{attributes}}}}}\nrules:\n{lines}{more}")


def told_by(folder: Path, target: Policy, releases: Sequence[tuple[Policy, Fraction]], **more: Any) -> DisclosedLoss:
    path = folder / f"{random.random()}.db"
    for released, spend in releases:
        with Ledger.open(
            path,
            policy_fingerprint=released.fingerprint,
            policy_name=released.name,
            budget=Fraction(100),
            data_set=DataSet("v"),
        ) as ledger:
            ledger.charge(spend, purpose="", plan_fingerprint="p")
    return disclosed_loss(read_ledger(path), target, [released for released, _ in releases], **more)


WORDS = policy("a: [x, y, z], b: [u, v]", "change: a, epsilon: 1", "change: b, epsilon: 0.5")


def test_one_policys_releases_add_up_to_its_own_distances(tmp_path: Path) -> None:
    found = told_by(tmp_path, WORDS, [(WORDS, Fraction(1, 4)), (WORDS, Fraction(1, 4))])
    assert found.exact
    assert [(one.name, one.disclosed_loss, one.allowed, one.lines) for one in found.attributes] == [
        ("a", 0.5, 1.0, (4,)),
        ("b", 0.25, 0.5, (5,)),
    ]
    assert (found.hidden, found.of_any, found.of_presence) == (0, 0.75, None)
    assert "a: between 'x' and 'y' 0.5, odds at most 1.65 to 1" in "\n".join(found.lines())


def test_another_policy_over_the_same_records_adds_its_own_distances(tmp_path: Path) -> None:
    other = policy("a: [x, y, z], b: [u, v]", "change: a, values: {z: 3}, otherwise: 1", "change: b, epsilon: 2")
    found = told_by(tmp_path, WORDS, [(WORDS, Fraction(1, 2)), (other, Fraction(1, 2))])
    pair = found.attributes[0].pair
    assert pair is not None
    i, j = (WORDS.universe.index({"a": a, "b": "u"}) for a in pair)
    exact = sum(float(one.metric.distance(i, j)) / 2 for one in (WORDS, other))
    assert found.exact
    assert found.attributes[0].disclosed_loss == pytest.approx(exact, rel=1e-3)
    assert found.attributes[1].disclosed_loss == 1.25


def test_presence_was_told_exactly_as_soon_as_one_release_did_not_hide_it(tmp_path: Path) -> None:
    hiding = policy("a: [x, y]", "change: a, epsilon: 1", "presence: true, epsilon: 0.5")
    open_one = policy("a: [x, y]", "change: a, epsilon: 1")
    assert told_by(tmp_path, hiding, [(hiding, Fraction(1, 2))]).of_presence == 0.25
    both = told_by(tmp_path, hiding, [(hiding, Fraction(1, 2)), (open_one, Fraction(1, 2))])
    assert both.of_presence == math.inf
    assert "may have been told exactly" in "\n".join(both.lines())
    assert json.loads(json.dumps(both.as_dict()["presence"])) == math.inf


def test_columns_that_the_policy_lacks_are_free(tmp_path: Path) -> None:
    wider = policy("a: [x, y, z], c: [s, t]", "change: a, epsilon: 1", "change: c, epsilon: 4")
    found = told_by(tmp_path, WORDS, [(wider, Fraction(1, 2))])
    assert not found.exact
    assert [one.disclosed_loss for one in found.attributes] == [2.5, 2.0]
    assert (found.hidden, found.of_any) == (2, 2.5)


def test_a_value_that_another_policy_refuses_was_told_to_be_nobodys(tmp_path: Path) -> None:
    fewer = policy("a: [x, y]", "change: a, epsilon: 1")
    found = told_by(tmp_path, WORDS, [(fewer, Fraction(1, 2))])
    assert found.attributes[0].disclosed_loss == math.inf
    assert found.attributes[0].pair is not None and "z" in found.attributes[0].pair
    hiding = policy("a: [x, y]", "change: a, epsilon: 1", "presence: true, epsilon: 2")
    assert told_by(tmp_path, WORDS, [(hiding, Fraction(1, 2))]).attributes[0].disclosed_loss == 1


def test_nothing_was_told_where_nothing_was_released(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    Ledger.open(path, policy_fingerprint=WORDS.fingerprint, policy_name="p", budget=Fraction(1)).close()
    found = disclosed_loss(read_ledger(path), WORDS)
    assert (found.spends, found.of_any) == ((), 0)
    assert found.lines() == ["policy p: nothing was released, nothing was told"]


def test_editions_with_other_people_are_asked_about_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    for edition, spend in (("1", "0.5"), ("2", "0.25")):
        data_set = DataSet("v", edition, disjoint=True)
        with Ledger.open(
            path, policy_fingerprint=WORDS.fingerprint, policy_name="p", budget=Fraction(1), data_set=data_set
        ) as ledger:
            ledger.charge(Fraction(spend), purpose="", plan_fingerprint="p")
    history = read_ledger(path)
    assert disclosed_loss(history, WORDS, edition="1").attributes[0].disclosed_loss == 0.5
    assert disclosed_loss(history, WORDS, edition="2").attributes[0].disclosed_loss == 0.25
    assert disclosed_loss(history, WORDS, edition="3").spends == ()
    with pytest.raises(UnsupportedCombination, match="--edition"):
        disclosed_loss(history, WORDS)


def test_what_cannot_be_compared_is_refused_with_the_reason(tmp_path: Path) -> None:
    numbers = policy("a: {range: [0, 9], step: 1}", "change: a, epsilon: 1")
    with pytest.raises(UnsupportedCombination, match=r"'a' is not read alike.*numbers in the column 'a'"):
        told_by(tmp_path, WORDS, [(numbers, Fraction(1, 2))])
    (tmp_path / "records.csv").write_text("a,b\nx,u\ny,v\n")
    text = "policy: t\nuniverse: {table: records.csv}\nrules: [{between: everything, epsilon: 1}]"
    listed = parse_policy(text, folder=tmp_path)
    with pytest.raises(UnsupportedCombination, match="'t' lists its records in a table"):
        told_by(tmp_path, WORDS, [(listed, Fraction(1, 2))])
    path = tmp_path / "a.db"
    with Ledger.open(path, policy_fingerprint="f" * 64, policy_name="gone", budget=Fraction(1)) as ledger:
        ledger.charge(Fraction(1, 2), purpose="", plan_fingerprint="p")
    with pytest.raises(UnsupportedCombination, match=r"policy 'gone' \(ffffffffffff…\).*give its file, too"):
        disclosed_loss(read_ledger(path), WORDS)


def test_records_that_a_table_lists_are_compared_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "records.csv").write_text("a,b\nx,u\ny,v\ny,u\n")
    head = "universe: {table: records.csv}\nrules:\n  - {between: everything, epsilon: 2}\n"
    one = parse_policy(f"policy: one\n{head}", folder=tmp_path)
    two = parse_policy(f"policy: two\n{head}  - {{change: a, epsilon: 0.5}}\n", folder=tmp_path)
    found = told_by(tmp_path, one, [(one, Fraction(1, 2)), (two, Fraction(1, 4))])
    (records,) = found.attributes
    assert (found.exact, records.name, records.disclosed_loss, records.allowed) == (True, "records", 1.5, 2)
    assert records.pair in {("x, u", "y, v"), ("y, v", "y, u")}


def test_policies_that_read_a_free_column_differently_add_up_one_by_one(tmp_path: Path) -> None:
    numbers = policy("c: {range: [0, 9], step: 1}", "change: c, epsilon: 1")
    words = policy("c: [u, v]", "change: c, epsilon: 3")
    found = told_by(tmp_path, WORDS, [(numbers, Fraction(1, 2)), (words, Fraction(1, 2))])
    assert [one.disclosed_loss for one in found.attributes] == [2, 2]


def test_an_attribute_of_very_many_values_is_bounded_without_naming_a_pair(tmp_path: Path) -> None:
    large = policy("a: {range: [0, 5000], step: 1}", "change: a, epsilon: 1, per: 1000")
    (one,) = told_by(tmp_path, large, [(large, Fraction(1))]).attributes
    assert one.pair is None and 5 <= one.disclosed_loss <= 10 * UP


def random_policy(chance: random.Random, number: int) -> Policy:
    attributes, rules = [], []
    if chance.random() < 0.9:
        step, low = chance.choice(["1", "1.5", "2", "3"]), chance.choice([0, -1, 1])
        attributes.append(f"n: {{range: [{low}, {low + 6}], step: {step}}}")
        rules.append(f"change: n, epsilon: {chance.choice([0.5, 1])}, per: {chance.choice([1, 2])}")
    if chance.random() < 0.5:
        attributes.append(f"m: {{bins: [0, {chance.choice([1, 2, 3])}, 4]}}")
        rules.append(f"change: m, epsilon: {chance.choice([0.5, 2])}")
    if chance.random() < 0.9 or not attributes:
        words = f"[{', '.join(sorted(chance.sample(['p', 'q', 'r', 's'], chance.choice([2, 3]))))}, other]"
        more = chance.choice(["", ", unlisted: other"]) + chance.choice(["", ", missing: {epsilon: 2}"])
        attributes.append(f"w: {{values: {words}{more}}}" if more else f"w: {words}")
        rules.append(f"change: w, epsilon: {chance.choice([0.25, 1])}")
    if chance.random() < 0.3:
        days = f"[2024-01-01, 2024-01-{chance.choice(['05', '06'])}]"
        attributes.append(f"d: {{dates: {days}, step: {chance.choice([1, 2, 3])}}}")
        rules.append(f"change: d, epsilon: 1, per: {chance.choice([1, 2])} days")
    if chance.random() < 0.3:
        rules.append("between: everything, epsilon: 1.5")
    if chance.random() < 0.5:
        rules.append(f"presence: true, epsilon: {chance.choice([0.5, 3])}")
    if len(attributes) > 1 and chance.random() < 0.3:
        pair = ", ".join(one.split(":")[0] for one in attributes[:2])
        rules.append(f"change: [{pair}], together: true, epsilon: 1.25")
    return policy(", ".join(attributes), *rules, name=f"p{number}")


RAW: dict[str, list[Any]] = {
    "n": [-1, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 5.5, 6, 6.5, 7],
    "m": [0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4],
    "w": ["p", "q", "r", "s", "other", "zzz", ""],
    "d": [f"2024-01-0{day}" for day in range(1, 7)],
}


def read(one: Policy, rows: dict[str, list[Any]]) -> np.ndarray:
    """Which record each row is; -1 for none."""
    codes = []
    for attribute, how in zip(one.universe.attributes, one.universe.reading.attributes, strict=True):
        found = attribute.encode(rows[attribute.name])
        if how.unlisted is not None:
            there = np.array([cell != "" for cell in rows[attribute.name]])
            found = np.where((found < 0) & there, how.unlisted, found)
        codes.append(found)
    return one.universe.indices_of(codes)


def codes_of(one: Policy, rows: dict[str, list[Any]]) -> np.ndarray:
    found = read(one, rows)
    return found if one.universe.absent is None else np.where(found < 0, one.universe.absent, found)


def supremum(target: Policy, releases: Sequence[tuple[Policy, Fraction]], chance: random.Random) -> dict[Any, float]:
    """By sampled raw rows: the most that was told of any two, and of those that differ in one attribute only."""
    names = sorted({name for one in (target, *(released for released, _ in releases)) for name in one.universe.names})
    every = list(itertools.product(*(RAW[name] for name in names)))
    rows = chance.sample(every, min(len(every), 700))
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    codes = [codes_of(released, columns) for released, _ in releases]
    mine = read(target, columns)
    kept = np.flatnonzero((mine >= 0) & np.all([code >= 0 for code in codes], axis=0))
    first, second = (part.ravel() for part in np.meshgrid(kept, kept))
    total = sum(
        (
            float(spend) * released.metric.distance(code[first], code[second])
            for (released, spend), code in zip(releases, codes, strict=True)
        ),
        np.zeros(len(first)),
    )
    by_code = np.array(np.unravel_index(np.maximum(mine, 0), target.universe.shape))
    differing = by_code[:, first] != by_code[:, second]
    found: dict[Any, float] = {"any": float(total[differing.any(axis=0)].max(initial=0))}
    for place, name in enumerate(target.universe.names):
        only = differing[place] & (differing.sum(axis=0) == 1)
        found[name] = float(total[only].max(initial=0))
    return found


@pytest.mark.parametrize("seed", [*range(40), 103, 114, 400])
def test_no_raw_rows_were_told_apart_by_more_than_is_said(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    target = random_policy(chance, 0)
    releases = [(random_policy(chance, number), Fraction(chance.randint(1, 4), 4)) for number in range(1, 4)]
    found = told_by(tmp_path, target, releases)
    least = supremum(target, releases, chance)
    assert found.of_any >= least["any"] * (1 - 1e-9)
    for one in found.attributes:
        assert one.disclosed_loss >= least[one.name] * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(15))
def test_where_all_policies_have_the_same_records_the_supremum_is_exact(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    attributes = "a: [x, y, z], b: {range: [0, 4], step: 1}, c: [s, t]"

    def one(number: int) -> Policy:
        rules = [
            f"change: a, values: {{x: {chance.choice([0.5, 1])}, y: 2}}, otherwise: {chance.choice([1, 3])}",
            f"change: b, epsilon: {chance.choice([0.5, 1])}, per: 1",
            f"change: c, epsilon: {chance.choice([0.25, 4])}",
        ]
        rules += ["between: everything, epsilon: 3"] if chance.random() < 0.5 else []
        rules += ["change: [a, c], together: true, epsilon: 1.5"] if chance.random() < 0.5 else []
        return policy(attributes, *rules, name=f"p{number}")

    target = one(0)
    releases = [(one(number), Fraction(chance.randint(1, 4), 4)) for number in range(3)]
    found = told_by(tmp_path, target, releases)
    size = target.universe.size
    total = sum(float(spend) * each.metric.distance(*np.ogrid[:size, :size]) for each, spend in releases)
    codes = np.array(np.unravel_index(np.arange(size), target.universe.shape))
    differing = codes[:, :, None] != codes[:, None, :]
    assert found.exact
    assert found.of_any >= total.max() * (1 - 1e-9)
    for place, each in enumerate(found.attributes):
        most = total[differing[place] & (differing.sum(axis=0) == 1)].max()
        assert most * (1 - 1e-9) <= each.disclosed_loss <= most * UP


def test_the_command_says_it_in_words_and_as_json(tmp_path: Path) -> None:
    files = {}
    for name, text in (
        ("p", WORDS.to_yaml()),
        ("q", WORDS.to_yaml().replace("0.5", "2").replace("policy: p", "policy: q")),
    ):
        files[name] = tmp_path / f"{name}.yaml"
        files[name].write_text(text, encoding="utf-8")
    path, other = tmp_path / "a.db", parse_policy(files["q"].read_text(encoding="utf-8"))
    for one in (WORDS, other):
        with Ledger.open(
            path, policy_fingerprint=one.fingerprint, policy_name=one.name, budget=one.budget, data_set=DataSet("v")
        ) as ledger:
            ledger.charge(Fraction(1, 2), purpose="", plan_fingerprint="p")
    words = ["ledger", "told", str(path), "--policy", str(files["p"])]
    refused = CliRunner().invoke(app, words)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "the policy 'q'" in refused.stderr and "is not in the ledger" in refused.stderr
    said = CliRunner().invoke(app, [*words, "--with", str(files["q"])])
    assert (said.exit_code, said.stderr) == (0, "")
    for part in ("0.5 under policy 'q'", "b: between 'u' and 'v' 1.25, odds at most 3.50 to 1", "budget allows 0.5"):
        assert part in said.stdout
    document = json.loads(CliRunner().invoke(app, [*words, "--with", str(files["q"]), "--format", "json"]).stdout)
    assert [one["told"] for one in document["attributes"]] == [1, 1.25]


def test_policies_are_kept_in_the_ledger_with_their_files(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "edges.csv").write_text("from,to,epsilon\nx,y,1\ny,z,2\n", encoding="utf-8")
    text = (
        "policy: kept\nuniverse: {attributes: {a: [x, y, z], b: [u, v]}}\ndataset: {name: v}\n"
        "rules:\n  - {change: a, secrets: {edges: edges.csv}, weight: epsilon}\n  - {change: b, epsilon: 4}\n"
    )
    kept = parse_policy(text, folder=folder)
    histogram = np.arange(kept.universe.size)
    path = tmp_path / "a.db"
    plan = dx.plan(kept.compile(), dx.queries_from_dict({"queries": [{"count": "b == 'u'"}]}, kept))
    plan.release(histogram, ledger=path, spend="1/4")
    (folder / "edges.csv").unlink()
    history = read_ledger(path)
    assert Policy.from_stated(history.documents[1]).fingerprint == kept.fingerprint
    target = policy("a: [x, y, z], b: [u, v]", "change: a, epsilon: 1", "change: b, epsilon: 0.5")
    assert [one.disclosed_loss for one in disclosed_loss(history, target).attributes] == [0.75, 1]
    assert json.loads(history.documents[1])["files"] == {"edges.csv": "from,to,epsilon\nx,y,1\ny,z,2\n"}


@pytest.mark.parametrize("text", ["", "1", "{}", "[]", '{"written": 1, "files": {}}', '{"written": {}, "files": 1}'])
def test_a_kept_policy_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(dx.DxgeomError):
        Policy.from_stated(text)


MONTHLY = policy("a: [x, y, z]", "change: a, epsilon: 1", name="monthly", more="budget: 2\nprivacy: concentrated\n")


def monthly_ledger(path: Path, target: Policy, fingerprints: Sequence[str]) -> Ledger:
    ledger = Ledger.open(
        path,
        policy_fingerprint=target.fingerprint,
        policy_name=target.name,
        budget=target.budget,
        privacy_measure=target.privacy,
    )
    for fingerprint in fingerprints:
        ledger.charge(Fraction(1, 4), purpose="", plan_fingerprint=fingerprint)
    return ledger


def test_many_releases_under_one_policy_are_told_as_a_curve(tmp_path: Path) -> None:
    with monthly_ledger(tmp_path / "a.db", MONTHLY, ["g"] * 6 + ["l"] * 6) as ledger:
        noises = {"g": "gaussian", "l": "pure"}
        known, unknown = (ledger.disclosed_loss(MONTHLY, noises=one) for one in (noises, {}))
        assert known == disclosed_loss(read_ledger(tmp_path / "a.db"), MONTHLY, noises=noises)
    assert isinstance(known, DisclosedLoss) and isinstance(unknown, DisclosedLoss)
    curve, plain = known.curve, unknown.curve
    assert curve is not None and plain is not None
    assert (len(curve.pure), len(curve.gaussian), len(plain.concentrated)) == (6, 6, 12)
    assert [point.distance for point in curve.points] == [1, 2, 4]
    assert curve.at(1.0).distance == pytest.approx(math.sqrt(12) / 4)
    for less, more in zip(curve.points, plain.points, strict=True):
        assert less.epsilon < more.epsilon and less.right_guess < more.right_guess
    text = "\n".join(known.lines())
    assert "all releases together as a curve (6 with pure noise, 6 with Gaussian noise)" in text
    assert json.loads(json.dumps(known.as_dict()))["curve"]["releases"] == {"pure": 6, "gaussian": 6, "concentrated": 0}
    with pytest.raises(UnsupportedCombination, match="noise is 'gaussian' or 'pure'"):
        disclosed_loss(read_ledger(tmp_path / "a.db"), MONTHLY, noises={"g": "laplace"})


def test_pure_releases_have_a_curve_once_it_says_more_than_their_sum(tmp_path: Path) -> None:
    pure = policy("a: [x, y, z]", "change: a, epsilon: 0.2", more="budget: 100\n")
    with monthly_ledger(tmp_path / "few.db", pure, ["p"] * 2) as few:
        assert "curve" not in "\n".join(few.disclosed_loss(pure).lines())
        with pytest.warns(DeprecationWarning, match="disclosed_loss"):
            assert few.told(pure).lines() == few.disclosed_loss(pure).lines()
    with monthly_ledger(tmp_path / "many.db", pure, ["p"] * 300) as many:
        found = many.disclosed_loss(pure)
    assert isinstance(found, DisclosedLoss) and found.curve is not None and found.of_any == 15
    assert found.curve.at(0.2).ceiling == pytest.approx(15)
    assert found.curve.points[0].epsilon < 4.5
    assert "all releases together as a curve (300 with pure noise)" in "\n".join(found.lines())


def test_releases_under_other_policies_have_no_common_curve(tmp_path: Path) -> None:
    other = policy("a: [x, y, z]", "change: a, epsilon: 2", name="other")
    assert told_by(tmp_path, WORDS, [(WORDS, Fraction(1, 4)), (other, Fraction(1, 4))]).curve is None


def test_the_command_takes_plan_files_for_what_is_known_of_the_noise(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(
        "policy: monthly\nuniverse: {attributes: {a: [x, y, z]}}\nrules:\n  - {change: a, epsilon: 1}\nbudget: 2\n"
        "privacy: concentrated\n"
    )
    target = dx.load_policy(tmp_path / "p.yaml")
    plan = dx.plan(
        target.compile(), dx.queries_from_dict({"queries": [{"count": "a == 'x'"}, {"count": "a == 'y'"}]}, target)
    )
    dx.save_plan(plan, tmp_path / "plan.json", policy=target)
    monthly_ledger(tmp_path / "a.db", target, [plan.fingerprint, plan.fingerprint]).close()
    words = ["ledger", "told", str(tmp_path / "a.db"), "--policy", str(tmp_path / "p.yaml")]
    assert "2 with any concentrated noise" in CliRunner().invoke(app, words).output
    assert plan.noise == "gaussian"
    done = CliRunner().invoke(app, [*words, "--plan", str(tmp_path / "plan.json")])
    assert "2 with Gaussian noise" in done.output, done.output


def test_whoever_knows_counts_may_learn_of_absence_from_releases_under_other_policies(tmp_path: Path) -> None:
    """Of two people who are there or not each may tell what presence tells, though any two records are nearer."""
    rules = ("presence: true, epsilon: 1", "between: everything, epsilon: 0.2")
    target = policy("a: [x, y, z], b: [u, v]", *rules, more="known:\n  - {where: true, count: 10}\n")
    own = policy("a: [x, y, z], b: [u, v]", *rules)
    other = policy("a: [x, y, z], b: [u, v]", rules[0], "between: everything, epsilon: 0.3", name="q")
    alone = told_by(tmp_path, target, [(own, Fraction(1))]).known
    assert alone is not None and alone.by_class
    both = told_by(tmp_path, target, [(own, Fraction(1, 2)), (other, Fraction(1, 2))])
    assert both.known is not None and both.of_presence is not None
    assert both.known.two >= 2 * both.of_presence
    assert (both.known.separate or math.inf) >= both.known.two
