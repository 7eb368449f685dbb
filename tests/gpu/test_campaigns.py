"""On a CUDA device: the columns of a drive have the bits of the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("casadi")

import skidpad as sp
from skidpad.random import Gaussian
from skidpad.study.experiment import Resources, Rows
from skidpad.study.metrics import first_time, highest, integral, last, mean, rms
from skidpad.study.rollouts import Drive

pytestmark = pytest.mark.gpu

METRICS = {
    "slip": highest("abs(v_y) / v_x"), "yaw": rms("omega"), "end": last("y"),
    "way": integral("v_x"), "steer": mean("u.steer"), "when": first_time("abs(y) > 0.2"),
}  # fmt: skip


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("until", [None, "abs(y) > 0.5"])
@pytest.mark.parametrize("drawn", [False, True])
def test_columns_have_the_bits_of_the_cpu(precision: str, until: str | None, drawn: bool) -> None:
    car = sp.vehicles.four_wheel()
    wind: Any = {}
    if drawn:
        W = car.model.Disturbance
        wind = {"disturbance": Gaussian(mean=W(), std={"F_y": 300.0}, fields=W)}
    drive = Drive(
        car, dt=0.002, steps=500, x0={"v_x": 15.0}, metrics=METRICS, until=until,
        events={"off": "abs(y) > 0.4"}, precision=precision, integrator="rk4", **wind,
    )  # fmt: skip
    count = 1000
    factors = {"input.steer": np.linspace(-0.05, 0.05, count), "m": np.linspace(200, 300, count)}
    rows = Rows(np.arange(count), factors, 3)
    on_cpu, on_gpu = (drive.evaluate(rows, Resources(device=device)) for device in ("cpu", "cuda"))
    assert on_cpu.keys() == on_gpu.keys()
    for name in on_cpu:
        assert on_cpu[name].tobytes() == on_gpu[name].tobytes(), name
