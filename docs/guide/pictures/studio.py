"""Takes the pictures of the studio's tabs anew: ``.venv-services/bin/python docs/guide/pictures/studio.py [FOLDER]``.

It needs Chromium, as the tests of services do. Each is a picture of the page itself, of an example policy.
"""

from __future__ import annotations

import base64
import io
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from dxgeom.studio.server import StudioServer
from dxgeom.studio.session import Studio

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2] / "tests"))

from services.browser import Browser  # noqa: E402 - of the tests

POLICIES = HERE.parents[2] / "policies"
SHOWN: Final = {
    "library-loans": {"near": "#near .node"},
    "clinic": {
        "answers": "#answers tbody tr",
        "game": "#game button",
        "compare": "#compare tbody tr",
        "sign": "#sign input[type=checkbox]",
    },
}
"""The tabs of each policy, and what is there once they are drawn."""
_COLOURS, _HIGHEST = 64, 1200


def draw(folder: Path) -> list[Path]:
    """All of them. The first slider was moved and the file saved, so that there is something to compare and to sign."""
    browser = Browser()
    try:
        return [path for name, tabs in SHOWN.items() for path in _of_policy(browser, name, tabs, folder)]
    finally:
        browser.close()


def _of_policy(browser: Browser, name: str, tabs: dict[str, str], folder: Path) -> list[Path]:
    with tempfile.TemporaryDirectory() as made:
        place = shutil.copytree(POLICIES / name, Path(made) / name)
        server = StudioServer(Studio(place / "policy.yaml", place / "queries.yaml"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            browser.visit("about:blank")
            browser.visit(server.address)
            return _taken(browser, tabs, folder)
        finally:
            server.shutdown()
            server.server_close()


def _taken(browser: Browser, tabs: dict[str, str], folder: Path) -> list[Path]:
    driver, taken = browser.driver, []
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1000, "height": _HIGHEST, "deviceScaleFactor": 1, "mobile": False},
    )
    wait = WebDriverWait(driver, 120)
    wait.until(lambda _: driver.find_elements(By.CSS_SELECTOR, "#promises .lever"))
    driver.find_element(By.CSS_SELECTOR, "#promises input[type=range]").send_keys(*[Keys.ARROW_RIGHT] * 3)
    wait.until(lambda _: driver.execute_script("return document.body.dataset.settled === 'yes'"))
    wait.until(lambda _: driver.find_element(By.ID, "save").is_enabled())
    driver.find_element(By.ID, "save").click()
    wait.until(lambda _: not driver.find_element(By.ID, "save").is_enabled())
    for tab, there in tabs.items():
        driver.find_element(By.ID, f"tab-{tab}").click()
        wait.until(lambda _, there=there: driver.find_elements(By.CSS_SELECTOR, there))
        high = min(
            _HIGHEST, browser.ask(f"return document.getElementById('{tab}').getBoundingClientRect().bottom") + 16
        )
        clip = {"x": 0, "y": 0, "width": 1000, "height": high, "scale": 1}
        shown = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip})
        path = folder / f"studio-{tab}.png"
        _small(shown["data"]).save(path, optimize=True)
        taken.append(path)
    return taken


def _small(shown: str) -> Image.Image:
    """In few colours: a third of the bytes."""
    return Image.open(io.BytesIO(base64.b64decode(shown))).convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    for one in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE):
        print(one.name)
