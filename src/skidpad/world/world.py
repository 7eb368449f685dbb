"""World: vehicles, blocks and walls that share a plane, stepped together."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..maps.raster import border_segments
from ..units import m, rad, s
from .animation import actor_pose, keyframe_pose
from .bodies import Bodies
from .build import built
from .by_name import ByName
from .contacts import Contact, Contacts, Moving, Part, Surface
from .ground import Ground
from .groups import grouped
from .handle import WorldVehicle
from .nearness import Nearness
from .scene import OccupancyGrid, Scene
from .sensing import Sensing
from .standing import standing_parts, standing_segments


class World:
    """A scene in motion.

    Args:
        scene: what there is; `World.load` reads it from a world file.
        seed: of all random numbers.
    """

    def __init__(self, scene: Scene, *, seed: int = 0) -> None:
        self.scene, self.seed = scene, seed
        self.dt = scene.timestep
        """Length of a step in s."""
        self._made = {spec.name: built(spec, scene.compat) for spec in scene.vehicles}
        self._set_up()

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, seed: int = 0, **options: Any) -> World:
        """The world of an MVSim world file; options as of `world.xml.load`."""
        from .xml import load

        return cls(load(path, seed=seed, **options), seed=seed)

    def _set_up(self) -> None:
        scene = self.scene
        self.time: s = 0.0
        self._steps = 0
        self._groups = grouped({n: b.vehicle for n, b in self._made.items()}, self.dt)
        self._bodies = [Bodies(group) for group in self._groups]
        self.vehicles: Mapping[str, WorldVehicle] = ByName[WorldVehicle](
            "vehicle",
            {
                name: WorldVehicle(self, name, bodies, row, self._made[name])
                for bodies in self._bodies
                for row, name in enumerate(bodies.group.names)
            },
        )
        """The vehicles by name."""
        settings = scene.settings
        self._contacts = Contacts(
            settings.gravity, settings.velocity_iterations, settings.position_iterations
        )
        self._ground = Ground(scene, self._groups, {n: b.vehicle for n, b in self._made.items()})
        self._place_vehicles()
        self._place_others()
        self._join()
        radii = [self._made[n].radius for group in self._groups for n in group.names]
        self._nearness = Nearness(np.array(radii), standing_segments(scene))
        self._note_what_never_changes()
        self._untouched = True
        self.sensing = Sensing(scene, self.seed)
        """The sensors and their latest readings."""

    def _note_what_never_changes(self) -> None:
        """What every step asks of the scene, looked up once."""
        scene = self.scene
        solid = [b for b in scene.blocks if not b.intangible]
        movable = [b for b in solid if not b.static or b.animation]
        self._has_blocks = any(not b.static for b in solid)
        self._movable = [b.name for b in movable] + [a.name for a in scene.actors]
        self._movable_radii = np.array(
            [b.shape.radius for b in movable] + [a.collision_radius for a in scene.actors]
        )
        self._seats = [
            (name, k, row)
            for k, bodies in enumerate(self._bodies)
            for row, name in enumerate(bodies.group.names)
        ]
        # Vehicles on joints are in the solver wherever they are.
        self._joined = np.array([self._contacts.always_in(n) for n, _, _ in self._seats], bool)

    def _place_vehicles(self) -> None:
        for spec in self.scene.vehicles:
            vehicle, made = self.vehicles[spec.name], self._made[spec.name]
            v = spec.velocity
            c, s_ = np.cos(spec.pose.yaw), np.sin(spec.pose.yaw)
            if v.frame == "body":
                v_x, v_y = c * v.v_x - s_ * v.v_y, s_ * v.v_x + c * v.v_y
            else:
                v_x, v_y = v.v_x, v.v_y
            start = Moving(spec.pose.x, spec.pose.y, spec.pose.yaw, v_x, v_y, v.omega)
            vehicle.bodies.put(vehicle.row, start)
            if made.set_point:
                vehicle.command(made.set_point)
            self._contacts.add_vehicle(spec.name, made.parts, start, made.inertia)

    def _place_others(self) -> None:
        scene = self.scene
        for name, parts, pose in standing_parts(scene):
            self._contacts.add_static(name, parts, pose)
        for element in scene.elements:
            if isinstance(element, OccupancyGrid):
                surface = Surface(element.lateral_friction, element.restitution)
                self._contacts.add_walls("grid", border_segments(element.grid), surface)
        for block in scene.blocks:
            if block.intangible or block.static:
                continue
            surface = Surface(block.lateral_friction, block.restitution)
            v = block.velocity
            start = Moving(block.pose.x, block.pose.y, block.pose.yaw, v.v_x, v.v_y, v.omega)
            self._contacts.add_block(
                block.name,
                [Part(p, surface) for p in block.shape.parts],
                start,
                mass=block.mass,
                ground_friction=block.ground_friction,
                radius=block.shape.radius,
                linear_damping=block.linear_damping,
                angular_damping=block.angular_damping,
            )
        for actor in scene.actors:
            r = actor.collision_radius
            circle = [(r * np.cos(a), r * np.sin(a)) for a in np.arange(8) * np.pi / 4]
            self._contacts.add_static(actor.name, [Part(circle)], actor_pose(actor, 0.0))

    def _join(self) -> None:
        for joint in self.scene.joints:
            ends = joint.body_a, joint.body_b, joint.anchor_a, joint.anchor_b
            if joint.kind == "revolute":
                limits = (joint.lower_angle, joint.upper_angle) if joint.enable_limit else None
                self._contacts.add_hinge(*ends, limits)
            else:
                self._contacts.add_rope(*ends, joint.max_length)

    def step(self) -> None:
        """Advance everything by one step of `dt`."""
        self._animate()
        if self._ground.differs:
            self._ground.act(self._poses(), self.time)
        before = [group.step() for group in self._groups]
        self._solve_contacts(before)
        self._steps += 1
        self.time = self._steps * self.dt
        self.sensing.sense(self)

    def run(self, duration: s, *, progress: bool = False) -> None:
        """Advance by a time in s, rounded to whole steps; with `progress`, a bar on stderr."""
        if not (np.isfinite(duration) and duration >= 0.0):
            raise InvalidValue(f"duration = {duration} s must be finite and not negative")
        count = round(duration / self.dt)
        if not progress:
            for _ in range(count):
                self.step()
            return
        from .progress import bar

        for _ in bar(count, self.dt):
            self.step()

    def _poses(self) -> dict[str, tuple[float, float, float]]:
        return {
            name: tuple(row)
            for bodies in self._bodies
            for name, row in zip(bodies.group.names, bodies.poses.tolist(), strict=True)
        }

    def _animate(self) -> None:
        """Put what moves by itself where it is at the end of the step."""
        for block in self.scene.blocks:
            if block.animation and not block.intangible:
                self._contacts.put(
                    block.name, keyframe_pose(block.pose, block.animation, self.time)
                )
        for actor in self.scene.actors:
            self._contacts.put(actor.name, actor_pose(actor, self.time + self.dt))

    def _solve_contacts(self, before: list[Any]) -> None:
        """Give Box2D the vehicles that may touch something, and take back what it did to them."""
        guests = [self._seats[k] for k in np.flatnonzero(self._near()).tolist()]
        self._untouched = not guests and not self._has_blocks
        if self._untouched:
            return
        given = {name: self._bodies[k].moving(row, before[k]) for name, k, row in guests}
        found = self._contacts.step(self.dt, given)
        for name, k, row in guests:
            self._bodies[k].put(row, found[name])

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """What touched in the last step."""
        return () if self._untouched else self._contacts.touching

    def _near(self) -> Any:
        """Whether each vehicle may touch something, or hangs on a joint, (B,)."""
        if not self._bodies:
            return self._joined
        places = [bodies.poses[:, :2] for bodies in self._bodies]
        others = np.array([self._contacts.at(name)[:2] for name in self._movable]).reshape(-1, 2)
        at = places[0] if len(places) == 1 else np.concatenate(places)
        return self._nearness.near(at, others, self._movable_radii) | self._joined

    def motion(self) -> Any:
        """Poses x, y, yaw and velocities v_x, v_y, omega of all vehicles in world axes, (B, 6).

        Rows in the order of `vehicles`; the numbers of `WorldVehicle.truth`, for all at once.
        """
        rows = [np.empty((0, 6))]
        for bodies in self._bodies:
            group = bodies.group
            v_x, v_y, omega = (group.column(name) for name in ("v_x", "v_y", "omega"))
            pose = bodies.poses
            c, s_ = np.cos(pose[:, 2]), np.sin(pose[:, 2])
            rows.append(np.column_stack([pose, c * v_x - s_ * v_y, s_ * v_x + c * v_y, omega]))
        return np.concatenate(rows)

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle on its ground."""
        return self._ground.attitude(name)

    def in_collision(self, name: str) -> bool:
        """Whether a vehicle or block touches something or is nearer than the file's threshold."""
        return self._contacts.close(name, self.scene.settings.collision_threshold)

    def block(self, name: str) -> Moving:
        """Pose and velocity of a block or an actor, in world axes."""
        return self._contacts.at(name)

    def snapshot(self) -> Any:
        """Everything needed to come back to this moment; see `restore`."""
        bodies = {name: self._contacts.at(name) for name in self._contacts.names}
        return (
            self._steps,
            [group.snapshot() for group in self._groups],
            bodies,
            self.contacts,
            self._ground.snapshot(),
            self.sensing.snapshot(),
        )

    def restore(self, snapshot: Any) -> None:
        """Return to the moment a snapshot of this world was taken.

        What follows is the same up to the impulses that the contact solver starts from.
        """
        steps, groups, bodies, contacts, ground, sensing = snapshot
        if len(groups) != len(self._groups) or bodies.keys() != set(self._contacts.names):
            raise InvalidValue("the snapshot is not of this world")
        self._steps, self.time = steps, steps * self.dt
        for group, kept in zip(self._groups, groups, strict=True):
            group.restore(kept)
        for name, moving in bodies.items():
            self._contacts.put(name, moving)
        self._contacts.touching, self._untouched = contacts, False
        self._ground.restore(ground)
        self.sensing.restore(sensing)

    def reset(self, seed: int | None = None) -> None:
        """Start again, with the same random numbers or those of another seed."""
        self.seed = self.seed if seed is None else seed
        self._set_up()

    def __repr__(self) -> str:
        return (
            f"<World of {len(self.vehicles)} vehicles, {len(self.scene.blocks)} blocks, "
            f"t = {self.time:.3f} s, steps of {self.dt * 1000:g} ms>"
        )
