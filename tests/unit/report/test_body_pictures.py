"""Pictures of bodies: outlines are right, pictures are drawn, and what cannot be drawn is refused."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from reference.project import ROOT

from dxgeom.errors import UnsupportedCombination
from dxgeom.geometry.polytope import hull_of_differences
from dxgeom.geometry.round_bodies import Box, CrossPolytope, Ellipsoid
from dxgeom.noise.facet_cones import FacetConeNoise
from dxgeom.noise.round_laws import BoxNoise, EllipsoidNoise
from dxgeom.report.pictures import contour_picture, projections_picture, solid_picture
from dxgeom.report.projection import projection_outline

pytestmark = pytest.mark.long

THREE = ("one", "two", "three $")
UNITS = np.array([1.0, 2.0, 0.5])


def polytope():
    differences = np.random.default_rng(3).integers(-9, 10, (12, 3))
    return hull_of_differences(differences, np.ones(len(differences)))


def size_of_png(path: Path) -> tuple[int, int]:
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert 10_000 < len(content) < 1_000_000
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def area(corners):
    x, y = corners.T
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2


def test_the_shadow_of_a_box_is_a_rectangle():
    corners = projection_outline(Box(np.array([3.0, 0.5, 2.0])), 2, 0)
    assert area(corners) == pytest.approx(4 * 2 * 3)
    assert np.abs(corners).max(axis=0) == pytest.approx([2, 3])


def test_the_shadow_of_an_ellipsoid_is_an_ellipse():
    axes = np.array([[3.0, 1, 0], [0, 1, 0], [1, 0, 2]])
    corners = projection_outline(Ellipsoid(axes), 0, 2)
    exact = np.pi * np.sqrt(np.linalg.det((axes @ axes.T)[np.ix_([0, 2], [0, 2])]))
    assert exact <= area(corners) <= exact * (1 + 5e-5)


@pytest.mark.parametrize("body", [polytope(), CrossPolytope(np.array([3.0, 0.5, 2.0]))], ids=["polytope", "cross"])
def test_shadows_reach_as_far_as_their_bodies(body):
    corners = projection_outline(body, 0, 1)
    angles = np.linspace(0, 2 * np.pi, 50)
    flat = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    directions = np.column_stack([flat, np.zeros(len(flat))])
    assert np.allclose((flat @ corners.T).max(axis=1), body.support_function(directions), rtol=1e-3)
    assert area(corners) > 0


@pytest.mark.parametrize("pair", [(0, 0), (0, 3), (-1, 0)])
def test_a_shadow_needs_two_coordinates_of_the_body(pair):
    with pytest.raises(UnsupportedCombination, match="two different coordinates"):
        projection_outline(polytope(), *pair)


@pytest.mark.parametrize("law", [FacetConeNoise(polytope()), BoxNoise(Box(np.array([3.0, 1, 2])))], ids=["hull", "box"])
def test_bodies_of_three_coordinates_are_drawn(law, tmp_path):
    assert size_of_png(projections_picture(law.body, law, UNITS, THREE, tmp_path / "a.png"))[0] > 1000
    assert size_of_png(solid_picture(law.body, UNITS, THREE, tmp_path / "b.png"))[0] > 600
    again = solid_picture(law.body, UNITS, THREE, tmp_path / "c.png")
    assert again.read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_disc_and_a_thin_box_are_drawn(tmp_path):
    disc, thin = Ellipsoid(2 * np.eye(2)), Box(np.array([100.0, 1.0]))
    for body, law in ((disc, EllipsoidNoise(disc)), (thin, BoxNoise(thin))):
        assert size_of_png(contour_picture(body, law, np.ones(2), ("one", "two"), tmp_path / "d.png"))[0] > 600


def test_pictures_of_other_dimensions_are_refused(tmp_path):
    law = FacetConeNoise(polytope())
    with pytest.raises(UnsupportedCombination, match="2 coordinates"):
        contour_picture(law.body, law, UNITS[:2], ("a", "b"), tmp_path / "e.png")
    flat = BoxNoise(Box(np.ones(2)))
    with pytest.raises(UnsupportedCombination, match="3 coordinates"):
        projections_picture(flat.body, flat, UNITS, THREE, tmp_path / "e.png")
    with pytest.raises(UnsupportedCombination, match="3 coordinates"):
        solid_picture(flat.body, UNITS, THREE, tmp_path / "e.png")
    assert not (tmp_path / "e.png").exists()


def test_the_example_draws_its_pictures_and_releases_a_line(tmp_path):
    command = [sys.executable, "-W", "error", str(ROOT / "examples" / "statistics_of_numbers.py")]
    result = subprocess.run(
        [*command, "--output", str(tmp_path)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "Δ₁ = 25/8, Δ₂ between 2.268172564 and 2.268172564, Δ∞ = 2" in result.stdout
    assert "exact line: y = 0.2004 + 0.5000 x" in result.stdout
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"adjacent-outputs.png", "contours.png", "shadows.png", "cuboctahedron.png", "curved-hull.png"}
