"""The interface files of the messages and services that skidpad speaks, without their comments.

Facts of the packages named, at the revisions that docs/ros2.md lists.
"""

from __future__ import annotations

from . import program_messages, standard_messages


def _messages(packages: dict[str, str]) -> dict[str, str]:
    """Fields by full name, one a line, from the lines of packages."""
    messages: dict[str, str] = {}
    for package, text in packages.items():
        for line in text.strip().replace("\n    ", " ").splitlines():
            name, _, fields = line.partition(":")
            messages[f"{package}/msg/{name}"] = "\n".join(fields.split(","))
    return messages


MESSAGES: dict[str, str] = _messages(standard_messages.PACKAGES | program_messages.PACKAGES)
"""Fields of each message, one a line, as in its interface file."""
HUMBLE: dict[str, str] = {
    "rmw_dds_common/msg/Gid": "char[24] data",
    "sensor_msgs/msg/Range": MESSAGES["sensor_msgs/msg/Range"].replace("float32 variance", ""),
}
"""Messages that Humble has otherwise, under the same names."""
_POSE = "geometry_msgs/PoseWithCovarianceStamped pose"
_RESULT = "simulation_interfaces/Result result"
SERVICES: dict[str, tuple[str, str]] = {
    "std_srvs/srv/Empty": ("", ""),
    "std_srvs/srv/SetBool": ("bool data", "bool success\nstring message"),
    "std_srvs/srv/Trigger": ("", "bool success\nstring message"),
    "nav_msgs/srv/GetMap": ("", "OccupancyGrid map"),
    "rcl_interfaces/srv/DescribeParameters": (
        "string[] names",
        "ParameterDescriptor[] descriptors",
    ),
    "rcl_interfaces/srv/GetParameters": ("string[] names", "ParameterValue[] values"),
    "rcl_interfaces/srv/GetParameterTypes": ("string[] names", "uint8[] types"),
    "rcl_interfaces/srv/ListParameters": (
        "string[] prefixes\nuint64 depth",
        "ListParametersResult result",
    ),
    "rcl_interfaces/srv/SetParameters": (
        "Parameter[] parameters",
        "SetParametersResult[] results",
    ),
    "rcl_interfaces/srv/SetParametersAtomically": (
        "Parameter[] parameters",
        "SetParametersResult result",
    ),
    "autoware_vehicle_msgs/srv/ControlModeCommand": (
        "builtin_interfaces/Time stamp\nuint8 mode",
        "bool success",
    ),
    "tier4_external_api_msgs/srv/InitializePose": (_POSE, "ResponseStatus status"),
    "nav2_msgs/srv/SetInitialPose": (_POSE, ""),
    "robot_localization/srv/SetPose": (_POSE, ""),
    "simulation_interfaces/srv/StepSimulation": ("uint64 steps 1", _RESULT),
    "simulation_interfaces/srv/SetEntityState": (
        "string entity\nEntityState state\nbool set_pose\nbool set_twist\nbool set_acceleration",
        _RESULT,
    ),
}
"""Fields of the request and of the response. Every node has `std_srvs/srv/Empty` to reset,
`SetBool` to pause, `StepSimulation` to step, `SetPose` for its vehicle; worlds, whose vehicles have
names, `SetEntityState`."""
