"""What notebooks show, below the style sheets of the programs that show notebooks."""

from __future__ import annotations

import pytest
from reference.project import POLICIES
from services.browser import Browser
from services.detectors import CONTRAST, LAYOUT
from services.hosts import VS_CODE, jupyterlab, nowhere, vs_code

import dxgeom as dx

pytestmark = pytest.mark.service("browser")
HOSTS = {
    "jupyterlab-light": lambda: jupyterlab(False),
    "jupyterlab-dark": lambda: jupyterlab(True),
    **{name: lambda name=name: vs_code(name) for name in VS_CODE},
}
SHOWN = ("clinic", "us-cities", "hospital-stays")
LOOKS = """
const of = one => {
  const look = getComputedStyle(one), box = one.getBoundingClientRect();
  const whole = one.closest('.dxgeom').getBoundingClientRect();
  const place = [box.left - whole.left, box.top - whole.top, box.width, box.height].map(Math.round);
  return [one.localName, ...place, look.fontSize, look.fontWeight, look.color, look.fill, look.textDecorationLine,
    look.borderBottomWidth, one.textContent.trim().slice(0, 20)].join(' ');
};
const all = [...document.querySelectorAll('.dxgeom, .dxgeom *:not(style)')];
return all.filter(one => one.getClientRects().length).map(of);
"""


@pytest.fixture(scope="module")
def browser():
    one = Browser()
    yield one
    one.close()


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """What a notebook shows of an example: policy, plan and release, in short and in full."""
    folder, known = tmp_path_factory.mktemp("cells"), {}

    def of(name):
        if name not in known:
            policy = dx.load_policy(POLICIES / name / "policy.yaml")
            plan = dx.plan(policy.compile(), dx.load_queries(POLICIES / name / "queries.yaml", policy))
            things = [policy, plan]
            if name == "hospital-stays":
                things.append(
                    plan.release(
                        POLICIES / name / "stays.csv", ledger=folder / "stays.db", spend="1/2", insecure_test_seed=1
                    )
                )
            known[name] = "".join(f"{one._repr_html_()}{one.in_full().fragment()}" for one in things)
        return known[name]

    return of


def look_of(browser, folder, host, words):
    page = folder / "cell.html"
    page.write_text(host.page(words), encoding="utf-8")
    browser.open(page)
    return browser.ask(LOOKS)


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("host", HOSTS)
def test_what_notebooks_show_looks_the_same_below_any_host(browser, shown, tmp_path, host, name):
    there, words = HOSTS[host](), shown(name)
    alone = look_of(browser, tmp_path, nowhere(there.dark), words)
    assert look_of(browser, tmp_path, there, words) == alone and len(alone) > 50
    assert browser.ask(LAYOUT) == []
    assert browser.ask(CONTRAST) == []
    grounds = browser.ask(
        "return [...document.querySelectorAll('.dxgeom')].map(one => getComputedStyle(one).backgroundColor)"
    )
    assert set(grounds) == {"rgb(18, 24, 31)" if there.dark else "rgb(255, 255, 255)"}
    assert browser.ask("return document.documentElement.scrollWidth") <= 1000
