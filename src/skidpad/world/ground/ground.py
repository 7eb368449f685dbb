"""What the ground does to vehicles: friction that differs from place to place, and slopes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import record
from ...arrays import AnyArray, Array
from ...body import Down, GroundUnder
from ...brief import listed
from ...units import m, rad, s
from ..contact.contacts import Moving
from ..errors import WorldWarning
from ..motion.bodies import Bodies
from ..motion.build import BuiltVehicle
from ..scene.scene import Pose, Scene, VehicleSpec
from .flight import Flags
from .floors import spans
from .footing import Footing
from .regions import Regions
from .stillness import Stillness
from .terrain import Terrain


def down(pitch: Any, roll: Any) -> Down:
    """Where down is for vehicles that lie so; pitch positive nose down, roll right side down."""
    return Down(np.sin(pitch), 0.0 - np.cos(pitch) * np.sin(roll))


def tell(bodies: Bodies, ground: GroundUnder) -> None:
    """Write what the ground does into inputs and disturbances of the vehicles of a group.

    A model without `on_ground` drives on slopes as on level ground.
    """
    if bodies.body.on_ground is None:
        return
    u, w = bodies.body.on_ground(bodies.x, bodies.u, bodies.w, ground, bodies.p)
    _write(bodies.u, u)
    _write(bodies.w, w)


def _write(columns: Any, values: Any) -> None:
    for column, value in zip(record.flatten(columns), record.flatten(values), strict=True):
        if value is not column:
            column[:] = value


def warn_of_those_not_told(groups: Sequence[Bodies]) -> None:
    """Name the vehicles whose models slopes do nothing to."""
    without = [
        f"{name} ({bodies.group.model.name})"
        for bodies in groups
        if bodies.body.on_ground is None
        for name in bodies.group.names
    ]
    if without:
        warnings.warn(
            "slopes do not pull at vehicles whose models take neither a force nor an acceleration: "
            + listed(without, 12),
            WorldWarning,
            stacklevel=6,
        )


def _without_grip(under: GroundUnder, in_air: Flags) -> GroundUnder:
    """The same with no forces at wheels that are in the air, (B, wheels)."""
    if not in_air.any():
        return under
    own = (-1.0,) * in_air.shape[1]
    mu, rolling = (
        tuple(np.where(off, 0.0, value) for off, value in zip(in_air.T, values or own, strict=True))
        for values in (under.mu, under.rolling)
    )
    return under._replace(mu=mu, rolling=rolling)


class Ground:
    """The ground of a scene under the vehicles of some groups.

    Args:
        scene: what there is.
        bodies: the vehicles, by groups.
        built: the same by name.
        at: where a block is that may be pushed; by default where it starts.
    """

    def __init__(
        self,
        scene: Scene,
        bodies: Sequence[Bodies],
        built: Mapping[str, BuiltVehicle],
        at: Callable[[str], Moving] | None = None,
    ) -> None:
        self._friction = Regions(scene, "friction_mu")
        self._rolling = Regions(scene, "friction_C_rr")
        self._regions = bool(self._friction) or bool(self._rolling)
        self._terrain, self._scene = Terrain(scene), scene
        # Upstream looks for regions where the wheels would be if the ground were at z = 0.
        self._flat_regions = scene.compat == "upstream"
        self._gravity, self._dt = scene.settings.gravity, scene.timestep
        self._time: s = 0.0
        start = {spec.name: self._start(spec, built[spec.name].height) for spec in scene.vehicles}
        if at is not None:
            self._terrain.follow(at)
        self._footings = [Footing(them, start, scene.road) for them in bodies]
        names = [name for them in bodies for name in them.group.names]
        edges = None if self._regions else self._terrain.edges
        self._still = Stillness(bodies, np.array([built[name].radius for name in names]), edges)
        # To upstream the way along a slope is the one on the map, and vehicles are always on the
        # ground, wherever that is.
        self._projects = self._falls = scene.compat != "upstream"
        if self._terrain.sloping:
            warn_of_those_not_told(bodies)
        self._at = {
            name: (footing, row)
            for footing in self._footings
            for row, name in enumerate(footing.bodies.group.names)
        }

    def _start(self, spec: VehicleSpec, height: m) -> m:
        """Height of the ground under a vehicle at the start."""
        if spec.skip_elevation_adjust or self._terrain.level:
            return spec.pose.z
        return self._terrain.start(spec.pose, height)

    @property
    def differs(self) -> bool:
        """Whether the ground does anything to anyone: only then `act` has to be called."""
        return self._regions or not self._terrain.level

    @property
    def level(self) -> bool:
        """Whether it is at z = 0 everywhere, for ever."""
        return self._terrain.level

    def spans(self) -> dict[str, tuple[m, m]]:
        """Lowest and highest points of what stands or lies on it, vehicles aside."""
        return spans(self._scene, self._terrain)

    def heights_at(self, x: Array, y: Array, reach: Array, *, solid: bool = False) -> Array:
        """Heights of the ground at points of the world, as far as it is not above `reach`.

        With `solid`, ramps and bumps with a body count however high they are.
        """
        ground = self._terrain.height(x, y, reach, self._time)
        higher = self._terrain.solid_height(x, y, self._time) if solid else None
        return ground if higher is None else np.fmax(ground, higher)

    def heights_under(self, group: int) -> Array:
        """Heights of the ground where a group's vehicles stand, (B, n), when last put on it."""
        return self._footings[group].heights

    def wheel_heights(self, group: int) -> Array | None:
        """Heights of the ground under a group's wheels, (B, wheels); None if it has none."""
        footing = self._footings[group]
        return footing.wheel_heights if footing.wheels else None

    def lying(self, group: int) -> tuple[Array, Array, Array]:
        """Heights, pitch and roll of a group's vehicles, (B,) each, when last put on it."""
        footing = self._footings[group]
        return footing.lying(footing.heights)

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle where it is now.

        Pitch is positive with the nose down, roll with the right side down. A yaw, then this pitch,
        then this roll turn the world's axes into those of the vehicle.
        """
        if self._terrain.level:
            return 0.0, 0.0, 0.0
        footing, row = self._at[name]
        rows = slice(row, row + 1)
        heights = footing.heights_after(
            self._terrain, self._time, rows, self._gravity, self._dt, falls=self._falls
        )
        z, pitch, roll = (float(v[0]) for v in footing.lying(heights, rows))
        return z, pitch, roll

    def put(self, name: str, height: m) -> None:
        """Let a vehicle of a height stand on what is under it where it was put, as at the start."""
        footing, row = self._at[name]
        if not self._terrain.level:
            x, y, yaw = footing.poses[row].tolist()
            footing.put(row, self._terrain.start(Pose(x, y, yaw=yaw), height))
        self._still.forget()

    def act(self, time: s) -> bool:
        """Set what the ground does to every vehicle in the step that begins at a time.

        Returns whether it may be another than in the step before.
        """
        self._time = time
        if not self.differs or self._still.holds:
            return False
        self._still.note()
        for footing in self._footings:
            poses = footing.poses
            under = GroundUnder(self._gravity)
            # On a road that is level everywhere nothing has to be said.
            if not self._terrain.level:
                flew, in_air = footing.ride.flying, footing.ride.in_air.any()
                self._ride(footing, poses)
                pitch, roll = footing.felt(self._terrain, self._time, poses)
                starts = np.flatnonzero(footing.ride.flying & ~flew).tolist()
                moving = footing.bodies.moving(starts, footing.bodies.group.state) if starts else []
                if footing.feels_road:
                    footing.bodies.lie(pitch, roll, projected=True)
                    under = under._replace(down=self._down_beside_road(footing, poses, pitch, roll))
                else:
                    under = under._replace(down=down(pitch, roll))
                    if self._projects:
                        footing.bodies.lie(pitch, roll)
                if starts:
                    # In the air the speed is the one on the map.
                    footing.bodies.put(starts, moving)
                    footing.ride.velocity[starts] = [one[3:] for one in moving]
                if footing.wheels and (in_air or footing.ride.in_air.any()):
                    under = under._replace(mu=(-1.0,) * footing.wheels)
            if self._regions and footing.wheels:
                under = self._with_friction(under, footing, poses)
            if under.mu is not None:
                under = _without_grip(under, footing.in_air)
            if under.down is not None or under.mu is not None:
                tell(footing.bodies, under)
        return True

    def _ride(self, footing: Footing, poses: Array) -> None:
        if not self._falls:
            footing.lie_on(footing.heights_under(self._terrain, self._time, poses))
            return
        footing.ride_on(self._terrain, self._time, poses, self._gravity, self._dt)
        if footing.ride.loose.any():
            self._still.forget()

    def fly(self, group: int, before: AnyArray) -> None:
        """Let the vehicles of a group that are in free flight go on in a step from states (B, nx)
        as they were, whatever their models made of it."""
        footing = self._footings[group]
        rows = np.flatnonzero(footing.ride.flying).tolist()
        if not rows:
            return
        velocities = footing.ride.velocity[rows].tolist()
        then = footing.bodies.moving(rows, before)
        dt = self._dt
        footing.bodies.put(
            rows,
            [
                Moving(at.x + v_x * dt, at.y + v_y * dt, at.yaw + omega * dt, v_x, v_y, omega)
                for at, (v_x, v_y, omega) in zip(then, velocities, strict=True)
            ],
        )

    def push(self, names: Iterable[str]) -> None:
        """Let vehicles in free flight go on with the velocities that they have now."""
        for name in names:
            footing, row = self._at[name]
            if footing.ride.flying[row]:
                (now,) = footing.bodies.moving([row], footing.bodies.group.state)
                footing.ride.velocity[row] = now[3:]

    def is_flying(self, name: str) -> bool:
        """Whether a vehicle is in free flight."""
        footing, row = self._at[name]
        return bool(footing.ride.flying[row])

    @property
    def loose(self) -> Flags:
        """Whether vehicles left the ground and may still lie across an edge, (B,) of all groups."""
        return np.concatenate([footing.ride.loose for footing in self._footings])

    def tighten(self, hung: Flags) -> None:
        """Let vehicles be loose no more that lie on the ground again and are not `hung` with the
        chassis over an edge, (B,) of all groups."""
        first = 0
        for footing in self._footings:
            end = first + len(footing.heights)
            footing.tighten(self._terrain, self._time, footing.poses, hung[first:end])
            first = end

    def _down_beside_road(
        self, footing: Footing, poses: Array, pitch: Array, roll: Array
    ) -> Down | None:
        """What other ground than the road adds for those who feel the road by themselves."""
        if not self._terrain.has_more:
            return None
        road = footing.road_heights(self._terrain, poses)
        _, road_pitch, road_roll = footing.lying(road)
        here, there = down(pitch, roll), down(road_pitch, road_roll)
        return Down(here.x - there.x, here.y - there.y)

    def _with_friction(self, under: GroundUnder, footing: Footing, poses: Array) -> GroundUnder:
        x, y = footing.wheel_places(poses)
        level = self._flat_regions or self._terrain.level
        z = np.zeros_like(x) if level else footing.wheel_heights
        mu, rolling = (
            tuple(regions.numbers(x, y, z, outside=-1.0).T)
            for regions in (self._friction, self._rolling)
        )
        return under._replace(mu=mu, rolling=rolling)

    def forget(self) -> None:
        """Look anew at the next step, wherever vehicles are."""
        self._still.forget()

    def snapshot(self) -> tuple[Any, ...]:
        """Copies of everything that changes."""
        return self._time, *(footing.snapshot() for footing in self._footings)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Put back what `snapshot` gave."""
        self._time, *footings = snapshot
        for footing, kept in zip(self._footings, footings, strict=True):
            footing.restore(kept)
        self._still.forget()
