"""A real browser without a window: Chromium by its own driver, and axe-core, which judges pages."""

from __future__ import annotations

import base64
import io
import json
import shutil
import sys
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

PROGRAMS = ("chromium", "chromedriver")
AXE = Path(sys.prefix) / "share" / "axe-core" / "axe.min.js"
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1000,900")
_GRAVE = {"serious", "critical"}


class Browser:
    """One Chromium for many pages; :meth:`close` ends it."""

    def __init__(self) -> None:
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = shutil.which("chromium") or "chromium"
        for word in _OPTIONS:
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))

    def close(self) -> None:
        """End it."""
        self.driver.quit()

    def open(self, page: Path, *, dark: bool = False, width: int = 1000) -> None:
        """Show a file; what was said of earlier pages is forgotten."""
        self.visit(page.as_uri(), dark=dark, width=width)

    def visit(self, address: str, *, dark: bool = False, width: int = 1000, height: int = 900) -> None:
        """Show what is at an address; what was said of earlier pages is forgotten."""
        self._dark = dark
        self._tell("Emulation.setEmulatedMedia", media="", features=_feature(dark))
        self._tell("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.messages()
        self.requests()
        self.driver.get(address)

    def messages(self) -> list[str]:
        """What the page's console says."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """What was asked for, since the last time."""
        events = (json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance"))
        return [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]

    def ask(self, script: str) -> Any:
        """What a script returns that is run beside the page's own, of which there are none."""
        return self.driver.execute_script(script)

    def grave_faults(self) -> list[str]:
        """What axe-core finds that keeps people from using the page."""
        self.driver.execute_script(self._axe)
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1]; axe.run(document).then(done, one => done(String(one)));"
        )
        return [
            f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}"
            for one in found["violations"]
            if one["impact"] in _GRAVE
        ]

    def picture(self, most: int) -> np.ndarray:
        """The grey of each pixel of the whole page, 0 to 255, once its fonts are there; ``most`` rows at a time."""
        from PIL import Image

        self._tell("Emulation.setEmulatedMedia", media="screen", features=_feature(self._dark))
        self.driver.execute_async_script("document.fonts.ready.then(arguments[arguments.length - 1]);")
        box = self._tell("Page.getLayoutMetrics")["cssContentSize"]
        parts = []
        for top in range(0, int(box["height"]), most):
            clip = {"x": 0, "y": top, "width": box["width"], "height": min(most, box["height"] - top), "scale": 1}
            shot = self._tell("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
            parts.append(np.asarray(Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("L")))
        return np.concatenate(parts)

    def printed(self) -> bytes:
        """The page as PDF."""
        made = self._tell("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        return base64.b64decode(made["data"])

    def _tell(self, command: str, **settings: Any) -> Any:
        return self.driver.execute_cdp_cmd(command, settings)

    @cached_property
    def _axe(self) -> str:
        return AXE.read_text(encoding="utf-8")


def _feature(dark: bool) -> list[dict[str, str]]:
    return [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
