"""Tasks of following a line: a reference with speeds, a circle in a drift, a double lane change.

`follow` stays on a reference line at its speed.

`drift` follows a circle with a large sideslip angle on a low-friction road. The reward is that of
Cai et al., "High-speed autonomous drifting with deep reinforcement learning", IEEE Robotics and
Automation Letters 5 (2020): speed along the circle times the accuracy of position and sideslip,
each an exponential of its error. The heading, which they reward as well, follows from both.
`grip_law` turns the friction of the ground into a disturbance, also for other tasks.

`lane_change` drives the ISO 3888 cone course as fast as possible, with a patch of ice. Lanes, cones
and the path of proving-ground drivers are those of `manoeuvres.lane_change`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import hypot, pi
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...control.reference import Reference, reference_of
from ...control.speed import Grip, speed_profile
from ...core import record
from ...core.arrays import Array, shared_array, values_of
from ...core.body import Body, GroundUnder, Pose, Velocity, body_of
from ...core.checks import must_be, one_of, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import Line
from ...geometry.maps.track import Track
from ...geometry.pose import to_world
from ...ops import abs, atan2, clip, exp, floor, logical_and, logical_or, read, sqrt, where
from ...study.manoeuvres.cone_courses import LEAD, DoubleLaneChange, Lane, ObstacleAvoidance, course
from ...study.manoeuvres.subject import Subject, tyres_needed
from ...units import Allowed, Unit, m, m_s, m_s2, one, per_m, per_s, rad, rad_s, s
from ...vehicles.formula import four_wheel
from ...vehicles.twin_track.model import two_track
from ...view.stage import Polygon
from ..course import Course, Place, curvature_ahead, track_point
from ..task import Start, Task, box, lane_of
from .race import RaceObservation, record_hints

FOLLOW_AHEAD: tuple[m, ...] = (2.0, 5.0, 10.0, 20.0)
"""Distances ahead at which curvature and speed of the reference are observed."""
FOLLOW_SPACING: m = 0.5
"""Approximate spacing of the points of the line and of its speeds."""
FASTEST: m_s = 60.0
"""Upper bound of an observed speed."""
COMFORT = Grip(a_lateral=4.0, a_drive=2.0, a_brake=3.0, v_max=15.0)
"""Accelerations and top speed of the default references."""
SHARE: one = 0.8
"""Top speed of the default references relative to the top speed of a slow vehicle."""
per_m2_s = Annotated[float, Unit("1/(m² s)", length=-2, time=-1)]
s_per_m2 = Annotated[float, Unit("s/m²", length=-2, time=1)]


class FollowParams(NamedTuple):
    """Reference speeds, and the costs of deviations."""

    speeds: one
    """Index of the shared array with the speeds of all references in m/s, concatenated."""
    points: one
    """Number of speeds of each reference, at equal distances from end to end."""
    width: m = 3.0
    """Offset at which the reference is lost."""
    lost: one = 300.0
    """Cost of losing the reference."""
    n_cost: per_m2_s = 1.0
    """Cost of an offset, per square metre and second."""
    heading_cost: per_s = 1.0
    """Cost of a heading error, per rad² and second."""
    v_cost: s_per_m2 = 0.1
    """Cost of a speed error, per (m/s)² and second."""


class FollowObservation(NamedTuple):
    """Observation of a reference line; curvature and speed ahead are appended."""

    v_x: Annotated[m_s, Allowed(-10.0, FASTEST)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-15.0, 15.0)]
    """Lateral velocity, positive to the left."""
    omega: Annotated[rad_s, Allowed(-6.0, 6.0)]
    """Yaw rate, positive to the left."""
    n: Annotated[m, Allowed(-10.0, 10.0)]
    """Offset from the line, positive to the left."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading relative to the line, positive to the left."""
    v_error: Annotated[m_s, Allowed(-FASTEST, FASTEST)]
    """Speed of the vehicle minus the reference speed."""
    curvature: Annotated[per_m, Allowed(-1.5, 1.5)]
    """Curvature of the line at the vehicle, positive to the left."""


def follow(
    vehicle: Vehicle | None = None,
    *,
    reference: Reference | Sequence[Reference] | None = None,
    width: m = 3.0,
    randomised: Mapping[str, Any] | None = None,
    ahead: Sequence[m] = FOLLOW_AHEAD,
    **options: Any,
) -> Task:
    """The task of following a reference.

    Each second costs e_y² + e_heading² + 0.1 e_v², with the lateral offset e_y in m, the heading
    error in rad and the speed error in m/s. An offset of `width` ends the episode and costs 300.

    An episode starts anywhere on a reference, on an open one in its first half, near it and near
    its speed. It ends at the end of an open reference, at no cost.

    Args:
        vehicle: the vehicle; `four_wheel` if None.
        reference: one or several lines with speeds, one of which is used per episode; if None,
            smooth loops at up to 15 m/s, or 0.8 of the top speed of a slow vehicle.
        width: offset in m at which the reference is lost.
        randomised: distributions of parameters, see `Task.randomised`.
        ahead: distances in m at which curvature and speed of the reference are observed.
        options: further fields of the `Task`.
    """
    car = four_wheel() if vehicle is None else vehicle
    body = body_of(car, "a task that follows a reference")
    references = _references(reference, car)
    most = min(car.limits.v_max, FASTEST)
    for k, each in enumerate(references):
        fastest = float(np.max(each.points.v))
        if fastest > most:
            raise InvalidValue(
                f"reference[{k}] has {fastest:.1f} m/s; {car.name!r} is to drive at most "
                f"{most:.1f} m/s"
            )
    width = positive("width", width, "m")
    speeds = _speeds(references)
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-1.5, 1.5)] for k in range(len(ahead))}
    fast = {f"v_{k}": Annotated[m_s, Allowed(0.0, FASTEST)] for k in range(len(ahead))}
    hints = {**record_hints(FollowObservation), **bent, **fast}
    Observation = record.define("Observation", hints, doc="Observation.")
    rules = _Following(body, Observation, tuple(ahead))
    draws = {
        "s": {"range": [0.0, 1.0]}, "n": {"range": [-0.1, 0.1]},
        "heading": {"range": [-0.1, 0.1]}, "v": {"range": [0.8, 1.1]},
    }  # fmt: skip
    params = {"speeds": shared_array(speeds), "points": float(speeds.shape[1]), "width": width}
    settings: dict[str, Any] = {
        "name": "follow", "draws": draws, "Params": FollowParams, "params": params,
        "randomised": randomised or {}, "duration": 30.0,
        "successes": ("duration", "end_of_line"), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        tracks=tuple(_track(each, width) for each in references),
        **settings,
    )


def speed_at(course: Course, q: FollowParams, s: Any) -> m_s:
    """Reference speed at a distance along the line in m; on a loop, modulo its length."""
    share = s / course.length
    share = clip(share - floor(share) * where(course.closed > 0.5, 1.0, 0.0), 0.0, 1.0)
    at = share * (q.points - 1.0)
    index = clip(floor(at), 0.0, q.points - 2.0)
    first = course.track * q.points + index
    low, high = read(q.speeds, first), read(q.speeds, first + 1.0)
    return low + (at - index) * (high - low)


class _Following(NamedTuple):
    """Functions of the task `follow`, with the values that they share."""

    body: Body
    Observation: type
    ahead: tuple[m, ...]

    def v_error(self, x: Any, u: Any, p: Any, place: Place, q: FollowParams) -> m_s:
        """Speed of the vehicle minus the reference speed at its place."""
        return self.body.speed_of(x, u, p) - speed_at(place.course, q, place.s)

    def observe(
        self, x: Any, u: Any, p: Any, place: Place, velocity: Velocity, q: FollowParams
    ) -> Any:
        error = self.v_error(x, u, p, place, q)
        bends = [curvature_ahead(place, distance) for distance in self.ahead]
        speeds = [speed_at(place.course, q, place.s + distance) for distance in self.ahead]
        here = (place.n, place.heading, error, place.curvature)
        return self.Observation(*velocity, *here, *bends, *speeds)

    def reward(self, x: Any, u: Any, p: Any, place: Place, q: FollowParams, dt: s) -> Any:
        error = self.v_error(x, u, p, place, q)
        rate = (
            q.n_cost * place.n * place.n
            + q.heading_cost * place.heading * place.heading
            + q.v_cost * error * error
        )
        return -(dt * rate) - where(is_lost(place, q), q.lost, 0.0)

    @staticmethod
    def end_reasons(place: Place, q: FollowParams) -> dict[str, Any]:
        """Reasons for the end: the vehicle has lost the reference, or has reached the end of an
        open one."""
        course = place.course
        at_end = logical_and(course.closed < 0.5, place.s >= course.length - 0.5 * course.step)
        return {"lost": is_lost(place, q), "end_of_line": at_end}

    def start(self, x: Any, p: Any, course: Course, d: Any, q: FollowParams) -> Start:
        """Start near a reference (in the first half of an open one) and near its speed."""
        s = d.s * course.length * where(course.closed > 0.5, 1.0, 0.5)
        at = track_point(course, s, d.n * q.width)
        v = d.v * speed_at(course, q, s)
        pose = at._replace(yaw=at.yaw + d.heading)
        return Start(self.body.placed(x, pose, Velocity(v, 0.0, 0.0), p), s)


def is_lost(place: Place, q: FollowParams) -> Any:
    return abs(place.n) > q.width


def _references(
    reference: Reference | Sequence[Reference] | None, vehicle: Vehicle
) -> tuple[Reference, ...]:
    if reference is None:
        from ...geometry.maps.track import random_track

        v_max = min(COMFORT.v_max, SHARE * vehicle.limits.v_max)
        grip = COMFORT._replace(v_max=v_max)
        loops = [random_track(seed) for seed in range(4)]
        return tuple(
            Reference.along(loop.centre, speed_profile(loop.line, grip), closed=True)
            for loop in loops
        )
    several = (reference,) if isinstance(reference, Reference) else tuple(reference)
    if not several:
        raise InvalidValue("reference must be a Reference or several, got none")
    return tuple(reference_of(each) for each in several)


def _speeds(references: Sequence[Reference]) -> Array:
    """Speeds of each reference at n equally spaced points from end to end, (k, n)."""
    count = max(2, *(int(np.ceil(each.length / FOLLOW_SPACING)) + 1 for each in references))
    at = np.linspace(0.0, 1.0, count)
    return np.stack([each.at_distance(each.length * at).v for each in references])


def _track(reference: Reference, width: m) -> Track:
    line = reference.line.resampled(FOLLOW_SPACING)
    width_here = np.full(len(line.vertices), width)
    return Track(
        line.vertices, width_here, width_here, closed=reference.closed, walls=np.empty((0, 4)),
        name="reference",
    )  # fmt: skip


CIRCLE_SPACING: m = 0.5
"""Largest spacing of the points of the circle."""
SLOW: m_s = 0.5
"""Speed below which the sideslip angle fades out, as it is undefined at rest.

Driving backwards at this speed counts as a spin.
"""


GripLaw = Callable[[Any, Any, Any, Sequence[one]], Any]
"""Function for the `Disturbance` from state, input, parameters, wheel friction factors."""


def sliding(vehicle: Vehicle, purpose: str) -> Vehicle:
    """Return the vehicle; raises if its tyres cannot slide. `purpose` completes the error, as in "a
    drift"."""
    body_of(vehicle, purpose)
    lacks = tyres_needed(Subject(vehicle))
    if lacks:
        raise InvalidValue(f"{purpose} needs a vehicle on tyres: {lacks}")
    return vehicle


def grip_law(vehicle: Vehicle, purpose: str) -> GripLaw:
    """Disturbance by the friction under the wheels; raises if the vehicle has no such effect."""
    body, model = body_of(vehicle, purpose), vehicle.model

    def disturbance(x: Any, u: Any, p: Any, grip: Sequence[one]) -> Any:
        assert body.on_ground is not None
        ground = GroundUnder(g=0.0, grip=tuple(grip))
        return body.on_ground(x, u, record.build(model.Disturbance), ground, p)[1]

    calm = record.build(model.Disturbance)
    x, u, p = record.build(model.State), record.build(model.Input), vehicle.params
    half = [0.5] * len(body.geometry(p).wheels)
    if body.on_ground is None or disturbance(x, u, p, half) == calm:
        raise InvalidValue(
            f"{purpose} needs a vehicle whose Disturbance has a factor on friction, as four_wheel "
            f"(mu_scale) and two_track (mu_fl to mu_rr) have; that of {vehicle.name!r} has "
            f"{', '.join(record.names(model.Disturbance)) or 'nothing'}"
        )
    return disturbance


class DriftParams(NamedTuple):
    """Setpoints of a drift, and weights of its reward."""

    mu: one = 0.4
    """Friction of the road relative to the road on which the tyres were measured."""
    sideslip: rad = 0.5
    """Setpoint of the angle from the velocity to the heading, positive into the circle."""
    ring: m = 6.0
    """Distance from the circle to the edge of the road, on either side."""
    slip_worth: one = 0.6
    """Weight of the sideslip in the reward per metre; the position has the remaining weight."""
    slip_scale: rad = 0.175
    """Sideslip error at which its reward falls to 1/e: 10 degrees, as in Cai et al."""
    place_scale: m = 2.0
    """Distance from the circle at which the position's reward falls to 1/e, as in Cai et al."""
    failed: one = 20.0
    """Cost of leaving the ring or spinning; a metre of drifting is worth 1."""


class DriftObservation(NamedTuple):
    v_x: Annotated[m_s, Allowed(-30.0, 30.0)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-20.0, 20.0)]
    """Lateral velocity, positive to the left."""
    omega: Annotated[rad_s, Allowed(-4.0, 4.0)]
    """Yaw rate, positive to the left."""
    sideslip: Annotated[rad, Allowed(-1.6, 1.6)]
    """Angle from the velocity to the heading, positive into the circle."""
    n: Annotated[m, Allowed(-10.0, 10.0)]
    """Offset from the circle, positive inside it."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading relative to the circle, positive to the left."""
    steer: Annotated[rad, Allowed(-1.0, 1.0)]
    """Steering angle of the front wheels, positive to the left."""


def drift(
    vehicle: Vehicle | None = None,
    *,
    radius: m = 20.0,
    mu: one = 0.4,
    sideslip: rad = 0.5,
    ring: m = 6.0,
    randomised: Mapping[str, Any] | None = None,
    **options: Any,
) -> Task:
    """The task of drifting round a circle to the left: a metre at the demanded sideslip is worth 1,
    a metre driven without sliding 0.4.

    An episode starts without sliding, on the circle or near it. It ends when the vehicle leaves the
    ring or spins.

    Args:
        vehicle: the vehicle; a `two_track` sports car with rear-wheel drive if None.
        radius: radius of the circle in m.
        mu: friction of the road relative to the road on which the tyres were measured.
        sideslip: setpoint in rad, 0.1 to 1.2; positive into the circle.
        ring: distance from the circle to the edge of the road in m, on either side.
        randomised: distributions of parameters, see `Task.randomised`; `task.mu` is the friction.
        options: further fields of the `Task`.
    """
    car = sliding(two_track("sports") if vehicle is None else vehicle, "a drift")
    law, body = grip_law(car, "a drift"), car.model.body
    assert body is not None
    radius, ring = positive("radius", radius, "m"), positive("ring", ring, "m")
    if not ring < radius:
        raise InvalidValue(f"ring = {ring:g} m must be below radius = {radius:g} m")
    setpoints = {
        "mu": positive("mu", mu),
        "sideslip": must_be("sideslip", sideslip, Allowed(0.1, 1.2), "rad"),
        "ring": ring,
    }
    rules = _Drifting(body, law, len(car.geometry.wheels), car.limits.grip, radius)
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-1.0, 1.0]}, "v": {"range": [0.6, 0.9]}}
    settings: dict[str, Any] = {
        "name": "drift", "draws": draws, "Params": DriftParams, "params": setpoints,
        "randomised": randomised or {}, "duration": 20.0,
        "successes": ("duration",), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=DriftObservation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        disturb=rules.disturb,
        tracks=(circle(radius, ring),),
        **settings,
    )


def circle(radius: m, ring: m) -> Track:
    """Circular track about the origin, to the left, with `ring` in m to either border."""
    count = max(24, int(np.ceil(2.0 * pi * radius / CIRCLE_SPACING)))
    angle = np.arange(count) * (2.0 * pi / count)
    centre = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    width = np.full(count, ring)
    name = f"circle of {radius:g} m"
    return Track(centre, width, width, closed=True, walls=np.empty((0, 4)), name=name)


def sideslip_of(velocity: Velocity) -> rad:
    """Angle from the direction of motion to the heading, positive to the left, below π/2."""
    return -atan2(velocity.v_y, sqrt(velocity.v_x * velocity.v_x + SLOW * SLOW))


class _Drifting(NamedTuple):
    """Functions of the task `drift`, with the values that they share."""

    body: Body
    law: GripLaw
    wheels: int
    grip: m_s2
    radius: m

    def observe(self, x: Any, u: Any, p: Any, place: Place, velocity: Velocity) -> DriftObservation:
        assert self.body.steer is not None
        slip = sideslip_of(velocity)
        return DriftObservation(*velocity, slip, place.n, place.heading, self.body.steer(x, u, p))

    @staticmethod
    def end_reasons(place: Place, velocity: Velocity, q: DriftParams) -> dict[str, Any]:
        """Reasons for the end: off the ring, or spun and moving backwards."""
        return {"off_track": abs(place.n) > q.ring, "spin": velocity.v_x < -SLOW}

    @staticmethod
    def reward(place: Place, velocity: Velocity, q: DriftParams) -> Any:
        """Progress of the period in m, weighted by the accuracy of position and sideslip."""
        slid = exp(-abs(sideslip_of(velocity) - q.sideslip) / q.slip_scale)
        held = exp(-abs(place.n) / q.place_scale)
        failed = logical_or(*_Drifting.end_reasons(place, velocity, q).values())
        worth = q.slip_worth * slid + (1.0 - q.slip_worth) * held
        return place.gained * worth - where(failed, q.failed, 0.0)

    def disturb(self, x: Any, u: Any, p: Any, q: DriftParams) -> Any:
        """Disturbance from the friction of the road, the same under all wheels."""
        return self.law(x, u, p, [q.mu] * self.wheels)

    def start(self, x: Any, p: Any, course: Course, d: Any, q: DriftParams) -> Start:
        """Start on the circle, at a fraction of the speed at which the tyres just hold."""
        s = d.s * course.length
        v = d.v * sqrt(q.mu * self.grip * self.radius)
        turning = Velocity(v, 0.0, v / self.radius)
        return Start(self.body.placed(x, track_point(course, s, d.n), turning, p), s)


COURSES = {"ISO 3888-1": DoubleLaneChange, "ISO 3888-2": ObstacleAvoidance}
"""Cone courses by the name of their standard."""
LANE_CHANGE_AHEAD: tuple[m, ...] = (2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
"""Distances ahead at which the curvature of the path is observed."""
LANE_SPACING: m = 0.5
"""Spacing of the points of the path."""
ROOM: m = 8.0
"""Distance from the path to the edge of the field, next to and between the lanes."""


class LaneChangeParams(NamedTuple):
    """Weights of the reward, and friction of the road."""

    mu: one = 1.0
    """Friction of the road outside the ice, relative to that of the tyre measurement."""
    crash: one = 50.0
    """Cost of touching a border of a lane or missing a lane; a metre is worth up to 1."""


class Ice(NamedTuple):
    """Memory of a lane change, set at its start: a patch of ice and the entry speed."""

    x: m = 0.0
    """Centre of the patch, along the course from the first cones."""
    y: m = 0.0
    """Centre of the patch across the course, positive to the left."""
    length: m = 0.0
    """Length along the course; 0 for no ice."""
    width: m = 0.0
    """Width across the course."""
    mu: one = 1.0
    """Friction of the patch relative to that of the road."""
    entry: m_s = 1.0
    """Speed at the start."""


def lane_change(
    vehicle: Vehicle | None = None,
    *,
    standard: str = "ISO 3888-1",
    speeds: tuple[m_s, m_s] = (12.0, 22.0),
    ice: tuple[one, one] | None = (0.1, 0.7),
    randomised: Mapping[str, Any] | None = None,
    crash: one = 50.0,
    ahead: Sequence[m] = LANE_CHANGE_AHEAD,
    **options: Any,
) -> Task:
    """The task of a double lane change at the limit: a metre of the path is worth the share of the
    entry speed that is left, at most 1; touching a border of a lane or missing it costs `crash`.

    An episode ends at such a failure, or when the whole vehicle has passed the course. The ice is
    not observed.

    Args:
        vehicle: the vehicle, 1 m to 3 m wide; a `two_track` compact car if None.
        standard: "ISO 3888-1", the double lane change, or "ISO 3888-2", the obstacle avoidance.
        speeds: lowest and highest entry speed in m/s.
        ice: lowest and highest friction of a patch of ice relative to the road; None for no ice.
        randomised: distributions of parameters, see `Task.randomised`; `task.mu` is the road.
        crash: cost of touching a border or missing a lane.
        ahead: distances in m at which the curvature of the path is observed.
        options: further fields of the `Task`.
    """
    car = two_track("compact") if vehicle is None else vehicle
    one_of("standard", standard, tuple(COURSES))
    manoeuvre, subject = COURSES[standard](), Subject(car)
    lacks = manoeuvre.unfit(subject)
    if lacks:
        raise InvalidValue(f"a lane change needs another vehicle: {lacks}")
    law, lanes = grip_law(car, "a lane change"), manoeuvre.lanes(subject)
    corners = [corner for outline in car.geometry.outlines for corner in outline]
    wheels = [(wheel.x, wheel.y) for wheel in car.geometry.wheels]
    reach = max(hypot(*corner) for corner in corners)
    entry = {"entry": Annotated[m_s, Allowed(0.0, 60.0)]}
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-0.3, 0.3)] for k in range(len(ahead))}
    Observation = record.define(
        "Observation", {**record_hints(RaceObservation), **entry, **bent}, doc="Observation."
    )
    track = lane_track(lanes, max(y for _, y in corners) - min(y for _, y in corners))
    assert car.body is not None
    rules = _LaneChanging(car.body, Observation, tuple(ahead), lanes, reach, lane_of(track))
    low, high = speeds
    if not 0.0 < low <= high:
        raise InvalidValue(f"speeds = {speeds!r} must be positive, the lowest first, in m/s")
    for share in ice or ():
        must_be("ice", share, Allowed(0.01, 1.0))
    across = min(lane.right for lane in lanes), max(lane.left for lane in lanes)
    draws = {
        "s": {"range": [5.0, 15.0]},
        "v": _between(low, high),
        "x": {"range": [lanes[0].begin, lanes[-1].end]},
        "y": {"range": list(across)},
        "length": {"range": [5.0, 25.0]} if ice else 0.0,
        "width": {"range": [1.0, 6.0]},
        "mu": _between(*ice) if ice else 1.0,
    }
    settings: dict[str, Any] = {
        "name": "lane_change", "draws": draws,
        "Params": LaneChangeParams,
        "params": {"crash": crash}, "randomised": randomised or {}, "duration": 30.0,
        "successes": ("through",), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=rules.observe,
        reward=rules.reward,
        ended=rules.end_reasons,
        start=rules.start,
        Memory=Ice,
        disturb=partial(disturb, law, wheels),
        tracks=(track,),
        marks=rules.marks,
        **settings,
    )


def lane_track(lanes: Sequence[Lane], width: m) -> Track:
    """Track along the path through the lanes for this vehicle width; lane borders are walls."""
    path = course(lanes, width)
    x, y = (np.asarray(values_of(grid.values)) for grid in (path.x, path.y))
    driven = x <= lanes[-1].end + LEAD
    line = Line.through(np.column_stack([x[driven], y[driven]])).resampled(LANE_SPACING)
    left, right = np.full(len(line.x), ROOM), np.full(len(line.x), ROOM)
    for lane in lanes:
        inside = (line.x >= lane.begin) & (line.x <= lane.end)
        left[inside], right[inside] = lane.left - line.y[inside], line.y[inside] - lane.right
    return Track(line.points, left, right, closed=False, walls=borders(lanes), name="lane change")


def borders(lanes: Sequence[Lane]) -> Array:
    """Both borders of each lane as segments x0, y0, x1, y1 in m, (n, 4)."""
    return np.array(
        [[lane.begin, y, lane.end, y] for lane in lanes for y in (lane.right, lane.left)]
    )


def _between(low: float, high: float) -> Any:
    return {"range": [low, high]} if low != high else low


class _LaneChanging(NamedTuple):
    """Functions of the task `lane_change`, with the values that they share."""

    body: Body
    Observation: type
    ahead: tuple[m, ...]
    lanes: Sequence[Lane]
    reach: m
    lane: Polygon

    def observe(self, place: Place, velocity: Velocity, m: Ice) -> Any:
        bends = [curvature_ahead(place, distance) for distance in self.ahead]
        where_on = (place.n, place.heading, place.left, place.right)
        return self.Observation(*velocity, *where_on, m.entry, *bends)

    def missed(self, place: Place, pose: Pose) -> Any:
        """Whether the reference point is next to a lane instead of in it, or off the field."""
        beside = abs(place.n) > ROOM
        for lane in self.lanes:
            along = logical_and(pose.x >= lane.begin, pose.x <= lane.end)
            across = logical_or(pose.y < lane.right, pose.y > lane.left)
            beside = logical_or(beside, logical_and(along, across))
        return beside

    def reward(self, place: Place, pose: Pose, contact: Any, m: Ice, q: LaneChangeParams) -> Any:
        """Progress of the period in m, times the share of the entry speed, minus failure costs."""
        kept = clip(place.v_s / m.entry, 0.0, 1.0)
        crashed = logical_or(contact > 0.5, self.missed(place, pose))
        return place.gained * kept - where(crashed, q.crash, 0.0)

    def end_reasons(self, place: Place, pose: Pose, contact: Any) -> dict[str, Any]:
        """Reasons for the end: a border was touched, a lane missed, or the vehicle is through."""
        return {
            "contact": contact > 0.5,
            "missed_lane": self.missed(place, pose),
            "through": pose.x > self.lanes[-1].end + self.reach,
        }

    def start(self, x: Any, p: Any, course: Course, d: Any) -> Start:
        """Start on the straight before the lanes, at the entry speed."""
        velocity = Velocity(d.v, 0.0, 0.0)
        patch = Ice(d.x, d.y, d.length, d.width, d.mu, d.v)
        return Start(self.body.placed(x, track_point(course, d.s), velocity, p), d.s, patch)

    def marks(self, m: Ice) -> list[Polygon]:
        ice = [box(f"ice {m.mu:.2f}", m.x, m.y, m.length, m.width)] if m.length > 0.0 else []
        return [self.lane, *ice]


def disturb(
    law: GripLaw,
    wheels: Sequence[tuple[m, m]],
    x: Any,
    u: Any,
    p: Any,
    pose: Pose,
    m: Ice,
    q: LaneChangeParams,
) -> Any:
    """Disturbance from the friction under each wheel, on the ice or on the road."""
    grips: list[Any] = []
    for wheel in wheels:
        along, across = to_world(pose, *wheel)
        on_ice = logical_and(abs(along - m.x) < 0.5 * m.length, abs(across - m.y) < 0.5 * m.width)
        grips.append(q.mu * where(on_ice, m.mu, 1.0))
    return law(x, u, p, grips)
