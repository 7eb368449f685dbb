"""Nodes that replace those of other programs, and a node for any vehicle; see docs/ros2.md."""
