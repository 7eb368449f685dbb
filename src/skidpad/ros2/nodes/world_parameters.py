"""Parameters of a world's node: those of mvsim_node, and two of its own."""

from __future__ import annotations

from collections.abc import Callable

from ...errors import InvalidValue
from ..node import Node

_WITHOUT_EFFECT = {
    "headless": True,
    "gui_refresh_period": 50.0,
    "base_watchdog_timeout": 0.2,
}
"""Of upstream's: there is no window here, and upstream does not use the watchdog either."""


class WorldParameters:
    """What a user may set; see docs/ros2_nav2.md."""

    def __init__(self, node: Node) -> None:
        declare = node.parameters.declare
        self.simul_rate: float = declare(
            "simul_rate", 100.0, "Ticks a second of simulated time.", check=_positive("simul_rate")
        )
        self.period_ms_publish_tf: float = declare(
            "period_ms_publish_tf",
            20.0,
            "Between two messages of odometry, tf and the like, in ms of simulated time.",
            check=_positive("period_ms_publish_tf"),
        )
        self.do_fake_localization: bool = declare(
            "do_fake_localization", True, "Tell robots where they are on the map."
        )
        self.publish_tf_odom2baselink: bool = declare(
            "publish_tf_odom2baselink", True, "Publish the frame base_link in odom."
        )
        self.publisher_history_len: int = declare(
            "publisher_history_len",
            50,
            "Depth of publishers.",
            check=_positive("publisher_history_len"),
        )
        self.force_publish_vehicle_namespace: bool = declare(
            "force_publish_vehicle_namespace", False, "Topics under its name for one robot too."
        )
        self.publish_log_topics: bool = declare(
            "publish_log_topics", False, "Motion of robots and wheels, a topic for each number."
        )
        self.shared_tf: bool = declare(
            "shared_tf", False, "One tree of frames for all robots, with their names in front."
        )
        self.map_resolution: float = declare(
            "map_resolution", 0.05, "Cells of simul_map, in m.", check=_positive("map_resolution")
        )
        for name, default in _WITHOUT_EFFECT.items():
            if declare(name, default, "Without effect.") != default:
                node.log("info", f"parameter {name} has no effect here")


def _positive(name: str) -> Callable[[float], None]:
    def check(value: float) -> None:
        if not value > 0:
            raise InvalidValue(f"parameter {name} = {value} must be greater than 0")

    return check
