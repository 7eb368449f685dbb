"""Encounters: which vehicles are near obstacles, and the effect of contacts on them.

`Encounters` passes the vehicles that are near something to the contact solver; the others move
freely. `Nearness` finds them without a search in every step: the clearance of a vehicle is computed
once and stays valid until it and the others have moved far enough to use it up.

`SteepGround` places obstacles in front of ground that is too steep to drive onto. Upstream's rule:
where the ground under a corner of the chassis is higher than the mean ground under the wheels by
more than 0.55 wheel diameters, a square stands around that corner, the larger the faster the
vehicle is. Its centre is on a lattice of its own half side. By that rule a long car cannot drive up
an even ramp of 20 %. Without `compat="upstream"` the ground also has to be that much higher than
the plane on which the vehicle lies. And a wheel that extends beyond the chassis is stopped where
the ground rises next to it by more than that step within its radius. The square then has a side
along the rise, at most as far behind the corner as the corner moved in a step, so that a vehicle is
stopped and not thrown back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from math import hypot
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import AnyArray, Array
from ...core.body import Geometry, Point
from ...errors import InvalidValue
from ...geometry.polygon import enclosed, rectangle
from ...units import m, m_s, s
from ..ground import Ground, in_world
from ..motion import Bodies
from ..scene import Scene
from ..vehicle import Built, actor_pose, fill, keyframe_pose
from .solids import ContactEvent, Moving, Points, Square, Surface, standing_segments
from .solver import Contacts

MARGIN = 0.1
"""Clearance below which a vehicle counts as near, in m; covers the solver's margin and a step
of slow motion."""
REACH = 3.0
"""Search distance around a vehicle, in m: larger values mean fewer but larger searches."""
MOST_POINTS = 10_000_000
"""Most sample points on the outlines of fixed obstacles."""
_FRESH = 0.25 * MARGIN
"""Motion in m below which a computed clearance is not recomputed."""
_NO_VEHICLES = np.empty(0, dtype=np.int64)


class Nearness:
    """Clearances of vehicles from walls, from each other and from other moving bodies.

    Args:
        radii: radii of the circles around the vehicles' reference points, (B,), in m.
        segments: edges of fixed obstacles, (n, 4).
        other_radii: radii of the circles around other moving bodies, such as blocks, (m,), in m.
    """

    def __init__(self, radii: Array, segments: Array, other_radii: Array) -> None:
        self._standing = _Standing(radii, segments) if len(segments) else None
        many = len(radii) + len(other_radii) > 1 and len(radii) > 0
        self._traffic = _Traffic(len(radii), np.concatenate([radii, other_radii])) if many else None
        self._seen: Array | None = None
        self._room = 0.0

    def near(
        self, places: Array, others: Array, begin: Callable[[], Array] | None = None
    ) -> NDArray[np.int64]:
        """Indices of the vehicles that are near a wall, another vehicle or another moving body, or
        were so during this step.

        `places` (B, 2) are the vehicles' positions, `others` (m, 2) those of the other bodies, and
        `begin` returns the positions of all of these before the step.
        """
        everyone = np.concatenate([places, others]) if len(others) else places
        if self._seen is not None:
            moved = (everyone - self._seen).ravel()
            # The norm over all vehicles bounds the distance that any single vehicle has moved.
            if moved.dot(moved) < self._room:
                return _NO_VEHICLES
        return self._looked(places, everyone, begin)

    def forget(self) -> None:
        """Invalidate the clearances after bodies were teleported."""
        self._seen = None

    def _looked(
        self, places: Array, everyone: Array, begin: Callable[[], Array] | None
    ) -> NDArray[np.int64]:
        clear, count = np.full(len(places), REACH), len(places)
        way = np.zeros(len(everyone)) if begin is None else _lengths(everyone - begin())
        if self._standing is not None:
            clear = np.minimum(clear, self._standing.clearance(places, way[:count]) - way[:count])
        if self._traffic is not None:
            ways = way[:count] + way.max()
            clear = np.minimum(clear, self._traffic.clearance(everyone, ways) - ways)
        near = np.flatnonzero(clear < MARGIN)
        self._seen = None
        if not len(near):
            # Two vehicles may approach each other, so each may use up half of the clearance.
            self._seen = everyone.copy()
            self._room = (0.5 * (clear.min(initial=REACH) - MARGIN)) ** 2
        return near


class _Standing:
    """Clearances from fixed obstacles."""

    def __init__(self, radii: Array, segments: Array) -> None:
        self._radii = radii
        spacing = 0.5 * MARGIN
        # Sample points on segments, so dense that no point of a segment is farther than half of
        # `spacing` from a sample
        start, end = segments[:, :2], segments[:, 2:]
        spans = np.maximum(np.ceil(_lengths(end - start) / spacing), 1.0)
        if not spans.sum() <= MOST_POINTS:
            raise InvalidValue(
                f"the outlines of all fixed objects are {spans.sum() * spacing:.4g} m long; at "
                f"most {MOST_POINTS * spacing:g} m are allowed where vehicles can collide with them"
            )
        pieces = spans.astype(np.int64)
        each = pieces + 1
        number = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        share = (number / np.repeat(pieces, each))[:, None]
        self._tree = _tree(
            np.repeat(start, each, axis=0) + share * np.repeat(end - start, each, axis=0)
        )
        self._seen = np.full((len(radii), 2), np.inf)
        self._clear = np.zeros(len(radii))

    def clearance(self, places: Array, ways: Array) -> Array:
        """Lower bounds in m of the distances of vehicles from fixed obstacles, (B,), at most
        `REACH`.

        `ways` (B,) are the distances travelled. A bound that may be less than this plus a margin is
        recomputed.
        """
        moved = _lengths(places - self._seen)
        clear = self._clear - moved
        near = clear < MARGIN + ways
        if (near & (moved > _FRESH)).any():
            # Query all vehicles that seem near together, which costs little more than a query for
            # one.
            rows = np.flatnonzero(near)
            clear[rows] = self._look(rows, places[rows])
        return clear

    def _look(self, rows: NDArray[np.int64], places: Array) -> Array:
        radii = self._radii[rows]
        distance, _ = self._tree.query(places, distance_upper_bound=REACH + radii.max())
        # A quarter of the margin covers the spacing of the sample points on walls.
        clear = np.minimum(distance - radii - 0.25 * MARGIN, REACH)
        self._seen[rows], self._clear[rows] = places, clear
        return clear


class _Traffic:
    """Clearances of vehicles from each other and from other moving bodies."""

    def __init__(self, vehicles: int, radii: Array) -> None:
        self._count, self._radii = vehicles, radii
        self._reach = REACH + 2.0 * float(radii.max())
        self._seen = np.full((len(radii), 2), np.inf)
        self._clear = np.zeros(vehicles)

    def clearance(self, places: Array, ways: Array) -> Array:
        """Lower bounds of the distances of vehicles from all moving bodies, (B,), in m, up to
        `REACH`.

        `places` are those of the vehicles, then those of the others. Distances are recomputed
        where they may be less than `ways` (B,) plus a margin.
        """
        moved = _lengths(places - self._seen)
        moved = moved[: self._count] + moved.max()
        clear = self._clear - moved
        if ((clear < MARGIN + ways) & (moved > 2.0 * _FRESH)).any():
            clear = self._look(places)
        return clear

    def _look(self, places: Array) -> Array:
        clear = np.full(len(places), REACH)
        pairs = _tree(places).query_pairs(self._reach, output_type="ndarray")
        if len(pairs):
            a, b = pairs.T
            gap = _lengths(places[a] - places[b]) - self._radii[a] - self._radii[b]
            np.minimum.at(clear, a, gap)
            np.minimum.at(clear, b, gap)
        self._seen, self._clear = places.copy(), clear[: self._count]
        return self._clear


def _tree(points: Array) -> Any:
    # Imported only when needed, as the import takes a third of a second.
    from scipy.spatial import KDTree

    return KDTree(points)


def _lengths(vectors: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", vectors, vectors))


STEEP = Surface(friction=0.5, restitution=0.1, skin=0.001)
STEP = 0.55
"""Largest height of a step that can be climbed, in diameters of the first wheel."""
LEAST: m = 0.01
"""Half the side of the square obstacles placed around a vehicle at rest."""
PER_SPEED = 0.07
"""Growth of the half side with speed, in s."""
_INSIDE: m = 0.1
"""Distance from a point, inwards or backwards, at which the ground height is compared."""
_LEAVES: m_s = 0.05
"""Inward speed of a point above which the vehicle counts as leaving the obstacle."""
_NO_WHEEL: m = 0.6
"""Wheel diameter assumed for vehicles without wheels."""
_DEEPEST: m = 0.007
"""Depth beyond the motion of a step up to which points are pushed out; the solver leaves 5
mm."""
_RINGS: tuple[m, ...] = (0.02, 0.1, 0.3)
"""Search radii for lower ground around a point, beyond the motion of a step."""
_ANGLES = np.arange(32) * (np.pi / 16.0)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
_DEPTHS = np.linspace(0.0, 1.0, 9)


class SteepGround:
    """Obstacles in front of ground that is too steep for a vehicle.

    Args:
        bodies: the vehicles, by group.
        built: the vehicles by name.
        dt: length of a step.
        upstream: whether to follow upstream's rule.
    """

    def __init__(self, bodies: Sequence[Bodies], built: Built, dt: s, *, upstream: bool) -> None:
        self._bodies, self._dt, self._upstream = bodies, dt, upstream
        self._names = [name for them in bodies for name in them.group.names]
        shapes = [built[name].geometry for name in self._names]
        feelers = [_corners(s) + ([] if upstream else _wheel_corners(s)) for s in shapes]
        most = max((len(row) for row in feelers), default=0)
        # Shorter rows are padded by repeating their last entry.
        rows = [row + row[-1:] * (most - len(row)) for row in feelers]
        self._points = np.array([[point for point, _, _ in row] for row in rows])
        self._step = np.array([[step for _, step, _ in row] for row in rows])
        self._wheel = np.array([[wheel for _, _, wheel in row] for row in rows])
        # Vehicles drive under objects that are higher than the chassis.
        self._top = 1.05 * np.array([built[name].height for name in self._names])[:, None]
        self._stopped: list[int] = []

    def look(self, ground: Ground, contacts: Contacts) -> Sequence[int]:
        """Place obstacles where vehicles cannot drive; returns the indices of the vehicles that
        have such obstacles.

        Indices count through all groups.
        """
        if not self._names:
            return []
        under = [footing.heights for footing in ground.footings]
        mean = np.concatenate([heights.mean(axis=1, keepdims=True) for heights in under])
        x, y = in_world(np.concatenate([them.poses for them in self._bodies]), self._points)
        z = ground.heights_at(x, y, mean + self._top, solid=not self._upstream)
        lowest = np.concatenate([heights.min(axis=1, keepdims=True) for heights in under])
        steep = z - (mean if self._upstream else lowest) > self._step
        level = mean
        if not self._upstream:
            loose = ground.loose
            if steep.any():
                level = self._level(ground, mean)
                steep &= z - level > self._step
                hung = steep & self._hung(ground, mean, level, loose[:, None])
                steep &= ~hung
            else:
                hung = steep
            if loose.any():
                ground.tighten(np.logical_or.reduce(hung, axis=1))
        stopped = np.flatnonzero(steep.any(axis=1)).tolist() if steep.any() else []
        if stopped or self._stopped:
            places, speeds = np.stack([x, y], axis=2), self._speeds()
            for row in sorted({*stopped, *self._stopped}):
                at, speed = places[row][steep[row]], speeds[row]
                if self._upstream or not len(at):
                    half = LEAST + PER_SPEED * speed
                    middles = np.unique(np.round(at / half), axis=0) * half
                    squares = [Square(x, y, half, STEEP) for x, y in middles.tolist()]
                else:
                    limits = np.broadcast_to(level, steep.shape)[row] + self._step[row]
                    look = _Look(
                        ground, limits[steep[row]], float(mean[row, 0] + self._top[row, 0])
                    )
                    outlines = contacts.outlines(self._names[row])
                    squares = self._against(look, row, at, speed, outlines)
                contacts.obstruct(self._names[row], squares)
            self._stopped = stopped
        return stopped

    def _speeds(self) -> list[m_s]:
        return np.concatenate([them.speeds() for them in self._bodies]).tolist()

    def _hung(
        self, ground: Ground, mean: Array, level: Array, loose: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Mask of points (B, n) over high ground that does not block the vehicle.

        For a vehicle that is `loose` this is the edge it drives over: the ground is as high
        inside of the point, or where the point comes from. Ground behind a moving vehicle that
        does not rise like a wall does not block it either.
        """
        motions = np.concatenate([them.motions for them in self._bodies])
        offsets = self._points - self._points.mean(axis=1, keepdims=True)
        away = offsets / np.maximum(np.linalg.norm(offsets, axis=2, keepdims=True), LEAST)
        turning = motions[:, None, 5:] * np.stack([-offsets[..., 1], offsets[..., 0]], axis=2)
        velocity = motions[:, None, 3:5] + turning
        speed = np.linalg.norm(velocity, axis=2, keepdims=True)
        ahead = np.where(speed > _LEAVES, velocity / np.maximum(speed, _LEAVES), away)

        def rise(direction: Array) -> Array:
            x, y = in_world(motions[:, :3], self._points - _INSIDE * direction)
            return ground.heights_at(x, y, mean + self._top, solid=True) - level

        inside = rise(away)
        lags = (away * velocity).sum(axis=2) < -_LEAVES
        edge = (inside > self._step) | (rise(ahead) > self._step)
        return (lags & (inside > 0.5 * self._step)) | (loose & edge)

    def _against(
        self, look: _Look, row: int, at: Array, speed: m_s, outlines: Sequence[Points]
    ) -> list[Square]:
        """Obstacle squares in front of points (k, 2) of a vehicle on steep ground.

        Each square has a side where the ground rises, or farther off, so that no part of the
        vehicle is deep inside.
        """
        motions = np.concatenate([them.motions for them in self._bodies])[row]
        arms = at - motions[:2]
        ways = self._dt * np.hypot(
            motions[3] - motions[5] * arms[:, 1], motions[4] + motions[5] * arms[:, 0]
        )
        middle = np.mean(in_world(motions[None, :3], self._points[row : row + 1]), axis=(1, 2))
        ahead = look.downhill(at, ways, middle - at)
        deepest = ways + _DEEPEST
        steps = deepest[:, None] * _DEPTHS
        out = ~look.steep(at[:, None] + steps[..., None] * ahead[:, None])
        depth = np.where(out.any(axis=1), steps[np.arange(len(at)), out.argmax(axis=1)], deepest)
        half = np.maximum(LEAST + PER_SPEED * speed, 2.0 * deepest)
        corners = [
            np.stack(in_world(motions[None, :3], np.array([outline])), axis=2)[0]
            for outline in outlines
        ]
        sides = [np.stack([them, np.roll(them, -1, axis=0)], axis=1) for them in corners]
        behind = _reach_behind(np.concatenate(sides), at, ahead, half)
        middles = at + (depth - half - behind)[:, None] * ahead
        return [
            Square(x, y, side, STEEP, (u, v))
            for (x, y), side, (u, v) in zip(
                middles.tolist(), half.tolist(), ahead.tolist(), strict=True
            )
        ]

    def _level(self, ground: Ground, mean: Array) -> Array:
        """Reference heights at the points, (B, n), above which ground counts as a step."""
        level, first = np.broadcast_to(mean, self._step.shape).copy(), 0
        for k, them in enumerate(self._bodies):
            rows = slice(first, first + len(them.group.names))
            first = rows.stop
            z, pitch, roll = (v[:, None] for v in ground.lying(k))
            along = 0.0 - np.tan(pitch)
            across = np.tan(roll) * np.hypot(1.0, along)
            points, wheel = self._points[rows], self._wheel[rows]
            plane = z + along * points[..., 0] + across * points[..., 1]
            level[rows] = np.maximum(level[rows], plane)
            under = ground.wheel_heights(k)
            if under is not None:
                own = np.take_along_axis(under, np.maximum(wheel, 0), axis=1)
                level[rows] = np.where(wheel < 0, level[rows], own)
        return level


class _Look(NamedTuple):
    ground: Ground
    limits: Array
    """Heights above which the ground is too steep at each point, (k,)."""
    reach: m
    """Height up to which ground is considered."""

    def steep(self, places: Array) -> NDArray[np.bool_]:
        """Whether the ground at n places around each point, (k, n, 2), is too high to drive on."""
        x, y = places[..., 0], places[..., 1]
        z = self.ground.heights_at(x, y, np.full(x.shape, self.reach), solid=True)
        return z > self.limits[:, None]

    def downhill(self, at: Array, ways: Array, otherwise: Array) -> Array:
        """Unit vectors (k, 2) from points on steep ground towards lower ground nearby.

        Where no direction is clear, the vector is taken from `otherwise`.
        """
        ahead = otherwise
        for ring in reversed(_RINGS):
            around = at[:, None] + (ring + ways)[:, None, None] * _DIRECTIONS
            sums = (~self.steep(around)).astype(float) @ _DIRECTIONS
            clear = np.linalg.norm(sums, axis=1, keepdims=True) > 0.5
            ahead = np.where(clear, sums, ahead)
        length = np.linalg.norm(ahead, axis=1, keepdims=True)
        return np.where(length > 0.0, ahead / np.where(length > 0.0, length, 1.0), _DIRECTIONS[0])


def _reach_behind(sides: Array, at: Array, ahead: Array, half: Array) -> Array:
    """Distances (k,) by which sides (n, 2, 2) extend behind points (k, 2), measured along `ahead`
    (k, 2), within strips of the half widths (k,) around the points."""
    seen = sides[None] - at[:, None, None]
    along = (seen * ahead[:, None, None]).sum(axis=3)
    across = seen[..., 1] * ahead[:, None, None, 0] - seen[..., 0] * ahead[:, None, None, 1]
    way = across[..., 1] - across[..., 0]
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    # Parts of the sides between the edges of the strip, as shares of their lengths.
    cuts = np.stack([(edge - across[..., 0]) / way for edge in (-half[:, None], half[:, None])])
    first, last = np.clip(cuts.min(axis=0), 0.0, 1.0), np.clip(cuts.max(axis=0), 0.0, 1.0)
    rise = along[..., 1] - along[..., 0]
    lowest = along[..., 0] + np.minimum(first * rise, last * rise)
    inside = (np.minimum(across[..., 0], across[..., 1]) <= half[:, None]) & (
        np.maximum(across[..., 0], across[..., 1]) >= -half[:, None]
    )
    return np.maximum(0.0, -np.where(inside, lowest, 0.0).min(axis=1))


_Feeler = tuple[Point, m, int]
"""Support point of a vehicle, the height of a step allowed there, and the index of the wheel from
which that height is measured; negative for all wheels."""


def _corners(shape: Geometry) -> list[_Feeler]:
    diameter = 2.0 * shape.wheels[0].radius if shape.wheels else _NO_WHEEL
    return [(point, STEP * diameter, -1) for outline in shape.outlines for point in outline]


def _wheel_corners(shape: Geometry) -> list[_Feeler]:
    """Corners of the wheels that extend beyond the chassis."""
    corners: list[_Feeler] = []
    for k, wheel in enumerate(shape.wheels):
        a, b = wheel.radius, 0.5 * wheel.width
        for u, v in rectangle(-a, a, -b, b):
            point = wheel.x + u, wheel.y + v
            if not any(enclosed(np.array([point]), np.array(o))[0] for o in shape.outlines):
                corners.append((point, 2.0 * STEP * hypot(u, v), k))
    return corners


class TurningParts:
    """Steered wheels and trailers of a group, as shapes in the contact solver.

    Angles are taken at the beginning of a step, as upstream does. The centre of mass does not move
    with the parts.
    """

    def __init__(self, bodies: Bodies, built: Built, contacts: Contacts) -> None:
        self._contacts, self._bodies, self._names = contacts, bodies, bodies.group.names
        self._parts = [built[name].turning for name in self._names]
        self._fields = [field for part in self._parts[0] for field in part.fields]
        self._shown = [[part.start for part in parts for _ in part.fields] for parts in self._parts]

    def follow(self, rows: Sequence[int], before: AnyArray) -> None:
        """Turn the parts of some vehicles to their angles in the states (B, nx) before a step.

        The new shapes take effect when the vehicles are passed to the next step of the contacts.
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
"""Change of a vehicle's height above which the contacts are updated."""
_SOLVABLE = 1e30
"""Largest magnitude of a motion passed to the solver, whose single precision ends at 3.4e38; a
vehicle beyond it is about to be stopped."""


class Encounters:
    """Contacts and joints between the vehicles of a world and all other bodies.

    Args:
        scene: the scene.
        built: the vehicles of the scene by name.
        bodies: their motion, by group.
        events: queue that receives the beginnings and ends of contacts.
    """

    def __init__(
        self, scene: Scene, built: Built, bodies: Sequence[Bodies], events: deque[ContactEvent]
    ) -> None:
        settings = scene.settings
        self.contacts = Contacts(
            events,
            _middle(scene),
            settings.gravity,
            settings.velocity_iterations,
            settings.position_iterations,
            # Upstream stops animated blocks one step late, at the position they have reached by
            # then.
            careful=scene.compat != "upstream",
        )
        fill(self.contacts, scene, built)
        self._bodies = tuple(bodies)
        names = [name for b in bodies for name in b.group.names]
        self._turning = [TurningParts(them, built, self.contacts) for them in bodies]
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
        """Names of the moving blocks and actors."""
        radii = np.array([built[name].radius for name in names])
        others = [b.shape.radius for b in solid] + [a.collision_radius for a in scene.actors]
        self._nearness = Nearness(radii, standing_segments(scene), np.array(others))
        # Vehicles on joints always take part in the contact solver.
        self._always = [k for k, name in enumerate(names) if self.contacts.always_in(name)]
        self._count = len(names)
        # Moving bodies may meet a block that is at rest.
        self._stirred = bool(self._animated or self._actors) and any(not b.static for b in solid)
        self._stopped: Sequence[int] = ()

    def animate(self, time: s, dt: s) -> None:
        """Move animated bodies to where they are after the step that begins at `time`."""
        for block in self._animated:
            goal = keyframe_pose(block.pose, block.animation, time)
            self.contacts.drive(block.name, goal, dt)
        for actor in self._actors:
            self.contacts.drive(actor.name, actor_pose(actor, time + dt), dt)

    def separate_floors(self, ground: Ground) -> None:
        """Restrict contacts to bodies at the same height; call it with the vehicles on the
        ground."""
        self.contacts.set_heights(ground.spans())
        self._floors = bool(self._names)
        if self._floors:
            self._lift(ground)

    def _lift(self, ground: Ground) -> None:
        """Update the heights of vehicles that have risen or sunk."""
        z = np.concatenate([ground.lying(k)[0] for k in range(len(self._bodies))])
        rows = np.flatnonzero(~(np.abs(z - self._lifted) <= _RISE)).tolist()
        if rows:
            low, high = z.tolist(), (z + self._heights).tolist()
            self.contacts.set_heights({self._names[k]: (low[k], high[k]) for k in rows})
            self._lifted[rows] = z[rows]

    def look_at(self, ground: Ground) -> None:
        """Find the vehicles in front of steep ground for the step that is about to begin."""
        if self._floors:
            self._lift(ground)
        self._stopped = self._steep.look(ground, self.contacts)
        if self._stopped:
            # The obstacles move with the vehicles in front of which they are placed.
            ground.forget()

    def solve(self, before: Sequence[AnyArray], dt: s, time: s) -> None:
        """Solve the contacts of a step that ends at `time`.

        `before` are the states of the groups before the step; their current states, which the
        vehicles reached without contacts, are corrected by contacts and joints.
        """
        near = self._near(before, dt)
        if not near and not (self._stirred or self.contacts.restless):
            self.contacts.rest(time)
            return
        guests = list(self._by_groups(near))
        moving: dict[str, Moving] = {}
        for k, rows in guests:
            bodies, names = self._bodies[k], self._bodies[k].group.names
            self._turning[k].follow(rows, before[k])
            for row, one in zip(rows, bodies.moving(rows, before[k]), strict=True):
                if max(map(abs, one)) < _SOLVABLE:
                    moving[names[row]] = one
        moved = self.contacts.step(dt, moving, time)
        for k, rows in guests:
            names = self._bodies[k].group.names
            those = [row for row in rows if names[row] in moved]
            self._bodies[k].put(those, [moved[names[row]] for row in those])

    def _near(self, before: Sequence[AnyArray], dt: s) -> list[int]:
        """Indices of the vehicles that may touch something, counted through all groups."""
        if len(self._always) == self._count:
            return self._always
        at = _joined([bodies.places for bodies in self._bodies])
        others = np.array(self.contacts.places(self.movable)) if self.movable else _NOTHING

        def begin() -> AnyArray:
            then = [b.places_in(states) for b, states in zip(self._bodies, before, strict=True)]
            ways = np.array(self.contacts.ways(self.movable, dt)).reshape(-1, 2)
            return _joined([*then, others - ways])

        near = self._nearness.near(at, others, begin).tolist()
        if self._always or self._stopped:
            near = sorted({*near, *self._always, *self._stopped})
        return near

    def _by_groups(self, numbers: list[int]) -> Iterator[tuple[int, list[int]]]:
        """Groups that contain the vehicles with these indices, and the rows in each group."""
        first = 0
        for k, bodies in enumerate(self._bodies):
            end = first + len(bodies.group.names)
            rows = [number - first for number in numbers if first <= number < end]
            if rows:
                yield k, rows
            first = end

    def put(self, name: str, moving: Moving) -> None:
        """Teleport a vehicle, ignoring obstacles; raises for one on a joint."""
        if self.contacts.always_in(name):
            raise InvalidValue(f"{name} is attached to a joint and cannot be teleported by itself")
        self.contacts.carry(name, moving)
        self._nearness.forget()

    def all_close(self, gap: m) -> tuple[str, ...]:
        """Names of the vehicles that are `close` to another body; vehicles known to be far from
        everything are skipped."""
        near = self.contacts.candidates
        return tuple(
            name
            for k, name in enumerate(self._names)
            if (name in near or k in self._always) and self.contacts.close(name, gap)
        )

    @property
    def pushed(self) -> set[str]:
        """Names of the vehicles that contacts or joints may have moved in the last step."""
        always = {self._names[k] for k in self._always}
        return (self.contacts.touches.names | always) & self._vehicles

    def snapshot(self) -> Any:
        them = {name: self.contacts.at(name) for name in self.contacts.names}
        return them, self.contacts.touches.snapshot(), self.contacts.origin.place

    def check(self, snapshot: Any) -> None:
        """Raise if a snapshot belongs to another world."""
        if snapshot[0].keys() != set(self.contacts.names):
            raise InvalidValue("the snapshot is not of this world")

    def restore(self, snapshot: Any) -> None:
        them, touches, origin = snapshot
        self.contacts.origin.move(*origin)
        for name, moving in them.items():
            # Bodies that were not moved keep their contact impulses, from which the solver starts.
            if self.contacts.at(name)[:3] != moving[:3]:
                self.contacts.dismiss(name)
            self.contacts.put(name, moving)
        self.contacts.touches.restore(touches)
        self._nearness.forget()


def _middle(scene: Scene) -> tuple[m, m]:
    """Centre of the initial positions of the vehicles, or of the blocks if there are no
    vehicles."""
    poses = [spec.pose for spec in (scene.vehicles or scene.blocks)]
    x, y = [pose.x for pose in poses] or [0.0], [pose.y for pose in poses] or [0.0]
    return 0.5 * (min(x) + max(x)), 0.5 * (min(y) + max(y))


def _joined(tables: Sequence[AnyArray]) -> AnyArray:
    return tables[0] if len(tables) == 1 else np.concatenate(tables)
