"""`two_track` with trailers: balances, geometry, limits and everything that runs a car."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import skidpad as sp
from skidpad.core import record
from skidpad.tyres import LinearTyre
from skidpad.tyres.contract import Carcass
from skidpad.vehicles.parts import Trailer

two_track = sp.vehicles.two_track
G = 9.81
FREE = Carcass(rolling=0.0)
LINEAR = LinearTyre(trail=0.0, carcass=FREE)
CARAVAN = Trailer(tyre=LINEAR, C_drag=0.0)
DOLLY = Trailer(m=600.0, I_z=500.0, behind=1.1, l_axle=2.5, l_cg=2.3, tyre=LINEAR, C_drag=0.0)
CHAINS = {"one": CARAVAN, "two": (CARAVAN, DOLLY), "fifth wheel": CARAVAN._replace(behind=-0.4)}
every_chain = pytest.mark.parametrize("chain", CHAINS)


@cache
def towing(chain: str, **values: Any) -> sp.Vehicle:
    return two_track(trailers=CHAINS[chain], tyre=LINEAR, C_drag=0.0, **values)


def some_state(car: sp.Vehicle, seed: int = 0, **values: float) -> Any:
    """Any state: folded, sliding and with wheels that slip."""
    rng = np.random.default_rng(seed)
    x = record.unflatten(car.State, [*(0.3 * rng.normal(size=record.size(car.State)))])
    spins = {name: 30.0 + 5.0 * rng.normal() for name in car.State._fields if "spin" in name}
    return x._replace(v_x=9.0, v_y=1.0, hitch_1=1.3, **spins | values)


class Bodies:
    """Car and trailers in the axes of the world, by their geometry alone."""

    def __init__(self, car: sp.Vehicle, x: Any) -> None:
        p = car.params
        heading, omega = x.yaw, x.omega
        c, s = math.cos(heading), math.sin(heading)
        at = np.array([x.x, x.y])
        v = np.array([c * x.v_x - s * x.v_y, s * x.v_x + c * x.v_y])
        self.masses, self.inertias = [p.m], [p.I_z]
        self.places, self.velocities, self.omegas = [at], [v], [omega]
        way = p.l_r
        for k, trailer in enumerate(p.trailers, 1):
            at, v = self._back(at, v, heading, omega, way + trailer.behind)
            heading, omega = (
                heading + getattr(x, f"hitch_{k}"),
                omega + getattr(x, f"hitch_rate_{k}"),
            )
            there, moving = self._back(at, v, heading, omega, trailer.l_cg)
            self.masses.append(trailer.m)
            self.inertias.append(trailer.I_z)
            self.places.append(there)
            self.velocities.append(moving)
            self.omegas.append(omega)
            way = trailer.l_axle

    @staticmethod
    def _back(at: Any, v: Any, heading: float, omega: float, way: float) -> tuple[Any, Any]:
        along = np.array([math.cos(heading), math.sin(heading)])
        return at - way * along, v - way * omega * np.array([-along[1], along[0]])

    @property
    def momentum(self) -> Any:
        return sum(m * v for m, v in zip(self.masses, self.velocities, strict=True))

    @property
    def angular_momentum(self) -> float:
        own = sum(i * w for i, w in zip(self.inertias, self.omegas, strict=True))
        rows = zip(self.masses, self.places, self.velocities, strict=True)
        return own + sum(m * (r[0] * v[1] - r[1] * v[0]) for m, r, v in rows)

    @property
    def energy(self) -> float:
        rows = zip(self.masses, self.velocities, self.inertias, self.omegas, strict=True)
        return sum(0.5 * (m * v @ v + i * w * w) for m, v, i, w in rows)


def along_motion(car: sp.Vehicle, x: Any, u: Any, read: Any, w: Any = None) -> Any:
    """Rate of something along the motion, by a central difference."""
    rate, h = car.derivative(x, u, w), 1e-5
    ends = (
        read(type(x)(*(a + sign * h * b for a, b in zip(x, rate, strict=True))))
        for sign in (1.0, -1.0)
    )
    after, before = ends
    return (after - before) / (2.0 * h)


def outer_forces(car: sp.Vehicle, x: Any, out: Any) -> tuple[Any, float]:
    """Force of all tyres in the world, and its moment about the origin."""
    p, total, moment = car.params, np.zeros(2), 0.0
    wheels = [
        ("fl", p.l_f, 0.5 * p.track_f, out.steer_fl),
        ("fr", p.l_f, -0.5 * p.track_f, out.steer_fr),
        ("rl", -p.l_r, 0.5 * p.track_r, 0.0),
        ("rr", -p.l_r, -0.5 * p.track_r, 0.0),
    ]
    frames = [((x.x, x.y), x.yaw, wheels)]
    for k, trailer in enumerate(p.trailers, 1):
        at = (getattr(out, f"x_trailer_{k}"), getattr(out, f"y_trailer_{k}"))
        pair = [(f"left_{k}", 0.0, 0.5 * trailer.track, 0.0)]
        pair.append((f"right_{k}", 0.0, -0.5 * trailer.track, 0.0))
        frames.append((at, getattr(out, f"yaw_trailer_{k}"), pair))
    for origin, yaw, them in frames:
        for name, ahead, aside, steer in them:
            c, s = math.cos(yaw), math.sin(yaw)
            place = origin + np.array([c * ahead - s * aside, s * ahead + c * aside])
            F_x, F_y = getattr(out, f"F_x_{name}"), getattr(out, f"F_y_{name}")
            c, s = math.cos(yaw + steer), math.sin(yaw + steer)
            force = np.array([c * F_x - s * F_y, s * F_x + c * F_y])
            total += force
            moment += place[0] * force[1] - place[1] * force[0]
    return total, moment


@every_chain
@pytest.mark.parametrize("seed", range(3))
def test_the_road_alone_changes_momentum_and_angular_momentum(chain: str, seed: int) -> None:
    """Forces of hitches are inner ones: what they do adds up to nothing."""
    car = towing(chain)
    x = some_state(car, seed)
    u = car.Input(steer=0.1, brake_fl=300.0)
    force, moment = outer_forces(car, x, car.outputs(x, u))
    change = along_motion(car, x, u, lambda y: Bodies(car, y).momentum)
    turning = along_motion(car, x, u, lambda y: Bodies(car, y).angular_momentum)
    np.testing.assert_allclose(change, force, rtol=1e-6, atol=1e-2)
    assert turning == pytest.approx(moment, rel=1e-6, abs=1e-1)


@pytest.mark.slow_cases("two")
@every_chain
def test_without_forces_momentum_and_energy_are_kept(chain: str) -> None:
    """Over a second of a chain that turns freely on ice."""
    car = towing(chain)
    ice = {name: 0.0 for name in car.model.Disturbance._fields if name.startswith("mu")}
    w, u = car.model.Disturbance(**ice), car.Input()
    start = car.State(v_x=3.0, v_y=-1.0, omega=0.6, hitch_1=0.5, hitch_rate_1=-0.5)

    def rates(_: float, y: Any) -> Any:
        return record.flatten(car.derivative(car.State(*y), u, w))

    end = car.State(*solve_ivp(rates, (0.0, 1.0), start, "DOP853", rtol=1e-9, atol=1e-9).y[:, -1])
    first, last = Bodies(car, start), Bodies(car, end)
    assert abs(end.hitch_1 - start.hitch_1) > 0.2
    np.testing.assert_allclose(last.momentum, first.momentum, rtol=1e-8)
    assert last.angular_momentum == pytest.approx(first.angular_momentum, rel=1e-8)
    assert last.energy == pytest.approx(first.energy, rel=1e-8)
    assert car.model.energy is not None
    assert car.model.energy(end, car.params) == pytest.approx(last.energy, rel=1e-8)


def test_weight_and_its_moments_are_carried() -> None:
    """At rest, of doubles: all loads together, and their moment about the front axle."""
    car = towing("two")
    p, out = car.params, car.outputs(car.State(), car.Input())
    first, second = p.trailers
    hitch_1 = p.l_r + first.behind
    places = {
        "fl": p.l_f,
        "fr": p.l_f,
        "rl": -p.l_r,
        "rr": -p.l_r,
        "left_1": -hitch_1 - first.l_axle,
        "right_1": -hitch_1 - first.l_axle,
    }
    hitch_2 = hitch_1 + first.l_axle + second.behind
    places |= dict.fromkeys(("left_2", "right_2"), -hitch_2 - second.l_axle)
    loads = {name: getattr(out, f"F_z_{name}") for name in places}
    assert sum(loads.values()) == pytest.approx(G * (p.m + first.m + second.m), rel=1e-12)
    moment = -G * (first.m * (hitch_1 + first.l_cg) + second.m * (hitch_2 + second.l_cg))
    carried = sum(loads[name] * places[name] for name in places)
    assert carried == pytest.approx(moment, rel=1e-12)
    assert out.F_z_hitch_1 == pytest.approx(
        G * (first.m * (1.0 - first.l_cg / first.l_axle))
        - second.behind / first.l_axle * out.F_z_hitch_2,
        rel=1e-12,
    )


@pytest.mark.parametrize("brake", [0.0, 1.0])
def test_braking_presses_the_hitch_by_the_moments_about_the_ground(brake: float) -> None:
    """In a steady slowing: pitch of the whole about the front axle, at the ground."""
    own = CARAVAN._replace(brake=brake)
    car = two_track(trailers=own, tyre=LINEAR, C_drag=0.0)
    p = car.params
    x = settled(car, v_x=25.0)
    w, u = car.model.Disturbance(), car.Input(**dict.fromkeys(BRAKES, 400.0))

    def rates(_: float, y: Any) -> Any:
        return record.flatten(car.derivative(car.State(*y), u, w))

    end = solve_ivp(rates, (0.0, 0.6), x, method="LSODA", rtol=1e-8, atol=1e-8).y[:, -1]
    x = car.State(*end)
    out, rate = car.outputs(x, u), car.derivative(x, u)
    hitch = p.l_r + own.behind
    axle = p.l_f + hitch + own.l_axle
    loads = {
        p.l_f + p.l_r: out.F_z_rl + out.F_z_rr,
        axle: out.F_z_left_1 + out.F_z_right_1,
    }
    falling = -rate.v_x
    weights = G * (p.m * p.l_f + own.m * (p.l_f + hitch + own.l_cg))
    tipping = falling * (p.m * p.z_cg + own.m * own.z_cg)
    # Wheels of the car that slow down press its front too.
    turning = -p.I_w * sum(getattr(rate, f"spin_{wheel}") for wheel in ("fl", "fr", "rl", "rr"))
    assert falling > 1.0
    assert turning > 0.02 * falling * p.m * p.z_cg
    assert sum(way * load for way, load in loads.items()) == pytest.approx(
        weights - tipping - turning, rel=1e-5
    )
    pressed = out.F_z_hitch_1 - G * own.m * (1.0 - own.l_cg / own.l_axle)
    assert pressed > 100.0


BRAKES = ("brake_fl", "brake_fr", "brake_rl", "brake_rr")


def settled(car: sp.Vehicle, **values: float) -> Any:
    assert car.model.settle is not None
    return car.model.settle(car.State(**values), car.params)


def test_wheels_of_trailers_roll_at_the_start() -> None:
    """Each with its own speed over ground: in a turn the outer one is faster."""
    car = towing("two")
    x = settled(car, v_x=10.0, omega=0.3, hitch_1=-0.1, hitch_2=-0.1)
    out = car.outputs(x, car.Input())
    for name in ("left_1", "right_1", "left_2", "right_2"):
        assert getattr(out, f"F_x_{name}") == pytest.approx(0.0, abs=1e-6)
    assert x.spin_right_1 > x.spin_left_1 > 10.0
    sliding = settled(car, v_x=10.0, spin_fl=30.0)
    assert sliding.spin_left_1 == 0.0


def test_a_trailer_that_weighs_nothing_is_not_felt() -> None:
    """Its force on the car goes with its mass."""
    plain = two_track(tyre=LINEAR, C_drag=0.0)
    x = {"v_x": 20.0, "v_y": 0.4, "omega": 0.2, "steer": 0.05}
    wanted = plain.derivative(settled(plain, **x), plain.Input())
    gaps: list[float] = []
    for share in (1e-3, 1e-6):
        own = CARAVAN._replace(m=share * CARAVAN.m, I_z=share * CARAVAN.I_z)
        car = two_track(trailers=own, tyre=LINEAR, C_drag=0.0, F_lift=1e-6)
        rate = car.derivative(settled(car, **x, hitch_1=0.1), car.Input())
        gaps.append(
            max(abs(getattr(rate, n) - getattr(wanted, n)) for n in ("v_x", "v_y", "omega"))
        )
    assert gaps[0] < 1e-2
    assert gaps[1] == pytest.approx(1e-3 * gaps[0], rel=0.1)
