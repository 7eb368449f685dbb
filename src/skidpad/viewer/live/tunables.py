"""Parameters that can be changed while a vehicle drives, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ... import record
from ...errors import InvalidValue
from ...units import one
from ...world.motion.groups import Group


class _Known(NamedTuple):
    label: str
    low: one
    """Smallest value, as a multiple of the one the vehicle starts with."""
    high: one


_KNOWN: dict[str, _Known] = {
    "m": _Known("mass", 0.5, 3.0),
    "body.chassis_mass": _Known("mass", 0.5, 3.0),
    "tyre.D": _Known("friction", 0.1, 1.5),
    "tyres.tyre.lateral.D": _Known("friction across", 0.1, 1.5),
    "tyres.tyre.longitudinal.D": _Known("friction along", 0.1, 1.5),
    "tyres.tyre.lateral.mu": _Known("friction across", 0.1, 1.5),
    "tyres.tyre.longitudinal.mu": _Known("friction along", 0.1, 1.5),
    "friction.mu": _Known("friction", 0.1, 1.5),
    "tyre.B": _Known("tyre stiffness", 0.2, 2.0),
    "friction.C_alpha": _Known("tyre stiffness across", 0.2, 2.0),
    "friction.C_s": _Known("tyre stiffness along", 0.2, 2.0),
    "C_f": _Known("front tyre stiffness", 0.2, 2.0),
    "C_r": _Known("rear tyre stiffness", 0.2, 2.0),
    "I_z": _Known("yaw inertia", 0.5, 3.0),
    "body.I_z": _Known("yaw inertia", 0.5, 3.0),
    "z_cg": _Known("height of the centre of mass", 0.0, 2.0),
    "body.com_z": _Known("height of the centre of mass", 0.0, 2.0),
    "C_down": _Known("downforce", 0.0, 3.0),
    "C_r0": _Known("driving resistance", 0.0, 3.0),
    "friction.C_rr": _Known("rolling resistance", 0.0, 5.0),
    "t_steer": _Known("steering lag", 0.25, 10.0),
    "acc_time_constant": _Known("lag of the drive", 0.25, 10.0),
    "vel_time_constant": _Known("lag of the drive", 0.25, 10.0),
    "steer_time_constant": _Known("steering lag", 0.25, 10.0),
}
"""By dotted name; the order is that of the list shown. Dead times are none of them: the queue of
commands has its length from the start."""


class Tunable(NamedTuple):
    """A parameter that can be changed."""

    name: str
    label: str
    unit: str
    low: float
    high: float
    column: int
    """Of the parameters of its group."""

    def describe(self, value: float) -> dict[str, Any]:
        """For the hello message."""
        return {
            "name": self.name,
            "label": self.label,
            "unit": self.unit,
            "value": value,
            "low": self.low,
            "high": self.high,
        }


def tunables_of(group: Group, row: int) -> dict[str, Tunable]:
    """What can be changed of a vehicle that still has the parameters it starts with, by name."""
    return known_tunables(group.model.Params, group.params[row].tolist())


def known_tunables(Params: type, values: Sequence[float]) -> dict[str, Tunable]:
    """What can be changed of a vehicle that starts with these parameters, by name."""
    leaves = {leaf.name: k for k, leaf in enumerate(record.fields(Params))}
    tunables: dict[str, Tunable] = {}
    for name, known in _KNOWN.items():
        if name not in leaves:
            continue
        column = leaves[name]
        value = float(values[column])
        if value > 0.0:
            leaf = record.fields(Params)[column]
            low, high = _within(leaf, known.low * value, known.high * value)
            tunables[name] = Tunable(name, known.label, leaf.unit.symbol, low, high, column)
    return tunables


def _within(leaf: record.Field, low: float, high: float) -> tuple[float, float]:
    allowed = leaf.allowed
    if allowed is None:
        return low, high
    return max(low, allowed.low), min(high, allowed.high)


def tune(group: Group, row: int, known: dict[str, Tunable], name: str, value: float) -> None:
    """Change a parameter; it acts from the next step on."""
    if name not in known:
        raise InvalidValue(
            record.unknown_name(group.names[row], name[:40], list(known), "parameter")
        )
    one = known[name]
    if not one.low <= value <= one.high:
        shown = f"{value:g} {one.unit}".removesuffix(" 1")
        raise InvalidValue(f"{name} = {shown} must be from {one.low:g} to {one.high:g}")
    group.params[row, one.column] = value
