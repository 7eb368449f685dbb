"""The speed controller of wheeled robots."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad import InvalidValue
from skidpad.control.pid import Form, Gains, memory_type, pid_step
from vehicles.wheeled.recordings import table


@pytest.mark.parametrize("case", range(6))
def test_recorded_answers(case: int) -> None:
    t = table("tables", "pid")
    rows = [k for k in range(len(t["case"])) if t["case"][k] == case]
    at = {name: float(column[rows[0]]) for name, column in t.items()}
    form = Form(
        filtered_derivative=at["N"] > 0.0,
        anti_windup=bool(at["antiwindup"]),
        reference_order=int(at["ref_order"]) if at["ref_filter"] else 0,
        upstream=True,
    )
    gains = Gains(at["KP"], at["KI"], at["KD"], at["N"], at["max_out"], at["ref_tau"])
    memory = memory_type(form)()
    for k in rows:
        asked, actual, ff = (float(t[n][k]) for n in ("setpoint", "actual", "feedforward"))
        torque, memory, reference, *_ = pid_step(gains, form, memory, asked, actual, at["dt"], ff)
        assert torque == pytest.approx(t["u"][k], rel=1e-9, abs=1e-9)
        assert reference == pytest.approx(t["filtered_setpoint"][k], rel=1e-9, abs=1e-9)


def ramp_answers(form: Form, gains: Gains, slope: float, dt: float, count: int) -> list[float]:
    """Torques while the error grows at a constant rate."""
    memory, torques = memory_type(form)(), []
    for k in range(count):
        torque, memory, *_ = pid_step(gains, form, memory, slope * dt * k, 0.0, dt)
        torques.append(torque)
    return torques


def test_the_filtered_derivative_settles_on_the_derivative() -> None:
    """Upstream filters the error itself, so that its torque grows with the error."""
    gains = Gains(KP=0.0, KD=2.0, N=20.0, max_torque=0.0)
    form = Form(filtered_derivative=True)
    right = ramp_answers(form, gains, 3.0, 0.001, 2000)
    assert right[-1] == pytest.approx(2.0 * 3.0, rel=1e-6)
    upstream = ramp_answers(Form(filtered_derivative=True, upstream=True), gains, 3.0, 0.001, 2000)
    assert upstream[-1] == pytest.approx(2.0 * (3.0 * 2.0 - 3.0 / 20.0), rel=1e-2)


def test_the_difference_is_the_derivative_from_the_second_step_on() -> None:
    torques = ramp_answers(Form(), Gains(KP=0.0, KD=2.0), 3.0, 0.01, 5)
    assert torques == pytest.approx([0.0, 6.0, 6.0, 6.0, 6.0])


def test_anti_windup_recovers_sooner() -> None:
    gains = Gains(KP=2.0, KI=10.0, max_torque=1.0)
    times: dict[bool, int] = {}
    for held in (False, True):
        form = Form(anti_windup=held)
        memory = memory_type(form)()
        for k in range(2000):
            error = 1.0 if k < 200 else -1.0
            torque, memory, *_ = pid_step(gains, form, memory, error, 0.0, 0.01)
            if k >= 200 and torque < 0.0:
                times[held] = k
                break
    assert times[True] < times[False]


def test_no_limit_means_none() -> None:
    unlimited = pid_step(
        Gains(KP=50.0, max_torque=0.0), Form(), memory_type(Form())(), 10.0, 0.0, 0.01
    )
    limited = pid_step(
        Gains(KP=50.0, max_torque=7.0), Form(), memory_type(Form())(), 10.0, 0.0, 0.01
    )
    assert (unlimited.torque, limited.torque) == (500.0, 7.0)


@pytest.mark.parametrize("order", [1, 2])
def test_the_reference_filter_answers_a_step(order: int) -> None:
    form, gains, dt = Form(reference_order=order), Gains(reference_filter_tau=0.2), 0.01
    memory = memory_type(form)()
    for _ in range(60):
        reference = pid_step(gains, form, memory, 1.0, 0.0, dt)
        memory = reference.memory
    late = math.exp(-60 * dt / 0.2)
    if order == 1:
        assert reference.reference == pytest.approx(1.0 - late)
    else:  # two equal lags, sampled: n a^n (1 - a) more is missing
        a = math.exp(-dt / 0.2)
        assert reference.reference == pytest.approx(1.0 - late * (1.0 + 60 * (1.0 - a)))


def test_memory_has_only_what_the_form_needs() -> None:
    assert memory_type(Form())._fields == ("integral", "error", "started")
    assert memory_type(Form(True, reference_order=1))._fields == (
        "integral",
        "filtered",
        "reference_1",
    )
    assert memory_type(Form()) is memory_type(Form(anti_windup=True))


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(InvalidValue, match="reference_order = 3 is unknown; allowed are 0, 1, 2"):
        Form(reference_order=3)


def test_arrays_pass_through() -> None:
    memory = memory_type(Form())(*np.zeros((3, 4)))
    got = pid_step(Gains(KI=1.0), Form(), memory, np.arange(4.0), 0.5, 0.01)
    np.testing.assert_allclose(got.torque, 10.01 * (np.arange(4.0) - 0.5))
