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
from skidpad.view.plots.style import STYLE

Array = NDArray[np.float64]
X, Y, YAW, V_X, STEER = 0, 1, 2, 3, 6
"""Rows of the state that the problem speaks of."""
SPEED, TORQUE = 2.0, 80.0
"""Most speed in m/s and wheel torque in N·m that parking takes."""
SUBSTEPS = 10
"""Steps of the replay in one of the plan."""


def parking_car() -> sp.Vehicle:
    """The bicycle with a driver's calm hands, and resistance that sets in over 0.3 m/s.

    Standstill is where it matters: with the default of 0.1 m/s a step of 0.1 s jumps across.
    """
    return sp.vehicles.kinematic_bicycle(t_steer=0.15, v_0=0.3)


class Street(NamedTuple):
    """Where to park: a gap around the origin, the street along x, the kerb on its right. In m."""

    length: float = 2.4
    """Length of our car and of the parked ones."""
    width: float = 1.4
    spacing: float = 3.7
    """From the middle of the gap to the middle of the parked car ahead or behind."""
    kerb: float = -1.1
    far: float = 3.6
    """The other side of the street."""
    start: tuple[float, float] = (-4.5, 2.2)
    """Where our car waits, parallel to the kerb."""
    margin: float = 0.03
    """Kept from everything at the ends of the steps; between them the car may come closer."""
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


def parking_plan(car: Any, street: Street, steps: int = 60) -> Plan:
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
    opti.subject_to(opti.bounded(-SPEED, x[V_X, :], SPEED))
    opti.subject_to(opti.bounded(-TORQUE, tau, TORQUE))
    # Short of the limits that the actuators keep by themselves: a corner there stops IPOPT.
    limit = 0.98 * car.params.steer_max
    reach = 0.98 * car.params.steer_rate_max * car.params.t_steer
    opti.subject_to(opti.bounded(-limit, steer, limit))
    opti.subject_to(opti.bounded(-reach, steer - x[STEER, :-1], reach))
    opti.subject_to(opti.bounded(0.02, dt, 0.2))
    stay_clear(opti, x, street)
    # Time first; the rest only makes the solution unique and calm.
    effort = ca.sumsqr(tau) / TORQUE**2 + ca.sumsqr(ca.diff(steer, 1, 1)) / 0.1**2
    opti.minimize(steps * dt + 0.05 * effort)
    opti.set_initial(x[:4, :], first_guess(street, steps))
    opti.set_initial(dt, 8.0 / steps)
    opti.solver("ipopt", {"expand": True, "print_time": False}, {"print_level": 0, "sb": "yes"})
    begin = perf_counter()
    found = opti.solve()
    states, inputs = (np.array(found.value(each)).T for each in (x, u))
    return Plan(states, inputs, float(found.value(dt)), perf_counter() - begin)


def stay_clear(opti: Any, x: Any, street: Street) -> None:
    """Our discs apart from those of the parked cars, and on this side of the kerb."""
    low, high = street.kerb + street.radius, street.far - street.radius
    for ours in street.discs:
        at_x = x[X, :] + ours * ca.cos(x[YAW, :])
        at_y = x[Y, :] + ours * ca.sin(x[YAW, :])
        opti.subject_to(opti.bounded(low + street.margin, at_y, high - street.margin))
        for parked in (-street.spacing, street.spacing):
            for theirs in street.discs:
                apart = (at_x - parked - theirs) ** 2 + at_y**2
                opti.subject_to(apart >= (2.0 * street.radius + street.margin) ** 2)


def first_guess(street: Street, steps: int) -> Array:
    """Forward past the gap, then back into it, on straight lines; (4, steps + 1)."""
    share = np.linspace(0.0, 1.0, steps + 1)
    x = np.interp(share, [0.0, 0.5, 1.0], [street.start[0], street.spacing, 0.0])
    y = np.interp(share, [0.0, 0.5, 1.0], [street.start[1], street.start[1], 0.0])
    return np.array([x, y, 0.0 * share, np.where(share < 0.5, 1.5, -1.0)])


def replay(car: sp.Vehicle, plan: Plan) -> sp.Trajectory:
    """What the car does with the inputs of the plan, computed in finer steps."""
    sim = sp.Simulator(car, dt=plan.dt / SUBSTEPS, integrator="radau")
    sim.reset(plan.states[0])
    return sim.run(np.repeat(plan.inputs, SUBSTEPS, axis=0))


def clearance(street: Street, path: sp.Trajectory) -> float:
    """Least distance in m between our discs and those of the parked cars."""
    along = np.array(street.discs)[:, None]
    x = path["x"] + along * np.cos(path["yaw"])
    y = path["y"] + along * np.sin(path["yaw"])
    theirs = [p + d for p in (-street.spacing, street.spacing) for d in street.discs]
    return float(min(np.hypot(x - each, y).min() for each in theirs) - 2.0 * street.radius)


def figure(street: Street, plan: Plan, path: sp.Trajectory) -> Any:
    """The manoeuvre from above, and speed, steering and torque over time."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        fig = Figure(figsize=(12.0, 4.6), layout="constrained")
        above, beside = fig.add_gridspec(1, 2, width_ratios=(1.75, 1.0))
        draw_street(fig.add_subplot(above), street, path)
        panels = beside.subgridspec(3, 1).subplots(sharex=True)
        draw_signals(panels, plan, path)
    return fig


def outline(street: Street, x: float, y: float, yaw: float) -> Array:
    """Corners of a car, (2, 4)."""
    ahead, left = 0.5 * street.length, 0.5 * street.width
    corners = np.array([[ahead, -ahead, -ahead, ahead], [left, left, -left, -left]])
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, -s], [s, c]]) @ corners + np.array([[x], [y]])


def draw_street(axes: Any, street: Street, path: sp.Trajectory) -> None:
    """Parked cars, kerb, and our car again and again: blue forward, orange in reverse."""
    for parked in (-street.spacing, street.spacing):
        axes.fill(*outline(street, parked, 0.0, 0.0), color="#777777", lw=0.0)
    axes.axhspan(street.kerb - 0.8, street.kerb, color="#DDDDDD", lw=0.0)
    axes.axhline(street.kerb, color="#777777", lw=1.5)
    axes.text(street.start[0], street.kerb - 0.4, "kerb", va="center", color="#555555")
    for k in range(0, len(path), 24):
        colour = "#D55E00" if path["v_x"][k] < -0.01 else "#0072B2"
        body = outline(street, path["x"][k], path["y"][k], path["yaw"][k])
        axes.fill(*body, facecolor=colour, alpha=0.06, lw=0.0)
        axes.fill(*body, facecolor="none", edgecolor=colour, lw=0.5, alpha=0.55)
    axes.fill(*outline(street, *path.states[-1, :3]), color="#222222", lw=0.0, zorder=3)
    back = path["v_x"] < -0.01
    for chosen, colour, label in ((~back, "#0072B2", "forward"), (back, "#D55E00", "in reverse")):
        x, y = (np.where(chosen, path[name], np.nan) for name in ("x", "y"))
        axes.plot(x, y, color=colour, lw=2.0, label=label, zorder=4)
    axes.legend(loc="upper left", ncols=2)
    axes.set_aspect("equal")
    axes.set_title(f"Parked in {path.duration:.1f} s [m]")


def draw_signals(panels: Any, plan: Plan, path: sp.Trajectory) -> None:
    """Replay as lines, the ends of the plan's steps as dots, targets thin."""
    times = plan.dt * np.arange(len(plan.states))
    rows = (("v_x", V_X, 1.0, "Speed [m/s]"), ("steer", STEER, 180.0 / np.pi, "Steering angle [°]"))
    for axes, (name, row, scale, title) in zip(panels, rows, strict=False):
        axes.plot(path.t, scale * path[name], color="#0072B2")
        axes.plot(times, scale * plan.states[:, row], ".", ms=3.0, color="#222222")
        axes.set_title(f"{title}, dots: plan")
    panels[1].step(path.t, np.rad2deg(path["u_steer"]), where="post", color="#D55E00", lw=0.6)
    panels[2].step(path.t, path["u_tau_fl"], where="post", color="#0072B2")
    panels[2].set_title("Torque target of each wheel [N·m]")
    panels[2].set_xlabel("t [s]")


def main(arguments: Sequence[str] | None = None) -> tuple[Plan, sp.Trajectory]:
    """Plan, replay, print the figures and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--out", default="park.png")
    options = parser.parse_args(arguments)
    car, street = parking_car(), Street()
    plan = parking_plan(car, street, options.steps)
    path = replay(car, plan)
    x, y, yaw = path.states[-1, :3]
    print(f"solved in         {plan.seconds:.1f} s, {options.steps} Radau steps of {plan.dt:.3f} s")
    print(f"parked after      {path.duration:.1f} s")
    print(
        f"replay ends       {1e3 * np.hypot(x, y):.1f} mm and {np.rad2deg(yaw):.2f}° off the goal"
    )
    print(f"least clearance   {1e3 * clearance(street, path):.0f} mm between the discs")
    figure(street, plan, path).savefig(options.out, dpi=150)
    print(f"plot              {options.out}")
    return plan, path


if __name__ == "__main__":
    main()
