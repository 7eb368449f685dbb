"""The command converter: what the ACTUATION models make of its answer is what was asked for."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skidpad.compat.autoware.converter import (
    CommandConverter,
    Memory,
    SteerFeedback,
    SteeringWheel,
    SteerMap,
    TyreAngle,
    feedback,
)
from skidpad.compat.autoware.reports import ActuationCommand
from skidpad.core.model import NoDisturbance
from skidpad.errors import InvalidValue
from skidpad.vehicles.command_driven import autoware
from skidpad.vehicles.command_driven.parameters import Table, read_table
from skidpad.vehicles.parts.steering import tyre_target

DATA = Path(__file__).parents[2] / "data" / "autoware"
MAPS = DATA / "maps"
ACCEL = read_table(MAPS / "accel_map.csv")
BRAKE = read_table(MAPS / "brake_map.csv")
STEER = read_table(MAPS / "steer_map.csv")

speeds = st.floats(-5.0, 20.0)
angles = st.floats(-0.7, 0.7)


def modelled(
    command: ActuationCommand, v: float, accel: Table | None, brake: Table | None
) -> float:
    """Acceleration that an ACTUATION model aims at: converted, and before gear and slope."""
    if accel is not None and command.accel > 0.0:
        return accel.value(command.accel, v)
    if brake is not None and command.brake > 0.0:
        return brake.value(command.brake, v)
    return command.accel


@given(share=st.floats(0.0, 1.0), v=speeds)
def test_the_model_gets_the_acceleration_asked_for(share: float, v: float) -> None:
    weakest, strongest = BRAKE.value(0.8, v), ACCEL.value(0.6, v)
    wanted = weakest + share * (strongest - weakest)
    # Where both pedals rest the model's acceleration is 0, not that of the maps' lowest rows.
    assume(abs(wanted - ACCEL.value(0.0, v)) > 1e-9)
    got = CommandConverter(ACCEL, BRAKE).convert(wanted, 0.0, v, 0.0, 0.02)
    assert modelled(got, v, ACCEL, BRAKE) == pytest.approx(wanted, abs=1e-9)
    assert min(got.accel, got.brake) == 0.0


@given(a=st.floats(-5.0, 5.0), v=speeds)
def test_pedals_that_are_not_converted_round_trip_too(a: float, v: float) -> None:
    got = CommandConverter(None, None).convert(a, 0.0, v, 0.0, 0.02)
    assert modelled(got, v, None, None) == a
    got = CommandConverter(None, BRAKE).convert(a, 0.0, v, 0.0, 0.02)
    reachable = max(a, BRAKE.value(0.8, v))
    assume(abs(a - BRAKE.value(0.0, v)) > 1e-9)
    assert modelled(got, v, None, BRAKE) == pytest.approx(reachable, abs=1e-9)
    got = CommandConverter(ACCEL, None).convert(a, 0.0, v, 0.0, 0.02)
    lowest, highest = ACCEL.value(0.0, v), ACCEL.value(0.6, v)
    assume(abs(a - lowest) > 1e-9)
    # Between 0 and what the resting throttle gives there is nothing to be had: both pedals rest.
    reachable = 0.0 if 0.0 < a < lowest else min(a, highest)
    assert modelled(got, v, ACCEL, None) == pytest.approx(reachable, abs=1e-9)


@given(v=speeds, beyond=st.floats(0.0, 100.0))
def test_pedals_saturate(v: float, beyond: float) -> None:
    free = CommandConverter(ACCEL, BRAKE)
    assert free.convert(ACCEL.value(0.6, v) + beyond, 0.0, v, 0.0, 0.02)[:2] == pytest.approx(
        (0.6, 0.0)
    )
    assert free.convert(BRAKE.value(0.8, v) - beyond, 0.0, v, 0.0, 0.02)[:2] == pytest.approx(
        (0.0, 0.8)
    )
    limited = CommandConverter(ACCEL, BRAKE, max_throttle=0.4, max_brake=0.5)
    assert limited.convert(ACCEL.value(0.6, v) + beyond, 0.0, v, 0.0, 0.02)[:2] == (0.4, 0.0)
    assert limited.convert(BRAKE.value(0.8, v) - beyond, 0.0, v, 0.0, 0.02)[:2] == (0.0, 0.5)


def test_pedals_by_hand() -> None:
    converter = CommandConverter(MAPS / "accel_map.csv", str(MAPS / "brake_map.csv"))
    # Column at 2 m/s: throttle rows 0, 0.15, 0.3 give -0.1, 0.55, 1.45; brake row 0.2 gives -0.65.
    assert converter.convert(1.0, 0.1, 2.0, 0.0, 0.02) == pytest.approx((0.225, 0.0, 0.1))
    assert converter.convert(-0.1, 0.1, 2.0, 0.0, 0.02) == pytest.approx((0.0, 0.0, 0.1))
    assert converter.convert(-0.375, 0.1, 2.0, 0.0, 0.02) == pytest.approx((0.0, 0.1, 0.1))


def test_in_reverse_the_speed_counts_as_the_model_counts_it() -> None:
    # The model looks its maps up at -5 m/s, where they have the values of standstill.
    right, upstream = (
        CommandConverter(ACCEL, BRAKE),
        CommandConverter(ACCEL, BRAKE, compat="upstream"),
    )
    backwards = [c.convert(1.1, 0.0, -5.0, 0.0, 0.02) for c in (right, upstream)]
    assert modelled(backwards[0], -5.0, ACCEL, BRAKE) == pytest.approx(1.1)
    assert backwards[1].accel == pytest.approx(0.3), "the row of 1.1 m/s² at +5 m/s"
    assert modelled(backwards[1], -5.0, ACCEL, BRAKE) == pytest.approx(1.7)


def test_upstream_brakes_with_a_pedal_that_the_model_ignores() -> None:
    right, upstream = CommandConverter(None, None), CommandConverter(None, None, compat="upstream")
    assert right.convert(-2.0, 0.0, 5.0, 0.0, 0.02)[:2] == (-2.0, 2.0)
    assert upstream.convert(-2.0, 0.0, 5.0, 0.0, 0.02)[:2] == (0.0, 2.0)
    assert upstream.convert(2.0, 0.0, 5.0, 0.0, 0.02)[:2] == (2.0, 0.0)


@given(wanted=angles, present=angles, v=st.floats(-15.0, 30.0))
def test_the_model_gets_the_tyre_angle_asked_for(wanted: float, present: float, v: float) -> None:
    method = SteeringWheel()
    got = CommandConverter(ACCEL, BRAKE, method).convert(0.0, wanted, v, present, 0.02).steer
    coefficients = (method.vgr_coef_a, method.vgr_coef_b, method.vgr_coef_c)
    assert tyre_target(v, present, got, *coefficients) == pytest.approx(wanted, abs=1e-12)


def test_the_gear_ratio_by_hand() -> None:
    converter = CommandConverter(None, None, SteeringWheel(16.0, 0.04, 0.5))
    # At 5 m/s straight ahead the ratio is 16 + 1; a wheel at 4 rad takes 2 off.
    assert converter.convert(0.0, 0.1, 5.0, 0.0, 0.02).steer == pytest.approx(1.7)
    known = converter.convert(0.0, 0.1, 5.0, 0.0, 0.02, steering_wheel=4.0)
    assert known.steer == pytest.approx(1.5)
    # Upstream takes the wheel's status, which the simulator reports as 0, whatever the tyres do.
    upstream = CommandConverter(None, None, SteeringWheel(16.0, 0.04, 0.5), compat="upstream")
    assert upstream.convert(0.0, 0.1, 5.0, 0.5, 0.02).steer == pytest.approx(1.7)
    # With the tyres at 0.5 rad the wheel is at 17 * 0.5 / 1.25 = 6.8 rad.
    assert converter.convert(0.0, 0.1, 5.0, 0.5, 0.02).steer == pytest.approx(1.36)


@given(share=st.floats(0.0, 1.0), present=angles, tau=st.floats(0.03, 2.0))
def test_the_model_gets_the_steering_rate_asked_for(
    share: float, present: float, tau: float
) -> None:
    method = SteerMap(STEER, feedback=None, steer_time_constant=tau)
    low, high = (STEER.value(row, present) / tau for row in (-10.0, 10.0))
    rate = low + share * (high - low)
    converter = CommandConverter(ACCEL, BRAKE, method)
    got = converter.convert(0.0, 0.0, 5.0, present, 0.02, steer_rate=rate).steer
    assert STEER.value(got, present) / tau == pytest.approx(rate, abs=1e-9)
    over = converter.convert(0.0, 0.0, 5.0, present, 0.02, steer_rate=high + 1.0).steer
    assert over == 10.0


def test_feedback_brings_a_steer_map_to_the_angle() -> None:
    converter = CommandConverter(ACCEL, BRAKE, SteerMap(STEER), max_steer=10.0, min_steer=-10.0)
    steer, dt = 0.0, 0.02
    for k in range(4000):
        command = converter.convert(0.0, 0.3, 5.0, steer, dt).steer
        assert -10.0 <= command <= 10.0
        steer += dt * STEER.value(command, steer)
        assert k < 150 or abs(steer - 0.3) < 0.015
    # Autoware's gains let what the integral gathered fade over kp / ki = 10 s.
    assert steer == pytest.approx(0.3, abs=1e-4)


def test_feedback_takes_out_a_lasting_error_of_the_tyre_angle() -> None:
    # A steering that ends 10 % short of its command, with a lag of 0.2 s.
    gains = SteerFeedback(kp=0.5, ki=2.0, max=0.2, min=-0.2, max_i=0.2, min_i=-0.2)
    ends = []
    for method in (TyreAngle(), TyreAngle(gains)):
        converter, steer = CommandConverter(None, None, method), 0.0
        for _ in range(500):
            command = converter.convert(0.0, 0.3, 5.0, steer, 0.02).steer
            steer += 0.02 * (0.9 * command - steer) / 0.2
        ends.append(steer)
    assert ends[0] == pytest.approx(0.27, abs=1e-6)
    assert ends[1] == pytest.approx(0.3, abs=1e-6)


UPSTREAM = SteerFeedback(150.0, 15.0, 1.0, 8.0, -8.0, 8.0, -8.0, 0.5, -0.5, 0.15, -0.15, 0.97)
"""Gains and limits of upstream's own test of its controller, whose numbers are used below:
autoware.universe, vehicle/autoware_raw_vehicle_cmd_converter/test, `PIDTests.calculateFB`."""


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_feedback_has_the_numbers_of_upstreams_test(side: float) -> None:
    sums = [8.0, 8.0, 8.0, 8.0, 8.0, 7.85, 6.4, 4.9, 3.4, 1.9]
    integrals = [0.225, 0.42, *[0.5] * 8]
    memory, measured = Memory(), 0.0
    for k, (total, integral) in enumerate(zip(sums, integrals, strict=True)):
        got, memory = feedback(UPSTREAM, memory, side * (0.15 - measured), 5.0, 0.1)
        assert got == pytest.approx(side * total, abs=1e-9)
        assert memory.integral == pytest.approx(side * integral, abs=1e-9)
        measured += 0.02 if k < 5 else 0.01


def test_at_standstill_the_integral_fades() -> None:
    _, memory = feedback(UPSTREAM, Memory(), 0.15, 5.0, 0.1)
    total, memory = feedback(UPSTREAM, memory, 0.13, 0.001, 0.1)
    assert memory.integral == pytest.approx(0.97 * 0.225)
    assert total == pytest.approx(8.0)


def test_a_call_after_no_time_integrates_nothing_and_knows_no_rate() -> None:
    _, memory = feedback(UPSTREAM, Memory(), 0.01, 5.0, 0.1)
    total, after = feedback(UPSTREAM, memory, 0.02, 5.0, 0.0)
    assert after.integral == memory.integral
    assert total == pytest.approx(150.0 * 0.02 + memory.integral)


def test_a_pause_does_not_wind_the_feedback_up() -> None:
    gains = SteerFeedback(kp=0.0, ki=1.0)
    for dt, counted in ((0.5, 0.5), (1.0, 1.0), (60.0, 0.1)):
        converter = CommandConverter(None, None, TyreAngle(gains))
        assert converter.convert(0.0, 0.3, 5.0, 0.1, dt).steer == pytest.approx(0.3 + 0.2 * counted)


def test_a_reset_forgets_and_a_rejected_call_does_not_count() -> None:
    converter = CommandConverter(ACCEL, BRAKE, TyreAngle(SteerFeedback(kp=0.0, ki=1.0)))
    first = converter.convert(0.0, 0.3, 5.0, 0.1, 0.5)
    converter.reset()
    bad = [
        ({"acceleration": math.nan}, "acceleration = nan"),
        ({"acceleration": "full"}, "acceleration = 'full' must be a number"),
        ({"steer": math.inf}, "steer = inf"),
        ({"v_x": -math.inf}, "v_x = -inf"),
        ({"measured_steer": math.nan}, "measured_steer = nan"),
        ({"dt": math.nan}, "dt = nan"),
        ({"dt": -0.1}, "dt = -0.1"),
        ({"steer_rate": math.nan}, "steer_rate = nan"),
        ({"steering_wheel": math.nan}, "steering_wheel = nan"),
    ]
    fine = {"acceleration": 0.0, "steer": 0.3, "v_x": 5.0, "measured_steer": 0.1, "dt": 0.5}
    for change, words in bad:
        with pytest.raises(InvalidValue, match=words):
            converter.convert(**{**fine, **change})
    assert converter.convert(**fine) == first


def recorded_parameters(name: str) -> dict[str, Any]:
    """What a recording of this model was made with."""
    with np.load(DATA / f"{name}__s01_step_steer.npz") as data:
        params = json.loads(str(data["meta"]))["params"]
    del params["queue_dt"]
    paths = {key: MAPS / file for key, file in params.items() if key.endswith("_map_path")}
    switches = {key: bool(on) for key, on in params.items() if key.startswith("convert_")}
    return params | paths | switches


STEERINGS = {
    "ACTUATION_CMD": TyreAngle(),
    "ACTUATION_CMD_VGR": SteeringWheel(),
    "ACTUATION_CMD_MECHANICAL": SteeringWheel(),
    "ACTUATION_CMD_STEER_MAP": SteerMap(STEER, steer_time_constant=0.27),
}


@pytest.mark.parametrize("wanted", [(0.8, 0.2), (-1.2, -0.15)])
@pytest.mark.parametrize("name", STEERINGS)
def test_a_controller_of_accelerations_drives_the_pedal_models(
    name: str, wanted: tuple[float, float]
) -> None:
    car = autoware(name, recorded_parameters(name))
    converter = CommandConverter(ACCEL, BRAKE, STEERINGS[name])
    acceleration, steer = wanted
    x = car.State(v_x=6.0)
    for _ in range(200):
        command = converter.convert(acceleration, steer, x.v_x, x.steer, 0.02)
        u = car.Input(*command)
        x = car.model.update(x, u, NoDisturbance(), car.params, 0.02)
    assert x.v_x == pytest.approx(6.0 + 4.0 * acceleration, abs=0.25 * abs(acceleration))
    assert x.a_x == pytest.approx(acceleration, abs=0.01)
    assert x.steer == pytest.approx(steer, abs=0.02)


def test_what_cannot_be_converted_with_is_named() -> None:
    flat = Table((0.0, 0.2, 0.4), (0.0, 5.0), ((0.0, -0.1), (1.0, 0.5), (2.0, 0.4)))
    with pytest.raises(InvalidValue, match=r"accel_map .* column 5 must rise"):
        CommandConverter(flat, BRAKE)
    with pytest.raises(InvalidValue, match=r"brake_map .* column 0 must fall"):
        CommandConverter(ACCEL, flat)
    with pytest.raises(InvalidValue, match=r"steer_map .* column 5 must rise"):
        CommandConverter(ACCEL, BRAKE, SteerMap(flat))
    with pytest.raises(InvalidValue, match="max_brake = -1"):
        CommandConverter(ACCEL, BRAKE, max_brake=-1.0)
    with pytest.raises(InvalidValue, match="min_steer = 2"):
        CommandConverter(ACCEL, BRAKE, min_steer=2.0, max_steer=1.0)
    with pytest.raises(InvalidValue, match="compat = 'both'"):
        CommandConverter(ACCEL, BRAKE, compat="both")
    with pytest.raises(InvalidValue, match="steer = 'vgr' must be a TyreAngle"):
        CommandConverter(ACCEL, BRAKE, "vgr")  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="vgr_coef_b = nan"):
        CommandConverter(ACCEL, BRAKE, SteeringWheel(vgr_coef_b=math.nan))
    with pytest.raises(InvalidValue, match="kp = -1"):
        CommandConverter(ACCEL, BRAKE, TyreAngle(SteerFeedback(kp=-1.0)))
    with pytest.raises(InvalidValue, match="steer_time_constant = 0"):
        CommandConverter(ACCEL, BRAKE, SteerMap(STEER, steer_time_constant=0.0))
