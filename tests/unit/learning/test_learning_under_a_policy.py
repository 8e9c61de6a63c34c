"""A model under a policy: what neighbours can change, read off the metric, against brute force; columns; refusals."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from reference.perturbed_law import log_density

import dxgeom as dx
from dxgeom.errors import ArrayError, DxgeomError, UnsupportedCombination
from dxgeom.learning import PrivateLogisticRegression
from dxgeom.learning.gradient_noise import LabelTotals
from dxgeom.learning.perturbation import ObjectivePerturbation
from dxgeom.learning.policy_model import policy_model
from dxgeom.learning.policy_rows import joined_table
from dxgeom.numeric.randomness import InsecureSeededRandomness

ATTRIBUTES = {"word": ["a", "b", "c"], "size": {"range": [0, 4], "step": 2}, "label": ["no", "yes"]}


def policy_of(*rules, attributes=None, **others):
    universe = {"attributes": ATTRIBUTES if attributes is None else attributes}
    return dx.Policy.from_dict({"policy": "test", "universe": universe, "rules": list(rules), **others})


EVERYTHING = {"between": "everything", "epsilon": 1}
APART = policy_of(
    {"change": "word", "epsilon": 0.5}, {"change": "size", "epsilon": 2}, {"change": "label", "epsilon": 1}
)
POLICIES = {
    "attributes apart": APART,
    "a distance": policy_of(
        {"change": "word", "epsilon": 2}, {"change": "size", "epsilon": 1, "per": 2}, {"change": "label", "epsilon": 3}
    ),
    "everything": policy_of({"between": "everything", "epsilon": 1}),
    "a group": policy_of(
        {"change": "word", "epsilon": 1},
        {"change": "size", "epsilon": 2},
        {"change": "label", "epsilon": 2},
        {"change": ["word", "label"], "together": True, "epsilon": 2},
    ),
}


def thetas(dimension):
    """Points where gradients and Hessians are most different: near 0, far away, along axes and anywhere."""
    generator = np.random.default_rng(0)
    rows = [generator.standard_normal((1500, dimension)) * scale for scale in (0.1, 1, 10, 100)]
    axes = [sign * size * np.eye(dimension) for sign in (1, -1) for size in (1, 8, 40)]
    return np.vstack([*rows, *axes])


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("share", [Fraction(1, 4), Fraction(9, 10)])
def test_no_two_records_are_told_apart_by_more_than_their_distance(name, share):
    """Any two records of the universe, alone and beside another: log-densities against the policy's own distances."""
    metric = POLICIES[name].compile()
    model = policy_model(metric, "label")
    mechanism = model.mechanism(Fraction(0), share)
    assert isinstance(mechanism, ObjectivePerturbation)
    universe = metric.universe
    records = [universe.record(i) for i in range(universe.size)]
    frame = pd.DataFrame(records).astype({"size": int})
    table = np.column_stack([model.rows(frame), model.labels(frame, None)])
    points, spend = thetas(table.shape[1] - 1), Fraction(3, 2)
    for others in ([], [table[5]], [table[0], table[17], table[9]]):
        logs = np.array([log_density(mechanism, [row, *others], spend, points) for row in table])
        for i, j in itertools.combinations(range(universe.size), 2):
            told = np.abs(logs[i] - logs[j]).max()
            assert told <= float(spend) * float(metric.metric.distance(i, j)) + 1e-8, (records[i], records[j])


@pytest.mark.parametrize("rules", [(EVERYTHING,), ({"change": [*ATTRIBUTES], "epsilon": 1},)])
def test_whether_a_record_is_there_is_hidden_where_it_may_be_absent(rules):
    """Every record beside none and beside others: with it and without, at any point, within ε of its absence."""
    metric = policy_of(*rules, {"presence": True, "epsilon": 0.7}).compile()
    model = policy_model(metric, "label")
    mechanism = model.mechanism(Fraction(0), None)
    records = pd.DataFrame([metric.universe.record(i) for i in range(metric.universe.record_types)])
    records = records.astype({"size": int})
    table = np.column_stack([model.rows(records), model.labels(records, records["label"])])
    points, spend, largest = thetas(table.shape[1] - 1), Fraction(3, 2), 0.0
    for others in (table[:0], table[[0, 17, 9]]):
        without = log_density(mechanism, others, spend, points)
        for row in table:
            told = np.abs(log_density(mechanism, [row, *others], spend, points) - without).max()
            largest = max(largest, float(told))
    assert 0.5 * 1.05 < largest <= 1.05 + 1e-8
    assert mechanism.share == Fraction(9, 10)
    assert len(mechanism.draw(table[:0], spend, InsecureSeededRandomness(1))) == table.shape[1] - 1


def test_an_epsilon_for_each_attribute_needs_half_the_noise_of_one_for_all():
    one = policy_model(policy_of({"between": "everything", "epsilon": 0.5}).compile(), "label")
    each = policy_model(policy_of(*({"change": name, "epsilon": 0.5} for name in ATTRIBUTES)).compile(), "label")
    sizes = [
        np.sqrt(np.diag(model.mechanism(Fraction(0), None).noise(Fraction(9, 10)).second_moment))
        for model in (one, each)
    ]
    assert sizes[1][0] == pytest.approx(sizes[0][0] / 2)
    assert np.all(sizes[1] <= sizes[0] * (1 + 1e-9))


def people(count=4000, seed=0):
    generator = np.random.default_rng(seed)
    word, size = generator.choice(["a", "b", "c"], count), generator.choice([0, 2, 4], count)
    odds = np.exp(size - 2 + np.where(word == "a", 1.5, -1))
    return pd.DataFrame(
        {"size": size, "word": word, "label": np.where(generator.random(count) < odds / (1 + odds), "yes", "no")}
    )


def model_of(policy, tmp_path, **others):
    return PrivateLogisticRegression(
        **{"policy": policy, "label": "label", "spend": 1, "ledger": tmp_path / "x.db", **others}
    )


def test_a_fit_charges_the_policy_s_account_and_names_its_features(tmp_path):
    data = people()
    model = model_of(APART, tmp_path).fit(data.drop(columns="label"), data["label"])
    assert model.release_.spent == 1
    assert list(model.encoded_names_) == ["word=a", "word=b", "word=c", "size"]
    assert list(model.feature_names_in_) == ["word", "size"]
    assert list(model.classes_) == ["no", "yes"]
    assert model.coef_.shape == (1, 4)
    other = people(seed=1)
    assert model.score(other, other["label"]) > 0.75
    assert model.predict_proba(other[:3]).shape == (3, 2)


def test_tables_of_any_kind_give_the_same_rows(tmp_path):
    import pyarrow as pa

    data = people(50)
    model = policy_model(APART, "label")
    rows = model.rows(data)
    assert np.array_equal(model.rows(pa.Table.from_pandas(data)), rows)
    assert np.array_equal(model.rows({name: data[name].tolist() for name in data}), rows)
    assert set(rows[:, -1]) == {-1.0, 1 / 3, 1.0}


def test_labels_alone_are_hidden_in_one_sum(tmp_path):
    policy = policy_of({"change": "label", "epsilon": 1}, unconnected="allow")
    data = people()
    model = model_of(policy, tmp_path, insecure_test_seed=1).fit(data)
    assert isinstance(model.release_.mechanism, LabelTotals)
    assert model.score(data, data["label"]) > 0.75
    exact = policy_model(policy, "label").rows(data)[data["label"] == "yes"].sum(axis=0)
    assert np.abs(np.array(model.release_.answer, dtype=float) - exact).max() < 100


@pytest.mark.filterwarnings("ignore:.*tell next to nothing")
def test_labels_of_one_class_have_a_finite_answer(tmp_path):
    policy = policy_of({"change": "label", "epsilon": 0.1}, unconnected="allow")
    data = people(40).assign(label="no")
    for attempt in range(5):
        model = model_of(policy, tmp_path, ledger=tmp_path / f"{attempt}.db").fit(data)
        assert np.all(np.isfinite(model.coef_))


def test_a_missing_number_is_a_feature_of_its_own():
    attributes = {"size": {"range": [0, 4], "step": 2, "missing": {"epsilon": 1}}, "label": ["no", "yes"]}
    policy = policy_of({"change": ["size", "label"], "epsilon": 1}, attributes=attributes)
    model = policy_model(policy, "label")
    rows = model.rows({"size": [0, 4, None, 2]})
    assert rows.tolist() == [[1, -1, 0], [1, 1, 0], [1, 0, 1], [1, 1 / 3, 0]]


@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"label": None}, "label="),
        ({"label": "other"}, "no attribute 'other'"),
        ({"label": "word"}, "two values"),
        ({"spend": None}, "spend=0.5"),
        ({"epsilon": 1}, "the policy's own"),
        ({"bounds": (0, 1)}, "the policy's own"),
        ({"fit_intercept": False}, "has an intercept"),
        ({"policy": "policy.yaml"}, "dx.load_policy"),
        ({"ledger": None}, "a fit is a release"),
        ({"policy": policy_of(EVERYTHING, people={"column": "who", "count": "once"})}, "counts once is spread"),
        ({"features": ["label"]}, "told from other attributes"),
        ({"features": []}, "name some"),
    ],
)
def test_nothing_is_spent_on_a_refusal(changed, refusal, tmp_path):
    with pytest.raises(DxgeomError, match=refusal):
        model_of(**{"policy": APART, "tmp_path": tmp_path, **changed}).fit(people(30))
    assert not (tmp_path / "x.db").exists()


def test_values_that_the_policy_does_not_list_are_refused_when_fitting_and_when_predicting(tmp_path):
    data = people(100)
    with pytest.raises(ArrayError, match="1 of 100 rows have a 'word'"):
        model_of(APART, tmp_path).fit(data.assign(word=["z", *data["word"][1:]]))
    with pytest.raises(ArrayError, match="no column named 'size'"):
        model_of(APART, tmp_path).fit(data[["word", "label"]])
    assert not (tmp_path / "x.db").exists()
    model = model_of(APART, tmp_path).fit(data)
    with pytest.raises(ArrayError, match="'word' that the policy does not list"):
        model.predict(data.assign(word="z"))


def test_a_policy_s_words_on_plain_arrays_are_refused():
    with pytest.raises(UnsupportedCombination, match="go with a policy"):
        PrivateLogisticRegression(epsilon=1, bounds=(0, 1), label="label").fit([[0]], [1])


@pytest.mark.parametrize(
    ("people", "rows_of_each"),
    [({"column": "who", "count": "single"}, 1), ({"column": "who", "count": "rows", "at_most": 2, "order": "day"}, 2)],
    ids=["single", "rows"],
)
def test_rows_of_people_are_those_that_the_policy_counts(people, rows_of_each, tmp_path):
    data = people_of(3000, rows_of_each)
    policy = policy_of(*({"change": name, "epsilon": 1} for name in ATTRIBUTES), people=people)
    model = model_of(policy, tmp_path).fit(data)
    assert model.score(data, data["label"]) > 0.7
    again = model_of(policy, tmp_path, ledger=tmp_path / "y.db")
    if rows_of_each == 1:
        with pytest.raises(DxgeomError, match="more than one"):
            again.fit(data.assign(who=1))
        assert not (tmp_path / "y.db").exists()


def people_of(count, rows_of_each):
    return people(count).assign(who=np.arange(count) // rows_of_each, day=np.arange(count))


def test_files_and_attributes_made_of_others_are_read_as_the_policy_says(tmp_path):
    attributes = {**ATTRIBUTES, "size": {"range": [0, 4], "step": 2, "from": "half + half"}}
    policy = policy_of(*({"change": name, "epsilon": 1} for name in ATTRIBUTES), attributes=attributes)
    data = people()
    file = tmp_path / "people.csv"
    data.assign(half=data["size"] / 2).drop(columns="size").to_csv(file, index=False)
    seeded = {"insecure_test_seed": 1, "features": ["size"]}
    model = model_of(policy, tmp_path, **seeded).fit(str(file))
    plain = model_of(APART_EQUALLY, tmp_path, ledger=tmp_path / "y.db", **seeded).fit(data)
    assert list(model.encoded_names_) == ["size"]
    assert model.coef_ == pytest.approx(plain.coef_)
    assert np.array_equal(model.predict(data.assign(half=data["size"] / 2)), plain.predict(data))
    assert set(model.predict(data.assign(half=1))) <= set(data["label"])


def test_moments_keep_their_hours_however_a_table_is_handed_over():
    attributes = {"hour": {"range": [0, 23], "step": 1, "from": "seen", "as": "hour"}, "label": ["no", "yes"]}
    policy = policy_of(*({"change": name, "epsilon": 1} for name in attributes), attributes=attributes)
    seen = pd.to_datetime(["2026-01-01 00:30", "2026-01-02 23:59", "2026-01-03 11:00"])
    data = pd.DataFrame({"seen": seen, "label": ["no", "yes", "no"]})
    model = policy_model(policy, "label")
    for table in (data, {"seen": data["seen"]}, {"seen": [*map(str, seen)]}):
        assert model.rows(table)[:, 1] == pytest.approx([-1, 1, 2 * 11 / 22.5 - 1])
    assert model.labels(data, None).tolist() == model.labels(None, data["label"]).tolist() == [False, True, False]
    assert joined_table(model.universe, "label", data, data["label"]).column("seen").to_pylist()[1][11:16] == "23:59"


APART_EQUALLY = policy_of(*({"change": name, "epsilon": 1} for name in ATTRIBUTES))


def test_presence_is_carried_by_a_fit_too(tmp_path):
    policy = policy_of(EVERYTHING, {"presence": True, "epsilon": 1})
    model = model_of(policy, tmp_path, spend=1).fit(people())
    assert model.release_.mechanism.absence
    assert model.score(people(seed=1), people(seed=1)["label"]) > 0.7


def test_a_person_with_a_single_row_has_no_second_one(tmp_path):
    """Many rows of one person would tell so many times as much."""
    policy = policy_of(
        {"change": "word", "epsilon": 1},
        {"change": "size", "epsilon": 1},
        {"change": "label", "epsilon": 1},
        people={"column": "who", "count": "single"},
    )
    table = pd.DataFrame({"word": ["a", "b"] * 200, "size": [0, 4] * 200, "label": ["no", "no", "yes", "yes"] * 100})
    model = PrivateLogisticRegression(policy=policy, label="label", spend=1, ledger=tmp_path / "ledger.db")
    refused = {
        "more than one": table.assign(who=[*range(399), 0]),
        "name nobody": table.assign(who=["", *map(str, range(399))]),
        "by text or by whole numbers": table.assign(who=[0.5 * k for k in range(400)]),
        "no column": table,
    }
    for why, rows in refused.items():
        with pytest.raises(ArrayError, match=why):
            model.fit(rows)
    model.fit(table.assign(who=range(400)))


def test_what_a_data_frame_marks_as_missing_is_missing():
    policy = policy_of(
        {"change": "word", "epsilon": 1},
        {"change": "label", "epsilon": 1},
        attributes={"word": {"values": ["a", "b"], "missing": {"epsilon": 1}}, "label": ["no", "yes"]},
    )
    model = policy_model(policy, "label")
    words = [pd.Series(["a", None, "b"]).astype("string"), pd.Series(["a", pd.NA, "b"]), np.array(["a", None, "b"])]
    for column in words:
        assert model.rows({"word": column})[:, 1:].argmax(axis=1).tolist() == [0, 2, 1]
