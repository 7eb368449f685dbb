"""A world as a node: the topics of mvsim_node for worlds of skidpad.

docs/ros2_nav2.md lists the topics and the differences. A robot takes `cmd_vel`, and `drive` if it
steers; the speed of robots with torques, forces or accelerations as inputs is controlled at every
tick. `page_of` serves a live page of the world.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from math import ceil, inf, isfinite, tan
from pathlib import Path
from typing import Any

from ...control.car import abilities_of
from ...core.body import Demand, Pose
from ...core.checks import positive
from ...errors import InvalidValue, SkidpadError
from ...units import m_s, m_s2, rad, rad_s, s
from ...view.live.server import LiveServer, WatchedWorld
from ...world.motion import LARGEST_INPUT
from ...world.scene import Gnss, Imu, Laser, Scene, WorldWarning
from ...world.sensing import NotSimulated
from ...world.world import World
from ..dds import LATCHED, TF_STATIC, Qos
from ..messages.types import message
from ..node import SECOND, Node
from . import world_topics
from .common import (
    Attention,
    HotTopic,
    Rigid,
    acceleration_for,
    limited,
    planar_pose,
    serve_set_pose,
    steer_for,
    tf_message,
)
from .world_topics import RobotNames

OLDEST: s = 1.0
"""Age of a command after which the vehicle stops, as in upstream."""
_TO_SPEED: s = 0.3
"""Time constant of the speed control."""


class Commands:
    """Commands of one robot.

    Args:
        node: the node.
        names: names of the robot.
        world: its world.
    """

    def __init__(self, node: Node, names: RobotNames, world: World) -> None:
        self._node, self._names, self._world = node, names, world
        kind = world.vehicles[names.vehicle].vehicle
        self._can = abilities_of(kind)
        fields = kind.Input._fields
        self._columns = [fields.index(name) for name in ("v", "omega") if name in fields]
        self._regulated = not {"v", "velocity"} & set(fields)
        self.restart()
        self._twist_topic = node.name(names.topic("cmd_vel"))
        node.obey(names.topic("cmd_vel"), "geometry_msgs/msg/Twist", self._twist)
        if kind.body.steer is not None:
            topic = names.topic("drive")
            node.subscribe(topic, "ackermann_msgs/msg/AckermannDriveStamped", self._drive)

    def _twist(self, message: Any) -> None:
        self._take(message.linear.x, message.angular.z, None, inf)

    def _drive(self, message: Any) -> None:
        drive = message.drive
        most = drive.acceleration if drive.acceleration > 0.0 else inf
        speed, steer = drive.speed, drive.steering_angle
        if not isfinite(steer):
            raise InvalidValue(
                f"command of {self._names.vehicle}: steering_angle = {steer} rad must be finite; "
                "the previous command stays in effect"
            )
        steer = limited(steer, self._can.steer_max)
        self._take(speed, speed * tan(steer) / self._can.wheel_base, steer, most)
        # In lock-step either kind of command advances time.
        self._node.commanded[self._twist_topic] += 1

    def _take(self, v: m_s, omega: rad_s, steer: rad | None, most: m_s2) -> None:
        if not (abs(v) <= LARGEST_INPUT and abs(omega) <= LARGEST_INPUT):
            raise InvalidValue(
                f"command of {self._names.vehicle}: speed {v} m/s, yaw rate {omega} rad/s must "
                f"be finite, up to {LARGEST_INPUT:g} either way; the previous command stays in "
                "effect"
            )
        self._at = self._node.clock.now()
        self._demand = v, omega, steer_for(self._can, v, omega) if steer is None else steer, most
        if not self._regulated:
            self._apply(v, omega, self._demand[2], 0.0)

    def _apply(self, v: m_s, omega: rad_s, steer: rad, a: m_s2) -> None:
        vehicle = self._world.vehicles[self._names.vehicle]
        if len(self._columns) == 2:
            vehicle.bodies.group.inputs[vehicle.row, self._columns] = v, omega
        else:
            vehicle.drive(Demand(steer, a, v, omega))

    def act(self, now: int) -> None:
        """Stop a vehicle whose command is too old, else control its speed; `now` is in ns."""
        if self._demand is None:
            return
        v, omega, steer, most = self._demand
        if self._at is not None and now - self._at > OLDEST * SECOND:
            self._at, self._demand = None, (0.0, 0.0, steer, inf)
            v, omega, most = 0.0, 0.0, inf
            if not self._regulated:
                self._apply(0.0, 0.0, steer, 0.0)
        if self._regulated:
            vehicle = self._world.vehicles[self._names.vehicle]
            actual = vehicle.bodies.motion(vehicle.row)[1].v_x
            a = acceleration_for(self._can, (v - actual) / _TO_SPEED, actual, most)
            self._apply(v, omega, steer, a)

    def restart(self) -> None:
        """Discard the command."""
        self._at: int | None = None
        """Time of the active command, in ns; None without one."""
        self._demand: tuple[m_s, rad_s, rad, m_s2] | None = None
        """Commanded speed, yaw rate, steering angle and largest acceleration."""


_POSE = ("q0x", "q1y", "q2z", "q3yaw", "q4pitch", "q5roll", "dqx", "dqy", "dqw")
_ODOMETRY = ("odo_x", "odo_y", "odo_yaw")
_WHEEL = ("velocity_x", "velocity_y")


class LogTopics:
    """Values of upstream's log files for one robot, on topics such as `log/pose/q0x`.

    They are motion, odometry and wheel velocities.

    Args:
        node: the node.
        names: names of the robot.
        world: its world.
        qos: quality of service.
    """

    def __init__(self, node: Node, names: RobotNames, world: World, qos: Qos) -> None:
        self._name = names.vehicle
        wheels = world.vehicles[names.vehicle].built.geometry.wheels
        self._wheels = [(wheel.x, wheel.y) for wheel in wheels]
        paths = [f"pose/{column}" for column in (*_POSE, *_ODOMETRY)]
        paths += [f"wheel_{k}/{axis}" for k in range(1, 1 + len(wheels)) for axis in _WHEEL]
        kind = "std_msgs/msg/Float64"
        self.numbers = [
            HotTopic(node, f"{names.prefix}log/{path}", kind, ("data",), qos) for path in paths
        ]

    def publish(self, world: World, odometry: list[float]) -> None:
        """Publish the values; `odometry` is the robot's row of the odometry."""
        truth = world.vehicles[self._name].truth
        v_x, v_y, omega = truth[6:]
        values = [*truth, *odometry[:3]]
        for at_x, at_y in self._wheels:
            values += [v_x - omega * at_y, v_y + omega * at_x]
        for number, value in zip(self.numbers, values, strict=True):
            if number.wanted:
                number.send(value)


_PARAMETERS: dict[str, tuple[Any, str]] = {
    "simul_rate": (100.0, "Ticks a second of simulated time."),
    "period_ms_publish_tf": (
        20.0,
        "Between two messages of odometry, tf and the like, in ms of simulated time.",
    ),
    "do_fake_localization": (True, "Tell robots where they are on the map."),
    "publish_tf_odom2baselink": (True, "Publish the frame base_link in odom."),
    "publisher_history_len": (50, "Depth of publishers."),
    "force_publish_vehicle_namespace": (False, "Topics under its name for one robot too."),
    "publish_log_topics": (False, "Motion of robots and wheels, a topic for each number."),
    "shared_tf": (False, "One tree of frames for all robots, with their names in front."),
    "map_resolution": (0.05, "Cells of simul_map, in m."),
}
"""Defaults and meanings of the parameters: those of mvsim_node and some more; numbers are
positive.

See docs/ros2_nav2.md.
"""
_WITHOUT_EFFECT = {"headless": True, "gui_refresh_period": 50.0, "base_watchdog_timeout": 0.2}
"""Parameters of upstream that have no effect, as there is no window and no watchdog as upstream's.
"""


_LONGEST_WARM_UP: s = 0.5


class WorldProgram:
    """A world as a program of a node, as in `skidpad ros2 world`.

    Args:
        node: its node, with simulated time rather than the system clock.
        scene: the scene of the world.
        seed: seed of all random numbers.
    """

    def __init__(self, node: Node, scene: Scene, *, seed: int = 0) -> None:
        self.node, self.world = node, World(scene, seed=seed)
        self.watch: WatchedWorld | None = None
        """Viewer that is updated after each tick."""
        self._parameters = parameters = node.parameters
        for name, (default, meaning) in _PARAMETERS.items():
            check = None if isinstance(default, bool) else partial(positive, name)
            parameters.declare(name, default, meaning, check=check)
        for name, default in _WITHOUT_EFFECT.items():
            if parameters.declare(name, default, "Without effect.") != default:
                node.log("info", f"parameter {name} has no effect here")
        dt, upstream = self.world.dt, scene.compat == "upstream"
        rate: float = parameters["simul_rate"]
        self._steps = max(1, round(1.0 / (rate * dt)))
        self.period: s = self._steps * dt
        if abs(self.period * rate - 1.0) > 1e-6:
            node.log(
                "warn",
                f"simul_rate = {rate:g} Hz is not a whole number of steps of {dt:g} s: "
                f"the world goes on {1.0 / self.period:g} times a second",
            )
        self._every = max(1, round(1e-3 * parameters["period_ms_publish_tf"] / self.period))
        self._ticks = 0
        self._touched: set[str] = set()
        self._corrected = not upstream
        spaced = len(scene.vehicles) > 1 or parameters["force_publish_vehicle_namespace"]
        self._names = [
            RobotNames.of(name, spaced=spaced, shared=parameters["shared_tf"])
            for name in self.world.vehicles
        ]
        self._qos = Qos(depth=parameters["publisher_history_len"])
        self._make_topics(upstream)
        self._publish_once()

    def __repr__(self) -> str:
        return f"WorldProgram({self.node!r})"

    def _make_topics(self, upstream: bool) -> None:
        node, parameters, world = self.node, self._parameters, self.world
        localised = parameters["do_fake_localization"]
        options = {"localised": localised, "upstream": upstream}
        self._robots = world_topics.Robots(node, self._names, self._qos, **options)
        flag = ("std_msgs/msg/Bool", ("data",), self._qos)
        self._collisions = {
            names.vehicle: HotTopic(node, names.topic("collision"), *flag) for names in self._names
        }
        Trees = world_topics.SharedTree if parameters["shared_tf"] else world_topics.OwnTrees
        self._trees = Trees(node, self._names, localised, parameters["publish_tf_odom2baselink"])
        self._commands = [Commands(node, names, world) for names in self._names]
        self._sensors = self._sensor_topics(upstream)
        self._markers = [
            world_topics.Markers(node, names, k, world) for k, names in enumerate(self._names)
        ]
        self._logs = [
            LogTopics(node, names, world, self._qos)
            for names in (self._names if parameters["publish_log_topics"] else ())
        ]
        for names in self._names:
            self._make_services(names, localised)
        streams = [*self._robots.audiences, *self._trees.audiences, *self._collisions.values()]
        streams += [topic.stream for topic in self._sensors.values()]
        streams += [number for log in self._logs for number in log.numbers]
        self._attention = Attention(streams, self._every * self.period)

    def _sensor_topics(self, upstream: bool) -> dict[tuple[str, str], world_topics.SensorTopic]:
        node, world = self.node, self.world
        geo, topics = world.scene.georeference, dict[tuple[str, str], world_topics.SensorTopic]()
        east = 0.0 if geo is None else geo.world_to_enu_rotation
        specs = {spec.name: spec for spec in world.scene.vehicles}
        for names in self._names:
            for one in specs[names.vehicle].sensors:
                key = names.vehicle, one.name
                if isinstance(one, Laser):
                    topics[key] = world_topics.LaserTopic(node, names, one, self._qos, upstream)
                elif isinstance(one, Imu):
                    topics[key] = world_topics.ImuTopic(node, names, one, self._qos, east)
                elif isinstance(one, Gnss):
                    topics[key] = world_topics.GnssTopic(node, names, one, self._qos)
                elif isinstance(why := world.sensing.latest(names.vehicle, one.name), NotSimulated):
                    node.log("warn", f"{why}; it has no topic")
        for one in world.scene.sensors:
            node.log("warn", f"sensor {one.name} stands in the world and has no topic")
        sensors = (one.name for spec in specs.values() for one in spec.sensors)
        for name in dict.fromkeys([*specs, *sensors]):
            if (changed := world_topics.legal(name)) != name:
                node.log("warn", f"{name!r} is {changed!r} in topics and frames")
        return topics

    def _make_services(self, names: RobotNames, localised: bool) -> None:
        def put(pose: Pose) -> None:
            self.world.place(names.vehicle, *pose)

        serve_set_pose(self.node, world_topics.MAP, put, f"~/{names.prefix}set_pose")
        if localised:
            type_name = "geometry_msgs/msg/PoseWithCovarianceStamped"
            topic = names.topic("initialpose")
            self.node.subscribe(
                topic, type_name, lambda message: put(planar_pose(message, world_topics.MAP))
            )

    def _publish_once(self) -> None:
        """Publish the constant messages: the map, outlines, and fixed frames on the robots."""
        node, world = self.node, self.world
        grid = world_topics.map_of(world.scene, self._parameters["map_resolution"])
        plan = node.publisher("simul_map", "nav_msgs/msg/OccupancyGrid", LATCHED)
        about = node.publisher("simul_map_metadata", "nav_msgs/msg/MapMetaData", LATCHED)
        if grid is not None:
            occupancy = world_topics.map_message(grid, node.stamp())
            plan.send(occupancy)
            about.send(occupancy.info)
        frames: dict[str, list[tuple[str, str, Rigid]]] = {}
        specs = {spec.name: spec for spec in world.scene.vehicles}
        for names in self._names:
            outline = node.publisher(
                names.topic("chassis_polygon"), "geometry_msgs/msg/Polygon", LATCHED
            )
            corners = world.vehicles[names.vehicle].built.geometry.outlines[0]
            points = [(x, y, 0.0) for x, y in corners]
            outline.send(message("geometry_msgs/msg/Polygon", points))
            base = names.frame("base_link")
            own = frames.setdefault(names.tf_static, [])
            own.append((base, names.frame("base_footprint"), Rigid()))
            for one in specs[names.vehicle].sensors:
                own.append((base, names.frame(one.name), world_topics.rigid_of(one.pose)))
        for topic, them in frames.items():
            static = node.publisher(topic, "tf2_msgs/msg/TFMessage", TF_STATIC)
            static.send(tf_message(them, node.stamp()))

    def tick(self) -> None:
        """Advance by a period and publish."""
        now = self.node.clock.now()
        for commands in self._commands:
            commands.act(now)
        world, sensors = self.world, self._sensors
        for left in range(self._steps - 1, -1, -1):
            world.step()
            for contact in world.contacts:
                self._touched |= {contact.a, contact.b}
            if world.sensing.fresh:
                stamp = divmod(now - round(left * world.dt * SECOND), SECOND)
                for owner, name, reading in world.sensing.fresh:
                    topic = sensors.get((owner, name))
                    if topic is not None and topic.stream.wanted:
                        topic.send(stamp, reading)
        if self._logs:
            for log, odometry in zip(self._logs, world.odometry().tolist(), strict=True):
                log.publish(world, odometry)
        self._ticks += 1
        if self._ticks % self._every == 0:
            self._publish(now)
        if self.watch is not None:
            self.watch.show()

    @property
    def was_published(self) -> bool:
        """Whether the last tick published odometry."""
        return self._ticks % self._every == 0

    def _publish(self, now: int) -> None:
        self._attention.look()
        stamp, ahead = divmod(now, SECOND), divmod(now + round(world_topics.AHEAD * SECOND), SECOND)
        numbers = world_topics.numbers_of(self.world, corrected=self._corrected)
        self._trees.publish(stamp, ahead, numbers)
        self._robots.publish(stamp, numbers)
        for name, collision in self._collisions.items():
            if collision.wanted:
                collision.send(name in self._touched or self.world.in_collision(name))
        self._touched.clear()
        for markers in self._markers:
            markers.publish(now)

    def reset(self) -> None:
        """Restart the world, with the same random numbers."""
        self.world.reset()
        for part in (*self._commands, *self._markers):
            part.restart()
        self._touched.clear()
        if self.watch is not None:
            self.watch.renew()


def program(node: Node, file: Path | None = None, *, seed: int = 0, **options: Any) -> WorldProgram:
    """The program for a world file, or for that of the parameter `world_file`.

    Options are those of `world.xml.load`.
    """
    scene = _scene(node, file, seed, options)
    _warm_up(scene)
    return WorldProgram(node, scene, seed=seed)


def _warm_up(scene: Scene) -> None:
    """Compile everything ticks need, so that the node does not stall once other nodes see it."""
    periods = [one.period for spec in scene.vehicles for one in spec.sensors]
    longest = min(max(periods, default=0.0), _LONGEST_WARM_UP)
    # Errors of the world are reported later, when the node builds it.
    with warnings.catch_warnings(), suppress(SkidpadError):
        warnings.simplefilter("ignore", WorldWarning)
        world = World(scene)
        for _ in range(ceil(longest / world.dt) + 2):
            world.step()
        world_topics.numbers_of(world, corrected=True)


def _scene(node: Node, file: Path | None, seed: int, options: dict[str, Any]) -> Scene:
    from ...world.xml.markup import in_brief
    from ...world.xml.reader import load

    named = node.parameters.declare("world_file", "" if file is None else str(file), "World file.")
    path = Path(named) if file is None else file
    if not named:
        raise InvalidValue("give a world file, or its name as the parameter world_file")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        scene = load(path, seed=seed, **options)
    for line in in_brief(scene.warnings, scene.file):
        node.log("warn", line)
    return scene


@contextmanager
def page_of(
    program: WorldProgram,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
) -> Generator[str]:
    """Context manager that serves a live page of the world; yields its address.

    Enter it in the ticking thread. The page is read-only: robots are driven by topics.
    """
    reason = f"{program.node.identity.full} is a node of ROS 2: drive it by its topics"
    watched = WatchedWorld(program.world, reason)
    server = LiveServer(watched, host=host, port=port, token=token)
    server.start()
    program.watch = watched
    try:
        yield server.url
    finally:
        program.watch = None
        server.stop()
