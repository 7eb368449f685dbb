"""What a wheel and a body meet on a road."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import skidpad as sp
from skidpad.road import plane_motion, wheel_contact
from skidpad.road.records import plane_under
from skidpad.vehicles.parts.on_road import road_under_car

PLACES = ((1.2, 0.7), (1.2, -0.7), (-1.4, 0.75), (-1.4, -0.75))
G = 9.81


def moving(**values: float) -> SimpleNamespace:
    still = {"x": 0.0, "y": 0.0, "yaw": 0.0, "v_x": 0.0, "v_y": 0.0, "omega": 0.0}
    return SimpleNamespace(**still | values)


@pytest.mark.parametrize("yaw", [0.0, 0.4, 2.5, -1.1])
def test_slope_and_bank_are_those_along_and_across_the_heading(yaw: float) -> None:
    road = sp.Road.plane(slope=0.1, bank=0.05, yaw=0.4).with_grip(0.7)
    at = wheel_contact(road.record, 3.0, -2.0, yaw)
    turn = yaw - 0.4
    assert at.slope == pytest.approx(0.1 * math.cos(turn) + 0.05 * math.sin(turn))
    assert at.bank == pytest.approx(-0.1 * math.sin(turn) + 0.05 * math.cos(turn))
    assert at.z == pytest.approx(road.height(3.0, -2.0))
    assert at.grip == 0.7


def test_gravity_in_the_axes_of_the_road_has_length_one() -> None:
    """And stands on the road as the angles say: sine along a slope, cosine onto it."""
    slope, bank = np.random.default_rng(2).uniform(-0.8, 0.8, (2, 200))
    for s, b in zip(slope, bank, strict=True):
        at = wheel_contact(sp.Road.plane(float(s), float(b)).record, 0.0, 0.0, 0.0)
        e_1 = np.array([1.0, 0.0, s]) / math.hypot(1.0, s)
        n = np.array(at.normal)
        e_2 = np.cross(n, e_1)
        down = np.array([0.0, 0.0, -1.0])
        np.testing.assert_allclose(at.down, [down @ e_1, down @ e_2, down @ n], atol=1e-12)
    steep = wheel_contact(sp.Road.plane(math.tan(0.3)).record, 0.0, 0.0, 0.0)
    assert steep.down == pytest.approx((-math.sin(0.3), 0.0, -math.cos(0.3)))
    banked = wheel_contact(sp.Road.plane(bank=math.tan(0.3)).record, 0.0, 0.0, 0.0)
    assert banked.down == pytest.approx((0.0, -math.sin(0.3), -math.cos(0.3)))


def test_the_plane_under_wheels_is_that_of_a_plane() -> None:
    road = sp.Road.plane(slope=0.2, bank=-0.1).record
    contacts = [wheel_contact(road, x, y, 0.0) for x, y in PLACES]
    plane = plane_under(contacts, PLACES)
    assert (plane.slope, plane.bank) == pytest.approx((0.2, -0.1))


@pytest.mark.parametrize(("slope", "bank"), [(0.3, 0.2), (-0.1, 0.4), (0.0, -0.3)])
def test_on_a_plane_nothing_is_lifted_and_speeds_are_kept(slope: float, bank: float) -> None:
    """Seen in the plane itself a body that turns by omega turns by omega."""
    road = sp.Road.plane(slope, bank).record
    normal = np.array([-slope, -bank, 1.0]) / math.sqrt(1.0 + slope**2 + bank**2)
    for yaw in np.linspace(0.0, 6.0, 9):
        c, s = math.cos(yaw), math.sin(yaw)
        places = [(c * x - s * y, s * x + c * y) for x, y in PLACES]
        contacts = [wheel_contact(road, x, y, float(yaw)) for x, y in places]
        motion = plane_motion(plane_under(contacts, PLACES), float(yaw), 5.0, -1.0, 0.4)
        assert motion.lift == pytest.approx(0.0, abs=1e-12)
        velocity = np.array([motion.x, motion.y, slope * motion.x + bank * motion.y])
        assert np.linalg.norm(velocity) == pytest.approx(math.hypot(5.0, 1.0))
        # Rate of the direction in the plane: that of its horizontal part, lifted onto the plane.
        e, e_rate = (np.array([a, b, slope * a + bank * b]) for a, b in ((c, s), (-s, c)))
        turning = np.cross(e, e_rate * motion.yaw) @ normal / (e @ e)
        assert turning == pytest.approx(0.4)


def test_on_a_banked_circle_gravity_turns_the_car() -> None:
    """tan θ = v² / (g R): then gravity along the road is all that the turn needs."""
    radius, angle = 400.0, 0.25
    v = math.sqrt(G * radius * math.tan(angle))
    # To the left, so that the right side is the high one.
    # Its heading changes at the points, of which a wheelbase has 52 or 51.
    bends = np.full(2400, 1.0 / radius)
    road = sp.Road.curved(bends, 0.05, width=12.0, bank=-math.tan(angle))
    u = 60.0
    x, y = radius * math.sin(u / radius), radius - radius * math.cos(u / radius)
    omega = v / radius * math.cos(angle)
    state = moving(x=x, y=y, yaw=u / radius, v_x=v, omega=omega)
    under = road_under_car(road.record, state, PLACES, G)
    assert under.pull is not None
    assert under.pull.y == pytest.approx(v * omega, rel=2e-4)
    assert under.pull.x == pytest.approx(0.0, abs=1e-3)
    assert under.pose_rate.yaw == pytest.approx(v / radius, rel=2e-3)
    pressing = G * math.cos(angle) + v * v / radius * math.sin(angle)
    assert under.press == pytest.approx(pressing, rel=5e-3)
    assert under.press == pytest.approx(G / math.cos(angle), rel=5e-3)


def test_crests_lift_and_dips_press() -> None:
    """By the square of the speed times the curvature, as long as waves are."""
    amplitude, wavelength, v = 0.5, 200.0, 30.0
    road = sp.Road.waves(amplitude, wavelength).record
    bend = amplitude * (2.0 * math.pi / wavelength) ** 2
    crest = road_under_car(road, moving(x=50.0, v_x=v), PLACES, G)
    dip = road_under_car(road, moving(x=150.0, v_x=v), PLACES, G)
    assert crest.press == pytest.approx(G - v * v * bend, rel=1e-3)
    assert dip.press == pytest.approx(G + v * v * bend, rel=1e-3)


def test_a_car_that_flies_is_not_pulled_down() -> None:
    road = sp.Road.waves(2.0, 50.0).record
    over = road_under_car(road, moving(x=12.5, v_x=60.0), PLACES, G)
    assert over.press == pytest.approx(0.0, abs=1e-9)


def bowl() -> sp.Road:
    """A cone that is rounded at its tip: banked curves of every radius."""
    across = np.arange(-40.0, 40.5, 1.0)
    x, y = np.meshgrid(across, across, indexing="ij")
    heights = 0.4 * np.sqrt(25.0 + x * x + y * y)
    return sp.Road.grid(heights, (-40.0, -40.0), 1.0, method="cubic")


@pytest.mark.parametrize("road", [bowl(), sp.Road.waves(0.8, 25.0)], ids=["bowl", "waves"])
def test_the_work_of_gravity_is_the_rise_of_the_centre_of_mass(road: sp.Road) -> None:
    """Which stands on its wheels: by differences of heights along the motion, for any motion."""
    rng, shares = np.random.default_rng(4), (1.4, 1.4, 1.2, 1.2)

    def height(at: np.ndarray) -> float:
        c, s = math.cos(at[2]), math.sin(at[2])
        wheels = [(at[0] + c * a - s * b, at[1] + s * a + c * b) for a, b in PLACES]
        return sum(w * road.height(*place) for w, place in zip(shares, wheels, strict=True)) / 5.2

    for _ in range(40):
        pose, (v_x, v_y, omega) = rng.uniform(-20.0, 20.0, 3), rng.uniform(-9.0, 9.0, 3)
        state = moving(x=pose[0], y=pose[1], yaw=pose[2], v_x=v_x, v_y=v_y, omega=omega)
        under = road_under_car(road.record, state, PLACES, G)
        step = 1e-5 * np.array(under.pose_rate)
        rising = (height(pose + step) - height(pose - step)) / 2e-5
        pull = under.standing
        assert pull is not None
        power = pull.x * v_x + pull.y * v_y + pull.turn * omega
        assert power == pytest.approx(-G * rising, rel=1e-5, abs=1e-5)


def test_a_flat_road_does_nothing() -> None:
    state = moving(x=1.0, yaw=0.3, v_x=5.0, v_y=0.2, omega=0.1)
    under = road_under_car(sp.Road().record, state, PLACES, G)
    assert under.pull is None
    assert under.grip is None
    assert under.press == G
    icy = road_under_car(sp.Road().with_grip(0.2).record, state, PLACES, G)
    assert icy.pull is None
    assert icy.grip == (0.2, 0.2, 0.2, 0.2)
