"""Exact laws of all answers, for all data sets of a few records: no odds of neighbours pass spend times distance.

``DXGEOM_ENUMERATED``: how many random metrics and questions of each family; make soak asks for hundreds.
"""

from __future__ import annotations

import itertools
import os
from fractions import Fraction
from functools import partial

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from reference.driven_tables import answered, driven_noise
from reference.least_shift import TOLERANCE, least_shift
from reference.people import earth_mover
from reference.random_workloads import Chance
from reference.released_law import polygon_law
from reference.replayed import Script, answer_law, played
from reference.stated_policy import stated_distances

import dxgeom as dx
from dxgeom.disclosure.all_releases import disclosed_loss
from dxgeom.engines.counted_tables import table_counts
from dxgeom.geometry import hull_of_points
from dxgeom.lab.answers import Lines, Tables, plan_answer
from dxgeom.lab.laplace_tables import banded_geometric, finite_laplace, truncated_geometric
from dxgeom.lab.line_noise import layered_line, planar_laplace, staircase
from dxgeom.lab.optimal_tables import optimal_table
from dxgeom.ledger.history import read_ledger
from dxgeom.ledger.ledger import Ledger
from dxgeom.mechanisms.linear.time_series import series_mechanism
from dxgeom.mechanisms.quantiles.question import quantile_question
from dxgeom.mechanisms.quantiles.transport import TransportQuantiles
from dxgeom.mechanisms.selection.scores import declared_selection, tabled_selection
from dxgeom.mechanisms.selection.selections import selection, top_selection
from dxgeom.mechanisms.selection.small_databases import small_database
from dxgeom.mechanisms.synthetic.multiplicative_weights import mwem
from dxgeom.metrics.components import components_of
from dxgeom.metrics.metric import DataSet
from dxgeom.metrics.verification import verify, verify_metric
from dxgeom.numeric.randomness import InsecureSeededRandomness
from dxgeom.universe.queries import LinearQueries

COUNT = int(os.environ.get("DXGEOM_ENUMERATED", "2"))
SIZE, RECORDS = 3, 3
SLACK = 1e-9
SPENDS = (Fraction(1), Fraction(1, 3), Fraction(7, 2))


def metric_of(chance, size=SIZE, least=1):
    """Random distances, made a metric by shortest paths."""
    apart = np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        apart[i, j] = apart[j, i] = chance.whole(least, 24) / 8
    for k in range(size):
        apart = np.minimum(apart, apart[:, k, None] + apart[None, k])
    return apart, verify_metric(apart, budget=Fraction(100))


def queries_of(chance, count, size=SIZE):
    rows = [[chance.whole(-2, 3) for _ in range(size)] for _ in range(count)]
    rows = [row if len({*row}) > 1 else [1, *([0] * (size - 1))] for row in rows]
    return LinearQueries.from_matrix([f"q{k}" for k in range(count)], np.array(rows))


def data_sets(records=RECORDS, size=SIZE):
    for types in itertools.combinations_with_replacement(range(size), records):
        yield np.bincount(types, minlength=size).astype(np.int64)


def neighbours(records=RECORDS, size=SIZE):
    """Pairs of data sets that differ in one record, of type i in the first and j in the second."""
    for one in data_sets(records, size):
        for i, j in itertools.permutations(range(size), 2):
            if one[i]:
                other = one.copy()
                other[i], other[j] = other[i] - 1, other[j] + 1
                yield one, other, i, j


def smaller_of_both(counts):
    return [int(min(counts[0], counts[1])), int(counts[-1] ** 2)]


def tabled(metric, chance):
    return tabled_selection(metric, ["low", "high"], smaller_of_both, records=RECORDS)


def declared(metric, chance):
    least = min(float(metric.distance(i, j)) for i, j in itertools.combinations(range(SIZE), 2))
    most = Fraction((2 * RECORDS - 1) * 1000, int(least * 1000) - 1)
    return declared_selection(metric, ["low", "high"], smaller_of_both, sensitivity=most, version="of both")


def quantile_of(metric, chance, law):
    level = chance.one(("0", "1/4", "1/2", "9/10"))
    return TransportQuantiles(quantile_question(metric, range(SIZE), [level]), law)


def quantiles_of(metric, chance):
    levels = chance.one((["0", "1"], ["1/4", "1/2"], ["1/10", "9/10"]))
    return TransportQuantiles(quantile_question(metric, range(SIZE), levels), "exponential")


PICKING = {
    "permute and flip": lambda metric, chance: selection(metric, queries_of(chance, 3)),
    "exponential": lambda metric, chance: selection(metric, queries_of(chance, 3), "exponential"),
    "top two": lambda metric, chance: top_selection(metric, queries_of(chance, 3), 2),
    "tabled": tabled,
    "declared": declared,
    "quantile": lambda metric, chance: quantile_of(metric, chance, "permute-and-flip"),
    "quantile, exponential": lambda metric, chance: quantile_of(metric, chance, "exponential"),
    "quantiles": quantiles_of,
    "small database": lambda metric, chance: small_database(metric, queries_of(chance, 2), rows=2),
    "small database, exponential": lambda metric, chance: small_database(
        metric, queries_of(chance, 2), rows=1, law="exponential"
    ),
}


SLOW = ("quantiles",)


def seldom(names):
    return [pytest.param(name, marks=[pytest.mark.long] if name in SLOW else []) for name in names]


@pytest.mark.parametrize("name", seldom(PICKING))
def test_what_picks_keeps_the_odds_of_every_answer_for_every_data_set(name):
    nearest, compared = 0.0, 0
    for number in range(COUNT):
        chance = Chance(f"{name} {number}")
        apart, metric = metric_of(chance)
        mechanism, spend = PICKING[name](metric, chance), chance.one(SPENDS)
        laws = {}
        for data in data_sets():
            draw = partial(mechanism.drawn, data, spend, 1, InsecureSeededRandomness(0))
            law = answer_law(draw)
            assert abs(sum(mpmath.exp(one) for one in law.values()) - 1) < SLACK
            laws[tuple(data)] = law
        for one, other, i, j in neighbours():
            here, there = laws[tuple(one)], laws[tuple(other)]
            assert set(here) == set(there)
            worst = max(float(here[answer] - there[answer]) for answer in here)
            assert worst <= float(spend) * apart[i, j] * (1 + SLACK), (name, number, one, other)
            nearest, compared = max(nearest, worst / (float(spend) * apart[i, j])), compared + len(here)
    print(f"{name}: {COUNT} metrics, {compared} odds, at most {nearest:.6f} of what is promised")
    assert nearest > 0.1


COMING = {
    "a quantile": (["0"], ["1/2"], ["9/10"], ["1"]),
    "quantiles": (["0", "1"], ["1/4", "1/2"], ["1/3", "9/10"]),
}
MOST_COME = 2


@pytest.mark.parametrize("name", seldom(COMING))
def test_quantiles_of_records_that_come_and_go_keep_the_odds_of_every_answer(name):
    """Of all tables of up to two records, whose number is private; distances are read without the package."""
    nearest, compared = 0.0, 0
    for number in range(COUNT):
        chance = Chance(f"{name} of records that come {number}")
        written = {
            "policy": "p",
            "universe": {"attributes": {"age": {"range": [0, SIZE - 1], "step": 1}}},
            "rules": [
                {"change": "age", "epsilon": chance.one(("0.3", "1")), "per": chance.one(("1", "2"))},
                {"presence": "true", "epsilon": chance.one(("0.2", "0.7", "2"))},
            ],
            "budget": "100",
        }
        apart, metric, spend = stated_distances(written), dx.Policy.from_dict(written).compile(), chance.one(SPENDS)
        law = chance.one(("permute-and-flip", "exponential"))  # of several at once it is always the same
        mechanism = TransportQuantiles(quantile_question(metric, "age", chance.one(COMING[name])), law)
        laws = {}
        for data in (np.append(one, 0) for records in range(MOST_COME + 1) for one in data_sets(records)):
            laws[tuple(data)] = answer_law(partial(mechanism.drawn, data, spend, 1, InsecureSeededRandomness(0)))
            assert abs(sum(mpmath.exp(one) for one in laws[tuple(data)].values()) - 1) < SLACK
        for one, other in itertools.permutations(laws, 2):
            gone, come = (np.maximum(np.subtract(*pair)[:-1], 0) for pair in ((one, other), (other, one)))
            if max(gone.sum(), come.sum()) > 1:
                continue
            i, j = (int(moved.argmax()) if moved.any() else SIZE for moved in (gone, come))
            here, there = laws[one], laws[other]
            assert set(here) == set(there)
            worst = max(float(here[answer] - there[answer]) for answer in here)
            assert worst <= float(spend) * apart[i, j] * (1 + SLACK), (number, one, other)
            nearest, compared = max(nearest, worst / (float(spend) * apart[i, j])), compared + len(here)
    print(f"{name} of records that come: {COUNT} metrics, {compared} odds, at most {nearest:.6f} of what is promised")
    assert nearest > 0.1


def replayed(mechanism, data, spend, history):
    """log P of each step of a history of picks and measured steps, two for each round; the noise that leads to it is
    found by a run without."""
    noise = []
    for number in range(len(history) + 1):
        script = Script([pick for pick, _ in history], noise)
        with played(script):
            answer = mechanism.drawn(data, spend, 1, InsecureSeededRandomness(0))[0]
        if number < len(history):
            (found,) = [one for one in answer.measurements if one.round == number]
            noise.append([history[number][1] - round(found.value / found.step)])
    measured = [round(one.value / one.step) for one in answer.measurements]
    assert measured == [value for _, value in history]
    assert len(script.log_chances) == 2 * len(history)
    return np.array([float(one) for one in script.log_chances])


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_multiplicative_weights_keep_the_odds_of_every_history(rounds, privacy):
    """Odds of whole histories; where privacy is concentrated, squares of what each step costs add up. A selection
    costs half the range of its odds there, so no more than half of any odds is held against it."""
    nearest, compared, power = 0.0, 0, 1 if privacy == "pure" else 2
    for number in range(COUNT):
        chance = Chance(f"mwem {rounds} {number}")
        apart, metric = metric_of(chance)
        if power == 2:
            metric = verify(metric.metric, title="c", fingerprint="c", budget=Fraction(100), privacy=privacy)
        mechanism, spend = mwem(metric, queries_of(chance, 2), rounds=rounds), chance.one(SPENDS)
        fine = mechanism.fineness
        for _ in range(4 if rounds == 1 else 2):
            picks = [chance.below(2)] if rounds == 1 else [chance.below(2), 0]
            history = [(pick, chance.whole(-2 * fine, 6 * fine)) for pick in picks]
            chances = {tuple(data): replayed(mechanism, data, spend, history) for data in data_sets(2)}
            for one, other, i, j in neighbours(2):
                steps = chances[tuple(one)] - chances[tuple(other)]
                steps[::2] /= power
                worst = float(steps.sum() if power == 1 else np.sqrt((steps**2).sum()))
                assert worst <= float(spend) * apart[i, j] * (1 + SLACK), (number, history, one, other)
                nearest, compared = max(nearest, worst / (float(spend) * apart[i, j])), compared + 1
    print(
        f"mwem, {rounds} rounds, {privacy}: {COUNT} metrics, {compared} odds, at most {nearest:.6f} of what is promised"
    )
    assert nearest > 0.1


def even(size):
    return [Fraction(1, size)] * size


def losses(chance, size):
    return [[Fraction(0) if x == z else Fraction(chance.whole(1, 9)) for z in range(size)] for x in range(size)]


TABLES = {
    "optimal": lambda metric, chance, spend: optimal_table(
        metric, even(metric.size), losses(chance, metric.size), spend
    ),
    "finite Laplace": lambda metric, chance, spend: finite_laplace(metric, spend),
    "truncated geometric": lambda metric, chance, spend: truncated_geometric(metric, spend),
    "banded geometric": lambda metric, chance, spend: banded_geometric(metric, spend),
}


def log_ratio(one, other):
    """log(one/other) of two exact chances."""
    if not one:
        return -mpmath.inf
    return (
        mpmath.log(mpmath.mpf(one.numerator * other.denominator) / (one.denominator * other.numerator))
        if other
        else mpmath.inf
    )


def most_of_tables(table, apart, spend):
    """The largest odds of an answer over what is promised, and how many were compared."""
    rows, worst = table.law.rows, 0.0
    assert all(sum(row) == 1 and min(row) >= 0 for row in rows)
    for i, j in itertools.permutations(range(len(rows)), 2):
        odds = max(log_ratio(one, other) for one, other in zip(rows[i], rows[j], strict=True))
        worst = max(worst, float(odds) / (float(spend) * apart[i, j]))
    return worst, len(rows) * (len(rows) - 1) * len(rows[0])


def most_of_layers(noise, apart, spend):
    """The same of noise whose densities are constant on layers, wherever two of them are apart by most."""
    places, worst = noise.places, 0.0
    window = range(min(places) - 90, max(places) + 91)
    layer = {z: noise.law.layer(z) for z in range(window[0] - max(places), window[-1] - min(places) + 1)}
    for i, j in itertools.permutations(range(len(places)), 2):
        layers = max(layer[report - places[j]] - layer[report - places[i]] for report in window)
        worst = max(worst, float(noise.law.epsilon * layers) / (float(spend) * apart[i, j]))
    return worst, len(window) * len(places) * (len(places) - 1)


def report_of(name, number, found, least):
    """What was compared, in a line."""
    nearest, compared = max(worst for worst, _ in found), sum(count for _, count in found)
    print(f"{name}: {number} metrics, {compared} odds, at most {nearest:.6f} of what is promised")
    assert least < nearest <= 1 + SLACK


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_one_secret_keep_the_odds_of_every_answer(name):
    found = []
    for number in range(4 * COUNT):
        chance = Chance(f"{name} {number}")
        size, spend = chance.whole(2, 6), chance.one(SPENDS)
        if name == "optimal":
            apart, metric = metric_of(chance, size)
        else:
            apart = np.abs(np.subtract.outer(range(size), range(size))) * chance.whole(1, 16) / 8
            metric = verify_metric(apart, budget=Fraction(100))
        found.append(most_of_tables(TABLES[name](metric, chance, spend), apart, spend))
    report_of(name, 4 * COUNT, found, 0.5)


@pytest.mark.parametrize("make", [staircase, layered_line])
def test_noise_in_layers_keeps_the_odds_of_every_report(make):
    found = []
    for number in range(4 * COUNT):
        chance = Chance(f"{make.__name__} {number}")
        size, spend = chance.whole(2, 4), chance.one(SPENDS)
        apart, metric = metric_of(chance, size, least=12)
        numbers = sorted({Fraction(chance.whole(0, 9), 2) for _ in range(40)})[:size]
        found.append(most_of_layers(make(metric, numbers, spend), apart, spend))
    report_of(make.__name__, 4 * COUNT, found, 0.9)


def policy_of_one(chance, word):
    """A random policy as a document, and what is asked of it; truncated geometric noise wants a line."""
    rules = [{"change": "age", "epsilon": chance.one(("0.3", "1")), "per": chance.one(("1", "2"))}]
    attributes = {"age": {"range": [0, chance.whole(2, 4)], "step": 1}}
    if word not in ("staircase", "layered") and chance.likely(0.6):
        attributes["ill"] = ["no", "yes", "unknown"]
        rules.append({"change": "ill", "epsilon": chance.one(("0.2", "0.7", "2"))})
        if word != "truncated_geometric" and chance.likely(0.5):
            rules.append({"change": ["age", "ill"], "together": "true", "epsilon": "1.1"})
    return {"policy": "p", "universe": {"attributes": attributes}, "rules": rules, "budget": "100"}


@pytest.mark.parametrize("word", (*Tables.words, *Lines.words))
def test_answers_about_one_record_keep_the_odds_of_the_policy(word):
    """By the task's front door; distances are read from the policy without the package."""
    found = []
    for number in range(2 * COUNT):
        chance = Chance(f"{word} of a policy {number}")
        written, spend = policy_of_one(chance, word), chance.one(SPENDS)
        task = {"answer": word}
        if word == "truncated_geometric":
            task["of"] = "age"
        elif word in Tables.words and chance.likely(0.5):
            task["guess"] = "best"
        mechanism = plan_answer(dx.Policy.from_dict(written), task, spend=spend).prepared.mechanism
        apart = stated_distances(
            {
                **written,
                "rules": written["rules"][:1],
                "universe": {"attributes": {"age": written["universe"]["attributes"]["age"]}},
            }
            if "of" in task
            else written
        )
        judged = most_of_layers if word in Lines.words else most_of_tables
        found.append(judged(mechanism, apart, spend))
    report_of(word, 2 * COUNT, found, 0.3)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)


def log_cells(scale, reach):
    """log of ∫ e^(−‖v‖/scale) over unit cells of the plane; nodes keep clear of the tip, which is in a corner here."""
    at = np.concatenate([(NODES - 1) / 4, (NODES + 1) / 4])
    x = np.arange(-reach, reach + 1)[:, None] + at
    heights = np.hypot(x[:, None, :, None], x[None, :, None, :]) / scale
    both = np.concatenate([WEIGHTS, WEIGHTS]) / 4
    return np.log(np.einsum("ijab,a,b->ij", np.exp(-heights), both, both))


def test_planar_noise_keeps_the_odds_of_every_cell():
    nearest, compared, reach = 0.0, 0, 14
    for number in range(COUNT):
        chance = Chance(f"planar {number}")
        places = np.array(sorted({(chance.whole(0, 5), chance.whole(0, 5)) for _ in range(12)})[:4])
        apart, metric = metric_of(chance, len(places))
        spend = chance.one(SPENDS)
        noise = planar_laplace(metric, places, Fraction(1), spend)
        law = log_cells(noise.scale / float(spend), reach)
        at = noise.places - noise.places.min(axis=0)
        for i, j in itertools.permutations(range(len(places)), 2):
            here, there = (law[reach - 8 - x : reach + 9 - x, reach - 8 - y : reach + 9 - y] for x, y in at[[i, j]])
            worst = float((here - there).max())
            assert worst <= float(spend) * apart[i, j] * (1 + 1e-6), (number, i, j)
            nearest, compared = max(nearest, worst / (float(spend) * apart[i, j])), compared + here.size
    print(f"planar: {COUNT} metrics, {compared} odds, at most {nearest:.6f} of what is promised")
    assert nearest > 0.8


def test_series_keep_the_odds_of_every_pair_of_readings():
    nearest, compared, reach = 0.0, 0, 5
    for number in range(COUNT):
        chance = Chance(f"series {number}")
        rate, step = Fraction(chance.whole(1, 12), 4), Fraction(1, chance.whole(1, 4))
        mechanism = series_mechanism("meter", 2, rate, step)
        half = mechanism.law.body.half_widths
        law = polygon_law(hull_of_points(np.array([[half[0], half[1]], [half[0], -half[1]]])), reach)
        for (x, y), (a, b) in itertools.product(itertools.product((-1, 0, 1, 2), repeat=2), repeat=2):
            distance = float(rate * step) * max(abs(x - a), abs(y - b))
            for cell in itertools.product(range(-2, 3), repeat=2):
                here, there = law[cell[0] - x, cell[1] - y], law[cell[0] - a, cell[1] - b]
                odds = float(mpmath.log(here / there))
                assert odds <= distance * (1 + SLACK)
                nearest, compared = max(nearest, odds / distance if distance else 0), compared + 1
    print(f"series: {COUNT} rates, {compared} odds, at most {nearest:.6f} of what is promised")
    assert nearest > 0.5


def rules_of(chance, names):
    rules = [{"change": name, "epsilon": chance.one(("0.1", "0.5", "1", "3"))} for name in names]
    if len(names) > 1 and chance.likely(0.5):
        rules.append({"change": names[:2], "together": "true", "epsilon": chance.one(("0.3", "1.2"))})
    return rules


FEW = {"a": ["x", "y", "z"], "b": ["u", "v"]}
COUNTING = {
    "once": {"count": "once"},
    "rows": {"count": "rows", "at_most": 2, "order": "at"},
    "spread": {"count": "rows", "at_most": 2},
    "single": {"count": "single"},
}
MOST = {"once": 1, "rows": 2, "spread": 2, "single": 1}


def cheapest(one, other, apart, count):
    """What is promised of two people's rows, given as places in ``apart``, whose last is nobody."""
    most, nobody = MOST[count], len(apart) - 1
    if count in ("once", "spread"):
        there = [[code for code in rows if code != nobody] for rows in (one, other)]
        parts = [Fraction(min(len(rows), most), most * (len(rows) or 1)) for rows in there]
        given = [[rows.count(k) * part for k in range(nobody)] for rows, part in zip(there, parts, strict=True)]
        given = [[*rows, 1 - sum(rows)] for rows in given]
        return earth_mover(*given, lambda i, j: apart[i, j])
    one, other = ([*rows, *[len(apart) - 1] * most][:most] for rows in (one, other))
    ways = (sum(apart[i, j] for i, j in zip(one, order, strict=True)) for order in itertools.permutations(other))
    return min(ways) / most


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("count", COUNTING)
def test_wide_tables_hide_everything_that_one_person_can_change(count, privacy):
    """From rows to answers, through the counting, in a universe of 60 billion possible records; noise is driven.

    Where people count once, noise is that of one share, which releases widen to ``shares`` times as much.
    """
    nearest, compared = 0.0, 0
    for number in range(1 + COUNT // 10):
        chance = Chance(f"people {count} {privacy} {number}")
        written = {"policy": "p", "universe": {"attributes": FEW}, "rules": rules_of(chance, ["a", "b"])}
        written["rules"] += [{"presence": "true", "epsilon": chance.one(("0.4", "2"))}]
        apart = stated_distances(written)
        wide = {name: {"range": [0, 99], "step": 1} for name in "cdefg"}
        rules = [*written["rules"], *({"change": name, "epsilon": "1"} for name in wide)]
        more = {"privacy": privacy, "people": {"column": "who", **COUNTING[count]}}
        policy = dx.Policy.from_dict({**written, **more, "universe": {"attributes": FEW | wide}, "rules": rules})
        queries = dx.universe.MarginalQueries.of(policy.universe, [["a"], ["a", "b"], ["b"]])
        mechanism = dx.plan(policy.compile(), queries).mechanism
        keys = components_of(mechanism.metric.metric).keys(7) if count in ("once", "spread") else None
        taken, law = driven_noise(mechanism)
        others = [(f"p{k}", chance.below(6), chance.below(99)) for k in range(4)]

        def answers(rows, others=others, queries=queries, keys=keys, mechanism=mechanism):
            every = [*others, *(("victim", code, 7) for code in rows if code < 6)]
            who, codes, places = zip(*every, strict=True)
            words = {"a": [FEW["a"][code // 2] for code in codes], "b": [FEW["b"][code % 2] for code in codes]}
            table = pa.table({"who": who, **words, **dict.fromkeys("cdefg", places), "at": [*range(len(every))]})
            return answered(mechanism, table_counts(table, queries, component_keys=keys))[0]

        for _ in range(12):
            most = {"once": 3, "rows": 2, "spread": 4, "single": 1}[count]
            one, other = ([chance.below(7) for _ in range(chance.whole(1, most))] for _ in range(2))
            if count in ("once", "spread"):
                one, other = ([code for code in rows if code < 6] or [6] for rows in (one, other))
            change = answers(one) - answers(other)
            if not np.any(change):
                continue
            promised = cheapest(one, other, apart, count)
            part = least_shift(law, taken, change / mechanism.shares) / promised
            assert part <= 1 + TOLERANCE, (number, one, other, part)
            nearest, compared = max(nearest, part), compared + 1
    print(f"{count}, {privacy}: {compared} pairs of people, at most {nearest:.6f} of what is promised")
    assert nearest > 0.5


def charged(path, charges, privacy):
    """A ledger of so many charges: policy, spend, and a plan's name."""
    for policy, spend, plan in charges:
        with Ledger.open(
            path,
            policy_fingerprint=policy.fingerprint,
            policy_name=policy.name,
            budget=Fraction(100),
            data_set=DataSet("v"),
            privacy_measure=privacy,
        ) as ledger:
            ledger.charge(spend, purpose="", plan_fingerprint=plan)
    return read_ledger(path)


def told_apart(documents, charges, privacy):
    """(R + 1, R + 1): what was told of any two raw rows, the last of which is no row; and the rows."""
    rows, total = [*itertools.product(range(3), range(2))], 0.0
    for document, (_, spend, _) in zip(documents, charges, strict=True):
        names = [*document["universe"]["attributes"]]
        apart, sizes = stated_distances(document), [len(FEW[name]) for name in names]
        there = [int(np.ravel_multi_index([row["ab".index(name)] for name in names], sizes)) for row in rows]
        hidden = len(apart) > np.prod(sizes)
        wide = np.full((len(rows) + 1,) * 2, np.inf)
        wide[-1, -1], wide[:-1, :-1] = 0, apart[np.ix_(there, there)]
        if hidden:
            wide[-1, :-1] = wide[:-1, -1] = apart[-1, there]
        total = total + (float(spend) * wide) ** (1 if privacy == "pure" else 2)
    return total if privacy == "pure" else np.sqrt(total), rows


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_ledgers_of_several_policies_say_no_less_than_was_told_of_any_two_rows(privacy, tmp_path):
    exact = 0
    for number in range(5 * COUNT):
        chance, documents = Chance(f"told {privacy} {number}"), []
        for place in range(chance.whole(2, 4)):
            names = ["a", "b"] if chance.likely(0.6) or not place else [chance.one(("a", "b"))]
            rules = rules_of(chance, names)
            rules += [{"presence": "true", "epsilon": chance.one(("0.2", "2"))}] if chance.likely(0.7) else []
            shape = {"attributes": {name: FEW[name] for name in names}}
            documents.append({"policy": f"p{place}", "universe": shape, "rules": rules, "privacy": privacy})
        policies = [dx.Policy.from_dict({**one, "dataset": {"name": "v", "budget": "none"}}) for one in documents]
        charges = [(policy, Fraction(chance.whole(1, 9), 7), "") for policy in policies]
        found = disclosed_loss(charged(tmp_path / f"{number}.db", charges, privacy), policies[0], policies)
        apart, rows = told_apart(documents, charges, privacy)
        assert found.of_any >= apart[:-1, :-1].max() * (1 - SLACK), number
        assert found.of_presence is None or found.of_presence >= apart[-1, :-1].max() * (1 - SLACK), number
        for place, one in enumerate(found.attributes):
            most = max(
                apart[i, j]
                for (i, first), (j, second) in itertools.permutations(enumerate(rows), 2)
                if first[place] != second[place] and first[1 - place] == second[1 - place]
            )
            assert one.disclosed_loss >= most * (1 - SLACK), (number, one.name)
            assert not found.exact or one.disclosed_loss <= most * 1.0011, (number, one.name)
            exact += found.exact
    assert exact or privacy == "concentrated"


def test_curves_of_mixed_ledgers_are_no_less_than_what_their_noises_tell(tmp_path):
    """Randomised response beside normal noise, all signs enumerated: of whatever is unknown, normal noise is one."""
    policy = dx.Policy.from_dict(
        {"policy": "p", "universe": {"attributes": FEW}, "rules": rules_of(Chance("curve"), ["a", "b"])}
        | {"privacy": "concentrated", "dataset": {"name": "v", "budget": "none"}}
    )
    for number in range(COUNT):
        chance = Chance(f"curve {number}")
        kinds = [chance.one(("pure", "gaussian", "unknown")) for _ in range(chance.whole(2, 7))] + ["gaussian"]
        charges = [(policy, Fraction(chance.whole(1, 8), 8), kind) for kind in kinds]
        noises = {"pure": "pure", "gaussian": "gaussian"}
        curve = disclosed_loss(charged(tmp_path / f"{number}.db", charges, "concentrated"), policy, noises=noises).curve
        distance = chance.whole(1, 6) / 4
        pure = [float(spend) * distance for _, spend, kind in charges if kind == "pure"]
        width = mpmath.sqrt(sum(mpmath.mpf(float(s) * distance) ** 2 for _, s, kind in charges if kind != "pure"))
        for epsilon in (0.0, 0.1, 0.7, 2.0):
            least = mpmath.mpf(0)
            for signs in itertools.product((1, -1), repeat=len(pure)):
                left = epsilon - sum(sign * one for sign, one in zip(signs, pure, strict=True))
                odds = [1 / (1 + mpmath.exp(-sign * one)) for sign, one in zip(signs, pure, strict=True)]
                delta = mpmath.ncdf(width / 2 - left / width) - mpmath.exp(left) * mpmath.ncdf(
                    -width / 2 - left / width
                )
                least += mpmath.fprod(odds) * delta
            assert curve.at(distance).delta(epsilon) >= float(least) * (1 - SLACK), (number, epsilon)


@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
def test_an_account_takes_a_charge_if_and_only_if_the_sum_stays_within_the_budget(privacy):
    power, refused = (1 if privacy == "pure" else 2), 0
    for number in range(5 * COUNT):
        chance = Chance(f"account {privacy} {number}")
        budget, spent = Fraction(chance.whole(1, 30), chance.whole(1, 9)), Fraction(0)
        with Ledger.open(
            ":memory:", policy_fingerprint="p", policy_name="p", budget=budget, privacy_measure=privacy
        ) as ledger:
            for _ in range(12):
                spend = budget * Fraction(chance.whole(1, 7), chance.whole(3, 16))
                fits = spent + spend**power <= budget**power
                try:
                    ledger.charge(spend, purpose="", plan_fingerprint="p")
                except dx.BudgetExceeded:
                    assert not fits, (number, spend)
                    refused += 1
                else:
                    assert fits, (number, spend)
                    spent += spend**power
                assert ledger.remaining() ** power <= budget**power - spent
                if privacy == "pure":
                    assert ledger.remaining() == budget - spent
    assert refused
