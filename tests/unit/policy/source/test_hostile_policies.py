from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path

import pytest

import dxgeom as dx
from dxgeom.errors import PolicyError
from dxgeom.policy.policy import load_policy, parse_policy

ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + k)}: &{chr(98 + k)} [{','.join(['*' + chr(97 + k)] * 9)}]\n" for k in range(12)
)
RANGE = (
    "policy: p\nuniverse: {{attributes: {{a: {{range: [{}, {}], step: {}}}}}}}\nrules: [{{change: a, epsilon: 1}}]\n"
)

LIST = "policy: p\nuniverse: {{attributes: {{a: [{}]}}}}\nrules: [{{change: a, {}}}]\n"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (ALIAS_BOMB, "DX102"),
        ("[" * 500_000, "DX103"),
        ("{a: " * 200_000, "DX103"),
        ("- " * 300_000, "DX103"),
        ("a: !!python/object/apply:os.system ['true']\n", "DX102"),
        ("a: \x1b[31m\n", "DX101"),
        ('a: "\\ud800"\n', "DX102"),
        ('a: "\\UFFFFFFFF"\n', "DX101"),
        (RANGE.format(0, "1e30", "1e-30"), "DX116"),
        (RANGE.format(0, "1e999999999", 1), "DX109"),
        (RANGE.format(0, "9" * 100_000, 1), "DX109"),
        (RANGE.format("1e20", "1e20", "1e-5"), "DX111"),
        ("x" * 1_000_000, "DX108"),
        ("%FOO bar\n" * 1000, "DX101"),
        ("".join(f"k{number}: 1\n" for number in range(60_000)), "DX103"),
        ("k: 1\n" * 60_000, "DX104"),
        ("- 1\n" * 200_000, "DX103"),
        (LIST.format("a, b", "values: {" + ", ".join(f"x{number}: 1" for number in range(9000)) + "}"), "DX133"),
        (LIST.format("a, b", "values: {" + ", ".join(map(str, range(9000))) + "}"), "DX107"),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else None,
)
def test_a_hostile_text_is_a_clear_error_in_no_time(content, code):
    begin = time.process_time()
    with pytest.raises(PolicyError) as caught:
        parse_policy(content)
    elapsed = time.process_time() - begin
    assert code in {mistake.code for mistake in caught.value.diagnostics}
    assert elapsed < 4.0  # of this process; about one at worst, whatever else the machine does


@pytest.mark.parametrize("content", [RANGE.format(0, "1e30", "1e-30"), ALIAS_BOMB, "[" * 500_000])
def test_refusing_a_hostile_text_takes_little_memory(content):
    tracemalloc.start()
    with pytest.raises(PolicyError):
        parse_policy(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50e6


def only_mistake(path: Path) -> str:
    with pytest.raises(PolicyError) as caught:
        load_policy(path)
    (mistake,) = caught.value.diagnostics
    assert mistake.code in ("DX100", "DX114")
    return mistake.message


def test_files_that_are_no_policies_are_refused_by_name(tmp_path):
    assert "No such file" in only_mistake(tmp_path / "nowhere.yaml")
    assert "regular file" in only_mistake(tmp_path) or "opened" in only_mistake(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"policy: caf\xe9\n")
    assert "not UTF-8 text: the first wrong byte is in line 1" in only_mistake(tmp_path / "latin.yaml")
    (tmp_path / "large.yaml").write_bytes(b"x" * 10_000_000)
    assert "10,000,000 bytes" in only_mistake(tmp_path / "large.yaml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    assert "not a regular file" in only_mistake(tmp_path / "pipe.yaml")


def policy_reading(folder: Path, file: str) -> Path:
    path = folder / "policy.yaml"
    path.write_text(
        f"policy: p\nuniverse: {{attributes: {{a: {{points: {file}, key: id, x: x, y: y, unit: m}}}}}}\n"
        "rules: [{change: a, epsilon: 1, per: 1 km}]\n"
    )
    return path


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    home, outside = tmp_path / "home", tmp_path / "outside"
    home.mkdir()
    outside.mkdir()
    (outside / "secret.csv").write_text("id,x,y\na,1,2\n")
    (home / "link.csv").symlink_to(outside / "secret.csv")
    (home / "folder").symlink_to(outside)
    for file in ("link.csv", "folder/secret.csv", "../outside/secret.csv", str(outside / "secret.csv")):
        message = only_mistake(policy_reading(home, file))
        assert "leaves the policy's folder" in message or "relative to the policy's folder" in message


def test_a_link_inside_the_folder_is_followed(tmp_path):
    (tmp_path / "real.csv").write_text("id,x,y\na,1,2\nb,3,4\n")
    (tmp_path / "link.csv").symlink_to("real.csv")
    assert load_policy(policy_reading(tmp_path, "link.csv")).universe.size == 2


def test_a_circle_of_links_a_pipe_and_a_folder_are_refused(tmp_path):
    (tmp_path / "one.csv").symlink_to("two.csv")
    (tmp_path / "two.csv").symlink_to("one.csv")
    (tmp_path / "folder.csv").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.csv")
    else:
        (tmp_path / "pipe.csv").mkdir()
    for file in ("one.csv", "folder.csv", "pipe.csv"):
        only_mistake(policy_reading(tmp_path, file))


def test_a_policy_given_as_text_reads_no_files():
    with pytest.raises(PolicyError, match="has no folder to read files from"):
        parse_policy(
            "policy: p\nuniverse: {attributes: {a: {points: x.csv, key: id, x: x, y: y, unit: m}}}\n"
            "rules: [{change: a, epsilon: 1}]\n"
        )


def test_a_thousand_mistakes_are_reported_up_to_a_limit():
    rules = "".join(f"  - change: a{k}\n    epsilon: 1\n" for k in range(1000))
    with pytest.raises(PolicyError) as caught:
        parse_policy(f"policy: p\nuniverse: {{attributes: {{b: [u, v]}}}}\nrules:\n{rules}")
    assert len(caught.value.diagnostics) == 200


def test_mixed_bounds_beyond_the_exact_size_are_an_error_and_not_a_hang():
    with pytest.raises(PolicyError, match=r"DX138.*mix bounds of different kinds over 5,001 values"):
        parse_policy(
            "policy: p\nuniverse: {attributes: {a: {range: [0, 5000], step: 1}}}\nrules:\n"
            "  - {change: a, epsilon: 1, per: 10}\n"
            "  - {change: a, values: {7: 0.1}, otherwise: 3}\n"
        )


def test_a_within_that_selects_too_many_pairs_is_an_error_and_not_a_hang():
    with pytest.raises(PolicyError, match=r"DX138.*selects about"):
        parse_policy(
            "policy: p\nuniverse: {attributes: {a: {range: [0, 100000], step: 1}}}\n"
            "rules: [{change: a, epsilon: 1, within: 50000}]\n"
        )


def test_a_within_on_many_places_is_counted_before_its_pairs_are_made(tmp_path):
    rows = "".join(f"p{k},{k % 100},{k // 100}\n" for k in range(10_000))
    (tmp_path / "grid.csv").write_text("id,x,y\n" + rows)
    text = (
        "policy: p\nuniverse: {attributes: {a: {points: grid.csv, key: id, x: x, y: y, unit: m}}}\n"
        "rules: [{change: a, epsilon: 1, within: REACH m}]\n"
    )
    with pytest.raises(PolicyError, match=r"DX138.*selects about"):
        parse_policy(text.replace("REACH", "100"), folder=tmp_path)
    near = parse_policy(text.replace("REACH", "1"), folder=tmp_path).compile()
    assert near.distance(0, 9_999) == pytest.approx(198)


def test_a_path_leaves_the_folder_however_deep_that_lies_and_whether_or_not_a_file_is_there(tmp_path):
    home = tmp_path.joinpath(*"abcdefghij")
    home.mkdir(parents=True)
    for file in ("../" * 7 + "etc/passwd", "../" * 90 + "etc/passwd", "../none.csv"):
        with pytest.raises(PolicyError, match="this path leaves the policy's folder"):
            load_policy(policy_reading(home, file))


@pytest.mark.parametrize(
    "rows",
    [
        "John Smith,female,31,HIV\nMary,male,42,none\n",
        '"Smith, John",female,HIV\n"Doe, Jane",male,none\n',
        "John Smith: HIV\tfemale\n",
        "John;HIV;female\n",
        "[John, HIV]\n",
        "*John,HIV\n%female",
        "John HIV\n",
    ],
)
def test_nothing_is_shown_of_a_table_that_is_named_in_place_of_a_policy_or_queries(tmp_path, rows):
    """Arguments in another order are an easy mistake, and what a command says is kept in logs."""
    path = tmp_path / "table.csv"
    path.write_text(rows)
    policy = dx.parse_policy("policy: p\nuniverse: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\n")
    for read in (dx.load_policy, lambda file: dx.load_queries(file, policy)):
        with pytest.raises(dx.DxgeomError) as found:
            read(path)
        assert not any(word in str(found.value) for word in ("John", "HIV", "female"))
