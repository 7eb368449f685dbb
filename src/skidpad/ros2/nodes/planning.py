"""Autoware's `simple_planning_simulator` as a node: topics, services and time around a
`PlanningSimulator`.

The vehicle advances by the time between ticks of the node's clock, as upstream's does; the first
tick advances by 0 s, and so does one after the clock was set back. The tick after a pause and one
that is asked for by `~/step` advance by a period.

For models with pedals upstream starts a second node, `raw_vehicle_cmd_converter`. It is built in
here: the control command is converted when it arrives, and published converted, too.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...compat.autoware import ControlCommand, InitialPose, Reports
from ...compat.autoware.inputs import takes_actuation
from ...compat.autoware.lanelet2 import read_lanelets
from ...compat.autoware.messages import ActuationCommand
from ...compat.autoware.noise import fresh_seed
from ...errors import InvalidValue
from ...ros_messages import service_type
from ...units import s
from ..clock import SECOND
from ..node import Node
from ..transport import DEFAULT, LATCHED
from .hot_topic import STAMP, HotTopic, inside
from .placing import Placing
from .planning_messages import ONE, ReportTopics, header
from .planning_names import NAME, NAMESPACE, launch_remaps
from .planning_parameters import converter_for, declare_all, simulator_maker

__all__ = ["NAME", "NAMESPACE", "Planning", "program"]

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
        options = {"compat": compat, "seed": fresh_seed() if seed is None else seed, "road": road}
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
