"""Builds the page of the paper from its text, its list of references and its figures: python papers/dxgeom/build.py."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Final

sys.path.append(str(Path(__file__).parent))

from run import FIGURES

HERE = Path(__file__).parent
HEADS: Final = ("figure", "dxgeom", "beside", "script")
_ENTRY: Final = re.compile(r"@\w+{(\w+),\n(.*?)\n}", re.DOTALL)
_FIELD: Final = re.compile(r"(\w+) = {(.*)},?$", re.MULTILINE)
_CITED: Final = re.compile(r"\[(@[\w; @]+)\]")


def references() -> dict[str, dict[str, str]]:
    """The fields of each entry of the list, without the braces that keep capitals."""
    text = (HERE / "paper.bib").read_text(encoding="utf-8")
    return {
        key: {name: re.sub(r"[{}]", "", value) for name, value in _FIELD.findall(fields)}
        for key, fields in _ENTRY.findall(text)
    }


def surnames(entry: dict[str, str]) -> list[str]:
    """Of those who wrote it."""
    return [author.split(", ")[0] for author in entry["author"].split(" and ")]


def shown(entry: dict[str, str]) -> str:
    """An entry, as a page shows it."""
    authors = ", ".join("et al." if name == "others" else name for name in surnames(entry))
    where = next((entry[name] for name in ("booktitle", "journal", "note") if name in entry), "")
    link = f" [doi:{entry['doi']}](https://doi.org/{entry['doi']})" if "doi" in entry else ""
    return f"- {authors}, *{entry['title']}*{f', {where}' if where else ''}, {entry['year']}.{link}"


def cited(match: re.Match[str], entries: dict[str, dict[str, str]]) -> str:
    """Names and years in place of keys."""
    words = []
    for key in re.findall(r"@(\w+)", match[1]):
        names = surnames(entries[key])
        first = names[0] if len(names) == 1 else " and ".join(names) if len(names) == 2 else f"{names[0]} et al."
        words.append(f"{first} {entries[key]['year']}")
    return f"({'; '.join(words)})"


def table() -> str:
    """The figures."""
    lines = [HEADS, ("---",) * len(HEADS), *(figure.cells() for figure in FIGURES)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def page() -> str:
    """The paper as a page of the site."""
    _, head, text = (HERE / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
    title = re.search(r"^title: '(.*)'$", head, re.MULTILINE)
    entries = references()
    keys = set(re.findall(r"@(\w+)", "".join(_CITED.findall(text))))
    if title is None or keys != set(entries):
        raise SystemExit(f"cited and listed are not the same: {sorted(keys ^ set(entries))}")
    body = _CITED.sub(lambda match: cited(match, entries), re.sub(r"^# ", "## ", text, flags=re.MULTILINE))
    body = body.replace("<!-- figures -->", table())
    listed = "\n".join(shown(entries[key]) for key in sorted(entries))
    built = "The dxgeom founders. Built from `paper.md` by `python papers/dxgeom/build.py`."
    return f"# {title[1]}\n\n{built}\n{body}\n{listed}\n"


if __name__ == "__main__":
    (HERE / "page.md").write_text(page(), encoding="utf-8")
