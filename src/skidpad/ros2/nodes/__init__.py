"""Nodes in place of those of other programs, and of any vehicle; see docs/ros2.md."""
