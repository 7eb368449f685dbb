"""Wheels on the ground, against MVSim's recordings and against what any friction must obey."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from skidpad.vehicles.parts.wheel_friction import (
    Contact,
    Ellipse,
    Friction,
    Hub,
    Surface,
    Traction,
    WardIagnemma,
    swivelling,
    traction,
    upstream_traction,
)
from vehicles.wheeled.recordings import table

HUB = Hub(0.2, 0.08)
DT = 0.005
G = 9.81
BARE = Surface()
LAWS = {
    "default_d": Friction(),
    "default_p": Friction(0.6, 0.3, 0.02),
    "wardiagnemma_d": WardIagnemma(),
    "wardiagnemma_p": WardIagnemma(0.7, 0.2, 0.015, 20.0, 0.02, 0.05),
    "ellipse_d": Ellipse(),
    "ellipse_p": Ellipse(0.2, 0.02, 6.0, 9.0, 0.15, 0.12, 0.4, 0.3),
}
ALL = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
COULOMB = pytest.mark.parametrize("law", [Friction(0.6, 0.3, 0.02), LAWS["wardiagnemma_p"]])


def rotated(x: Any, y: Any, angle: Any) -> tuple[Any, Any]:
    c, s = np.cos(angle), np.sin(angle)
    return c * x - s * y, s * x + c * y


@pytest.mark.parametrize("name", LAWS)
def test_recorded_calls_of_upstream(name: str) -> None:
    t = table("friction", f"friction_{name}")
    mass = t["Fz"] / G + t["wheel_mass"]
    u, s = (rotated(t[a], t[b], -t["yaw"]) for a, b in (("vx", "vy"), ("grav_x", "grav_y")))
    contact = Contact(*u, t["omega_in"], t["motor_torque"], mass * G, mass, *s)
    ground = Surface(*(np.nan_to_num(t[n], nan=-1.0) for n in ("mu_override", "Crr_override")))
    hub = Hub(0.5 * t["diameter"], t["Iyy"])
    got = upstream_traction(contact, t["yaw"], hub, ground, LAWS[name], t["dt"])
    F_x, F_y = rotated(got.F_x, got.F_y, t["yaw"])
    for ours, theirs in ((F_x, t["Fx"]), (F_y, t["Fy"]), (got.spin, t["omega_out"])):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


def contacts(count: int = 200, torque: float = 20.0) -> list[Contact]:
    draw = np.random.default_rng(1).uniform
    return [
        Contact(
            draw(-2, 2), draw(-1, 1), draw(-15, 15), draw(-torque, torque), draw(10, 200),
            draw(1, 20), draw(-20, 20), draw(-20, 20),
        )
        for _ in range(count)
    ]  # fmt: skip


@ALL
def test_a_mirror_image_is_pushed_by_the_mirror_image(law: Any) -> None:
    for c in contacts():
        image = c._replace(u_y=-c.u_y, s_y=-c.s_y)
        plain, mirrored = (traction(x, HUB, BARE, law, DT) for x in (c, image))
        assert mirrored == pytest.approx(plain._replace(F_y=-plain.F_y), abs=1e-9)


@ALL
def test_driving_backwards_is_driving_forwards_turned_round(law: Any) -> None:
    for c in contacts():
        back = c._replace(u_x=-c.u_x, spin=-c.spin, torque=-c.torque, s_x=-c.s_x)
        plain, turned = (traction(x, HUB, BARE, law, DT) for x in (c, back))
        assert turned == pytest.approx(Traction(-plain.F_x, plain.F_y, -plain.spin), abs=1e-9)


@COULOMB
@pytest.mark.parametrize("circle", [False, True])
def test_coulomb_limits_hold(law: Any, circle: bool) -> None:
    saturated = 0
    for c in contacts():
        got = traction(c, HUB, BARE, law, DT, circle=circle)
        most = law.mu * c.F_z * (1.0 + 1e-12)
        size = math.hypot(got.F_x, got.F_y) if circle else max(abs(got.F_x), abs(got.F_y))
        assert size <= most
        saturated += size > 0.999 * most
    assert saturated > 50


def test_the_ellipse_stays_within_its_saturation() -> None:
    law = Ellipse()
    for c in contacts():
        got = traction(c, HUB, BARE, law, DT)
        assert abs(got.F_x) <= law.C_s * law.s_s * c.F_z + 1e-9
        assert abs(got.F_y) <= law.C_alpha * law.alpha_s * c.F_z + 1e-9


@ALL
def test_slippery_ground_limits_every_law(law: Any) -> None:
    for c in contacts():
        got = traction(c, HUB, Surface(mu=0.05), law, DT)
        assert max(abs(got.F_x), abs(got.F_y)) <= 0.05 * c.F_z + 1e-9


@ALL
def test_nothing_moves_what_rests(law: Any) -> None:
    rest = Contact(0.0, 0.0, 0.0, 0.0, 100.0, 10.0)
    assert traction(rest, HUB, BARE, law, DT) == (0.0, 0.0, 0.0)


@ALL
def test_a_wheel_that_grips_rolls_at_the_end_of_the_step(law: Any) -> None:
    c = Contact(1.0, 0.0, 5.01, 0.5, 500.0, 50.0)
    got = traction(c, HUB, Surface(C_rr=0.0), law._replace(C_damping=0.0), DT)
    assert got.spin == pytest.approx(c.u_x / HUB.radius, rel=1e-12)


@COULOMB
def test_a_wheel_that_grips_holds_its_share_on_a_side_slope(law: Any) -> None:
    c = Contact(1.0, 0.0, 5.0, 0.0, 500.0, 50.0, s_y=30.0)
    assert traction(c, HUB, BARE, law, DT).F_y == pytest.approx(-30.0)


def test_the_slope_along_a_wheel_is_left_to_its_torque() -> None:
    """Upstream's ground takes it, so that slopes cost nothing."""
    c = Contact(1.0, 0.0, 5.0, 0.0, 500.0, 50.0, s_x=30.0)
    law = Friction(C_damping=0.0)
    assert traction(c, HUB, BARE, law, DT).F_x == pytest.approx(0.0, abs=1e-9)
    assert upstream_traction(c, 0.0, HUB, BARE, law, DT).F_x == pytest.approx(-30.0)


def test_rolling_resistance_is_its_share_of_the_load() -> None:
    c = Contact(1.0, 0.0, 5.0, 0.0, 500.0, 50.0)
    law = Friction(C_damping=0.0, C_rr=0.02)
    assert traction(c, HUB, BARE, law, DT).F_x == pytest.approx(-0.02 * 500.0)
    assert traction(c, HUB, Surface(C_rr=0.05), law, DT).F_x == pytest.approx(-0.05 * 500.0)


@pytest.mark.parametrize("spin", [1e-4, 1e-3, 0.1, 5.0])
def test_rolling_resistance_stops_but_does_not_reverse(spin: float) -> None:
    c = Contact(spin * HUB.radius, 0.0, spin, 0.0, 5000.0, 10.0)
    got = traction(c, HUB, BARE, Friction(mu=5.0, C_damping=0.0, C_rr=0.9), DT)
    after = c.u_x + DT * got.F_x / c.mass
    assert after >= -1e-12
    assert after < c.u_x


def test_ward_and_iagnemma_slow_the_vehicle_upstream_only_the_first_step() -> None:
    """The force reaches the vehicle through the wheel; upstream's speeds up the wheel instead."""
    law = WardIagnemma(C_damping=0.0)
    v, F_z = 1.0, 500.0
    resistance = F_z * (law.R_1 * (1.0 - math.exp(-law.A_roll * v)) + law.R_2 * v)
    c = Contact(v, 0.0, v / HUB.radius, 0.0, F_z, 1e9)
    for _ in range(3):
        right = traction(c, HUB, BARE, law, DT)
        assert right.F_x == pytest.approx(-resistance)
        assert right.spin == pytest.approx(v / HUB.radius)
    upstream = c
    for k in range(3):
        got = upstream_traction(upstream, 0.0, HUB, BARE, law, DT)
        assert got.F_x == pytest.approx(-resistance if k == 0 else 0.0, abs=1e-9)
        upstream = upstream._replace(spin=got.spin)


def test_the_ellipse_does_not_count_the_angle_of_the_wheel_twice() -> None:
    """A steered wheel that rolls along itself has no slip, so it pushes to no side."""
    c = Contact(2.0, 0.0, 2.0 / HUB.radius, 0.0, 500.0, 50.0)
    law = Ellipse(C_damping=0.0)
    assert traction(c, HUB, BARE, law, DT).F_y == 0.0
    assert abs(upstream_traction(c, -0.3, HUB, BARE, law, DT).F_y) > 100.0


def test_the_ellipse_brakes_as_it_drives() -> None:
    """Upstream's limit has the sign of the slip; the full one acts whatever the wheel asks for."""
    law = Ellipse(C_damping=0.0)
    slow = Contact(2.0, 0.0, 1.999 / HUB.radius, 0.0, 500.0, 50.0)
    fast = slow._replace(spin=2.001 / HUB.radius)
    right = [traction(c, HUB, BARE, law, DT).F_x for c in (slow, fast)]
    assert right[0] == pytest.approx(-right[1], rel=1e-3)
    upstream = [upstream_traction(c, 0.0, HUB, BARE, law, DT).F_x for c in (slow, fast)]
    assert abs(upstream[0] + upstream[1]) > 0.4 * abs(upstream[1])


def test_the_ellipse_drives_off_from_rolling() -> None:
    """Upstream allows no force along a wheel that does not slip yet."""
    c = Contact(2.0, 0.0, 2.0 / HUB.radius, 5.0, 500.0, 50.0)
    law = Ellipse(C_damping=0.0)
    assert traction(c, HUB, BARE, law, DT).F_x > 0.0
    assert upstream_traction(c, 0.0, HUB, BARE, law, DT).F_x == 0.0


def test_the_box_allows_more_than_friction() -> None:
    c = Contact(0.0, 1.0, 0.0, 40.0, 100.0, 10.0)
    law = Friction(mu=0.5, C_damping=0.0)
    box = traction(c, HUB, BARE, law, DT, circle=False)
    circle = traction(c, HUB, BARE, law, DT)
    assert (box.F_x, box.F_y) == pytest.approx((50.0, -50.0))
    assert math.hypot(circle.F_x, circle.F_y) == pytest.approx(50.0)


@ALL
def test_a_swivelling_wheel_only_resists_rolling(law: Any) -> None:
    for c in contacts(50):
        got = swivelling(c, HUB, BARE, law)
        assert got.F_x * c.u_y == pytest.approx(got.F_y * c.u_x, abs=1e-9)
        assert got.F_x * c.u_x + got.F_y * c.u_y <= 0.0
        assert got.spin * HUB.radius == pytest.approx(math.hypot(c.u_x, c.u_y), rel=1e-6)


@pytest.mark.parametrize("ground", [BARE, Surface(mu=0.15)])
@ALL
def test_friction_is_a_circle(law: Any, ground: Surface) -> None:
    """Force over load is at most mu in any direction; a box would allow 1.4 times as much."""
    own = getattr(law, "mu", math.hypot(0.85, 0.75) if law == Ellipse() else 1.5)
    mu = own if ground.mu < 0.0 else ground.mu
    for c in contacts(torque=60.0):
        got = traction(c, HUB, ground, law, DT)
        assert math.hypot(got.F_x, got.F_y) <= mu * c.F_z * (1.0 + 1e-12)


@pytest.mark.parametrize("inertia", [0.001, 0.08, 5.0])
def test_a_sliding_wheel_is_pushed_against_its_slip(inertia: float) -> None:
    """Coulomb: where the limit is reached, the force is opposite to the slip that is left."""
    law, hub = Friction(0.6, 0.0, 0.0), Hub(0.2, inertia)
    sliding = 0
    for c in contacts(torque=60.0):
        c = c._replace(s_x=0.0, s_y=0.0)
        got = traction(c, hub, BARE, law, DT)
        # Slip of the contact patch over the ground at the end of the step.
        along = c.u_x - hub.radius * got.spin
        across = c.u_y + got.F_y * DT / c.mass
        slip = math.hypot(along, across)
        if math.hypot(got.F_x, got.F_y) < 0.6 * c.F_z * (1.0 - 1e-9):
            assert slip == pytest.approx(0.0, abs=1e-6)
            continue
        sliding += 1
        limit = 0.6 * c.F_z
        assert (got.F_x * along + got.F_y * across) / (limit * slip) == pytest.approx(
            -1.0, abs=1e-4
        )
    assert sliding > 20
