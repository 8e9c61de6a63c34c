"""The studio in a real browser, with a real mouse and with the keyboard alone: every control changes what it says."""

from __future__ import annotations

import shutil
import threading
from importlib.util import find_spec

import pytest
from reference.project import POLICIES
from services.browser import Browser
from services.detectors import CONTRAST, LAYOUT

import dxgeom as dx
from dxgeom.cli.studio import opened
from dxgeom.studio.nearness import distances_from, labels_of
from dxgeom.studio.server import StudioServer
from dxgeom.studio.session import Studio
from dxgeom.studio.what_if import WhatIf, what_if_page
from dxgeom.wording.numbers import guesses, odds

if find_spec("selenium") is not None:  # without it all tests here are skipped
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import WebDriverWait

pytestmark = pytest.mark.service("browser")
SECONDS = 30


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


class Shown:
    """A studio of an example, shown."""

    def __init__(self, browser, folder, name, **how):
        self.folder = shutil.copytree(POLICIES / name, folder / name)
        self.studio = Studio(self.folder / "policy.yaml", self.folder / "queries.yaml")
        self.server = StudioServer(self.studio)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.browser, self.driver = browser, browser.driver
        browser.visit("about:blank")
        browser.visit(self.server.address, **how)
        self.until(lambda: self.text("#saved"))
        self.until(lambda: self.found("#promises .lever"))

    def found(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def one(self, css):
        return self.until(lambda: next(iter(self.found(css)), None))

    def text(self, css):
        return self.driver.execute_script(
            "const one = document.querySelector(arguments[0]); return one ? one.textContent : ''", css
        )

    def until(self, true):
        return WebDriverWait(self.driver, SECONDS).until(lambda _: true())

    def tab(self, name):
        self.one(f"#tab-{name}").click()
        self.until(lambda: self.one(f"#{name}").is_displayed())

    def lever(self, name):
        return self.until(lambda: next(iter(self.driver.find_elements(By.ID, name)), None))

    def said(self, name):
        return self.driver.execute_script(
            "return document.querySelector('output[for=\"' + arguments[0] + '\"]').textContent", name
        )

    def settled(self):
        self.until(lambda: self.driver.execute_script("return document.body.dataset.settled === 'yes'"))

    def sound(self):
        """Nothing was said to the console, nothing asked of another host, nobody is kept out."""
        assert self.browser.messages() == []
        here = f"http://127.0.0.1:{self.server.server_port}/"
        asked = [one for one in self.browser.requests() if not one.startswith(("data:", "about:", "file:"))]
        assert [one for one in asked if not one.startswith(here)] == []
        assert self.browser.grave_faults() == []
        assert self.browser.ask(LAYOUT) == []

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def shown(browser, tmp_path):
    opened = []

    def show(name="clinic", **how):
        opened.append(Shown(browser, tmp_path, name, **how))
        return opened[-1]

    yield show
    for one in opened:
        browser.driver.execute_script("window.onbeforeunload = null")
        one.close()


def test_a_slider_drawn_by_the_mouse_changes_odds_guesses_pairs_file_and_what_changed(shown):
    page = shown()
    name = "rules/0/epsilon"
    before, pairs = page.said(name), page.text("#promises .card table")
    assert before.startswith("odds at most 1.11 to 1 · 525 of 1,000")
    slider = page.lever(name)
    ActionChains(page.driver).click_and_hold(slider).move_by_offset(160, 0).release().perform()
    page.until(lambda: page.said(name) != before)
    page.settled()
    assert page.text("#promises .card table") != pairs
    assert "not saved" in page.text("#saved")
    value = page.studio.draft.levers[0].value
    assert float(value) > 0.1 and f"epsilon: {value}" in page.one("textarea").get_attribute("value")
    page.tab("compare")
    assert "hidden less well" in page.text("#compare [role=status]")
    page.one("#compare tbody button").click()
    page.until(lambda: page.found("#compare .reason .steps li"))
    assert "Before" in page.text("#compare .reason")
    page.one("#compare .reason .steps button").click()
    page.until(lambda: page.one("#file").is_displayed())
    selected = (
        "const one = document.querySelector('textarea'); return one.value.slice(one.selectionStart, one.selectionEnd)"
    )
    assert "native" in page.browser.ask(selected)
    page.sound()


def test_the_budget_moves_every_promise(shown):
    page = shown()
    before = page.said("rules/1/epsilon")
    slider = page.lever("budget")
    ActionChains(page.driver).click_and_hold(slider).move_by_offset(90, 0).release().perform()
    page.until(lambda: page.said("rules/1/epsilon") != before)


def test_the_keyboard_alone_moves_undoes_mends_and_saves(shown):
    page = shown()
    driver = page.driver
    keys = lambda *some: ActionChains(driver).send_keys(*some).perform()  # noqa: E731

    def focused(css, most=40):
        for _ in range(most):
            if driver.execute_script("return document.activeElement.matches(arguments[0])", css):
                return
            keys(Keys.TAB)
        raise AssertionError(f"the keyboard does not reach {css}")

    driver.execute_script("document.activeElement.blur()")
    focused("[role=tab]")
    keys(Keys.ARROW_RIGHT)
    assert driver.execute_script("return document.activeElement.id") != "tab-promises"
    keys(Keys.HOME)
    focused("input[type=range]")
    before = page.said("rules/0/epsilon")
    keys(Keys.ARROW_RIGHT)
    page.until(lambda: page.said("rules/0/epsilon") != before)
    page.settled()
    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0); document.getElementById('title').focus()")
    driver.execute_script("document.getElementById('undo').focus()")
    keys(Keys.ENTER)
    page.until(lambda: page.said("rules/0/epsilon") == before)
    page.settled()
    driver.execute_script("document.getElementById('tab-promises').focus()")
    keys(Keys.END)
    page.until(lambda: driver.execute_script("return document.activeElement.getAttribute('aria-selected')") == "true")
    page.tab("file")
    driver.execute_script("document.querySelector('textarea').focus()")
    ActionChains(driver).key_down(Keys.CONTROL).send_keys(Keys.END).key_up(Keys.CONTROL).perform()
    keys("\nrulez: 1")
    page.until(lambda: page.found("#file .mistakes li"))
    assert "DX105" in page.text("#file .mistakes") and page.found("#file .gutter .wrong")
    assert page.text("#file pre mark") == "rulez"
    keys(*[Keys.BACKSPACE] * 9)
    page.until(lambda: not page.found("#file .mistakes li"))
    keys("# checked")
    page.until(lambda: "not saved" in page.text("#saved"))
    page.settled()
    driver.execute_script("document.getElementById('save').focus()")
    keys(Keys.SPACE)
    page.until(lambda: "as saved" in page.text("#saved"))
    assert (page.folder / "policy.yaml").read_text().rstrip().endswith("# checked")
    dx.load_policy(page.folder / "policy.yaml")


def test_a_mistake_leads_to_its_place(shown):
    page = shown()
    page.tab("file")
    area = page.one("textarea")
    text = area.get_attribute("value").replace("epsilon: 0.1", "epsilon: lots")
    page.driver.execute_script(
        "const one = document.querySelector('textarea'); one.value = arguments[0]; "
        "one.dispatchEvent(new Event('input'))",
        text,
    )
    page.until(lambda: page.found("#file .mistakes li button"))
    # The list is made anew whenever an answer comes: an element found before may be gone.
    page.browser.ask("document.querySelector('#file .mistakes li button').click()")
    selected = (
        "const one = document.querySelector('textarea'); return one.value.slice(one.selectionStart, one.selectionEnd)"
    )
    assert page.browser.ask(selected) == "lots"
    page.tab("promises")
    assert "busy" in page.one("#promises").get_attribute("class")


@pytest.mark.parametrize("how", [{}, {"dark": True}, {"width": 390}])
def test_every_part_is_sound(shown, how):
    page = shown("hospital-stays", **how)
    page.settled()
    for tab in [one.get_attribute("id").removeprefix("tab-") for one in page.found("[role=tab]")]:
        page.tab(tab)
        page.sound()
        assert page.browser.ask(CONTRAST) == []
        assert page.browser.ask("return document.documentElement.scrollWidth") <= how.get("width", 1000)


def test_without_the_token_the_page_says_what_to_do(browser, shown):
    page = shown()
    browser.visit("about:blank")
    browser.visit(page.server.address.split("#")[0].replace("127.0.0.1", "localhost"))
    page.until(lambda: "dxgeom studio" in page.text("#note"))


def test_a_private_file_leads_to_the_page(browser, shown, monkeypatch):
    page = shown()
    browser.visit("about:blank")
    monkeypatch.setattr("webbrowser.open", browser.driver.get)
    with opened(page.server.address, browser=True):
        page.until(lambda: page.found("#promises .lever"))
    assert browser.driver.current_url == f"http://127.0.0.1:{page.server.server_port}/"
    page.sound()


def test_a_place_of_the_secret_graph_is_picked_dragged_and_lit(shown):
    page = shown("hospital-stays")
    page.tab("near")
    page.until(lambda: page.found("#near .node circle"))
    assert page.found("#near svg.near line.orange") and page.found("#near svg.near line.muted")
    heat = page.text("#near figcaption")
    before = page.text("#near .reason")
    page.browser.ask("document.querySelector('svg.near').scrollIntoView({block: 'center'})")
    nodes = page.found("#near .node circle")
    ActionChains(page.driver).move_to_element(nodes[5]).click().perform()
    page.until(lambda: page.text("#near .reason") != before)
    assert page.one("#near-second").get_attribute("value") == "5"
    circle = "document.querySelectorAll('#near .node circle')[7]"
    place = f"return [{circle}.getAttribute('cx'), {circle}.getAttribute('cy')]"
    page.browser.ask("document.querySelector('svg.near').scrollIntoView({block: 'center'})")
    was = page.browser.ask(place)
    picked = page.text("#near .reason")
    ActionChains(page.driver).click_and_hold(page.found("#near .node circle")[7]).move_by_offset(
        40, 30
    ).release().perform()
    assert page.browser.ask(place) != was and page.text("#near .reason") == picked
    page.one("#near-first").send_keys(Keys.ARROW_DOWN)
    page.until(lambda: page.text("#near .reason") != picked)
    assert heat


def test_names_of_a_graph_stay_in_its_picture(shown):
    page = shown("library-loans")
    page.tab("near")
    page.until(lambda: page.found("#near .node text"))
    page.sound()


def test_a_city_is_picked_on_the_map(shown):
    page = shown("us-cities")
    page.tab("near")
    page.until(lambda: len(page.found("#near .node")) == 976)
    before = page.text("#near .reason")
    ActionChains(page.driver).move_to_element(page.found("#near .node circle")[400]).click().perform()
    page.until(lambda: page.text("#near .reason") != before)


def test_answers_follow_what_is_spent_and_a_smaller_error_has_its_price(shown):
    page = shown()
    page.tab("answers")
    page.until(lambda: page.found("#answers tbody tr"))
    before = page.text("#answers tbody")
    slider = page.one("#share")
    ActionChains(page.driver).click_and_hold(slider).move_by_offset(-200, 0).release().perform()
    page.until(lambda: page.text("#answers tbody") != before)
    page.one("#answers tbody input").send_keys("60", Keys.TAB)
    page.until(lambda: "It costs" in page.text("#answers tbody"))
    words = page.text("#answers output")
    page.one("#answers tbody button").click()
    page.until(lambda: page.text("#answers output") != words)
    page.one("#try").click()
    page.until(lambda: page.found("#answers figure"))
    page.tab("promises")
    slider = page.lever("rules/0/epsilon")
    ActionChains(page.driver).click_and_hold(slider).move_by_offset(90, 0).release().perform()
    page.settled()
    page.tab("answers")
    page.until(lambda: "The policy has changed since" in page.text("#answers [role=status]"))
    page.one("#answers button.strong").click()
    page.until(lambda: "The policy has changed since" not in page.text("#answers [role=status]"))
    page.until(lambda: "Spending" in page.text("#answers [role=status]"))
    page.sound()


def test_the_game_is_played_and_its_rounds_stay_below_the_promise(shown):
    page = shown()
    page.tab("game")
    said = page.text("#game")
    page.found("#game button")[0].click()
    page.until(lambda: "1 right" in page.text("#game") or "0 of 1 right" in page.text("#game"))
    assert page.text("#game") != said
    page.browser.ask("for (let k = 0; k < 20; k += 1) document.querySelectorAll('#game button')[2].click()")
    shown_right = int(page.text("#game [aria-live]").split("which is ")[1].split(" of")[0])
    assert (
        abs(shown_right - 525) <= 15
    )  # of 20,001 rounds; 4 standard deviations are 14, and one round is not played so
    page.one("#game-promise").send_keys(Keys.ARROW_DOWN)
    page.until(lambda: "732 of 1,000" in page.text("#game"))


def test_decisions_are_ticked_named_and_exported(shown):
    page = shown()
    page.tab("sign")
    page.until(lambda: page.found("#sign input[type=checkbox]"))
    assert not page.one("#export").is_enabled()
    ground = "return getComputedStyle(document.getElementById('export')).backgroundColor"
    off = page.browser.ask(ground)
    for box in page.found("#sign input[type=checkbox]"):
        box.click()
    page.one("#signer").send_keys("A. Lawyer")
    page.until(lambda: page.one("#export").is_enabled())
    assert page.browser.ask(ground) != off
    page.one("#export").click()
    page.until(lambda: "decisions-" in page.text("#sign [role=status]"))
    assert page.browser.printed().startswith(b"%PDF")
    page.sound()


def test_what_if_reckons_in_the_page_what_a_compiled_policy_says(browser, tmp_path):
    what = WhatIf(dx.load_policy(POLICIES / "districts" / "policy.yaml"))
    page = tmp_path / "what-if.html"
    page.write_text(what_if_page(what.policy), encoding="utf-8")
    browser.visit("about:blank")
    browser.open(page)
    driver = browser.driver
    shown = "return document.getElementById(arguments[0]).textContent"
    for k in what.levers:
        slider = driver.find_element(By.ID, f"rule-{k + 1}")
        for steps in (4, -7):
            at = int(slider.get_attribute("value"))
            slider.send_keys(*[Keys.ARROW_RIGHT if steps > 0 else Keys.ARROW_LEFT] * abs(steps))
            assert int(slider.get_attribute("value")) == at + steps
    assert "differ from the file" in driver.execute_script(shown, "state")
    moved = {k: lever.stops[lever.stops.index(lever.value) - 3] for k, lever in what.levers.items()}
    other = what._with(moved)
    for place, name in enumerate(what.names):
        driver.find_element(By.CSS_SELECTOR, f"#attribute option[value='{place}']").click()
        size = len(labels_of(other, name))
        told = distances_from(other, name, 0, size) * float(other.budget)
        for k in range(1, size, 1 + size // 5):
            driver.find_element(By.CSS_SELECTOR, f"#other option[value='{k}']").click()
            assert f"{odds(told[k])} · {guesses(told[k])} of" in driver.execute_script(shown, "pair"), (name, k)
    assert driver.find_elements(By.CSS_SELECTOR, "#counts tbody tr")
    assert browser.messages() == [] and browser.grave_faults() == []
    assert [one for one in browser.requests() if not one.startswith(("data:", "about:", "file:"))] == []


@pytest.mark.parametrize("how", [{}, {"dark": True}, {"width": 390}])
def test_what_if_is_sound(browser, tmp_path, how):
    page = tmp_path / "what-if.html"
    page.write_text(what_if_page(dx.load_policy(POLICIES / "tenants" / "policy.yaml")), encoding="utf-8")
    browser.visit("about:blank")
    browser.open(page, **how)
    assert browser.messages() == [] and browser.grave_faults() == [] and browser.ask(LAYOUT) == []
    assert browser.ask("return document.documentElement.scrollWidth") <= how.get("width", 1000)
