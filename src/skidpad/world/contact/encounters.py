"""Where vehicles meet things: who is near what, and what touching does to them.

Vehicles that are near nothing never get here: they have moved by themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...arrays import AnyArray
from ...errors import InvalidValue
from ...units import m, s
from ..ground.ground import Ground
from ..ground.steep import SteepGround
from ..motion.animation import actor_pose, keyframe_pose
from ..motion.bodies import Bodies
from ..motion.build import BuiltVehicle
from ..motion.placing import fill
from ..scene.scene import Scene
from .contacts import Contacts
from .nearness import Nearness
from .solids import Moving
from .standing import standing_segments
from .touches import Contact, ContactEvent


class TurningParts:
    """Steered wheels and trailers of a group, as contacts have them.

    They are as they were at the beginning of a step, also upstream. Their mass stays where it was.
    """

    def __init__(
        self, bodies: Bodies, built: Mapping[str, BuiltVehicle], contacts: Contacts
    ) -> None:
        self._contacts, self._bodies, self._names = contacts, bodies, bodies.group.names
        self._parts = [built[name].turning for name in self._names]
        self._fields = [field for part in self._parts[0] for field in part.fields]
        self._shown = [[part.start for part in parts for _ in part.fields] for parts in self._parts]

    def follow(self, rows: Sequence[int], before: AnyArray) -> None:
        """Turn the parts of some vehicles to where they are in the states (B, nx) before a step.

        Takes effect when the vehicles are given to the next step of the contacts.
        """
        if not self._fields:
            return
        angles_of = self._bodies.fields(self._fields, rows, before)
        for row, angles in zip(rows, angles_of, strict=True):
            if angles == self._shown[row]:
                continue
            next_angle = iter(angles)
            for part in self._parts[row]:
                own = [next(next_angle) for _ in part.fields]
                self._contacts.reshape(self._names[row], part.number, part.outline(*own))
            self._shown[row] = angles


_NOTHING = np.empty((0, 2))
_RISE: m = 0.01
"""By how much a vehicle may rise before it is told to those that it could touch."""
_SOLVABLE = 1e30
"""Largest number of a motion that is given to the solver, whose single precision ends at 3.4e38; a
vehicle beyond is about to be stopped."""


class Encounters:
    """Contacts and joints between the vehicles of a world and everything else.

    Args:
        scene: what there is.
        built: the vehicles of the scene by name.
        bodies: their motion, by groups.
        events: where beginnings and ends of contacts are noted.
    """

    def __init__(
        self,
        scene: Scene,
        built: Mapping[str, BuiltVehicle],
        bodies: Sequence[Bodies],
        events: deque[ContactEvent],
    ) -> None:
        settings = scene.settings
        self._contacts = Contacts(
            events,
            _middle(scene),
            settings.gravity,
            settings.velocity_iterations,
            settings.position_iterations,
            # Upstream's are stopped one step late, wherever they are then.
            careful=scene.compat != "upstream",
        )
        fill(self._contacts, scene, built)
        self._bodies = tuple(bodies)
        names = [name for b in bodies for name in b.group.names]
        self._turning = [TurningParts(them, built, self._contacts) for them in bodies]
        self._heights = np.array([built[name].height for name in names])
        self._lifted = np.full(len(names), np.nan)
        self._floors = False
        self._names, self._vehicles = names, frozenset(names)
        upstream = scene.compat == "upstream"
        self._steep = SteepGround(bodies, built, scene.timestep, upstream=upstream)
        self._animated = [b for b in scene.blocks if b.animation and not b.intangible]
        self._actors = scene.actors
        solid = [b for b in scene.blocks if not b.intangible and (b.animation or not b.static)]
        self.movable = (*(b.name for b in solid), *(actor.name for actor in scene.actors))
        """Names of the blocks and actors that move."""
        radii = np.array([built[name].radius for name in names])
        others = [b.shape.radius for b in solid] + [a.collision_radius for a in scene.actors]
        self._nearness = Nearness(radii, standing_segments(scene), np.array(others))
        # Vehicles on joints are in the solver wherever they are.
        self._always = [k for k, name in enumerate(names) if self._contacts.always_in(name)]
        self._count = len(names)
        # What moves by itself may come upon a block that is at rest.
        self._stirred = bool(self._animated or self._actors) and any(not b.static for b in solid)
        self._stopped: Sequence[int] = ()

    def animate(self, time: s, dt: s) -> None:
        """Let what moves by itself go where it is after the step that begins at a time."""
        for block in self._animated:
            goal = keyframe_pose(block.pose, block.animation, time)
            self._contacts.drive(block.name, goal, dt)
        for actor in self._actors:
            self._contacts.drive(actor.name, actor_pose(actor, time + dt), dt)

    def part_floors(self, ground: Ground) -> None:
        """Let things touch only what is at their own height; vehicles are where they stand."""
        self._contacts.tell_heights(ground.spans())
        self._floors = bool(self._names)
        if self._floors:
            self._lift(ground)

    def may_meet(self, a: str, b: str) -> bool:
        """Whether two things are at the same height, as far as that is known."""
        return self._contacts.may_meet(a, b)

    def _lift(self, ground: Ground) -> None:
        """Tell the contacts how high the vehicles are that have risen or sunk."""
        z = np.concatenate([ground.lying(k)[0] for k in range(len(self._bodies))])
        rows = np.flatnonzero(~(np.abs(z - self._lifted) <= _RISE)).tolist()
        if rows:
            low, high = z.tolist(), (z + self._heights).tolist()
            self._contacts.tell_heights({self._names[k]: (low[k], high[k]) for k in rows})
            self._lifted[rows] = z[rows]

    def look_at(self, ground: Ground) -> None:
        """Find who is before ground that is too steep, in the step that begins, and how high."""
        if self._floors:
            self._lift(ground)
        self._stopped = self._steep.look(ground, self._contacts)
        if self._stopped:
            # The obstacles move with those before them.
            ground.forget()

    def solve(self, before: Sequence[AnyArray], dt: s, time: s) -> None:
        """Let things touch in a step that ends at a time.

        `before` are the states of the groups before the step; their present ones, to which the
        vehicles have come by themselves, are changed as contacts and joints want it.
        """
        near = self._near(before, dt)
        if not near and not (self._stirred or self._contacts.restless):
            self._contacts.rest(time)
            return
        guests = list(self._by_groups(near))
        moving: dict[str, Moving] = {}
        for k, rows in guests:
            bodies, names = self._bodies[k], self._bodies[k].group.names
            self._turning[k].follow(rows, before[k])
            for row, one in zip(rows, bodies.moving(rows, before[k]), strict=True):
                if max(map(abs, one)) < _SOLVABLE:
                    moving[names[row]] = one
        moved = self._contacts.step(dt, moving, time)
        for k, rows in guests:
            names = self._bodies[k].group.names
            those = [row for row in rows if names[row] in moved]
            self._bodies[k].put(those, [moved[names[row]] for row in those])

    def _near(self, before: Sequence[AnyArray], dt: s) -> list[int]:
        """Numbers of the vehicles that may touch something, counted through all groups."""
        if len(self._always) == self._count:
            return self._always
        at = _joined([bodies.places for bodies in self._bodies])
        others = np.array(self._contacts.places(self.movable)) if self.movable else _NOTHING

        def begin() -> AnyArray:
            then = [b.places_in(states) for b, states in zip(self._bodies, before, strict=True)]
            ways = np.array(self._contacts.ways(self.movable, dt)).reshape(-1, 2)
            return _joined([*then, others - ways])

        near = self._nearness.near(at, others, begin).tolist()
        if self._always or self._stopped:
            near = sorted({*near, *self._always, *self._stopped})
        return near

    def _by_groups(self, numbers: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Groups with some of the vehicles, and the rows of these."""
        first = 0
        for k, bodies in enumerate(self._bodies):
            end = first + len(bodies.group.names)
            rows = [number - first for number in numbers if first <= number < end]
            if rows:
                yield k, rows
            first = end

    def put(self, name: str, moving: Moving) -> None:
        """Move a vehicle without regard to what is in its way; raises for one on a joint."""
        if self._contacts.always_in(name):
            raise InvalidValue(f"{name} hangs on a joint and cannot be put elsewhere by itself")
        self._contacts.carry(name, moving)
        self._nearness.forget()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """What touched in the last step."""
        return self._contacts.touches.contacts

    @property
    def new_events(self) -> Sequence[ContactEvent]:
        """Beginnings and ends of contacts in the last step in which anything was near."""
        return self._contacts.touches.new_events

    def all_close(self, gap: m) -> tuple[str, ...]:
        """Names of the vehicles that are `close` to something, without a look at those that are
        far from everything."""
        near = self._contacts.candidates
        return tuple(
            name
            for k, name in enumerate(self._names)
            if (name in near or k in self._always) and self._contacts.close(name, gap)
        )

    @property
    def pushed(self) -> set[str]:
        """Names of the vehicles that contacts or joints may have moved in the last step."""
        touched = {name for contact in self.contacts for name in (contact.a, contact.b)}
        return {*touched, *(self._names[k] for k in self._always)} & self._vehicles

    def at(self, name: str) -> Moving:
        """Pose and velocity of a block or an actor, in world axes."""
        return self._contacts.at(name)

    def close(self, name: str, gap: m) -> bool:
        """Whether a body touches another one or is nearer to it than `gap`."""
        return self._contacts.close(name, gap)

    def snapshot(self) -> Any:
        """Everything that changes."""
        them = {name: self._contacts.at(name) for name in self._contacts.names}
        return them, self._contacts.touches.snapshot(), self._contacts.origin

    def check(self, snapshot: Any) -> None:
        """Raise if a snapshot is not of this world."""
        if snapshot[0].keys() != set(self._contacts.names):
            raise InvalidValue("the snapshot is not of this world")

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        them, touches, self._contacts.origin = snapshot
        for name, moving in them.items():
            # Who stays where it is keeps the impulses that the solver starts from.
            if self._contacts.at(name)[:3] != moving[:3]:
                self._contacts.dismiss(name)
            self._contacts.put(name, moving)
        self._contacts.touches.restore(touches)
        self._nearness.forget()


def _middle(scene: Scene) -> tuple[m, m]:
    """Between the vehicles at the start, or between the blocks if there are none."""
    poses = [spec.pose for spec in (scene.vehicles or scene.blocks)]
    x, y = [pose.x for pose in poses] or [0.0], [pose.y for pose in poses] or [0.0]
    return 0.5 * (min(x) + max(x)), 0.5 * (min(y) + max(y))


def _joined(tables: Sequence[AnyArray]) -> AnyArray:
    """Tables below each other."""
    return tables[0] if len(tables) == 1 else np.concatenate(tables)
