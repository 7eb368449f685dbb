"""In a loop, along a run and over a fleet a sensor gives the same readings."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.sensors import (
    Channel,
    FullState,
    Gnss,
    Growth,
    Imu,
    Motion,
    Mounting,
    Odometry,
    Origin,
    Sensor,
    WheelSpeed,
    motion_along,
)

CAR = sp.vehicles.four_wheel()
BUSY = Channel(std=0.1, walk=0.05, drift=0.2, drift_time=1.0, turn_on=0.3, scale=0.01, bias=0.2)
PLACE = Mounting(0.5, 0.2, 0.7, 0.1, 0.2, 0.3)
KNOBS: dict[str, Any] = {"rate": 30.0, "delay": 0.05, "dropout": 0.2}
SENSORS: list[Sensor] = [
    Imu(mounting=PLACE, accelerometer=BUSY, gyroscope=Channel(density=0.01), **KNOBS),
    Odometry(mounting=PLACE, forward=BUSY, growth=Growth(0.1, 0.1, 0.1, 0.1), **KNOBS),
    WheelSpeed.of(CAR, radius=0.23, channel=BUSY, **KNOBS),
    WheelSpeed.of(CAR, radius=0.23, channel=BUSY, ticks=50, name="encoder", **KNOBS),
    Gnss(
        mounting=PLACE,
        horizontal=BUSY,
        velocity=BUSY,
        origin=Origin(50.0, 8.0, 90.0, 0.3),
        coverage=lambda x, y: x < 8.0,
        **KNOBS,
    ),
    FullState.of(CAR, {"v_x": BUSY, "a_y": Channel(resolution=0.1, high=3.0)}, **KNOBS),
    Imu(accelerometer=Channel(std=0.1, walk=0.1), name="every_step"),
]


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    sim = sp.Simulator(CAR, dt=0.01, integrator="radau")
    sim.reset(v_x=10.0)
    return sim.run(lambda t, x: {"steer": 0.1 * math.sin(3.0 * t), "tau_rl": 60.0}, duration=1.5)


def truths(sensor: Sensor, run: sp.Trajectory) -> list[Any]:
    if sensor.Truth is not Motion:
        return list(run)
    leaves = motion_along(run, CAR)
    return [Motion(*(float(leaf[k]) for leaf in leaves)) for k in range(len(run))]


def stepped(runner: Any, t: Any, shown: list[Any]) -> list[tuple[Any, ...]]:
    given = ((now, runner.step(float(now), truth)) for now, truth in zip(t, shown, strict=True))
    return [(now, *reading) for now, reading in given if reading is not None]


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda s: s.name)
def test_a_runner_gives_what_along_gives(sensor: Sensor, run: sp.Trajectory) -> None:
    along = sensor.along(run, seed=3, vehicle=2, model=CAR)
    single = np.array(stepped(sensor.runner(seed=3, vehicle=2), run.t, truths(sensor, run)))
    whole = np.column_stack([along.t, *(along[name] for name in along.names)])
    assert single.shape == whole.shape
    assert single.shape[0] > 10
    blank = np.isnan(whole)
    assert (np.isnan(single) == blank).all()
    # The functions of floats and of arrays may differ in the last place.
    scale = np.maximum(np.abs(np.where(blank, 0.0, whole)).max(axis=0), 1.0)
    assert (np.abs(np.where(blank, 0.0, single - whole)) <= 1e-12 * scale).all()


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda s: s.name)
def test_a_fleet_gives_what_its_vehicles_give(sensor: Sensor, run: sp.Trajectory) -> None:
    starts = [0, 20, 45]
    parts = [replace(run[k : k + 100], t=run.t[:100]) for k in starts]
    alone = [sensor.along(part, seed=8, vehicle=k, model=CAR) for k, part in enumerate(parts)]
    seen = [sensor.truth_along(part, CAR) for part in parts]
    together = sensor.Truth(*(np.stack(leaves, axis=1) for leaves in zip(*seen, strict=True)))
    found = sensor.along_fleet(parts[0].t, together, seed=8)
    for k, expected in enumerate(alone):
        kept = found.valid[:, k]
        assert found.t[kept].tobytes() == expected.t.tobytes()
        for name in found.names:
            assert np.allclose(
                found[name][kept, k], expected[name], rtol=0.0, atol=1e-9, equal_nan=True
            )
        assert np.isnan(found.values[~kept, k]).all()


@pytest.mark.parametrize("sensor", SENSORS, ids=lambda s: s.name)
def test_going_back_repeats_every_bit(sensor: Sensor, run: sp.Trajectory) -> None:
    runner = sensor.runner(seed=5)
    shown = truths(sensor, run)
    stepped(runner, run.t[:40], shown[:40])
    moment, latest = runner.snapshot(), runner.latest
    first = stepped(runner, run.t[40:], shown[40:])
    runner.restore(moment)
    assert runner.latest is latest
    second = stepped(runner, run.t[40:], shown[40:])
    assert np.array(first).tobytes() == np.array(second).tobytes()
    runner.reset()
    assert runner.latest is None
    fresh = stepped(sensor.runner(seed=5), run.t, shown)
    assert np.array(stepped(runner, run.t, shown)).tobytes() == np.array(fresh).tobytes()


def test_a_sample_comes_out_once_and_late() -> None:
    runner = Imu(rate=10.0, delay=0.15).runner()
    out = [(k, runner.step(0.05 * k, Motion(omega=float(k)))) for k in range(12)]
    given = [(k, reading.omega_z, round(reading.stamp, 9)) for k, reading in out if reading]
    assert given == [(3, 0.0, 0.0), (5, 2.0, 0.1), (7, 4.0, 0.2), (9, 6.0, 0.3), (11, 8.0, 0.4)]
    assert runner.latest.omega_z == 8.0


def test_a_newer_sample_overtakes_an_older_one() -> None:
    t = [0.0, 0.1, 0.2, 1.0, 1.1]
    sensor = Imu(delay=0.3)
    runner = sensor.runner()
    out = [runner.step(now, Motion(omega=now)) for now in t]
    assert [r and r.stamp for r in out] == [None, None, None, 0.2, None]
    found = sensor.along_fleet(t, Motion(omega=np.array(t)))
    assert found.t.tolist() == [1.0]
    assert found["omega_z"].tolist() == [[0.2]]


@given(gaps=st.lists(st.sampled_from([0.01, 0.02, 0.05, 0.3]), min_size=3, max_size=40))
def test_steps_of_any_length(gaps: list[float]) -> None:
    sensor = Imu(rate=20.0, delay=0.07, dropout=0.3, gyroscope=Channel(walk=1.0, std=0.1))
    t = np.cumsum(gaps)
    found = sensor.along_fleet(t, Motion(omega=t), seed=1)
    kept = found.valid[:, 0]
    whole = np.column_stack([found.t[kept], found.values[kept, 0], found.stamp[kept]])
    single = stepped(sensor.runner(seed=1), t, [Motion(omega=float(now)) for now in t])
    assert np.array(single).reshape(-1, 8).tobytes() == whole.tobytes()


def test_a_function_is_asked_only_when_a_sample_is_due() -> None:
    asked: list[float] = []
    runner = Imu(rate=10.0).runner()
    for k in range(30):
        runner.step(0.01 * k, lambda k=k: asked.append(k) or Motion())
    assert asked == [0, 10, 20]


@pytest.mark.parametrize(
    ("t", "truth", "message"),
    [
        (math.nan, Motion(), "t = nan s must be finite"),
        ("now", Motion(), "t = 'now' s must be a number"),
        (0.3, Motion(), "t = 0.3 s must be later than the last step at 0.3 s"),
        (0.4, Motion(a_x=math.nan), "Imu: truth a_x = nan must be finite"),
        (0.4, Motion(yaw="east"), "Imu: truth yaw = 'east' must be a number"),  # type: ignore[arg-type]
        (0.4, {"a_x": 1.0}, "Imu takes a Motion record, got dict"),
    ],
)
def test_a_rejected_step_changes_nothing(t: Any, truth: Any, message: str) -> None:
    sensor = Imu(gyroscope=Channel(walk=1.0))
    runner = sensor.runner(seed=2)
    runner.step(0.3, Motion())
    with pytest.raises(InvalidValue, match=message):
        runner.step(t, truth)
    other = sensor.runner(seed=2)
    other.step(0.3, Motion())
    assert runner.step(0.5, Motion()) == other.step(0.5, Motion())


def test_other_mistakes_are_named(run: sp.Trajectory) -> None:
    with pytest.raises(InvalidValue, match="vehicle = -1 must be from 0"):
        Imu().runner(vehicle=-1)
    with pytest.raises(InvalidValue, match="must be one whole number"):
        Imu().runner(vehicle=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match=r"seed = 0\.5 must be a whole number"):
        Imu().runner(seed=0.5)  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="not one of a runner of this sensor"):
        Imu().runner().restore(Gnss().runner().snapshot())
    with pytest.raises(InvalidValue, match=r"truth a_x has shape \(3,\); expected \(2,\)"):
        Imu().along_fleet([0.0, 0.1], Motion(a_x=np.zeros(3)))
    with pytest.raises(InvalidValue, match="truth omega = nan at step 1 of vehicle 0"):
        Imu().along_fleet([0.0, 0.1], Motion(omega=np.array([0.0, np.nan])))
    with pytest.raises(InvalidValue, match="time must increase"):
        Imu().along_fleet([0.1, 0.0], Motion())
    with pytest.raises(InvalidValue, match=r"'imu' gave no reading from 0 to 1\.5 s"):
        Imu(delay=9.0).along(run)
    with pytest.raises(InvalidValue, match="Readings has no field 'f'"):
        Imu().along_fleet([0.0], Motion())["f"]


def test_every_field_of_a_reading_has_a_unit_and_a_meaning() -> None:
    for sensor in SENSORS:
        if not isinstance(sensor, FullState):
            leaves = sp.core.record.fields(sensor.Reading)
            assert all(leaf.doc and leaf.unit is not sp.core.record.NO_UNIT for leaf in leaves)
