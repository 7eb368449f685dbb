"""`full_car` on roads that are not flat: bumps, random roads, crests and grades."""

from __future__ import annotations

import math
from typing import Any

import casadi as ca
import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.road import road as iso8608
from skidpad.tyres import LinearTyre
from skidpad.tyres.contract import Carcass
from skidpad.vehicles.parts.chassis import Acting, Pressed
from skidpad.vehicles.parts.kinematics import Acceleration, PoseRate
from skidpad.vehicles.parts.load_transfer import Force
from skidpad.vehicles.parts.on_road import RoadUnderCar, Unevenness, road_under_car
from skidpad.vehicles.parts.suspension import (
    LinearDamper,
    LinearSpring,
    SuspendedBody,
    SuspensionState,
    corner,
    corner_loss,
    independent_suspension,
    travel_rates,
)
from skidpad.vehicles.twin_track.body import places

full_car = sp.vehicles.full_car
WHEELS = ("fl", "fr", "rl", "rr")
G = 9.81
FREE = LinearTyre(trail=0.0, carcass=Carcass(rolling=0.0))
"""Rolls without resistance."""
HELD = corner(spring=LinearSpring(k=22000.0), damper=LinearDamper(c=1500.0))
LEVEL = RoadUnderCar(PoseRate(0.0, 0.0, 0.0), None, G, None, G, G)


def rolling(road: sp.Road, **values: Any) -> sp.Vehicle:
    chassis = independent_suspension(SuspendedBody(c_t_f=0.0, c_t_r=0.0), HELD, HELD)
    return full_car(**{"road": road, "tyre": FREE, "C_drag": 0.0, "chassis": chassis} | values)


def driven(car: sp.Vehicle, v_x: float, duration: float, dt: float = 0.001, **u: float) -> Any:
    sim = sp.Simulator(car, dt=dt, integrator="rk4")
    sim.reset(v_x=v_x)
    return sim.run(u, duration=duration)


def bump(height: float, length: float) -> sp.Road:
    s = np.linspace(0.0, 1.0, 21)
    level = np.zeros(40)
    heights = np.concatenate([level, 0.5 * height * (1.0 - np.cos(2.0 * math.pi * s)), level])
    return sp.Road.profile(heights, length / 20.0, x=3.0, method="cubic")


def test_what_a_bump_takes_from_the_speed_went_into_dampers_and_slip() -> None:
    """Energy before a bump and after it has died out: what is missing, dampers and tyres took."""
    dt = 0.001
    car = rolling(bump(0.02, 2.0))
    p, run = car.params, driven(car, 10.0, 5.0, dt)
    x = car.State(*(run[name] for name in car.State._fields))

    def energy(k: int) -> float:
        at = car.State(*(column[k] for column in x))
        spins = sum(getattr(at, f"spin_{w}") ** 2 for w in WHEELS)
        return 0.5 * (p.m * at.v_x**2 + p.I_w * spins) + p.chassis.energy(at, G, p)

    corners = zip([HELD] * 4, travel_rates(x, p.chassis.body, p), strict=True)
    lost = sum(corner_loss(held, rate) for held, rate in corners)
    slid = sum(run[f"F_x_{w}"] * run[f"kappa_{w}"] * run["v_x"] for w in WHEELS)
    total = np.trapezoid(lost + slid, dx=dt)
    assert total > 50.0
    assert energy(0) - energy(-1) == pytest.approx(total, rel=2e-4)
    assert run["v_x"][-1] < 10.0


def response(p: Any, v: float, f: np.ndarray) -> np.ndarray:
    """Acceleration of the body over the height of a road that front and rear wheels meet one after
    the other, in the frame of the world: linear, and of the suspension alone."""
    count = len(SuspensionState._fields)
    z, h, r = ca.SX.sym("z", count), ca.SX.sym("h", 2), ca.SX.sym("r", 2)
    heights: Any = (h[0], h[0], h[1], h[1])
    rates: Any = (r[0], r[0], r[1], r[1])
    road = LEVEL._replace(uneven=Unevenness(heights, rates, (), 0.0, 0.0, 0.0))

    class Straight(SuspensionState):
        v_y = 0.0

    at: Any = Straight
    x: Any = at(*ca.vertsplit(z))
    calm, still = Pressed(0.0, 0.0), Acceleration(0.0, 0.0)
    now = Acting(p.chassis.loads(x, road, calm, p), (Force(0.0, 0.0),) * 4, still, calm, road)
    moving = ca.vertcat(*p.chassis.rates(x, now, p))
    slopes = ca.Function("J", [z, h, r], [ca.jacobian(moving, q) for q in (z, h, r)])
    A, B_h, B_r = (np.array(J) for J in slopes(np.zeros(count), np.zeros(2), np.zeros(2)))
    row = SuspensionState._fields.index("heave_rate")
    base, answers = p.l_f + p.l_r, []
    for w in 2j * math.pi * f:
        ground = np.array([1.0, np.exp(-w * base / v)])
        motion = np.linalg.solve(w * np.eye(count) - A, B_h @ ground + B_r @ (w * ground))
        answers.append(w * motion[row])
    return np.array(answers)


@pytest.mark.slow
@pytest.mark.parametrize("wavelength", [2.0, 8.0])
def test_waves_shake_the_body_as_its_transfer_function_says(wavelength: float) -> None:
    """Small waves at a constant speed: the amplitude of a_z is |H| times that of the road, though
    the car is told from a plane that tilts and rises with the waves."""
    v, amplitude = 12.0, 1e-3
    car = rolling(sp.Road.waves(amplitude, wavelength))
    run = driven(car, v, 16.0)
    f = v / wavelength
    tail = slice(-round(10.0 / f / 0.001), None)
    want = amplitude * np.abs(response(car.params, v, np.array([f]))[0])
    assert np.ptp(run["a_z"][tail]) / 2.0 == pytest.approx(want, rel=0.01)


@pytest.mark.slow
def test_a_random_road_shakes_it_by_its_spectrum() -> None:
    """The mean square of a_z over a class B road against the integral of |H|² G_d(n) / v.

    In 50 s at 20 m/s there are some hundred independent swings of the body: the mean square is
    certain to about 10 %, and 30 % are three times that.
    """
    v, length = 20.0, 1000.0
    road = sp.Road.iso8608("B", 3, length=length, tracks=(-0.01, 0.01))
    car = rolling(road)
    run = driven(car, v, 0.95 * length / v)
    measured = float(np.mean(run["a_z"][2000:] ** 2))
    f = np.linspace(0.011 * v, 2.83 * v, 4000)
    spectrum = iso8608.psd(f / v, "B") / v
    want = float(np.trapezoid(np.abs(response(car.params, v, f)) ** 2 * spectrum, f))
    assert measured == pytest.approx(want, rel=0.3)
    loads = np.array([run[f"F_z_{w}"] for w in WHEELS])
    assert loads.mean(axis=1).sum() == pytest.approx(car.params.m * G, rel=0.01)


def test_it_leaves_a_crest_and_lands() -> None:
    """Up a ramp and over its edge: no load on any wheel and free fall, then all of the weight."""
    x = np.arange(0.0, 30.0, 0.25)
    heights = np.interp(x, [0.0, 5.0, 15.0, 16.0, 30.0], [0.0, 0.0, 1.0, 0.0, 0.0])
    car = rolling(sp.Road.profile(heights, 0.25, method="cubic"))
    run = driven(car, 20.0, 8.0)
    loads = np.array([run[f"F_z_{w}"] for w in WHEELS])
    flying = loads[:, :1500].max(axis=0) == 0.0
    # A stone that goes up at 20 m/s times 0.1 and comes down 1 m lower; springs reach for the road.
    stone = (2.0 + math.sqrt(2.0**2 + 2.0 * G)) / G
    assert 0.7 * stone < flying.sum() * 0.001 < stone
    assert loads.max() > 2.0 * loads[:, 0].max()
    assert loads[:, -1].sum() == pytest.approx(car.params.m * G, rel=0.01)
    assert abs(run["heave"][-1]) < 0.01


@pytest.mark.slow
def test_it_stands_on_a_grade() -> None:
    """Braked on 20 %: once its springs are quiet nothing moves, and loads are those of statics."""
    car = full_car(road=sp.Road.plane(0.2))
    run = driven(car, 0.0, 12.0, **{f"brake_{w}": 1500.0 for w in WHEELS})
    assert abs(run["v_x"][-1]) < 1e-6
    assert np.abs(run["v_x"][-2000:]).max() < 1e-6
    p, angle = car.params, math.atan(0.2)
    base, weight = p.l_f + p.l_r, p.m * G
    rear = weight * (p.l_f * math.cos(angle) + p.z_cg * math.sin(angle)) / base
    front = weight * math.cos(angle) - rear
    assert run["F_z_fl"][-1] + run["F_z_fr"][-1] == pytest.approx(front, rel=1e-7)
    assert run["F_z_rl"][-1] + run["F_z_rr"][-1] == pytest.approx(rear, rel=1e-7)


def test_a_start_on_a_rough_road_stands_on_it() -> None:
    """Every wheel carries its load of rest, however fast the road under it bends."""
    car = rolling(sp.Road.iso8608("D", 2, length=20.0, x=-10.0))
    assert car.model.settle is not None
    for v_x in (0.0, 30.0):
        x = car.model.settle(car.State(v_x=v_x, omega=0.0), car.params)
        uneven: Any = road_under_car(car.params.road, x, places(car.params), G).uneven
        pressed = np.subtract(uneven.heights, [getattr(x, f"z_{w}") for w in WHEELS])
        assert np.abs(pressed).max() < 1e-4
        assert abs(x.heave) < 1e-4


ROADS = {
    "waves": sp.Road.waves(0.05, 7.0, yaw=0.3),
    "grid": sp.Road.grid(0.05 * np.random.default_rng(3).normal(size=(9, 9)), (-8.0, -8.0), 2.0),
    "curved": sp.Road.curved(
        np.full(80, 0.02), 0.5, z=0.1 * np.sin(np.arange(81) / 9.0), bank=0.05
    ),
}


@pytest.mark.parametrize("name", ROADS)
def test_heights_and_rates_of_a_road_belong_together(name: str) -> None:
    """How the heights over the road change as the car goes along is what the rates say: the plane
    that carries them along cancels."""
    car = rolling(ROADS[name])
    p = car.params
    x = car.State(x=1.0, y=0.4, yaw=0.2, v_x=9.0, v_y=0.7, omega=0.3)
    rate = car.derivative(x, car.Input())
    row, way = np.array(record.flatten(x)), 1e-6 * np.array(record.flatten(rate))
    ahead, behind = (record.unflatten(car.State, list(row + s * way)) for s in (1.0, -1.0))
    under: list[Any] = [
        road_under_car(p.road, at, places(p), G).uneven for at in (ahead, behind, x)
    ]
    moved = (np.array(under[0].heights) - np.array(under[1].heights)) / 2e-6
    here = under[2]
    carried = [here.rise_at(*place) for place in places(p)]
    assert moved == pytest.approx(np.array(here.rates) - carried, abs=0.02)
    assert np.abs(here.rates).max() > 0.05


@pytest.mark.slow
def test_gradients_of_a_run_over_waves_are_those_of_differences() -> None:
    """By the discrete adjoint: of a start, a command and a spring."""
    car = rolling(sp.Road.waves(0.02, 5.0))
    fleet = sp.Fleet(car, dt=0.002, integrator="rk4")
    cost = sp.Cost(stage=lambda x, u: x.heave_rate**2, terminal=lambda x: (x.y - 0.3) ** 2 + x.roll)
    assert car.model.settle is not None
    x0 = np.array([car.model.settle(car.State(v_x=15.0), car.params)])
    u = np.zeros((100, 1, record.size(car.Input)))
    u[:, :, 0] = 0.02
    spring = "chassis.front.spring.k"
    k = record.names(car.model.Params).index(spring)
    _, gradient = fleet.gradient(x0, u, cost)

    def value(start: np.ndarray, controls: np.ndarray, stiffness: float) -> float:
        values = {spring: np.array([stiffness])}
        total, _ = fleet.gradient(start, controls, cost, params=values, wrt=("x0",))
        return float(total[0])

    def slope(up: float, down: float, width: float) -> float:
        return (up - down) / (2.0 * width)

    at = 22000.0
    for name in ("heave", "v_x", "roll_rate"):
        j, shift = car.State._fields.index(name), np.zeros_like(x0)
        shift[0, j] = 1e-5
        numeric = slope(value(x0 + shift, u, at), value(x0 - shift, u, at), 1e-5)
        assert gradient.x0[0, j] == pytest.approx(numeric, rel=1e-4, abs=1e-6)
    turn = np.zeros_like(u)
    turn[10, 0, 0] = 1e-4
    numeric = slope(value(x0, u + turn, at), value(x0, u - turn, at), 1e-4)
    assert gradient.controls[10, 0, 0] == pytest.approx(numeric, rel=1e-3, abs=1e-8)
    numeric = slope(value(x0, u, at + 1.0), value(x0, u, at - 1.0), 1.0)
    assert gradient.params[0, k] == pytest.approx(numeric, rel=1e-3, abs=1e-9)
