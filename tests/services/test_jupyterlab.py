"""A notebook run in JupyterLab itself, in a real browser: what its cells show is whole, and can be read."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from reference.project import POLICIES
from services.browser import Browser
from services.detectors import CONTRAST, LAYOUT
from services.jupyterlab import JupyterLab
from services.notebook_cells import CELLS

if find_spec("selenium") is not None:  # without it all tests here are skipped
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.service("jupyterlab")
SECONDS = 180
HEIGHT = 9000
"""All cells are within the window: those outside of it are not drawn."""
GROUNDS = "return [...document.querySelectorAll('.dxgeom')].map(one => getComputedStyle(one).backgroundColor)"


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.mark.parametrize(("theme", "ground"), [("Light", "rgb(255, 255, 255)"), ("Dark", "rgb(18, 24, 31)")])
def test_what_cells_show_is_sound_in_jupyterlab(browser, tmp_path, theme, ground):
    import nbformat

    cells = [nbformat.v4.new_code_cell(text.replace("{folder!r}", repr(str(POLICIES / "clinic")))) for text in CELLS]
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), tmp_path / "clinic.ipynb")
    lab = JupyterLab(tmp_path, f"JupyterLab {theme}")
    try:
        browser.visit(lab.address("clinic.ipynb"), width=1300, height=HEIGHT)
        wait = WebDriverWait(browser.driver, SECONDS)

        def found(css):
            return wait.until(lambda driver: driver.find_elements(By.CSS_SELECTOR, css))

        found(".jp-Notebook .jp-CodeCell")
        found(".jp-Notebook-ExecutionIndicator[data-status='idle']")  # before a kernel is there, nothing is run
        next(one for one in found(".lm-MenuBar-item") if one.text == "Run").click()
        found("li[data-command='runmenu:run-all']")[0].click()
        wait.until(lambda driver: len(driver.find_elements(By.CSS_SELECTOR, ".jp-OutputArea-output .dxgeom")) == 5)
        found(".jp-OutputArea-output img")
        assert browser.ask(LAYOUT) == []
        assert browser.ask(CONTRAST) == []
        assert set(browser.ask(GROUNDS)) == {ground}
    finally:
        browser.visit("about:blank")
        lab.close()
