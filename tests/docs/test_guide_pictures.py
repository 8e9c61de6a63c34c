"""The guides' pictures are those of the example policies as they are today."""

from __future__ import annotations

import re
import runpy

import pytest
from reference.project import GUIDE, ROOT

PICTURES = GUIDE / "pictures"
SHOWN = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def words(path):
    return sorted(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text(encoding="utf-8")))


def test_every_picture_is_shown_somewhere_and_says_in_words_what_it_shows():
    pages = [*GUIDE.glob("*.md"), *(ROOT / "docs" / "explanation").glob("*.md")]
    shown = {(page.parent / path).resolve(): words for page in pages for words, path in SHOWN.findall(page.read_text())}
    assert {path.resolve() for path in PICTURES.iterdir() if path.suffix in (".svg", ".png")} == shown.keys()
    assert min(len(said.split()) for said in shown.values()) >= 5


def test_every_picture_of_every_page_says_in_words_what_it_shows():
    """In Markdown, in directives, and in the page that the site begins with."""
    alike = {page: [*SHOWN.findall(page.read_text(encoding="utf-8"))] for page in (ROOT / "docs").rglob("*.md")}
    alike |= {
        page: SHOWN.findall(page.read_text(encoding="utf-8")) for page in (ROOT / "README.md", *ROOT.glob("p*/**/*.md"))
    }
    wordless = {
        f"{page.name}: {path}" for page, found in alike.items() for said, path in found if len(said.split()) < 5
    }
    assert not wordless
    for page in [*alike, ROOT / "docs" / "site" / "landing.html"]:
        text = page.read_text(encoding="utf-8")
        assert all(re.search(r'alt="(\S+ ){4}', tag) for tag in re.findall(r"<img\b[^>]*>", text)), page
        assert not re.search(r"```{(?:image|figure)}(?!(?:(?!```).)*:alt:)", text, re.DOTALL), page


@pytest.mark.long
def test_pictures_are_those_of_today(tmp_path):
    drawn = runpy.run_path(str(PICTURES / "draw.py"))["draw"](tmp_path)
    assert {path.name for path in drawn} == {path.name for path in PICTURES.glob("*.svg")}
    for path in drawn:
        assert words(path) == words(PICTURES / path.name) and words(path)


@pytest.mark.long
def test_the_gallery_draws_what_it_shows(tmp_path, policies, monkeypatch):
    (tmp_path / "policies").symlink_to(policies)
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"^```python\n(.*?)^```", (GUIDE / "gallery.md").read_text(encoding="utf-8"), re.M | re.S)
    exec(compile(code, "gallery.md", "exec"), {})
    assert words(tmp_path / "library-loans.svg") == words(PICTURES / "library-loans.svg")
