"""Wheeled vehicles of every kind, controller, friction and drivetrain."""

from __future__ import annotations

from typing import Any

from skidpad.control.pid import Form, Gains
from skidpad.vehicles import wheeled
from skidpad.vehicles.parts import Friction
from skidpad.vehicles.parts.wheel_friction import DRIVETRAINS, Ellipse, WardIagnemma
from skidpad.vehicles.wheeled import Control
from skidpad.vehicles.wheeled.description import KINDS, Description, default_description

FRICTIONS: dict[str, Any] = {
    "default": Friction(0.7, 0.1, 0.01),
    "wardiagnemma": WardIagnemma(0.7, 0.1, 0.01),
    "ellipse": Ellipse(0.1, 0.01),
}
FORMS = {"plain": Form(), "full": Form(True, True, 2, True)}


def _combinations() -> dict[str, Description]:
    found: dict[str, Description] = {}
    for kind, known in KINDS.items():
        for control in known.controllers:
            found[f"{kind}-{control}"] = default_description(
                kind, control=Control(control), friction=FRICTIONS["default"]
            )
    for name, friction in FRICTIONS.items():
        for kind, control in (("differential", "twist_pid"), ("ackermann", "raw")):
            found[f"{kind}-{control}-{name}"] = default_description(
                kind, control=Control(control), friction=friction
            )
    for name in DRIVETRAINS:
        found[name] = wheeled.ackermann(
            name, control=Control("front_steer_pid"), friction=FRICTIONS["default"]
        )
    for kind, control in (("differential", "twist_pid"), ("ackermann", "twist_front_steer_pid")):
        full = Control(control, Gains(KP=20.0, KI=5.0, KD=0.1, N=10.0), FORMS["full"])
        found[f"{kind}-full"] = default_description(kind, control=full)
    found["circle"] = wheeled.differential(friction_circle=True, control=Control("twist_pid"))
    found["static"] = wheeled.differential(loads="static", control=Control("twist_pid"))
    return found


COMBINATIONS = _combinations()
RAW = {
    f"{kind}-{name}": default_description(kind, control=Control("raw"), friction=friction)
    for kind in KINDS
    for name, friction in FRICTIONS.items()
}
"""Every kind with every friction, driven by torques."""
