"""What CommonRoad's vehicles must do by mechanics: circles, understeer, trailers, loads, rest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad import vehicles
from skidpad.vehicles import start

DYNAMIC = ["commonroad_dynamic_bicycle", "commonroad_st", "commonroad_std", "commonroad_mb"]
STEPS = {"commonroad_dynamic_bicycle": 2.5e-3, "commonroad_std": 2.5e-4, "commonroad_mb": 1e-3}
"""Steps in s that RK4 is stable with at any speed; 5 ms for the others."""


def driven(car: sp.Vehicle, first: Any, duration: float, **command: float) -> Any:
    """The state after `duration` in s under a held command, starting from a state."""
    dt = STEPS.get(car.name, 5e-3)
    u = np.array(car.Input(**command), dtype=float)
    fleet = sp.Fleet(car, dt=dt, integrator="rk4", lanes=1)
    steps = round(duration / dt)
    after = fleet.rollout(np.array([first], float), u[None], steps=steps, every=steps)
    return car.State(*after[1, 0].tolist())


def speed_of(x: Any) -> float:
    return x.v if hasattr(x, "v") else x.v_x


@pytest.mark.parametrize("v", [5.0, 20.0, -6.0])
def test_steady_cornering_of_the_linear_single_track(v: float) -> None:
    car = vehicles.commonroad_st(C_f=17.0, C_r=24.0)
    p, steer = car.params, 0.03
    # Axle stiffness is C times load, so the slip angle of an axle is a_y / (C g) whatever its load.
    gradient = (1.0 / p.C_f - 1.0 / p.C_r) / p.g
    # Backwards the front tyres push from the other side: the car oversteers.
    turn = v * steer / (p.l_f + p.l_r + math.copysign(v * v, v) * gradient)
    beta = p.l_r * turn / v - math.copysign(v * turn / (p.C_r * p.g), v)
    rate = car.derivative(car.State(steer=steer, v=v, omega=turn, beta=beta), car.Input())
    assert rate.omega == pytest.approx(0.0, abs=1e-12)
    assert rate.beta == pytest.approx(0.0, abs=1e-12)


def test_the_dynamic_bicycle_settles_on_the_understeer_formula() -> None:
    car = vehicles.commonroad_dynamic_bicycle(C_f=17.0, C_r=24.0)
    p, steer, v = car.params, 1e-3, 15.0
    x = driven(car, start(car, v=v, steer=steer), 6.0)
    gradient = (1.0 / p.C_f - 1.0 / p.C_r) / p.g
    expected = x.v_x * steer / (p.l_f + p.l_r + x.v_x * x.v_x * gradient)
    assert x.omega == pytest.approx(expected, rel=1e-5)


def test_a_kinematic_circle_has_the_radius_of_its_geometry() -> None:
    car = vehicles.commonroad_kinematic_bicycle()
    p, steer, v = car.params, 0.4, -3.0
    to_rear = (p.l_f + p.l_r) / math.tan(steer)
    radius = math.hypot(to_rear, p.l_r)
    first = start(car, x=p.l_r, steer=steer, v=v)
    for duration in (1.0, 5.0):
        x = driven(car, first, duration)
        # The centre is abeam of the rear axle, which begins at the origin heading along x.
        assert math.hypot(x.x, x.y - to_rear) == pytest.approx(radius, rel=1e-9)
        assert x.yaw == pytest.approx(v * duration / radius, rel=1e-12)


@pytest.mark.parametrize("v", [0.05, 0.6, -0.6])
@pytest.mark.parametrize("name", DYNAMIC)
def test_a_slow_car_follows_its_wheels(name: str, v: float) -> None:
    car = vehicles.get(name)()
    p, steer = car.params, 0.3
    to_rear = (p.l_f + p.l_r) / math.tan(steer)
    radius = math.hypot(to_rear, p.l_r)
    turn = v / radius
    first = start(car, steer=steer, v=v, omega=turn, beta=math.asin(p.l_r / radius))
    x = driven(car, first, 1.0)
    # Tyres that resist like dampers need some slip to hold the car on its circle, more at 0.6 m/s.
    assert x.yaw == pytest.approx(speed_of(x) / speed_of(first) * turn, rel=0.02)
    if abs(v) < 0.1 and name != "commonroad_dynamic_bicycle":
        assert x.yaw == pytest.approx(turn, rel=1e-6)


def test_a_trailer_settles_behind_its_tractor() -> None:
    car = vehicles.commonroad_kst()
    p, steer = car.params, 0.2
    hitch = -math.asin(p.l_trailer * math.tan(steer) / (p.l_f + p.l_r))
    for v in (4.0, -4.0):
        rate = car.derivative(car.State(steer=steer, v=v, hitch=hitch), car.Input())
        assert rate.hitch == pytest.approx(0.0, abs=1e-15)
    x = driven(car, car.State(steer=steer, v=4.0, hitch=0.3), 60.0)
    assert x.hitch == pytest.approx(hitch, abs=1e-9)
    # It rolls on a smaller circle about the same centre: off-tracking.
    out = car.outputs(x, car.Input())
    radius = (p.l_f + p.l_r) / math.tan(steer)
    centre = x.x - radius * math.sin(x.yaw), x.y + radius * math.cos(x.yaw)
    reach = math.hypot(out.x_trailer - centre[0], out.y_trailer - centre[1])
    assert reach == pytest.approx(math.sqrt(radius**2 - p.l_trailer**2), rel=1e-9)


def test_a_trailer_folds_backwards_up_to_its_limit_and_comes_out_again() -> None:
    car = vehicles.commonroad_kst()
    folded = driven(car, car.State(v=-2.0, hitch=0.05), 40.0)
    assert folded.hitch == pytest.approx(car.params.hitch_max, abs=0.01)
    pulled = driven(car, folded._replace(v=2.0), 5.0)
    assert 0.0 < pulled.hitch < 1.0
    stuck = vehicles.commonroad_kst(compat="upstream")
    beyond = folded._replace(v=2.0, hitch=car.params.hitch_max + 1e-3)
    assert stuck.derivative(beyond, stuck.Input()).hitch == 0.0
    assert car.derivative(beyond, car.Input()).hitch < 0.0


@pytest.mark.parametrize("name", DYNAMIC)
def test_a_car_that_coasts_straight_goes_straight(name: str) -> None:
    car = vehicles.get(name)()
    x = driven(car, start(car, v=15.0), 2.0)
    assert (x.y, x.yaw, x.omega) == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert speed_of(x) == pytest.approx(15.0, abs=2e-3)
    assert x.x == pytest.approx(30.0, abs=4e-3)


@pytest.mark.parametrize("name", ["commonroad_std", "commonroad_mb"])
def test_a_free_wheel_spins_where_its_tyre_is_without_force(name: str) -> None:
    car = vehicles.get(name)()
    x = driven(car, start(car, v=20.0), 1.0)
    out = car.outputs(x, car.Input())
    tyre = car.params.tyre
    # Near zero the Magic Formula is the line p_kx1 (kappa + p_hx1) + p_vx1.
    expected = -tyre.p_hx1 - tyre.p_vx1 / tyre.p_kx1
    for field in ("kappa_f", "kappa_r", "kappa_fl", "kappa_fr", "kappa_rl", "kappa_rr"):
        if field in out._fields:
            # The car still gains a little from the spin that its wheels lose.
            assert getattr(out, field) == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize("name", ["commonroad_std", "commonroad_mb"])
def test_a_brake_locks_a_wheel_and_lets_it_roll_again(name: str) -> None:
    # All brake force in front is more than the front tyres can take.
    car = vehicles.get(name)(brake_split=1.0)
    slow = driven(car, start(car, v=20.0), 0.6, a=-11.0)
    front = [getattr(slow, n) for n in ("omega_f", "omega_fl", "omega_fr") if hasattr(slow, n)]
    assert all(0.0 < spin < car.params.omega_lock for spin in front)
    again = driven(car, slow, 0.4)
    rolling = speed_of(again) / car.params.R_w
    front = [getattr(again, n) for n in ("omega_f", "omega_fl", "omega_fr") if hasattr(again, n)]
    assert front == pytest.approx([rolling] * len(front), rel=0.01)
    upstream = vehicles.get(name)(brake_split=1.0, compat="upstream")
    held = driven(upstream, start(upstream, v=20.0), 0.6, a=-11.0)
    stuck = driven(upstream, held, 0.4)
    name = "omega_f" if hasattr(stuck, "omega_f") else "omega_fl"
    assert getattr(stuck, name) <= 0.0


def test_the_standing_multi_body_car_carries_its_weight() -> None:
    for number in (1, 2, 3):
        car = vehicles.commonroad_mb(number)
        p = car.params
        x = car.model.settle(car.State(x=3.0, yaw=1.0), p)
        out = car.outputs(x, car.Input())
        loads = [out.F_z_fl, out.F_z_fr, out.F_z_rl, out.F_z_rr]
        assert sum(loads) == pytest.approx((p.m_s + p.front.m + p.rear.m) * p.g, rel=1e-12)
        share = p.m_s * p.l_r / (p.l_f + p.l_r) + p.front.m
        assert loads[0] + loads[1] == pytest.approx(share * p.g, rel=1e-12)
        assert loads[0] == loads[1]


@pytest.mark.parametrize("name", [*DYNAMIC, "commonroad_ks", "commonroad_kst"])
def test_at_rest_it_rests(name: str) -> None:
    car = vehicles.get(name)()
    sim = sp.Simulator(car, dt=2.5e-4, integrator="rk4")
    first = sim.reset(x=1.0, y=-2.0, yaw=0.7, steer=0.4)
    for _ in range(300):
        sim.step()
    np.testing.assert_allclose(np.array(sim.state), np.array(first), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("name", ["commonroad_st", "commonroad_std"])
def test_the_slip_angle_of_a_crawling_car_follows_its_steering(name: str) -> None:
    car = vehicles.get(name)()
    p, steer, v, steer_rate = car.params, 0.8, 0.05, 0.3

    def prescribed(angle: float) -> float:
        return math.atan(math.tan(angle) * p.l_r / (p.l_f + p.l_r))

    beta = prescribed(steer)
    omega = v * math.sin(beta) / p.l_r
    x = car.State(steer=steer, v=v, beta=beta, omega=omega)
    rate = car.derivative(x, car.Input(steer_rate=steer_rate))
    h = 1e-6
    slope = (prescribed(steer + h) - prescribed(steer - h)) / (2.0 * h)
    assert rate.beta == pytest.approx(slope * steer_rate, rel=1e-8)
    turning = v * (math.sin(prescribed(steer + h)) - math.sin(prescribed(steer - h))) / (2.0 * h)
    assert rate.omega == pytest.approx(turning / p.l_r * steer_rate, rel=1e-7)
    upstream = vehicles.get(name)(compat="upstream").derivative(x, car.Input(steer_rate=steer_rate))
    assert abs(upstream.beta / rate.beta - 1.0) > 0.01


def test_upstreams_multi_body_car_begins_with_a_jump() -> None:
    sprung = vehicles.commonroad_mb()
    upstream = vehicles.commonroad_mb(compat="upstream")
    rate = upstream.derivative(start(upstream), upstream.Input())
    # Its springs are compressed by what its tyres are, about a third of a newton per newton.
    assert rate.drop_rate > 1.0
    rate = sprung.derivative(start(sprung), sprung.Input())
    assert rate.drop_rate == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", DYNAMIC)
def test_braking_ends_in_a_stand(name: str) -> None:
    car = vehicles.get(name)()
    slow = driven(car, start(car, v=6.0, steer=0.1), 0.99, a=-6.0)
    assert 0.0 < speed_of(slow) < 0.35
    v = speed_of(slow)
    still = driven(car, driven(car, slow, 0.5, a=-2.0 * v), 1.0)
    assert speed_of(still) == pytest.approx(0.0, abs=0.02)
    assert still.omega == pytest.approx(0.0, abs=0.002)


@pytest.mark.parametrize("name", DYNAMIC)
def test_backwards_a_slide_dies_out(name: str) -> None:
    car = vehicles.get(name)()
    first = start(car, v=-5.0, omega=0.3, beta=0.05)
    x = driven(car, first, 1.0)
    assert abs(x.omega) < 0.01
    assert speed_of(x) == pytest.approx(-5.0, abs=0.1)


def test_upstreams_slides_backwards_grow() -> None:
    for name in ("commonroad_dynamic_bicycle", "commonroad_st"):
        car = vehicles.get(name)(compat="upstream")
        first = start(car, v=-5.0, omega=0.3, beta=0.05)
        rate = car.derivative(first, car.Input())
        assert rate.omega > 1.0


@pytest.mark.slow
def test_in_a_left_turn_the_right_wheels_are_loaded_and_the_body_leans_out() -> None:
    car = vehicles.commonroad_mb()
    x = driven(car, start(car, v=12.0, steer=0.05), 2.0)
    out = car.outputs(x, car.Input())
    assert x.omega > 0.2
    assert out.a_y == pytest.approx(x.v_x * x.omega, rel=0.01)
    assert x.lean < -0.02
    assert out.F_z_fr > out.F_z_fl
    assert out.F_z_rr > out.F_z_rl
    assert x.omega_fr > x.omega_fl
    moment = 0.5 * car.params.front.track * (out.F_z_fr - out.F_z_fl)
    moment += 0.5 * car.params.rear.track * (out.F_z_rr - out.F_z_rl)
    # The tyres carry the roll moment of the mass, at about its height, and of the body aside.
    height, p = 0.575, car.params
    aside = -0.5 * (x.shift_f + x.shift_r)
    assert moment == pytest.approx(p.m * out.a_y * height + p.m_s * p.g * aside, rel=0.08)


@pytest.mark.parametrize("name", ["commonroad_std", "commonroad_mb"])
def test_full_throttle_on_an_icy_road_spins_the_driven_wheels_only(name: str) -> None:
    ice = {"tyre.p_dx1": 0.1, "tyre.p_dy1": 0.1, "tyre.p_kx1": 2.0, "tyre.p_ky1": -2.0}
    car = vehicles.get(name)(engine_split=0.0, **ice)
    x = driven(car, start(car, v=6.0), 0.5, a=4.0)
    front, rear = (x.omega_f, x.omega_r) if hasattr(x, "omega_f") else (x.omega_fl, x.omega_rl)
    rolling = speed_of(x) / car.params.R_w
    assert front == pytest.approx(rolling, rel=0.01)
    assert rear > 1.5 * rolling
    assert speed_of(x) < 6.0 + 0.5 * 0.1 * car.params.g
