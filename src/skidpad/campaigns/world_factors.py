"""What of a scene differs between the runs of a campaign, by name.

| name | what it sets |
|---|---|
| `vehicle.NAME.x`, `.y`, `.yaw` | where a vehicle starts, in m and rad |
| `vehicle.NAME.v` | its speed at the start, along itself |
| `vehicle.NAME.PARAMETER` | a parameter of its model, such as `vehicle.r1.friction.mu` |
| `vehicle.NAME.command.FIELD` | an input that it is commanded from the start on |
| `block.NAME.x`, `.y`, `.yaw` | where a block stands |
| `block.NAME.mass`, `.ground_friction`, `.lateral_friction`, `.restitution` | what it is like |
| `actor.NAME.walking_speed`, `.running_speed` | how fast somebody walks |
| `variable.NAME` | a variable that the world file is read with |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from .. import record
from ..units import Allowed, Unit, kg, m, m_s, non_negative, one, positive, rad
from ..vehicles import wheeled
from ..world.scene.scene import ActorSpec, BlockSpec, OwnDynamics, Scene, Shape, VehicleSpec
from ..world.scene.shapes import Velocity
from ..world.world import World
from .drive_rows import unit_of


class Setting(NamedTuple):
    """A number that may differ between runs."""

    unit: str
    allowed: Allowed


class _Start(NamedTuple):
    """Of a vehicle or a block."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    v: m_s = 0.0


COMMAND = "command."
POSE = ("x", "y", "yaw")
OF_BLOCKS: dict[str, tuple[Any, Allowed]] = {
    "mass": (kg, positive),
    "ground_friction": (one, non_negative),
    "lateral_friction": (one, non_negative),
    "restitution": (one, non_negative),
}
OF_ACTORS = ("walking_speed", "running_speed")


def settings_of(world: World) -> dict[str, Setting]:
    """All that may differ between runs of a world, by name."""
    start = {leaf.name: Setting(unit_of(leaf), Allowed()) for leaf in record.fields(_Start)}
    settings: dict[str, Setting] = {}
    for name, vehicle in world.vehicles.items():
        model = vehicle.vehicle.model
        own = {
            leaf.name: Setting(unit_of(leaf), leaf.allowed or Allowed())
            for leaf in record.fields(model.Params)
            # A road is one of the whole scene.
            if world.scene.road is None or not leaf.name.startswith("road.")
        }
        commands = {
            f"{COMMAND}{leaf.name}": Setting(unit_of(leaf), leaf.allowed or Allowed())
            for leaf in record.fields(model.Input)
        }
        settings |= {f"vehicle.{name}.{key}": one for key, one in (own | start | commands).items()}
    for block in world.scene.blocks:
        own = {key: Setting(_symbol(unit), allowed) for key, (unit, allowed) in OF_BLOCKS.items()}
        own |= {key: start[key] for key in POSE}
        settings |= {f"block.{block.name}.{key}": one for key, one in own.items()}
    for actor in world.scene.actors:
        settings |= {f"actor.{actor.name}.{key}": Setting("m/s", positive) for key in OF_ACTORS}
    return settings


def changed_scene(scene: Scene, values: Mapping[str, float]) -> Scene:
    """The scene with the values of a run."""
    if not values:
        return scene
    return replace(
        scene,
        vehicles=tuple(
            _vehicle(spec, _own(values, "vehicle", spec.name), scene) for spec in scene.vehicles
        ),
        blocks=tuple(_block(spec, _own(values, "block", spec.name)) for spec in scene.blocks),
        actors=tuple(_actor(spec, _own(values, "actor", spec.name)) for spec in scene.actors),
    )


def commanded(scene: Scene, values: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """What vehicles are commanded at the start of a run, by vehicle and field."""
    told: dict[str, dict[str, float]] = {}
    for spec in scene.vehicles:
        own = _own(values, "vehicle", spec.name)
        first: dict[str, float] = {}
        # A robot whose parameters are changed is a plain vehicle, which has no set point.
        if isinstance(spec.dynamics, wheeled.Description) and _params(own):
            first |= spec.dynamics.control.set_point
        told[spec.name] = first | {
            key.removeprefix(COMMAND): value
            for key, value in own.items()
            if key.startswith(COMMAND)
        }
    return {name: fields for name, fields in told.items() if fields}


def _own(values: Mapping[str, float], kind: str, name: str) -> dict[str, float]:
    """Values of one thing."""
    prefix = f"{kind}.{name}."
    return {k.removeprefix(prefix): v for k, v in values.items() if k.startswith(prefix)}


def _params(own: Mapping[str, float]) -> dict[str, float]:
    others = (*POSE, "v")
    return {k: v for k, v in own.items() if k not in others and not k.startswith(COMMAND)}


def _vehicle(spec: VehicleSpec, own: Mapping[str, float], scene: Scene) -> VehicleSpec:
    place = {key: own[key] for key in POSE if key in own}
    spec = replace(spec, pose=spec.pose._replace(**place)) if place else spec
    if "v" in own:
        spec = replace(spec, velocity=Velocity(own["v"], 0.0, 0.0, "body"))
    if not (params := _params(own)):
        return spec
    dynamics = spec.dynamics
    if isinstance(dynamics, OwnDynamics):
        parameters = {**dynamics.parameters, **params}
        return replace(spec, dynamics=replace(dynamics, parameters=parameters))
    if isinstance(dynamics, wheeled.Description):
        vehicle = wheeled.vehicle(dynamics, scene.compat).with_params(params)
        return replace(spec, dynamics=vehicle, shape=_said(spec.shape))
    return replace(spec, dynamics=dynamics.with_params(params))


def _said(shape: Shape | None) -> Shape | None:
    """The shape of a robot, which counts also where it is the usual one."""
    usual = shape is not None and shape.made_from == "default"
    return replace(shape, made_from="shape") if shape is not None and usual else shape


def _block(spec: BlockSpec, own: Mapping[str, float]) -> BlockSpec:
    place = {key: own[key] for key in POSE if key in own}
    like = {key: own[key] for key in OF_BLOCKS if key in own}
    return replace(spec, pose=spec.pose._replace(**place), **like) if own else spec


def _actor(spec: ActorSpec, own: Mapping[str, float]) -> ActorSpec:
    return replace(spec, **own) if own else spec


def _symbol(unit: Any) -> str:
    mark = next(mark for mark in unit.__metadata__ if isinstance(mark, Unit))
    return "" if mark.symbol == "1" else mark.symbol
