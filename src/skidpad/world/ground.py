"""Ground under vehicles: height and attitude of the vehicles, gravity on slopes, friction regions.

`Ground` does all of this for a world; `Footing` is the state of one group on the ground. Each of
the support points of a vehicle rides on the ground, or falls freely with the vertical velocity
with which it left (`Ride`, `advance`). The vehicle lies on the plane through them: with all points
in the air it is in free flight, with constant rates of pitch and roll. With some points in the air,
this is a body whose dynamic index k²/(l_f l_r) is 1 in pitch and in roll, so that each end falls
independently of the other. A point leaves the ground where the ground drops below its free fall by
more than the extension of tyre and suspension (`GIVE`), or more steeply than 45°. It lands without
rebound: the normal velocity is lost, the horizontal one stays.

`Regions` are boxes of the world in which a property has a value; where boxes overlap, the first one
in the file counts. `spans` gives the height ranges of bodies, so that those on different floors do
not touch. `Stillness` skips all of this while the ground cannot have changed: on flat pieces that
do not move, it is constant around a vehicle up to the nearest edge of a piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf, isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Down, Geometry, GroundUnder, WheelPlace, standing_points
from ..geometry.polygon import distances
from ..geometry.pose import to_world
from ..road.records import FullGrip
from ..road.road import Road
from ..units import m, m_s2, rad, s
from .contact.solids import Moving
from .motion import Bodies
from .scene import (
    ElevationMap,
    Pose,
    PropertyRegion,
    Scene,
    VerticalPlane,
    WorldError,
    warn_of,
)
from .terrain import MotionOf, Terrain
from .vehicle import Built

GIVE = 0.1
"""Distance in wheel radii by which tyre and suspension extend: a wheel follows a drop of the ground
of this height."""
_EDGE: m = 2e-3
"""Largest drop within a step, beyond a slope of 45°, that does not count as an edge."""

Flags = NDArray[np.bool_]


class Ride(NamedTuple):
    """Vertical motion of the support points of vehicles; arrays (B, n) unless noted."""

    heights: Array
    """Heights of the points, in m."""
    free: Array
    """Heights in free fall since the last ground contact, equal to `heights` in the air;
    in m."""
    rates: Array
    """Rates of `free`, in m/s."""
    in_air: Flags
    loose: Flags
    """Whether each vehicle has left the ground with a support point and may still lie across an
    edge, (B,)."""
    velocity: Array
    """Velocity v_x, v_y, omega in world axes of vehicles in free flight, (B, 3)."""

    @property
    def flying(self) -> Flags:
        """Whether all points of a vehicle are in the air, (B,)."""
        return np.logical_and.reduce(self.in_air, axis=1)

    def part(self, rows: slice) -> Ride:
        return Ride._make(values[rows] for values in self)


def standing(heights: Array) -> Ride:
    """Ride of vehicles at rest on ground of these heights (B, n)."""
    count, none = len(heights), np.zeros(heights.shape, dtype=bool)
    loose, velocity = np.zeros(count, dtype=bool), np.zeros((count, 3))
    return Ride(heights, heights, np.zeros(heights.shape), none, loose, velocity)


def advance(ride: Ride, ground: Array, give: Array, speeds: Array, g: m_s2, dt: s) -> Ride:
    """Ride one step later.

    Args:
        ride: vertical motion at the beginning of the step.
        ground: heights of the ground under the points at the end of the step, (B, n).
        give: drop of the ground that points follow without leaving it, (B, n), in m.
        speeds: speeds of the vehicles, (B,), in m/s.
        g: gravity in m/s².
        dt: length of the step in s.
    """
    free = ride.free + (ride.rates - 0.5 * g * dt) * dt
    way = speeds[:, None] * dt
    rise = ground - ride.heights
    # A rise steeper than 45° is a step, which a wheel climbs without being thrown up.
    on_ground = np.where(rise > way, 0.0, rise / dt)
    touches = free <= ground
    if touches.all() and not ride.loose.any():
        return ride._replace(
            heights=ground, free=ground, rates=on_ground, in_air=np.zeros_like(touches)
        )
    falls = ride.rates - g * dt
    gap = free - ground
    edge = (gap > give) | (gap - (ride.free - ride.heights) > way + _EDGE)
    leaves = ~ride.in_air & ~touches & edge
    in_air = (ride.in_air & ~touches) | leaves
    # A point that leaves the ground falls from its height on the ground.
    free = np.where(leaves, ride.heights + (ride.rates - 0.5 * g * dt) * dt, free)
    # A point that is below the ground after the fall has landed.
    in_air &= free > ground
    touches |= leaves & ~in_air
    return ride._replace(
        heights=np.where(in_air, free, ground),
        free=np.where(touches, ground, free),
        rates=np.where(touches, on_ground, falls),
        in_air=in_air,
        loose=ride.loose | in_air.any(axis=1),
    )


def _smaller(a: Array, b: Array) -> Array:
    return np.where(np.abs(a) <= np.abs(b), a, b)


Span = tuple[m, m]
"""Lowest and highest point of a body in the world."""


def spans(scene: Scene, terrain: Terrain) -> dict[str, Span]:
    """Height ranges of all bodies but vehicles and grids, by their names in the contacts.

    On an elevation map a body may be anywhere between its lowest and highest point, on a road at
    any height.
    """
    maps = [e.heights for e in scene.elements if isinstance(e, ElevationMap)]
    lowest = min((float(heights.min()) for heights in maps), default=0.0)
    highest = max((float(heights.max()) for heights in maps), default=0.0)
    reach = max(highest, 0.0) - min(lowest, 0.0)
    if scene.road is not None:
        reach = inf
    things = {wall.name: (0.0, wall.height) for wall in scene.walls}
    for block in scene.blocks:
        z, shape = block.pose.z, block.shape
        if not block.skip_elevation_adjust:
            z = terrain.start(block.pose, shape.z_max)
        ways = [frame.pose.z for frame in block.animation] or [0.0]
        things[block.name] = (z + shape.z_min + min(ways), z + shape.z_max + max(ways))
    for k, e in enumerate(scene.elements):
        if isinstance(e, VerticalPlane):
            things[f"vertical_plane_{k}"] = (e.z, e.z + e.height)
    for actor in scene.actors:
        z = actor.pose.z
        things[actor.name] = (z, z + actor.collision_height)
    return {name: (low - reach, high + reach) for name, (low, high) in things.items()}


NUMBERS = ("friction_mu", "friction_C_rr")
"""Properties with a numeric value of 0 or more."""
SWITCHES = ("gps_no_coverage",)
"""Properties that are true or false."""


class Regions:
    """Property regions of a scene that set the property `name`."""

    def __init__(self, scene: Scene, name: str) -> None:
        regions = (e for e in scene.elements if isinstance(e, PropertyRegion) and e.name == name)
        self._regions = [_checked(region) for region in regions]

    def __bool__(self) -> bool:
        return bool(self._regions)

    def at(self, x: m, y: m, z: m) -> float | bool | None:
        """Value at a point of the world; None outside of all regions."""
        values = (region.value for region in self._regions if (x, y, z) in region)
        value = next(values, None)
        assert not isinstance(value, str)
        return value

    def numbers(self, x: Array, y: Array, z: Array, outside: float) -> Array:
        """Values at points of the world; `outside` outside of all regions."""
        values = np.full(np.shape(x), outside)
        # Write in reverse order, so that the first of several overlapping regions takes precedence.
        for r in reversed(self._regions):
            inside = (x >= r.x_min) & (x <= r.x_max) & (y >= r.y_min) & (y <= r.y_max)
            values[inside & (z >= r.z_min) & (z <= r.z_max)] = float(r.value)
        return values


def _checked(region: PropertyRegion) -> PropertyRegion:
    """Return the region; raises if its value is not allowed for the property."""
    value = region.value
    if region.name in SWITCHES and not isinstance(value, bool):
        expected = "true or false, given as <value_bool>"
    elif region.name in NUMBERS and (
        isinstance(value, bool | str) or not (isfinite(value) and value >= 0.0)
    ):
        expected = "a number of 0 or more, given as <value_double>"
    else:
        return region
    raise WorldError(
        f"{region.name} = {value!r} must be {expected}", source=region.source, element="element"
    )


class Stillness:
    """Distance that vehicles may move before the ground under them can differ.

    Args:
        bodies: the vehicles, by group.
        radii: of the circles around them within which the ground affects them, (B,).
        edges: of the flat pieces, (n, 4); None if the ground is not made of flat pieces.
    """

    def __init__(self, bodies: Sequence[Bodies], radii: Array, edges: Array | None) -> None:
        self._bodies, self._radii, self._edges = bodies, radii, edges
        self._seen: Array | None = None
        self._room2 = 0.0

    @property
    def holds(self) -> bool:
        """Whether no vehicle has moved too far since `note`."""
        if self._seen is None:
            return False
        moved = (self._places() - self._seen).ravel()
        # The norm over all vehicles bounds the distance that any single vehicle has moved.
        return bool(moved.dot(moved) < self._room2)

    def note(self) -> None:
        """Record the current positions, for which the ground has just been evaluated."""
        self._seen = None
        if self._edges is None or not len(self._radii):
            return
        places = self._places()
        room = distances(places, self._edges).min(axis=1, initial=np.inf) - self._radii
        nearest = float(room.min())
        if nearest > 0.0:
            self._seen, self._room2 = places.copy(), nearest * nearest

    def forget(self) -> None:
        """Force a new evaluation of the ground in the next step."""
        self._seen = None

    def _places(self) -> Array:
        tables = [bodies.places for bodies in self._bodies]
        return tables[0] if len(tables) == 1 else np.concatenate(tables)


def warn_of_own_roads(built: Built, road: Road | None) -> None:
    """Warn of vehicles that are on a road of their own in a world without it."""
    flat = Road().record
    text = (
        "the ground of the world is level, while vehicles are on a road of their own, which "
        "World(scene, road=road) makes that of all"
    )
    own = _where(built, lambda own: road is None and own not in (None, flat))
    warn_of(own, text, stacklevel=4)


def warn_of_no_grip(built: Built, road: Road | None) -> None:
    """Warn of vehicles whose models ignore the grip of a road."""
    if road is None or isinstance(road.friction, FullGrip):
        return
    text = (
        "the grip of the road does nothing to vehicles whose models have no friction that it could "
        "change"
    )
    without = _where(built, lambda own: getattr(own, "grip", None) != road.friction)
    warn_of(without, text, stacklevel=4)


def _where(built: Built, holds: Callable[[Any], bool]) -> list[str]:
    """Names of the vehicles whose own road (None without one) satisfies the condition `holds`."""
    return [
        f"{name} ({made.vehicle.name})"
        for name, made in sorted(built.items())
        if holds(getattr(made.vehicle.params, "road", None))
    ]


_CLIMB: m = 0.3
"""Step height that vehicles without wheels can climb."""

_AROUND: m = 0.02
"""Distance around a point over which the slope of the ground is measured."""
_SAME_SLOPE = 0.02
"""Largest difference of slope between a vehicle's plane and the ground under its wheels for the
vehicle to count as lying on that ground."""
_ALL = slice(None)


class Footing:
    """State of the vehicles of a group on the ground.

    Each vehicle lies on the least-squares plane through its support points, which ride on the
    ground or fall; see `Ride`.
    """

    def __init__(self, bodies: Bodies, start: dict[str, m], road: Road | None = None) -> None:
        self.bodies = bodies
        own = getattr(bodies.group.vehicles[0].params, "road", None)
        self.feels_road = road is not None and own is not None and own.surface == road.surface
        """Whether their parameters include the road of the world, so that their models
        respond to it."""
        names = bodies.group.names
        shapes = [vehicle.geometry for vehicle in bodies.group.vehicles]
        self.wheels = len(shapes[0].wheels)
        self._wheel_places = np.array([[(w.x, w.y) for w in shape.wheels] for shape in shapes])
        feelers = np.array([_feelers(shape) for shape in shapes])
        self._points, self._reach = feelers[:, :, :2], feelers[:, :, 2]
        """Support points relative to the reference points, (B, n, 2), and the height that each can
        climb, (B, n)."""
        self._fit = np.linalg.pinv(
            np.concatenate([np.ones((*self._points.shape[:2], 1)), self._points], axis=2)
        )
        # A vehicle whose equations contain the road stays on it, as in a `Simulator`.
        self._give = np.full_like(self._reach, inf) if self.feels_road else GIVE * self._reach
        start_heights = np.array([[start[name]] for name in names])
        self.ride = standing(np.tile(start_heights, self._points.shape[1]))
        """Ride of the support points at the last evaluation of the ground."""
        self._last: Ride | None = None
        self._at: s = 0.0
        """Time of `_last`, the ride one step before."""
        self._fresh = np.ones(len(names), dtype=bool)
        """Whether vehicles were teleported and have not moved since, (B,)."""

    @property
    def heights(self) -> Array:
        """Heights of the support points at the last evaluation, (B, n)."""
        return self.ride.heights

    def put(self, row: int, height: m) -> None:
        """Put a vehicle on ground of a constant height."""
        one = standing(np.full((1, self.heights.shape[1]), height))
        for own, new in zip(self.ride, one, strict=True):
            own[row] = new[0]
        self._fresh[row], self._last = True, None

    def road_heights(self, terrain: Terrain, poses: Array) -> Array:
        """Heights of the road alone at the support points, (B, n)."""
        return terrain.road_height(*in_world(poses, self._points))

    @property
    def poses(self) -> Array:
        """Current poses x, y, yaw (B, 3) of the vehicles."""
        return self.bodies.poses

    def wheel_places(self, poses: Array) -> tuple[Array, Array]:
        """World coordinates x, y of the wheels, (B, wheels) each."""
        return in_world(poses, self._wheel_places)

    @property
    def wheel_heights(self) -> Array:
        """Heights of the ground under the wheels, (B, wheels), at the last evaluation."""
        return self.heights.reshape(len(self.heights), self.wheels, -1).mean(axis=2)

    def heights_under(self, terrain: Terrain, time: s, poses: Array, rows: slice = _ALL) -> Array:
        """Heights of the ground at the support points of some vehicles, (rows, n)."""
        x, y = in_world(poses, self._points[rows])
        return terrain.height(x, y, self.heights[rows] + self._reach[rows], time)

    def ride_on(self, terrain: Terrain, time: s, poses: Array, g: m_s2, dt: s) -> None:
        """Advance the ride by a step to the ground under the vehicles' current poses.

        A second call for the same time replaces the first.
        """
        if self._last is not None and time == self._at:
            self.ride = self._last
        fresh, start = self._fresh, self.ride
        ground = self.heights_under(terrain, time, poses)
        if fresh.any():
            still = standing(ground)
            start = Ride._make(
                np.where(fresh.reshape(-1, *[1] * (old.ndim - 1)), new, old)
                for new, old in zip(still, start, strict=True)
            )
        self._last, self._at = self.ride, time
        self.ride = advance(start, ground, self._give, self.bodies.speeds(), g, dt)
        self._fresh = np.zeros_like(fresh)

    def lie_on(self, ground: Array) -> None:
        """Set the heights of all points, without free fall."""
        self.ride = self.ride._replace(heights=ground)

    def heights_after(
        self, terrain: Terrain, time: s, rows: slice, g: m_s2, dt: s, *, falls: bool
    ) -> Array:
        """Heights of the points of some vehicles at their current poses, one step after the last
        evaluation.

        With `falls`, points fall where the ground drops away.
        """
        ground = self.heights_under(terrain, time, self.poses[rows], rows)
        if not falls or self._fresh[rows].any():
            return ground
        give, speeds = self._give[rows], self.bodies.speeds()[rows]
        return advance(self.ride.part(rows), ground, give, speeds, g, dt).heights

    def felt(self, terrain: Terrain, time: s, poses: Array) -> tuple[Array, Array]:
        """Pitch and roll of the ground that acts on the vehicles, (B,) each.

        Both angles are taken from the plane on which a vehicle lies; for vehicles that are `loose`,
        from the ground at the touching points, since both sides of an edge may be level. In free
        flight the ground does not act.
        """
        _, pitch, roll = self.lying(self.heights)
        for row in np.flatnonzero(self.ride.loose).tolist():
            along, across = self._local_slope(terrain, time, poses, row)
            if not self._agrees(row, pitch[row], roll[row], along, across):
                pitch[row] = np.arctan(0.0 - along)
                roll[row] = np.arctan(across / np.hypot(1.0, along))
        return pitch, roll

    def tighten(self, terrain: Terrain, time: s, poses: Array, hung: Flags) -> None:
        """Clear `loose` for vehicles that lie on the ground again, except those that are `hung`
        with the chassis over an edge, (B,)."""
        _, pitch, roll = self.lying(self.heights)
        for row in np.flatnonzero(self.ride.loose & ~hung).tolist():
            slope = self._local_slope(terrain, time, poses, row)
            self.ride.loose[row] = not self._agrees(row, pitch[row], roll[row], *slope)

    def _agrees(self, row: int, pitch: rad, roll: rad, along: float, across: float) -> bool:
        lies = -np.tan(pitch), np.tan(roll) * np.hypot(1.0, np.tan(pitch))
        apart = max(abs(lies[0] - along), abs(lies[1] - across))
        return not self.ride.in_air[row].any() and bool(apart < _SAME_SLOPE)

    def _local_slope(
        self, terrain: Terrain, time: s, poses: Array, row: int
    ) -> tuple[float, float]:
        """Mean slope ahead and to the left under the points that support a vehicle."""
        # Points whose wheels follow falling ground only by tyre and suspension travel do not
        # support the vehicle.
        touching = self.ride.free[row] <= self.ride.heights[row]
        touching &= ~self.ride.in_air[row]
        if not touching.any():
            return 0.0, 0.0
        points = self._points[row][touching]
        reach = (self.heights[row] + self._reach[row])[touching]
        aside = _AROUND * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
        x, y = in_world(poses[row : row + 1], (points + aside[:, None]).reshape(1, -1, 2))
        under, *around = terrain.height(x[0], y[0], np.tile(reach, 5), time).reshape(5, -1)
        # An edge next to a point must not count as slope under it, so the smaller one-sided
        # difference is used.
        ahead, behind, left, right = around
        along = _smaller((ahead - under) / _AROUND, (under - behind) / _AROUND)
        across = _smaller((left - under) / _AROUND, (under - right) / _AROUND)
        return float(along.mean()), float(across.mean())

    @property
    def in_air(self) -> Flags:
        """Whether wheels are in the air, (B, wheels)."""
        count = len(self.heights)
        return np.logical_and.reduce(self.ride.in_air.reshape(count, self.wheels, -1), axis=2)

    def snapshot(self) -> tuple[Any, ...]:
        return _copy(self.ride), self._fresh.copy()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        ride, fresh = snapshot
        self.ride, self._fresh = _copy(ride), fresh.copy()
        self._last = None

    def lying(self, heights: Array, rows: slice = _ALL) -> tuple[Array, Array, Array]:
        """Height of the reference point, pitch and roll of vehicles on ground of these heights."""
        # Heights are taken relative to the first point, so that level ground gives exactly zero
        # angles.
        base = heights[:, :1]
        rise, along, across = np.einsum("bkn,bn->kb", self._fit[rows], heights - base)
        return base[:, 0] + rise, np.arctan(0.0 - along), np.arctan(across / np.hypot(1.0, along))


def _copy(ride: Ride) -> Ride:
    return Ride._make(values.copy() for values in ride)


def in_world(poses: Array, points: Array) -> tuple[Array, Array]:
    """World coordinates of points (B, n, 2) relative to poses (B, 3)."""
    return to_world(poses.T[:, :, None], points[..., 0], points[..., 1])


def _feelers(shape: Geometry) -> list[tuple[m, m, m]]:
    """Support points of a vehicle, and the height each can climb."""
    if not shape.wheels:
        x, y = zip(*(point for outline in shape.outlines for point in outline), strict=True)
        return [(a, b, _CLIMB) for a in (min(x), max(x)) for b in (min(y), max(y))]
    wheels = [WheelPlace(w.x, w.y, w.radius) for w in shape.wheels]
    points = standing_points(wheels)
    # A wheel climbs steps up to the height of its axle.
    reach = [w.radius for w in wheels for _ in range(len(points) // len(wheels))]
    return [(x, y, up) for (x, y), up in zip(points, reach, strict=True)]


def down(pitch: Any, roll: Any) -> Down:
    """Direction of gravity in the frame of a vehicle; pitch positive nose down, roll right side
    down."""
    return Down(np.sin(pitch), 0.0 - np.cos(pitch) * np.sin(roll))


def _apply(bodies: Bodies, ground: GroundUnder) -> None:
    """Write the effects of the ground into inputs and disturbances of the vehicles of a group.

    A model without `on_ground` behaves on slopes as on level ground.
    """
    if bodies.body.on_ground is None:
        return
    after = bodies.body.on_ground(bodies.x, bodies.u, bodies.w, ground, bodies.p)
    for columns, values in zip((bodies.u, bodies.w), after, strict=True):
        for column, value in zip(record.flatten(columns), record.flatten(values), strict=True):
            if value is not column:
                column[:] = value


def _without_grip(under: GroundUnder, in_air: Flags) -> GroundUnder:
    """Copy of the ground's effect without forces at wheels that are in the air, (B, wheels)."""
    if not in_air.any():
        return under
    own = (-1.0,) * in_air.shape[1]
    mu, rolling = (
        tuple(np.where(off, 0.0, value) for off, value in zip(in_air.T, values or own, strict=True))
        for values in (under.mu, under.rolling)
    )
    return under._replace(mu=mu, rolling=rolling)


class Ground:
    """Ground of a scene under the vehicles of some groups.

    Args:
        scene: the scene.
        bodies: the vehicles, by group.
        built: the vehicles by name.
        at: current motion of a movable block; by default its initial one.
    """

    def __init__(
        self, scene: Scene, bodies: Sequence[Bodies], built: Built, at: MotionOf | None = None
    ) -> None:
        self._friction = Regions(scene, "friction_mu")
        self._rolling = Regions(scene, "friction_C_rr")
        self._regions = bool(self._friction) or bool(self._rolling)
        self._terrain, self._scene = Terrain(scene), scene
        # Upstream looks for regions where the wheels would be if the ground were at z = 0.
        self._flat_regions = scene.compat == "upstream"
        self._gravity, self._dt = scene.settings.gravity, scene.timestep
        self._time: s = 0.0
        level = self._terrain.level
        start = {
            spec.name: spec.pose.z
            if spec.skip_elevation_adjust or level
            else self._terrain.start(spec.pose, built[spec.name].height)
            for spec in scene.vehicles
        }
        if at is not None:
            self._terrain.follow(at)
        self.footings = [Footing(them, start, scene.road) for them in bodies]
        names = [name for them in bodies for name in them.group.names]
        edges = None if self._regions else self._terrain.edges
        self._still = Stillness(bodies, np.array([built[name].radius for name in names]), edges)
        # In upstream, the distance along a slope is the distance on the map, and vehicles never
        # leave the ground.
        self._projects = self._falls = scene.compat != "upstream"
        if self._terrain.sloping:
            without = [
                f"{name} ({them.group.model.name})"
                for them in bodies
                if them.body.on_ground is None
                for name in them.group.names
            ]
            text = (
                "slopes do not pull at vehicles whose models take neither a force nor an "
                "acceleration"
            )
            warn_of(without, text, stacklevel=5)
        self._at = {
            name: (footing, row)
            for footing in self.footings
            for row, name in enumerate(footing.bodies.group.names)
        }

    @property
    def differs(self) -> bool:
        """Whether the ground affects any vehicle: only then `act` has to be called."""
        return self._regions or not self._terrain.level

    @property
    def level(self) -> bool:
        """Whether the ground is at z = 0 everywhere and at all times."""
        return self._terrain.level

    def spans(self) -> dict[str, tuple[m, m]]:
        """Height ranges of all bodies except vehicles, by name."""
        return spans(self._scene, self._terrain)

    def heights_at(self, x: Array, y: Array, reach: Array, *, solid: bool = False) -> Array:
        """Heights of the ground at points of the world, ignoring ground above `reach`.

        With `solid`, ramps and bumps with a body count at any height.
        """
        ground = self._terrain.height(x, y, reach, self._time)
        higher = self._terrain.solid_height(x, y, self._time) if solid else None
        return ground if higher is None else np.fmax(ground, higher)

    def wheel_heights(self, group: int) -> Array | None:
        """Heights of the ground under a group's wheels, (B, wheels), or None without wheels."""
        footing = self.footings[group]
        return footing.wheel_heights if footing.wheels else None

    def lying(self, group: int) -> tuple[Array, Array, Array]:
        """Heights, pitch and roll of a group's vehicles, (B,) each, at the last evaluation."""
        footing = self.footings[group]
        return footing.lying(footing.heights)

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle at its current position.

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
        """Put a vehicle, `height` in m tall, on the ground at its position, as at the start."""
        footing, row = self._at[name]
        if not self._terrain.level:
            x, y, yaw = footing.poses[row].tolist()
            footing.put(row, self._terrain.start(Pose(x, y, yaw=yaw), height))
        self._still.forget()

    def act(self, time: s) -> bool:
        """Apply the ground to every vehicle for the step that begins at `time`.

        Returns whether the ground may differ from the previous step.
        """
        self._time = time
        if not self.differs or self._still.holds:
            return False
        self._still.note()
        for footing in self.footings:
            poses = footing.poses
            under = GroundUnder(self._gravity)
            # On a road that is level everywhere, there is nothing to apply.
            if not self._terrain.level:
                flew, in_air = footing.ride.flying, footing.ride.in_air.any()
                self._ride(footing, poses)
                pitch, roll = footing.felt(self._terrain, self._time, poses)
                starts = np.flatnonzero(footing.ride.flying & ~flew).tolist()
                moving = footing.bodies.moving(starts, footing.bodies.group.state) if starts else []
                if footing.feels_road:
                    footing.bodies.lie(pitch, roll, projected=True)
                    under = under._replace(down=self._down_off_road(footing, poses, pitch, roll))
                else:
                    under = under._replace(down=down(pitch, roll))
                    if self._projects:
                        footing.bodies.lie(pitch, roll)
                if starts:
                    # In the air, the speed is the speed on the map.
                    footing.bodies.put(starts, moving)
                    footing.ride.velocity[starts] = [one[3:] for one in moving]
                if footing.wheels and (in_air or footing.ride.in_air.any()):
                    under = under._replace(mu=(-1.0,) * footing.wheels)
            if self._regions and footing.wheels:
                under = self._with_friction(under, footing, poses)
            if under.mu is not None:
                under = _without_grip(under, footing.in_air)
            if under.down is not None or under.mu is not None:
                _apply(footing.bodies, under)
        return True

    def _ride(self, footing: Footing, poses: Array) -> None:
        if not self._falls:
            footing.lie_on(footing.heights_under(self._terrain, self._time, poses))
            return
        footing.ride_on(self._terrain, self._time, poses, self._gravity, self._dt)
        if footing.ride.loose.any():
            self._still.forget()

    def fly(self, group: int, before: AnyArray) -> None:
        """Advance the vehicles of a group that are in free flight from states (B, nx) before a
        step, overriding their models."""
        footing, dt = self.footings[group], self._dt
        rows = np.flatnonzero(footing.ride.flying).tolist()
        if not rows:
            return
        then = zip(
            footing.bodies.moving(rows, before), footing.ride.velocity[rows].tolist(), strict=True
        )
        now = [Moving(*(a + b * dt for a, b in zip(at, v, strict=False)), *v) for at, v in then]
        footing.bodies.put(rows, now)

    def push(self, names: Iterable[str]) -> None:
        """Set the flight velocities of vehicles in free flight to their current ones."""
        for name in names:
            footing, row = self._at[name]
            if footing.ride.flying[row]:
                (now,) = footing.bodies.moving([row], footing.bodies.group.state)
                footing.ride.velocity[row] = now[3:]

    def is_flying(self, name: str) -> bool:
        footing, row = self._at[name]
        return bool(footing.ride.flying[row])

    @property
    def loose(self) -> Flags:
        """Whether each vehicle has left the ground and may still lie across an edge, (B,) over all
        groups."""
        return np.concatenate([footing.ride.loose for footing in self.footings])

    def tighten(self, hung: Flags) -> None:
        """Clear `loose` for vehicles that lie on the ground again, except those that are `hung`
        with the chassis over an edge, (B,) over all groups."""
        first = 0
        for footing in self.footings:
            end = first + len(footing.heights)
            footing.tighten(self._terrain, self._time, footing.poses, hung[first:end])
            first = end

    def _down_off_road(
        self, footing: Footing, poses: Array, pitch: Array, roll: Array
    ) -> Down | None:
        """Gravity due to ground other than the road, for vehicles whose models include the road."""
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
        """Force a new evaluation in the next step."""
        self._still.forget()

    def snapshot(self) -> tuple[Any, ...]:
        return self._time, *(footing.snapshot() for footing in self.footings)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        self._time, *footings = snapshot
        for footing, kept in zip(self.footings, footings, strict=True):
            footing.restore(kept)
        self._still.forget()
