"""A world as a node: what mvsim_node publishes and hears, over skidpad's own worlds.

docs/ros2_nav2.md has the topics and what differs from upstream.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from ...body import Pose
from ...errors import InvalidValue, SkidpadError
from ...units import s
from ...world.errors import WorldWarning
from ...world.scene.scene import Scene
from ...world.sensing.not_simulated import NotSimulated
from ...world.world import World
from ..clock import SECOND
from ..node import Node
from ..transforms import Rigid, tf_message
from ..transport import LATCHED, TF_STATIC, Qos
from .set_pose import planar_pose, serve_set_pose
from .stream import Attention
from .world_commands import Commands
from .world_log import LogTopics
from .world_map import map_message, map_of, polygon_message
from .world_markers import Markers
from .world_names import AHEAD, MAP, RobotNames, robot_names, tell_changed_names
from .world_numbers import numbers_of
from .world_parameters import WorldParameters
from .world_robots import Collision, OwnTrees, Robots, SharedTree
from .world_sensors import SensorTopic, rigid_of, sensor_topic

__all__ = ["Watch", "WorldProgram", "program"]

_LONGEST_WARM_UP: s = 0.5


class Watch(Protocol):
    """Somebody who looks at the world, such as a page."""

    def show(self) -> None:
        """Look at it as it is now, from the thread that steps it."""
        ...

    def renew(self) -> None:
        """The world began anew."""
        ...


class WorldProgram:
    """A world that is stepped and told of.

    Args:
        node: its node.
        scene: what there is.
        seed: of all random numbers.
    """

    def __init__(self, node: Node, scene: Scene, *, seed: int = 0) -> None:
        self.node, self.world = node, World(scene, seed=seed)
        self.watch: Watch | None = None
        """Is shown the world after each tick."""
        self._asked = asked = WorldParameters(node)
        dt, upstream = self.world.dt, scene.compat == "upstream"
        self._steps = max(1, round(1.0 / (asked.simul_rate * dt)))
        self.period: s = self._steps * dt
        if abs(self.period * asked.simul_rate - 1.0) > 1e-6:
            node.log(
                "warn",
                f"simul_rate = {asked.simul_rate:g} Hz is not a whole number of steps of {dt:g} s: "
                f"the world goes on {1.0 / self.period:g} times a second",
            )
        self._every = max(1, round(1e-3 * asked.period_ms_publish_tf / self.period))
        self._ticks = 0
        self._touched: set[str] = set()
        self._corrected = not upstream
        spaced = len(scene.vehicles) > 1 or asked.force_publish_vehicle_namespace
        self._names = [
            robot_names(name, spaced=spaced, shared=asked.shared_tf) for name in self.world.vehicles
        ]
        self._qos = Qos(depth=asked.publisher_history_len)
        self._make_topics(upstream)
        self._publish_once()

    def _make_topics(self, upstream: bool) -> None:
        node, asked, world = self.node, self._asked, self.world
        localised = asked.do_fake_localization
        self._robots = Robots(node, self._names, self._qos, localised=localised, upstream=upstream)
        self._collisions = [Collision(node, names, self._qos) for names in self._names]
        Trees = SharedTree if asked.shared_tf else OwnTrees
        self._trees = Trees(node, self._names, localised, asked.publish_tf_odom2baselink)
        self._commands = [
            Commands(node, names, world.vehicles[names.vehicle]) for names in self._names
        ]
        self._sensors = self._sensor_topics(upstream)
        self._markers = [
            Markers(node, names, k, world.vehicles[names.vehicle])
            for k, names in enumerate(self._names)
        ]
        self._logs = [
            LogTopics(node, names, world.vehicles[names.vehicle], self._qos)
            for names in (self._names if asked.publish_log_topics else ())
        ]
        for names in self._names:
            self._make_services(names, localised)
        streams = [*self._robots.audiences, *self._trees.audiences, *self._collisions]
        streams += [topic.stream for topic in self._sensors.values()]
        streams += [number for log in self._logs for number in log.numbers]
        self._attention = Attention(node, streams, self._every * self.period)

    def _sensor_topics(self, upstream: bool) -> dict[tuple[str, str], SensorTopic]:
        node, world = self.node, self.world
        geo, topics = world.scene.georeference, dict[tuple[str, str], SensorTopic]()
        east = 0.0 if geo is None else geo.world_to_enu_rotation
        specs = {spec.name: spec for spec in world.scene.vehicles}
        for names in self._names:
            for one in specs[names.vehicle].sensors:
                topic = sensor_topic(node, names, one, self._qos, east=east, upstream=upstream)
                if topic is not None:
                    topics[names.vehicle, one.name] = topic
                elif isinstance(why := world.sensing.latest(names.vehicle, one.name), NotSimulated):
                    node.log("warn", f"{why}; it has no topic")
        for one in world.scene.sensors:
            node.log("warn", f"sensor {one.name} stands in the world and has no topic")
        tell_changed_names(
            node, [*specs, *(one.name for spec in specs.values() for one in spec.sensors)]
        )
        return topics

    def _make_services(self, names: RobotNames, localised: bool) -> None:
        def put(pose: Pose) -> None:
            self.world.place(names.vehicle, *pose)

        serve_set_pose(self.node, MAP, put, f"~/{names.prefix}set_pose")
        if localised:
            type_name = "geometry_msgs/msg/PoseWithCovarianceStamped"
            topic = names.topic("initialpose")
            self.node.subscribe(topic, type_name, lambda message: put(planar_pose(message, MAP)))

    def _publish_once(self) -> None:
        """What stays: the map, outlines, and where things sit on the robots."""
        node, world = self.node, self.world
        grid = map_of(world.scene, self._asked.map_resolution)
        plan = node.publisher("simul_map", "nav_msgs/msg/OccupancyGrid", LATCHED)
        about = node.publisher("simul_map_metadata", "nav_msgs/msg/MapMetaData", LATCHED)
        if grid is not None:
            message = map_message(grid, node.stamp())
            plan.send(message)
            about.send(message.info)
        frames: dict[str, list[tuple[str, str, Rigid]]] = {}
        specs = {spec.name: spec for spec in world.scene.vehicles}
        for names in self._names:
            outline = node.publisher(
                names.topic("chassis_polygon"), "geometry_msgs/msg/Polygon", LATCHED
            )
            outline.send(polygon_message(world.vehicles[names.vehicle]))
            base = names.frame("base_link")
            own = frames.setdefault(names.tf_static, [])
            own.append((base, names.frame("base_footprint"), Rigid()))
            for one in specs[names.vehicle].sensors:
                own.append((base, names.frame(one.name), rigid_of(one.pose)))
        for topic, them in frames.items():
            static = node.publisher(topic, "tf2_msgs/msg/TFMessage", TF_STATIC)
            static.send(tf_message(them, node.stamp()))

    def tick(self) -> None:
        """Advance by a period and tell of it."""
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
        stamp, ahead = divmod(now, SECOND), divmod(now + round(AHEAD * SECOND), SECOND)
        numbers = numbers_of(self.world, corrected=self._corrected)
        self._trees.publish(stamp, ahead, numbers)
        self._robots.publish(stamp, numbers)
        for collision in self._collisions:
            if collision.wanted:
                name = collision.vehicle
                collision.publish(name in self._touched or self.world.in_collision(name))
        self._touched.clear()
        for markers in self._markers:
            markers.publish(now)

    def reset(self) -> None:
        """Begin anew, with the same random numbers."""
        self.world.reset()
        for commands, names in zip(self._commands, self._names, strict=True):
            commands.restart(self.world.vehicles[names.vehicle])
        for markers, names in zip(self._markers, self._names, strict=True):
            markers.restart(self.world.vehicles[names.vehicle])
        self._touched.clear()
        if self.watch is not None:
            self.watch.renew()


def program(node: Node, file: Path | None = None, *, seed: int = 0, **options: Any) -> WorldProgram:
    """The program for a world file, or for the one that the parameter `world_file` names.

    Options are those of `world.xml.load`.
    """
    scene = _scene(node, file, seed, options)
    _warm_up(scene)
    return WorldProgram(node, scene, seed=seed)


def _warm_up(scene: Scene) -> None:
    """Let everything be compiled that ticks need: a node that others see does not stall."""
    periods = [one.period for spec in scene.vehicles for one in spec.sensors]
    longest = min(max(periods, default=0.0), _LONGEST_WARM_UP)
    # A world that cannot be made or stepped says so when it is the one that counts.
    with warnings.catch_warnings(), suppress(SkidpadError):
        warnings.simplefilter("ignore", WorldWarning)
        world = World(scene)
        for _ in range(ceil(longest / world.dt) + 2):
            world.step()
        numbers_of(world, corrected=True)


def _scene(node: Node, file: Path | None, seed: int, options: dict[str, Any]) -> Scene:
    from ...world.xml import load
    from ...world.xml.notes import in_brief

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
