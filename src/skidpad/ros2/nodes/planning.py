"""Autoware's `simple_planning_simulator` as a node: topics, services and time around a
`PlanningSimulator`.

The vehicle advances by the time between ticks of the node's clock, as upstream's does; the first
tick advances by 0 s, and so does one after the clock was set back. The tick after a pause and one
of `~/step` advance by one period.

For models with pedals upstream starts a second node, `raw_vehicle_cmd_converter`. Here it is part
of the same node: a control command is converted when it arrives, and the result is published too.

The reports and their topics are a table (`reports`); the names of Autoware's launch file
(`simple_planning_simulator.launch.py`, autoware.universe b8ce82e) are `MOTION_PUBLISH_MODES`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ...compat.autoware import converter
from ...compat.autoware import reports as autoware
from ...compat.autoware.reports import (
    ActuationCommand,
    ControlCommand,
    InitialPose,
    Pose,
    checked_record,
)
from ...compat.autoware.road import read_lanelets
from ...compat.autoware.simulator import PlanningSimulator, takes_actuation
from ...core import record
from ...core.checks import not_negative, one_of
from ...errors import InvalidValue
from ...random.streams import fresh
from ...units import m, s
from ...vehicles.command_driven.records import GEAR_RATIO, LEARNED, PARAMETERS, SILENT, STEER_MAPPED
from ..dds import DEFAULT, LATCHED
from ..messages.types import message, service_type
from ..node import SECOND, Node, Remap
from .common import (
    ORIENTATION,
    POSITION,
    STAMP,
    Broadcaster,
    HotTopic,
    Listener,
    Rigid,
    header,
    inside,
)

ONE = DEFAULT._replace(depth=1)
"""Quality of service of all topics but `/tf`, as in upstream."""
_BARE_STAMP = ("stamp.sec", "stamp.nanosec")
_MESSAGES = "autoware_vehicle_msgs/msg"


class Report(NamedTuple):
    """A report of the simulator as a message: topic, type and fields."""

    topic: str
    type_name: str
    paths: tuple[str, ...]
    """Paths of the stamp, then of the fields in `numbers`."""
    name: str
    """Name of the report in `Reports`."""
    numbers: Callable[[Any], Sequence[Any]]
    """Function that returns the numbers from the report."""
    fixed: Mapping[str, Any] = {}
    """Constant values of the other fields."""


def reports(settings: autoware.Settings, *, actuation: bool) -> tuple[list[Report], list[Report]]:
    """The reports before and after the transform, in upstream's order."""
    origin, vehicle = header(settings.origin_frame_id), header(settings.simulated_frame_id)
    pose = inside("pose.pose", *POSITION, *ORIENTATION)
    imu_covariances = ("orientation", "angular_velocity", "linear_acceleration")

    def switch(topic: str, kind: str, name: str, number: str, field: str = "report") -> Report:
        paths = (*_BARE_STAMP, field)
        return Report(topic, f"{_MESSAGES}/{kind}", paths, name, lambda r: (getattr(r, number),))

    first = [
        Report(
            *("odometry", "nav_msgs/msg/Odometry"),
            (*STAMP, *pose, *inside("twist.twist", "linear.x", "angular.z")),
            *("odometry", lambda r: (*_flat(r.pose), r.v_x, r.omega)),
            {"header": origin, "child_frame_id": settings.simulated_frame_id},
        ),
        Report(
            *("pose", "geometry_msgs/msg/PoseWithCovarianceStamped", (*STAMP, *pose)),
            *("pose", lambda r: _flat(r.pose)),
            {"header": origin, "pose": ((), autoware.POSE_COVARIANCE)},
        ),
        Report(
            *("twist", f"{_MESSAGES}/VelocityReport"),
            (*STAMP, "longitudinal_velocity", "lateral_velocity", "heading_rate"),
            *("velocity", lambda r: r[2:], {"header": vehicle}),
        ),
        Report(
            *("acceleration", "geometry_msgs/msg/AccelWithCovarianceStamped"),
            (*STAMP, *inside("accel.accel.linear", "x", "y")),
            *("acceleration", lambda r: (r.a_x, r.a_y)),
            {
                "header": header(autoware.ACCELERATION_FRAME),
                "accel": ((), autoware.ACCELERATION_COVARIANCE),
            },
        ),
        Report(
            *("imu", "sensor_msgs/msg/Imu"),
            (*STAMP, *ORIENTATION, "angular_velocity.z", *inside("linear_acceleration", "x", "y")),
            *("imu", lambda r: (*r.orientation, r.omega, r.a_x, r.a_y)),
            {"header": header(autoware.IMU_FRAME)}
            | {f"{name}_covariance": autoware.IMU_COVARIANCE for name in imu_covariances},
        ),
        switch("control_mode_report", "ControlModeReport", "control_mode", "mode", "mode"),
        switch("gear_report", "GearReport", "gear", "gear"),
        switch(*("turn_indicators_report", "TurnIndicatorsReport"), *["turn_indicators"] * 2),
        switch(*("hazard_lights_report", "HazardLightsReport"), *["hazard_lights"] * 2),
    ]
    last: list[Report] = []
    if settings.enable_pub_steer:
        field = "steering_tire_angle"
        last.append(switch("steering", "SteeringReport", "steering", "steer", field))
    if actuation:
        kind, name = "tier4_vehicle_msgs/msg/ActuationStatusStamped", "actuation_status"
        paths = (*STAMP, *inside("status", "accel_status", "brake_status", "steer_status"))
        last.append(Report(name, kind, paths, name, lambda r: r[2:], {"header": vehicle}))
    return first, last


def _flat(pose: Pose) -> tuple[float, ...]:
    return (pose.x, pose.y, pose.z, *pose.orientation)


class ReportTopics:
    """Publishes the reports.

    Args:
        node: the node.
        settings: frames, and which reports are published.
        actuation: whether the model has pedals to report.
    """

    def __init__(self, node: Node, settings: autoware.Settings, *, actuation: bool) -> None:
        self._first, self._last = (
            [(HotTopic(node, f"output/{row[0]}", *row[1:3], ONE, **row.fixed), row) for row in rows]
            for rows in reports(settings, actuation=actuation)
        )
        frames = (settings.origin_frame_id, settings.simulated_frame_id)
        self._transform = Broadcaster(node, [frames])
        self.state_covariances(settings.x_stddev, settings.y_stddev)

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the x and y entries of the odometry's covariance."""
        covariance = self._first[0][0].message.array("pose.covariance")
        covariance[0], covariance[7] = x_stddev, y_stddev

    def send(self, now: int, reports: autoware.Reports) -> None:
        """Publish the reports with the time `now` in ns."""
        stamp = divmod(now, SECOND)
        self._send(self._first, stamp, reports)
        if reports.transform is not None:
            x, y, z, turn = reports.transform.pose
            self._transform.send(stamp, Rigid((x, y, z), turn))
        self._send(self._last, stamp, reports)

    def _send(self, table: Any, stamp: tuple[int, int], reports: autoware.Reports) -> None:
        for topic, row in table:
            report = getattr(reports, row.name)
            if report is not None:
                topic.send(*stamp, *row.numbers(report))


NAME = "simple_planning_simulator"
"""Node name of the upstream program."""
NAMESPACE = "/simulation"
"""Namespace of the node in the launch file."""

_ALWAYS = {
    "input/vector_map": "/map/vector_map",
    "input/initialpose": "/initialpose3d",
    "input/ackermann_control_command": "/control/command/control_cmd",
    "input/actuation_command": "/control/command/actuation_cmd",
    "input/manual_ackermann_control_command": "/vehicle/command/manual_control_cmd",
    "input/gear_command": "/control/command/gear_cmd",
    "input/manual_gear_command": "/vehicle/command/manual_gear_command",
    "input/turn_indicators_command": "/control/command/turn_indicators_cmd",
    "input/hazard_lights_command": "/control/command/hazard_lights_cmd",
    "input/trajectory": "/planning/scenario_planning/trajectory",
    "input/engage": "/vehicle/engage",
    "input/control_mode_request": "/control/control_mode_request",
    "output/imu": "/sensing/imu/imu_data",
    # Topic of upstream's node raw_vehicle_cmd_converter, which is part of this node.
    "output/actuation_command": "/control/command/actuation_cmd",
} | {
    f"output/{name}": f"/vehicle/status/{status}"
    for name, status in (
        *(("twist", "velocity_status"), ("steering", "steering_status")),
        *(("control_mode_report", "control_mode"), ("actuation_status", "actuation_status")),
        *((f"{n}_report", f"{n}_status") for n in ("gear", "turn_indicators", "hazard_lights")),
    )
}
_DEBUG = "/simulation/debug"
_MOTION = {
    "output/odometry": "/localization/kinematic_state",
    "output/acceleration": "/localization/acceleration",
}
_POSE = {"output/pose": "/localization/pose_estimator/pose_with_covariance"}


MOTION_PUBLISH_MODES = {
    "full_motion": _ALWAYS | _MOTION | {topic: _DEBUG + name for topic, name in _POSE.items()},
    "pose_only": _ALWAYS | {topic: _DEBUG + name for topic, name in _MOTION.items()} | _POSE,
}
"""Topic names of the launch file by its argument motion_publish_mode.

With `full_motion` the simulator takes the place of localisation, with `pose_only` that of the
scan matcher before it.
"""


_DYNAMIC = ("x_stddev", "y_stddev")
_ELSEWHERE = ("use_sim_time",)
"""Parameters that are ignored here because other parts of a node declare them."""
_IGNORED = (
    *(name for name in sorted(SILENT) if name not in _ELSEWHERE),
    *("is_debugging", "convert_actuation_to_steering_status", "use_vehicle_adaptor"),
)
"""Parameters of Autoware's files that have no effect here."""
_MAPS = {
    "csv_path_accel_map": "accel_map_path",
    "csv_path_brake_map": "brake_map_path",
    "csv_path_steer_map": "steer_map_path",
}
"""Parameter names of maps: the converter's, and the simulator's."""
_NO_LIMIT = 1e9
"""Stand-in for infinity, as parameters are finite; no command is as large."""


def simulator_maker(
    node: Node, *, allow_import: bool, **options: Any
) -> Callable[[], PlanningSimulator]:
    """Return a function that makes the simulator for the parameters of a node."""
    wanted = node.parameters.wanted
    values = {name: wanted[name] for name in PARAMETERS if name in wanted}
    if values.get("vehicle_model_type") in LEARNED and not allow_import:
        raise InvalidValue(
            f"vehicle_model_type = {values['vehicle_model_type']} would import and call the Python "
            f"modules {values.get('model_module_paths')}; allow it if you trust the parameters"
        )
    logged: set[str] = set()

    def make() -> PlanningSimulator:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            simulator = PlanningSimulator(None, values, **options)
        for text in {str(note.message) for note in notes} - logged:
            logged.add(text)
            node.log("warn", text)
        return simulator

    return make


def _steering(node: Node, parameters: Mapping[str, Any], table: Any) -> Any:
    model = parameters["vehicle_model_type"]
    if model in STEER_MAPPED:
        declare = node.parameters.declare
        feedback = converter.SteerFeedback(
            *(
                declare(f"steer_pid.{leaf.name}", leaf.default, leaf.doc)
                for leaf in record.fields(converter.SteerFeedback)
            )
        )
        used = declare("use_steer_fb", True, "whether steering is fed back")
        lag = parameters["steer_time_constant"]
        return converter.SteerMap(table("steer_map"), feedback if used else None, lag)
    if model in GEAR_RATIO:
        return converter.SteeringWheel(*(parameters[f"vgr_coef_{letter}"] for letter in "abc"))
    return converter.TyreAngle()


Put = Callable[[InitialPose], Any]


class Placing:
    """Transforms poses to the origin frame and passes them on.

    The translation of the transform is added and its rotation ignored, as in Autoware's simulator;
    an ignored rotation is logged.

    Args:
        node: the node.
        origin: the frame of the results.
    """

    def __init__(self, node: Node, origin: str) -> None:
        self._node, self._origin = node, origin.strip("/")
        self._transforms = Listener(node)
        self._waiting: dict[str, tuple[str, InitialPose, Put]] = {}

    def ask(self, kind: str, header: Any, pose: Any, put: Put) -> bool:
        """Pass a pose on, at once or when its frame becomes known; returns whether it was passed on
        at once.

        A later pose of the same kind replaces a waiting one.
        """
        place, yaw = pose.position, autoware.yaw_of(autoware.Quaternion(*pose.orientation))
        wanted = InitialPose(place.x, place.y, yaw, place.z)
        wanted = checked_record(InitialPose, wanted, {})
        frame = header.frame_id.strip("/") or self._origin
        self._waiting.pop(kind, None)
        if self._pass_on(frame, wanted, put):
            return True
        self._waiting[kind] = (frame, wanted, put)
        self._node.log("warn", f"{kind} waits for a transform from {frame} to {self._origin}")
        return False

    def look(self) -> None:
        """Pass on the waiting poses whose frames are known."""
        for kind, waiting in [*self._waiting.items()]:
            try:
                done = self._pass_on(*waiting)
            except InvalidValue as error:
                self._node.log("error", f"{kind}: {error}")
                done = True
            if done:
                del self._waiting[kind]

    def forget(self) -> None:
        self._waiting.clear()

    def _pass_on(self, frame: str, wanted: InitialPose, put: Put) -> bool:
        if frame == self._origin:
            put(wanted)
            return True
        place = self._transforms.where(frame, self._origin)
        if place is None:
            return False
        if abs(place.rotation[3]) < 1.0 - 1e-9:
            self._node.log(
                "warn",
                f"frame {frame} is turned in {self._origin}; the turn is left out, as Autoware's "
                f"simulator does: ask for poses in {self._origin}",
            )
        x, y, z = place.translation
        put(InitialPose(wanted.x + x, wanted.y + y, wanted.yaw, wanted.z + z))
        return True


_COMMANDS = DEFAULT._replace(depth=100)
"""Depth for lock-step, in which every command counts and none may replace another."""
_CONTROL = "autoware_control_msgs/msg/Control"
_ACTUATION = "tier4_vehicle_msgs/msg/ActuationCommandStamped"
_MODE = "autoware_vehicle_msgs/srv/ControlModeCommand"
_SET_POSE = "/api/simulator/set/pose"
_SUCCESS, _WARN, _ERROR = 1, 3, 4
"""Codes of `tier4_external_api_msgs/ResponseStatus`."""


class Planning:
    """Autoware's planning simulator as a program of a node, as in `skidpad ros2 planning`.

    Args:
        node: its node, with the parameters of Autoware's files.
        compat: None for the repaired models, "upstream" to reproduce the program.
        seed: seed of the measurement noise; None for a random one.
        motion_publish_mode: "full_motion" or "pose_only" for the topic names of Autoware's launch
            file; None for those of the node, such as "input/gear_command".
        convert: whether models with pedals take control commands, through the converter, rather
            than actuation commands.
        allow_import: whether the parameters may name Python modules for LEARNED_STEER_VEL.
    """

    def __init__(
        self,
        node: Node,
        *,
        compat: str | None = None,
        seed: int | None = None,
        motion_publish_mode: str | None = None,
        convert: bool = True,
        allow_import: bool = False,
    ) -> None:
        if motion_publish_mode is not None:
            one_of("motion_publish_mode", motion_publish_mode, tuple(MOTION_PUBLISH_MODES))
            names = MOTION_PUBLISH_MODES[motion_publish_mode]
            rules = (*node.arguments.remaps, *(Remap(old, new) for old, new in names.items()))
            node.arguments = replace(node.arguments, remaps=rules)
        self._node = node
        map_file = node.parameters.declare(
            "lanelet2_map_path", "", "Lanelet2 map for slopes; empty: level ground"
        )
        road = read_lanelets(Path(map_file)) if map_file else None
        options = {"compat": compat, "seed": fresh() if seed is None else seed, "road": road}
        self._make = simulator_maker(node, allow_import=allow_import, **options)
        self.simulator = self._make()
        # Declare every parameter of the model, and all others that were supplied.
        parameters = self.simulator.parameters
        wanted, model = node.parameters.wanted, parameters["vehicle_model_type"]
        for name, parameter in PARAMETERS.items():
            value: Any = parameters[name]
            used = (not parameter.models or model in parameter.models) and not parameter.unread
            if value is None or not (used or name in wanted):
                continue
            # Parameters are declared with ROS types: integers become floating-point numbers, tuples
            # lists.
            typed = {"double": float, "strings": list}.get(parameter.kind, lambda same: same)
            node.parameters.declare(
                name,
                typed(value),
                f"{parameter.meaning}, {parameter.unit}",
                dynamic=name in _DYNAMIC,
                check=partial(not_negative, name) if name in _DYNAMIC else None,
            )
        for name in _IGNORED:
            if wanted.get(name) is not None:
                node.parameters.declare(name, wanted[name], "no effect")
        self.period: s = self.simulator.period
        actuation = takes_actuation(self.simulator.model.inputs)
        self._converter = None
        if actuation and convert:
            # The converter uses the maps of the model unless its own parameters name others.
            declare = node.parameters.declare
            maps = {
                path: declare(own, "", f"CSV map of the converter; empty: that of {path}")
                for own, path in _MAPS.items()
            }
            limits = {
                "max_throttle": declare("max_throttle", _NO_LIMIT, "largest accelerator command"),
                "max_brake": declare("max_brake", _NO_LIMIT, "largest brake command"),
                "max_steer": declare("max_steer", _NO_LIMIT, "largest steering command"),
                "min_steer": declare("min_steer", -_NO_LIMIT, "smallest steering command"),
            }

            def table(name: str) -> Any:
                """Map of an active conversion: the converter's own, else the model's."""
                model_map = parameters[name]
                return None if model_map is None else (maps[f"{name}_path"] or model_map)

            steering = _steering(node, parameters, table)
            self._converter = converter.CommandConverter(
                table("accel_map"), table("brake_map"), steering, compat=compat, **limits
            )
            self._feeds_forward = node.parameters.declare(
                "use_steer_ff", True, "whether the rate of steering is fed forward"
            )
            paths = (*STAMP, *inside("actuation", "accel_cmd", "brake_cmd", "steer_cmd"))
            self._converted_topic = HotTopic(
                *(node, "output/actuation_command", _ACTUATION, paths, ONE),
                header=header("base_link"),
            )
        self._topics = ReportTopics(node, self.simulator.settings, actuation=actuation)
        self._placing = Placing(node, self.simulator.settings.origin_frame_id)
        self._last_pose: InitialPose | None = None
        self._reports: autoware.Reports | None = None
        self._start_clock()
        self._told_of_map = False
        self._subscribe(actuation)
        self._serve()
        node.parameters.changed.append(self._changed)

    def __repr__(self) -> str:
        return f"Planning({self._node!r})"

    def _start_clock(self) -> None:
        self._time = 0
        """Simulated time in ns, which stops during a pause."""
        self._ticked: int | None = None
        """The node's time at the last tick; None if the time since then must not be simulated."""
        self._first = True
        self._converted_at: int | None = None

    def _subscribe(self, actuation: bool) -> None:
        node = self._node
        kind = "autoware_map_msgs/msg/LaneletMapBin"
        node.subscribe("input/vector_map", kind, self._vector_map, LATCHED)
        kind = "geometry_msgs/msg/PoseWithCovarianceStamped"
        node.subscribe("input/initialpose", kind, self._initial_pose_message)
        node.subscribe("input/initialtwist", "geometry_msgs/msg/TwistStamped", self._initial_twist)
        if actuation and self._converter is None:
            node.obey("input/actuation_command", _ACTUATION, self._actuation, _COMMANDS)
        else:
            node.obey("input/ackermann_control_command", _CONTROL, self._control, _COMMANDS)
        node.subscribe("input/manual_ackermann_control_command", _CONTROL, self._manual_control)
        node.subscribe("input/trajectory", "autoware_planning_msgs/msg/Trajectory", self._path)
        for topic, kind, field, method in (
            ("gear_command", "GearCommand", "command", "gear"),
            ("manual_gear_command", "GearCommand", "command", "manual_gear"),
            ("turn_indicators_command", "TurnIndicatorsCommand", "command", "turn_indicators"),
            ("hazard_lights_command", "HazardLightsCommand", "command", "hazard_lights"),
            ("engage", "Engage", "engage", "engage"),
        ):
            node.subscribe(f"input/{topic}", f"{_MESSAGES}/{kind}", self._passed(field, method))

    def _passed(self, field: str, method: str) -> Any:
        """Return a function that passes a message field to a method of the current simulator."""
        return lambda message: getattr(self.simulator, method)(getattr(message, field))

    def _serve(self) -> None:
        for name, kind, answer in (
            ("input/control_mode_request", _MODE, self._mode_request),
            (_SET_POSE, "tier4_external_api_msgs/srv/InitializePose", self._set_pose),
            ("~/set_pose", "nav2_msgs/srv/SetInitialPose", self._put_anywhere),
        ):
            self._node.serve(name, kind, answer)

    def tick(self) -> None:
        """Advance to the node's time and publish."""
        self._placing.look()
        now = self._node.clock.now()
        self._time += self._elapsed(now)
        self._ticked, self._first = now, False
        self._reports = self.simulator.tick_at(self._time)
        self._topics.send(now, self._reports)

    def _elapsed(self, now: int) -> int:
        if self._ticked is None:
            # The simulator ignores the time of the first tick.
            return 0 if self._first else round(self.period * SECOND)
        elapsed = now - self._ticked
        if elapsed < 0:
            self._node.log("warn", f"the clock went back by {-elapsed / SECOND:g} s")
            return 0
        return elapsed

    def interrupted(self) -> None:
        """Ignore the time since the last tick, which was a pause."""
        self._ticked = None

    def reset(self) -> None:
        """Restart at the last initial pose, without commands, with the same noise."""
        self.simulator = self._make()
        for name in _DYNAMIC:
            self._changed(name, self._node.parameters[name])
        self._placing.forget()
        self._reports = None
        if self._converter is not None:
            self._converter.reset()
        self._start_clock()
        if self._last_pose is not None:
            self.simulator.initial_pose(self._last_pose)

    def _changed(self, name: str, value: Any) -> None:
        if name in _DYNAMIC:
            self.simulator.covariances(**{name: value})
            settings = self.simulator.settings
            self._topics.state_covariances(settings.x_stddev, settings.y_stddev)

    def _control(self, message: Any) -> None:
        command = self.simulator.command(self._converted(message))
        if self._converter is not None:
            self._converted_topic.send(*message.stamp, *command)

    def _manual_control(self, message: Any) -> None:
        self.simulator.manual_command(self._converted(message))

    def _converted(self, message: Any) -> ControlCommand | ActuationCommand:
        """Command of a message or, if the model has pedals, the pedals for it at the reported
        motion, as in upstream's node."""
        a, steer_wanted = message.longitudinal.acceleration, message.lateral.steering_tire_angle
        if self._converter is None:
            return ControlCommand(message.longitudinal.velocity, a, steer_wanted)
        motion, reports = self.simulator.motion, self._reports
        v_x, steer = motion.v_x, motion.steer
        if reports is not None and reports.odometry is not None:
            v_x = reports.odometry.v_x
        if reports is not None and reports.steering is not None:
            steer = reports.steering.steer
        before = self._time if self._converted_at is None else self._converted_at
        rate = message.lateral.steering_tire_rotation_rate if self._feeds_forward else 0.0
        dt = (self._time - before) / SECOND
        converted = self._converter.convert(a, steer_wanted, v_x, steer, dt, steer_rate=rate)
        self._converted_at = self._time
        return converted

    def _actuation(self, message: Any) -> None:
        self.simulator.command(ActuationCommand(*message.actuation))

    def _path(self, message: Any) -> None:
        self.simulator.trajectory([tuple(point.pose.position) for point in message.points])

    def _vector_map(self, message: Any) -> None:
        if self.simulator.road is None and not self._told_of_map:
            self._told_of_map = True
            self._node.log(
                "warn",
                f"the map on {self._node.name('input/vector_map')} is an archive of a C++ library "
                "that is not read here, so the ground is level: give the map's file by the "
                "parameter lanelet2_map_path",
            )

    def _ask(self, name: str, message: Any, put: Any) -> bool:
        return self._placing.ask(self._node.name(name), message.header, message.pose.pose, put)

    def _initial_pose_message(self, message: Any) -> None:
        self._ask("input/initialpose", message, self._initial_pose)

    def _initial_pose(self, pose: InitialPose) -> None:
        self._last_pose = self.simulator.initial_pose(pose)

    def _initial_twist(self, message: Any) -> None:
        if not self.simulator.initial_twist(message.twist.linear.x):
            topic = self._node.name("input/initialtwist")
            self._node.log("warn", f"{topic} is ignored: there was no initial pose before")

    def _mode_request(self, request: Any) -> Any:
        granted = self.simulator.request_control_mode(request.mode)
        return service_type(_MODE).response.Record(granted)

    def _set_pose(self, request: Any) -> Any:
        """Upstream's service, which does not change the height and the pose used by
        initialtwist."""
        status = (_SUCCESS, "")
        try:
            if not self._ask(_SET_POSE, request.pose, lambda pose: self.simulator.set_pose(pose)):
                frame = request.pose.header.frame_id
                status = (_WARN, f"waits for a transform from {frame}")
        except InvalidValue as error:
            status = (_ERROR, str(error))
        response = service_type("tier4_external_api_msgs/srv/InitializePose").response
        return message(response, status)

    def _put_anywhere(self, request: Any) -> Any:
        self._ask("~/set_pose", request.pose, self._initial_pose)
        return service_type("nav2_msgs/srv/SetInitialPose").response.Record()
