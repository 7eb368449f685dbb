"""States, disturbances and outputs of trailers behind a car, by their number.

Names end with the number of the trailer, from 1: `hitch_1`, `spin_left_1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any

from .. import record
from ..recipes import made_once
from ..units import N, Nm, m, non_negative, one, rad, rad_s

__all__ = [
    "mirror_odd",
    "trailer_disturbances",
    "trailer_outputs",
    "trailer_spins",
    "trailer_states",
]

SIDES = ("left", "right")

NO_OTHERS: Mapping[str, float] = MappingProxyType({})

Fields = dict[str, tuple[Any, str]]
"""Unit and meaning, by name."""


def trailer_spins(count: int) -> tuple[str, ...]:
    """Names of the states that are spins."""
    return tuple(f"spin_{side}_{k}" for k in range(1, count + 1) for side in SIDES)


def mirror_odd(count: int) -> dict[str, bool]:
    """Fields that change sign when sides are exchanged, beyond those whose names say so."""
    names = ("hitch", "hitch_rate", "load_shift")
    return {f"{name}_{k}": True for k in range(1, count + 1) for name in names}


@made_once
def trailer_states(count: int, slip: bool) -> Any:
    """The state class of some trailers; `slip`: whether that is a state of each wheel."""
    fields: Fields = {
        "load_pull": (
            N,
            "Force of the hitch along the car that its wheel loads have answered to, "
            "forward positive.",
        )
    }
    for k in range(1, count + 1):
        fields |= _states(k, "the car" if k == 1 else f"trailer {k - 1}")
        if slip:
            fields |= _slips(k)
    return _defined("TrailerStates", fields, 0.0)


def _states(k: int, ahead: str) -> Fields:
    of = f"of trailer {k}"
    return {
        f"hitch_{k}": (rad, f"Heading {of} less that of {ahead}, positive to the left."),
        f"hitch_rate_{k}": (rad_s, f"Rate of `hitch_{k}`."),
        f"spin_left_{k}": (rad_s, f"Spin of the left wheel {of}, positive when it rolls forward."),
        f"spin_right_{k}": (rad_s, f"Spin of the right wheel {of}."),
        f"load_hitch_{k}": (N, f"What motion adds to the load {of} on its hitch."),
        f"load_shift_{k}": (N, f"Load that has moved from the left wheel {of} to the right one."),
    }


def _slips(k: int) -> Fields:
    fields: Fields = {}
    for side in SIDES:
        of = f"of the {side} wheel of trailer {k}"
        fields[f"kappa_{side}_{k}"] = (one, f"Longitudinal slip {of}, as it feels it.")
        fields[f"tan_alpha_{side}_{k}"] = (one, f"Tangent of the slip angle {of}; sign of tyres.")
    return fields


@made_once
def trailer_disturbances(count: int) -> Any:
    """What the world does to some trailers, in the axes of each. The defaults do nothing."""
    fields: Fields = {}
    grips: Fields = {}
    for k in range(1, count + 1):
        at = f"at the centre of mass of trailer {k}"
        fields[f"F_x_{k}"] = (N, f"Force {at} along it, forward positive.")
        fields[f"F_y_{k}"] = (N, f"Force {at} across it, positive to the left.")
        fields[f"M_z_{k}"] = (Nm, f"Yaw moment on trailer {k}, positive to the left.")
        for side in SIDES:
            doc = f"Grip under the {side} wheels of trailer {k} over that of its tyres."
            grips[f"mu_{side}_{k}"] = (Annotated[one, non_negative], doc)
    return _defined("TrailerDisturbances", fields | grips, 0.0, dict.fromkeys(grips, 1.0))


@made_once
def trailer_outputs(count: int) -> Any:
    """The output class of some trailers."""
    fields: Fields = {}
    for k in range(1, count + 1):
        of = f"of trailer {k}"
        fields |= {
            f"x_trailer_{k}": (m, f"Position of the axle {of} in the world frame."),
            f"y_trailer_{k}": (m, f"Position of the axle {of} in the world frame."),
            f"yaw_trailer_{k}": (rad, f"Heading {of} in the world frame."),
            f"F_x_hitch_{k}": (N, f"Force of its hitch on trailer {k} along it: positive pulls."),
            f"F_y_hitch_{k}": (N, f"The same across trailer {k}, positive to the left."),
            f"F_z_hitch_{k}": (N, f"Load {of} on its hitch, positive downwards."),
        }
        for side in SIDES:
            wheel = f"of a {side} wheel of trailer {k}"
            fields |= {
                f"F_x_{side}_{k}": (N, f"Force along {wheel}."),
                f"F_y_{side}_{k}": (N, f"Force across {wheel}, positive to the left."),
                f"F_z_{side}_{k}": (N, f"Load {wheel}."),
                f"alpha_{side}_{k}": (rad, f"Slip angle {wheel}, positive pushes to the left."),
            }
    return _defined("TrailerOutputs", fields, None)


def _defined(
    name: str, fields: Fields, default: float | None, others: Mapping[str, float] = NO_OTHERS
) -> Any:
    hints = {field: unit for field, (unit, _) in fields.items()}
    docs = {field: doc for field, (_, doc) in fields.items()}
    defaults = {} if default is None else dict.fromkeys(fields, default) | dict(others)
    return record.define(name, hints, defaults, docs)
