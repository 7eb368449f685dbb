"""One car on the skidpad: the run, and what it shows."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from .. import vehicles
from ..columns import Array
from ..model import Vehicle
from ..simulator import Simulator
from ..trajectory import Trajectory
from ..units import N, m, m_s, m_s2, one, s
from . import driver
from .figure_of_eight import Eight, distance

DT: s = 0.01
"""Step of the simulation, and time between two decisions of the driver."""
INTEGRATOR = "radau"


class Run(NamedTuple):
    """A finished run."""

    trajectory: Trajectory
    eight: Eight
    wall_time: s
    """Time that the simulation took, driver included, compilation not."""


class Summary(NamedTuple):
    """What a run shows."""

    lap_times: tuple[s, ...]
    """Durations of the laps that were completed, the first one from standstill."""
    mean_speed: m_s
    top_speed: m_s
    a_lateral: m_s2
    """Largest lateral acceleration of the car, either side."""
    deviation: m
    """Largest distance from the centre of mass to the line."""
    load: N
    """Smallest load that a wheel had."""
    real_time_factor: one
    """Simulated time over wall time."""


class Driver:
    """The driver as `Simulator.run` calls one: a shell that keeps the memory between calls."""

    def __init__(self, params: driver.Params, dt: s) -> None:
        self.params = params
        self.dt = dt
        self.memory = driver.Memory()

    def __call__(self, t: s, x: Any) -> Any:
        """Input for the step that starts at time `t` in state `x`."""
        targets, self.memory = driver.drive(self.params, self.memory, x, self.dt)
        return targets


def drive(laps: int, a_lateral: m_s2, car: Vehicle | None = None) -> Run:
    """Drive the figure of eight from standstill at the speed that takes `a_lateral`."""
    car = vehicles.formula_student() if car is None else car
    params = driver.driver_of(car.params, a_lateral)
    sim = Simulator(car, dt=DT, integrator=INTEGRATOR)
    # The first call compiles, which belongs to no lap.
    sim.run(Driver(params, DT), steps=1)
    sim.reset()
    begin = time.perf_counter()
    trajectory = sim.run(Driver(params, DT), duration=driver.duration(params, laps))
    return Run(trajectory, params.eight, time.perf_counter() - begin)


def summary(run: Run) -> Summary:
    """The figures of a run."""
    traj = run.trajectory
    speed = np.hypot(traj["v_x"], traj["v_y"])
    passes = gate_times(traj)
    return Summary(
        lap_times=tuple(float(lap) for lap in np.diff(np.append(traj.t[0], passes[1::2]))),
        mean_speed=float(np.trapezoid(speed, traj.t)) / traj.duration,
        top_speed=float(speed.max()),
        a_lateral=float(np.abs(traj["a_y"]).max()),
        deviation=float(distance(traj["x"], traj["y"], run.eight).max()),
        load=min(float(traj[f"F_z_{wheel}"].min()) for wheel in ("fl", "fr", "rl", "rr")),
        real_time_factor=traj.duration / run.wall_time,
    )


def gate_times(traj: Trajectory) -> Array:
    """Times at which the car passed the point where the circles touch; the start is not counted.

    Only there does the line cross x = 0 with growing x. Every second time completes a lap.
    """
    x, t = traj["x"], traj.t
    i = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    return t[i] + (t[i + 1] - t[i]) * x[i] / (x[i] - x[i + 1])
