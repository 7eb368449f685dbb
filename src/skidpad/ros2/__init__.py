"""skidpad beside ROS 2, whether or not ROS is installed; see docs/ros2.md."""

__all__: list[str] = []
