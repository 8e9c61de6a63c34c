"""Pictures of pages, recorded by ``PYTHONPATH=tests .venv-services/bin/python -m services.recorded_pictures``.

Each letter is drawn as a box, in a font made here, so that a page breaks its lines alike on every machine. Of a picture
the mean grey of every 40 by 40 pixels is kept, in 16 steps: what moves, appears, vanishes or changes its colour is
seen; what a word says is not. Record anew only where a change of looks is meant, and say in the commit which.
"""

from __future__ import annotations

import base64
import io
import json
import re
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np
from reference.project import POLICIES, TESTS
from services.browser import Browser
from services.hosts import jupyterlab, vs_code

import dxgeom as dx

RECORDED = TESTS / "services" / "recorded_pictures.json"
EXAMPLES = sorted(path.name for path in POLICIES.iterdir() if path.is_dir())
PAGES = {"light": {"width": 1000}, "dark": {"width": 1000, "dark": True}}
"""Telephones and paper are judged by rules: there another font of the machine moves boxes by a pixel or two."""
CELLS = {"jupyterlab": lambda: jupyterlab(False), "vs code": lambda: vs_code("vscode-dark")}
BLOCK = 40
_STEPS = 16
_SLICE = 4000
_POLICY_OF_THE_PAGE = re.compile('<meta http-equiv="Content-Security-Policy"[^>]*>')


def pictures_of(browser: Browser, folder: Path, name: str) -> dict[str, np.ndarray]:
    """Of an example, by how it is looked at, the steps of grey of all blocks."""
    policy = dx.load_policy(POLICIES / name / "policy.yaml")
    plan = dx.plan(policy.compile(), dx.load_queries(POLICIES / name / "queries.yaml", policy))
    page = dx.report.review_page(policy, plan, spend=policy.budget / 2).html()
    cell = f"{policy._repr_html_()}{plan._repr_html_()}"
    found = {look: _picture(browser, folder, page, **how) for look, how in PAGES.items()}
    for look, host in CELLS.items():
        found[look] = _picture(browser, folder, host().page(cell), width=1000)
    return found


def recorded(name: str) -> dict[str, np.ndarray]:
    """What was recorded of an example."""
    kept = json.loads(RECORDED.read_text(encoding="utf-8"))[name]
    return {look: _unpacked(one) for look, one in kept.items()}


def differing(one: np.ndarray, other: np.ndarray) -> list[tuple[int, int]]:
    """Row and column of each block that is darker or lighter by two steps or more, or that only one of them has."""
    high, wide = np.maximum(one.shape, other.shape)
    far = np.full((2, high, wide), [[[-_STEPS]], [[-2 * _STEPS]]])
    for place, picture in zip(far, (one, other), strict=True):
        place[: picture.shape[0], : picture.shape[1]] = picture
    return [(int(row), int(column)) for row, column in np.argwhere(abs(far[0] - far[1]) >= 2)]


def _picture(browser: Browser, folder: Path, page: str, *, width: int, dark: bool = False):
    file = folder / "page.html"
    plain = _POLICY_OF_THE_PAGE.sub("", page)
    file.write_text(plain.replace("</head>", f"{_style()}</head>") if "</head>" in plain else plain + _style())
    browser.open(file, dark=dark, width=width)
    return _blocks(browser.picture(_SLICE))


def _blocks(grey: np.ndarray) -> np.ndarray:
    high, wide = (-(-size // BLOCK) * BLOCK for size in grey.shape)
    whole = np.full((high, wide), np.nan)
    whole[: grey.shape[0], : grey.shape[1]] = grey
    means = np.nanmean(whole.reshape(high // BLOCK, BLOCK, wide // BLOCK, BLOCK), axis=(1, 3))
    return np.minimum(means * _STEPS / 256, _STEPS - 1).astype(np.int64)


def _packed(blocks: np.ndarray) -> list:
    return [blocks.shape[1], base64.b64encode(zlib.compress(blocks.astype(np.uint8).tobytes(), 9)).decode()]


def _unpacked(kept: list) -> np.ndarray:
    flat = np.frombuffer(zlib.decompress(base64.b64decode(kept[1])), dtype=np.uint8)
    return flat.astype(np.int64).reshape(-1, kept[0])


@cache
def _style() -> str:
    font = base64.b64encode(font_of_boxes()).decode()
    source = f"src: url(data:font/ttf;base64,{font})"
    everywhere = "html *, html { font-family: boxes !important; font-style: normal !important; }"
    return f"<style>@font-face {{ font-family: boxes; font-weight: 100 900; {source} }} {everywhere}</style>"


def font_of_boxes() -> bytes:
    """A font in which each sign that is not blank is the same box, half as wide as it is high."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    for k, corner in enumerate(((60, 0), (60, 700), (440, 700), (440, 0))):
        (pen.lineTo if k else pen.moveTo)(corner)
    pen.closePath()
    box = pen.glyph()
    builder = FontBuilder(1000)
    builder.setupGlyphOrder([".notdef", "box", "blank"])
    signs = dict.fromkeys((*range(0x21, 0xA0), *range(0xA1, 0x2000), *range(0x2010, 0x3000)), "box")
    builder.setupCharacterMap({**signs, 0x20: "blank", 0xA0: "blank", 0x202F: "blank"})
    empty = TTGlyphPen(None).glyph()
    builder.setupGlyf({".notdef": box, "box": box, "blank": empty})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "box", "blank"), (500, 60)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": "boxes", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
    builder.setupPost()
    made = io.BytesIO()
    builder.save(made)
    return made.getvalue()


def record(names: list[str]) -> None:
    """Those of some examples, or of all."""
    browser = Browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names or EXAMPLES:
                kept = json.loads(RECORDED.read_text(encoding="utf-8")) if RECORDED.exists() else {}
                found = pictures_of(browser, Path(folder), name)
                kept[name] = {look: _packed(blocks) for look, blocks in found.items()}
                known = {one: kept[one] for one in EXAMPLES if one in kept}
                RECORDED.write_text(json.dumps(known, indent=0) + "\n", encoding="utf-8")
    finally:
        browser.close()


if __name__ == "__main__":
    record(sys.argv[1:])
