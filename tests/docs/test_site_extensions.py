"""What the site makes by itself: a page for each name, tables that lead there, words with their meanings."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest
from reference.project import ROOT

import dxgeom
from dxgeom.wording.glossary import TERMS, word_of


@pytest.fixture(scope="module")
def site() -> ModuleType:
    """The extension that writes the reference; it needs no Sphinx to say what it would write."""
    spec = importlib.util.spec_from_file_location("site_rooms", ROOT / "docs" / "extensions" / "rooms.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
def test_each_name_has_one_page_and_stands_in_one_table(site):
    """Also where a file system takes Plan and plan for one; what stands in several modules is described in one."""
    home = site.homes()
    pages, tables = [], ""
    for name, room in site.rooms(dxgeom):
        pages += [site.file_of(one, getattr(room, one.rpartition(".")[2])) for one in site.own(name, room, home)]
        tables += site.page(name, room)
    assert len({page.lower() for page in pages}) == len(pages) > 250
    assert sorted(set(home.values())) == sorted(
        {page.removesuffix("-class") for page in pages} | {one for one in home.values() if _is_room(one)}
    )
    for page in pages:
        assert (
            tables.count(f"   * - :py:class:`{page.removesuffix('-class').replace('dxgeom', 'dx', 1)} <")
            + tables.count(f"   * - :py:func:`{page.replace('dxgeom', 'dx', 1)} <")
            + tables.count(f"   * - :py:obj:`{page.replace('dxgeom', 'dx', 1)} <")
            == 1
        ), page


def _is_room(name: str) -> bool:
    thing = dxgeom
    for part in name.split(".")[1:]:
        thing = getattr(thing, part)
    return isinstance(thing, ModuleType)


def test_arguments_of_a_function_are_a_list(site):
    lines = [
        "Does it.",
        "",
        "Args: ``a``: a number, |a| < 1. ``b`` (K,): as ``a``, too; ``c`` and ``d``: words: ``x``.",
        "Returns: more.",
    ]
    site.in_paragraphs(None, "", "", None, None, lines)
    assert lines == [
        *("Does it.", "", "**Args.**", ""),
        *("* ``a``: a number, \\|a\\| < 1.", "* ``b`` (K,): as ``a``, too", "* ``c`` and ``d``: words: ``x``."),
        *("", "**Returns.** more.", ""),
    ]


def test_one_argument_is_a_sentence(site):
    lines = ["Args: ``a``: a number."]
    site.in_paragraphs(None, "", "", None, None, lines)
    assert lines == ["**Args.** ``a``: a number.", ""]


@pytest.mark.parametrize(
    ("said", "first"),
    [("One.  Two.", "One."), ("At ε 0.5, once.\nMore.", "At ε 0.5, once."), ("No end", "No end"), ("", "")],
)
def test_a_table_has_the_first_sentence(site, said, first):
    def described() -> None: ...

    described.__doc__ = said
    assert site.summary([("dxgeom.described", described)]).split("     - ")[1] == first


def test_words_that_pages_explain_have_a_meaning_of_one_line():
    """It stands in a link's title."""
    found = {word_of(match[0]).term for match in TERMS.finditer("Records and a policy, with a budget and ±.")}
    assert {"record", "policy", "budget"} <= found
    assert all("\n" not in word_of(term).meaning for term in found)
