"""A body on four wheels of their own: statics, power, modes and limits in closed form."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import skidpad as sp
from skidpad.tyres import LinearTyre
from skidpad.tyres.contract import Carcass
from skidpad.vehicles.parts.chassis import Acting, Pressed, QuasiStatic, Suspension, sprung_mass
from skidpad.vehicles.parts.kinematics import Acceleration
from skidpad.vehicles.parts.load_transfer import Force
from skidpad.vehicles.parts.on_road import Unevenness
from skidpad.vehicles.parts.suspension import (
    AntiRollBar,
    LinearDamper,
    LinearSpring,
    SuspendedBody,
    SuspensionState,
    corner,
    corner_places,
    independent_suspension,
    roll_stiffness,
    stored,
)
from vehicles.parts.quarter_car import Quarter
from vehicles.parts.sprung_car import CALM, FULL, LEVEL, G
from vehicles.parts.sprung_car import At as Loads

LAYOUT = SuspendedBody(
    m_u_f=80.0, m_u_r=120.0, h_u_f=0.3, h_u_r=0.25, h_rc_f=0.06, h_rc_r=0.14, anti_f=0.08,
    anti_r=0.12, c_t_f=120.0, c_t_r=80.0,
)  # fmt: skip
COUNT = len(SuspensionState._fields)


class Driving(SuspensionState):
    """A state of the suspension in a car that drives."""

    v_x, v_y = 12.0, -0.7


At: Any = Driving


@cache
def car(**values: Any) -> Any:
    return sp.vehicles.full_car(**values).params


def params(chassis: Any, C_z: float = 2e5, **values: Any) -> Any:
    tyre = LinearTyre(carcass=Carcass(C_z=C_z))
    return sp.vehicles.full_car(chassis=chassis, tyre=tyre, **values).params


def acting(forces: Any, loads: Any, p: Any, road: Any = LEVEL, air: Pressed = CALM) -> Acting:
    x, y = np.sum(forces, axis=0) / p.m
    return Acting(loads, tuple(Force(*f) for f in forces), Acceleration(x, y), air, road)


def at_rest(p: Any, forces: Any, air: Pressed = CALM, road: Any = LEVEL) -> Any:
    """The state in which the suspension is at rest while the tyres push, by Newton's method."""
    z: Any = ca.SX.sym("z", COUNT)

    x: Any = At(*ca.vertsplit(z))
    rate = p.chassis.rates(x, acting(forces, p.chassis.loads(x, road, air, p), p, road, air), p)
    rates = ca.vertcat(*rate)
    step = ca.Function("step", [z], [z - ca.solve(ca.jacobian(rates, z), rates), rates])
    at, left = np.zeros(COUNT), np.ones(COUNT)
    for _ in range(12):
        at, left = (np.array(v).ravel() for v in step(at))
    assert np.abs(left).max() < 1e-9
    return At(*at)


def turning(p: Any, a_x: float, a_y: float) -> np.ndarray:
    """Forces of the wheels that push the car with (a_x, a_y) and do not turn it, unequal on the
    sides of an axle."""
    front, rear = (p.m * arm / (p.l_f + p.l_r) for arm in (p.l_r, p.l_f))
    by_wheel = np.array([0.35 * front, 0.65 * front, 0.4 * rear, 0.6 * rear])
    return np.column_stack([by_wheel * a_x, by_wheel * a_y])


def test_static_loads_are_those_of_a_lever() -> None:
    """Each axle carries its share of the weight; at travel 0 everything is at rest exactly."""
    p = car()
    loads = p.chassis.loads(At(), LEVEL, CALM, p)
    base = p.l_f + p.l_r
    want = [0.5 * p.m * p.g * arm / base for arm in (p.l_r, p.l_r, p.l_f, p.l_f)]
    assert loads == pytest.approx(want, rel=1e-12)
    rates = p.chassis.rates(At(), acting(np.zeros((4, 2)), loads, p), p)
    assert set(map(float, rates)) == {0.0}


@pytest.mark.parametrize("held", [None, FULL], ids=["linear", "stops and progressive"])
def test_a_car_settles_where_it_is_at_rest(held: Any) -> None:
    """Under downforce and on a slope, on springs that stiffen and stops, too."""
    corners = {} if held is None else {"front": held, "rear": held}
    p = params(independent_suspension(LAYOUT, **corners))
    road, air = LEVEL._replace(fall=0.96 * G, gravity=0.96 * G), Pressed(1500.0, 2500.0)
    x = At(*p.chassis.settled(At(), road, air, p))
    loads = p.chassis.loads(x, road, air, p)
    rates = p.chassis.rates(x, acting(np.zeros((4, 2)), loads, p, road, air), p)
    assert np.abs(rates).max() < 1e-8
    base = p.l_f + p.l_r
    front = 0.96 * p.m * G * p.l_r / base + 1500.0
    assert loads[0] + loads[1] == pytest.approx(front, rel=1e-12)
    assert sum(loads) == pytest.approx(0.96 * p.m * G + 4000.0, rel=1e-12)
    assert (x.heave < 0.0) == (held is None)  # the other has 4 kN more at travel 0
    assert p.chassis.settled(At(heave=0.1), road, air, p) == SuspensionState(heave=0.1)


@given(a_x=st.floats(-5.0, 4.0), a_y=st.floats(-4.0, 4.0), down=st.floats(0.0, 2000.0))
@settings(max_examples=15, deadline=None)
def test_moments_about_the_ground_balance(a_x: float, a_y: float, down: float) -> None:
    """Weight, roll and pitch, whatever goes through springs or links. The weight of what leans
    counts: the body about its axis, and axles that lean on their tyres."""
    p = params(independent_suspension(LAYOUT))
    air = Pressed(down, 0.5 * down)
    x = at_rest(p, turning(p, a_x, a_y), air)
    fl, fr, rl, rr = p.chassis.loads(x, LEVEL, air, p)
    size, s, body = p.m * G, LAYOUT, sprung_mass(LAYOUT, p)
    assert fl + fr + rl + rr == pytest.approx(size + 1.5 * down, rel=1e-10)
    across = 0.5 * (p.track_f * (fr - fl) + p.track_r * (rr - rl))
    axle_f, axle_r = (x.z_fl - x.z_fr) / p.track_f, (x.z_rl - x.z_rr) / p.track_r
    leaning = body.m * body.arm * x.roll
    leaning += (body.front * s.h_rc_f + s.m_u_f * s.h_u_f) * axle_f
    leaning += (body.rear * s.h_rc_r + s.m_u_r * s.h_u_r) * axle_r
    assert across == pytest.approx(p.m * p.z_cg * a_y + G * leaning, abs=1e-9 * size)
    along = p.l_f * (fl + fr - down) - p.l_r * (rl + rr - 0.5 * down)
    assert along == pytest.approx(-p.m * p.z_cg * a_x, abs=1e-9 * size)


def test_signs() -> None:
    """To the left the right side goes down; in braking the nose; downforce sinks the body."""
    p = params(independent_suspension(LAYOUT))
    assert at_rest(p, turning(p, 0.0, 3.0)).roll > 0.0
    assert at_rest(p, turning(p, -3.0, 0.0)).pitch > 0.0
    sunk = at_rest(p, np.zeros((4, 2)), Pressed(500.0, 500.0))
    assert sunk.heave < 0.0 > sunk.z_fl
    travel = p.chassis.travel(at_rest(p, turning(p, 0.0, 3.0)), p)
    assert travel.wheels[1] > 0.0 > travel.wheels[0]


def test_outer_wheels_lift_the_body_by_their_roll_centres() -> None:
    """Jacking: what the patches of an axle push inwards more on the outside lifts the body by the
    difference of forces times 2 h_rc / track, less the part that moves the wheels themselves."""
    p = params(independent_suspension(LAYOUT._replace(h_rc_r=0.0), front=plain(), rear=plain()))
    forces = turning(p, 0.0, 4.0)
    x = at_rest(p, forces)
    sprung = 1.0 - LAYOUT.m_u_f * (p.l_f + p.l_r) / (p.m * p.l_r)
    lifted = sprung * 2.0 * LAYOUT.h_rc_f / p.track_f * (forces[1, 1] - forces[0, 1])
    sunk = -sum(p.chassis.travel(x, p).wheels[:2])
    assert sunk == pytest.approx(lifted / 20000.0, rel=1e-9)
    assert lifted > 0.0


def plain(k: float = 20000.0, c: float = 1500.0, bar: float = 0.0) -> Any:
    return corner(spring=LinearSpring(k=k), damper=LinearDamper(c=c), bar=AntiRollBar(k=bar))


@pytest.mark.parametrize("links", [False, True])
def test_stiff_springs_and_tyres_tend_to_a_body_in_balance(links: bool) -> None:
    """With stiffness the loads come to those of `QuasiStatic`, the faster the stiffer."""
    s = Suspension(
        m_u_f=80.0, m_u_r=120.0, h_u_f=0.3, h_u_r=0.25, h_rc_f=0.06, h_rc_r=0.14,
    )  # fmt: skip
    layout = SuspendedBody(**{n: getattr(s, n) for n in SuspendedBody._fields if n in s._fields})
    layout = layout._replace(anti_f=0.1, anti_r=0.15) if links else layout
    errors = []
    for stiff in (1.0, 100.0, 10000.0):
        chassis = independent_suspension(
            layout, plain(20000.0 * stiff, bar=4000.0 * stiff), plain(30000.0 * stiff)
        )
        p = params(chassis, C_z=2e5 * stiff**1.5)
        K_f, _ = roll_stiffness(chassis, p)
        still = QuasiStatic(
            s._replace(
                k_f=20000.0 * stiff, k_r=30000.0 * stiff, bar_f=4000.0 * stiff * p.track_f**2
            )
        )
        assert K_f == pytest.approx(0.5 * 20000.0 * stiff * p.track_f**2 + still.suspension.bar_f)

        want: Any = still.loads(Loads(-2.0, 3.0), LEVEL, CALM, p)
        even = turning(p, -2.0, 3.0)
        even[[0, 1]], even[[2, 3]] = even[[0, 1]].mean(axis=0), even[[2, 3]].mean(axis=0)
        loads = p.chassis.loads(at_rest(p, even), LEVEL, CALM, p)
        errors.append(np.abs(np.subtract(loads, want)).max())
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.1 * errors[1]
    assert errors[2] < 1e-4 * p.m * G


RATE, ANGLE, PUSH = st.floats(-1.0, 1.0), st.floats(-0.05, 0.05), st.floats(-3000.0, 3000.0)
STATE = st.tuples(*(RATE if "rate" in n or "v_z" in n else ANGLE for n in SuspensionState._fields))
UNEVEN = st.builds(
    Unevenness, st.tuples(*(ANGLE,) * 4), st.tuples(*(RATE,) * 4), st.just(()), RATE, RATE, RATE
)


@given(
    row=STATE, forces=st.lists(st.tuples(PUSH, PUSH), min_size=4, max_size=4),
    uneven=st.one_of(st.none(), UNEVEN),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_power_of_tyres_air_and_road_is_stored_or_lost(
    row: Any, forces: Any, uneven: Unevenness | None
) -> None:
    """Forces times what the suspension adds to the velocity of their patches, air times the sinking
    of the axles, loads times the rising of the road; and weight that a plane lifts."""
    p = params(independent_suspension(LAYOUT, FULL, FULL))
    chassis, air = p.chassis, Pressed(200.0, 350.0)
    road = LEVEL._replace(uneven=uneven)

    class Straight(SuspensionState):
        v_x, v_y = 12.0, 0.0

    as_symbols: Any = Straight
    x: Any = Straight(*row)
    loads = chassis.loads(x, road, air, p)
    rate = chassis.rates(x, acting(forces, loads, p, road, air), p)
    patches = chassis.carried(x, p)
    body = sprung_mass(LAYOUT, p)
    power = sum(
        F * (v.x - x.v_x) + S * (v.y - x.v_y) for (F, S), v in zip(forces, patches, strict=True)
    )
    power += air.front * (body.l_f * x.pitch_rate - x.heave_rate)
    power -= air.rear * (body.l_r * x.pitch_rate + x.heave_rate)
    z: Any = ca.SX.sym("z", COUNT + 4)
    symbols: Any = as_symbols(*ca.vertsplit(z)[:COUNT])
    level = chassis.energy(symbols, G, p) - stored(chassis, symbols, p)
    total = level + stored(chassis, symbols, p, tuple(ca.vertsplit(z)[COUNT:]))
    gradient = ca.Function("slope", [z], [ca.gradient(ca.SX(total), z)])
    ground, climbing, loss = np.zeros(4), np.zeros(4), chassis.loss(x, p)
    if uneven is not None:
        ahead = p.l_f - body.l_f
        under = [uneven.rise_at(ahead + a, b) for a, b in corner_places(LAYOUT, p)]
        ground, climbing = np.array(uneven.heights), np.subtract(uneven.rates, under)
        masses = np.repeat([0.5 * LAYOUT.m_u_f, 0.5 * LAYOUT.m_u_r], 2)
        power += np.dot(loads, uneven.rates)
        power -= G * (body.m * uneven.rise_at(ahead, 0.0) + masses @ under)
        # The weight that leans is told from the plane, and the plane leans, too.
        s = LAYOUT
        over_f = (body.front * s.h_rc_f + s.m_u_f * s.h_u_f) * (x.z_fl - x.z_fr) / p.track_f
        over_r = (body.rear * s.h_rc_r + s.m_u_r * s.h_u_r) * (x.z_rl - x.z_rr) / p.track_r
        power += G * uneven.lean * (body.m * body.arm * x.roll + over_f + over_r)
        loss = lost(chassis, x, road, loads, p)
    slope = np.array(gradient([*row, *ground])).ravel()
    terms = slope * np.array([*rate, *climbing])
    size = np.abs(terms).sum() + abs(power) + loss
    assert loss >= 0.0
    assert terms.sum() == pytest.approx(power - loss, rel=0.0, abs=1e-11 * (size + 1.0))


def lost(chassis: Any, x: Any, road: Any, loads: Any, p: Any) -> float:
    """What dampers take on an uneven road: those of the corners, and of the tyres by the rate at
    which they are pressed in."""
    still = road._replace(uneven=road.uneven._replace(rates=height_rates(x)))
    springs = chassis.loads(x, still, CALM, p)
    pressed = np.subtract(road.uneven.rates, height_rates(x))
    no_casing = p.chassis._replace(body=chassis.body._replace(c_t_f=0.0, c_t_r=0.0))
    return no_casing.loss(x, p) + float(np.subtract(loads, springs) @ pressed)


def height_rates(x: Any) -> Any:
    return x.v_z_fl, x.v_z_fr, x.v_z_rl, x.v_z_rr


def test_energy_is_least_at_rest() -> None:
    p = car()
    rng = np.random.default_rng(5)
    for row in rng.uniform(-0.03, 0.03, (50, COUNT)):
        assert p.chassis.energy(At(*row), G, p) > 0.0
    assert p.chassis.energy(At(), G, p) == 0.0


def test_a_wheel_in_the_air_has_no_load() -> None:
    p = car()
    loads = p.chassis.loads(At(z_fl=0.2), LEVEL, CALM, p)
    assert loads[0] == 0.0
    assert min(loads[1:]) > 0.0
    fallen = p.chassis.rates(At(z_fl=0.2), acting(np.zeros((4, 2)), loads, p), p)
    assert fallen.v_z_fl < -G  # its spring pushes it down, too


def test_heave_over_a_rising_road_is_that_of_a_quarter_car() -> None:
    """A car alike in front and behind on a road that rises under all wheels alike: the transfer
    from road to body and wheels is k k_t and (…) over the determinant of two masses."""
    q = Quarter(m_s=270.0, m_u=33.0, k_t=190e3, c_t=60.0)
    k, c = 21000.0, 1400.0
    layout = SuspendedBody(m_u_f=66.0, m_u_r=66.0, c_t_f=60.0, c_t_r=60.0)
    chassis = independent_suspension(layout, plain(k, c, 3000.0), plain(k, c))
    p = params(chassis, C_z=q.k_t, m=4.0 * (q.m_s + q.m_u), l_f=1.3, l_r=1.3)
    A, B = linear(p, lambda v: Unevenness((0.0,) * 4, (v,) * 4, (), v, 0.0, 0.0))
    heave, wheel = (SuspensionState._fields.index(n) for n in ("heave", "z_fl"))
    for f in (0.3, 1.0, 1.4, 3.0, 10.0, 12.0, 25.0):
        w = 2j * math.pi * f
        over = np.linalg.solve(w * np.eye(COUNT) - A, B * w)
        spring, tyre = k + c * w, q.k_t + q.c_t * w
        both = np.array([[q.m_s * w**2 + spring, -spring], [-spring, q.m_u * w**2 + spring + tyre]])
        body, hub = np.linalg.solve(both, [0.0, tyre])
        assert over[heave] + 1.0 == pytest.approx(body, rel=1e-9)
        assert over[wheel] + 1.0 == pytest.approx(hub, rel=1e-9)


def linear(p: Any, uneven: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rates by the states, and by the rate of a road, about rest."""
    z, v = ca.SX.sym("z", COUNT), ca.SX.sym("v")
    x: Any = At(*ca.vertsplit(z))
    road = LEVEL._replace(uneven=uneven(v))
    now = acting(np.zeros((4, 2)), p.chassis.loads(x, road, CALM, p), p, road)
    rates = ca.vertcat(*p.chassis.rates(x, now, p))
    slopes = ca.Function("J", [z, v], [ca.jacobian(rates, z), ca.jacobian(rates, v)])
    A, B = slopes(np.zeros(COUNT), 0.0)
    return np.array(A), np.array(B).ravel()


def test_a_road_that_rises_under_all_wheels_is_told_by_the_plane_alone() -> None:
    """Heights and rates of a road may be given as those of the plane or off it: the same motion
    over ground."""
    p = params(independent_suspension(LAYOUT))
    rng = np.random.default_rng(2)
    row = rng.uniform(-0.02, 0.02, COUNT)
    plane = Unevenness((0.0,) * 4, (0.3,) * 4, (), 0.3, 0.0, 0.0)
    flat = Unevenness((0.01,) * 4, (0.3,) * 4, (), 0.0, 0.0, 0.0)
    up = row.copy()
    for name in ("heave", "z_fl", "z_fr", "z_rl", "z_rr"):
        up[SuspensionState._fields.index(name)] += 0.01
    rates = []
    for x, uneven in ((At(*row), plane), (At(*up), flat)):
        road = LEVEL._replace(uneven=uneven)
        loads = p.chassis.loads(x, road, CALM, p)
        rates.append(p.chassis.rates(x, acting(np.zeros((4, 2)), loads, p, road), p))
    assert rates[0].heave_rate == pytest.approx(rates[1].heave_rate, abs=1e-9)
    assert rates[0].v_z_rl == pytest.approx(rates[1].v_z_rl, abs=1e-8)
    assert rates[1].heave - rates[0].heave == pytest.approx(0.3)


def test_a_car_that_cannot_stand_is_refused() -> None:
    with pytest.raises(sp.errors.InvalidValue, match="m_u_f = 900 kg"):
        sp.vehicles.full_car(chassis=independent_suspension(SuspendedBody(m_u_f=900.0)))
    with pytest.raises(sp.errors.InvalidValue, match="tips over"):
        sp.vehicles.full_car(chassis=independent_suspension(front=plain(100.0), rear=plain(100.0)))
