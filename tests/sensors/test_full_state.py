"""Chosen fields of state and outputs."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.sensors import Channel, FullState


def test_fields_come_by_name_with_their_units() -> None:
    car = sp.vehicles.four_wheel()
    sensor = FullState.of(car, {"a_y": Channel(bias=0.5), "v_x": Channel()})
    assert sensor.Reading._fields == ("a_y", "v_x", "stamp")
    assert [str(leaf.unit) for leaf in sp.core.record.fields(sensor.Reading)] == [
        "m/s²",
        "m/s",
        "s",
    ]
    sim = sp.Simulator(car, dt=0.001)
    sim.reset(v_x=9.0)
    sim.step(steer=0.1)
    reading = sensor.runner().step(sim.time, [sim.state, sim.outputs()])
    assert reading.a_y == sim.outputs().a_y + 0.5
    assert reading.v_x == sim.state.v_x
    assert sensor.measure([sim.state, sim.outputs()]).a_y == sim.outputs().a_y
    run = sim.run(steps=3)
    along = sensor.along(run)
    assert along.v_x.tobytes() == run.v_x.tobytes()
    assert str(along.unit("a_y")) == "m/s²"


def test_the_whole_state_by_default() -> None:
    car = sp.vehicles.kinematic_bicycle()
    assert FullState.of(car).measure(car.State(yaw=0.3))[:-1] == car.State(yaw=0.3)


def test_what_comes_first_wins() -> None:
    sensor = FullState(fields={"v": Channel()})
    assert sensor.measure([{"v": 1.0}, {"v": 2.0}]).v == 1.0


def test_nested_fields_have_names_without_dots() -> None:
    car = sp.vehicles.autoware("DELAY_STEER_ACC_GEARED_WO_FALL_GUARD")
    name = sp.core.record.names(car.State)[0]
    assert FullState.of(car, {name: Channel()}).Reading._fields == (name, "stamp")
    sensor = FullState(fields={"tyre.B": Channel()})
    assert sensor.measure({"tyre.B": 3.0}).tyre_B == 3.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FullState(fields={}), "FullState.fields is empty"),
        (lambda: FullState(fields={"v": 0.1}), r"FullState.fields\['v'\] must be a Channel"),
        (
            lambda: FullState.of(sp.vehicles.four_wheel(), {"v": Channel()}),
            "four_wheel has no field 'v'",
        ),
        (lambda: FullState(fields={"v": Channel()}).measure({"w": 1.0}), "truth has no field 'v'"),
        (lambda: FullState(fields={"v": Channel()}).measure(3.0), "takes a record, a mapping"),
        (
            lambda: FullState(fields={"v": Channel()}).runner().step(0.0, {"v": np.nan}),
            "FullState: truth v = nan must be finite",
        ),
    ],
)
def test_mistakes_are_named(make: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()  # type: ignore[operator]
