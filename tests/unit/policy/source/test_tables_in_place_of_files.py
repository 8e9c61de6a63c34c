"""A table that is named in place of a policy or of queries: no cell of it is shown, whatever it is called."""

from __future__ import annotations

from pathlib import Path

import pytest

import dxgeom as dx
from dxgeom.errors import FileMistakes

TABLES = {
    "semicolons": "name;age\nAnna Muster;34\n",
    "commas": "name,age\nAnna Muster,34\n",
    "tabs": "name\tage\nAnna Muster\t34\n",
    "quotes": '"name","age"\n"Anna Muster","34"\n',
    "bars": "id|name\n1|Anna Muster\n",
    "colons": "Anna Muster: asthma\nBert: flu\n",
    "lines": "Anna Muster\nBert Beispiel\n",
    "a line of words": "age: 34, name: Anna Muster\n",
    "JSON": '[{"name": "Anna Muster", "age": 34}]',
    "lines of JSON": '{"name": "Anna Muster"}\n{"name": "Bert"}\n',
    "not YAML": "%name @Anna Muster\n\t*x\n",
}
POLICY = dx.parse_policy("universe: {attributes: {a: [x, y]}}\nrules: [{change: a, epsilon: 1}]\npolicy: p\n")


@pytest.mark.parametrize("name", ["patients", "patients.json", "patients.txt", "patients.csv"])
@pytest.mark.parametrize("kind", TABLES)
def test_nothing_of_the_table_is_shown(name: str, kind: str, tmp_path: Path) -> None:
    (file := tmp_path / name).write_text(TABLES[kind])
    for load in (dx.load_policy, lambda path: dx.load_queries(path, POLICY)):
        with pytest.raises(FileMistakes) as caught:
            load(file)
        (mistake,) = caught.value.diagnostics
        shown = str(caught.value)
        assert "looks like a table of data" in mistake.message
        assert "dxgeom release POLICY DATA QUERIES" in shown
        assert not [word for word in ("Anna", "Muster", "asthma", "Bert") if word in shown]
        assert not mistake.source


@pytest.mark.parametrize("name", ["policy", "policy.json"])
@pytest.mark.parametrize("text", ["policy: p\nrules: [\n", '{"policy": "p", "rules": [}', "  universe:\n\tage: 3\n"])
def test_a_policy_without_a_suffix_shows_its_line(name: str, text: str, tmp_path: Path) -> None:
    (file := tmp_path / name).write_text(text)
    with pytest.raises(FileMistakes) as caught:
        dx.load_policy(file)
    assert caught.value.diagnostics[0].source.strip() in text
    assert caught.value.diagnostics[0].code != "DX108"


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (file := tmp_path / "policy").write_text("\n")
    with pytest.raises(FileMistakes, match="the file is empty"):
        dx.load_policy(file)
