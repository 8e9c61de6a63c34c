"""Plans of every kind pass their audit without data, and whatever is spoiled in what a release would run does not.

Constructors refuse such mechanisms, so they are forged from plans that were read from files.
"""

from __future__ import annotations

import ast
import json
import random
import re
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from reference.every_plan_file import PLANS, loaded_plan, plan_names
from reference.forged import forged
from reference.judged_plans import worst_of
from reference.least_shift import driven
from reference.plan_documents import changed, read, write
from reference.project import ROOT
from reference.stated_policy import stated_distances
from typer.testing import CliRunner

import dxgeom as dx
from dxgeom.audit.counted_blocks import InClasses, of_answers
from dxgeom.audit.moves import moves_of, require_along_bases
from dxgeom.audit.plan_audit import audit_plan
from dxgeom.cli.main import app
from dxgeom.errors import CertificateRefused, PlanError
from dxgeom.mechanisms.linear.additive import AdditiveMechanism
from dxgeom.mechanisms.linear.mixing import Classes, Cuts, DiagonalMixing, FirstLessSecond, Siblings
from dxgeom.mechanisms.linear.sensitivity import sensitivity_of
from dxgeom.mechanisms.parts import table_mechanism
from dxgeom.mechanisms.parts.box_mechanism import BoxMechanism
from dxgeom.noise.composed import LinearImageNoise, ProductNoise
from dxgeom.noise.round_laws import LaplaceNoise
from dxgeom.noise.triangular import DifferencedNormals
from dxgeom.plan_files.loading import load_plan
from dxgeom.planner.boxes.as_candidates import BoxCandidates
from dxgeom.planner.candidate_builder import CandidateBuilder
from dxgeom.planner.choose import listed_plan
from dxgeom.planner.comparing.comparison import CandidateComparison
from dxgeom.planner.objectives.objective import Objective
from dxgeom.universe.workloads.box_queries import BoxQueries

NOISE = plan_names("listed", "own body", "words", "cells", "intervals", "tables", "boxes")
MEASURED = plan_names("cells", "intervals")
MEASURED = [name for name in MEASURED if not name.endswith(" gaussian")]
TABLES = plan_names("tables")
BOXES = plan_names("boxes")
PRESENT = [name for name in (*TABLES, *BOXES) if "presence" in name]
OTHERS = plan_names("quantiles", "tasks")
WIDE = ("epsilon-dp", "laplace-equal-shares")
SPOILED, FEW = 500, 10
"""Coefficients that are changed, one at a time."""


def with_mechanism(name, mechanism):
    return forged(loaded_plan(name), mechanism=mechanism)


def refused(name, mechanism, match="shows more|does not hide|other coordinates|another form"):
    with pytest.raises(CertificateRefused, match=match):
        audit_plan(with_mechanism(name, mechanism))
    return True


@pytest.mark.parametrize("name", NOISE)
def test_every_plan_of_noise_holds(name):
    audit = audit_plan(loaded_plan(name))
    assert audit.holds
    assert audit.not_audited == ()
    assert "p/2^61" in audit.checked[0]


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_second_route_is_named_and_never_passed(name):
    audit = audit_plan(loaded_plan(name))
    parts = len(loaded_plan(name).plan.parts)
    told = {line.partition(",")[0] for line in (*audit.checked, *audit.not_audited) if line.startswith("part ")}
    assert audit.not_audited or audit.holds
    assert len(told) >= (parts if parts > 1 else 0)
    assert all("no second route" in line for line in audit.not_audited)


@pytest.mark.parametrize("name", [name for name in NOISE if name != "words, a list of records"])
def test_no_plan_holds_under_half_the_distances(name):
    """A hundredth, of noise that is so much wider than it has to be."""
    loaded = loaded_plan(name)
    written = json.loads((PLANS / f"{name}.json").read_text())["policy"]["written"]
    for rule in written["rules"]:
        rule["epsilon"] = str(Decimal(rule["epsilon"]) / (100 if name.endswith(WIDE) else 2))
    with pytest.raises(CertificateRefused):
        audit_plan(replace(loaded, file=replace(loaded.file, policy=dx.Policy.from_dict(written))))


def changed_coefficient(name, chance):
    mechanism = loaded_plan(name).plan.mechanism
    numerators = mechanism.mixing.numerators.copy()
    place = chance.randrange(numerators.shape[0]), chance.randrange(numerators.shape[1])
    numerators[place] += chance.choice([-1, 1]) * chance.choice([1, 1, 1, 2, 1 << chance.randrange(40)])
    return forged(mechanism, mixing=forged(mechanism.mixing, numerators=numerators))


@pytest.mark.parametrize("count", [FEW, pytest.param(SPOILED, marks=pytest.mark.long)])
def test_every_changed_coefficient_is_seen(count):
    chance = random.Random(count)
    seen = 0
    for _ in range(count):
        name = chance.choice(MEASURED)
        seen += refused(name, changed_coefficient(name, chance), "shows more")
    assert seen == count


@pytest.mark.parametrize("name", MEASURED)
def test_a_changed_divisor_is_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    divisors = list(mechanism.mixing.divisors)
    divisors[len(divisors) // 2] += 1
    assert refused(name, forged(mechanism, mixing=forged(mechanism.mixing, divisors=tuple(divisors))), "shows more")


@pytest.mark.parametrize("name", MEASURED)
def test_a_changed_weight_is_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    queries, chance = mechanism.sensitivity.queries, random.Random(name)
    rows = queries.tables.matrix().copy()
    rows[chance.randrange(len(rows)), chance.randrange(loaded_plan(name).policy.universe.record_types)] += 1
    tables = dx.LinearQueries.from_matrix(queries.names, rows).tables
    changed = forged(mechanism.sensitivity, queries=replace(queries, tables=tables))
    assert refused(name, forged(mechanism, sensitivity=changed), "shows more")


def narrower(law):
    """The same noise with one of its parts half as wide."""
    if isinstance(law, LaplaceNoise):
        return LaplaceNoise(law.scales * np.where(np.arange(len(law.scales)) == 0, 0.5, 1))
    if isinstance(law, LinearImageNoise):
        return LinearImageNoise(law.inner, law.map / 2)
    if isinstance(law, ProductNoise):
        return ProductNoise((narrower(law.parts[0]), *law.parts[1:]))
    name = next(name for name in ("spreads", "scale") if hasattr(law, name))
    return replace(law, **{name: getattr(law, name) / 2})


@pytest.mark.parametrize("name", MEASURED)
def test_one_part_of_the_noise_that_is_narrower_is_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    assert refused(name, forged(mechanism, law=narrower(mechanism.law)), "does not hide")


def of_others(summing):
    """As many numbers, of other values."""
    return Classes(summing.size - 1, 2) if isinstance(summing, Cuts) else replace(summing, width=summing.width + 1)


@pytest.mark.parametrize("name", [name for name in MEASURED if name.startswith("intervals")])
def test_numbers_that_are_said_to_be_others_than_those_with_noise_are_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    measured = forged(mechanism.mixing.measured)
    vars(measured)["blocks"] = tuple(
        replace(one, sums=tuple(map(of_others, one.sums))) for one in mechanism.mixing.measured.blocks
    )
    changed = forged(mechanism, mixing=forged(mechanism.mixing, measured=measured))
    assert refused(name, changed, "shows more|does not hide")


@pytest.mark.parametrize("name", [*TABLES, *BOXES])
def test_narrower_noise_in_a_part_of_tables_or_boxes_is_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    widest = int(np.argmin(np.where(mechanism.scales > 0, mechanism.scales, np.inf)))
    scales = mechanism.scales.copy()
    scales[widest] /= 2
    changed = forged(mechanism, scales=scales)
    if not isinstance(mechanism, BoxMechanism):
        vars(changed)["step"] = mechanism.step
    assert refused(name, changed, "does not hide")


@pytest.mark.parametrize("name", TABLES)
def test_tables_with_another_divisor_are_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    changed = forged(mechanism)
    inner = mechanism._inner_divisors
    vars(changed)["_inner_divisors"] = (inner[0] + 1, *inner[1:])
    assert refused(name, changed, "shows more")


@pytest.mark.parametrize("name", [name for name in TABLES if name.endswith("laplace")])
def test_averages_whose_parts_do_not_sum_to_one_are_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    changed = forged(mechanism)
    place, parts = next(iter(mechanism._averaged.items()))
    vars(changed)["_averaged"] = mechanism._averaged | {place: [(parts[0][0], parts[0][1] + 1), *parts[1:]]}
    assert refused(name, changed, "shows more")


@pytest.mark.parametrize("name", TABLES)
def test_noise_that_is_rounded_down_before_it_is_added_is_seen(name, monkeypatch):
    right = table_mechanism.put_together
    monkeypatch.setattr(table_mechanism, "put_together", lambda *given: np.asarray(right(*given) // 1009 * 1009))
    assert refused(name, loaded_plan(name).plan.mechanism, "shows more")


@pytest.mark.parametrize("name", BOXES)
def test_boxes_that_look_at_the_data_beside_are_seen(name, monkeypatch):
    mechanism, right = loaded_plan(name).plan.mechanism, BoxMechanism.answered

    def leaking(self, data, noise):
        answer = right(self, data, noise)
        return (answer[0] + float(data.cells[-1].reshape(-1)[0]), *answer[1:])

    monkeypatch.setattr(BoxMechanism, "answered", leaking)
    assert refused(name, mechanism, "shows more")


@pytest.mark.parametrize("name", [name for name in BOXES if "gaussian" in name])
def test_other_numbers_of_boxes_than_the_noise_is_in_are_seen(name, monkeypatch):
    right = Siblings.summed
    monkeypatch.setattr(Siblings, "summed", lambda self, counts: 2 * right(self, counts))
    assert refused(name, loaded_plan(name).plan.mechanism, "shows more")


@pytest.mark.parametrize("name", [name for name in NOISE if name.startswith("listed") and "presence" in name])
def test_the_number_of_records_is_seen_where_no_record_weighs_as_much_as_any(name):
    """Nothing changes between records, and a histogram has no count of nobody."""
    mechanism = loaded_plan(name).plan.mechanism
    queries = mechanism.sensitivity.queries
    ones = np.ones((len(queries.names), mechanism.metric.size), dtype=np.int64)
    weighing = replace(queries, tables=dx.LinearQueries.from_matrix(queries.names, ones).tables)
    without = DiagonalMixing(np.zeros(len(ones), dtype=bool))
    sensitivity = forged(mechanism.sensitivity, queries=weighing)
    assert refused(name, forged(mechanism, sensitivity=sensitivity, law=None, mixing=without), "shows more")


@pytest.mark.parametrize("name", [*plan_names("listed, pure, presence, laplace"), *PRESENT])
def test_a_number_of_records_that_is_private_and_stated_is_seen(name):
    """A table of any other number is refused, which tells it."""
    mechanism = loaded_plan(name).plan.mechanism
    if isinstance(mechanism, BoxMechanism):
        changed = forged(mechanism, boxes=replace(mechanism.boxes, records=100))
    elif isinstance(mechanism, AdditiveMechanism):
        stated = replace(mechanism.sensitivity.queries, records=100)
        changed = forged(mechanism, sensitivity=forged(mechanism.sensitivity, queries=stated))
    else:
        changed = forged(mechanism, queries=replace(mechanism.queries, records=100))
    assert refused(name, changed, "keeps private")


def test_normal_noise_in_the_first_of_two_less_the_second_is_not_taken_for_noise_in_siblings():
    """It has to hide twice the square. Found by forging: other blocks had so much more noise that sizes came out."""
    name, wider = "cells, concentrated, marginal-gaussian", 2**0.5 * (1 + 1e-6)
    mechanism = loaded_plan(name).plan.mechanism
    measured, blocks, signs = forged(mechanism.mixing.measured), [], []
    for block in mechanism.mixing.measured.blocks:
        two = [one.radix == 2 for one in block.sums]
        sums = (FirstLessSecond() if own else one for one, own in zip(block.sums, two, strict=True))
        blocks.append(replace(block, sums=tuple(sums)))
        signs += [(-1) ** sum(two)] * block.size
    vars(measured)["blocks"] = tuple(blocks)
    mixing = forged(mechanism.mixing, measured=measured, numerators=mechanism.mixing.numerators * np.array(signs))
    parts = tuple(
        DifferencedNormals(one.scale * (wider if len(one.sizes) > 1 else 1), one.sizes[one.sizes > 2])
        for one in mechanism.law.parts
    )
    changed = forged(mechanism, mixing=mixing, law=ProductNoise(parts))
    apart = stated_distances(json.loads((PLANS / f"{name}.json").read_text())["policy"]["written"])
    assert worst_of(*driven(changed), changed.law, apart) > 1.1
    assert refused(name, changed, "another form")


@pytest.mark.parametrize("name", [name for name in MEASURED if "kronecker" in name])
def test_noise_along_bases_of_other_numbers_than_siblings_is_seen(name):
    mechanism = loaded_plan(name).plan.mechanism
    moves = moves_of(mechanism.metric.metric, mechanism.universe.shape)
    noisy = of_answers(mechanism)
    require_along_bases(noisy, moves)
    others = [
        one._replace(block=replace(one.block, along=tuple(InClasses(along.numbers, 2) for along in one.block.along)))
        for one in noisy
    ]
    with pytest.raises(CertificateRefused, match="another form"):
        require_along_bases(others, moves)


@pytest.mark.parametrize("name", ["boxes, pure, once, plain", "tables, pure, once, plain, marginal-laplace"])
def test_people_who_are_counted_by_their_rows_are_seen(name):
    """Each of them would have more rows than the distances of the policy are about."""
    mechanism = loaded_plan(name).plan.mechanism
    people = replace(mechanism.metric.people, count="rows", at_most=2, order="at")
    assert refused(name, forged(mechanism, metric=forged(mechanism.metric, people=people)), "other records")


@pytest.mark.parametrize("name", [*TABLES, *BOXES])
def test_noise_that_is_drawn_less_often_than_there_are_numbers_is_seen(name, monkeypatch):
    mechanism = loaded_plan(name).plan.mechanism
    parts = [(number, law, draws + 1) for number, law, draws in mechanism.noisy_parts()]
    monkeypatch.setattr(type(mechanism), "noisy_parts", lambda self: iter(parts))
    assert refused(name, mechanism, "other coordinates")


def test_an_answer_that_takes_other_noise_than_it_follows_from_is_seen():
    seen = 0
    for name in NOISE:
        mechanism = loaded_plan(name).plan.mechanism
        mixing = getattr(mechanism, "mixing", None)
        if isinstance(mixing, np.ndarray):
            following = [row for row, shares in enumerate(mixing) if sum(map(bool, shares)) > 1]
            if following:
                changed = mixing.copy()
                changed[following[0]] = [Fraction(share) / 2 for share in mixing[following[0]]]
                seen += refused(name, forged(mechanism, mixing=changed), "shows more")
    assert seen > 0


def test_the_leak_that_there_once_was_is_seen(monkeypatch):
    """A query (1, 1/2, 0) was taken for the count (1, 0, 0), whose noise it then had."""
    policy = dx.parse_policy(
        "policy: letters\nuniverse: {attributes: {letter: {values: [A, B, C]}}}\nrules: [{change: letter, epsilon: 1}]"
    )
    rows = [[1, 0, 0], [1, Fraction(1, 2), 0]]
    queries, metric = dx.LinearQueries.from_matrix(["A", "leaking"], rows, policy.universe), policy.compile()
    monkeypatch.setattr(
        "dxgeom.planner.boxes.as_candidates.boxes_left",
        lambda sensitivity: (BoxQueries.of(policy.universe, [{"letter": (0, 1)}] * 2), np.arange(2)),
    )
    with pytest.raises(CertificateRefused, match="not made of the numbers"):
        BoxCandidates(sensitivity_of(metric, queries), None, worst=False).built("boxes-laplace")
    monkeypatch.setattr("dxgeom.mechanisms.linear.containment.require_measured", lambda sensitivity, mixing: None)
    compared = CandidateComparison(CandidateBuilder(sensitivity_of(metric, queries)), ("boxes-laplace",))
    plan = listed_plan(metric, queries, Objective("mse"), compared.mechanism("boxes-laplace"), compared, None)
    with pytest.raises(CertificateRefused, match="shows more"):
        audit_plan(plan)


def test_the_audit_shares_no_code_with_the_proof():
    """None of its files names what proved the noise; what is imported elsewhere on the way is data and laws."""
    banned = ("witness", "measured", "containment", "exact_loads", "loads", "scales", "recognised", "distance_bounds")
    files = [*(ROOT / "dxgeom" / "audit").glob("*.py")]
    assert len(files) > 10
    for path in files:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dxgeom.mechanisms"):
                assert node.module.rpartition(".")[2] not in banned, path
                assert not {one.name for one in node.names} & {"require_hiding", "require_measured", "require_enough"}


def test_the_command_says_what_holds_and_what_was_not_audited():
    def run(name, *more):
        return CliRunner().invoke(app, ["audit", "plan", str(PLANS / f"{name}.json"), *more])

    said = run("listed, pure, laplace")
    assert said.exit_code == 0
    assert "verdict  holds" in said.output
    as_json = run("cells, pure, marginal-laplace", "--format", "json")
    assert as_json.exit_code == 0
    assert (json.loads(as_json.output)["verdict"], json.loads(as_json.output)["not_audited"]) == ("holds", [])
    in_part = run("tasks, pure, several", "--format", "json")
    assert in_part.exit_code == 1
    document = json.loads(in_part.output)
    assert document["verdict"] == "holds in part"
    assert document["checked"] and len(document["not_audited"]) == 2
    nothing = run("quantiles, pure, transport")
    assert nothing.exit_code == 1
    assert "verdict  not audited" in nothing.output


def test_it_is_a_function_of_the_audits():
    assert dx.audit.audit_plan is audit_plan


OF_OTHER_THINGS = ["policy", "queries", "objective", "errors", "spend", "records", "fingerprint", "digest", "envelope"]
"""What a file says that is not its noise; an envelope is drawn from and rejected, until what is left is the noise."""


def numbers_of(thing, path=()):
    """Where a file's numbers are, of its noise and of what answers take of it."""
    if isinstance(thing, dict | list):
        for key, own in thing.items() if isinstance(thing, dict) else enumerate(thing):
            if key not in OF_OTHER_THINGS:
                yield from numbers_of(own, (*path, key))
    elif isinstance(thing, str) and re.fullmatch(r"-?(0x[0-9a-f.]+p[+-]\d+|\d+(/\d+)?)", thing):
        yield path


def changed_number(text, chance):
    if "0x" in text:
        return (float.fromhex(text) * (1 - chance.choice([-1, 1]) * 2.0 ** -chance.randrange(1, 21)) + 2.0**-30).hex()
    return str(Fraction(text) + Fraction(chance.choice([-1, 1]), chance.choice([1, 2, 1 << 20])))


@pytest.mark.parametrize("count", [FEW, pytest.param(SPOILED, marks=pytest.mark.long)])
def test_every_changed_number_of_a_file_is_refused_by_loading_or_found(count, tmp_path):
    """Also where the file's digest is made anew."""
    chance = random.Random(count)
    for _ in range(count):
        document = read(PLANS / f"{chance.choice(NOISE)}.json")
        place = chance.choice([*numbers_of(document)])
        other = changed(document, place, lambda text: changed_number(text, chance))
        with pytest.raises((PlanError, CertificateRefused)):
            audit_plan(load_plan(write(tmp_path / "changed.json", other)))
