"""The `sim_node` of the brains2 project with the cars of skidpad.

Topics, types, services and parameters are those of the program at commit c975b02;
docs/ros2_vehicle.md lists them, and the errors that are repaired unless compat="upstream".

Tracks of brains2 are CSV files that begin at the origin, along the y axis; a random track has the
same frame. Foxglove and RViz show the car and its cones as boxes and cylinders.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from math import atan2, ceil, hypot, pi
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.body import Geometry, Pose
from ...core.checks import finite, one_of, positive
from ...core.files import brief_repr, yaml_of
from ...demo import lap as demo
from ...demo.shows import Laps, StartLine
from ...errors import InvalidValue, SkidpadError
from ...geometry.maps.cones import COLOURS, read_cones
from ...geometry.pose import points_to_body, points_to_world
from ...run.simulator import Simulator
from ...units import m, s
from ...vehicles.brains2_sim import brains2
from ...vehicles.formula import Input, State
from ...vehicles.twin_track.model import formula_student
from ...view.colours import CONES
from ...view.solids import UPRIGHT, Box, upright_solid, wheel_rotation, wheel_solid
from ..messages.types import message, service_type
from ..node import SECOND, Node
from .common import (
    ORIENTATION,
    STAMP,
    Broadcaster,
    HotTopic,
    Rigid,
    Watchdog,
    inside,
    limited,
    marker,
    serve_set_pose,
)

START = Pose(0.0, 0.0, 0.5 * pi)
"""Start pose on every track."""
DEFAULT_NAME = "alpha"
_RUN_UP: m = 6.0
"""Distance from the start to the start line of a random track."""
_LINE_FILE = "_center_line"


@dataclass(frozen=True, eq=False)
class ConeTrack:
    name: str
    cones: Mapping[str, Array]
    """Positions (n, 2) of the cones in m by colour: blue on the left, yellow on the right, orange
    at the start line."""
    line: StartLine

    __repr__ = brief_repr


def cone_track(database: str, name: str, seed: int) -> ConeTrack:
    """Load a track of a folder by its name; without a folder, make a random one from a seed."""
    if name and not database:
        raise InvalidValue(
            f"track_name = {name!r} needs track_database, the folder that has {name}.csv; without "
            "both a track is made up"
        )
    if not database:
        return _made_up(seed)
    name, folder = name or DEFAULT_NAME, Path(database)
    file = folder / f"{name}.csv"
    if not file.is_file():
        tracks = sorted(f.stem for f in folder.glob("*.csv") if not f.stem.endswith(_LINE_FILE))
        raise InvalidValue(
            f"track_name = {name!r}: there is no {file}; the folder has "
            f"{', '.join(tracks) or 'no tracks'}"
        )
    scene = read_cones(file, cone_radius=0.0, centre_line=None)
    colours = np.array(scene.colours)
    cones = {colour: scene.cones[colours == colour] for colour in COLOURS}
    return ConeTrack(name, cones, start_line(cones["orange"]))


@lru_cache(maxsize=8)
def _made_up(seed: int) -> ConeTrack:
    track = demo.random_track(seed)
    start = track.line.at(-_RUN_UP)[:3]
    names = {CONES[colour]: colour for colour in COLOURS}
    places: dict[str, list[tuple[m, m]]] = {colour: [] for colour in COLOURS}
    for cone in demo.cones(track):
        places[names[str(cone.colour)]].append((cone.x, cone.y))
    cones = {
        colour: points_to_world(START, points_to_body(start, np.array(listed)))
        for colour, listed in places.items()
    }
    return ConeTrack(f"made up from seed {seed}", cones, start_line(cones["orange"]))


def start_line(orange: Array) -> StartLine:
    """The line between the nearest orange cones on the left and on the right of the start."""
    left_of_start = points_to_body(START, orange)[:, 1] > 0.0
    sides = orange[left_of_start], orange[~left_of_start]
    if not all(len(side) for side in sides):
        raise InvalidValue(
            f"a track needs orange cones on both sides of its start line, seen from the start at "
            f"the origin along the y axis; there are {len(sides[0])} on the left and "
            f"{len(sides[1])} on the right"
        )
    left, right = (side[np.hypot(*(side - START[:2]).T).argmin()] for side in sides)
    across, middle = left - right, 0.5 * (left + right)
    heading = atan2(-across[0], across[1])
    return StartLine(float(middle[0]), float(middle[1]), heading, 0.5 * hypot(*across))


_SMALL: tuple[m, m] = (0.228, 0.325)
_LARGE: tuple[m, m] = (0.285, 0.505)
"""Width and height of the cones of Formula Student."""
_COLOURS = {
    "blue": (0.0, 0.0, 1.0, 1.0),
    "yellow": (1.0, 1.0, 0.0, 1.0),
    "orange": (1.0, 0.5, 0.0, 1.0),
}
"""Colours of the cones."""
_TUB, _TYRES = (1.0, 1.0, 1.0, 1.0), (0.25, 0.25, 0.25, 1.0)
"""Colours of the displayed car."""
_TUB_WIDTH = 0.6
"""Width of the displayed body as a share of the track width, so that the wheels are visible."""
_TUB_HEIGHT: m = 0.45
STEERED = (1, 2)
"""Marker numbers of the front wheels."""


class LapClock:
    """Lap times of one car; 0 before the first lap."""

    def __init__(self, line: StartLine) -> None:
        self._line = line
        self.last: s = 0.0
        self.best: s = 0.0
        self.restart(0.0, 0.0, 0.0)

    def restart(self, t: s, x: m, y: m) -> None:
        """Discard the current lap after a teleport; lap times are kept."""
        self._laps = Laps(["car"], {"car": self._line})
        self._laps.start(t, np.array([[x, y]]))
        self._before = t, x, y
        self._count = 0

    def add(self, t: s, x: m, y: m) -> bool:
        """Add the current position; returns whether it completes a lap."""
        (t_before, *place_before) = self._before
        self._before = t, x, y
        self._laps.add(np.array([t_before, t]), np.array([[place_before], [[x, y]]]))
        times = self._laps.times(0)
        if len(times) == self._count:
            return False
        self._count, self.last = len(times), times[-1]
        self.best = min(self.best or self.last, self.last)
        return True


_CONES_EVERY: s = 1.0
_OK, _ERROR = 0, 2
"""Levels of `diagnostic_msgs/DiagnosticStatus`."""


class CarMessages:
    """Publishes the motion of a car: pose, velocity, acceleration, actuators and transform."""

    def __init__(self, node: Node) -> None:
        self._node = node

        def hot(topic: str, kind: str, *fields: str) -> HotTopic:
            return HotTopic(node, f"/brains2/{topic}", f"brains2/msg/{kind}", (*STAMP, *fields))

        self._pose = hot("pose", "Pose", "x", "y", "phi")
        self._velocity = hot("velocity", "Velocity", "v_x", "v_y", "omega")
        self._acceleration = hot("acceleration", "Acceleration", "a_x", "a_y")
        torques = (f"tau_{wheel}" for wheel in ("fl", "fr", "rl", "rr"))
        self._controls = hot("current_controls", "Controls", "delta", *torques)
        self._frame = Broadcaster(node, [("world", "car")])

    def send(self, x: State, a_x: float, a_y: float, braking: tuple[float, ...]) -> None:
        """Publish a state, with its acceleration and the torques of the brakes."""
        stamp = self._node.stamp()
        self._pose.send(*stamp, x.x, x.y, x.yaw)
        self._velocity.send(*stamp, x.v_x, x.v_y, x.omega)
        self._acceleration.send(*stamp, a_x, a_y)
        torques = (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)
        acting = (tau - brake for tau, brake in zip(torques, braking, strict=True))
        self._controls.send(*stamp, x.steer, *acting)
        self._frame.send(stamp, Rigid.planar(x.x, x.y, x.yaw))


class Pictures:
    """Publishes markers: the car with every state, the cones occasionally.

    Args:
        node: the node.
        car: shape of the car.
        track: the track with the cones.
        always: whether cones are sent with every state, as upstream does; otherwise once a second,
            and for each new subscriber.
    """

    def __init__(self, node: Node, car: Geometry, track: ConeTrack, *, always: bool) -> None:
        self._node, self._always = node, always
        # The tub, then the wheels front left, front right, rear left, rear right.
        xs = [x for outline in car.outlines for x, _ in outline]
        front, rear = max(xs), min(xs)
        wheels = sorted(car.wheels, key=lambda wheel: (-wheel.x, -wheel.y))
        middle = (0.5 * (front + rear), 0.0, wheels[0].radius + 0.25 * _TUB_HEIGHT)
        size = (front - rear, _TUB_WIDTH * (wheels[0].y - wheels[1].y), _TUB_HEIGHT)
        shapes = [marker("car", "chassis", 0, Box((middle, UPRIGHT), size, _TUB))]
        for number, wheel in enumerate(wheels, start=1):
            tyre = wheel_solid(wheel, wheel.x, wheel.y, 0.0, _TYRES)
            shapes.append(marker("car", "tires", number, tyre))
        self._count = len(shapes)
        stamps = (inside(f"markers[{k}]", *STAMP) for k in range(self._count))
        turns = (inside(f"markers[{k}].pose", *ORIENTATION) for k in STEERED)
        paths, kind = (*chain(*stamps), *chain(*turns)), "visualization_msgs/msg/MarkerArray"
        self._car = HotTopic(node, "/brains2/viz/sim", kind, paths, markers=shapes)
        self._topic = self._car.topic
        cones: list[Any] = []
        for colour, places in track.cones.items():
            width, height = _LARGE if colour == "orange" else _SMALL
            for number, (x, y) in enumerate(places.tolist()):
                cone = upright_solid(x, y, (width, width, height), _COLOURS[colour])
                cones.append(marker("world", f"{colour}_cones", number, cone))
        self._cones = self._topic.type.encode(self._topic.type.Record(cones))
        self._shown, self._readers = -SECOND, 0

    def send(self, steer: float) -> None:
        """Publish the car, and the cones if they are due."""
        readers, now = self._topic.readers, self._node.clock.now()
        # If the clock was set back, the cones are sent without delay.
        due = abs(now - self._shown) >= _CONES_EVERY * SECOND
        if self._always or due or readers > self._readers:
            self.send_cones()
        self._readers = readers
        turn = wheel_rotation(steer)
        self._car.send(*self._node.stamp() * self._count, *turn, *turn)

    def send_cones(self) -> None:
        self._shown = self._node.clock.now()
        self._topic.write(self._cones)


_FIELDS = {
    "inertia.mass": "m", "inertia.yaw_inertia": "I_z", "geometry.cog_to_rear_axle": "l_r",
    "geometry.cog_height": "z_cg", "geometry.axle_track": "track", "drivetrain.C_m0": "C_m0",
    "drivetrain.C_r0": "C_r0", "drivetrain.C_r1": "C_r1", "drivetrain.C_r2": "C_r2",
    "aero.C_downforce": "C_down", "pacejka.constant.Ba": "tyre.B", "pacejka.constant.Ca": "tyre.C",
    "pacejka.constant.Da": "tyre.D", "pacejka.constant.Ea": "tyre.E",
    "actuators.torque_max": "tau_max", "actuators.steering_max": "steer_max",
    "actuators.steering_rate_max": "steer_rate_max", "actuators.motor_time_constant": "t_tau",
    "actuators.steering_time_constant": "t_steer",
}  # fmt: skip
"""Parameters of `brains2` by their key in the file; upstream does not use the other keys either."""
_WHEEL_BASE = "geometry.wheelbase"


def car_constants(file: str) -> dict[str, float]:
    """Parameters of `brains2` by dotted name, from a file; empty for an empty path: the shipped
    car."""
    if not file:
        return {}
    content = yaml_of(file)
    numbers = {ours: _number(file, content, key) for key, ours in _FIELDS.items()}
    return {**numbers, "l_f": _number(file, content, _WHEEL_BASE) - numbers["l_r"]}


_SAME = ("m", "I_z", "l_f", "l_r", "z_cg", "C_down", "tau_max", "steer_max", "steer_rate_max",
         "t_tau", "t_steer")  # fmt: skip
_G = 9.81


def own_car(file: str) -> dict[str, float]:
    """Parameters of `formula_student` from the constants in a file; empty for an empty path.

    Only rolling resistance (C_r0, as a share of the weight) and drag (C_r2) resist the motion. The
    car has no counterpart of C_r1, proportional to the speed, and of C_m0, the inverse wheel
    radius.
    """
    numbers = car_constants(file)
    if not numbers:
        return {}
    return {
        **{name: numbers[name] for name in _SAME},
        **{f"track_{axle}": numbers["track"] for axle in "fr"},
        **{f"tyres.tyre.lateral.{name}": numbers[f"tyre.{name}"] for name in "BCDE"},
        "tyres.tyre.carcass.rolling": numbers["C_r0"] / (numbers["m"] * _G),
        "C_drag": 2.0 * numbers["C_r2"],
    }


def _number(file: str, content: Any, key: str) -> float:
    for part in key.split("."):
        if not isinstance(content, Mapping) or part not in content:
            raise InvalidValue(f"{file}: {key} is missing")
        content = content[part]
    return finite(f"{file}: {key}", content)


NAME = "sim_node"
"""Node name of the upstream program."""
_STEP: s = 1.0001e-3
"""Longest inner step: that of upstream up to rounding; the solver converges for every
command."""


class Brains2:
    """A Formula Student car on a cone track as a program of a node, as in `skidpad ros2 brains2`.

    Args:
        node: its node.
        compat: None, or "upstream" to reproduce the program with its errors.
    """

    __repr__ = brief_repr

    def __init__(self, node: Node, *, compat: str | None = None) -> None:
        one_of("compat", compat, (None, "upstream"))
        self._node = node
        upstream = compat is not None
        declare = node.parameters.declare
        check = partial(positive, "freq", unit="1/s")
        self.period: s = 1.0 / declare("freq", 100.0, "Ticks in 1/s.", check=check)
        self.track = cone_track(
            declare("track_database", "", "Folder with the tracks; a made-up track if empty."),
            declare("track_name", "", "Track of the folder; alpha if empty."),
            declare("track_seed", 0, "Of a made-up track."),
        )
        for name, default in (("use_remote_meshes", False), ("remote_meshes_url", "")):
            declare(name, default, "Without effect: markers are boxes and cylinders.")
        constants = declare("car_constants", "", "A car_constants.yaml; the shipped car if empty.")
        car = brains2(car_constants(constants)) if upstream else formula_student(own_car(constants))
        self._upstream = upstream
        self.simulator = Simulator(
            car, self.period, "radau4" if upstream else "auto", substeps=ceil(self.period / _STEP)
        )
        """The simulated car."""
        self._input = Input()
        self.laps = LapClock(self.track.line)
        """Lap times of the car."""
        self._messages = CarMessages(node)
        kind = "diagnostic_msgs/msg/DiagnosticArray"
        self._diagnostics = node.publisher("/brains2/diagnostics/sim", kind)
        geometry = self.simulator.vehicle.geometry
        self._pictures = Pictures(node, geometry, self.track, always=upstream)
        self._watchdog = Watchdog(node, self._stop)
        node.obey("/brains2/target_controls", "brains2/msg/Controls", self._command)
        for name, function in (
            ("reset", self.reset),
            ("publish_cones_markers", self._pictures.send_cones),
        ):
            node.serve(f"/brains2/{name}", "std_srvs/srv/Empty", partial(_serve, function))
        serve_set_pose(node, "world", self._put)
        self._put(START)

    def tick(self) -> None:
        """Advance by the period and publish everything."""
        self._watchdog.look()
        began = time.perf_counter()
        try:
            state = self.simulator.step(self._target())
        except SkidpadError as error:
            self._diagnose(time.perf_counter() - began, error)
            raise
        runtime = time.perf_counter() - began
        # Upstream uses the system clock, which differs from simulated time on a slow machine.
        if self.laps.add(self.simulator.time, state.x, state.y):
            times = f"{self.laps.last:.3f} s (best: {self.laps.best:.3f} s)"
            self._node.log("info", f"lap completed in {times}")
        outputs = self.simulator.outputs()
        self._messages.send(state, outputs.a_x, outputs.a_y, self._braking)
        self._diagnose(runtime)
        self._pictures.send(state.steer)

    def _diagnose(self, runtime: s, error: SkidpadError | None = None) -> None:
        """Publish the health of the node, and lap times."""
        values = [
            ("sim runtime (ms)", f"{1000.0 * runtime:f}"),
            ("track name", self.track.name),
            ("last lap time (s)", f"{self.laps.last:f}"),
            ("best lap time (s)", f"{self.laps.best:f}"),
        ]
        level, text = (_OK, "OK") if error is None else (_ERROR, str(error))
        status, header = (level, "sim", text, "", values), (self._node.stamp(),)
        self._diagnostics.send(message("diagnostic_msgs/msg/DiagnosticArray", header, [status]))

    def reset(self) -> None:
        """Return to the start at rest, without a command, and publish the state; lap times are
        kept."""
        self._put(START)
        self._messages.send(self.simulator.state, 0.0, 0.0, self._braking)

    def _put(self, pose: Pose) -> None:
        self.simulator.reset(x=pose.x, y=pose.y, yaw=pose.yaw)
        self._stop()
        self._watchdog.forget()
        self.laps.restart(self.simulator.time, pose.x, pose.y)

    def _command(self, message: Any) -> None:
        limits = self.simulator.vehicle.params
        most = (limits.steer_max, *[limits.tau_max] * 4)
        _, *demands = message[: 1 + len(most)]
        names = message._fields[1 : 1 + len(most)]
        self._input = Input(
            *(
                limited(finite(*wanted), bound)
                for *wanted, bound in zip(names, demands, most, strict=True)
            )
        )
        self._watchdog.heard()

    def _stop(self) -> None:
        self._input = Input()

    def _target(self) -> Any:
        """Current target; a negative torque brakes and does not drive backwards, as in upstream
        (D20)."""
        steer, *torques = self._input
        drive = [max(torque, 0.0) for torque in torques]
        if not self._upstream:
            return self.simulator.vehicle.Input(steer, *drive, *self._braking)
        if self.simulator.state.v_x >= 0.0:
            return self._input
        return Input(steer, *drive)

    @property
    def _braking(self) -> tuple[float, ...]:
        """Brake torques for a negative command; 0 under compat="upstream"."""
        return tuple(0.0 if self._upstream else max(-torque, 0.0) for torque in self._input[1:])


def _serve(function: Callable[[], None], request: Any) -> Any:
    function()
    return service_type("std_srvs/srv/Empty").response.Record()
