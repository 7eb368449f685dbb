"""The models compiled, against the same functions called on floats; and their conformance."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.vehicles.registry import COMMAND_DRIVEN
from vehicles.autoware.recordings import Recording, error

COMPILED = [name for name in COMMAND_DRIVEN if name != "LEARNED_STEER_VEL"]
NO_DELAYS = {
    "acceleration": {"acc_time_delay": 0.0, "steer_time_delay": 0.0},
    "velocity": {"vel_time_delay": 0.0, "steer_time_delay": 0.0},
    "accel": {"accel_time_delay": 0.0, "brake_time_delay": 0.0, "steer_time_delay": 0.0},
}
"""Zero delays by the first input of a model."""
UPSTREAM = ("IDEAL_STEER_VEL", "DELAY_STEER_ACC_GEARED", "ACTUATION_CMD_STEER_MAP")
"""Models whose compiled form is looked at in the other mode too: one for each rule."""
ALIKE = (
    *("IDEAL_STEER_ACC", "DELAY_STEER_ACC", "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD"),
    *("DELAY_STEER_ACC_GEARED", "ACTUATION_CMD", "ACTUATION_CMD_STEER_MAP"),
)
"""Of which others, or the same with upstream's rules, have all the parts."""
CASES = [
    *(
        pytest.param(name, None, marks=pytest.mark.slow if name in ALIKE else ())
        for name in COMPILED
    ),
    *((name, "upstream") for name in UPSTREAM),
]


@pytest.mark.parametrize(("model", "compat"), CASES)
def test_the_fleet_runs_the_same_equations(model: str, compat: str | None) -> None:
    recording = Recording(f"{model}__s06_gear_sequence")
    given = recording.vehicle(compat)
    delays = NO_DELAYS[given.Input._fields[0]] if given.model.dead_times else {}
    vehicle = given.with_params(**delays)
    states = recording.states(vehicle)
    controls = np.array([record.flatten(u) for u in recording.inputs(vehicle)])
    fleet = sp.Fleet(vehicle, dt=recording.meta["dt_nominal"], threads=1)
    start = np.array([record.flatten(states[0])])
    rolled = np.asarray(fleet.rollout(start, controls[:, np.newaxis, :]))[:, 0]
    assert error(rolled, np.array([record.flatten(x) for x in states])) <= 1e-12


CHECKS = ("purity", "frame", "gradients", "rest")


@pytest.mark.slow_cases("ACTUATION_CMD", "DELAY_STEER_ACC_GEARED", "DELAY_STEER_MAP_ACC_GEARED")
@pytest.mark.parametrize(
    "model",
    # The pedals and columns of the others are components with tests of their own; with gears they
    # have what they have without.
    [
        pytest.param(m, marks=pytest.mark.slow)
        if m.startswith("ACTUATION_CMD_") or m.endswith(("STEER_ACC", "FALL_GUARD"))
        else m
        for m in COMPILED
    ],
)
def test_a_model_conforms(model: str) -> None:
    vehicle = Recording(f"{model}__s01_step_steer").vehicle(None)
    checks = [*CHECKS]
    # Pedals are pure numbers or accelerations, depending on the map: no unit fits both.
    checks += [] if model.startswith("ACTUATION") else ["dimensions"]
    # A steering map and the assistance of a column need not treat left and right alike.
    checks += [] if model.endswith(("STEER_MAP", "MECHANICAL")) else ["mirror"]
    sp.testing.check(vehicle, checks).raise_if_failed()


def test_a_symmetric_steering_column_is_symmetric() -> None:
    vehicle = Recording("ACTUATION_CMD_MECHANICAL__s01_step_steer").vehicle(None)
    even = ("poly_b", "poly_d", "poly_e", "poly_f", "poly_h")
    mirrored = vehicle.with_params({f"mechanical_params.{name}": 0.0 for name in even})
    sp.testing.check(mirrored, ["mirror"]).raise_if_failed()


def test_every_number_of_a_table_is_a_parameter() -> None:
    vehicle = Recording("DELAY_STEER_MAP_ACC_GEARED__s02_step_long").vehicle(None)
    names = record.names(vehicle.model.Params)
    assert {"acceleration_map.row_0", "acceleration_map.column_4", "acceleration_map.v_6_4"} <= {
        *names
    }
    other = vehicle.with_params({"acceleration_map.v_0_0": -5.5})
    assert other.model is vehicle.model
