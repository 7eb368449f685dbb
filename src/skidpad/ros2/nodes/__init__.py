"""Nodes that stand in for those of other programs; see docs/ros2.md."""

__all__: list[str] = []
