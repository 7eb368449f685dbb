"""Solids of a world, and the contacts between them.

The records hold motion, contact properties and mass properties. Walls, static blocks, planes and
grids are fixed; they are available as convex polygons (`standing_parts`) and as segments
(`standing_segments`).

`Touches` has the contacts between named bodies and the events of their beginnings and ends. Box2D
reports pairs of shapes; a vehicle has several, and a grid has thousands. Here they are merged by
the names of the bodies. An impulse is the contact's change of the momentum of `b`: `normal` along
the normal, which points from `a` to `b`, and `tangential` to the left of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import atan2, hypot
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...geometry.maps.map import border_segments
from ...geometry.polygon import edges_at, with_few_corners
from ...geometry.pose import to_world
from ...units import kg, kg_m2, m, m_s, one, per_s, rad, rad_s, s
from ..scene import BlockSpec, OccupancyGrid, Scene, VerticalPlane

Point = tuple[float, float]
Points = Sequence[Point]


class Moving(NamedTuple):
    """Pose of a body's reference point and velocity of that point, in world axes."""

    x: m
    y: m
    yaw: rad
    v_x: m_s = 0.0
    v_y: m_s = 0.0
    omega: rad_s = 0.0


class Surface(NamedTuple):
    """Contact properties of a shape."""

    friction: one = 0.5
    restitution: one = 0.01
    skin: m = 0.0025
    """Distance from the outline at which contact begins."""


PLAIN = Surface()


class Part(NamedTuple):
    """A convex polygon of a body, in the frame of the body."""

    outline: Points
    surface: Surface = PLAIN


MOST_CORNERS = 16
"""Most corners that the solver allows in a convex polygon."""


def solid_parts(outlines: Iterable[Points], surface: Surface) -> list[Part]:
    """Parts from convex outlines; those with too many corners are split."""
    pieces = (piece for o in outlines for piece in with_few_corners(tuple(o), MOST_CORNERS))
    return [Part(piece, surface) for piece in pieces]


class Inertia(NamedTuple):
    """Mass properties in the frame of the reference point."""

    mass: kg
    com_x: m
    com_y: m
    I_z: kg_m2
    """Yaw inertia about the centre of mass."""


class Pushed(NamedTuple):
    """Mass, friction and damping of a movable block."""

    mass: kg
    ground_friction: one
    radius: m
    """Radius of its outline about the reference point: ground friction acts there, on both
    sides."""
    linear_damping: per_s
    angular_damping: per_s


class Square(NamedTuple):
    """A temporary obstacle."""

    x: m
    y: m
    """Centre of the square."""
    half: m
    """Half the length of a side."""
    surface: Surface
    axis: Point = (1.0, 0.0)
    """Direction of two of the sides."""


WALL = Surface(friction=0.5, restitution=0.01)
CLIMBABLE = ("ramp", "semi_cylinder_bump")
"""Shapes of blocks whose top is ground."""


def is_climbed(block: BlockSpec, scene: Scene) -> bool:
    """Whether vehicles drive onto a block rather than collide with it: a ramp or a bump.

    Parts of a ramp or bump that are too steep stop vehicles as steep ground does. In upstream,
    vehicles collide with ramps and bumps as with boxes unless these are intangible.
    """
    geometry = block.geometry
    return scene.compat != "upstream" and geometry is not None and geometry.kind in CLIMBABLE


def standing_parts(scene: Scene) -> Iterator[tuple[str, list[Part], Moving]]:
    """Names, convex polygons and poses of all solid bodies that do not move on their own."""
    for wall in scene.walls:
        yield wall.name, *_from_their_middle([Part(wall.outline, WALL)])
    for block in scene.blocks:
        if block.static and not block.intangible:
            surface = Surface(block.lateral_friction, block.restitution)
            parts = solid_parts(block.shape.parts, surface)
            yield block.name, parts, Moving(block.pose.x, block.pose.y, block.pose.yaw)
    for k, element in enumerate(scene.elements):
        if isinstance(element, VerticalPlane):
            surface = Surface(0.5, element.restitution)
            parts = [Part(p, surface) for p in plane_parts(element)]
            if parts:
                yield f"vertical_plane_{k}", *_from_their_middle(parts)


def _from_their_middle(parts: list[Part]) -> tuple[list[Part], Moving]:
    """Convert parts in world coordinates to coordinates about their centre, as solvers use single
    precision.

    The centre is rounded to whole metres, so that the corners are shifted without rounding.
    """
    corners = [corner for part in parts for corner in part.outline]
    x, y = (float(round(sum(c[k] for c in corners) / len(corners))) for k in (0, 1))
    seen = [Part([(a - x, b - y) for a, b in p.outline], p.surface) for p in parts]
    return seen, Moving(x, y, 0.0)


def plane_parts(plane: VerticalPlane) -> list[tuple[tuple[float, float], ...]]:
    """Pieces of a wall between its doors, in world coordinates; windows do not interrupt it."""
    (x0, y0), (x1, y1) = (plane.x0, plane.y0), (plane.x1, plane.y1)
    length = hypot(x1 - x0, y1 - y0)
    angle = atan2(y1 - y0, x1 - x0)
    doors = sorted(
        (o.position * length - 0.5 * o.width, o.position * length + 0.5 * o.width)
        for o in plane.openings
        if o.kind == "door"
    )
    pieces, at = [], 0.0
    for begin, end in [*doors, (length, length)]:
        if begin - at > 1e-3:
            pieces.append((at, begin))
        at = max(at, end)
    half = 0.5 * plane.thickness

    def world(u: float, v: float) -> tuple[float, float]:
        return to_world((x0, y0, angle), u, v)

    return [(world(a, -half), world(b, -half), world(b, half), world(a, half)) for a, b in pieces]


def standing_solids(scene: Scene) -> Iterator[tuple[list[Part], Moving]]:
    """Convex polygons and poses of everything fixed that vehicles collide with, except grids."""
    passed = {b.name for b in scene.blocks if b.animation or is_climbed(b, scene)}
    for name, parts, pose in standing_parts(scene):
        if name not in passed:
            yield parts, pose


def standing_segments(scene: Scene) -> Array:
    """Edges (n, 4) in the world of everything fixed that vehicles collide with, including grids."""
    segments = [np.empty((0, 4))]
    for parts, pose in standing_solids(scene):
        segments.append(edges_at([part.outline for part in parts], pose[:3]))
    for element in scene.elements:
        if isinstance(element, OccupancyGrid):
            segments.append(border_segments(element.grid))
    return np.concatenate(segments)


Pair = tuple[str, str]
ToWorld = Callable[[m, m], tuple[m, m]]
"""Conversion of coordinates of the solver to those of the world."""
MOST_EVENTS = 10_000
"""Most stored events; the oldest are dropped for new ones."""


class Contact(NamedTuple):
    """Two touching bodies, with the impulse of the last step."""

    a: str
    b: str
    """Names, `a` before `b` in the alphabet."""
    x: m
    y: m
    """y of the point where the bodies met when contact began, in the world."""
    normal_x: one
    normal_y: one
    """y of the unit normal from `a` to `b` at that point, in the world."""
    normal_impulse: float
    """Normal impulse of the last step, in N·s; never negative."""
    tangential_impulse: float
    """Friction impulse of the last step, in N·s."""


class ContactEvent(NamedTuple):
    """Beginning or end of a contact between two bodies."""

    kind: Literal["begin", "end"]
    time: s
    """End of the step in which it happened."""
    a: str
    b: str
    """Names, `a` before `b` in the alphabet."""
    x: m
    y: m
    """y of the point where the bodies met when contact began, in the world."""
    normal_x: one
    normal_y: one
    """y of the unit normal from `a` to `b` at that point, in the world."""
    normal_impulse: float
    """Normal impulse in N·s: of the first step at a beginning, of all steps together at an
    end."""
    tangential_impulse: float
    """Friction impulse in N·s, likewise."""
    since: s
    """Time at which they began to touch."""


class _Where(NamedTuple):
    x: m = 0.0
    y: m = 0.0
    normal_x: one = 0.0
    normal_y: one = 0.0


class _Impulse(NamedTuple):
    """Impulse of a contact, in N·s."""

    normal: float = 0.0
    tangential: float = 0.0


_NOTHING = _Impulse()


@dataclass
class _Meeting:
    """Mean contact point and normal, weighted by the normal impulse."""

    x: float = 0.0
    y: float = 0.0
    n_x: float = 0.0
    n_y: float = 0.0
    weight: float = 0.0

    def add(
        self, contact: Any, pressing: tuple[float, ...], flipped: bool, to_world: ToWorld
    ) -> None:
        """Add the points of a Box2D manifold."""
        # The normal is a view into the manifold, which must therefore be kept alive.
        manifold = contact.worldManifold
        normal, side = manifold.normal, -1.0 if flipped else 1.0
        points = manifold.points[: contact.manifold.pointCount]
        for (x, y), impulse in zip(points, pressing or (0.0,) * len(points), strict=False):
            # Points without pressure get a small weight, so that there is a position even without
            # impulse.
            weight = impulse + 1e-9
            x, y = to_world(x, y)
            self.x, self.y = self.x + weight * x, self.y + weight * y
            self.n_x += weight * side * normal.x
            self.n_y += weight * side * normal.y
            self.weight += weight

    def where(self) -> _Where:
        """Weighted mean position of the contact points added."""
        if self.weight == 0.0:
            return _Where()
        length = hypot(self.n_x, self.n_y) or 1.0
        at = self.x / self.weight, self.y / self.weight
        return _Where(*at, self.n_x / length, self.n_y / length)


class _Open(NamedTuple):
    """Contact in progress, with the impulse so far."""

    since: s
    where: _Where
    step: _Impulse = _NOTHING
    """Impulse of the last step."""
    total: _Impulse = _NOTHING
    """Sum of the impulses of all steps."""

    def after(self, impulse: _Impulse) -> _Open:
        """A copy with the impulse of a further step added."""
        total = _Impulse(*(a + b for a, b in zip(self.total, impulse, strict=True)))
        return _Open(self.since, self.where, impulse, total)


class Touches:
    """Contacts of a world, collected from Box2D's listener.

    `begin`, `end` and `solved` are called while Box2D steps, `settle` after each step.
    """

    def __init__(self, events: deque[ContactEvent], to_world: ToWorld) -> None:
        self.events = events
        """Queue that receives beginnings and ends."""
        self.new_events: list[ContactEvent] = []
        """Events of the last step in which something touched, began or ceased to touch."""
        self._to_world = to_world
        self.pressing = set[str]()
        """Bodies whose motion is imposed; they do not rebound."""
        self._shapes: dict[int, tuple[Pair, bool]] = {}
        """Touching pairs of shapes by Box2D's current identity, and whether their order is
        opposite to that of the names."""
        self._open: dict[Pair, _Open] = {}
        self._new: dict[Pair, _Meeting] = {}
        self._impulses: dict[Pair, _Impulse] = {}

    def begin(self, contact: Any) -> None:
        """Handle the beginning of a contact of two shapes."""
        first, second = contact.fixtureA.body.userData, contact.fixtureB.body.userData
        if first in self.pressing or second in self.pressing:
            # No restitution: it would separate bodies, corner by corner, that the next step presses
            # together again.
            contact.restitution = 0.0
        flipped = second < first
        pair = (second, first) if flipped else (first, second)
        self._shapes[int(contact.this)] = pair, flipped
        if pair not in self._open:
            self._new.setdefault(pair, _Meeting()).add(contact, (), flipped, self._to_world)

    def end(self, contact: Any) -> None:
        """Handle the end of a contact of two shapes."""
        self._shapes.pop(int(contact.this), None)

    def solved(self, contact: Any, impulse: Any) -> None:
        """Handle the contact impulse of two shapes in a step or a part of one."""
        known = self._shapes.get(int(contact.this))
        if known is None:
            return
        pair, flipped = known
        pressing = impulse.normalImpulses
        normal, tangential = self._impulses.get(pair, _NOTHING)
        # Box2D's tangent points to the right of its normal; for the other order of bodies both are
        # reversed.
        rubbing = sum(impulse.tangentImpulses)
        self._impulses[pair] = _Impulse(normal + sum(pressing), tangential - rubbing)
        if pair not in self._open:
            self._new.setdefault(pair, _Meeting()).add(contact, pressing, flipped, self._to_world)

    def settle(self, time: s, gone: Collection[str] = ()) -> None:
        """Record the beginnings and ends of a step that ends at `time`.

        The contacts of bodies in `gone` have ended, although Box2D has not reported it yet.
        """
        if not (self._shapes or self._open or self._new):
            return
        self.new_events = []
        now = {pair for pair, _ in self._shapes.values()}
        if gone:
            now = {pair for pair in now if pair[0] not in gone and pair[1] not in gone}
        for pair in sorted(self._open.keys() | self._new.keys() | now):
            known, impulse = self._open.get(pair), self._impulses.get(pair, _NOTHING)
            if known is None:
                known = _Open(time, self._new.get(pair, _Meeting()).where())
                begun = ContactEvent("begin", time, *pair, *known.where, *impulse, since=time)
                self.new_events.append(begun)
            known = self._open[pair] = known.after(impulse)
            if pair not in now:
                del self._open[pair]
                where, total = known.where, known.total
                ended = ContactEvent("end", time, *pair, *where, *total, known.since)
                self.new_events.append(ended)
        self.events.extend(self.new_events)
        self._new.clear()
        self._impulses.clear()

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Contacts after the last step."""
        return tuple(Contact(*pair, *it.where, *it.step) for pair, it in sorted(self._open.items()))

    @property
    def names(self) -> set[str]:
        """Names of the touching bodies."""
        return {name for pair in self._open for name in pair}

    def snapshot(self) -> Any:
        return dict(self._open), tuple(self.events)

    def restore(self, snapshot: Any) -> None:
        known, events = snapshot
        self._open, self.new_events = dict(known), []
        self.events.clear()
        self.events.extend(events)


def listener(box2d: Any, touches: Touches) -> Any:
    """Box2D contact listener that feeds a `Touches`."""

    class Listener(box2d.b2ContactListener):
        BeginContact = staticmethod(touches.begin)
        EndContact = staticmethod(touches.end)
        PostSolve = staticmethod(touches.solved)

    return Listener()
