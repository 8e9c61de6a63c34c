"""Mistakes of the same newcomers with time, public counts, keys, ends of sums and tables that follow the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import dxgeom as dx
from golden.typical_mistakes.mistake import POLICY, Mistake, command, file, release

Row: TypeAlias = tuple[Callable[[], Any], str, str, str, str]
"""What is done, and the parts of its answer: the rule, what was found, where, and what to do."""
TIMED: Final = """\
policy: visits
privacy: concentrated
universe:
  attributes:
    ward: [north, south]
time: {column: loaded, from: 2027-01-01, to: 2027-01-31, every: day}
rules:
  - {presence: true, epsilon: 1}
  - {change: ward, epsilon: 1}
budget: 1
"""
KNOWN: Final = """\
policy: regions
universe:
  attributes:
    region: [north, south, west]
    pay: {range: [0, 1000], step: 100}
rules:
  - change: [region, pay]
    epsilon: 1
known:
  - totals: region
budget: 1
"""
OPEN: Final = """\
policy: searches
universe:
  attributes:
    words: {open: text}
    language: [de, fr]
people: {column: visitor, count: rows, at_most: 3, order: search}
rules:
  - presence: true
    epsilon: 1
unconnected: allow
budget: 4
delta: 0.000001
"""
TOTALS, NUMBERS = "  - totals: region", "  - {totals: region, numbers: census.csv}"
EVERY_DAY, ENDS, LAST = "every: day", "from: 2027-01-01, to: 2027-01-31", "budget: 1"
RELEASE: Final = ("release", "policy.yaml", "data.csv", "queries.yaml", "--ledger", "clinic.db", "--spend", "1")


def edited(of: str, old: str, new: str, census: str = "") -> Callable[[], Any]:
    """A policy after an edit, beside a file of public numbers."""

    def load() -> Any:
        file("census.csv", census)
        assert old in of
        return dx.load_policy(file("policy.yaml", of.replace(old, new)))

    return load


def asked(of: str, text: str, planned: bool = False) -> Callable[[], Any]:
    """A file of queries or tasks about a policy, and its plan."""

    def load() -> Any:
        about = dx.parse_policy(of)
        read = dx.load_queries(file("queries.yaml", text), about)
        return dx.plan(about.compile(), read) if planned else read

    return load


def query(of: str, one: str) -> Callable[[], Any]:
    return asked(of, f"queries:\n  - {one}\n")


def task(of: str, one: str, planned: bool = False) -> Callable[[], Any]:
    return asked(of, f"tasks:\n  - {one}\n", planned)


def said(*words: str) -> Callable[[], Any]:
    return lambda: command(*words)


def of_a_plan(*words: str, of: str = TIMED, text: str = "queries:\n  - every: day\n") -> Callable[[], Any]:
    """A command beside a plan."""

    def run() -> str:
        file("policy.yaml", of)
        file("queries.yaml", text)
        command("plan", "policy.yaml", "queries.yaml", "--spend", "0.5", "--output", "plan.json")
        return command(*words)

    return run


IN_THEIR_TIMES: Final[dict[str, Row]] = {
    "hours for periods": (
        edited(TIMED, EVERY_DAY, "every: hour"),
        "'quarter' or 'year' is expected here",
        "'hour'",
        ":6:65",
        "time has: column, from, to, every, zone,",
    ),
    "seven days for a week": (
        edited(TIMED, EVERY_DAY, "every: 7 days"),
        "'quarter' or 'year' is expected here",
        "'7 days'",
        ":6:65",
        "time has: column, from, to, every, zone,",
    ),
    "a start and an end of time": (
        edited(TIMED, ENDS, "start: 2027-01-01, end: 2027-01-31"),
        "the key 'start' is not known here",
        "'start'",
        ":6:24",
        "write 'from: 2027-01-01'",
    ),
    "a window without an end": (
        edited(TIMED, ENDS, "from: 2027-01-01"),
        "the key 'to' is missing",
        "'to'",
        ":6:1",
        "time has: column, from, to, every, zone,",
    ),
    "a window that runs backwards": (
        edited(TIMED, ENDS, "from: 2027-01-31, to: 2027-01-01"),
        "attribute 'loaded': time runs forwards",
        "2027-01-31 to 2027-01-01",
        ":6:30",
        "write from: 2027-01-01, to: 2027-01-31",
    ),
    "a day with dots": (
        edited(TIMED, "from: 2027-01-01", "from: 01.01.2027"),
        "'from': a date is expected here",
        "'01.01.2027'",
        ":6:30",
        "write a day as 2024-02-29",
    ),
    "the 30th of February": (
        edited(TIMED, "2027-01-31", "2027-02-30"),
        "'to': a date is expected here",
        "'2027-02-30'",
        ":6:46",
        "write a day as 2024-02-29",
    ),
    "half a month": (
        edited(TIMED, "to: 2027-01-31, every: day", "to: 2027-03-15, every: month"),
        "'loaded': a window has whole periods",
        "2027-01-01 to 2027-03-15",
        ":6:7",
        "write from: 2027-01-01, to: 2027-03-31",
    ),
    "time beside its attribute": (
        edited(TIMED, "time:", "    loaded: {dates: [2027-01-01, 2027-01-31], step: 1}\ntime:"),
        "and time makes one of its column",
        "'loaded'",
        ":7:16",
        "leave the attribute out, or give it another",
    ),
    "time among the attributes": (
        edited(TIMED, "time:", "    time:"),
        "of its keys says what its values are",
        "'time'",
        ":6:12",
        "'time' stands at the top: begin it at the",
    ),
    "a column for a time": (
        edited(TIMED, "{column: loaded, from: 2027-01-01, to: 2027-01-31, every: day}", "loaded"),
        "found 'loaded', expected a mapping",
        "'loaded'",
        ":6:7",
        "time has: column, from, to, every, zone,",
    ),
    "time without presence": (
        edited(TIMED, "  - {presence: true, epsilon: 1}\n", ""),
        "is public, and so is who was there",
        "time",
        ":6:1",
        "add '- presence: true' with its epsilon to",
    ),
    "people of a week": (
        edited(TIMED, "rules:", "people: {column: user, count: once, in: week}\nrules:"),
        "'in': 'period' is expected here",
        "'week'",
        ":7:41",
        "people have: column, and count: once (with",
    ),
    "people of a life": (
        edited(TIMED, "rules:", "people: {column: user, count: once}\nrules:"),
        "period that depends on rows to come",
        "once",
        ":7:31",
        "write 'in: period' beside it",
    ),
    "any without a unit": (
        edited(TIMED, LAST, "  - {any: 30, epsilon: 12}\nbudget: 1"),
        "'loaded' holds periods of a day",
        "'30' without a unit",
        ":10:6",
        "write 'any: 7 steps', or 'any: life'; a",
    ),
    "any in months": (
        edited(TIMED, LAST, "  - {any: 1 month, epsilon: 12}\nbudget: 1"),
        "'30 days', or 'life', is expected here",
        "'1 month'",
        ":10:11",
        "write 'any: 30 days', 'any: 4 steps' or",
    ),
    "any beyond the window": (
        edited(TIMED, LAST, "  - {any: 60 days, epsilon: 12}\nbudget: 1"),
        "is of 1 to 31 whole periods of a day",
        "60 days",
        ":10:6",
        "write 'any: 7 steps', or 'any: life'; a",
    ),
    "any with a length": (
        edited(TIMED, LAST, "  - {any: 7 days, epsilon: 12, per: 1 day}\nbudget: 1"),
        "'per' does not go with 'any'",
        "'any'",
        ":10:32",
        "bound it by 'epsilon' alone",
    ),
    "any without a time": (
        edited(POLICY, "budget: 2", "  - {any: 7 days, epsilon: 1}\nbudget: 2"),
        "periods, and the policy states no time",
        "'any'",
        ":9:6",
        "state a 'time', or bound 'presence' by an",
    ),
    "a life for any": (
        edited(TIMED, LAST, "  - {life: true, epsilon: 12}\nbudget: 1"),
        "the key 'life' is not known here",
        "'life'",
        ":10:6",
        "write 'any: life', or 'any: 30 days'",
    ),
    "what is revealed at once left out": (
        edited(TIMED, "presence: true, epsilon: 1", "presence: true, published: {7 days: 0.5, ever: 1}"),
        "ages go from 'at once' to 'ever'",
        "7 days, ever",
        ":8:22",
        "write 'published: {at once: 0.5, 7 days:",
    ),
    "less revealed of what is older": (
        edited(TIMED, "presence: true, epsilon: 1", "presence: true, published: {at once: 1, ever: 0.5}"),
        "older as much may be revealed, or more",
        "published",
        ":8:22",
        "write 'published: {at once: 0.5, 7 days:",
    ),
    "how days are written as a pattern": (
        edited(TIMED, EVERY_DAY, "every: day, written: dd.mm.yyyy"),
        "nor an English name of a month or a day",
        "'dd.mm.yyyy'",
        ":6:79",
        "write how 31 December 2025, 23:59 is",
    ),
    "a city for a zone": (
        edited(TIMED, EVERY_DAY, "every: day, zone: Berlin"),
        "name of a time zone is expected here",
        "'Berlin'",
        ":6:76",
        "write one such as Europe/Berlin or UTC",
    ),
    "a total of a column": (
        query(TIMED, "total: ward"),
        "the first period on, or 'since ever'",
        "'ward'",
        ":2:12",
        "known here: 'so far', 'since ever'",
    ),
    "a window without a unit": (
        query(TIMED, "window: 7"),
        "'loaded' holds periods of a day",
        "'7' without a unit",
        ":2:13",
        "write '2 steps'; a step is a period",
    ),
    "a window beyond the time": (
        query(TIMED, "window: 90 days"),
        "'window' is of 1 to 31 whole periods",
        "'90 days'",
        ":2:13",
        "write 'window: 7 days', or 'window: 2",
    ),
    "hours in a window": (
        query(TIMED, "window: 12 hours"),
        "known; units are m, km, days and steps",
        "'hours'",
        ":2:13",
        "write 'window: 7 days', or 'window: 2",
    ),
    "periods of no time": (
        query(POLICY, "every: day"),
        "so nothing is counted by its periods",
        "day",
        ":2:12",
        "write 'time: {column: day, from:",
    ),
    "a count per day": (
        query(TIMED, "{count: ward == 'north', per: day}"),
        "the key 'per' is not known here",
        "'per'",
        ":2:30",
        "write 'by: column' beside it; along the",
    ),
    "totals of groups of days": (
        query(TIMED, "{every: day, by: loaded}"),
        "by one column of each other attribute",
        "loaded",
        ":2:22",
        "leave out the time's own, and take one",
    ),
    "a sum of every day": (
        query(TIMED, "{sum: ward, every: day}"),
        "against, median, quantiles, matrix",
        "sum and every",
        ":2:5",
        "leave out 'every', and group by the",
    ),
    "a day before the window": (
        query(TIMED, "count: loaded == '2026-01-05'"),
        "'2026-01-05' is no value of 'loaded'",
        "'loaded'",
        ":2:22",
        "all days before 2027-01-01 are one value:",
    ),
    "against last week": (
        query(TIMED, "against: last week"),
        "it is: a length is a number and a unit",
        "'against'",
        ":2:14",
        "write 'against: 7 days', or 'against: 2",
    ),
}

IN_WHAT_IS_PUBLIC: Final[dict[str, Row]] = {
    "hold without counts": (
        edited(POLICY, "budget: 2", "budget: 2\nhold: 2"),
        "about known counts, and there are none",
        "'hold'",
        ":10:1",
        "a known count is {totals: region}, perhaps",
    ),
    "hold for yes": (
        edited(KNOWN, LAST, "budget: 1\nhold: true"),
        "'hold': 2 or all is expected here",
        "'true'",
        ":12:7",
        "write 'hold: 2', for who is unsure of one",
    ),
    "numbers in the policy": (
        edited(KNOWN, TOTALS, "  - {totals: region, numbers: {north: 3, south: 4, west: 5}}"),
        "found a mapping, expected a word",
        "'numbers'",
        ":10:31",
        "a known count is {totals: region}, perhaps",
    ),
    "a public number of records": (
        edited(KNOWN, TOTALS, "  - {records: 5000}"),
        "the key 'records' is not known here",
        "'records'",
        ":10:6",
        "write {where: true, count: 5000}",
    ),
    "records in a policy": (
        edited(POLICY, "budget: 2", "budget: 2\nrecords: 5000"),
        "the key 'records' is not known here",
        "'records'",
        ":10:1",
        "write 'records: 5000' into the queries",
    ),
    "a file of numbers that is not there": (
        edited(KNOWN, TOTALS, "  - {totals: region, numbers: counts.csv}"),
        "directory in the policy's folder, '.'",
        "'s folder, '",
        ":10:31",
        "name a CSV file in the policy's own folder",
    ),
    "totals of an unknown column": (
        edited(KNOWN, TOTALS, "  - totals: county"),
        "there is no attribute 'county'",
        "'county'",
        ":10:13",
        "known here: 'region', 'pay'",
    ),
    "a condition without its count": (
        edited(KNOWN, TOTALS, "  - where: pay >= 600"),
        "with 'numbers', or 'where' and 'count'",
        "where",
        ":10:5",
        "a known count is {totals: region}, perhaps",
    ),
    "a public count that cuts a step": (
        edited(KNOWN, TOTALS, "  - {where: pay >= 630, count: 5}"),
        "630 is no value of 'pay'",
        "'pay'",
        ":10:20",
        "use 600 or 700",
    ),
    "a public count in per cent": (
        edited(KNOWN, TOTALS, "  - {where: pay >= 600, count: 15%}"),
        "is written as a decimal: '15%' is 0.15",
        "'15%'",
        ":10:32",
        "write how many records there are, such as 0",
    ),
    "known without dashes": (
        edited(KNOWN, TOTALS, "  totals: region"),
        "found a mapping, expected a list",
        "'known'",
        ":10:3",
        "a known count is {totals: region}, perhaps",
    ),
    "public numbers without one": (
        edited(KNOWN, TOTALS, NUMBERS, "region,count\nnorth,3\nsouth,4\n"),
        "census.csv has no number of region west",
        "census",
        ":10:31",
        "correct the file: a row for each",
    ),
    "public numbers under another header": (
        edited(KNOWN, TOTALS, NUMBERS, "region,n\nnorth,3\nsouth,4\nwest,5\n"),
        "has no column 'count'; it has region, n",
        "'count'",
        ":10:31",
        "write the line 'region,count' above its",
    ),
    "public numbers of an unknown word": (
        edited(KNOWN, TOTALS, NUMBERS, "region,count\nnorth,3\nsouth,4\nwset,5\n"),
        "no value 'wset'; did you mean 'west'?",
        "'west'",
        ":10:31",
        "correct the file: a row for each",
    ),
    "public numbers between semicolons": (
        edited(KNOWN, TOTALS, NUMBERS, "region;count\nnorth;3\nsouth;4\nwest;5\n"),
        "'region', 'count'; it has region;count",
        "'count'",
        ":10:31",
        "write the line 'region,count' above its",
    ),
    "suppressed public numbers": (
        edited(KNOWN, TOTALS, NUMBERS, "region,count\nnorth,<5\nsouth,4\nwest,5\n"),
        "is '<5': this is not a decimal number",
        "'<5'",
        ":10:31",
        "correct the file: a row for each",
    ),
    "a person for people": (
        edited(POLICY, "rules:", "person: {column: id, count: once}\nrules:"),
        "the key 'person' is not known here",
        "'person'",
        ":6:1",
        "write 'people: {column: patient, count:",
    ),
}

IN_THEIR_TASKS: Final[dict[str, Row]] = {
    "ends the wrong way round": (
        query(KNOWN, "{sum: pay, within: [1000, 0]}"),
        "that is added up, such as [0, 100]",
        "100",
        ":2:24",
        "write 'within: [0, 100]', the lower one",
    ),
    "ends in per cent": (
        query(KNOWN, "{sum: pay, within: [5%, 95%]}"),
        "that is added up, such as [0, 100]",
        "100",
        ":2:24",
        "write 'within: [0, 100]', the lower one",
    ),
    "ends beyond all numbers": (
        query(KNOWN, "{sum: pay, within: [2000, 3000]}"),
        "would count as one number by 'within'",
        "'within'",
        ":2:11",
        "write 'within: [0, 1000]', or ends inside",
    ),
    "ends of a count": (
        query(KNOWN, "{count: pay > 500, within: [0, 5]}"),
        "goes with sum and mean, not with count",
        "'within'",
        ":2:24",
        "leave it out",
    ),
    "a clipped mean": (
        query(KNOWN, "{mean: pay, clip: [0, 500]}"),
        "the key 'clip' is not known here",
        "'clip'",
        ":2:17",
        "write 'within: [0, 100]' beside a sum or a",
    ),
    "keys of a star": (
        task(POLICY, "{keys: '*', spurious: 1}"),
        "there is no column '*'",
        "'*'",
        ":2:12",
        "name the columns: [sex, age]",
    ),
    "keys without a threshold": (
        task(POLICY, "{keys: [sex, age]}"),
        "says either 'spurious' or 'at_least'",
        "neither",
        ":2:5",
        "write 'spurious: 1' beside 'keys', or",
    ),
    "a threshold of keys": (
        task(POLICY, "{keys: [sex, age], threshold: 5}"),
        "the key 'threshold' is not known here",
        "'threshold'",
        ":2:24",
        "write 'at_least: 90'",
    ),
    "open keys without a chance": (
        task(OPEN, "{keys: [words, language], spurious: 1}"),
        "are listed, and nobody listed these",
        "'spurious'",
        ":2:5",
        "leave it out: 'delta' decides which keys",
    ),
    "a chance above the policy's": (
        task(OPEN, "{keys: [words, language], delta: 0.1}", True),
        "which is for all releases together",
        "1/1000000,",
        "'keys 1'",
        "state a smaller one",
    ),
    "keys beside queries": (
        asked(POLICY, "tasks:\n  - {keys: [sex, age], spurious: 1}\n  - queries: [{marginal: sex}]\n"),
        "possible record, which other tasks need",
        "{keys",
        ":2:5",
        "put it into a file of its own",
    ),
    "keys among queries": (
        query(POLICY, "{keys: [sex, age], spurious: 1}"),
        "against, median, quantiles, matrix",
        "none of them",
        ":2:5",
        "write a task, 'tasks: [{keys: [one, other],",
    ),
    "a count of open text": (
        query(OPEN, "count: words == 'a'"),
        "nobody listed the values of 'words'",
        "'words'",
        ":2:12",
        "ask for 'keys' of it with a 'delta', in a",
    ),
    "a type of open text": (
        edited(OPEN, "open: text", "open: string"),
        "what the values are, and they are text",
        "'string'",
        ":4:19",
        "write {open: text}",
    ),
    "a chance in per cent": (
        edited(OPEN, "0.000001", "1%"),
        "is written as a decimal: '1%' is 0.01",
        "'1%'",
        ":12:8",
        "write 1e-9, or 0.000001",
    ),
    "following the data for yes": (
        edited(POLICY, "budget: 2", "budget: 2\nadaptive: true"),
        "'adaptive': 'allow' is expected here",
        "'true'",
        ":10:11",
        "write that, or leave the key out",
    ),
    "queries of a task that follows the data": (
        task(POLICY, "{adaptive: {queries: [marginals: {ways: 2}]}}"),
        "the key 'queries' is not known here",
        "'queries'",
        ":2:17",
        "write 'workload: [marginals: {ways: 2}]'",
    ),
    "a list for a task that follows the data": (
        task(POLICY, "{adaptive: [marginals: {ways: 2}]}"),
        "and 'rounds' and 'cells' and 'rows'",
        "a list",
        ":2:16",
        "write {workload: [marginals: {ways: 2}]}, a",
    ),
    "bars in per cent": (
        task(POLICY, "{adaptive: {workload: [marginals: {ways: 2}], bars: 20%}}"),
        "of the budget, at least 0 and below 1",
        "1",
        ":2:57",
        "write 0.2 or 1/5, or 0 for no bars",
    ),
    "tables of five columns": (
        task(POLICY, "{adaptive: {workload: [marginals: {ways: 5}]}}"),
        "table has: a whole number from 1 to 2",
        "2",
        ":2:46",
        "write 'ways: 2'",
    ),
    "a count that follows the data": (
        task(POLICY, "{adaptive: {workload: [{count: sex == 'F'}]}}", True),
        "for whole tables, each a 'marginal'",
        "'marginal'",
        ":2:28",
        "write '- marginal: [age, sex]'; put other",
    ),
    "iterations for rounds": (
        task(POLICY, "{adaptive: {workload: [marginals: {ways: 2}], iterations: 4}}"),
        "the key 'iterations' is not known here",
        "'iterations'",
        ":2:51",
        "write 'rounds: 20'",
    ),
    "a number of synthetic records": (
        task(POLICY, "{synthesize: {workload: [marginals: {ways: 2}], n: 100}}"),
        "the key 'n' is not known here",
        "'n'",
        ":2:53",
        "write 'rows: 100'",
    ),
    "shares in per cent": (
        asked(POLICY, "tasks:\n  - {share: 50%, queries: [{marginal: sex}]}\n"),
        "1: it is the task's part of the spend",
        "1",
        ":2:13",
        "write 1/4 or 0.25",
    ),
    "shares below one": (
        asked(
            POLICY,
            "tasks:\n  - {share: 1/2, queries: [{marginal: sex}]}\n  - {share: 1/4, queries: [{marginal: age}]}\n",
        ),
        "of the tasks sum to 3/4, not to 1",
        "1",
        ":3:5",
        "they are parts of one spend, such as 1/2,",
    ),
    "an estimate among queries": (
        asked(POLICY, "queries:\n  - marginal: sex\nestimate: auto\n"),
        "the key 'estimate' is not known here",
        "'estimate'",
        ":3:1",
        "an estimate is asked for at the release:",
    ),
}

IN_LATER_CALLS: Final[dict[str, Row]] = {
    "another word for an estimate": (
        said(*RELEASE, "--estimate", "positive"),
        "Invalid value for '--estimate'",
        "'--estimate'",
        "'--estimate'",
        "'positive' is not one of 'auto',",
    ),
    "an estimate for yes": (
        lambda: release("data.csv", estimate=True),
        "'records', 'model', or left out",
        "'model'",
        "'estimate'",
        "found True",
    ),
    "an option without its value": (
        said("check", "policy.yaml", "--table"),
        "Option '--table' requires an argument",
        "'--table'",
        "'--table'",
        "write it behind the option, with a blank",
    ),
    "a plan beside its queries": (
        of_a_plan("release", "plan.json", "data.csv", "queries.yaml", "--ledger", "c.db"),
        "the key 'format' is not known here",
        "'format'",
        ":2:1",
        "this is a plan, which has its queries:",
    ),
    "another spend than planned": (
        of_a_plan("release", "plan.json", "data.csv", "--ledger", "c.db", "--spend", "1"),
        "this plan was made for the spend 1/2",
        "1",
        "this plan",
        "leave it out, or plan anew",
    ),
    "an unknown period": (
        of_a_plan(
            "release", "plan.json", "data.csv", "--ledger", "c.db", "--along", "loaded", "--period", "2027-13-01"
        ),
        "along 'loaded'; nothing was read",
        "'loaded'",
        "'2027-13-01'",
        "write one from '2027-01-01' to",
    ),
    "along no column": (
        of_a_plan("release", "plan.json", "data.csv", "--ledger", "c.db", "--along", "day", "--period", "2027-01-01"),
        "whose values would be the periods",
        "'day'",
        "'day'",
        "name one of 'ward', 'loaded'",
    ),
    "several files for a table": (
        lambda: release("visits-*.csv"),
        "files of a folder, which is named",
        "'visits-*.csv'",
        "'visits-*.csv'",
        "'visits'",
    ),
    "a query for a table": (
        lambda: release("SELECT sex FROM visits"),
        "stands behind the address of a server",
        "'SELECT sex FROM visits'",
        "'SELECT sex FROM visits'",
        "postgresql://server/database#SELECT …",
    ),
    "a table of JSON": (
        lambda: release(file("t.json", "[]")),
        "states ('reading: {separator: tab}')",
        "'t.json'",
        "'reading: {separator: tab}'",
        "write it as one of these",
    ),
    "a level of 95": (
        said("plan", "policy.yaml", "queries.yaml", "--level", "95"),
        "strictly between 0 and 1, such as 0.95",
        "0.95",
        "'--level'",
        "found '95'",
    ),
    "a ledger that is a table": (
        said("release", "policy.yaml", "data.csv", "queries.yaml", "--ledger", "data.csv", "--spend", "1"),
        "cannot be used: it is not a ledger",
        "'data.csv'",
        "'data.csv'",
        "name another file",
    ),
    "an epsilon in a call": (
        lambda: release("data.csv", epsilon=1),
        "a release spends a part of its budget",
        "'epsilon'",
        "'epsilon'",
        "spend=Fraction(1, 4)",
    ),
    "a table as a list": (
        lambda: release([{"sex": "F", "age": 10}]),
        "an Arrow table, or an array of counts",
        "a list of dictionaries",
        "data are",
        "make a data frame of it,",
    ),
}

OF_LATER_WORDS: Final = {
    name: Mistake(*row)
    for rows in (IN_THEIR_TIMES, IN_WHAT_IS_PUBLIC, IN_THEIR_TASKS, IN_LATER_CALLS)
    for name, row in rows.items()
}
