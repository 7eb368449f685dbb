"""What the node of a Formula Student car tells: its motion, diagnostics and markers."""

from __future__ import annotations

from ...body import Geometry
from ...errors import SkidpadError
from ...ros_messages import message_type
from ...units import s
from ...vehicles.car_state import State
from ..clock import SECOND
from ..node import Node
from ..transforms import Broadcaster, Rigid
from .cone_track import ConeTrack
from .hot_topic import ORIENTATION, STAMP, HotTopic, inside
from .laps import LapClock
from .markers import STEERED, car_markers, cone_markers, wheel_rotation

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
        self._controls = hot(
            "current_controls", "Controls", "delta", "tau_fl", "tau_fr", "tau_rl", "tau_rr"
        )
        self._frame = Broadcaster(node, [("world", "car")])

    def send(self, x: State, a_x: float, a_y: float, braking: tuple[float, ...]) -> None:
        """Publish a state, with the acceleration that belongs to it and the torques of brakes."""
        stamp = self._node.stamp()
        self._pose.send(*stamp, x.x, x.y, x.yaw)
        self._velocity.send(*stamp, x.v_x, x.v_y, x.omega)
        self._acceleration.send(*stamp, a_x, a_y)
        torques = (x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)
        acting = (tau - brake for tau, brake in zip(torques, braking, strict=True))
        self._controls.send(*stamp, x.steer, *acting)
        self._frame.send(stamp, Rigid.planar(x.x, x.y, x.yaw))


class Diagnostics:
    """Publishes how the node is doing, and the laps."""

    def __init__(self, node: Node, track_name: str) -> None:
        self._node, self._track = node, track_name
        self._topic = node.publisher(
            "/brains2/diagnostics/sim", "diagnostic_msgs/msg/DiagnosticArray"
        )

    def send(self, runtime: s, laps: LapClock, error: SkidpadError | None = None) -> None:
        """Publish, as everything is or with what went wrong."""
        Status = message_type("diagnostic_msgs/msg/DiagnosticStatus").Record
        KeyValue = message_type("diagnostic_msgs/msg/KeyValue").Record
        values = {
            "sim runtime (ms)": f"{1000.0 * runtime:f}",
            "track name": self._track,
            "last lap time (s)": f"{laps.last:f}",
            "best lap time (s)": f"{laps.best:f}",
        }
        status = Status(
            level=_OK if error is None else _ERROR,
            name="sim",
            message="OK" if error is None else str(error),
            values=[KeyValue(*pair) for pair in values.items()],
        )
        header = message_type("std_msgs/msg/Header").Record(self._node.stamp())
        self._topic.send(self._topic.type.Record(header, [status]))


class Pictures:
    """Publishes markers: of the car with every state, of the cones now and then.

    Args:
        node: whose topic it is.
        car: shape of the car.
        track: whose cones are shown.
        always: whether cones come with every state, as upstream has it; else once a second, and
            as soon as somebody else listens.
    """

    def __init__(self, node: Node, car: Geometry, track: ConeTrack, *, always: bool) -> None:
        self._node, self._always = node, always
        shapes = car_markers(car)
        self._count = len(shapes)
        self._car = HotTopic(
            node,
            "/brains2/viz/sim",
            "visualization_msgs/msg/MarkerArray",
            (
                *(path for k in range(self._count) for path in inside(f"markers[{k}]", *STAMP)),
                *(path for k in STEERED for path in inside(f"markers[{k}].pose", *ORIENTATION)),
            ),
            markers=shapes,
        )
        self._topic = self._car.topic
        self._cones = self._topic.type.encode(self._topic.type.Record(cone_markers(track.cones)))
        self._shown, self._readers = -SECOND, 0

    def send(self, steer: float) -> None:
        """Publish the car, and the cones if it is time to."""
        readers, now = self._topic.readers, self._node.clock.now()
        # A clock that went back does not keep them waiting.
        due = abs(now - self._shown) >= _CONES_EVERY * SECOND
        if self._always or due or readers > self._readers:
            self.send_cones()
        self._readers = readers
        turn = wheel_rotation(steer)
        self._car.send(*self._node.stamp() * self._count, *turn, *turn)

    def send_cones(self) -> None:
        """Publish the cones."""
        self._shown = self._node.clock.now()
        self._topic.write(self._cones)
