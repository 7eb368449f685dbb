"""Vehicles without a road of their own on one, against closed forms."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.road import Patch, fitted_plane, wheel_contact
from skidpad.road.records import plane_under
from skidpad.vehicles import on_road, wheeled
from skidpad.vehicles.parts.wheel_friction import Friction
from skidpad.vehicles.wheeled.description import default_description

G = 9.81
SLOPE, BANK = 0.12, 0.2
CARS = (
    "commonroad_dynamic_bicycle",
    "commonroad_kinematic_bicycle",
    "commonroad_ks",
    "commonroad_kst",
    "commonroad_mb",
    "commonroad_st",
    "commonroad_std",
    "double_integrator",
    "formula_student",
    "four_wheel",
    "single_track",
)
COASTING = {"C_r0": 0.0, "C_r1": 0.0, "C_r2": 0.0}


def ahead(vehicle: sp.Vehicle, v: float) -> Any:
    """A state that goes straight on."""
    body, x = vehicle.body, record.build(vehicle.State)
    placed = body.placed(
        x, sp.core.body.Pose(2.0, 1.0, 0.0), sp.core.body.Velocity(v, 0.0, 0.0), vehicle.params
    )
    settle = vehicle.model.settle
    return placed if settle is None else settle(placed, vehicle.params)


def acceleration(vehicle: sp.Vehicle, x: Any, w: Any = None) -> Any:
    """Over ground, in body axes, of a continuous vehicle."""
    u = record.build(vehicle.Input)
    rate = vehicle.derivative(x, u, w)
    names = [n for n in ("v_x", "v_s", "v") if n in rate._fields]
    return rate, getattr(rate, names[0])


def with_gravity(vehicle: sp.Vehicle, g: float) -> sp.Vehicle:
    name = vehicle.body.gravity
    return vehicle.with_params({name: g}) if name else vehicle


@pytest.mark.parametrize("name", CARS)
def test_gravity_pulls_along_the_slope_and_the_map_shows_less_way(name: str) -> None:
    """Against the same car on level ground where only what presses, g cos, acts."""
    level = sp.vehicles.get(name)()
    angle = math.atan(SLOPE)
    car = on_road(level, sp.Road.plane(slope=SLOPE))
    x = ahead(level, 12.0)
    rate, a = acceleration(car, x)
    flat, plain = acceleration(with_gravity(level, G * math.cos(angle)), x)
    assert a - plain == pytest.approx(-G * math.sin(angle), rel=1e-9)
    moved = ("x", "y") if "x" in rate._fields else ("s", "d")
    assert getattr(rate, moved[0]) == pytest.approx(12.0 * math.cos(angle), rel=1e-9)
    assert getattr(rate, moved[1]) == pytest.approx(getattr(flat, moved[1]), abs=1e-12)


@pytest.mark.parametrize("name", ["four_wheel", "formula_student", "single_track"])
def test_a_bank_of_v2_over_g_r_needs_no_side_force(name: str) -> None:
    """omega = v cos θ / R about the normal, and g sin θ = v omega: tan θ = v² / (g R)."""
    level = sp.vehicles.get(name)()
    v, radius = 20.0, 150.0
    angle = math.atan(v * v / (G * radius))
    car = on_road(level, sp.Road.plane(bank=-math.tan(angle)))
    x = ahead(level, v)
    tyres = acceleration(with_gravity(level, G * math.cos(angle)), x)[0].v_y
    rate = acceleration(car, x)[0]
    omega = v * math.cos(angle) / radius
    assert rate.v_y - tyres == pytest.approx(v * omega, rel=1e-9)
    # Across the fall line of a plane the heading turns slower, seen from above.
    turning = car.derivative(x._replace(omega=omega), car.Input())
    assert turning.yaw == pytest.approx(omega * math.cos(angle), rel=1e-9)


@pytest.mark.parametrize("name", ["four_wheel", "single_track", "two_track"])
def test_a_dip_presses_by_its_curvature(name: str) -> None:
    amplitude, wavelength, v = 0.4, 60.0, 15.0
    road = sp.Road.waves(amplitude, wavelength, phase=-0.5 * math.pi)
    level = sp.vehicles.get(name)()
    x = ahead(level, v)._replace(x=0.0, y=0.0)

    def load(car: sp.Vehicle) -> float:
        shown = car.outputs(x, car.Input())
        return sum(getattr(shown, f) for f in shown._fields if f.startswith("F_z"))

    curvature = amplitude * (2.0 * math.pi / wavelength) ** 2
    more = load(on_road(level, road)) - load(level)
    assert more == pytest.approx(level.params.m * v * v * curvature, rel=0.02)


def test_a_car_that_coasts_over_hills_keeps_its_energy() -> None:
    road = sp.Road.waves(1.5, 80.0)
    car = on_road(sp.vehicles.four_wheel(COASTING), road)
    rows = sp.Fleet(car, dt=0.002).rollout({"v_x": 12.0}, {}, steps=3000, every=3)
    x, y, v_x = (rows[:, 0, car.State._fields.index(name)] for name in ("x", "y", "v_x"))
    z = road.height(x, y)
    assert np.ptp(z) > 2.5
    energy = 0.5 * v_x**2 + G * z
    # The plane under its wheels is a chord of the hill: (wheelbase / wavelength)² of its height.
    np.testing.assert_allclose(energy, energy[0], atol=0.01 * G * np.ptp(z))


AXIS = np.arange(-150.0, 151.0, 3.0)
X, Y = np.meshgrid(AXIS, AXIS, indexing="ij")
COURSES = {
    "plane": sp.Road.plane(slope=0.1, bank=0.05),
    "bowl": sp.Road.grid(0.002 * (X**2 + Y**2), (-150.0, -150.0), 3.0, method="cubic"),
    "hills": sp.Road.grid(np.sin(0.1 * X) * np.cos(0.1 * Y), (-150.0, -150.0), 3.0, method="cubic"),
    "crests": sp.Road.waves(1.0, 50.0),
}
"""On which a car that steers to one side goes round and round, over banks, crests and slopes."""
ROUND = (
    "commonroad_ks",
    "commonroad_kinematic_bicycle",
    "commonroad_st",
    "commonroad_dynamic_bicycle",
    "four_wheel",
    "single_track",
    "formula_student",
)
CHORD = 0.015
"""Share of the height of its course by which energy may differ: wheels stand on a hill, and the
centre of mass between them is as high as their plane, (wheelbase / wavelength)² lower than it."""


def energy_round(name: str, road: sp.Road) -> tuple[Any, Any]:
    """Energy over mass of a car that coasts with its wheels turned, and g times its heights."""
    level = sp.vehicles.get(name)(COASTING) if name == "four_wheel" else sp.vehicles.get(name)()
    car, steer = on_road(level, road), 0.05
    pose, v = sp.core.body.Pose(5.0, 0.0, 0.3), sp.core.body.Velocity(10.0, 0.0, 0.0)
    x = car.body.placed(record.build(car.State), pose, v, car.params)
    turned = {name: steer for name in ("delta", "steer") if name in x._fields}
    u = record.build(car.Input)
    u = u._replace(**{name: steer for name in ("delta", "steer") if name in u._fields})
    start = x._replace(**turned)
    if car.model.settle is not None:
        start = car.model.settle(start, car.params)
    # States alone, which take less to compile than a run with its outputs.
    rows = sp.Fleet(car, dt=0.002).rollout(
        np.array([record.flatten(start)]), u, steps=20_000, every=5
    )
    states = record.unflatten(car.State, list(rows[:, 0].T))
    at, moving = car.body.pose(states, car.params), car.body.velocity(states, u, car.params)
    z, inertia = road.height(at.x, at.y), level.geometry.inertia / level.geometry.mass
    rolls = name in ("commonroad_ks", "commonroad_kinematic_bicycle")  # nothing turns in them
    spin = 0.0 if rolls else inertia * moving.omega**2
    return 0.5 * (moving.v_x**2 + moving.v_y**2 + spin) + G * z, G * z


FEW = (
    *("commonroad_ks-plane", "commonroad_kinematic_bicycle-crests", "commonroad_st-crests"),
    *("commonroad_dynamic_bicycle-plane", "four_wheel-hills", "four_wheel-crests"),
    "single_track-plane",
)
"""Every car, and every kind of road."""


@pytest.mark.slow_cases(
    "commonroad_dynamic_bicycle-bowl",
    "commonroad_kinematic_bicycle-bowl",
    "commonroad_st-bowl",
    "single_track-bowl",
    "commonroad_dynamic_bicycle-hills",
    "commonroad_kinematic_bicycle-hills",
    "commonroad_ks-bowl",
    "commonroad_st-hills",
    "commonroad_st-plane",
    "four_wheel-bowl",
    "single_track-hills",
)
@pytest.mark.parametrize(
    ("name", "course"),
    [
        pytest.param(name, road, marks=() if f"{name}-{road}" in FEW else pytest.mark.slow)
        for name in ROUND
        for road in COURSES
    ],
)
def test_round_a_banked_and_hilly_course_no_energy_is_gained(name: str, course: str) -> None:
    energy, height = energy_round(name, COURSES[course])
    gained = (energy - np.minimum.accumulate(energy)).max()
    assert gained < CHORD * np.ptp(height)
    if name in ("commonroad_ks", "commonroad_kinematic_bicycle"):  # they have nothing to lose it by
        assert energy[-1] == pytest.approx(energy[0], abs=CHORD * np.ptp(height))


def test_a_fleet_may_differ_in_the_road() -> None:
    car = on_road(sp.vehicles.commonroad_ks(), sp.Road.plane(slope=0.1))
    fleet = sp.Fleet(car, dt=0.01)
    slopes = np.array([-0.1, 0.0, 0.2])
    start = np.zeros((3, len(car.State._fields)))
    paths = fleet.rollout(start, {}, steps=100, params={"road.surface.slope": slopes.tolist()})
    speed = paths[-1, :, car.State._fields.index("v")]
    np.testing.assert_allclose(speed, -G * np.sin(np.arctan(slopes)), rtol=1e-9)


@pytest.mark.parametrize("name", ["four_wheel", "single_track"])
def test_grip_is_that_of_the_disturbance(name: str) -> None:
    level = sp.vehicles.get(name)()
    car = on_road(level, sp.Road().with_grip(0.4))
    x = ahead(level, 20.0)._replace(omega=0.4, v_y=0.8)
    fields = [f for f in level.model.Disturbance._fields if f.startswith("mu_")]
    slippery = level.model.Disturbance(**dict.fromkeys(fields, 0.4))
    assert acceleration(car, x)[0] == acceleration(level, x, slippery)[0]
    assert acceleration(car, x)[0] != acceleration(level, x)[0]


def test_what_the_user_does_adds_to_the_road() -> None:
    car = on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1).with_grip(0.5))
    x = ahead(car, 20.0)._replace(v_y=1.0)
    pushed = car.derivative(x, car.Input(), car.model.Disturbance(F_x=500.0))
    assert pushed.v_x - car.derivative(x, car.Input()).v_x == pytest.approx(500.0 / car.params.m)
    twice = on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1).with_grip(0.25))
    wet = car.derivative(x, car.Input(), car.model.Disturbance(mu_scale=0.5))
    assert wet == twice.derivative(x, car.Input())


def robot(kind: str, mu: float = 0.8) -> sp.Vehicle:
    plain = default_description(kind, friction=Friction(mu=mu, C_damping=0.0))
    chassis = replace(plain.chassis, linear_damping=0.0, angular_damping=0.0)
    return wheeled.vehicle(replace(plain, chassis=chassis))


@pytest.mark.parametrize("kind", ["differential", "differential_4_wheels", "ackermann"])
def test_robots_roll_down_and_slide_where_it_is_slippery(kind: str) -> None:
    """Across the slope friction holds up to mu = tan θ; beyond it the rest accelerates them."""
    road = sp.Road.plane(bank=0.3)
    dt, angle = 0.001, math.atan(0.3)
    for grip, slides in ((1.0, False), (0.1, True)):
        car = on_road(robot(kind), road.with_grip(grip))
        update = car.model.update
        assert update is not None
        x, u, w = (record.build(k) for k in (car.State, car.Input, car.model.Disturbance))
        for _ in range(40):
            x = update(x, u, w, car.params, dt)
        free = -G * math.sin(angle) * 40 * dt
        if slides:
            held = 0.08 * G * math.cos(angle) * 40 * dt
            assert x.v_y == pytest.approx(free + held, rel=0.05)
        else:
            assert abs(x.v_y) < 0.02 * abs(free)


def test_the_fitted_plane_is_that_under_four_wheels() -> None:
    road = sp.Road.waves(0.3, 11.0, yaw=0.7).record
    places = ((1.2, 0.7), (1.2, -0.7), (-1.4, 0.7), (-1.4, -0.7))
    contacts = [wheel_contact(road, 3.0 + x, 1.0 + y, 0.0) for x, y in places]
    np.testing.assert_allclose(
        record.flatten(fitted_plane(contacts, places)),
        record.flatten(plane_under(contacts, places)),
        atol=1e-12,
    )
    triangle = ((0.9, 0.1), (-0.4, 0.5), (-0.3, -0.6))
    plane = sp.Road.plane(slope=0.2, bank=-0.1).record
    three = fitted_plane([wheel_contact(plane, *at, 0.0) for at in triangle], triangle)
    assert (three.slope, three.bank) == pytest.approx((0.2, -0.1))
    assert three.change == pytest.approx((0.0, 0.0, -0.1), abs=1e-12)


@pytest.mark.parametrize("name", ["four_wheel", "kinematic_bicycle", "two_track"])
def test_a_level_road_changes_nothing(name: str) -> None:
    car = sp.vehicles.get(name)()
    assert on_road(car, sp.Road()) is car


@pytest.mark.parametrize("name", ["four_wheel", "two_track"])
def test_another_road_takes_the_place_of_the_first(name: str) -> None:
    car = sp.vehicles.get(name)(m=300.0).with_clipped_inputs()
    hill, ice = (
        sp.Road.plane(slope=0.1),
        sp.Road().with_grip([Patch(value=0.2, length=4.0, width=4.0)]),
    )
    once, again = on_road(car, ice), on_road(on_road(car, hill), ice)
    assert again.model is once.model
    assert again == once
    assert on_road(once, sp.Road()) == car
    assert again.clips_inputs
    assert again.with_params(m=400.0).params.m == 400.0


def test_a_car_with_a_road_of_its_own_gets_it_as_its_part() -> None:
    road = sp.Road.plane(slope=0.1)
    assert on_road(sp.vehicles.two_track(m=1300.0), road) == sp.vehicles.two_track(
        m=1300.0, road=road
    )


def test_brakes_and_road_may_come_in_any_order() -> None:
    road, braked = sp.Road.plane(slope=0.1), sp.vehicles.with_brakes
    car = sp.vehicles.four_wheel()
    assert braked(on_road(car, road)) == on_road(braked(car), road)


def test_it_is_pickled_as_what_it_is_made_from() -> None:
    car = on_road(sp.vehicles.four_wheel(), sp.Road.plane(slope=0.1))
    again = pickle.loads(pickle.dumps(car))
    assert again.model is car.model
    assert again.params == car.params


@pytest.mark.parametrize(
    ("name", "road", "words"),
    [
        ("kinematic_bicycle", sp.Road.plane(0.1), "neither a force nor an acceleration nor a grip"),
        ("brains2", sp.Road().with_grip(0.5), "neither a force nor an acceleration nor a grip"),
        ("commonroad_ks", sp.Road().with_grip(0.5), r"no friction .* Road\(road.surface\)"),
        ("four_wheel", 0.1, "road = 0.1 must be a Road"),
    ],
)
def test_who_cannot_feel_a_road_says_what_lacks(name: str, road: Any, words: str) -> None:
    with pytest.raises(sp.errors.InvalidValue, match=words):
        on_road(sp.vehicles.get(name)(), road)
