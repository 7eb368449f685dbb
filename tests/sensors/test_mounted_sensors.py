"""IMU, odometry and GNSS as sensor models: the sensors' own readings, on any vehicle."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.core.body import Limits, Pose, Velocity, car_geometry
from skidpad.errors import InvalidValue
from skidpad.ops import atan, cos, sin, tan
from skidpad.random import Draw, Gaussian
from skidpad.sensors import (
    Channel,
    FullState,
    Gnss,
    Growth,
    Imu,
    Motion,
    MountedSensor,
    Mounting,
    Odometry,
    motion_of,
)
from skidpad.units import m, m_s, m_s2, one, rad, rad_s

CAR = sp.vehicles.four_wheel()
PLACE = Mounting(x=0.4, y=-0.2, z=0.3)


class PointState(NamedTuple):
    """A car by its speed alone, about its centre of mass."""

    x: m = 0.0
    y: m = 0.0
    v: m_s = 0.0
    yaw: rad = 0.0
    steer: rad = 0.0


class PointInput(NamedTuple):
    """Acceleration and steering rate."""

    a: m_s2 = 0.0
    steer_rate: rad_s = 0.0


class PointParams(NamedTuple):
    """Half a wheelbase."""

    l: m = 1.5  # noqa: E741
    unused: one = 0.0


def slip(steer: Any) -> Any:
    return atan(0.5 * tan(steer))


def derivative(x: Any, u: Any, w: Any, p: Any) -> PointState:
    beta = slip(x.steer)
    return PointState(
        x.v * cos(x.yaw + beta), x.v * sin(x.yaw + beta), u.a, x.v * sin(beta) / p.l, u.steer_rate
    )


def velocity(x: Any, u: Any, p: Any) -> Velocity:
    beta = slip(x.steer)
    return Velocity(x.v * cos(beta), x.v * sin(beta), x.v * sin(beta) / p.l)


BODY = sp.Body(
    reference="centre of mass",
    pose=lambda x, p: Pose(x.x, x.y, x.yaw),
    velocity=velocity,
    steer=lambda x, u, p: x.steer,
    placed=lambda x, pose, velocity, p: x._replace(**pose._asdict(), v=velocity.v_x),
    geometry=lambda p: car_geometry(
        front_axle=p.l, rear_axle=-p.l, front=2.0, rear=-2.0, width=1.7, height=1.5
    ),
    limits=lambda p: Limits(),
    command=lambda x, demand, p: PointInput(demand.a),
)
"""Without an acceleration: it follows from velocity and derivative."""
BICYCLE = sp.VehicleFactory(
    sp.Model("point", PointState, PointInput, PointParams, derivative=derivative, body=BODY)
)()


@pytest.mark.parametrize(
    "sensor",
    [
        Imu(mounting=PLACE),
        Odometry(mounting=PLACE),
        Gnss(mounting=PLACE, velocity=Channel(), heading=Channel()),
    ],
    ids=["imu", "odometry", "gnss"],
)
def test_the_output_is_the_reading_without_errors(sensor: Any) -> None:
    x = record.build(CAR.State, x=3.0, yaw=0.3, v_x=9.0, v_y=0.4, omega=0.8, steer=0.1)
    u = record.build(CAR.Input, tau_rl=50.0, tau_rr=60.0, steer=0.1)
    model = MountedSensor(CAR, sensor)
    expected = sensor.measure(motion_of(CAR, x, u))
    names = record.names(model.Output)
    assert names == record.names(sensor.Reading)[: len(sensor.channels)]
    assert tuple(model.nominal_output(x, u)) == tuple(getattr(expected, n) for n in names)
    assert model.measure(x, u, Draw(1, "noise", [0])) == model.nominal_output(x, u)
    assert [f.unit for f in record.fields(model.Output)] == [
        f.unit for f in record.fields(sensor.Reading)[: len(names)]
    ]


def test_a_push_from_the_side_is_felt() -> None:
    model = MountedSensor(CAR, Imu())
    x = record.build(CAR.State)
    wind = record.build(CAR.model.Disturbance, F_y=CAR.params.m)
    felt = model.nominal_output(x, None, wind).f_y - model.nominal_output(x).f_y
    assert felt == pytest.approx(1.0, rel=1e-12)


def test_a_receiver_gives_what_it_has() -> None:
    assert MountedSensor(CAR, Gnss()).Output._fields == ("x", "y", "z")  # type: ignore[attr-defined]
    with_heading = MountedSensor(CAR, Gnss(heading=Channel()))
    assert with_heading.Output._fields == ("x", "y", "z", "yaw")  # type: ignore[attr-defined]


def test_the_noise_is_that_of_the_channels() -> None:
    imu = Imu(
        rate=100.0,
        accelerometer=Channel(std=0.3, density=0.04, bias=0.1),
        gyroscope=(Channel(), Channel(), Channel(std=0.01)),
    )
    errors = MountedSensor(CAR, imu).noise_model
    assert isinstance(errors, Gaussian)
    assert np.allclose(errors.std, [0.5, 0.5, 0.5, 0.0, 0.0, 0.01], rtol=1e-15)
    assert errors.mean.tolist() == [0.1, 0.1, 0.1, 0.0, 0.0, 0.0]
    quiet = MountedSensor(CAR, imu).measure(CAR.State(), None, random=False)
    assert quiet.f_z == pytest.approx(9.81 + 0.1)
    fix = MountedSensor(CAR, Gnss(horizontal=Channel(std=2.0), vertical=Channel(std=5.0)))
    assert fix.noise_model.std.tolist() == [2.0, 2.0, 5.0]  # type: ignore[attr-defined]


def test_noise_given_takes_the_place_of_the_channels() -> None:
    noise = Gaussian([0.0, 0.0, 0.0], 1.0)
    model = MountedSensor(CAR, Odometry(forward=Channel(walk=1.0)), noise)
    assert model.noise_model is noise


@pytest.mark.parametrize("steer_rate", [0.0, 0.3])
def test_a_vehicle_that_tells_its_speed_only(steer_rate: float) -> None:
    """Velocity and acceleration against the closed form of the path of the centre of mass."""
    x = PointState(x=5.0, y=6.0, v=8.0, yaw=0.7, steer=0.2)
    u = PointInput(a=1.5, steer_rate=steer_rate)
    beta = math.atan(0.5 * math.tan(0.2))
    # cos²β · ½ / cos²δ is dβ/dδ.
    beta_rate = steer_rate * 0.5 * (math.cos(beta) / math.cos(0.2)) ** 2
    omega = 8.0 * math.sin(beta) / 1.5
    omega_rate = (1.5 * math.sin(beta) + 8.0 * math.cos(beta) * beta_rate) / 1.5
    along, across = 1.5, 8.0 * (omega + beta_rate)
    a_x = along * math.cos(beta) - across * math.sin(beta)
    a_y = along * math.sin(beta) + across * math.cos(beta)
    expected = Motion(
        x=5.0,
        y=6.0,
        yaw=0.7,
        v_x=8.0 * math.cos(beta),
        v_y=8.0 * math.sin(beta),
        omega=omega,
        a_x=a_x,
        a_y=a_y,
        omega_rate=omega_rate,
        steer=0.2,
    )
    for sensor in (Imu(mounting=PLACE), Odometry(mounting=PLACE), Gnss(velocity=Channel())):
        found = MountedSensor(BICYCLE, sensor).nominal_output(x, u)
        assert np.allclose(found, sensor.measure(expected)[: len(found)], rtol=1e-12, atol=1e-12)


def test_many_runs_of_such_a_vehicle() -> None:
    model = MountedSensor(BICYCLE, Imu(accelerometer=Channel(std=0.1)))
    states = np.random.default_rng(1).uniform(0.1, 0.4, (4, 5))
    together = model.measure(states, [1.0, 0.1], Draw(1, "noise", np.arange(4)))
    for k in range(4):
        alone = model.measure(states[k], [1.0, 0.1], Draw(1, "noise", [k]))
        row = [np.broadcast_to(leaf, (4,))[k] for leaf in together]
        assert np.allclose(row, alone, rtol=0.0, atol=1e-13)


def test_it_traces_for_such_a_vehicle_too() -> None:
    import casadi as ca

    symbols = ca.SX.sym("x", 5)
    state = PointState._make(ca.vertsplit(symbols))
    y = MountedSensor(BICYCLE, Imu()).output(state, PointInput(1.0, 0.1))
    function = ca.Function("h", [symbols], [ca.vertcat(*y)])
    x = PointState(x=5.0, y=6.0, v=8.0, yaw=0.7, steer=0.2)
    numbers = MountedSensor(BICYCLE, Imu()).nominal_output(x, PointInput(1.0, 0.1))
    assert np.allclose(np.array(function(list(x))).ravel(), numbers, rtol=1e-13)


@pytest.mark.parametrize("name", sp.vehicles.names())
@pytest.mark.parametrize("sensor", [Imu(), Odometry(), Gnss()], ids=["imu", "odometry", "gnss"])
def test_every_vehicle_has_the_sensor_or_says_why_not(name: str, sensor: Any) -> None:
    vehicle = sp.vehicles.get(name)()
    if vehicle.model.continuous or not isinstance(sensor, Imu):
        model = MountedSensor(vehicle, sensor)
    else:
        with pytest.raises(InvalidValue, match="give motion="):
            MountedSensor(vehicle, sensor)
        model = MountedSensor(vehicle, sensor, motion=lambda x, u, w: Motion(x=1.0))
    size = record.size(vehicle.State)
    x = record.unflatten(vehicle.State, [0.5 + 0.01 * k for k in range(size)])
    y = model.measure(x, None, Draw(1, "noise", [0]))
    assert np.isfinite(np.array(y, float)).all()
    assert len(y) == model.output_dimension


def test_a_truck_rolls_as_its_odometry_says() -> None:
    truck = sp.vehicles.ackermann_truck()
    x = record.build(truck.State, x=2.0, v_x=0.5, steer=0.3)
    y = MountedSensor(truck, Odometry()).nominal_output(x)
    assert tuple(y) == pytest.approx((0.5, 0.0, 0.5 * math.tan(0.3) / truck.params.wheel_base))


def test_without_a_body_the_motion_has_to_be_given() -> None:
    bare = sp.VehicleFactory(replace(BICYCLE.model, body=None))()
    with pytest.raises(InvalidValue, match="vehicle = 'point' has no body: give motion="):
        MountedSensor(bare, Odometry())
    rides = MountedSensor(bare, Odometry(), motion=lambda x, u, w: Motion(v_x=x.v))
    assert rides.nominal_output(PointState(v=2.0)).v_x == 2.0


CASES: list[tuple[Callable[[], Any], str]] = [
    (lambda: MountedSensor(CAR, 3), "sensor = 3 must be a Sensor that measures a Motion"),  # type: ignore[arg-type]
    (
        lambda: MountedSensor(CAR, FullState(fields={"v_x": Channel()})),
        "sensor = .* must be a Sensor that measures a Motion",
    ),
    (lambda: MountedSensor(CAR, Imu(delay=0.1)), "Imu.delay = 0.1 must be 0 in a sensor model"),
    (lambda: MountedSensor(CAR, Imu(dropout=0.1)), "Imu.dropout = 0.1 must be 0 in a sensor"),
    (
        lambda: MountedSensor(CAR, Odometry(growth=Growth(along=0.1))),
        "Odometry.growth must be 0 in a sensor model",
    ),
    (
        lambda: MountedSensor(CAR, Imu(gyroscope=Channel(walk=0.1))),
        "the channel of omega_x has walk = 0.1; allowed in a sensor model are std, density and",
    ),
    (
        lambda: MountedSensor(CAR, Gnss(vertical=Channel(high=9.0))),
        "the channel of z has high = 9.0; allowed",
    ),
    (
        lambda: MountedSensor(CAR, Odometry(), Gaussian(0.0, 1.0)),
        "noise has dim = 1; allowed is 3, one value for each of v_x, v_y, omega",
    ),
    (
        lambda: MountedSensor(sp.vehicles.ackermann_truck(), Imu()),
        "vehicle = 'ackermann_truck' provides no accelerations, which Imu measures: give motion=",
    ),
]


@pytest.mark.parametrize(("make", "message"), CASES, ids=[message for _, message in CASES])
def test_it_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()
