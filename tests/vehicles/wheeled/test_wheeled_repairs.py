"""Where the default mode and the one that repeats MVSim part, beside docs/errata.md."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

import skidpad as sp
from skidpad.control.pid import Form, Gains
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts import Friction
from skidpad.vehicles.parts.wheel_friction import Ellipse, WardIagnemma
from skidpad.vehicles.wheeled import Control
from skidpad.vehicles.wheeled.description import Description, default_description

DT = 0.005
MODES = (None, "upstream")


def both(d: Description, dt: float = DT) -> tuple[sp.Simulator, sp.Simulator]:
    right, upstream = (sp.Simulator(wheeled.vehicle(d, compat), dt=dt) for compat in MODES)
    return right, upstream


def test_an_imposed_motion_is_not_slowed_by_the_wheels() -> None:
    """Upstream's friction still pulls, and what is asked for acts a step late."""
    right, upstream = both(wheeled.differential(control=Control("twist_ideal")))
    for k in range(1, 41):
        x, late = right.step(v=1.0), upstream.step(v=1.0)
        assert x.x == pytest.approx(k * DT)
        assert x.spin_left == pytest.approx(1.0 / 0.2)
        assert late.x < (k - 1) * DT + 1e-12
    assert upstream.state.x < 0.998 * 39 * DT


@pytest.mark.parametrize("kind", ["differential", "ackermann"])
def test_an_imposed_turn_is_a_circle(kind: str) -> None:
    vehicle = wheeled.vehicle(default_description(kind, control=Control("twist_ideal")))
    sim = sp.Simulator(vehicle, dt=DT)
    for _ in range(400):
        x = sim.step(v=1.0, omega=0.5)
    assert x.yaw == pytest.approx(1.0)
    # The step moves along the heading before it, so the circle is off by half a step.
    assert (x.x, x.y) == pytest.approx((2.0 * 0.8414709848, 2.0 * (1.0 - 0.5403023059)), abs=3e-3)


def test_a_caster_lets_the_robot_turn() -> None:
    """Upstream's is a fixed wheel."""
    d = wheeled.differential(
        3, control=Control("twist_pid", Gains(KP=4.0, KI=2.0, max_torque=15.0))
    )
    right, upstream = both(d, dt=0.001)
    for _ in range(2000):
        x, stuck = right.step(omega=0.6), upstream.step(omega=0.6)
    assert x.omega == pytest.approx(0.6, rel=0.1)
    assert stuck.omega < 0.2


def test_the_ellipse_turns_alike_to_both_sides() -> None:
    d = wheeled.ackermann(control=Control("raw"), friction=Ellipse())
    turned: dict[tuple[str, float], float] = {}
    for steer in (0.2, -0.2):
        for name, sim in zip(("right", "upstream"), both(d, dt=0.001), strict=True):
            for _ in range(3000):
                x = sim.step(tau_fl=60.0, tau_fr=60.0, steer=steer)
            turned[name, steer] = x.yaw
    assert turned["right", 0.2] == pytest.approx(-turned["right", -0.2], rel=1e-9)
    assert abs(turned["upstream", 0.2] + turned["upstream", -0.2]) > 0.05


def test_ward_and_iagnemma_resist_a_coasting_robot() -> None:
    d = wheeled.differential(control=Control("raw"), friction=WardIagnemma(C_damping=0.0))
    d = replace(d, chassis=replace(d.chassis, linear_damping=0.0, angular_damping=0.0))
    right, upstream = both(d)
    for sim in (right, upstream):
        sim.reset(v_x=1.0, spin_left=5.0, spin_right=5.0)
        for _ in range(200):
            sim.step()
    # A second of R_1 g and then R_2 g v would take about 0.2 m/s; the spin of the wheels helps.
    assert right.state.v_x == pytest.approx(0.79, abs=0.03)
    assert upstream.state.v_x > 0.99


def test_climbing_costs_torque() -> None:
    d = wheeled.ackermann(control=Control("raw"))
    right, upstream = both(d)
    for sim in (right, upstream):
        sim.disturb(slope_x=-0.1)
        for _ in range(100):
            sim.step(tau_fl=30.0, tau_fr=30.0)
    assert right.state.v_x < -0.1
    assert upstream.state.v_x > 0.1


def test_loads_follow_the_centre_of_mass() -> None:
    """Upstream spreads the chassis evenly over the wheels."""
    right, upstream = both(wheeled.ackermann())
    for sim in (right, upstream):
        sim.step()
    assert right.outputs().F_z_rl > 1.3 * right.outputs().F_z_fl
    assert upstream.outputs().F_z_rl == upstream.outputs().F_z_fl == (125.0 + 2.0) * 9.81


def test_damping_is_read_as_written() -> None:
    """Upstream writes a double where a float is: 3 becomes 0 and 2.125."""
    d = wheeled.differential()
    d = replace(d, chassis=replace(d.chassis, linear_damping=3.0))
    right, upstream = (wheeled.vehicle(d, compat).params.body for compat in MODES)
    assert (right.linear_damping, right.angular_damping) == (3.0, 0.1)
    assert (upstream.linear_damping, upstream.angular_damping) == (0.0, 2.125)


def test_regions_act_on_the_ellipse_too() -> None:
    d = wheeled.differential(control=Control("raw"), friction=Ellipse())
    right, upstream = both(d)
    for sim in (right, upstream):
        sim.disturb(mu_left=0.02, mu_right=0.02)
        for _ in range(100):
            sim.step(tau_left=5.0, tau_right=5.0)
    assert right.state.v_x == pytest.approx(0.02 * 9.81 * 0.5, rel=0.05)
    assert upstream.state.v_x > 2.0 * right.state.v_x


def test_feed_forward_drives_uphill() -> None:
    """Upstream's has the sign of the pitch angle, which is negative uphill."""
    d = wheeled.ackermann(
        control=Control("front_steer_pid", Gains(KP=20.0), Form(feed_forward=True)),
        friction=Friction(C_damping=0.0),
    )
    d = replace(d, chassis=replace(d.chassis, linear_damping=0.0))
    right, upstream = both(d)
    for sim in (right, upstream):
        sim.disturb(slope_x=-0.05)
        for _ in range(4000):
            sim.step(v=0.5)
    assert right.state.v_x == pytest.approx(0.5, rel=1e-2)
    assert upstream.state.v_x < 0.0


def test_a_chassis_with_a_notch_has_the_mass_where_it_is() -> None:
    """Upstream spreads it over the convex hull."""
    notched = ((-0.5, -0.5), (-0.5, 0.5), (0.5, 0.5), (0.0, 0.0), (0.5, -0.5))
    d = wheeled.differential()
    d = replace(d, chassis=replace(d.chassis, shape=notched))
    right, upstream = (wheeled.vehicle(d, compat).params.body for compat in MODES)
    # Square less triangle: the centroid of three quarters at -(1/4)(1/3) / (3/4), the wheels at 0.
    assert right.com_x == pytest.approx(-15.0 / 19.0 / 9.0)
    assert upstream.com_x == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("sign", [1.0, pytest.param(-1.0, marks=pytest.mark.slow)])
@pytest.mark.parametrize("control", ["front_steer_pid", "twist_front_steer_pid"])
def test_the_speed_is_kept_at_full_lock(control: str, sign: float) -> None:
    """Upstream's front wheels get the speeds of the turn asked for, and drive it faster."""
    d = wheeled.ackermann(control=Control(control), friction=Friction(C_damping=0.0))
    d = replace(d, chassis=replace(d.chassis, linear_damping=0.0, angular_damping=0.0))
    right, upstream = both(d)
    reached: dict[float, tuple[float, float]] = {}
    # Inside the lock, at it, beyond it; as a twist, what those angles make of the speed.
    for steer in (0.3, 0.5235, 0.8, 1.0):
        turn = {"steer": sign * steer}
        if control == "twist_front_steer_pid":
            turn = {"omega": sign * 2.0 * math.tan(steer) / 1.3}
        for sim in (right, upstream):
            sim.reset()
            for _ in range(1500):
                sim.step(v=2.0, **turn)
        assert right.state.v_x == pytest.approx(2.0, rel=0.03), steer
        reached[steer] = right.state.v_x, right.state.omega
    assert reached[0.8] == pytest.approx(reached[0.5235], rel=1e-2)
    assert reached[1.0] == pytest.approx(reached[0.8], rel=1e-6)
    assert upstream.state.v_x > 2.2


def test_a_car_told_to_turn_on_the_spot_stands() -> None:
    right, upstream = both(wheeled.ackermann(control=Control("twist_front_steer_pid")))
    for sim in (right, upstream):
        for _ in range(400):
            sim.step(omega=1.0)
    assert (right.state.x, right.state.y, right.state.yaw) == pytest.approx((0.0, 0.0, 0.0))
    assert upstream.state.v_x > 0.1
