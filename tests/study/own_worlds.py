"""Worlds, drives and metrics of one's own, as users of campaigns have them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from skidpad.study.worlds import WorldRun
from skidpad.world import Scene, xml
from skidpad.world.vehicle import WorldVehicle
from skidpad.world.world import World

ROBOT = """
<vehicle name="r1">
  <dynamics class="differential">
    <l_wheel pos="0 0.25" mass="4" width="0.1" diameter="0.3"/>
    <r_wheel pos="0 -0.25" mass="4" width="0.1" diameter="0.3"/>
    <chassis mass="50" zmin="0.05" zmax="0.6">
      <shape><pt>-0.4 -0.3</pt><pt>0.4 -0.3</pt><pt>0.4 0.3</pt><pt>-0.4 0.3</pt></shape>
    </chassis>
    <controller class="twist_pid"><KP>100</KP><KI>5</KI><max_torque>50</max_torque><V>1.0</V>
    </controller>
  </dynamics>
  <friction class="default"><mu>0.8</mu></friction>
  <init_pose>0 0 0</init_pose>
</vehicle>
"""
CAR = """
<vehicle name="car"><dynamics class="skidpad:commonroad_ks"/><init_pose>0 10 0</init_pose>
</vehicle>
"""
CRATE = """
<block name="crate"><mass>20</mass>
  <shape><pt>-0.5 -0.5</pt><pt>0.5 -0.5</pt><pt>0.5 0.5</pt><pt>-0.5 0.5</pt></shape>
  <init_pose>{crate} 0</init_pose>
</block>
"""


def text(*parts: str, crate: str = "5 0") -> str:
    """A world with these in it."""
    inside = "".join(parts or (ROBOT, CAR, CRATE)).replace("{crate}", crate)
    return (
        f'<mvsim_world version="1.0"><simul_timestep>0.005</simul_timestep>{inside}</mvsim_world>'
    )


def scene_with_gap(variables: Mapping[str, float], seed: int) -> Scene:
    """The crate is so far away."""
    return xml.loads(text(CAR, CRATE, crate=f"{variables['gap']} 10"))


def world_with_gap(variables: Mapping[str, float], seed: int) -> World:
    """The same in motion."""
    return World(scene_with_gap(variables, seed), seed=seed)


def turning(world: World, t: float) -> None:
    """The robot turns after a second."""
    world.vehicles["r1"].command(v=0.5, omega=0.0 if t < 1.0 else 1.0)


def braking(vehicle: WorldVehicle, t: float) -> None:
    """Brakes by 1 m/s² until it stands."""
    vehicle.command(a=-1.0 if vehicle.truth.v_x > 0.0 else 0.0)


class Counting:
    """Remembers how often it was called in this run; drives faster each time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, world: World, t: float) -> None:
        self.calls += 1
        world.vehicles["r1"].command(v=0.01 * self.calls)


def farthest(run: WorldRun) -> float:
    """How far the car came from the origin."""
    return float(np.hypot(*run.pose("car")[:, :2].T).max())


def is_late(run: WorldRun) -> bool:
    """Whether the run took long."""
    return bool(run.t[-1] > 1.5)


def breaks_above(world: World, t: float) -> None:
    """Cannot stand cars north of 10.5 m: what a diverging vehicle raises."""
    if world.vehicles["car"].truth.y > 10.5:
        raise FloatingPointError("too far north")
