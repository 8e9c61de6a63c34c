"""The pictures: that they are drawn, and that what cannot be drawn is refused."""

from __future__ import annotations

import itertools
import struct
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from reference.project import POLICIES

import dxgeom as dx
from dxgeom.document.axes import drawn
from dxgeom.document.scenes import heat_map
from dxgeom.planner.plan import Plan
from dxgeom.report.pictures import improvement_factors, improvement_picture, noise_body_picture


@pytest.fixture(scope="module")
def plan() -> Plan:
    policy = dx.load_policy(POLICIES / "clinic" / "policy.yaml")
    return dx.plan(policy.compile(), dx.load_queries(POLICIES / "clinic" / "queries.yaml", policy))


def size_of_png(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def line_plan(names: list[str], matrix: list[list[int]]) -> Plan:
    size = len(matrix[0])
    places = np.arange(size)
    metric = dx.verify_metric(np.abs(places[:, None] - places[None, :]), title="a line of $5")
    return dx.plan(metric, dx.LinearQueries.from_matrix(names, matrix))


def test_both_pictures_are_png_files_of_a_readable_size(plan: Plan, tmp_path: Path) -> None:
    first, second, _ = plan.queries.names
    for path in (
        noise_body_picture(plan, first, second, tmp_path / "body.png"),
        improvement_picture(plan, tmp_path / "gain.png"),
    ):
        width, height = size_of_png(path)
        assert 600 <= width <= 2000
        assert 300 <= height <= 2000
        assert 10_000 < path.stat().st_size < 2_000_000


@pytest.mark.parametrize("mechanism", ["laplace", "epsilon-dp"])
def test_the_body_of_any_chosen_mechanism_can_be_drawn(plan: Plan, tmp_path: Path, mechanism: str) -> None:
    other = dx.plan(plan.metric, plan.queries, mechanism=mechanism)  # type: ignore[arg-type]
    first, second, _ = plan.queries.names
    assert size_of_png(noise_body_picture(other, first, second, tmp_path / "body.png"))


def test_the_same_plan_gives_the_same_picture(plan: Plan, tmp_path: Path) -> None:
    first, second, _ = plan.queries.names
    one, two = (noise_body_picture(plan, first, second, tmp_path / f"{k}.png").read_bytes() for k in range(2))
    assert one == two


def test_strange_names_and_scales_that_differ_a_millionfold_do_no_harm(tmp_path: Path) -> None:
    names = ["costs $1 or $x^{$", "a name so long that nobody would read it to the end, " * 5]
    plan = line_plan(names, [[0, 1, 0, 1], [0, 0, 1_000_000, 0]])
    assert size_of_png(noise_body_picture(plan, names[0], names[1], tmp_path / "body.png"))
    assert size_of_png(improvement_picture(plan, tmp_path / "gain.png"))


@pytest.mark.long
def test_a_workload_of_many_queries_gets_a_picture_that_ends(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 2, (60, 9)).tolist()
    plan = line_plan([f"query {k}" for k in range(60)], rows)
    _, height = size_of_png(improvement_picture(plan, tmp_path / "gain.png"))
    assert height < 5000


@pytest.mark.long
def test_the_factors_are_ratios_of_root_mean_squared_errors(plan: Plan) -> None:
    factors = improvement_factors(plan)
    rmse = {
        name: dx.plan(plan.metric, plan.queries, mechanism=name).rmse()  # type: ignore[arg-type]
        for name in (*factors, "epsilon-dp")
    }
    assert set(factors) == {candidate.name for candidate in plan.candidates if candidate.per_query} - {"epsilon-dp"}
    for name, each in factors.items():
        assert each == pytest.approx(rmse["epsilon-dp"] / rmse[name])


def test_an_answer_that_is_exact_has_an_infinite_factor_and_is_still_drawn(tmp_path: Path) -> None:
    metric = dx.verify_metric([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    plan = dx.plan(metric, dx.LinearQueries.from_matrix(["third", "first"], [[0, 0, 1], [1, 0, 0]]))
    assert np.isinf(improvement_factors(plan)["laplace"][0])
    assert size_of_png(improvement_picture(plan, tmp_path / "gain.png"))
    with pytest.raises(dx.UnsupportedCombination, match="needs no noise"):
        noise_body_picture(plan, "third", "first", tmp_path / "body.png")


def test_what_cannot_be_drawn_is_refused_with_the_reason(plan: Plan, tmp_path: Path) -> None:
    path = tmp_path / "body.png"
    with pytest.raises(dx.UnsupportedCombination, match="no query 'mail'"):
        noise_body_picture(plan, "male", "mail", path)
    with pytest.raises(dx.UnsupportedCombination, match="two different queries"):
        noise_body_picture(plan, "male", "male", path)
    with pytest.raises(dx.UnsupportedCombination, match="nothing to compare"):
        improvement_picture(line_plan(["all", "twice"], [[1, 1], [2, 2]]), path)
    assert not path.exists()


def test_no_global_state_of_matplotlib_is_touched(plan: Plan, tmp_path: Path) -> None:
    before = dict(mpl.rcParams)
    improvement_picture(plan, tmp_path / "gain.png")
    assert dict(mpl.rcParams) == before


@pytest.mark.long
@pytest.mark.parametrize("inches", [4.0, 5.2, 6.4, 11.0])
def test_a_heat_map_of_any_width_has_no_words_below_boxes_or_other_words(inches: float) -> None:
    """Measured as drawn, the key included: where there is no room for figures, there are none."""
    labels = [f"{letter} or other" for letter in "ABCDEFGH"]
    whole = heat_map("kind", labels, 0.45 * np.abs(np.subtract.outer(np.arange(8), np.arange(8))))
    scene = whole.within(inches * 72 * 12 / 9)
    axes = drawn(replace(scene, width=round(inches * 72), height=round(inches * 72 * scene.height / scene.width)))
    axes.figure.canvas.draw()
    words = [(one.get_text(), one.get_window_extent()) for one in axes.texts]
    keys = [one.get_window_extent() for one in axes.patches if one.get_edgecolor()[:3] != (1, 1, 1)]
    assert 2 <= len(keys) < len(axes.patches)
    boxes = [*words, *(("a box of the key", one) for one in keys)]
    for (said, one), (also, other) in itertools.combinations(boxes, 2):
        wide, high = min(one.x1, other.x1) - max(one.x0, other.x0), min(one.y1, other.y1) - max(one.y0, other.y0)
        assert wide <= 1 or high <= 2, (said, also)
