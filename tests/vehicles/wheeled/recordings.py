"""Recordings of MVSim: tables of single calls and trajectories of whole vehicles."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skidpad.vehicles import wheeled
from skidpad.vehicles.parts.wheel_friction import Splits
from skidpad.vehicles.wheeled.description import (
    FRICTIONS,
    KINDS,
    Chassis,
    Description,
    Drivetrain,
    Wheel,
    default_description,
)

DATA = Path(__file__).parents[2] / "data" / "mvsim"
Array = np.ndarray[Any, Any]

WHEEL_TAGS = {
    "differential": ("l_wheel", "r_wheel"),
    "differential_3_wheels": ("l_wheel", "r_wheel", "caster_wheel"),
    "differential_4_wheels": ("lr_wheel", "rr_wheel", "lf_wheel", "rf_wheel"),
    "ackermann": ("rl_wheel", "rr_wheel", "fl_wheel", "fr_wheel"),
    "ackermann_drivetrain": ("rl_wheel", "rr_wheel", "fl_wheel", "fr_wheel"),
}
OUR_NAMES = {"R1": "R_1", "R2": "R_2"}


class Region(NamedTuple):
    """A box of ground with a property of its own."""

    name: str
    value: float
    x: tuple[float, float]
    y: tuple[float, float]

    def holds(self, x: float, y: float) -> bool:
        return self.x[0] <= x <= self.x[1] and self.y[0] <= y <= self.y[1]


@cache
def scenarios() -> dict[str, dict[str, Any]]:
    found = json.loads((DATA / "scenarios.json").read_text("utf-8"))
    return {scenario["name"]: scenario for scenario in found}


@cache
def table(file: str, name: str) -> dict[str, Array]:
    """A recorded table as named columns."""
    with np.load(DATA / f"{file}.npz") as stored:
        return dict(zip(map(str, stored[f"{name}__cols"]), stored[name].T, strict=True))


def description(scenario: dict[str, Any]) -> Description:
    """The vehicle of a scenario, read from its world file. Good for these files only."""
    root = ET.fromstring(scenario["world_xml"])
    vehicle = root.find("vehicle")
    assert vehicle is not None
    dynamics = vehicle.find("dynamics")
    assert dynamics is not None
    kind = dynamics.attrib["class"]
    base = default_description(kind)
    changes: dict[str, Any] = {
        "chassis": _chassis(dynamics.find("chassis"), base.chassis),
        "wheels": _wheels(dynamics, kind, base),
        "friction": _friction(vehicle.find("friction")),
        "control": _control(dynamics.find("controller"), kind),
        "gravity": float(root.findtext("gravity", "9.81")),
    }
    if kind.startswith("ackermann"):
        changes["steer_max"] = math.radians(float(dynamics.findtext("max_steer_ang_deg", "30")))
    drivetrain = dynamics.find("drivetrain")
    if drivetrain is not None:
        splits = {child.tag: float(child.text or "") for child in drivetrain}
        changes["drivetrain"] = Drivetrain(drivetrain.attrib["type"], Splits(**splits))
    return default_description(kind, **changes)


def _chassis(tag: ET.Element | None, base: Chassis) -> Chassis:
    assert tag is not None
    shape = tuple(tuple(map(float, (pt.text or "").split())) for pt in tag.iter("pt"))
    given = {name: float(value) for name, value in tag.attrib.items()}
    return Chassis(
        given.get("mass", base.mass),
        shape or base.shape,
        given.get("zmin", base.z_min),
        given.get("zmax", base.z_max),
        given.get("linear_damping"),
        given.get("angular_damping"),
    )


def _wheels(dynamics: ET.Element, kind: str, base: Description) -> tuple[Wheel, ...]:
    found: list[Wheel] = []
    for tag, default in zip(WHEEL_TAGS[kind], base.wheels, strict=True):
        element = dynamics.find(tag)
        given = {} if element is None else dict(element.attrib)
        place = [float(x) for x in given.pop("pos", f"{default.x} {default.y}").split()]
        if tag in ("fl_wheel", "fr_wheel"):
            side = 0.5 if tag == "fl_wheel" else -0.5
            ahead = float(dynamics.findtext("f_wheels_x", "1.3"))
            place = [ahead, side * float(dynamics.findtext("f_wheels_d", "2.0"))]
        found.append(Wheel(*place, **{name: float(x) for name, x in given.items()}))
    return tuple(found)


def _friction(tag: ET.Element | None) -> Any:
    assert tag is not None
    given = {OUR_NAMES.get(child.tag, child.tag): float(child.text or "") for child in tag}
    return FRICTIONS[tag.attrib["class"]](**given)


def _control(tag: ET.Element | None, kind: str) -> wheeled.Control:
    assert tag is not None
    name = tag.attrib["class"]
    gains = KINDS[kind].default_gains(name)
    given = {child.tag: float(child.text or "") for child in tag}
    return wheeled.Control(name, gains._replace(**given))


def regions(scenario: dict[str, Any]) -> list[Region]:
    """Regions with friction of their own, in file order."""
    root = ET.fromstring(scenario["world_xml"])
    return [
        Region(
            e.findtext("property_name", ""),
            float(e.findtext("value_double", "")),
            (float(e.findtext("x_min", "")), float(e.findtext("x_max", ""))),
            (float(e.findtext("y_min", "")), float(e.findtext("y_max", ""))),
        )
        for e in root.iter("element")
        if e.attrib["class"] == "property_region"
    ]


def start_pose(scenario: dict[str, Any]) -> dict[str, float]:
    root = ET.fromstring(scenario["world_xml"])
    flat, solid = root.findtext("vehicle/init_pose"), root.findtext("vehicle/init_pose3d")
    numbers = [float(x) for x in (flat or solid or "").split()]
    x, y, yaw = numbers if flat else (numbers[0], numbers[1], numbers[3])
    return {"x": x, "y": y, "yaw": math.radians(yaw)}


def commands(scenario: dict[str, Any], names: tuple[str, ...]) -> list[tuple[float, list[float]]]:
    """Inputs with the times they apply from; recorded torques are negative forward."""
    found: list[tuple[float, list[float]]] = []
    for t, *values in scenario["cmds"]:
        row = [-v if name.startswith("tau") else v for name, v in zip(names, values, strict=False)]
        found.append((t, row))
    return found
