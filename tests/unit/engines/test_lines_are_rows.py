"""What one person writes into a text file moves no other row: each line is a row by itself, or the file is refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import dxgeom as dx
from dxgeom.engines import embedded
from dxgeom.engines.histogram import histogram_of_table
from dxgeom.engines.opening import opened
from dxgeom.engines.source import delimited
from dxgeom.engines.watching import plain_errors
from dxgeom.errors import DataError

POLICY = "policy: p\nuniverse: {attributes: {w: [x, y]}}\nrules: [{change: w, epsilon: 1}]\n"
PRESENCE = POLICY.replace("}]", "}, {presence: true, epsilon: 1}]")


def swallowing() -> str:
    """300 lines that are 21 rows: a note opens a quotation mark in row 10, another closes it in row 289."""
    notes = {10: '"broken', 289: 'mended"'}
    return "w,note\n" + "".join(f"{'xy'[k % 2]},{notes.get(k, '')}\n" for k in range(1, 301))


@pytest.mark.parametrize("text", [POLICY, PRESENCE])
@pytest.mark.parametrize("outside", ["refuse", "drop"])
def test_a_note_that_swallows_rows_refuses_the_table_before_the_charge(tmp_path, text, outside):
    path, ledger = tmp_path / "a.csv", tmp_path / "ledger.db"
    path.write_text(swallowing())
    policy = dx.parse_policy(text)
    plan = dx.plan(policy.compile(), dx.parse_queries("queries: [{count: w == 'x'}]", policy))
    line = "" if text == PRESENCE else " of data row 10"  # it would tell whether ten people are there
    with pytest.raises(DataError, match=f"a cell{line} holds a line break, and a row of a text file is one line"):
        plan.release(path, ledger=ledger, spend="1/2", outside=outside)
    assert not ledger.exists()


BROKEN = {
    "a line feed": b'w,note\nx,"a\nb"\ny,\n',
    "a carriage return": b'w,note\nx,"a\rb"\ny,\n',
    "both": b'w,note\r\nx,"a\r\nb"\r\ny,\r\n',
    "a line feed among Windows lines": b'w,note\r\nx,"a\nb"\r\ny,\r\n',
    "in the first cell": b'w,note\n"x\n",\ny,\n',
    "in the last cell of the file": b'w,note\nx,\ny,"a\n"',
    "an empty line": b'w,note\nx,"\n\n"\ny,\n',
    "beside an empty line": b'w,note\n\nx,"a\nb"\ny,\n',
    "in the header": b'w,"no\nte"\nx,\ny,\n',
    "in the only column": b'w\n"x\n"\ny\n',
    "an empty line in the only column": b'w\nx\n\n"y\n"\n',
    "an empty line in a cell of the only column": b'w\nx\n"\n\n"\n',
    "two rows in place of one": b'w,note\nx,"\nx,"\n',
}


@pytest.mark.parametrize("ending", ["csv", *(pytest.param(one, marks=pytest.mark.long) for one in ("tsv", "csv.gz"))])
@pytest.mark.parametrize("name", BROKEN)
def test_a_cell_with_a_line_break_refuses_the_table(tmp_path, name, ending):
    path, text = tmp_path / f"a.{ending}", BROKEN[name]
    text = text.replace(b",", b"\t") if ending == "tsv" else text
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    universe = dx.parse_policy(PRESENCE).universe
    for outside in ("refuse", "drop"):
        with pytest.raises(DataError, match="a row of a text file is one line"):
            histogram_of_table(path, universe, outside=outside)


SOUND = {
    "no end of the last line": b"w,note\nx,\ny,",
    "lines of Windows": b"\xef\xbb\xbfw,note\r\nx,\r\ny,\r\n",
    "lines of old Macintoshes": b"w,note\rx,\ry,\r",
    "empty lines": b"w,note\n\nx,\n\n\ny,\n\n",
    "marks and commas in quotes": b'"w","note"\n"x","a ""b"", c"\ny,5" pipe\n',
    "what other programs take for line breaks": "w,note\nx,a\u2028b\u2029\x85\x0b\x0c\x1c\x00\ny,\n".encode(),
}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("name", SOUND)
def test_files_of_which_each_line_is_a_row_are_read(tmp_path, name, compressed):
    path = tmp_path / f"a.csv{'.gz' if compressed else ''}"
    path.write_bytes(gzip.compress(SOUND[name]) if compressed else SOUND[name])
    assert histogram_of_table(path, dx.parse_policy(POLICY).universe).counts.tolist() == [1, 1]


def test_many_rows_are_counted_as_few_are(tmp_path):
    path, universe = tmp_path / "a.csv", dx.parse_policy(PRESENCE).universe
    sound = 'x,"a, b"\ny,\n' * 300_000
    path.write_text(f"w,note\n{sound}")
    assert histogram_of_table(path, universe).counts[:2].tolist() == [300_000, 300_000]
    path.write_text(f'w,note\n{sound}x,"\n"\n{sound}')
    with pytest.raises(DataError, match="a cell holds a line break, and a row of a text file is one line"):
        histogram_of_table(path, universe)


def test_parquet_may_hold_line_breaks(tmp_path):
    pq.write_table(pa.table({"w": ["x", "y"], "note": ["a\nb", "\r\n"]}), tmp_path / "a.parquet")
    assert histogram_of_table(tmp_path / "a.parquet", dx.parse_policy(POLICY).universe).counts.tolist() == [1, 1]


def test_arrows_reader_of_text_is_not_asked(tmp_path):
    (tmp_path / "a.csv").write_text(swallowing())
    text = ds.dataset(tmp_path / "a.csv", format="csv")
    assert text.count_rows() == 21
    for dataset in (text, ds.dataset([text, text])):
        with pytest.raises(DataError, match="the dataset holds text files"):
            histogram_of_table(dataset, dx.parse_policy(POLICY).universe)


def rows_of(path: Path, content: bytes, columns: tuple[str, ...]) -> list[tuple[str | None, ...]] | None:
    """The rows that are read of a file; None where it is refused."""
    path.write_bytes(content)
    try:
        with opened(path, columns) as source, plain_errors(source.described):
            return source.connection.sql("SELECT * FROM records").fetchall()
    except DataError:
        return None


LINES = st.lists(st.text(alphabet='xy",\r \t\x00', max_size=8).map(str.encode), max_size=5)


@given(LINES, st.sampled_from([b"\n", b"\r\n"]), st.sampled_from([("a", "b"), ("a",)]), st.booleans())
@example([b'x,"', b'y,"'], b"\n", ("a", "b"), True)
@example([b'"', b"", b'"'], b"\n", ("a",), True)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_rows_of_a_file_are_those_of_its_lines_alone(tmp_path, lines, end, columns, ended):
    header, path = ",".join(columns).encode(), tmp_path / "a.csv"
    found = rows_of(path, header + end + end.join(lines) + (end if ended else b""), columns)
    if found is not None:
        ends = [*[end] * (len(lines) - 1), end if ended else b""]
        alone = [rows_of(path, header + end + line + after, columns) for line, after in zip(lines, ends, strict=False)]
        told = [row for rows in alone if rows for row in rows]
        assert [row for row in found if any(row)] == [row for row in told if any(row)]


def test_nothing_lenient_is_asked_of_the_reader(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    said: list[str] = []

    class Connection:
        def execute(self, statement: str) -> None:
            said.append(statement)

    embedded._view_text(Connection(), delimited(tmp_path / "a.csv", ","))
    (statement,) = said
    for option in ("auto_detect = false", "strict_mode = true", "null_padding = false", "ignore_errors = false"):
        assert option in statement
    for option in ("max_line_size", "sample_size", "all_varchar", "store_rejects", "rejects", "comment", "skip"):
        assert option not in statement
