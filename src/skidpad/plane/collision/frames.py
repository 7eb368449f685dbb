"""The formulas of `plane.pose` for compiled loops."""

from __future__ import annotations

from ...compile.loops import loop
from .. import pose

moved = loop(pose.moved)
turned = loop(pose.turned)
turned_back = loop(pose.turned_back)
