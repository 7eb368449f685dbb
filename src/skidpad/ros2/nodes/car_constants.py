"""The brains2 project's `car_constants.yaml` as parameters of our cars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...checks import finite
from ...errors import InvalidValue
from ...files import yaml_of

_FIELDS = {
    "inertia.mass": "m", "inertia.yaw_inertia": "I_z", "geometry.cog_to_rear_axle": "l_r",
    "geometry.cog_height": "z_cg", "geometry.axle_track": "track", "drivetrain.C_m0": "C_m0",
    "drivetrain.C_r0": "C_r0", "drivetrain.C_r1": "C_r1", "drivetrain.C_r2": "C_r2",
    "aero.C_downforce": "C_down", "pacejka.constant.Ba": "tyre.B", "pacejka.constant.Ca": "tyre.C",
    "pacejka.constant.Da": "tyre.D", "pacejka.constant.Ea": "tyre.E",
    "actuators.torque_max": "tau_max", "actuators.steering_max": "steer_max",
    "actuators.steering_rate_max": "steer_rate_max", "actuators.motor_time_constant": "t_tau",
    "actuators.steering_time_constant": "t_steer",
}  # fmt: skip
"""What a key of the file is called here; its other keys are not used by upstream's sim either."""
_WHEEL_BASE = "geometry.wheelbase"


def car_constants(file: str) -> dict[str, float]:
    """Parameters by their dotted names; those of the shipped car if the path is empty."""
    if not file:
        return {}
    content = yaml_of(file)
    numbers = {ours: _number(file, content, key) for key, ours in _FIELDS.items()}
    return {**numbers, "l_f": _number(file, content, _WHEEL_BASE) - numbers["l_r"]}


_SAME = ("m", "I_z", "l_f", "l_r", "z_cg", "C_down", "tau_max", "steer_max", "steer_rate_max",
         "t_tau", "t_steer")  # fmt: skip
_G = 9.81


def own_car(file: str) -> dict[str, float]:
    """The same as parameters of `formula_student`; its own if the path is empty.

    Its resistance is that of tyres and air: C_r0 as their share of the weight and C_r2 as drag.
    What grows with the speed itself, C_r1, it has not, nor C_m0, which is one over the radius.
    """
    numbers = car_constants(file)
    if not numbers:
        return {}
    return {
        **{name: numbers[name] for name in _SAME},
        **{f"track_{axle}": numbers["track"] for axle in "fr"},
        **{f"tyres.tyre.lateral.{name}": numbers[f"tyre.{name}"] for name in "BCDE"},
        "tyres.tyre.carcass.rolling": numbers["C_r0"] / (numbers["m"] * _G),
        "C_drag": 2.0 * numbers["C_r2"],
    }


def _number(file: str, content: Any, key: str) -> float:
    for part in key.split("."):
        if not isinstance(content, Mapping) or part not in content:
            raise InvalidValue(f"{file}: {key} is missing")
        content = content[part]
    return finite(f"{file}: {key}", content)
