"""`Engine`: a small truck with lidar, IMU and map behind one interface.

The interface is that of the package `simulator_2d` of robotics-laboratory/truck, translated to
Python. By default the truck does what the documents specify; compat="upstream" does what the
program does (revision 332ff42).

A table holds the errors of the program: each `Quirk` names its row in docs/errata.md, where the
evidence is, and holds the repaired and the upstream form. The repaired sensors are in `sensors`,
the upstream ones here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from ... import integrate
from ...compile.plant import Plant
from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.checks import must_be, one_of
from ...core.files import brief_repr, json_of, reading
from ...core.model import Model, Vehicle
from ...errors import InvalidValue
from ...geometry.maps.map import Map
from ...geometry.pose import rotated
from ...run.runner import Settings
from ...run.simulator import CompiledStepper
from ...units import Allowed, m_s, m_s2, non_negative, per_m, positive, rad, s
from ...vehicles import truck
from ...vehicles.parts.kinematics import (
    Twist,
    curvature_of,
    front_wheels,
    motor_rate,
    rear_curvature_limit,
    rear_ratio,
    speed_ratio,
    steer_of,
    twist_at,
    wheel_spin,
)
from ...vehicles.truck import Actuation, Params, State
from .model_file import (
    BASE,
    IMU,
    LIDAR,
    AngularVelocity,
    CarryingClock,
    EngineState,
    ExactSurroundings,
    NoiseSource,
    Pose,
    Reading,
    SensorNoise,
    SpecificForce,
    Status,
    Steering,
    TruckModel,
    Velocity,
    imu,
    sensor_noise,
    truck_model,
)


class TruncatingClock:
    """Upstream's clock, which drops the remainder of each advance: 0.0005 s moves the clock but not
    the truck.
    """

    __repr__ = brief_repr

    def __init__(self, step: s) -> None:
        self._steps_per_second = 1.0 / step
        self.time_ns = 0

    def steps_in(self, seconds: s) -> int:
        """Complete steps in this advance alone."""
        return int(seconds * self._steps_per_second)

    def advanced(self, seconds: s, steps: int, done: int) -> None:
        """Clock advanced by the whole time, also after a collision."""
        whole = int(seconds)
        self.time_ns += 1_000_000_000 * whole + int((seconds - whole) * 1e9)


def stored_command(
    velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params
) -> truck.RearCommand:
    """Command as upstream stores it: for the rear axle, with a lower limit on acceleration instead
    of an upper one.

    The acceleration becomes at least the limit of the manoeuvre that the truck is in when the
    command arrives. Without a manoeuvre it is stored as it is, or as 0 if the command has no
    acceleration. A later change of the manoeuvre does not change it.
    """
    if acceleration is None:
        acceleration = 0.0  # the program gets NaN at the centre of rotation, which compares false
        if abs(curvature) * p.base_to_rear <= 1.0:
            rear = velocity * rear_ratio(curvature, p.base_to_rear)
            acceleration = _manoeuvre_limit(rear, x, p)
    most = truck.curvature_limit(p)
    curvature = max(-most, min(most, curvature))
    ratio = rear_ratio(curvature, p.base_to_rear)
    rear_velocity = max(p.v_min, min(p.v_max, velocity)) * ratio
    stored = ratio * max(acceleration, _manoeuvre_limit(rear_velocity, x, p))
    return truck.RearCommand(
        rear_velocity, min(stored, p.a_max), min(stored, p.d_max), curvature / ratio
    )


def _manoeuvre_limit(velocity: m_s, x: State, p: Params) -> m_s2:
    """Acceleration limit for reaching a rear axle velocity, speeding up or slowing down; 0 when
    reached."""
    signs = _sign(velocity, p.v_tolerance) * _sign(x.v_x, p.v_tolerance)
    goal = 0.0 if signs < 0 else velocity
    return (0.0, p.a_max, p.d_max)[_sign(abs(goal) - abs(x.v_x), p.v_tolerance)]


def _sign(value: float, tolerance: float) -> int:
    return int(value > tolerance) - int(value < -tolerance)


GRAVITY: m_s2 = 9.81


def upstream_imu(model: TruckModel) -> Reading:
    """Readings of upstream's IMU: the centripetal acceleration has a double sign and a reversed
    lever arm.

    With exactly straight steering the centre of rotation is at infinity and all accelerations are
    NaN.
    """
    # Upstream takes the pose of the base in the IMU frame in place of the pose of the IMU in the
    # base frame.
    reversed_pose = model.frames.pose(BASE, seen_from=IMU)
    to_imu: Array = reversed_pose.rotation
    ahead, left = reversed_pose.translation[:2].tolist()
    b = model.params.base_to_rear

    def reading(x: State, rear: Twist, act: Actuation) -> tuple[AngularVelocity, SpecificForce]:
        force = np.array([act.v_x.rate, 0.0, GRAVITY])
        if rear.curvature == 0.0:
            force[:2] = np.nan
        else:
            at = twist_at(rear, ahead + b, left)
            to_centre = np.array([-ahead, 1.0 / rear.curvature - left])
            force[:2] += to_centre / np.hypot(*to_centre) * (at.velocity**2 * at.curvature)
        # tf2 multiplies row by row, so that NaN reaches every component.
        rate = to_imu @ np.array([0.0, 0.0, rear.omega])
        return AngularVelocity(*rate.tolist()), SpecificForce(*(to_imu @ force).tolist())

    return reading


NOTHING = np.finfo(np.float32).max
"""Range in m of a ray that hits nothing."""


def _tested_rays(
    ends: list[Any], first: float, increment: float, rays: int, tolerance: float
) -> NDArray[np.int64] | None:
    """Indices of the rays that are tested against a segment, or None if it is skipped."""
    (x0, y0), (x1, y1) = ends
    leftwards = math.atan2(x0 * y1 - y0 * x1, x0 * x1 + y0 * y1) > 0.0
    c, s = math.cos(first), math.sin(first)
    # Bearings from the first ray, from 0 to below 2π, counted in rays.
    bearings = [math.atan2(c * y - s * x, c * x + s * y) % math.tau / increment for x, y in ends]
    # Upstream rounds one of the bearings up to a multiple of the tolerance, where a whole number
    # was intended.
    raised = 0 if leftwards else 1
    bearings[raised] = math.ceil(bearings[raised] / tolerance) * tolerance
    start, stop = map(int, bearings)
    if start >= rays and stop >= rays:
        return None
    start, stop = min(start, rays - 1), min(stop, rays - 1)
    sign = 1 if leftwards else -1
    count = (sign * (stop - start)) % rays + 1
    return start + sign * np.arange(count)


def _ranges(ends: list[Any], directions: Array, tolerance: float) -> NDArray[np.float32]:
    """Ranges in m to one segment of rays in some directions, relative to the lidar."""
    (x0, y0), (x1, y1) = ends
    c, s = np.cos(directions), np.sin(directions)
    across = (x1 - x0) * s - (y1 - y0) * c
    crosses = np.abs(across) >= tolerance
    divisor = np.where(crosses, across, 1.0)
    t = ((x1 - x0) * y0 - (y1 - y0) * x0) / divisor
    u = (c * y0 - s * x0) / divisor
    hits = crosses & (t >= -tolerance) & (u >= -tolerance) & (u <= 1.0 + tolerance)
    return np.where(hits, np.abs(t), NOTHING).astype(np.float32)


def _meet(a: Array, b: Array, segments: Array, tolerance: float) -> Array:
    """Whether each segment meets the one from a to b; end points and collinear overlaps count."""
    c, d = segments[:, :2], segments[:, 2:]
    side_c, side_d = _side(a, b, c, tolerance), _side(a, b, d, tolerance)
    side_a, side_b = _side(c, d, a, tolerance), _side(c, d, b, tolerance)
    crossing = (side_c != side_d) & (side_a != side_b)
    ends = (side_c, a, b, c), (side_d, a, b, d), (side_a, c, d, a), (side_b, c, d, b)
    on_line = [(side == 0) & _within(start, end, point) for side, start, end, point in ends]
    return crossing | np.logical_or.reduce(on_line)


def _side(a: Array, b: Array, points: Array, tolerance: float) -> Array:
    """Side of points relative to the line from a to b: 1 for left, -1 for right, 0 on the line."""
    along, to = b - a, points - a
    cross = along[..., 0] * to[..., 1] - along[..., 1] * to[..., 0]
    return np.where(np.abs(cross) < tolerance, 0.0, np.sign(cross))


def _within(a: Array, b: Array, points: Array) -> Array:
    low, high = np.minimum(a, b), np.maximum(a, b)
    return np.all((points >= low) & (points <= high), axis=-1)


class UpstreamSurroundings:
    """Segments of a map for upstream's lidar and its contact test."""

    __repr__ = brief_repr

    def __init__(self, map: Map, model: TruckModel, tolerance: float) -> None:
        if map.grid is not None:
            raise InvalidValue(
                f"map {map.name!r} has a grid; under compat='upstream' there are segments only"
            )
        self._segments = map.segments
        self._model, self._tolerance = model, tolerance
        # The pose of the rear axle in the lidar frame, from a file that has the axle ahead of the
        # base: the two errors cancel as long as the file and the wheel base agree.
        offset = model.frames.pose("rear_axle", seen_from=LIDAR).translation
        self._ahead, self._left = offset[:2].tolist()

    def scan(self, x: State) -> NDArray[Any]:
        """Ranges in m, float32; the rotation of the lidar on the truck is ignored."""
        place = truck.body_point(x, self._ahead, self._left)
        pose = Pose(place.x, place.y, x.yaw)
        lidar = self._model.lidar
        rays = int(lidar.spans)
        ranges = np.full(rays, NOTHING, dtype=np.float32)
        first = pose.yaw + lidar.angle_min
        for segment in self._segments:
            ends = (segment.reshape(2, 2) - (pose.x, pose.y)).tolist()
            swept = _tested_rays(ends, first, lidar.angle_increment, rays, self._tolerance)
            if swept is None:
                continue
            # Directions continue past the last ray, while the indices of the ranges wrap.
            directions: Array = first + lidar.angle_increment * swept.astype(np.float64)
            at = swept % rays
            ranges[at] = np.minimum(ranges[at], _ranges(ends, directions, self._tolerance))
        return ranges

    def shown(self, ranges: NDArray[Any]) -> NDArray[Any]:
        """Reported ranges: unchanged, even beyond the range limits or negative because of noise."""
        return ranges

    def touches(self, x: State) -> bool:
        """Whether a segment touches one of three edges of upstream's box, which begins at the rear
        axle.

        The rear edge is missing, and neither a truck within an obstacle nor an obstacle under the
        truck is detected.
        """
        length, half = self._model.params.length, 0.5 * self._model.params.width
        body = np.array([[0.0, -half], [length, -half], [length, half], [0.0, half]])
        c, s = np.cos(x.yaw), np.sin(x.yaw)
        # Counter-clockwise from the rear right corner.
        corners = body @ np.array([[c, s], [-s, c]]) + (x.x, x.y)
        return any(
            bool(_meet(corners[k], corners[k + 1], self._segments, self._tolerance).any())
            for k in range(3)
        )

    def first_contact(self, path: Array) -> int | None:
        """Index of the last step if the box touches a segment after it, else None; no other step is
        checked."""
        return len(path) - 2 if self.touches(State(*path[-1].tolist())) else None


def load_upstream_map(path: str | Path) -> Map:
    """Read a map of the edges between the positions of all rings, as upstream does.

    An open ring is not closed, and negative coordinates are an error.
    """
    with reading(path, "is not a map of the truck's"):
        geometries = [feature["geometry"] for feature in json_of(path)["features"]]
        lines = [ring for geometry in geometries for ring in geometry["coordinates"]]
        rings = [np.array(ring, dtype=float)[:, :2] for ring in lines]
    for ring in rings:
        bad = np.argwhere(~(ring >= 0.0))
        if bad.size:
            k = int(bad[0, 0])
            raise InvalidValue(
                f"map {path}: vertex {k} at {ring[k].tolist()} m must not be negative, by "
                "upstream's rule"
            )
    edges = [np.hstack([ring[:-1], ring[1:]]) for ring in rings]
    segments: Any = np.concatenate(edges) if edges else np.empty((0, 4))
    return Map(segments=segments, name=Path(path).stem)


T = TypeVar("T")


class Quirk(NamedTuple, Generic[T]):
    """Error of the upstream program, with its upstream form and its repaired form."""

    row: str
    """Row of docs/errata.md that describes the error and the evidence for it."""
    right: T
    """Repaired form."""
    upstream: T
    """Form of the program, under compat="upstream"."""

    def choose(self, compat: str | None) -> T:
        """Upstream or repaired form, selected by `compat`."""
        return self.upstream if compat else self.right


def _input(velocity: m_s, acceleration: m_s2 | None, curvature: per_m, x: State, p: Params) -> Any:
    """The command of the base point unchanged; limits of the manoeuvre apply at every inner
    step."""
    if acceleration is None:
        return truck.Input(velocity, curvature=curvature)
    return truck.Input(velocity, acceleration, curvature)


def _upstream_rear_speed(velocity: m_s, steer: rad, p: Params) -> m_s:
    # Upstream takes the curvature at the rear axle for the curvature at the base point.
    sine = curvature_of(steer, p.wheel_base) * p.base_to_rear
    return velocity * math.sqrt(1.0 - sine * sine) if abs(sine) <= 1.0 else math.nan


def _upstream_steer_limit(p: Params) -> rad:
    # Upstream takes the angle of a curvature and a length, where the angle of their product was
    # intended.
    curvature = rear_curvature_limit(p.inner_max, p.outer_max, p.wheel_base, p.track)
    return math.atan2(curvature, p.wheel_base)


NO_COMMAND = Quirk[Any]("T1", truck.Input(), truck.RearCommand())
"""Command before the first one."""
STORE = Quirk[Any]("T1", _input, stored_command)
"""Function that stores a command (velocity, acceleration or None, curvature) at a state."""
MODEL = Quirk("T2", truck.REAR_MODEL, truck.SUMMED_MODEL)
"""Model of the truck's motion."""
REAR = Quirk[Any]("T3", truck.rear_command, lambda u, p: u)
"""Function from a stored command to the command of the rear axle."""
MODEL_INPUT = Quirk[Any]("T3", lambda c, p: c, truck.steer_command)
"""Function from a command of the rear axle to the input of `MODEL`."""
REAR_SPEED = Quirk[Any](
    "T4",
    lambda v, steer, p: v / speed_ratio(curvature_of(steer, p.wheel_base), p.base_to_rear, 0.0),
    _upstream_rear_speed,
)
"""Rear axle speed after a reset, from the base point speed and the steering angle."""
CHECKS_STARTS = Quirk("T5", True, False)
"""Whether a reset beyond the limits of steering and speed is an error."""
CLOCK = Quirk[Any]("T6", CarryingClock, TruncatingClock)
"""Clock that counts time and inner steps, made from the step length."""
BASE_VELOCITY = Quirk[Any](
    "T7",
    lambda x, base, p: rotated(x.v_x, base.omega * p.base_to_rear, x.yaw),
    lambda x, base, p: (math.cos(x.yaw) * base.velocity, math.sin(x.yaw) * base.velocity),
)
"""Velocity of the base point in the world frame, from its twist."""
TARGET_SPEED = Quirk[Any](
    "T8", lambda u, p: max(p.v_min, min(p.v_max, u.velocity)), lambda u, p: u.velocity
)
"""Speed of a stored command, from which the motor target is computed."""
STEER_LIMIT = Quirk("T9", truck.steer_limit, _upstream_steer_limit)
"""Reported limit of the middle steering angle."""
SURROUNDINGS = Quirk[Any]("T10, T11, T13", ExactSurroundings, UpstreamSurroundings)
"""Surroundings sensed by the lidar and touched by the body, from map, truck and tolerance."""
IMU_READING = Quirk("T12", imu, upstream_imu)
"""The IMU of a truck."""
CHECKS_EVERY_STEP = Quirk("T13", True, False)
"""Whether contacts are checked at every inner step, or only at the end of an advance."""
LOAD = Quirk[Callable[[str | Path], Map]]("T14", Map.load, load_upstream_map)
"""Function that reads a map file."""
DROPS_MAP = Quirk("T14", False, True)
"""Whether a map file that cannot be read removes the current map."""
PRECISION = Quirk("", 0.0, 1e-8)
"""Default tolerance for reaching a speed or a steering angle, in m/s and rad; not an error."""

BLOCK = 1000
"""Number of steps computed at a time; their states are stored to check for contacts between
steps."""


class Drive:
    """Stepper of one truck, whose state describes the centre of the rear axle."""

    def __init__(self, model: Model, params: Params, step: s) -> None:
        method = integrate.get("rk4")
        plant = Plant.of(Vehicle(model, params), method)
        self._stepper = CompiledStepper(plant, Settings(step, method))
        self._commands = np.zeros((BLOCK, record.size(model.Input)))
        self.put(State())

    @property
    def state(self) -> State:
        return self._stepper.state

    def put(self, state: Any) -> None:
        """Continue from this state, a record or a row of numbers."""
        self._stepper.reset(tuple(state), 0.0)

    def hold(self, command: tuple[float, ...]) -> None:
        """Apply a model input from now on."""
        self._commands[:] = command

    def run(self, steps: int) -> AnyArray:
        """Take up to `BLOCK` steps; returns the states after each, (steps, nx)."""
        states, error = self._stepper.drive(self._commands[:steps])
        if error is not None:
            raise error
        return states


_FINITE = Allowed()
_BOTH = ("acceleration", "curvature")
_NO_MAP = Map(name="no map")
_ROUNDING = 1e-9
"""Angle in rad by which a reset may exceed the steering limit."""


class Engine:
    """A truck under commands, with its lidar and IMU.

    Args:
        model: path of upstream's `model.yaml`, a mapping with the same keys, or None for the
            default truck.
        map: a file that `skidpad.geometry.maps` reads, a `Map`, or None for no obstacles.
        compat: None for the repaired engine, "upstream" to reproduce the program.
        integration_step: inner step in s.
        precision: tolerance within which speed (m/s) and steering (rad) count as reached, by
            default 0; under compat="upstream" also the tolerance of the geometry, by default 1e-8.
        noise: noise of the sensors by name: `{"lidar": 0.01, "gyro": Noise(mean=0.1, std=0.02)}`.
        seed: seed of the noise.

    Initially the base point is at the origin, at rest and with straight wheels. A rejected call
    raises `InvalidValue` and changes nothing.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        model: str | Path | Mapping[str, Any] | TruckModel | None = None,
        map: str | Path | Map | None = None,
        *,
        compat: str | None = None,
        integration_step: s = 1e-3,
        precision: float | None = None,
        noise: Mapping[str, Any] | SensorNoise | None = None,
        seed: int = 0,
    ) -> None:
        one_of("compat", compat, (None, "upstream"))
        self.compat = compat
        near = PRECISION.choose(compat) if precision is None else precision
        self.precision = must_be("precision", near, positive if compat else non_negative)
        self.integration_step = must_be("integration_step", integration_step, positive, "s")
        self.model = truck_model(model)
        """Content of the model file."""
        self.params: Params = self.model.params._replace(
            v_tolerance=self.precision, steer_tolerance=self.precision
        )
        """Parameters of the truck."""
        self._drive = Drive(MODEL.choose(compat), self.params, self.integration_step)
        self._noise = NoiseSource(sensor_noise(noise), seed)
        self._imu = IMU_READING.choose(compat)(self.model)
        self._status = Status.IN_PROGRESS
        self._use(_NO_MAP if map is None else self._loaded(map))
        self.reset()

    @property
    def map(self) -> Map:
        """Map of the obstacles; an empty map if there are no obstacles."""
        return self._map

    @property
    def status(self) -> Status:
        """Whether the truck can move or has collided."""
        return self._status

    @property
    def time(self) -> s:
        """Simulated time in s."""
        return self._clock.time_ns / 1e9

    @property
    def rear(self) -> State:
        """State at the centre of the rear axle: pose, steering angle, speed."""
        return self._drive.state

    @property
    def command(self) -> Any:
        """Active command in stored form.

        The command applies to the base point, or to the rear axle under compat="upstream".
        """
        return self._command

    @property
    def curvature_limit(self) -> per_m:
        """Largest curvature of the base point's path to either side; commands are limited to it."""
        return truck.curvature_limit(self.params)

    @property
    def middle_steering_limit(self) -> rad:
        """Largest steering angle of a virtual wheel at the centre of the front axle, to either
        side."""
        return STEER_LIMIT.choose(self.compat)(self.params)

    def reset(self) -> None:
        """Restart: clock at 0, no command, base point at the origin, at rest; the map is
        unchanged."""
        self._clock = CLOCK.choose(self.compat)(self.integration_step)
        self._noise.reading = 0
        self._store(NO_COMMAND.choose(self.compat))
        self.reset_base()

    def reset_base(
        self, pose: Any = (0.0, 0.0, 0.0), middle_steering: rad = 0.0, linear_velocity: m_s = 0.0
    ) -> None:
        """Put the base point at a pose (x, y, yaw); clock, command and map are unchanged.

        `middle_steering` is the angle of a virtual wheel at the centre of the front axle, positive
        to the left; `linear_velocity` the speed of the base point, negative in reverse.
        """
        at = _pose(pose)
        steer = must_be("middle_steering", middle_steering, _FINITE, "rad")
        velocity = must_be("linear_velocity", linear_velocity, _FINITE, "m/s")
        p, most = self.params, truck.steer_limit(self.params)
        if CHECKS_STARTS.choose(self.compat):
            if abs(steer) > most + _ROUNDING:
                raise InvalidValue(
                    f"middle_steering = {steer} rad must be within {most:.6g} rad to either side: "
                    "the wheels turn no further"
                )
            if not p.v_min - _ROUNDING <= velocity <= p.v_max + _ROUNDING:
                raise InvalidValue(
                    f"linear_velocity = {velocity} m/s must be from {p.v_min:g} to {p.v_max:g} m/s"
                )
        v_x = REAR_SPEED.choose(self.compat)(velocity, steer, p)
        must_be("speed of the rear axle", v_x, _FINITE, "m/s")
        place = truck.body_point(State(*at), -p.base_to_rear, 0.0)
        self._drive.put(State(place.x, place.y, at.yaw, steer, v_x))
        self._look()

    def reset_map(self, map: str | Path | Map) -> None:
        """Replace the obstacles; pose, speed, clock and command are unchanged.

        If a file cannot be read, the current map is kept; under compat="upstream" it is removed.
        """
        try:
            scene = self._loaded(map)
        except InvalidValue:
            if DROPS_MAP.choose(self.compat):
                self._use(_NO_MAP)
            raise
        self._use(scene)
        self._look()

    def erase_map(self) -> None:
        """Remove all obstacles."""
        self._use(_NO_MAP)
        self._status = Status.IN_PROGRESS

    @overload
    def set_base_control(self, velocity: m_s, curvature: per_m, /) -> None: ...
    @overload
    def set_base_control(
        self, velocity: m_s, acceleration: m_s2 | None, curvature: per_m
    ) -> None: ...
    @overload
    def set_base_control(
        self, velocity: m_s, *, curvature: per_m, acceleration: m_s2 | None = None
    ) -> None: ...

    def set_base_control(self, velocity: m_s, *rest: Any, **named: Any) -> None:
        """Command the base point until the next command, also across a reset of its pose.

        `set_base_control(velocity, acceleration, curvature)`; without an acceleration, the limits
        of the truck apply. Speed, curvature and acceleration are limited; the acceleration is a
        magnitude, for speeding up or slowing down as the velocity requires.
        """
        order = ("curvature",) if len(rest) == 1 and "curvature" not in named else _BOTH
        demands = dict(zip(order, rest, strict=False)) | named
        twice = set(named) & set(order[: len(rest)])
        unknown = set(demands) - set(_BOTH)
        if len(rest) > len(order) or twice or unknown or "curvature" not in demands:
            raise TypeError(
                "set_base_control takes (velocity, curvature) or (velocity, acceleration, "
                "curvature)"
            )
        acceleration = demands.get("acceleration")
        v = must_be("velocity", velocity, _FINITE, "m/s")
        kappa = must_be("curvature", demands["curvature"], _FINITE, "1/m")
        if acceleration is not None:
            acceleration = must_be("acceleration", acceleration, non_negative, "m/s²")
        store = STORE.choose(self.compat)
        self._store(store(v, acceleration, kappa, self.rear, self.params))

    def advance(self, seconds: s = 1.0) -> None:
        """Simulate some time, in s; after a collision nothing changes, including the clock, until a
        reset."""
        duration = must_be("seconds", seconds, positive, "s")
        if self._status is not Status.IN_PROGRESS:
            return
        steps = self._clock.steps_in(duration)
        self._clock.advanced(duration, steps, self._run(steps))

    def _run(self, steps: int) -> int:
        """Take inner steps until the body touches an obstacle; returns their number."""
        start, count = self.rear, 0
        every_step = CHECKS_EVERY_STEP.choose(self.compat)
        try:
            while count < steps:
                before = self.rear
                states = self._drive.run(min(BLOCK, steps - count))
                count += len(states)
                if (every_step or count == steps) and not self._map.empty:
                    path = np.vstack([np.array([before]), states])
                    hit = self._surroundings.first_contact(path)
                    if hit is not None:
                        self._drive.put(states[hit].tolist())
                        self._status = Status.COLLISION
                        return count - len(states) + hit + 1
        except Exception:
            self._drive.put(start)
            raise
        if not steps and not every_step:
            self._look()
        return count

    def state(self) -> EngineState:
        """Current state and readings of the sensors; each call draws new noise."""
        x, p, noise = self.rear, self.params, self._noise
        rear = Twist(curvature_of(x.steer, p.wheel_base), x.v_x)
        base = twist_at(rear, p.base_to_rear, 0.0)
        target_speed = TARGET_SPEED.choose(self.compat)(self._command, p)
        act = truck.actuation(x, self._rear_command, p, self.integration_step)
        gyro, accel = self._imu(x, rear, act)
        force = noise.added("accel", np.array(accel))
        rate = noise.added("gyro", np.array(gyro))
        ranges = noise.added("lidar", self._surroundings.scan(x))
        noise.reading += 1
        return EngineState(
            status=self._status,
            time=self.time,
            time_ns=self._clock.time_ns,
            odom_base_pose=Pose(*truck.body_point(x, p.base_to_rear, 0.0), x.yaw),
            current_steering=self._steering(rear.curvature),
            target_steering=self._steering(self._rear_command.curvature),
            base_twist=base,
            odom_base_linear_velocity=Velocity(*BASE_VELOCITY.choose(self.compat)(x, base, p)),
            base_angular_velocity=rear.omega,
            wheel_velocity=wheel_spin(rear, p.wheel_base, p.track, p.wheel_radius),
            current_motor_rps=motor_rate(base.velocity, p.wheel_radius, p.gear_ratio),
            target_motor_rps=motor_rate(target_speed, p.wheel_radius, p.gear_ratio),
            lidar_ranges=self._surroundings.shown(ranges),
            gyro_angular_velocity=AngularVelocity(*rate.tolist()),
            accel_linear_acceleration=SpecificForce(*force.tolist()),
        )

    def _steering(self, curvature: per_m) -> Steering:
        p = self.params
        return Steering(
            steer_of(curvature, p.wheel_base), *front_wheels(curvature, p.wheel_base, p.track)
        )

    def _store(self, command: Any) -> None:
        self._command = command
        self._rear_command = REAR.choose(self.compat)(command, self.params)
        self._drive.hold(MODEL_INPUT.choose(self.compat)(self._rear_command, self.params))

    def _loaded(self, map: str | Path | Map) -> Map:
        if isinstance(map, Map):
            return map
        if not isinstance(map, (str, Path)):
            raise InvalidValue(f"map = {map!r} must be the path of a map file or a Map")
        return LOAD.choose(self.compat)(map)

    def _use(self, map: Map) -> None:
        surroundings = SURROUNDINGS.choose(self.compat)
        self._surroundings = surroundings(map, self.model, self.precision)
        self._map = map

    def _look(self) -> None:
        """Check whether the body touches an obstacle in the current state."""
        hit = not self._map.empty and self._surroundings.touches(self.rear)
        self._status = Status.COLLISION if hit else Status.IN_PROGRESS


def _pose(pose: Any) -> Pose:
    try:
        numbers = tuple(pose)
    except TypeError:
        numbers = ()
    if len(numbers) != 3:
        raise InvalidValue(f"pose = {pose!r} must be three numbers: x in m, y in m, yaw in rad")
    units = zip(Pose._fields, numbers, ("m", "m", "rad"), strict=True)
    return Pose(*(must_be(f"pose.{name}", value, _FINITE, unit) for name, value, unit in units))
