"""Heights, slopes, normals and grip of roads against closed forms."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import RegularGridInterpolator

import skidpad as sp
from skidpad.core import record

DRAWN = np.random.default_rng(5)
X, Y = DRAWN.uniform(-12.0, 40.0, (2, 500))
LATTICE = DRAWN.normal(size=(11, 9))
ROADS = {
    "flat": sp.Road(),
    "plane": sp.Road.plane(slope=0.1, bank=-0.04, yaw=0.7, z=3.0),
    "waves": sp.Road.waves(0.3, 7.0, phase=0.4, yaw=-0.5),
    "profile": sp.Road.profile(DRAWN.normal(size=30), 0.9, x=1.0, y=-2.0, yaw=0.3),
    "smooth profile": sp.Road.profile(DRAWN.normal(size=30), 0.9, yaw=2.0, method="cubic"),
    "grid": sp.Road.grid(LATTICE, (-3.0, 2.0), (1.5, 2.5)),
    "smooth grid": sp.Road.grid(LATTICE, (-3.0, 2.0), (1.5, 2.5), method="cubic"),
    "curved": sp.Road.curved(np.linspace(0.0, 0.05, 60), 0.5, width=40.0, z=1.0, bank=0.1),
    "random": sp.Road.iso8608("E", 4, length=30.0, tracks=(-1.0, 0.2, 0.9), yaw=0.4),
}


@pytest.fixture(params=list(ROADS))
def road(request: pytest.FixtureRequest) -> sp.Road:
    return ROADS[request.param]


def test_a_plane_rises_along_and_across_its_direction() -> None:
    road = ROADS["plane"]
    along = math.cos(0.7) * X + math.sin(0.7) * Y
    across = -math.sin(0.7) * X + math.cos(0.7) * Y
    np.testing.assert_allclose(road.height(X, Y), 3.0 + 0.1 * along - 0.04 * across, atol=1e-12)
    z_x, z_y = road.gradient(X, Y)
    np.testing.assert_allclose(z_x, 0.1 * math.cos(0.7) + 0.04 * math.sin(0.7), atol=1e-15)
    np.testing.assert_allclose(z_y, 0.1 * math.sin(0.7) - 0.04 * math.cos(0.7), atol=1e-15)


def test_waves_are_a_sine_along_their_direction() -> None:
    along = math.cos(-0.5) * X + math.sin(-0.5) * Y
    expected = 0.3 * np.sin(2.0 * np.pi * along / 7.0 + 0.4)
    np.testing.assert_allclose(ROADS["waves"].height(X, Y), expected, atol=1e-12)


def test_a_grid_is_bilinear_and_keeps_the_height_of_its_border() -> None:
    axes = (-3.0 + 1.5 * np.arange(11), 2.0 + 2.5 * np.arange(9))
    inside = np.stack([np.clip(X, *axes[0][[0, -1]]), np.clip(Y, *axes[1][[0, -1]])], axis=-1)
    expected = RegularGridInterpolator(axes, LATTICE)(inside)
    np.testing.assert_allclose(ROADS["grid"].height(X, Y), expected, atol=1e-12)


def test_a_profile_lies_along_its_line() -> None:
    heights = np.array([0.0, 1.0, 4.0, 2.0])
    road = sp.Road.profile(heights, 2.0, x=1.0, y=2.0, yaw=math.pi / 2.0)
    np.testing.assert_allclose(road.height(X, 2.0 + 3.0 + 0.0 * X), 2.5, atol=1e-12)
    assert road.height(50.0, -100.0) == 0.0
    assert road.height(50.0, 100.0) == 2.0
    assert road.gradient(0.0, 5.0) == pytest.approx((0.0, 1.5), abs=1e-12)


@pytest.mark.parametrize("method", ["linear", "cubic"])
def test_heights_are_met_at_the_points(method: str) -> None:
    road = sp.Road.grid(LATTICE, (-3.0, 2.0), (1.5, 2.5), method=method)
    x, y = np.meshgrid(-3.0 + 1.5 * np.arange(11), 2.0 + 2.5 * np.arange(9), indexing="ij")
    np.testing.assert_allclose(road.height(x, y), LATTICE, atol=1e-12)


def test_slopes_are_those_of_the_height(road: sp.Road) -> None:
    """Against differences, but for the kinks between points."""
    e = 1e-6
    z_x, z_y = road.gradient(X, Y)
    differences = (
        (road.height(X + e, Y) - road.height(X - e, Y)) / (2.0 * e),
        (road.height(X, Y + e) - road.height(X, Y - e)) / (2.0 * e),
    )
    for exact, difference in zip((z_x, z_y), differences, strict=True):
        wrong = np.abs(np.broadcast_to(exact, X.shape) - difference) > 2e-6
        assert np.count_nonzero(wrong) <= 3


def test_a_smooth_grid_has_no_kinks() -> None:
    road = ROADS["smooth grid"]
    y = np.full(11, 7.3)
    x = -3.0 + 1.5 * np.arange(11)
    before, behind = (road.gradient(x + e, y) for e in (-1e-9, 1e-9))
    np.testing.assert_allclose(before[0][1:-1], behind[0][1:-1], atol=1e-7)
    np.testing.assert_allclose(before[1][1:-1], behind[1][1:-1], atol=1e-7)


def test_the_normal_has_length_one_and_stands_on_the_slopes(road: sp.Road) -> None:
    n = road.normal(X, Y)
    z_x, z_y = road.gradient(X, Y)
    np.testing.assert_allclose(n.x**2 + n.y**2 + n.z**2, 1.0, atol=1e-12)
    np.testing.assert_allclose(n.x + z_x * n.z, 0.0, atol=1e-12)
    np.testing.assert_allclose(n.y + z_y * n.z, 0.0, atol=1e-12)


def test_floats_and_arrays_give_the_same(road: sp.Road) -> None:
    z = road.height(X, Y)
    for k in range(0, 500, 50):
        one = road.height(float(X[k]), float(Y[k]))
        assert one == pytest.approx(float(np.broadcast_to(z, X.shape)[k]), abs=1e-12)
        assert road.height([float(X[k])], [float(Y[k])])[0] == pytest.approx(one, abs=1e-12)


def test_casadi_gives_the_same_with_the_slopes_as_its_derivatives(road: sp.Road) -> None:
    ca = pytest.importorskip("casadi")
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    z = ca.SX(road.height(x, y))
    slopes = [ca.jacobian(z, v) for v in (x, y)]
    function = ca.Function("f", [x, y], [z, *slopes])
    for k in range(0, 500, 60):
        place = float(X[k]), float(Y[k])
        height, z_x, z_y = (float(value) for value in function(*place))
        assert height == pytest.approx(float(road.height(*place)), abs=1e-10)
        assert (z_x, z_y) == pytest.approx(tuple(map(float, road.gradient(*place))), abs=1e-9)


@pytest.mark.slow_cases("curved", "grid", "random")
def test_jax_gives_the_same_with_the_slopes_as_its_derivatives(road: sp.Road) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        height = jax.jit(lambda x, y: road.height(x, y) + 0.0 * x)
        slopes = jax.jit(jax.grad(lambda x, y: road.height(x, y) + 0.0 * x, argnums=(0, 1)))
        for k in range(0, 500, 120):
            place = float(X[k]), float(Y[k])
            assert float(height(*place)) == pytest.approx(float(road.height(*place)), abs=1e-10)
            expected = tuple(map(float, road.gradient(*place)))
            assert tuple(map(float, slopes(*place))) == pytest.approx(expected, abs=1e-9)


def test_a_road_is_a_record_whose_class_is_its_kind(road: sp.Road) -> None:
    leaves = record.flatten(road.record)
    back = record.unflatten(type(road.record), leaves)
    np.testing.assert_array_equal(back.surface.at(X, Y).z, road.height(X, Y))
    assert type(road.record) is type(sp.Road(road.surface, road.friction).record)


@pytest.mark.slow_cases("flat", "grid", "plane", "profile", "smooth profile", "waves")
def test_it_comes_back_from_a_pickle_in_another_process(road: sp.Road) -> None:
    program = (
        "import pickle, sys; road = pickle.load(sys.stdin.buffer);"
        "print(repr(float(road.height(3.3, 1.7))), repr(float(road.grip(3.3, 1.7))))"
    )
    made = subprocess.run(
        [sys.executable, "-c", program], input=pickle.dumps(road), capture_output=True, check=True
    )
    z, mu = map(float, made.stdout.split())
    assert (z, mu) == (float(road.height(3.3, 1.7)), float(road.grip(3.3, 1.7)))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sp.Road.plane(slope=math.nan), "slope"),
        (lambda: sp.Road.waves(1.0, 0.0), "wavelength"),
        (lambda: sp.Road.profile([1.0], 1.0), "heights has shape"),
        (lambda: sp.Road.profile([1.0, 2.0], -1.0), "step"),
        (lambda: sp.Road.profile([1.0, math.inf], 1.0), r"heights\[1\] = inf must be finite"),
        (lambda: sp.Road.profile([1.0, 2.0], 1.0, method="spline"), "linear, cubic"),
        (lambda: sp.Road.grid([1.0, 2.0], 0.0, 1.0), "expected 2 axes"),
        (lambda: sp.Road.grid([["a", 2.0]], 0.0, 1.0), "heights = .* must be numbers"),
        (lambda: sp.Road.curved([0.1, 0.1], 1.0, bank=[0.0, 1.0]), "bank has shape"),
        (lambda: sp.Road.curved([0.1], 1.0, width=0.0), "width"),
        (lambda: sp.Road.iso8608("J"), "A, B, C, D, E, F, G, H"),
        (lambda: sp.Road.iso8608("A", tracks=(1.0, 1.0)), "tracks"),
        (lambda: sp.Road.iso8608("A", step=0.3), "wavelengths"),
        (lambda: sp.Road.iso8608("A", length=1e12), "too long"),
        (lambda: sp.Road().with_grip(-0.1), "grip = -0.1"),
        (lambda: sp.Road().with_grip([[1.0, 2.0], [1.0, 2.0]]), "start= and step="),
        (lambda: sp.Road().with_grip([[1.0, 2.0], [1.0, -2.0]], start=0.0, step=1.0), "at least 0"),
        (lambda: sp.vehicles.two_track(road="icy"), "must be a Road"),
    ],
)
def test_what_is_wrong_is_named(make: Any, words: str) -> None:
    with pytest.raises(sp.InvalidValue, match=words):
        make()


def test_places_that_are_no_numbers_give_nan() -> None:
    for name in ("grid", "curved", "profile"):
        z = ROADS[name].height(np.array([math.nan, 1.0]), np.array([1.0, math.nan]))
        assert np.isnan(z).any()
