"""Records of roads, one class per kind of road, and the contact of wheels with a road.

A surface is any record with a method `at(x, y)` that returns a `SurfacePoint`. Its numbers are
leaves, so they are parameters of a vehicle that stands on it; its class is the kind of the road.
Grip is a factor on a tyre's friction, relative to the road on which the tyre was measured: 1 is
that road, 0.3 a road with three tenths of its friction. `road_record` joins a surface and a grip.

The contact with a road is in the axes of a vehicle with a given yaw: forward, left and up. On a
road that rises by `slope` forward and by `bank` to the left, per horizontal distance, the axes in
the road are `e_1`, along the wheels' direction, `e_2`, to the left of it at a right angle, and the
normal `n`:

    e_1 = (1, 0, slope) / E                       E² = 1 + slope²
    e_2 = (-slope bank, E², bank) / (N E)         N² = 1 + slope² + bank²
    n = (-slope, -bank, 1) / N

`wheel_contact` evaluates the road at one wheel; `plane_under` (four wheels) and `fitted_plane` (any
number) compute the plane on which they stand, the input of `plane_motion`, `standing_pull` and
`fitted_pull`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.checks import must_be
from ..core.checks import positive as must_be_positive
from ..core.files import brief_repr, shown
from ..core.record import made_once
from ..errors import InvalidValue
from ..geometry.polygon import enclosed, ring_of
from ..geometry.pose import turned, turned_back
from ..ops import Grid1, Grid2, cos, grid, grid_type, interpolate, sin, sloped_value, sqrt
from ..random.patches import Patch, on_top, same_for_all
from ..units import m, m_s, m_s2, non_negative, one, per_m, positive, rad, rad_s

if TYPE_CHECKING:
    HeightProfile = Grid1
    SmoothProfile = Grid1
    HeightGrid = Grid2
    SmoothGrid = Grid2
    ColumnGrid = Grid2
    GripValues = Grid2
else:
    HeightProfile = grid_type(1, "linear", (m, m))
    """Heights along a line, with straight lines between them."""
    SmoothProfile = grid_type(1, "cubic", (m, m))
    """Heights along a line, with a smooth curve through them."""
    HeightGrid = grid_type(2, "linear", (m, m, m))
    """Heights over two coordinates, bilinear between them."""
    SmoothGrid = grid_type(2, "cubic", (m, m, m))
    """Heights over two coordinates, with a smooth surface through them."""
    ColumnGrid = grid_type(2, "linear", (m, m, one))
    """Heights over a coordinate and the number of a column, bilinear between them."""
    GripValues = grid_type(2, "linear", (one, m, m))
    """Grip over two coordinates, bilinear between them."""


def grid_of(kind: Any, values: Any, start: Any, step: Any) -> Any:
    """Instance of the grid class `kind` with these values; see `skidpad.ops.grid`."""
    return kind(*grid(values, start=start, step=step))


_TURN = 6.283185307179586


class SurfacePoint(NamedTuple):
    """Height and slopes of a road at a point."""

    z: m
    """Height, positive up."""
    z_x: one
    """Slope along the x axis of the world: rise per horizontal distance."""
    z_y: one
    """Slope along the y axis of the world."""


class Surface(Protocol):
    """Interface of road surfaces."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position in the world."""
        ...


class FlatRoad(NamedTuple):
    """Level ground at height 0."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
        return SurfacePoint(0.0, 0.0, 0.0)


class PlaneRoad(NamedTuple):
    """A plane with a slope along a direction and a bank across it."""

    slope: one = 0.0
    """Rise per horizontal distance along the direction, positive uphill."""
    bank: one = 0.0
    """Rise per horizontal distance to the left of the direction, positive if the left side is
    higher."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""
    z: m = 0.0
    """Height at the origin of the world."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
        z_x, z_y = turned(cos(self.yaw), sin(self.yaw), self.slope, self.bank)
        return SurfacePoint(self.z + z_x * x + z_y * y, z_x, z_y)


class WaveRoad(NamedTuple):
    """Sine waves along a direction, constant across it."""

    amplitude: m = 0.0
    """Height of the crests above the mean."""
    wavelength: Annotated[m, positive] = 10.0
    """Distance from crest to crest."""
    phase: rad = 0.0
    """Phase of the sine at the origin of the world; it rises there if this is 0."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
        c, s = cos(self.yaw), sin(self.yaw)
        along, _ = turned_back(c, s, x, y)
        density = _TURN * (1.0 / self.wavelength)
        angle = density * along + self.phase
        rise = (self.amplitude * density) * cos(angle)
        return SurfacePoint(self.amplitude * sin(angle), c * rise, s * rise)


def _on_lattice(road: Any, x: m, y: m) -> SurfacePoint:
    """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
    return SurfacePoint(*sloped_value(road.heights, x, y))


def _along_line(road: Any, x: m, y: m) -> SurfacePoint:
    """Height and slopes at a position (x, y) of the world in m; see `Surface`."""
    c, s = cos(road.yaw), sin(road.yaw)
    along, _ = turned_back(c, s, x - road.x, y - road.y)
    z, rise = sloped_value(road.profile, along)
    return SurfacePoint(z, c * rise, s * rise)


class ProfileRoad(NamedTuple):
    """Heights along a straight line, constant across it, linear between the points.

    It is level before the first and after the last point.
    """

    profile: HeightProfile
    """Heights over the distance along the line."""
    x: m = 0.0
    """x of the start of the line in the world."""
    y: m = 0.0
    """y of the start of the line in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    at = _along_line


class SmoothProfileRoad(NamedTuple):
    """Heights along a straight line, interpolated by a smooth curve."""

    profile: SmoothProfile
    """Heights over the distance along the line."""
    x: m = 0.0
    """x of the start of the line in the world."""
    y: m = 0.0
    """y of the start of the line in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    at = _along_line


class GridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y, bilinear between them.

    Outside, the height is that of the nearest point of the border.
    """

    heights: HeightGrid
    """Heights over x and y of the world."""

    at = _on_lattice


class SmoothGridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y, interpolated by a smooth surface."""

    heights: SmoothGrid
    """Heights over x and y of the world."""

    at = _on_lattice


Area = tuple[float, float, float, float]
"""Least x, least y, largest x, largest y of a rectangle in the world, in m."""
_MOST_POINTS = 100_000_000
"""Most points of a grid of grip."""


class Grip(Protocol):
    """Interface of grip records."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position in the world."""
        ...


class FullGrip(NamedTuple):
    """Grip 1 everywhere, as on the reference road on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return 1.0


class UniformGrip(NamedTuple):
    """The same grip everywhere."""

    mu: Annotated[one, non_negative] = 1.0
    """Grip relative to the road on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return self.mu


class GripGrid(NamedTuple):
    """Grip at the points of a lattice over x and y, bilinear between them; constant beyond the
    border."""

    mu: GripValues
    """Grip over x and y of the world."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return interpolate(self.mu, x, y)


@dataclass(frozen=True, repr=False)
class PolygonPatch:
    """A patch of ground inside a ring of points, its border included."""

    value: float
    """Grip of the patch."""
    ring: Any
    """Corners (n, 2) in the world, in m, in order; the last is joined to the first."""

    def __post_init__(self) -> None:
        must_be("PolygonPatch.value", self.value, non_negative)
        object.__setattr__(self, "ring", ring_of("PolygonPatch.ring", self.ring))

    __repr__ = brief_repr


def grip_grid(values: Any, start: Any, step: Any) -> GripGrid:
    """Grip record of values at the points of a lattice."""
    mu = grid_of(GripValues, values, start, step)
    if not (np.isfinite(mu.values.values).all() and (mu.values.values >= 0.0).all()):
        raise InvalidValue("grip must be finite and at least 0 everywhere")
    return GripGrid(mu)


def grip_of_patches(
    patches: Sequence[Patch | PolygonPatch], base: float, step: float, area: Area | None
) -> GripGrid:
    """Grip grid of overlapping patches, later ones on top, with `base` around them.

    Edges of patches are as sharp as the spacing of the points. Without `area` the grid covers all
    patches.
    """
    must_be("base", base, non_negative)
    must_be_positive("step", step, "m")
    for k, patch in enumerate(patches):
        if not isinstance(patch, (Patch, PolygonPatch)):
            raise InvalidValue(
                f"patches[{k}] = {patch!r} must be a Patch, a strip or a PolygonPatch"
            )
    if area is None:
        if not patches:
            raise InvalidValue("patches is empty: give at least one")
        corners = np.concatenate([_corners(patch) for patch in patches])
        low, high = corners.min(axis=0), corners.max(axis=0)
    else:
        try:
            low, high = np.reshape(np.array(area, dtype=float), (2, 2))
        except (TypeError, ValueError, OverflowError):
            low = high = np.array([np.nan])
        if not np.isfinite([*low, *high]).all():
            raise InvalidValue(
                f"area = {shown(area)} must be four numbers: x and y of two corners, in m"
            )
        if not (low < high).all():
            raise InvalidValue(f"area = {shown(area)} must have its lower left corner first")
    # One additional point on every side has the base value, which applies outside.
    first = np.floor(low / step) - 1.0
    counts = np.ceil(high / step) + 1.0 - first + 1.0
    if not counts[0] * counts[1] <= _MOST_POINTS:
        raise InvalidValue(
            f"step = {step:g} m gives {counts[0] * counts[1]:.3g} points of grip; allowed are "
            f"{_MOST_POINTS}"
        )
    xs, ys = (step * (first[k] + np.arange(int(counts[k]))) for k in range(2))
    x, y = (places.ravel() for places in np.meshgrid(xs, ys, indexing="ij"))
    values = np.full(x.size, float(base))
    for patch in patches:
        if isinstance(patch, Patch):
            values = on_top(same_for_all((patch,)), x, y, values)
        else:
            inside = enclosed(np.stack([x, y], axis=-1), patch.ring)
            values = np.where(inside, patch.value, values)
    values = values.reshape(xs.size, ys.size)
    if area is None:
        for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
            values[edge] = base
    return grip_grid(values, (xs[0], ys[0]), step)


def _corners(patch: Patch | PolygonPatch) -> Array:
    if isinstance(patch, PolygonPatch):
        return patch.ring
    if not (math.isfinite(patch.length) and math.isfinite(patch.width)):
        raise InvalidValue(
            f"area = None: {patch!r} is unbounded; give the extent of the grid of grip as "
            "area=(x, y, x, y)"
        )
    along = 0.5 * patch.length * np.array([math.cos(patch.yaw), math.sin(patch.yaw)])
    across = 0.5 * patch.width * np.array([-math.sin(patch.yaw), math.cos(patch.yaw)])
    middle = np.array([patch.x, patch.y])
    return np.array([middle + i * along + j * across for i in (-1, 1) for j in (-1, 1)])


@made_once
def road_type(surface: type, grip: type) -> Any:
    """Record class of roads with these classes of surface and grip."""
    kinds: dict[str, Any] = {"surface": surface, "grip": grip}
    # Give all fields defaults or none, so that they keep their order.
    whole = all(len(kind._field_defaults) == len(kind._fields) for kind in kinds.values())
    return record.define(
        "RoadRecord",
        kinds,
        {name: kind() for name, kind in kinds.items()} if whole else None,
        docs={"surface": "Height of the road.", "grip": "Friction of the road."},
        doc="A road with its height and its friction.",
    )


def road_record(surface: Any, grip: Any) -> Any:
    return road_type(type(surface), type(grip))(surface, grip)


def record_of(road: Any) -> Any:
    """Record of a road, from a record or a `Road`; raises for anything else."""
    made = getattr(road, "record", road)
    if record.is_record_type(type(made)) and getattr(made, "_fields", ()) == ("surface", "grip"):
        return made
    raise InvalidValue(f"road = {road!r} must be a Road or its record")


FLAT = road_record(FlatRoad(), FullGrip())
"""Level ground with grip 1, the grip of the road on which the tyres were measured."""


class Direction(NamedTuple):
    """A unit vector, or a share of gravity."""

    x: one
    """Component forward."""
    y: one
    """Component to the left."""
    z: one
    """Component upwards."""


class WheelContact(NamedTuple):
    """The road at one wheel, for a given yaw."""

    z: m
    """Height of the road."""
    slope: one
    """Rise of the road forward per horizontal distance."""
    bank: one
    """Rise of the road to the left per horizontal distance."""
    normal: Direction
    """Normal of the road, in the axes of the yaw: forward, to the left and up."""
    down: Direction
    """Direction of gravity in the axes of the road: forward, to the left, and along the
    normal."""
    grip: one
    """Grip of the road relative to that on which the tyre was measured."""


class SlopeChange(NamedTuple):
    """Change of the slope under a vehicle with its pose, in the horizontal plane."""

    ahead: per_m
    """Change of the slope per distance ahead."""
    aside: per_m
    """Change of the slope per distance to the left."""
    turn: one
    """Change of the slope per rad of turning to the left; for a plane, its bank."""


class RoadPlane(NamedTuple):
    """The plane on which the wheels of a vehicle stand."""

    z: m
    """Height at the centre of the wheels."""
    slope: one
    """Rise forward per horizontal distance."""
    bank: one
    """Rise to the left per horizontal distance."""
    down: Direction
    """Direction of gravity in the axes of the plane."""
    change: SlopeChange
    """Change of the slope as the vehicle moves."""


class PlaneMotion(NamedTuple):
    """Motion over the ground of a body that stays on a plane."""

    x: m_s
    """Velocity in the world."""
    y: m_s
    yaw: rad_s
    """Rate of the heading in the horizontal plane."""
    lift: m_s2
    """Acceleration along the normal: negative on a crest, positive in a dip."""


class StandingPull(NamedTuple):
    """Gravity along the road on a body that stands on its wheels, divided by its mass."""

    x: m_s2
    """Component forward, in the axes of the plane under the wheels."""
    y: m_s2
    """Component to the left."""
    turn: float
    """Yaw moment divided by the mass, in m²/s², where the road is steeper under some wheels."""


def wheel_contact(road: Any, x: m, y: m, yaw: rad) -> WheelContact:
    """Evaluate a road (its record) at a position, for a wheel or a body with heading `yaw`."""
    point = road.surface.at(x, y)
    slope, bank = turned_back(cos(yaw), sin(yaw), point.z_x, point.z_y)
    by_n = 1.0 / sqrt(1.0 + slope * slope + bank * bank)
    normal = Direction(-slope * by_n, -bank * by_n, by_n)
    return WheelContact(point.z, slope, bank, normal, down(slope, bank), road.grip.at(x, y))


def down(slope: one, bank: one) -> Direction:
    """Direction of gravity in the axes of a road with a slope forward and a bank to the left."""
    by_e = 1.0 / sqrt(1.0 + slope * slope)
    by_n = 1.0 / sqrt(1.0 + slope * slope + bank * bank)
    return Direction(-slope * by_e, -bank * (by_e * by_n), -by_n)


def plane_through(values: Sequence[Any], places: Sequence[tuple[m, m]]) -> tuple[Any, Any, Any]:
    """Plane through values at four wheels (fl, fr, rl, rr): mean, slope forward and slope to the
    left.

    The slope forward is between the midpoints of the rear and the front wheels; the slope to the
    left is the mean of both axles' slopes.
    """
    (forward, left), (_, right), (back, rear_left), (_, rear_right) = places
    fl, fr, rl, rr = values
    front, rear = 0.5 * (fl + fr), 0.5 * (rl + rr)
    front_bank = (fl - fr) * (1.0 / (left - right))
    bank = 0.5 * (front_bank + (rl - rr) * (1.0 / (rear_left - rear_right)))
    return 0.5 * (front + rear), (front - rear) * (1.0 / (forward - back)), bank


def plane_under(contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]) -> RoadPlane:
    """Plane under four wheels (fl, fr, rl, rr) at positions (forward, left) of a body.

    Waves shorter than the vehicle hardly tilt it.
    """
    z, slope, bank = plane_through([contact.z for contact in contacts], places)
    half = 0.5 * (1.0 / (places[0][0] - places[2][0]))
    changes = (half * ((fl + fr) - (rl + rr)) for fl, fr, rl, rr in _rises(contacts, places))
    return RoadPlane(z, slope, bank, down(slope, bank), SlopeChange(*changes))


def plane_motion(plane: RoadPlane, yaw: rad, v_x: m_s, v_y: m_s, omega: rad_s) -> PlaneMotion:
    """Motion over the ground of a body with velocity and yaw rate in the axes of a plane.

    `omega` is about the normal, so on a banked curve the horizontal heading turns faster;
    a change of slope on a bank turns it as well. From e_1' e_2 = omega, which is
    yaw' / N + slope' bank / (N E²), and lift = v_x e_1' n.
    """
    slope, bank = plane.slope, plane.bank
    e_2 = 1.0 + slope * slope
    e, n = sqrt(e_2), sqrt(e_2 + bank * bank)
    ahead = v_x * (1.0 / e) - v_y * (slope * bank * (1.0 / (n * e)))
    aside = v_y * (e * (1.0 / n))
    drift = plane.change.ahead * ahead + plane.change.aside * aside
    by_e = bank * (1.0 / e_2)
    rate = (n * omega - by_e * drift) * (1.0 / (1.0 + by_e * plane.change.turn))
    slope_rate = drift + plane.change.turn * rate
    lift = v_x * (slope_rate - rate * bank) * (1.0 / (n * e))
    return PlaneMotion(*turned(cos(yaw), sin(yaw), ahead, aside), rate, lift)


def standing_pull(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]], plane: RoadPlane, g: m_s2
) -> StandingPull:
    """Gravity along an uneven road on a body carried by its wheels (fl, fr, rl, rr).

    Its centre of mass rises with the wheels, weighted by the loads they carry. The pull does the
    work of this rise for any motion in `plane_motion`: a car that coasts over hills and through
    banked bends conserves its energy.
    """
    forward, back = places[0][0], places[2][0]
    by_wheelbase = 0.5 / (forward - back)
    front, rear = -back * by_wheelbase, forward * by_wheelbase
    ahead, aside, turn = (
        front * (fl + fr) + rear * (rl + rr) for fl, fr, rl, rr in _rises(contacts, places)
    )
    return _pull_of_rise(ahead, aside, turn, plane, g)


def _pull_of_rise(ahead: one, aside: one, turn: m, plane: RoadPlane, g: m_s2) -> StandingPull:
    """Gravity that does the work of a body's rise, which is given per distance ahead and to the
    left and per turn, in the horizontal plane."""
    slope, bank, change = plane.slope, plane.bank, plane.change
    e_2 = 1.0 + slope * slope
    e, n = sqrt(e_2), sqrt(e_2 + bank * bank)
    by_e = bank * (1.0 / e_2)
    turn = turn * (1.0 / (1.0 + by_e * change.turn))
    ahead, aside = ahead - turn * by_e * change.ahead, aside - turn * by_e * change.aside
    across = aside * (e * (1.0 / n)) - ahead * (slope * bank * (1.0 / (n * e)))
    return StandingPull(-g * (ahead * (1.0 / e)), -g * across, -g * (n * turn))


def fitted_plane(contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]) -> RoadPlane:
    """Least-squares plane through the road at positions (forward, left) of a body.

    Under four wheels at the corners of a rectangle the result equals `plane_under`.
    """
    along, across = _weights(places)
    slope = _weighted(along, [contact.z for contact in contacts])
    bank = _weighted(across, [contact.z for contact in contacts])
    change = SlopeChange(*(_weighted(along, rises) for rises in _rises(contacts, places)))
    mean = _sum([contact.z for contact in contacts]) * (1.0 / len(contacts))
    return RoadPlane(mean, slope, bank, down(slope, bank), change)


def fitted_pull(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]], plane: RoadPlane, g: m_s2
) -> StandingPull:
    """Gravity along an uneven road on a body whose reference point lies on the fitted plane.

    The pull does the work of this point's rise for any motion in `plane_motion`. The weight
    along the plane does not: in a bend the front wheels take another path than the rear wheels,
    and a coasting car would gain or lose energy.
    """
    along, across = _weights(places)
    by_count = 1.0 / len(places)
    middle_x, middle_y = (_sum(values) * by_count for values in zip(*places, strict=True))
    shares = [
        by_count - middle_x * by_x - middle_y * by_y
        for by_x, by_y in zip(along, across, strict=True)
    ]
    ahead, aside, turn = (
        _sum([share * rise for share, rise in zip(shares, rises, strict=True)])
        for rises in _rises(contacts, places)
    )
    return _pull_of_rise(ahead, aside, turn, plane, g)


def _rises(
    contacts: Sequence[WheelContact], places: Sequence[tuple[m, m]]
) -> tuple[list[one], list[one], list[m]]:
    """Rise of the road under each wheel, per distance ahead, per distance to the left and per turn
    of the body.
    """
    turns = [
        ahead * contact.bank - aside * contact.slope
        for contact, (ahead, aside) in zip(contacts, places, strict=True)
    ]
    return [c.slope for c in contacts], [c.bank for c in contacts], turns


def _weights(places: Sequence[tuple[m, m]]) -> tuple[list[Any], list[Any]]:
    """Weights of the wheels' heights in the slope forward and in the slope to the left."""
    by_count = 1.0 / len(places)
    middle_x, middle_y = (_sum(values) * by_count for values in zip(*places, strict=True))
    from_middle = [(x - middle_x, y - middle_y) for x, y in places]
    xx, xy, yy = (_sum([a[j] * a[k] for a in from_middle]) for j, k in ((0, 0), (0, 1), (1, 1)))
    by_det = 1.0 / (xx * yy - xy * xy)
    along = [(yy * x - xy * y) * by_det for x, y in from_middle]
    return along, [(xx * y - xy * x) * by_det for x, y in from_middle]


def _weighted(weights: Sequence[Any], values: Sequence[Any]) -> one:
    # Use differences from the first value, so that level ground is level to the last bit.
    products = zip(weights[1:], values[1:], strict=True)
    return _sum([weight * (value - values[0]) for weight, value in products])


def _sum(values: Sequence[Any]) -> Any:
    return reduce(add, values)
