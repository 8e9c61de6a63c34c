"""How README, pages, messages and docstrings are written, counted: ``python checks/words.py``.

``--lower`` records what has fallen, ``--show NAME`` prints the sentences of a page, or of "messages" or "docstrings",
that are too long or hold a house word.

A page has at most 18 words a sentence in the mean and 40 in the longest, and no house word: the field has a word for
each. What is not yet so stands in ``words.toml`` with its counts, which may fall and never rise. A page that is so
leaves that list for good.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
ALLOWED = ROOT / "checks" / "words.toml"
MEAN, LONGEST = 18.0, 40
OWN_LANGUAGE = ("docs/architecture.md", "docs/decisions", "CONTRIBUTING.md", "CHANGELOG.md", "papers", "tests")
"""Where those who work on the package speak to each other."""
HOUSE_WORDS = {
    r"universes?": "possible records",
    r"record types?": "possible record",
    r"curators?": "data holder",
    r"currenc(?:y|ies)": "privacy measure",
    r"told(?!\s+apart\b)": "disclosed, named, shown",
    r"idle rules?": "a rule that changes nothing",
    r"tightened": "better hidden than written",
    r"generating pairs?": "(leave it out)",
    r"(?:an?|the|each|every|this|its|one|per|at|of|any|all|least|whole|smaller|larger) spends?": "part of the budget",
    r"faces?": "interface",
    r"rooms?(?!\s+for\b)": "module",
    r"doors?": "entry point",
    r"by hand": "manually",
    r"rehears(?:e|es|ed|al|als|ing)": "try with made-up people",
}
"""Patterns, and what to say instead."""
HOUSE_WORD = re.compile(rf"\b(?:{'|'.join(HOUSE_WORDS)})\b", re.IGNORECASE)
PLAIN_WORD = re.compile(r"\w")
SENTENCE_END = re.compile(r"(?<=[.!?])[\"'”)*_]*\s+(?=[^a-z\s])")
CODE = re.compile(r"(`+)(?:.|\n)+?\1")
TOKEN = re.compile(
    r'''\#[^\n]*|^\s*(?:def|class)\ (?P<name>\w+)|r?"""(?P<doc>.*?)"""'''
    r"""|(?P<f>\bf)?"(?P<line>(?:[^"\\\n]|\\.)*)"|'(?:[^'\\\n]|\\.)*\'""",
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
"""What a module consists of here: comments and texts between single marks, which say nothing to users; names of what
is defined; docstrings; texts. A tree of the language is made in five seconds, and this is read in half a one."""
LEAST_WORDS_OF_A_MESSAGE = 4


class Measured(NamedTuple):
    """A text: the mean and the longest of its sentences, in words, and its house words."""

    mean: float
    longest: int
    house: int

    def over(self, allowed: Measured) -> Iterator[str]:
        """What is more than is allowed."""
        for name, here, most in zip(self._fields, self, allowed, strict=True):
            if here > most:
                yield f"{name} {here:g}, at most {most:g}"

    def highest(self, other: Measured) -> Measured:
        """The higher of each."""
        return Measured(*map(max, zip(self, other, strict=True)))

    def lowest(self, other: Measured) -> Measured:
        """The lower of each."""
        return Measured(*map(min, zip(self, other, strict=True)))


GOOD = Measured(MEAN, LONGEST, 0)


def main(words: list[str]) -> int:
    """Print every rise; 1 when there are any."""
    allowed = {name: Measured(*counts) for name, counts in tomllib.loads(ALLOWED.read_text(encoding="utf-8")).items()}
    texts = dict(sources())
    if words[:1] == ["--show"]:
        print("\n".join(one for name in words[1:] for text in texts[name] for one in to_mend(text)))
        return 0
    found = {name: measured(here) for name, here in texts.items()}
    if words == ["--lower"]:
        kept = {name: counts.lowest(found[name]) for name, counts in allowed.items() if name in found}
        write({name: counts for name, counts in kept.items() if list(found[name].over(GOOD))})
        return 0
    complaints = list(breaches(found, allowed))
    print("\n".join(complaints) if complaints else "words: kept")
    return bool(complaints)


def breaches(found: dict[str, Measured], allowed: dict[str, Measured]) -> Iterator[str]:
    """What has risen, and what is allowed without need."""
    for name, counts in found.items():
        for what in counts.over(allowed.get(name, GOOD).highest(GOOD)):
            yield f"{name}: {what} (where: python checks/words.py --show {name})"
    for name in allowed:
        if name not in found or not list(found[name].over(GOOD)):
            yield f"{name}: as it should be, or gone; python checks/words.py --lower takes it off the list"


def sources() -> Iterator[tuple[str, list[str]]]:
    """Each page, the messages and the docstrings, by name, as paragraphs."""
    for path in sorted([ROOT / "README.md", *(ROOT / "policies").glob("*.md"), *(ROOT / "docs").rglob("*.md")]):
        name = path.relative_to(ROOT).as_posix()
        if not name.startswith(OWN_LANGUAGE):
            yield name, list(paragraphs(path.read_text(encoding="utf-8")))
    modules = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "dxgeom").rglob("*.py"))]
    yield "messages", [text for module in modules for text in messages(module)]
    yield "docstrings", [text for module in modules for text in docstrings(module)]


def paragraphs(page: str) -> Iterator[str]:
    """The prose of a page in Markdown: no code, no tables, no headings; each entry of a list for itself."""
    page = re.sub(r"\A---\n.*?^---$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"^ *(```+).*?^ *\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    page = re.sub(r"\$\$.*?\$\$", "", page, flags=re.DOTALL)
    page = re.sub(r"^ *(\||#|<!--).*$", "", page, flags=re.MULTILINE)
    page = re.sub(r"^ *(?:[-*+]|\d+\.) ", "\n\n", page, flags=re.MULTILINE)
    yield from filter(None, map(str.strip, re.split(r"\n\s*\n", page)))


def messages(source: str) -> Iterator[str]:
    """What a module shows, asks and refuses: its texts of some words; those that stand one behind the other are one."""
    text, end = "", 0
    for token in TOKEN.finditer(source):
        if token["line"] is None:
            continue
        part = re.sub(r"(?<!{){[^{}]*}(?!})", "`x`", token["line"]) if token["f"] else token["line"]
        between = source[end : token.start()]
        text, end = (text if not between.strip() else "") + part, token.end()
        follows = re.compile(r'\s*[rf]?"(?!"")').match(source, end)
        if not follows and len(text.split()) >= LEAST_WORDS_OF_A_MESSAGE:
            yield text


def docstrings(source: str) -> Iterator[str]:
    """Those of a module, and of what is public in it, without their examples."""
    public = True
    for token in TOKEN.finditer(source):
        if token["name"]:
            public = not token["name"].startswith("_")
        elif token["doc"] and public:
            yield from paragraphs(re.sub(r"^ *>>>.*?(?:\n\s*\n|\Z)", "", token["doc"], flags=re.M | re.S))


def sentences(text: str) -> list[str]:
    """Those of a paragraph; what stands as code or as mathematics is a word, and where a link leads is none."""
    plain = re.sub(r"\$[^$\n]+\$", "x", CODE.sub("X", re.sub(r"\]\([^)]*\)", "", text)))
    return [one for one in SENTENCE_END.split(plain) if PLAIN_WORD.search(one)]


def length(sentence: str) -> int:
    """In words; signs that stand alone are none."""
    return sum(bool(PLAIN_WORD.search(word)) for word in sentence.split())


def to_mend(text: str) -> Iterator[str]:
    """The sentences of a paragraph that are too long or hold a house word."""
    for sentence in sentences(text):
        held = HOUSE_WORD.findall(sentence)
        if held or length(sentence) > LONGEST:
            yield f"{length(sentence):3} {', '.join(held)}: {' '.join(sentence.split())}"


def measured(texts: Iterable[str]) -> Measured:
    """Paragraphs, counted."""
    each = [sentence for text in texts for sentence in sentences(text)]
    counts = [length(sentence) for sentence in each] or [0]
    mean = -(-10 * sum(counts) // len(counts)) / 10
    return Measured(mean, max(counts), sum(len(HOUSE_WORD.findall(sentence)) for sentence in each))


def write(allowed: dict[str, Measured]) -> None:
    """The list of what is not yet as it should be."""
    lines = [f'"{name}" = [{mean:g}, {longest}, {house}]' for name, (mean, longest, house) in sorted(allowed.items())]
    heading = "# Mean and longest sentence in words, and house words: may fall, never rise. See words.py."
    ALLOWED.write_text("\n".join([heading, *lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
