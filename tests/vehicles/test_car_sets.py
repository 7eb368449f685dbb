"""Parameter sets of `two_track` and `single_track`: cars that behave as their kind does.

Published figures of performance are as catalogues and magazines quote them; ranges without one are
estimates of what is usual.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest

import skidpad as sp
from skidpad.tyres import LinearTyre
from skidpad.vehicles.parts import AccelerationCommand, FirstOrderSlip
from skidpad.vehicles.twin_track.sets import SETS
from vehicles.car_figures import (
    car_of,
    launch,
    launch_speed,
    stopped,
    stopped_by_anti_lock,
    top_speed,
    understeer,
)

two_track, single_track = sp.vehicles.two_track, sp.vehicles.single_track


class Usual(NamedTuple):
    """What is usual of a kind of car, with its source."""

    understeer: tuple[float, float]
    """In deg/g. Road cars 1 to 4, sports cars less, race cars nearly neutral (estimates)."""
    top: tuple[float, float]
    """Top speed in km/h: 8 % about the published one, since gears and lift are left out."""
    launch_speed: float
    """In km/h, from rest."""
    launch: float
    """Published time to that speed in s. A car that gives its largest power at any speed, without
    gears, is no slower."""
    stop: tuple[float, float]
    """Distance in m from that speed."""
    circle: tuple[float, float]
    """Diameter in m of the circle of the outer front wheel: published, 4 % about it."""


USUAL = {
    # Stops of magazines' tests: compact cars 34 to 39 m, sports cars 31 to 36, SUVs 36 to 42.
    "compact": Usual((1.0, 4.0), (187.0, 219.0), 100.0, 9.3, (34.0, 39.0), (10.5, 11.3)),
    "sports": Usual((0.5, 3.0), (266.0, 312.0), 100.0, 4.8, (31.0, 36.0), (10.7, 11.5)),
    "suv": Usual((1.0, 4.0), (190.0, 224.0), 100.0, 7.8, (36.0, 42.0), (11.5, 12.5)),
    # Formula 1: 300 to 340 km/h, 2.6 s to 100 km/h, 15 to 20 m back; circles of about 20 m.
    "race": Usual((-0.5, 2.0), (290.0, 345.0), 100.0, 2.9, (14.0, 21.0), (18.0, 24.0)),
    # Electric cars there: 105 to 130 km/h, as fast as wheel motors turn; 2.0 to 3.5 s to 100 km/h;
    # hairpins are 9 m wide outside. It stops between v²/2 over the friction with all and with none
    # of its downforce.
    "formula_student": Usual((-0.5, 1.5), (108.0, 126.0), 100.0, 3.5, (14.2, 23.8), (5.0, 9.0)),
    # f1tenth_gym: 20 m/s and 9.51 m/s² at most; here 10 m/s are reached and left.
    "small_scale": Usual((0.5, 4.0), (54.0, 90.0), 36.0, 3.0, (4.5, 7.0), (1.4, 2.0)),
}


@pytest.fixture(params=SETS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def test_every_set_has_its_usual_figures() -> None:
    assert set(USUAL) == set(SETS)


@pytest.mark.parametrize("factory", [two_track, single_track])
def test_understeer_gradient(name: str, factory: Any) -> None:
    low, high = USUAL[name].understeer
    assert low <= understeer(factory(name), name) <= high


@pytest.mark.slow_cases("compact", "small_scale", "suv", "sports")
def test_top_speed_is_where_power_meets_resistance(name: str) -> None:
    low, high = USUAL[name].top
    assert low <= top_speed(name) <= high


@pytest.mark.slow_cases("race", "small_scale", "sports", "suv", "compact")
def test_launch_takes_what_its_power_and_the_published_figure_allow(name: str) -> None:
    """Less than the kinetic energy over the power no car takes."""
    goal, time = launch_speed(name), launch(name)
    assert goal == pytest.approx(USUAL[name].launch_speed / 3.6)
    assert 0.5 * car_of(name).params.m * goal**2 / SETS[name].power <= time <= USUAL[name].launch
    assert car_of(name).limits.a_max * time > goal


@pytest.mark.slow_cases("small_scale", "suv", "compact", "sports")
def test_the_same_car_without_a_limit_of_power_is_no_slower(name: str) -> None:
    assert launch(name, plain=True) <= launch(name) + 1e-3


@pytest.mark.slow
def test_braking_distance(name: str) -> None:
    """Anti-lock brakes, as in the tests of magazines, stop before the first wheel that locks."""
    low, high = USUAL[name].stop
    assert low <= stopped_by_anti_lock(name) <= high
    assert stopped_by_anti_lock(name) < stopped(name)


@pytest.mark.slow_cases("compact", "small_scale", "sports")
def test_turning_circle(name: str) -> None:
    """Of the outer front wheel, at full lock and walking pace."""
    car = car_of(name)
    p, v = car.params, 0.05 * car_of(name).params.length / 0.6
    x = car.model.settle(car.State(v_x=v, steer=p.steer_max), p)  # type: ignore[misc]
    sim = sp.Simulator(car, dt=0.005, integrator="radau2")
    sim.reset(x)
    run = sim.run({"steer": p.steer_max}, duration=1.0)
    # The velocity of the centre of mass and the yaw rate say where the car turns about.
    v_x, v_y, omega = (run[field][-1] for field in ("v_x", "v_y", "omega"))
    outer = math.hypot(v_x / omega + 0.5 * p.track_f, p.l_f + v_y / omega)
    low, high = USUAL[name].circle
    assert low <= 2.0 * outer <= high


def test_formula_student_keeps_to_the_rules() -> None:
    p = two_track("formula_student").params
    assert SETS["formula_student"].power <= 80e3
    assert p.l_f + p.l_r >= 1.525
    assert min(p.track_f, p.track_r) >= 0.75 * max(p.track_f, p.track_r)


@pytest.mark.slow_cases(
    "race-factory1",
    "small_scale-factory1",
    "sports-factory0",
    "sports-factory1",
    "suv-factory0",
    "suv-factory1",
    "compact-factory0",
    "race-factory0",
)
@pytest.mark.parametrize("factory", [two_track, single_track])
def test_sets_conform(name: str, factory: Any) -> None:
    checks = ["rest", "dimensions", "mirror", "frame", "energy", "motion", "shape", "gradients"]
    sp.testing.check(factory(name), checks).raise_if_failed()


def test_every_set_names_its_sources(name: str) -> None:
    assert len(SETS[name].sources) > 100
    assert "Estimates" in SETS[name].sources
    assert "not checked" not in SETS[name].sources


def test_what_is_said_beside_a_set_wins() -> None:
    car = two_track("sports", m=1600.0, tyre=LinearTyre(), slip=FirstOrderSlip())
    assert (car.params.m, car.params.l_f) == (1600.0, SETS["sports"].values["l_f"])
    assert type(car.params.tyres.tyre) is LinearTyre
    assert car.params.slip == FirstOrderSlip()
    small = single_track("small_scale", slip=FirstOrderSlip(), drive=AccelerationCommand(a_max=2.0))
    assert small.limits.a_max == 2.0
    assert small.params.tyres.rear == SETS["small_scale"].rear
    assert two_track("small_scale").params.slip.v_low == 1.0
    assert sp.vehicles.get("two_track")("suv") == two_track("suv")


@pytest.mark.parametrize("factory", [two_track, single_track])
def test_an_unknown_set_is_refused_by_name(factory: Any) -> None:
    with pytest.raises(sp.InvalidValue, match="'sport'; did you mean 'sports'"):
        factory("sport")
