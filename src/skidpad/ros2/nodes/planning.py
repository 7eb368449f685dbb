"""Autoware's `simple_planning_simulator` as a node: topics, services and time around a
`PlanningSimulator`.

The vehicle advances by the time between ticks of the node's clock, as upstream's does; the first
tick advances by 0 s, and so does one after the clock was set back. The tick after a pause and one
that is asked for by `~/step` advance by a period.

For models with pedals upstream starts a second node, `raw_vehicle_cmd_converter`. It is built in
here: the control command is converted when it arrives, and published converted, too.

The reports of a planning simulator as messages, on the topics of Autoware's node.

The names that Autoware's launch file gives the topics of its planning simulator.

Facts of `simple_planning_simulator.launch.py`, autoware.universe b8ce82e.

Parameters of Autoware's planning simulator and of its command converter, as a node has them.

Poses that others ask for, in whatever frame: kept until the way to our frame is known.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...compat.autoware.converter import (
    CommandConverter,
    SteerFeedback,
    SteeringWheel,
    SteerMap,
    TyreAngle,
)
from ...compat.autoware.messages import (
    ActuationCommand,
    ControlCommand,
    InitialPose,
    checked_record,
)
from ...compat.autoware.reports import (
    ACCELERATION_COVARIANCE,
    ACCELERATION_FRAME,
    IMU_COVARIANCE,
    IMU_FRAME,
    POSE_COVARIANCE,
    Quaternion,
    Reports,
    yaw_of,
)
from ...compat.autoware.road import read_lanelets
from ...compat.autoware.settings import Settings
from ...compat.autoware.simulator import PlanningSimulator, takes_actuation
from ...core import record
from ...core.checks import not_negative, one_of
from ...errors import InvalidValue
from ...random.streams import fresh
from ...units import m, s
from ...vehicles.command_driven.records import GEAR_RATIO, LEARNED, PARAMETERS, SILENT, STEER_MAPPED
from ..arguments import Remap
from ..messages.types import message_type, service_type
from ..node import SECOND, Node
from ..transforms import Broadcaster, Listener, Rigid
from ..transport import DEFAULT, LATCHED
from .common import ORIENTATION, POSITION, STAMP, HotTopic, inside

__all__ = [
    "NAME",
    "NAMESPACE",
    "Planning",
    "program",
]

ONE = DEFAULT._replace(depth=1)
"""The quality of service of all topics but `/tf`, as upstream's."""
_BARE_STAMP = ("stamp.sec", "stamp.nanosec")
_PLANNING_MESSAGES_VEHICLE = "autoware_vehicle_msgs/msg"


def header(frame: str) -> Any:
    """A header of a frame."""
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)


class ReportTopics:
    """Publishes reports.

    Args:
        node: whose topics they are.
        settings: frames and what is published at all.
        actuation: whether the model has pedals to report.
    """

    def __init__(self, node: Node, settings: Settings, *, actuation: bool) -> None:
        origin, vehicle = settings.origin_frame_id, settings.simulated_frame_id
        self._odometry = HotTopic(
            node,
            "output/odometry",
            "nav_msgs/msg/Odometry",
            (
                *STAMP,
                *inside("pose.pose", *POSITION, *ORIENTATION),
                *inside("twist.twist", "linear.x", "angular.z"),
            ),
            ONE,
            header=header(origin),
            child_frame_id=vehicle,
        )
        self.state_covariances(settings.x_stddev, settings.y_stddev)
        PoseWithCovariance = message_type("geometry_msgs/msg/PoseWithCovariance").Record
        self._pose = HotTopic(
            node,
            "output/pose",
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            (*STAMP, *inside("pose.pose", *POSITION, *ORIENTATION)),
            ONE,
            header=header(origin),
            pose=PoseWithCovariance(covariance=POSE_COVARIANCE),
        )
        self._transform = Broadcaster(node, [(origin, vehicle)])
        self._motion(node, vehicle)
        self._switches(node)
        self._steering = None
        if settings.enable_pub_steer:
            self._steering = HotTopic(
                node,
                "output/steering",
                f"{_PLANNING_MESSAGES_VEHICLE}/SteeringReport",
                (*_BARE_STAMP, "steering_tire_angle"),
                ONE,
            )
        self._actuation = None
        if actuation:
            self._actuation = HotTopic(
                node,
                "output/actuation_status",
                "tier4_vehicle_msgs/msg/ActuationStatusStamped",
                (*STAMP, *inside("status", "accel_status", "brake_status", "steer_status")),
                ONE,
                header=header(vehicle),
            )

    def _motion(self, node: Node, vehicle: str) -> None:
        self._velocity = HotTopic(
            node,
            "output/twist",
            f"{_PLANNING_MESSAGES_VEHICLE}/VelocityReport",
            (*STAMP, "longitudinal_velocity", "lateral_velocity", "heading_rate"),
            ONE,
            header=header(vehicle),
        )
        Accel = message_type("geometry_msgs/msg/AccelWithCovariance").Record
        self._acceleration = HotTopic(
            node,
            "output/acceleration",
            "geometry_msgs/msg/AccelWithCovarianceStamped",
            (*STAMP, *inside("accel.accel.linear", "x", "y")),
            ONE,
            header=header(ACCELERATION_FRAME),
            accel=Accel(covariance=ACCELERATION_COVARIANCE),
        )
        self._imu = HotTopic(
            node,
            "output/imu",
            "sensor_msgs/msg/Imu",
            (*STAMP, *ORIENTATION, "angular_velocity.z", *inside("linear_acceleration", "x", "y")),
            ONE,
            header=header(IMU_FRAME),
            orientation_covariance=IMU_COVARIANCE,
            angular_velocity_covariance=IMU_COVARIANCE,
            linear_acceleration_covariance=IMU_COVARIANCE,
        )

    def _switches(self, node: Node) -> None:
        def topic(name: str, kind: str, field: str = "report") -> HotTopic:
            return HotTopic(
                node,
                f"output/{name}",
                f"{_PLANNING_MESSAGES_VEHICLE}/{kind}",
                (*_BARE_STAMP, field),
                ONE,
            )

        self._mode = topic("control_mode_report", "ControlModeReport", "mode")
        self._gear = topic("gear_report", "GearReport")
        self._turn = topic("turn_indicators_report", "TurnIndicatorsReport")
        self._hazard = topic("hazard_lights_report", "HazardLightsReport")

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the two numbers that go into the odometry's covariance."""
        covariance = self._odometry.message.array("pose.covariance")
        covariance[0], covariance[7] = x_stddev, y_stddev

    def send(self, now: int, reports: Reports) -> None:
        """Publish what there is to report, with the time `now` in ns, in upstream's order."""
        stamp = divmod(now, SECOND)
        if reports.odometry is not None:
            self._send_motion(stamp, reports)
        self._mode.send(*stamp, reports.control_mode.mode)
        if reports.gear is not None:
            self._gear.send(*stamp, reports.gear.gear)
        if reports.turn_indicators is not None:
            self._turn.send(*stamp, reports.turn_indicators.turn_indicators)
        if reports.hazard_lights is not None:
            self._hazard.send(*stamp, reports.hazard_lights.hazard_lights)
        if reports.transform is not None:
            x, y, z, turn = reports.transform.pose
            self._transform.send(stamp, Rigid((x, y, z), turn))
        if reports.steering is not None and self._steering is not None:
            self._steering.send(*stamp, reports.steering.steer)
        status = reports.actuation_status
        if status is not None and self._actuation is not None:
            self._actuation.send(*stamp, status.accel, status.brake, status.steer)

    def _send_motion(self, stamp: tuple[int, int], reports: Reports) -> None:
        # What there is of the motion there is all together.
        motion: Any = (reports.odometry, reports.velocity, reports.acceleration, reports.imu)
        odometry, velocity, acceleration, imu = motion
        x, y, z, turn = odometry.pose
        self._odometry.send(*stamp, x, y, z, *turn, odometry.v_x, odometry.omega)
        self._pose.send(*stamp, x, y, z, *turn)
        self._velocity.send(*stamp, velocity.v_x, velocity.v_y, velocity.omega)
        self._acceleration.send(*stamp, acceleration.a_x, acceleration.a_y)
        self._imu.send(*stamp, *imu.orientation, imu.omega, imu.a_x, imu.a_y)


NAME = "simple_planning_simulator"
"""Of the node."""
NAMESPACE = "/simulation"
"""That the launch file puts it into."""

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
    "output/twist": "/vehicle/status/velocity_status",
    "output/imu": "/sensing/imu/imu_data",
    "output/steering": "/vehicle/status/steering_status",
    "output/gear_report": "/vehicle/status/gear_status",
    "output/turn_indicators_report": "/vehicle/status/turn_indicators_status",
    "output/hazard_lights_report": "/vehicle/status/hazard_lights_status",
    "output/control_mode_report": "/vehicle/status/control_mode",
    "output/actuation_status": "/vehicle/status/actuation_status",
    # What the node raw_vehicle_cmd_converter publishes, which is built in here.
    "output/actuation_command": "/control/command/actuation_cmd",
}
_DEBUG = "/simulation/debug"
_MOTION = {
    "output/odometry": "/localization/kinematic_state",
    "output/acceleration": "/localization/acceleration",
}
_POSE = {"output/pose": "/localization/pose_estimator/pose_with_covariance"}


def _aside(names: dict[str, str]) -> dict[str, str]:
    return {topic: _DEBUG + name for topic, name in names.items()}


MOTION_PUBLISH_MODES = {
    "full_motion": {**_ALWAYS, **_MOTION, **_aside(_POSE)},
    "pose_only": {**_ALWAYS, **_aside(_MOTION), **_POSE},
}
"""The launch file's names by its argument motion_publish_mode: with `full_motion` the simulator
takes the place of localisation, with `pose_only` that of the scan matcher before it."""


def launch_remaps(motion_publish_mode: str) -> tuple[Remap, ...]:
    """The rules of the launch file."""
    one_of("motion_publish_mode", motion_publish_mode, tuple(MOTION_PUBLISH_MODES))
    return tuple(Remap(old, new) for old, new in MOTION_PUBLISH_MODES[motion_publish_mode].items())


_DYNAMIC = ("x_stddev", "y_stddev")
_ELSEWHERE = ("use_sim_time",)
"""Of the silent names, those that other parts of a node declare."""
_IGNORED = (
    *(name for name in sorted(SILENT) if name not in _ELSEWHERE),
    *("is_debugging", "convert_actuation_to_steering_status", "use_vehicle_adaptor"),
)
"""Names that Autoware's files hold and that have no effect here."""
_MAPS = {
    "csv_path_accel_map": "accel_map_path",
    "csv_path_brake_map": "brake_map_path",
    "csv_path_steer_map": "steer_map_path",
}
"""The converter's names of maps, and the simulator's."""
_NO_LIMIT = 1e9
"""Parameters are finite; no command is as large."""


def simulator_maker(
    node: Node, *, allow_import: bool, **options: Any
) -> Callable[[], PlanningSimulator]:
    """What makes the simulator for the parameters that a node is given."""
    wanted = node.parameters.wanted
    values = {name: wanted[name] for name in PARAMETERS if name in wanted}
    if values.get("vehicle_model_type") in LEARNED and not allow_import:
        raise InvalidValue(
            f"vehicle_model_type = {values['vehicle_model_type']} would import and call the Python "
            f"modules {values.get('model_module_paths')}; allow it if you trust the parameters"
        )
    told: set[str] = set()

    def make() -> PlanningSimulator:
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            simulator = PlanningSimulator(None, values, **options)
        for text in {str(note.message) for note in notes} - told:
            told.add(text)
            node.log("warn", text)
        return simulator

    return make


def declare_all(node: Node, effective: Mapping[str, Any]) -> None:
    """Show every parameter that the model has, and what was given besides."""
    wanted, model = node.parameters.wanted, effective["vehicle_model_type"]
    for name, parameter in PARAMETERS.items():
        value: Any = effective[name]
        used = (not parameter.models or model in parameter.models) and not parameter.unread
        if value is None or not (used or name in wanted):
            continue
        # Declared as what they are: a whole number is a real one here, a tuple a list.
        typed = {"double": float, "strings": list}.get(parameter.kind, lambda same: same)
        node.parameters.declare(
            name,
            typed(value),
            f"{parameter.meaning}, {parameter.unit}",
            dynamic=name in _DYNAMIC,
            check=_deviation(name) if name in _DYNAMIC else None,
        )
    for name in _IGNORED:
        if wanted.get(name) is not None:
            node.parameters.declare(name, wanted[name], "no effect")


def _deviation(name: str) -> Any:
    return lambda value: not_negative(name, value)


def converter_for(
    node: Node, parameters: Mapping[str, Any], compat: str | None
) -> CommandConverter:
    """What turns accelerations and tyre angles into pedals for the model of these parameters.

    It uses the maps of the model unless the converter's own parameters name others.
    """
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
        """The map of a conversion that is on, the converter's own if it has one."""
        model_map = parameters[name]
        return None if model_map is None else (maps[f"{name}_path"] or model_map)

    return CommandConverter(
        table("accel_map"),
        table("brake_map"),
        _steering(node, parameters, table),
        compat=compat,
        **limits,
    )


def _steering(node: Node, parameters: Mapping[str, Any], table: Any) -> Any:
    model = parameters["vehicle_model_type"]
    if model in STEER_MAPPED:
        declare = node.parameters.declare
        gains = {
            leaf.name: declare(f"steer_pid.{leaf.name}", leaf.default, leaf.doc)
            for leaf in record.fields(SteerFeedback)
        }
        feedback = SteerFeedback(**gains)
        return SteerMap(
            table("steer_map"),
            feedback if declare("use_steer_fb", True, "whether steering is fed back") else None,
            parameters["steer_time_constant"],
        )
    if model in GEAR_RATIO:
        return SteeringWheel(*(parameters[f"vgr_coef_{letter}"] for letter in "abc"))
    return TyreAngle()


Put = Callable[[InitialPose], Any]


class Placing:
    """Hands poses on in the origin frame.

    The translation of the transform is added and its rotation left out, as Autoware's simulator
    does; a rotation that is left out is logged.

    Args:
        node: hears the transforms and logs.
        origin: the frame in which poses are wanted.
    """

    def __init__(self, node: Node, origin: str) -> None:
        self._node, self._origin = node, origin.strip("/")
        self._transforms = Listener(node)
        self._waiting: dict[str, tuple[str, InitialPose, Put]] = {}

    def ask(self, kind: str, header: Any, pose: Any, put: Put) -> bool:
        """Hand a pose on now, or once its frame is known; says whether now.

        A later one of the same kind takes the place of one that waits.
        """
        place = pose.position
        wanted = checked_record(
            InitialPose, InitialPose(place.x, place.y, yaw_of(_turn(pose)), place.z), {}
        )
        frame = header.frame_id.strip("/") or self._origin
        self._waiting.pop(kind, None)
        if self._hand_on(frame, wanted, put):
            return True
        self._waiting[kind] = (frame, wanted, put)
        self._node.log("warn", f"{kind} waits for a transform from {frame} to {self._origin}")
        return False

    def look(self) -> None:
        """Hand on what waited and need not any longer."""
        for kind, waiting in [*self._waiting.items()]:
            try:
                done = self._hand_on(*waiting)
            except InvalidValue as error:
                self._node.log("error", f"{kind}: {error}")
                done = True
            if done:
                del self._waiting[kind]

    def forget(self) -> None:
        """Hand on nothing of what waits."""
        self._waiting.clear()

    def _hand_on(self, frame: str, wanted: InitialPose, put: Put) -> bool:
        if frame == self._origin:
            put(wanted)
            return True
        place = self._transforms.where(frame, self._origin)
        if place is None:
            return False
        self._tell_of_rotation(frame, place)
        x, y, z = place.translation
        put(InitialPose(wanted.x + x, wanted.y + y, wanted.yaw, wanted.z + z))
        return True

    def _tell_of_rotation(self, frame: str, place: Rigid) -> None:
        if abs(place.rotation[3]) < 1.0 - 1e-9:
            self._node.log(
                "warn",
                f"frame {frame} is turned in {self._origin}; the turn is left out, as Autoware's "
                f"simulator does: ask for poses in {self._origin}",
            )


def _turn(pose: Any) -> Quaternion:
    q = pose.orientation
    return Quaternion(q.x, q.y, q.z, q.w)


_COMMANDS = DEFAULT._replace(depth=100)
"""In lock-step every command counts, so none may push out another."""
_CONTROL = "autoware_control_msgs/msg/Control"
_VEHICLE = "autoware_vehicle_msgs"
_SUCCESS, _WARN, _ERROR = 1, 3, 4
"""Codes of `tier4_external_api_msgs/ResponseStatus`."""


class Planning:
    """The program of the node.

    Args:
        node: the node; its parameters are those of Autoware's files.
        compat: None for the repaired models, "upstream" to reproduce the program.
        seed: of the measurement noise; None draws one.
        motion_publish_mode: "full_motion" or "pose_only" gives topics the names of Autoware's
            launch file; None leaves them as the node has them, such as "input/gear_command".
        convert: whether models with pedals take control commands, through the converter; else they
            take actuation commands.
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
            rules = (*node.arguments.remaps, *launch_remaps(motion_publish_mode))
            node.arguments = replace(node.arguments, remaps=rules)
        self._node = node
        map_file = node.parameters.declare(
            "lanelet2_map_path", "", "Lanelet2 map for slopes; empty: level ground"
        )
        road = read_lanelets(Path(map_file)) if map_file else None
        options = {"compat": compat, "seed": fresh() if seed is None else seed, "road": road}
        self._make = simulator_maker(node, allow_import=allow_import, **options)
        self.simulator = self._make()
        declare_all(node, self.simulator.parameters)
        self.period: s = self.simulator.period
        actuation = takes_actuation(self.simulator.model.inputs)
        parameters = self.simulator.parameters
        self._converter = None
        if actuation and convert:
            self._converter = converter_for(node, parameters, compat)
            self._feeds_forward = node.parameters.declare(
                "use_steer_ff", True, "whether the rate of steering is fed forward"
            )
            self._converted_topic = HotTopic(
                node,
                "output/actuation_command",
                "tier4_vehicle_msgs/msg/ActuationCommandStamped",
                (*STAMP, *inside("actuation", "accel_cmd", "brake_cmd", "steer_cmd")),
                ONE,
                header=header("base_link"),
            )
        self._topics = ReportTopics(node, self.simulator.settings, actuation=actuation)
        self._placing = Placing(node, self.simulator.settings.origin_frame_id)
        self._last_pose: InitialPose | None = None
        self._reports: Reports | None = None
        self._start_clock()
        self._told_of_map = False
        self._subscribe(actuation)
        self._serve()
        node.parameters.changed.append(self._changed)

    def _start_clock(self) -> None:
        self._time = 0
        """Simulated time in ns, which stands still in a pause."""
        self._ticked: int | None = None
        """The node's time at the last tick; None if no time counts as gone by since then."""
        self._first = True
        self._converted_at: int | None = None

    def _subscribe(self, actuation: bool) -> None:
        node = self._node
        node.subscribe(
            "input/vector_map", "autoware_map_msgs/msg/LaneletMapBin", self._vector_map, LATCHED
        )
        node.subscribe(
            "input/initialpose",
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            self._initial_pose_message,
        )
        node.subscribe("input/initialtwist", "geometry_msgs/msg/TwistStamped", self._initial_twist)
        if actuation and self._converter is None:
            kind = "tier4_vehicle_msgs/msg/ActuationCommandStamped"
            node.obey("input/actuation_command", kind, self._actuation, _COMMANDS)
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
            node.subscribe(f"input/{topic}", f"{_VEHICLE}/msg/{kind}", self._passed(field, method))

    def _passed(self, field: str, method: str) -> Any:
        """What hands a field of a message to a method of the simulator, whichever that is then."""
        return lambda message: getattr(self.simulator, method)(getattr(message, field))

    def _serve(self) -> None:
        node = self._node
        node.serve(
            "input/control_mode_request", f"{_VEHICLE}/srv/ControlModeCommand", self._mode_request
        )
        node.serve(
            "/api/simulator/set/pose", "tier4_external_api_msgs/srv/InitializePose", self._set_pose
        )
        node.serve("~/set_pose", "nav2_msgs/srv/SetInitialPose", self._put_anywhere)

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
            # The simulator itself makes nothing of the first tick.
            return 0 if self._first else round(self.period * SECOND)
        elapsed = now - self._ticked
        if elapsed < 0:
            self._node.log("warn", f"the clock went back by {-elapsed / SECOND:g} s")
            return 0
        return elapsed

    def interrupted(self) -> None:
        """Take no time for gone by since the last tick: it was a pause."""
        self._ticked = None

    def reset(self) -> None:
        """Start again where the last initial pose was, without commands, with the same noise."""
        self.simulator = self._make()
        self._changed("x_stddev", self._node.parameters["x_stddev"])
        self._changed("y_stddev", self._node.parameters["y_stddev"])
        self._placing.forget()
        self._reports = None
        if self._converter is not None:
            self._converter.reset()
        self._start_clock()
        if self._last_pose is not None:
            self.simulator.initial_pose(self._last_pose)

    def _changed(self, name: str, value: Any) -> None:
        if name in ("x_stddev", "y_stddev"):
            self.simulator.covariances(**{name: value})
            settings = self.simulator.settings
            self._topics.state_covariances(settings.x_stddev, settings.y_stddev)

    def _control(self, message: Any) -> None:
        command = _command_of(message)
        if self._converter is None:
            self.simulator.command(command)
            return
        actuation = self._converted(command, message)
        self.simulator.command(actuation)
        self._converted_topic.send(message.stamp.sec, message.stamp.nanosec, *actuation)

    def _manual_control(self, message: Any) -> None:
        command = _command_of(message)
        if self._converter is not None:
            self.simulator.manual_command(self._converted(command, message))
        else:
            self.simulator.manual_command(command)

    def _converted(self, command: ControlCommand, message: Any) -> ActuationCommand:
        """The pedals for a command, from the motion as it is reported, as upstream's node does."""
        assert self._converter is not None
        motion, reports = self.simulator.motion, self._reports
        v_x, steer = motion.v_x, motion.steer
        if reports is not None and reports.odometry is not None:
            v_x = reports.odometry.v_x
        if reports is not None and reports.steering is not None:
            steer = reports.steering.steer
        before = self._time if self._converted_at is None else self._converted_at
        rate = message.lateral.steering_tire_rotation_rate if self._feeds_forward else 0.0
        converted = self._converter.convert(
            command.acceleration,
            command.steer,
            v_x,
            steer,
            (self._time - before) / SECOND,
            steer_rate=rate,
        )
        self._converted_at = self._time
        return converted

    def _actuation(self, message: Any) -> None:
        wanted = message.actuation
        self.simulator.command(
            ActuationCommand(wanted.accel_cmd, wanted.brake_cmd, wanted.steer_cmd)
        )

    def _path(self, message: Any) -> None:
        places = [point.pose.position for point in message.points]
        self.simulator.trajectory([(place.x, place.y, place.z) for place in places])

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
        return service_type(f"{_VEHICLE}/srv/ControlModeCommand").response.Record(granted)

    def _set_pose(self, request: Any) -> Any:
        """Upstream's service: the height stays, and the pose that initialtwist uses."""
        response = service_type("tier4_external_api_msgs/srv/InitializePose").response.Record()
        try:
            done = self._ask("/api/simulator/set/pose", request.pose, self._move)
        except InvalidValue as error:
            return response._replace(
                status=response.status._replace(code=_ERROR, message=str(error))
            )
        text = "" if done else f"waits for a transform from {request.pose.header.frame_id}"
        code = _SUCCESS if done else _WARN
        return response._replace(status=response.status._replace(code=code, message=text))

    def _move(self, pose: InitialPose) -> None:
        """Put the vehicle somewhere else, whichever simulator there is then."""
        self.simulator.set_pose(pose)

    def _put_anywhere(self, request: Any) -> Any:
        self._ask("~/set_pose", request.pose, self._initial_pose)
        return service_type("nav2_msgs/srv/SetInitialPose").response.Record()


def _command_of(message: Any) -> ControlCommand:
    longitudinal = message.longitudinal
    return ControlCommand(
        longitudinal.velocity, longitudinal.acceleration, message.lateral.steering_tire_angle
    )


def program(node: Node, **options: Any) -> Planning:
    """The program of `skidpad ros2 planning`; for the options see `Planning`."""
    return Planning(node, **options)
