"""Reading `<vehicle>` and `<vehicle:class>`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from ...errors import InvalidValue
from ...record import fields as leaves
from ...vehicles.wheeled import Description, differential
from ..scene.shapes import Shape, Visual
from ..scene.vehicle import Odometry, OwnDynamics, TimedPath, TimedPoint, VehicleSpec
from .common import (
    NOT_DONE,
    Names,
    class_of,
    initial_pose,
    initial_velocity,
    keyframes,
    note_lights,
    presence,
    publish,
)
from .dynamics import CLASSES, chassis, dynamics
from .fields import Fields, as_number, one_of
from .nodes import Node
from .sensors import OWN, sensors
from .shapes import Models, visuals


def timed_path(vehicle: Fields) -> TimedPath | None:
    """The path that a vehicle follows by itself; None: it has none."""
    dynamics = vehicle.find("dynamics")
    controller = None if dynamics is None else Fields.of(dynamics).find("controller")
    if controller is None or controller.attribute("class") != "trajectory":
        return None
    return vehicle.kept(lambda: _path(controller), None)


def _path(node: Node) -> TimedPath:
    fields = Fields.of(node)
    points = sorted(_point(child) for child in fields.all("waypoint"))
    if len(points) < 2:
        raise node.error(
            f'a trajectory needs two or more <waypoint t=".." x=".." y=".."/>, got {len(points)}'
        )
    for before, after in pairwise(points):
        if before.time == after.time:
            raise node.error(f"two waypoints are at t = {after.time:g} s")
    # Both as children and as attributes, in either mode.
    path = fields.record(fields.record(TimedPath(())), attributes_of=node)
    return replace(path, points=tuple(points))


def _point(node: Node) -> TimedPoint:
    texts = {"t": node.attribute("t"), "x": node.attribute("x"), "y": node.attribute("y")}
    numbers = [as_number(node, name, text or "0") for name, text in texts.items()]
    return TimedPoint(*numbers)


def vehicle(node: Node, classes: Mapping[str, Node], names: Names, models: Models) -> VehicleSpec:
    """The vehicle that an element describes, with what its class says."""
    name = names.of(node)
    kind = class_of(node, classes, "vehicle")
    own, included = node.own_and_included()
    groups = [*included, own, *([] if kind is None else [kind.children()])]
    fields = Fields(groups, node.context, node)
    values = node.context.values
    around, values.named = values.named, {**values.named, "NAME": name}
    try:
        pictures = visuals(fields.all("visual"))
        # Where it is wrong the rest is read all the same: all problems are told at once.
        moved_by, shape = fields.kept(
            lambda: _dynamics(fields, name, pictures, models), (differential(), None)
        )
        spec = VehicleSpec(
            name,
            initial_pose(fields),
            moved_by,
            shape,
            initial_velocity(fields),
            sensors(fields.all("sensor"), name),
            _odometry(fields),
            pictures,
            keyframes(fields),
            publish(fields, name),
            presence(fields, "skip_elevation_adjust"),
            fields.string("log_path"),
            fields.switch("auto_start_recording", False),
            node.attribute("class") or "",
            timed_path(fields),
            node.source,
        )
        note_lights(fields)
        for tag in ("log_path", "auto_start_recording"):
            if getattr(spec, tag):
                node.context.note(NOT_DONE, f"{tag} of", node.source, name)
        fields.finish()
        return spec
    finally:
        values.named = around


def _dynamics(
    fields: Fields, name: str, pictures: tuple[Visual, ...], models: Models
) -> tuple[Description | OwnDynamics, Shape | None]:
    node = fields.find("dynamics")
    friction = fields.find("friction")
    if node is None:
        raise fields.owner.error("<dynamics> is missing, here and in its class")
    kind = node.needed("class")
    if kind.startswith(OWN):
        return _own(node, kind.removeprefix(OWN), name, pictures, models)
    one_of(node, "class of dynamics", kind, [*CLASSES, f"{OWN}NAME"])
    return dynamics(node, kind, friction, name, pictures, models)


def _own(
    node: Node, name: str, owner: str, pictures: tuple[Visual, ...], models: Models
) -> tuple[OwnDynamics, Shape | None]:
    """One of skidpad's vehicles: a chassis for contacts, the rest are its parameters."""
    from ...vehicles import get, names
    from ...vehicles.autoware import NAMES

    one_of(node, "vehicle of skidpad", name, [*names(), *NAMES])
    known = None if name in NAMES else [leaf.name for leaf in leaves(get(name).model.Params)]
    fields = Fields.of(node)
    shape: Shape | None = None
    if fields.find("chassis") is not None:
        shape = chassis(fields, "differential", (), owner, pictures, models)[1]
    parameters: dict[str, float] = {}
    for child in node.children():
        if child.tag != "chassis":
            if known is not None:
                one_of(child, f"parameter of {name}", child.tag, known)
            parameters[child.tag] = fields.kept(
                lambda child=child: as_number(child, child.tag, child.text()), 0.0
            )
    fields.kept(lambda: _check_own(node, name, parameters), None)
    return OwnDynamics(name, parameters), shape


def _check_own(node: Node, name: str, parameters: Mapping[str, float]) -> None:
    """Raise for parameters that the vehicle refuses, and note those it does not know."""
    from ...vehicles import autoware, get
    from ...vehicles.autoware import NAMES

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if name in NAMES:
                autoware(name, dict(parameters))
            else:
                get(name)(dict(parameters))
        except InvalidValue as error:
            raise node.error(error) from None
    for warning in caught:
        node.context.note("parameters without effect", str(warning.message), node.source)


def _odometry(fields: Fields) -> Odometry:
    node = fields.find("odometry")
    names = ("x_multiplier", "y_multiplier", "yaw_multiplier")
    if node is None:
        return Odometry()
    if node.context.upstream:
        # Upstream reads the factors into too few bytes, so that none of them has an effect.
        node.expects(*names)
        return Odometry()
    inner = Fields.of(node)

    def factor(name: str) -> float | None:
        text = node.attribute(name)
        return None if text is None else inner.kept(lambda: as_number(node, name, text), 1.0)

    factors = Odometry(*(factor(name) for name in names))
    inner.finish()
    return factors
