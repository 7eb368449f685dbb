"""Parallel parking as an optimal control problem: CasADi's Opti around `vehicle.casadi()`.

The car drives past the gap and reverses into it in the least time, clear of the parked cars and
the kerb. Multiple shooting with the very Radau step that the simulator runs, solved by IPOPT, which
comes with CasADi. The solution is then replayed in a `Simulator`.

    python examples/park_with_opti.py --out park.png
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from time import perf_counter
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from numpy.typing import NDArray

import skidpad as sp
from skidpad.viewer.plot import STYLE

Array = NDArray[np.float64]
X, Y, YAW, V_X, STEER = 0, 1, 2, 3, 6
"""Rows of the state that the problem speaks of."""


class Street(NamedTuple):
    """The gap is around the origin and the street along x; the kerb is on the right. All in m."""

    length: float = 2.4
    """Length of our car and of the parked ones."""
    width: float = 1.4
    spacing: float = 3.9
    """From the middle of the gap to the middle of the parked car ahead or behind."""
    kerb: float = -1.1
    start: tuple[float, float] = (-5.0, 2.2)
    """Where our car waits, parallel to the kerb."""
    discs: tuple[float, ...] = (-0.8, 0.0, 0.8)
    """Middles of the discs that cover a car, along it."""

    @property
    def radius(self) -> float:
        """Radius of the discs: the outer ones reach the corners of the car."""
        return float(np.hypot(0.5 * self.length - self.discs[-1], 0.5 * self.width))


class Plan(NamedTuple):
    """The solution: a state (11) at each end of the steps, an input (5) and the length of each."""

    states: Array
    inputs: Array
    dt: float
    seconds: float
    """What solving took."""


def parking_plan(car: Any, street: Street, steps: int = 50) -> Plan:
    """The fastest way into the gap."""
    model = car.casadi(integrator="radau")
    opti = ca.Opti()
    x = opti.variable(len(model.x_names), steps + 1)
    steer, tau = opti.variable(1, steps), opti.variable(1, steps)
    u = ca.vertcat(steer, tau, tau, tau, tau)
    dt = opti.variable()
    for k in range(steps):
        opti.subject_to(x[:, k + 1] == model.step(x[:, k], u[:, k], dt))
    start, goal = (*street.start, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)
    opti.subject_to(x[:, 0] == car.State(*start))
    opti.subject_to(x[:4, -1] == ca.DM(goal))
    opti.subject_to(opti.bounded(-2.0, x[V_X, :], 2.0))
    opti.subject_to(opti.bounded(-car.params.steer_max, steer, car.params.steer_max))
    opti.subject_to(opti.bounded(-80.0, tau, 80.0))
    reach = car.params.t_steer * car.params.steer_rate_max
    opti.subject_to(opti.bounded(-reach, steer - x[STEER, :-1], reach))
    opti.subject_to(opti.bounded(0.02, dt, 0.5))
    stay_clear(opti, x, street)
    # Time first; the rest only makes the solution unique and calm.
    effort = ca.sumsqr(tau) / 80.0**2 + ca.sumsqr(ca.diff(steer, 1, 1)) / 0.1**2
    opti.minimize(steps * dt + 0.02 * effort)
    opti.set_initial(x[:4, :], first_guess(street, steps))
    opti.set_initial(dt, 10.0 / steps)
    opti.solver("ipopt", {"expand": True, "print_time": False}, {"print_level": 0, "sb": "yes"})
    begin = perf_counter()
    found = opti.solve()
    states, inputs = (np.array(found.value(each)).T for each in (x, u))
    return Plan(states, inputs, float(found.value(dt)), perf_counter() - begin)


def stay_clear(opti: Any, x: Any, street: Street) -> None:
    """Our discs apart from those of the parked cars, and on this side of the kerb."""
    for ours in street.discs:
        at_x = x[X, :] + ours * ca.cos(x[YAW, :])
        at_y = x[Y, :] + ours * ca.sin(x[YAW, :])
        opti.subject_to(at_y >= street.kerb + street.radius)
        for parked in (-street.spacing, street.spacing):
            for theirs in street.discs:
                apart = (at_x - parked - theirs) ** 2 + at_y**2
                opti.subject_to(apart >= (2.0 * street.radius) ** 2)


def first_guess(street: Street, steps: int) -> Array:
    """Forward past the gap, then back into it, on straight lines; (4, steps + 1)."""
    share = np.linspace(0.0, 1.0, steps + 1)
    x = np.interp(share, [0.0, 0.5, 1.0], [street.start[0], street.spacing, 0.0])
    y = np.interp(share, [0.0, 0.5, 1.0], [street.start[1], street.start[1], 0.0])
    return np.array([x, y, 0.0 * share, np.where(share < 0.5, 1.5, -1.0)])
