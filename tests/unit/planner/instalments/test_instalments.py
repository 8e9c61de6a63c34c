"""A plan that is released in instalments: what is read, charged, sealed, answered and refused, step by step."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import math
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import dxgeom as dx
from dxgeom.errors import LedgerError, NotDue, TooLarge, UnsupportedCombination
from dxgeom.ledger import chronicle
from dxgeom.ledger.ledger import Ledger, ledger_of
from dxgeom.planner.instalments import telling
from dxgeom.planner.instalments.instalment import stored_instalment
from dxgeom.planner.instalments.keys import make_key, read_keys, with_new_key
from dxgeom.planner.instalments.schedule import schedule_of
from dxgeom.planner.instalments.sealing import PeriodSeal, opened
from dxgeom.planner.instalments.telling import answers_of, seal_again

cryptography = pytest.importorskip("cryptography")

POLICY = """
policy: visits
privacy: {privacy}
universe:
  attributes:
    day: {{bins: [{bins}]}}
    ward: [a, b]
rules:
  - {{presence: true, epsilon: 1}}
budget: 3
"""
TOTALS = "queries:\n - prefixes: day\n - {name: of a, count: \"ward == 'a'\"}\n"
DAILY = "queries:\n - marginal: day\n"
LATE_FIRST = """
queries:
  - {name: two days, count: day < 2}
  - {name: second, count: day >= 1 and day < 2}
  - {name: first, count: day < 1}
"""
WARDS = "queries:\n - marginal: [day, ward]\n - marginal: day\n"
RANGES = "queries:\n - ranges: day\n"
PERIODS = 4


def made(
    queries: str = TOTALS, privacy: str = "concentrated", mechanism: str = "gaussian", periods: int = PERIODS
) -> Any:
    policy = dx.parse_policy(POLICY.format(privacy=privacy, bins=", ".join(map(str, range(periods + 1)))))
    return dx.plan(policy.compile(), dx.parse_queries(queries, policy), mechanism=mechanism)


@pytest.fixture(scope="module")
def plan() -> Any:
    return made()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return make_key(tmp_path / "keys" / "key").file


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    (tmp_path / "books").mkdir()
    return str(tmp_path / "books" / "privacy.db")


def counts(seed: int, periods: int = PERIODS) -> np.ndarray:
    found = np.random.default_rng(seed).integers(0, 50, 2 * periods + 1)
    found[-1] = 0  # nobody
    return found


def names_of(plan: Any) -> tuple[str, ...]:
    return schedule_of(plan, "day").periods


def all_told(plan: Any, data: Any, ledger: str, key: Path) -> list[Any]:
    return [plan.release_period(data, period=one, ledger=ledger, along="day", key=key) for one in names_of(plan)]


@pytest.mark.long
def test_every_period_is_answered_from_its_own_rows_and_the_earlier_ones(plan: Any, ledger: str, key: Path) -> None:
    data, entries = counts(1), []
    opening = plan.open(ledger, along="day", spend=1)
    assert (opening.entry, opening.spent, len(opening.periods), opening.repeated) == (1, 1, PERIODS, False)
    assert plan.open(ledger, along="day", spend=1).repeated
    for place, period in enumerate(opening.periods):
        table = counts(100 + place)  # all other periods have changed since
        table[2 * place : 2 * place + 2] = data[2 * place : 2 * place + 2]
        released = plan.release_period(table, period=period, ledger=ledger, along="day", key=key)
        total = float(data[: 2 * place + 2].sum())
        assert abs(released.values[0] - total) < 12 * released.rmse[0]
        assert released.entry == 1
        entries.append(released)
    assert [len(one.names) for one in entries] == [1] * (PERIODS - 1) + [2]
    assert abs(entries[-1].values[1] - float(data[:-1:2].sum())) < 12 * entries[-1].rmse[1]
    history = dx.ledger.verify_ledger(ledger)
    assert [one.spend for one in history.entries] == [1]
    assert json.loads(entries[-1].to_json())["periods"] == PERIODS


@pytest.mark.long
@pytest.mark.parametrize(
    ("queries", "privacy", "mechanism"),
    [
        (TOTALS, "concentrated", "gaussian"),
        (DAILY, "pure", "laplace"),
        ("queries:\n - prefixes: day\n", "pure", "laplace"),
    ],
)
def test_what_is_told_is_the_one_draw_of_all_rounded(
    queries: str, privacy: str, mechanism: str, ledger: str, key: Path
) -> None:
    plan, data = made(queries, privacy, mechanism), counts(2)
    schedule = schedule_of(plan, "day")
    plan.open(ledger, along="day", spend=Fraction(3, 2))
    released = all_told(plan, data, ledger, key)
    secrets = [opened(window_of(plan, ledger), one, read_keys(key)).secret for one in schedule.periods]
    noise = one_draw(schedule, secrets, Fraction(3, 2))
    expected = schedule.form.mechanism.answered(data, [noise])[0]
    assert [value for one in released for value in one.exact_values] == [
        expected[answer] for place in range(PERIODS) for answer in schedule.answers_in(place)
    ]


def window_of(plan: Any, ledger: str) -> Any:
    schedule = schedule_of(plan, "day")
    with ledger_of(ledger, schedule.form.mechanism.account) as book:
        return telling._window(book, plan, schedule)


def one_draw(schedule: Any, secrets: list[bytes], spend: Fraction) -> list[int]:
    """All noise at once, by other code: uniforms of 512 bits, and a product in 400 bits."""
    law = schedule.form.law
    with mpmath.workprec(400):
        drawn = [_number(law.made_of, number, secrets[place]) for number, place in enumerate(schedule.numbers.tolist())]
        matrix = np.diag(law.scales) if law.made_of == "laplace" else law.body.axes
        values = [mpmath.fsum(mpmath.mpf(a) * z for a, z in zip(row, drawn, strict=True)) for row in matrix.tolist()]
        return [int(mpmath.floor(value * spend.denominator / spend.numerator + mpmath.mpf(1) / 2)) for value in values]


def _number(made_of: str, number: int, secret: bytes) -> Any:
    def uniform(which: int) -> int:
        parts = [
            hmac.new(
                secret,
                b"dxgeom uniform 1" + number.to_bytes(8, "big") + bytes([which]) + block.to_bytes(8, "big"),
                hashlib.sha256,
            ).digest()
            for block in (0, 1)
        ]
        return int.from_bytes(b"".join(parts), "big")

    size = -mpmath.log(mpmath.mpf(uniform(0)) / 2**512)
    if made_of == "laplace":
        return size if uniform(1) >> 511 else -size
    return mpmath.sqrt(2 * size) * mpmath.cos(2 * mpmath.pi * mpmath.mpf(uniform(1)) / 2**512)


def test_a_period_that_was_told_is_shown_again_and_nothing_is_read(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    first = names_of(plan)[0]
    released = plan.release_period(counts(3), period=first, ledger=ledger, along="day", key=key)
    again = plan.release_period("no such table", period=first, ledger=ledger, along="day", key="no such key")
    assert again.repeated
    assert again.exact_values == released.exact_values
    assert again.seal == released.seal


def test_what_is_not_due_is_refused_before_anything_is_read(plan: Any, ledger: str, key: Path) -> None:
    first, second, *_ = names_of(plan)
    how = {"ledger": ledger, "key": key}
    for period, along, words in (
        (first, "day", "was not opened"),
        (first, None, "say along which"),
    ):
        with pytest.raises(NotDue, match=words):
            plan.release_period("no such table", period=period, along=along, **how)
    assert not Path(ledger).exists()
    plan.open(ledger, along="day", spend=1)
    with pytest.raises(NotDue, match="there is no period"):
        plan.release_period("no such table", period="another", along="day", **how)
    with pytest.raises(NotDue, match="out of turn"):
        plan.release_period("no such table", period=second, along="day", **how)
    with pytest.raises(LedgerError, match="not opened twice"):
        plan.open(ledger, along="day", spend=2)
    closing = plan.close(ledger, along="day")
    assert (closing.released, closing.most_told) == (0, 0)
    with pytest.raises(NotDue, match="was closed"):
        plan.release_period("no such table", period=first, along="day", **how)
    with pytest.raises(NotDue, match="was closed"):
        plan.open(ledger, along="day", spend=1)


def test_days_that_are_not_over_and_clocks_that_were_set_back(
    ledger: str, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = dx.parse_policy(
        POLICY.format(privacy="concentrated", bins="0, 1").replace(
            "{bins: [0, 1]}", "{dates: [2026-01-01, 2026-01-04], step: 1}"
        )
    )
    plan = dx.plan(policy.compile(), dx.parse_queries(DAILY, policy), mechanism="gaussian")
    data, at = counts(4), {"now": datetime(2026, 1, 1, 23, 59, tzinfo=UTC)}
    monkeypatch.setattr(Ledger, "now", lambda self: at["now"])
    plan.open(ledger, along="day", spend=1)
    window = window_of(plan, ledger)
    window.last_time = "2026-01-01T12:00:00+00:00"
    with pytest.raises(NotDue, match="not over before 2026-01-02"):
        telling._require_due(schedule_of(plan, "day"), window, 0, at["now"])
    telling._require_due(schedule_of(plan, "day"), window, 0, datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(NotDue, match="not over before 2026-01-05"):
        telling._require_due(schedule_of(plan, "day"), window, 3, datetime(2026, 1, 4, 12, tzinfo=UTC))
    window.last_time = "2026-01-03T12:00:00+00:00"
    with pytest.raises(NotDue, match="set back"):
        telling._require_due(schedule_of(plan, "day"), window, 0, datetime(2026, 1, 3, tzinfo=UTC))
    with pytest.raises(NotDue, match="set back"):
        plan.release_period(data, period="2026-01-01", along="day", ledger=ledger, key=key)


def test_without_the_right_key_nothing_goes_on(plan: Any, ledger: str, key: Path, tmp_path: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    first, second, *_ = names_of(plan)
    how = {"ledger": ledger, "along": "day"}
    with pytest.raises(LedgerError, match="there is no key"):
        plan.release_period("no such table", period=first, key=tmp_path / "none", **how)
    beside = make_key(tmp_path / "books" / "key").file
    with pytest.raises(LedgerError, match="ledger's folder"):
        plan.release_period("no such table", period=first, key=beside, **how)
    plan.release_period(counts(5), period=first, key=key, **how)
    other = make_key(tmp_path / "keys" / "other").file
    with pytest.raises(LedgerError, match="closed with another key"):
        plan.release_period("no such table", period=second, key=other, **how)
    other.write_text("no key")
    with pytest.raises(LedgerError, match="is no key"):
        plan.release_period("no such table", period=second, key=other, **how)
    with pytest.raises(LedgerError, match="seals may need it"):
        make_key(key)
    key.chmod(0o640)
    with pytest.raises(LedgerError, match="others than its owner"):
        plan.release_period("no such table", period=second, key=key, **how)


def test_files_are_their_owners_alone(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    all_told(plan, counts(6), ledger, key)
    for file in (key, key.with_name("key.seen"), Path(ledger)):
        assert file.stat().st_mode & 0o777 == 0o600
    assert key.read_text().split()[-1] not in Path(ledger).read_bytes().decode("latin-1")


def test_a_seal_opens_nowhere_else(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    all_told(plan, counts(7), ledger, key)
    window, (first, second, *_) = window_of(plan, ledger), names_of(plan)
    opened(window, first, read_keys(key))
    window.seals[second], window.seals[first] = window.seals[first], window.seals[second]
    with pytest.raises(LedgerError, match="altered, or is of another"):
        opened(window, first, read_keys(key))


def test_seals_of_much_and_of_little_are_of_one_length(plan: Any, tmp_path: Path, key: Path) -> None:
    lengths = set()
    for name, data in (("few", np.zeros(2 * PERIODS + 1, dtype=np.int64)), ("many", counts(8) * 10**9)):
        (tmp_path / name).mkdir()
        ledger = str(tmp_path / name / "privacy.db")
        plan.open(ledger, along="day", spend=1)
        all_told(plan, data, ledger, key)
        lengths.add(tuple(len(one.text) for one in window_of(plan, ledger).seals.values()))
    assert len(lengths) == 1


def test_an_older_copy_is_noticed_beside_its_key(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    first, second, *_ = names_of(plan)
    how = {"ledger": ledger, "along": "day", "key": key}
    plan.release_period(counts(9), period=first, **how)
    copy = Path(ledger).with_name("copy.db")
    shutil.copy(ledger, copy)
    plan.release_period(counts(9), period=second, **how)
    with pytest.raises(LedgerError, match="is behind"):
        plan.release_period("no such table", period=second, **{**how, "ledger": str(copy)})


@pytest.mark.long
def test_a_fork_has_fresh_noise_and_never_a_constant(plan: Any, ledger: str, key: Path) -> None:
    """Two copies that both go on: what is released in the next period differs by √2 times its fresh noise."""
    plan.open(ledger, along="day", spend=1)
    first, second, *_ = names_of(plan)
    how = {"along": "day", "key": key}
    plan.release_period(counts(10), period=first, ledger=ledger, **how)
    values = []
    for fork in range(40):
        copy = str(Path(ledger).with_name(f"fork{fork}.db"))
        shutil.copy(ledger, copy)
        key.with_name("key.seen").unlink()
        values.append(plan.release_period(counts(10), period=second, ledger=copy, **how).values[0])
    schedule = schedule_of(plan, "day")
    fresh = schedule.form.law.body.axes[1, 1] * float(schedule.form.mechanism.sensitivity.queries.steps[1])
    differences = np.array(values[::2]) - np.array(values[1::2])
    # The sum of squares over its mean is χ² with 20 degrees of freedom: outside of (.2, 2.9) with 2e-5.
    assert 0.2 < np.mean(differences**2) / (2 * fresh**2) < 2.9
    assert len({*differences}) > 10


def test_keys_are_rotated_and_answers_stay(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    first, second, *others = names_of(plan)
    how = {"along": "day", "key": key, "ledger": ledger}
    plan.release_period(counts(11), period=first, **how)
    secret = opened(window_of(plan, ledger), first, read_keys(key)).secret
    keys = with_new_key(read_keys(key))
    assert seal_again(plan, ledger, "day", keys) == 1
    assert seal_again(plan, ledger, "day", keys) == 0
    assert opened(window_of(plan, ledger), first, keys).secret == secret
    assert window_of(plan, ledger).seals[first].key == keys.name
    plan.release_period(counts(11), period=second, **how)
    dx.ledger.verify_ledger(ledger)
    assert others


def test_closing_early_says_what_was_told(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    plan.release_period(counts(12), period=names_of(plan)[0], along="day", key=key, ledger=ledger)
    closing = plan.close(ledger, along="day")
    schedule = schedule_of(plan, "day")
    expected = float(schedule.form.mechanism.sensitivity.differences[:, 0].max()) / schedule.form.law.body.axes[0, 0]
    assert closing.released == 1
    assert 0 < expected <= closing.most_told * 1.0000001 < 1.0001
    assert plan.close(ledger, along="day").released == 1


def test_an_entry_that_paid_for_a_release_opens_no_plan(plan: Any, ledger: str, key: Path) -> None:
    plan.open(ledger, along="day", spend=1)
    with closing(sqlite3.connect(ledger)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("DELETE FROM instalments")
    window = window_of(plan, ledger)
    assert window.entry.number == 1
    schedule = schedule_of(plan, "day")
    plan.release(counts(13), ledger=ledger, spend=Fraction(1, 2))
    with ledger_of(ledger, schedule.form.mechanism.account) as book, pytest.raises(LedgerError, match="opened no plan"):
        book.take_step(telling.InstalmentStep(2, "seal", 0, "1", "key", "", "text"))


@pytest.mark.parametrize(
    ("text", "queries", "mechanism", "words"),
    [
        (POLICY.replace("presence: true", "change: [day, ward]"), DAILY, "gaussian", "public"),
        (POLICY, DAILY, "gaussian", "no attribute 'week'"),
        (POLICY, LATE_FIRST, "gaussian", "order"),
        (POLICY, DAILY, "gaussian-with-jumps", "one after the other"),
        pytest.param(POLICY, WARDS, "product-gaussian", "share noise", marks=pytest.mark.long),
        pytest.param(POLICY, RANGES, "boxes-gaussian", "drawn for all periods at once", marks=pytest.mark.long),
    ],
)
def test_plans_that_are_not_told_so_are_refused_by_name(
    text: str, queries: str, mechanism: str, words: str, ledger: str
) -> None:
    policy = dx.parse_policy(text.format(privacy="concentrated", bins="0, 1, 2, 3"))
    plan = dx.plan(policy.compile(), dx.parse_queries(queries, policy), mechanism=mechanism)
    with pytest.raises(UnsupportedCombination, match=words):
        plan.open(ledger, along="week" if "week" in words else "day", spend=1)
    assert not Path(ledger).exists()


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["strategy", "boxes-laplace", "product-laplace"])
def test_pure_noise_that_periods_share_is_refused_with_what_can_be_released(mechanism: str, ledger: str) -> None:
    policy = dx.parse_policy(POLICY.format(privacy="pure", bins="0, 1, 2, 3"))
    plan = dx.plan(policy.compile(), dx.parse_queries(RANGES, policy), mechanism=mechanism)
    with pytest.raises(UnsupportedCombination, match="ask for a count of each period, plan with --mechanism laplace"):
        plan.open(ledger, along="day", spend=1)
    asked = dx.parse_queries("queries:\n - {count: true, by: day}\n", policy)
    dx.plan(policy.compile(), asked, mechanism="laplace").open(ledger, along="day", spend=1)
    assert Path(ledger).exists()


PEOPLE = """
policy: visits
privacy: concentrated
universe: {{attributes: {{ward: [a, b]}}}}
time: {{column: day, from: 2026-01-01, to: 2026-03-31, every: month}}
people: {people}
rules:
  - {{presence: true, epsilon: 1}}
  - {{change: ward, epsilon: 1}}
"""


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["gaussian", "toeplitz-gaussian"])
def test_people_who_count_once_in_each_period_are_released_so(mechanism: str, ledger: str, key: Path) -> None:
    """Sums are in shares of a person, and so is the noise: all of it is one draw of the plan's."""
    policy = dx.parse_policy(PEOPLE.format(people="{column: who, count: once, in: period}"))
    asked = dx.queries_from_dict({"queries": [{"total": "so far"}]}, policy)
    plan = dx.plan(policy.compile(), asked, mechanism=mechanism)
    plan.open(ledger, spend=1)
    whose = ["p", "p", "q", "p", "p", "r", "r", "r"]
    wards = ["a", "b", "a", "a", "a", "a", "b", "b"]
    days = [
        "2026-01-02",
        "2026-01-31",
        "2026-01-05",
        "2026-02-01",
        "2026-02-02",
        "2026-03-01",
        "2026-03-02",
        "2026-03-03",
    ]
    rows = pa.table({"who": whose, "ward": wards, "day": days})
    periods = schedule_of(plan, "day").periods
    for place, period in enumerate(periods):
        later = pa.table({"who": ["q", *whose], "ward": ["b", *wards], "day": ["2026-01-06", *days]})
        plan.release_period(rows if place < 2 else later, period=period, ledger=ledger, key=key)
    schedule, window = schedule_of(plan, "day"), window_of(plan, ledger)
    sealed = [opened(window, one, read_keys(key)) for one in periods]
    zero = [PeriodSeal(one.secret, tuple(0 for _ in one.sums)) for one in sealed]
    place = len(periods) - 2  # the last period is what lies after the window
    told, noise = (answers_of(schedule, place, one[: place + 1], Fraction(1))[-1] for one in (sealed, zero))
    assert float(told - noise) == pytest.approx(2 + 1 + 1, abs=1e-9)
    assert abs(float(noise)) < 12 * float(plan.rmse(1)[-1])


@pytest.mark.long
@pytest.mark.parametrize("people", ["{column: who, count: single}"])
def test_people_of_a_whole_life_are_refused_by_name(people: str, ledger: str) -> None:
    policy = dx.parse_policy(PEOPLE.format(people=people))
    plan = dx.plan(
        policy.compile(), dx.queries_from_dict({"queries": [{"total": "so far"}]}, policy), mechanism="gaussian"
    )
    with pytest.raises(UnsupportedCombination, match="count in each period of the policy's time"):
        plan.open(ledger, spend=1)


def test_noise_is_drawn_in_the_order_of_periods(plan: Any) -> None:
    schedule = schedule_of(plan, "day")
    axes, before = schedule.form.law.body.axes, plan.mechanism.law.body.axes
    order = np.argsort(schedule.coordinates, kind="stable")
    assert not np.any(np.triu(axes[np.ix_(order, order)], 1))
    assert np.allclose(axes @ axes.T, before @ before.T * (1 + 2.0**-29), rtol=1e-9, atol=1e-9)
    # The last numbers are fresh in the last period, whatever was released before.
    assert schedule.numbers.tolist() == schedule.coordinates.tolist()


def test_bits_that_are_recorded_give_what_balls_give(plan: Any) -> None:
    """A uniform next to a boundary reads more bits, and is rounded as the number that it is."""
    from dxgeom.noise.keyed import rounded_coordinates
    from dxgeom.noise.round_laws import LaplaceNoise

    law, asked = LaplaceNoise(np.array([1.0])), []
    with mpmath.workprec(600):
        whole = int(mpmath.floor(mpmath.mpf(2) ** 512 * mpmath.exp(mpmath.mpf(-1) / 2)))

    def bits(number: int, which: int, count: int) -> int:
        asked.append(count)
        return (1 if count == 1 else 0) if which else (whole + 1) >> (512 - count)

    assert rounded_coordinates(law, Fraction(1), [0], [0], bits) == [0]
    assert max(asked) >= 512
    assert math.isclose(whole / 2**512, math.exp(-0.5))


def test_answers_need_no_table(plan: Any, ledger: str, key: Path) -> None:
    data = counts(14)
    plan.open(ledger, along="day", spend=1)
    released = all_told(plan, data, ledger, key)
    schedule, window = schedule_of(plan, "day"), window_of(plan, ledger)
    sealed = [opened(window, one, read_keys(key)) for one in schedule.periods]
    for place in range(PERIODS):
        assert answers_of(schedule, place, sealed[: place + 1], Fraction(1)) == released[place].exact_values


@pytest.mark.long
def test_periods_of_a_policys_time_are_released_without_naming_it(ledger: str, key: Path) -> None:
    time = {"column": "day", "from": "2026-01-01", "to": "2026-03-31", "every": "month"}
    rules = [{"presence": True, "epsilon": 1}, {"change": "day", "epsilon": 1, "per": "1 step"}]
    stated = {"policy": "visits", "privacy": "concentrated", "universe": {"attributes": {"ward": ["a", "b"]}}}
    policy = dx.Policy.from_dict({**stated, "time": time, "rules": [*rules, {"change": "ward", "epsilon": 1}]})
    asked = dx.queries_from_dict({"queries": [{"total": "since ever"}]}, policy)
    plan = dx.plan(policy.compile(), asked, mechanism="gaussian")
    opening = plan.open(ledger, spend=1)
    assert (opening.along, len(opening.periods)) == ("day", 5)
    days = ["2025-12-24", "2026-01-02", "2026-01-31", "2026-02-01", "2026-07-01"]
    rows = pa.table({"ward": ["a", "b", "a", "b", "a"], "day": days})
    with pytest.raises(NotDue, match="comes before it"):
        plan.release_period(rows, period="2026-01-01", ledger=ledger, key=key)
    released = [
        plan.release_period(rows, period=one, ledger=ledger, key=key) for one in ("before", "2026-01-01", "2026-02-01")
    ]
    assert [len(one.names) for one in released] == [0, 1, 1]
    truths = [3, 4]
    assert [abs(one.values[0] - truth) < 12 * one.rmse[0] for one, truth in zip(released[1:], truths, strict=True)]


def test_a_ledger_that_another_process_goes_on_with_is_not_behind(
    plan: Any, ledger: str, key: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one seals, answers and remembers, after this one looked at the ledger and before it has the key."""
    plan.open(ledger, along="day", spend=1)
    how = {"along": "day", "key": key, "ledger": ledger, "period": names_of(plan)[0]}
    others: list[Any] = []

    def read(*where: Any) -> Any:
        monkeypatch.setattr(telling, "read_keys", read_keys)
        monkeypatch.setattr(chronicle, "_VERIFIED", {})  # as another process has it
        others.append(plan.release_period(counts(20), **how))
        return read_keys(*where)

    monkeypatch.setattr(telling, "read_keys", read)
    assert plan.release_period(counts(21), **how).exact_values == others[0].exact_values


@pytest.mark.parametrize("rest", [b"", b"\xff"])
def test_what_is_remembered_may_end_within_a_line(plan: Any, ledger: str, key: Path, rest: bytes) -> None:
    plan.open(ledger, along="day", spend=1)
    first, second, third, _ = names_of(plan)
    how = {"along": "day", "key": key}
    plan.release_period(counts(22), period=first, ledger=ledger, **how)
    seen = key.with_name("key.seen")
    seen.write_bytes(seen.read_bytes()[:-9] + rest)
    copy = str(Path(ledger).with_name("copy.db"))
    shutil.copy(ledger, copy)
    plan.release_period(counts(22), period=second, ledger=ledger, **how)
    with pytest.raises(LedgerError, match="is behind"):
        plan.release_period("no such table", period=second, ledger=copy, **how)
    plan.release_period(counts(22), period=third, ledger=ledger, **how)


def test_an_older_copy_of_a_ledger_is_not_closed_anew(plan: Any, ledger: str, key: Path) -> None:
    """Its new seals would be remembered, and then the newer ledger would be behind."""
    plan.open(ledger, along="day", spend=1)
    first, second, third, _ = names_of(plan)
    how = {"along": "day", "key": key}
    plan.release_period(counts(23), period=first, ledger=ledger, **how)
    copy = str(Path(ledger).with_name("copy.db"))
    shutil.copy(ledger, copy)
    plan.release_period(counts(23), period=second, ledger=ledger, **how)
    keys = with_new_key(read_keys(key))
    with pytest.raises(LedgerError, match="is behind"):
        seal_again(plan, copy, "day", keys)
    plan.release_period(counts(23), period=third, ledger=ledger, **how)


def test_a_key_beside_a_ledger_that_is_open_is_refused_too(plan: Any, ledger: str) -> None:
    plan.open(ledger, along="day", spend=1)
    beside = make_key(Path(ledger).with_name("key")).file
    with ledger_of(ledger, plan.mechanism.account) as book, pytest.raises(LedgerError, match="the ledger's folder"):
        plan.release_period(counts(24), period=names_of(plan)[0], along="day", key=beside, ledger=book)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"answers": [{"name": "x", "exact": "1/0"}]}', '{"answers": [3]}'])
def test_an_answer_that_is_none_is_refused(plan: Any, ledger: str, key: Path, text: str) -> None:
    plan.open(ledger, along="day", spend=1)
    first, how = names_of(plan)[0], {"along": "day", "key": key, "ledger": ledger}
    found = plan.release_period(counts(25), period=first, **how)
    assert found.as_dict()["plan_fingerprint"] == plan.fingerprint
    window = window_of(plan, ledger)
    forged = dataclasses.replace(window.answers[first], text=text)
    with pytest.raises(LedgerError, match="is no answer"):
        stored_instalment(schedule_of(plan, "day"), window, forged, repeated=True)


def test_the_last_day_that_there_is_ends_too(plan: Any) -> None:
    schedule = schedule_of(plan, "day")
    ends = dataclasses.replace(schedule, periods=("9999-12-30", "9999-12-31")).ends(1)
    assert ends == datetime(9999, 12, 31, tzinfo=UTC)


@pytest.mark.long
def test_totals_that_would_not_fit_are_refused_before_they_are_sealed(ledger: str, key: Path) -> None:
    plan = made("queries:\n - prefixes: day\n", mechanism="toeplitz-gaussian")
    plan.open(ledger, along="day", spend=1)
    many, few = (pa.table({"day": [0, 0], "ward": ["a", "b"], "n": [size, 3]}) for size in (2**61, 4))
    said = {"period": names_of(plan)[0], "ledger": ledger, "along": "day", "key": key, "count_column": "n"}
    with pytest.raises(TooLarge, match="in one of 4 periods"):
        plan.release_period(many, **said)
    released = plan.release_period(few, **said)
    assert not released.repeated and abs(released.values[0] - 7) < 12 * released.rmse[0]


@pytest.mark.long
@pytest.mark.parametrize("privacy", ["pure", "concentrated"])
@pytest.mark.parametrize("task", [{"keys": ["day", "ward"], "at_least": 3}, {"distinct": "ward"}])
def test_plans_of_other_tasks_are_refused_in_words(privacy, task):
    policy = dx.parse_policy(POLICY.format(privacy=privacy, bins="0, 1, 2"))
    plan = dx.plan(policy.compile(), dx.queries_from_dict({"tasks": [task]}, policy))
    with pytest.raises(UnsupportedCombination, match="release it as a whole"):
        schedule_of(plan, "day")
