"""What the node of a Formula Student car tells: its motion, diagnostics and markers."""

from __future__ import annotations

from ...body import Geometry
from ...errors import SkidpadError
from ...ros_messages import Prepared, message_type
from ...units import s
from ...vehicles.car_state import State
from ..clock import SECOND
from ..node import Node
from ..report import STAMP, Report
from ..transforms import Broadcaster, Rigid
from .cone_track import ConeTrack
from .laps import LapClock
from .markers import STEERED, car_markers, cone_markers, wheel_rotation

_CONES_EVERY: s = 1.0
_OK, _ERROR = 0, 2
"""Levels of `diagnostic_msgs/DiagnosticStatus`."""


class CarMessages:
    """Publishes the motion of a car: pose, velocity, acceleration, actuators and transform."""

    def __init__(self, node: Node) -> None:
        self._node = node

        def report(topic: str, kind: str, *fields: str) -> Report:
            name = f"brains2/msg/{kind}"
            record = message_type(name).Record()
            return Report(node.publisher(f"/brains2/{topic}", name), record, *fields)

        self._pose = report("pose", "Pose", "x", "y", "phi")
        self._velocity = report("velocity", "Velocity", "v_x", "v_y", "omega")
        self._acceleration = report("acceleration", "Acceleration", "a_x", "a_y")
        self._controls = report(
            "current_controls", "Controls", "delta", "tau_fl", "tau_fr", "tau_rl", "tau_rr"
        )
        self._frame = Broadcaster(node, [("world", "car")])

    def send(self, x: State, a_x: float, a_y: float) -> None:
        """Publish a state, with the acceleration that belongs to it."""
        stamp = self._node.stamp()
        self._pose.send(stamp, x.x, x.y, x.yaw)
        self._velocity.send(stamp, x.v_x, x.v_y, x.omega)
        self._acceleration.send(stamp, a_x, a_y)
        self._controls.send(stamp, x.steer, x.tau_fl, x.tau_fr, x.tau_rl, x.tau_rr)
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
        self._topic = node.publisher("/brains2/viz/sim", "visualization_msgs/msg/MarkerArray")
        shapes = car_markers(car)
        numbers = range(len(shapes.markers))
        self._car = Report(
            self._topic,
            shapes,
            *(f"markers[{k}].pose.orientation.{axis}" for k in STEERED for axis in "xyzw"),
            stamps=tuple(f"markers[{k}].{part}" for k in numbers for part in STAMP),
        )
        self._cones = Prepared(self._topic.type, cone_markers(track.cones)).data
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
        self._car.send(self._node.stamp(), *turn, *turn)

    def send_cones(self) -> None:
        """Publish the cones."""
        self._shown = self._node.clock.now()
        self._topic.write(self._cones)
