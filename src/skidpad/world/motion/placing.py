"""Everything of a scene that can be touched, put where it is at the start.

In the order of names, so that the order of elements in a file does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import cos, sin

import numpy as np

from ...body import body_of
from ...plane.maps.contour import border_segments
from ...plane.pose import rotated
from ..contact.contacts import Contacts
from ..contact.joints import Span
from ..contact.solids import Moving, Part, Pushed, Surface, solid_parts
from ..contact.standing import is_climbed, standing_parts
from ..scene.scene import BlockSpec, JointSpec, OccupancyGrid, Scene, VehicleSpec
from .animation import actor_pose
from .build import BuiltVehicle


def initial_motion(spec: VehicleSpec | BlockSpec) -> Moving:
    """Pose and velocity in world axes at the start."""
    pose, v = spec.pose, spec.velocity
    v_x, v_y = v.v_x, v.v_y
    if v.frame == "body":
        v_x, v_y = rotated(v_x, v_y, pose.yaw)
    return Moving(pose.x, pose.y, pose.yaw, v_x, v_y, v.omega)


def fill(contacts: Contacts, scene: Scene, built: Mapping[str, BuiltVehicle]) -> None:
    """Put a scene into a world of contacts that has nothing in it yet."""
    for spec in sorted(scene.vehicles, key=lambda spec: spec.name):
        vehicle = built[spec.name]
        imposed = body_of(vehicle.vehicle, "a world").imposed
        start = initial_motion(spec)
        contacts.add_vehicle(spec.name, vehicle.parts, start, vehicle.inertia, imposed=imposed)
    climbed = {block.name for block in scene.blocks if is_climbed(block, scene)}
    # Upstream's animated blocks are put from place to place, and push nothing on.
    driven = {b.name for b in scene.blocks if b.animation and scene.compat != "upstream"}
    for name, parts, pose in sorted(standing_parts(scene), key=lambda thing: thing[0]):
        kind = {"climbed": name in climbed, "driven": name in driven}
        contacts.add_static(name, parts, pose, **kind)
    for name, grid in _grids(scene):
        surface = Surface(grid.lateral_friction, grid.restitution)
        contacts.add_walls(name, border_segments(grid.grid), surface)
    for block in sorted(scene.blocks, key=lambda block: block.name):
        if not (block.intangible or block.static):
            surface = Surface(block.lateral_friction, block.restitution)
            parts = solid_parts(block.shape.parts, surface)
            start, pushed = initial_motion(block), _pushed(block)
            contacts.add_block(block.name, parts, start, pushed, climbed=block.name in climbed)
    for actor in sorted(scene.actors, key=lambda actor: actor.name):
        r = actor.collision_radius
        circle = [(r * cos(a), r * sin(a)) for a in np.arange(8) * np.pi / 4]
        contacts.add_static(actor.name, [Part(circle)], actor_pose(actor, 0.0), driven=True)
    for joint in sorted(scene.joints, key=_order):
        _join(contacts, joint)


def _grids(scene: Scene) -> Iterator[tuple[str, OccupancyGrid]]:
    """Occupancy grids with the names that contacts give them."""
    grids = [element for element in scene.elements if isinstance(element, OccupancyGrid)]
    for k, grid in enumerate(grids):
        yield ("grid" if k == 0 else f"grid_{k + 1}"), grid


def _pushed(block: BlockSpec) -> Pushed:
    return Pushed(
        block.mass,
        block.ground_friction,
        block.shape.radius,
        block.linear_damping,
        block.angular_damping,
    )


def _order(joint: JointSpec) -> tuple[object, ...]:
    return joint.body_a, joint.body_b, joint.kind, joint.anchor_a, joint.anchor_b


def _join(contacts: Contacts, joint: JointSpec) -> None:
    ends = joint.body_a, joint.body_b, joint.anchor_a, joint.anchor_b
    if joint.kind == "revolute":
        limits = (joint.lower_angle, joint.upper_angle) if joint.enable_limit else None
        contacts.add_hinge(*ends, limits)
        return
    span = Span(joint.min_length, joint.max_length, joint.stiffness, joint.damping)
    contacts.add_distance(*ends, span)
