"""Upstream's own numbers, from every recording."""

from __future__ import annotations

import numpy as np
import pytest

from vehicles.autoware.recordings import Recording, error, files

EVERY_THIRD = [
    name
    if k % 3 == 0 or name.endswith(("s15_missing_map", "s16_torque_delay"))
    else pytest.param(name, marks=pytest.mark.slow)
    for k, name in enumerate(files())
]
"""Of each model some runs, between them of every kind.

`tests/compat/autoware/test_motion.py` has all of them in compiled code, which is much faster."""


@pytest.mark.parametrize("name", EVERY_THIRD)
def test_a_recorded_run_is_repeated(name: str) -> None:
    recording = Recording(name)
    vehicle = recording.vehicle()
    states = recording.states(vehicle)
    assert error(recording.reports(vehicle, states), recording.arrays["out"]) <= 1e-9
    if "pedal_acc" in recording.arrays:
        pedal = np.array([x.pedal for x in states])
        assert error(pedal, recording.arrays["pedal_acc"]) <= 1e-9


WITHOUT_REPAIRS = [
    *files("IDEAL_STEER*"),
    *files("DELAY_STEER_VEL*"),
    *files("DELAY_STEER_ACC__*"),
    *files("*WO_FALL_GUARD*"),
    *files("DELAY_STEER_ACC_GEARED__s0[1-5]*"),
    *files("ACTUATION_CMD__s0[1-5]*"),
]
"""Runs that meet none of the points in which upstream is repaired."""


@pytest.mark.parametrize(
    "name",
    [
        name if k % 5 == 0 else pytest.param(name, marks=pytest.mark.slow)
        for k, name in enumerate(WITHOUT_REPAIRS)
    ],
)
def test_the_repairs_change_nothing_else(name: str) -> None:
    recording = Recording(name)
    vehicle = recording.vehicle(compat=None)
    got = recording.reports(vehicle, recording.states(vehicle))
    assert error(got, recording.arrays["out"]) <= 1e-9
