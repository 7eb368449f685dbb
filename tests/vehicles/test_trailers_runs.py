"""Cars with trailers in every way a car is run: steps, fleets, gradients, worlds and pages."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import skidpad as sp
from skidpad.core import record
from skidpad.geometry.pose import to_world
from skidpad.road import Patch
from skidpad.tyres import BrushTyre, LinearTyre
from skidpad.vehicles.parts import FirstOrderSlip, HydraulicBrakes, MotorDrive, Trailer
from skidpad.vehicles.parts.chassis import RollPitch
from skidpad.vehicles.parts.trailers import NoTrailers
from skidpad.view.stages import trajectory_stage
from skidpad.world.scene import Pose, VehicleSpec
from skidpad.world.vehicle import built_vehicle
from skidpad.world.xml import loads

two_track = sp.vehicles.two_track
DT = 0.005
BRAKES = ("brake_fl", "brake_fr", "brake_rl", "brake_rr")
LOCKED = {"brake_rl": 2500.0, "brake_rr": 2500.0}
POST = (
    "<block name='post'><static>true</static><init_pose>{x} 0.5 0</init_pose>"
    "<shape><pt>-0.05 -0.05</pt><pt>0.05 -0.05</pt><pt>0.05 0.05</pt><pt>-0.05 0.05</pt></shape>"
    "</block>"
)


@cache
def caravan() -> sp.Vehicle:
    """The car that is compiled here."""
    return two_track(
        trailers=Trailer(), slip=FirstOrderSlip(), road=sp.Road.plane(), brake_max=5000.0
    )


def driven(
    car: sp.Vehicle, u: Any, seconds: float, disturbed: Any = None, **start: float
) -> dict[str, np.ndarray]:
    """States over time, by a fleet, which needs no code for the outputs."""
    rows = sp.Fleet(car, dt=DT).rollout(
        np.array([record.flatten(rolling(car, **start))]),
        u,
        steps=round(seconds / DT),
        disturbances=disturbed or {},
    )
    return dict(zip(record.names(car.State), rows[:, 0].T, strict=True))


WET = {name: 0.5 for name in ("mu_fl", "mu_fr", "mu_rl", "mu_rr", "mu_left_1", "mu_right_1")}


@pytest.mark.slow
def test_it_jack_knifes_when_the_rear_wheels_of_the_car_lock() -> None:
    """From a small angle all the way to the end stop; rolling on it goes straight, and a trailer
    without brakes pushes. It comes to rest where it has folded."""
    car = caravan().with_params(**{"trailers.first.brake": 0.0})
    folded = driven(car, LOCKED, 6.0, WET, v_x=20.0, hitch_1=0.03)["hitch_1"]
    assert 1.6 < np.abs(folded).max() < car.params.trailers.first.hitch_max + 0.2
    free = driven(car, {}, 6.0, WET, v_x=20.0, hitch_1=0.03)["hitch_1"]
    assert np.abs(free).max() < 0.05
    assert abs(free[-1]) < 1e-3


def test_a_trailer_with_locked_wheels_gives_way_to_a_force_across_it() -> None:
    """It hardly holds its line any more, and swings out where one that rolls stays in line."""
    gentle, angles = dict.fromkeys(BRAKES, 400.0), list[float]()
    for brake in (6.0, 1.0):
        car = caravan().with_params(**{"trailers.first.brake": brake})
        run = driven(car, gentle, 2.0, {**WET, "F_y_1": 150.0}, v_x=25.0)
        assert run["spin_fl"][100] > 10.0
        assert (run["spin_left_1"][-1] < 0.1) == (brake > 1.0)
        angles.append(float(np.abs(run["hitch_1"]).max()))
    assert angles[0] > 10.0 * angles[1]


@pytest.mark.parametrize("slope", [0.2, -0.2])
def test_it_stands_braked_on_a_slope(slope: float) -> None:
    """By the brakes of all wheels, and with those of the car alone."""
    for brake in (1.0, 0.0):
        own = {"trailers.first.brake": brake, "road.surface.slope": slope}
        car = caravan().with_params(**own)
        run = driven(car, dict.fromkeys(BRAKES, 4000.0), 6.0)
        assert np.abs(run["v_x"][-200:]).max() < 1e-6
        assert abs(run["x"][-1]) < 0.05
        assert abs(run["hitch_1"][-1]) < 1e-6


def test_fleets_have_the_bits_of_simulators() -> None:
    car = caravan()
    start = {"v_x": 20.0, "hitch_1": 0.1, "omega": 0.1}
    u = {"steer": 0.03, "tau_fl": 200.0, "tau_fr": 200.0, "brake_rl": 50.0}
    sim = sp.Simulator(car, dt=DT)
    sim.reset(start)
    for _ in range(60):
        sim.step(u)
    x0 = np.tile(np.array(record.flatten(rolling(car, **start))), (5, 1))
    rows = sp.Fleet(car, dt=DT).rollout(x0, u, steps=60)
    np.testing.assert_array_equal(rows[-1], np.tile(record.flatten(sim.state), (5, 1)))


def rolling(car: sp.Vehicle, **values: float) -> Any:
    assert car.model.settle is not None
    return car.model.settle(car.State(**values), car.params)


@pytest.mark.slow
def test_gradients_of_rollouts_are_those_of_differences() -> None:
    """By the mass of the trailer, where it hangs and the slope."""
    car = caravan()
    fleet = sp.Fleet(car, dt=DT)
    start = np.array(record.flatten(rolling(car, v_x=20.0, hitch_1=0.2)))[None]
    controls = np.zeros((40, 1, len(car.model.Input._fields)))
    _, gradient = fleet.gradient(start, controls, lambda x: x.hitch_1 + x.yaw, wrt="params")
    assert np.isfinite(gradient.params).all()
    names, leaves = record.names(car.model.Params), record.flatten(car.params)
    at = [record.names(car.State).index(name) for name in ("hitch_1", "yaw")]
    for name in ("trailers.first.m", "trailers.first.behind", "trailers.first.tyre.trail"):
        value = leaves[names.index(name)]
        e = 1e-4 * value
        ends = [
            fleet.rollout(start, controls, params={name: [value + d]})[-1, 0, at].sum()
            for d in (-e, e)
        ]
        exact = gradient.params[0, names.index(name)]
        assert exact == pytest.approx((ends[1] - ends[0]) / (2.0 * e), rel=1e-4)


def test_a_demand_brings_about_its_acceleration_with_what_hangs_behind() -> None:
    car = caravan()
    for demand, v_x in (
        (sp.Demand(a=1.0), 15.0),
        (sp.Demand(a=-1.5), 15.0),
        (sp.Demand(a=-0.5, v=-4.0), -3.0),
    ):
        sim = sp.Simulator(car, dt=DT)
        sim.reset(v_x=v_x)
        for _ in range(200):
            sim.step(car.body.command(sim.state, demand, car.params))
        # Lags and rolling resistance are not made up for; the car alone has the same.
        assert (sim.state.v_x - v_x) == pytest.approx(demand.a, abs=0.2)


@pytest.mark.slow_cases("fifth wheel", "two")
@pytest.mark.parametrize(
    "values",
    [
        {"trailers": Trailer()},
        {"trailers": (Trailer(), Trailer(behind=1.2, tyre=BrushTyre())), "slip": FirstOrderSlip()},
        {"trailers": Trailer(behind=-0.4), "chassis": RollPitch(), "slip": FirstOrderSlip()},
    ],
    ids=["one", "two", "fifth wheel"],
)
def test_it_conforms(values: dict[str, Any]) -> None:
    called = ["mirror", "frame", "gradients", "dimensions", "energy", "rest", "motion", "shape"]
    sp.testing.check(two_track(**values), called).raise_if_failed()


@pytest.mark.slow
def test_it_drives_and_stands_in_worlds() -> None:
    car = two_track(trailers=(Trailer(), Trailer()), slip=FirstOrderSlip())
    sp.testing.check(car, ["driving", "standing"]).raise_if_failed()


def test_it_goes_with_pedals_and_gets_their_outputs() -> None:
    car = two_track(powertrain=MotorDrive(), brakes=HydraulicBrakes(), trailers=Trailer())
    x = rolling(car, v_x=10.0)._replace(p_brake_f=2e6, p_brake_r=1e6)
    rate, out = car.derivative(x, car.Input()), car.outputs(x, car.Input())
    assert rate.spin_left_1 < -1.0
    assert out.F_z_hitch_1 > 0.0
    assert set(out._fields) > set(two_track(powertrain=MotorDrive()).model.Outputs._fields)


def test_grip_and_gravity_are_those_of_the_place_of_the_trailer() -> None:
    """A patch of ice under the trailer's left wheel alone, and a slope that pulls at all."""
    ice = Patch(value=0.1, x=-6.4, y=1.0, length=2.0, width=1.0)
    car = two_track(trailers=Trailer(), road=sp.Road().with_grip([ice]))
    out = car.outputs(rolling(car, v_x=10.0, v_y=-1.0), car.Input())
    assert out.F_y_left_1 < 0.3 * out.F_y_right_1
    assert out.F_y_fl == pytest.approx(out.F_y_fr, rel=1e-2)
    slope, turned = 0.15, 0.7
    hill = two_track(trailers=Trailer(), road=sp.Road.plane(slope), C_drag=0.0)
    rest = hill.derivative(hill.State(), hill.Input())
    assert rest.v_x == pytest.approx(-9.81 * math.sin(math.atan(slope)), rel=1e-9)
    assert rest.hitch_rate_1 == pytest.approx(0.0, abs=1e-12)
    across = hill.derivative(hill.State(yaw=turned, hitch_1=-turned), hill.Input())
    assert math.hypot(across.v_x, across.v_y) > 0.5


@pytest.mark.slow
def test_energy_is_kept_on_a_slope_that_it_rolls_up_and_down() -> None:
    """Folded and turning on ice: kinetic energy and that of height together."""
    car = two_track(trailers=(Trailer(C_drag=0.0), Trailer(C_drag=0.0)), C_drag=0.0,
                    road=sp.Road.plane(0.2, 0.1))  # fmt: skip
    w = car.model.Disturbance(**{n: 0.0 for n in car.model.Disturbance._fields if "mu" in n})
    x = car.State(v_x=6.0, omega=0.3, hitch_1=0.6, hitch_2=-0.4, hitch_rate_2=0.2)

    def rates(_: float, y: Any) -> Any:
        return record.flatten(car.derivative(car.State(*y), car.Input(), w))

    end = car.State(*solve_ivp(rates, (0.0, 2.0), x, rtol=1e-9, atol=1e-9).y[:, -1])
    assert car.model.energy is not None
    first, last = (car.model.energy(at, car.params) for at in (x, end))
    assert last == pytest.approx(first, rel=1e-6)
    kinetic = two_track(trailers=(Trailer(), Trailer()))
    assert kinetic.model.energy is not None
    moved = [kinetic.model.energy(at, kinetic.params) for at in (x, end)]
    assert abs(moved[1] - moved[0]) > 0.1 * first


def test_it_comes_back_from_a_pickle_and_there_is_one_model_of_each_chain() -> None:
    pair = (Trailer(tyre=LinearTyre()), Trailer(m=700.0))
    car = two_track(trailers=pair, m=1700.0)
    back = pickle.loads(pickle.dumps(car))
    assert back == car
    assert back.model is car.model
    params = pickle.loads(pickle.dumps(car.params))
    assert record.flatten(params) == record.flatten(car.params)
    assert two_track(car.params).model is car.model
    assert two_track(trailers=car.params.trailers).model is two_track(trailers=pair).model
    assert two_track(trailers=()).model is two_track().model
    assert two_track(trailers=NoTrailers()).model is two_track().model
    assert two_track(trailers=(Trailer(), Trailer())).model is not car.model
    heavier = car.with_params(**{"trailers.second.m": 900.0})
    assert heavier.model is car.model
    assert heavier.params.trailers.second.m == 900.0


@pytest.mark.parametrize("trailers", [3.0, "caravan", LinearTyre(), (Trailer(), 2.0)])
def test_what_is_no_trailer_is_refused(trailers: Any) -> None:
    with pytest.raises(sp.InvalidValue, match="trailers must be a Trailer of"):
        two_track(trailers=trailers)


def test_trailers_that_could_not_stand_are_refused() -> None:
    with pytest.raises(sp.InvalidValue, match=r"trailers\.first\.m .*greater than 0"):
        two_track(trailers=Trailer(m=0.0))
    with pytest.raises(sp.InvalidValue, match=r"trailers\.first\.l_cg = 0\.1 m.*lifts an axle of"):
        two_track(trailers=Trailer(m=9000.0, l_cg=0.1))
    with pytest.raises(sp.InvalidValue, match=r"at most 4"):
        two_track(trailers=(Trailer(),) * 5)


@pytest.mark.slow
def test_the_parts_of_a_chain_are_drawn_and_met_where_they_stand() -> None:
    """Poses of stage and outlines of contacts, against the outputs of the car."""
    car = two_track(trailers=(Trailer(), Trailer(behind=1.2)), slip=FirstOrderSlip())
    x = rolling(car, x=3.0, y=-2.0, yaw=0.4, hitch_1=0.7, hitch_2=-1.1)
    out = car.outputs(x, car.Input())
    sim = sp.Simulator(car, dt=DT)
    sim.reset(x)
    stage, _, rows = trajectory_stage({"car": sim.run({}, duration=DT)}, car)
    for k, name in enumerate(("car trailer", "car trailer 2"), 1):
        body = next(one for one in stage.bodies if one.name == name)
        pose = rows[0, [body.x, body.y, body.yaw]]
        wanted = [getattr(out, f"{n}_trailer_{k}") for n in ("x", "y", "yaw")]
        np.testing.assert_allclose(pose, wanted, rtol=1e-12, atol=1e-12)
    parts = built_vehicle(VehicleSpec("car", Pose(3.0, -2.0, 0.4), car), None, 9.81).turning
    for k, angles in ((1, (0.7,)), (2, (0.7, -1.1))):
        trailing = [part for part in parts if part.field == f"hitch_{k}"]
        wheels = [corner for part in trailing[-2:] for corner in part.outline(*angles)]
        wanted = [getattr(out, f"{n}_trailer_{k}") for n in ("x", "y")]
        np.testing.assert_allclose(to_world((3.0, -2.0, 0.4), *np.mean(wheels, 0)), wanted)


@pytest.mark.slow
def test_a_car_whose_last_trailer_stands_in_a_post_touches_it() -> None:
    car = two_track(trailers=(Trailer(), Trailer()), slip=FirstOrderSlip())
    axle = car.outputs(car.State(), car.Input()).x_trailer_2
    at = VehicleSpec("car", Pose(0.0, 0.0, 0.0), car)

    def beside(x: float) -> sp.World:
        scene = loads(f"<mvsim_world>{POST.format(x=x)}</mvsim_world>")
        return sp.World(replace(scene, vehicles=(at,)))

    with pytest.warns(sp.world.WorldWarning, match="car and post"):
        touching = beside(axle)
    for made, touches in ((touching, True), (beside(axle - 4.0), False)):
        made.step()
        assert made.vehicles["car"].in_collision == touches
