"""Worlds for the tests of live sessions."""

from __future__ import annotations

import warnings
from typing import Any

from skidpad.view.live.arena import Arena
from skidpad.world.scene import Scene, WorldWarning
from skidpad.world.xml import loads

CAR = """
<vehicle name="car"><init_pose>0 0 0</init_pose>
  <dynamics class="skidpad:formula_student"><chassis><shape>
    <pt>-1.2 -0.6</pt> <pt>1.2 -0.6</pt> <pt>1.2 0.6</pt> <pt>-1.2 0.6</pt></shape>
  </chassis></dynamics>
  <sensor class="laser" name="lidar"><sensor_period>0.05</sensor_period><nrays>31</nrays>
    <fov_degrees>120</fov_degrees><max_range>30</max_range></sensor>
</vehicle>"""
ROBOT = """
<vehicle name="robot"><init_pose>0 40 0</init_pose>
  <dynamics class="differential"><controller class="twist_pid"/></dynamics></vehicle>"""
WALL = """
<block name="wall"><static>true</static><init_pose>25 0 0</init_pose>
  <shape><pt>-0.5 -6</pt> <pt>0.5 -6</pt> <pt>0.5 6</pt> <pt>-0.5 6</pt></shape></block>"""


def scene(*inside: str) -> Scene:
    """A scene of these elements, in steps of 5 ms."""
    text = "".join(inside)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return loads(f"<mvsim_world><simul_timestep>0.005</simul_timestep>{text}</mvsim_world>")


def arena(*inside: str, **options: Any) -> Arena:
    """An arena of these elements: a car, a robot and a wall unless told otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return Arena(scene(*(inside or (CAR, ROBOT, WALL))), **options)


def run(arena: Arena, duration: float) -> None:
    """Let it run for a simulated time in s."""
    for _ in range(round(duration / arena.world.dt)):
        arena.step()
