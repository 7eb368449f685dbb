"""`drift`: the same drift on tyres with five levels of grip.

Five cars (CommonRoad's single track with spinning wheels) enter a left bend at the same speed.
Their drivers hold 10 m/s and a slip angle of 34°. The grip of the tyres determines the radius of
the circle: with half the grip it is more than twice as large.

In a steady drift the rear tyres slide and the front wheels point out of the bend, while speed, slip
angle, yaw rate and wheel speeds are constant. This equilibrium is unstable. A linear-quadratic
regulator (Kalman 1960) around it corrects steering and throttle as soon as the car begins to leave
it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .. import vehicles
from ..core.arrays import Array
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..units import m, m_s, one, rad, s
from .shows import Driver, StartLine, TrajectoryShow, driving_show

MOVING = ("v", "beta", "omega", "omega_f", "omega_r", "steer")
"""States of `commonroad_std` that are constant in a steady drift."""
WEIGHTS = (0.5, 20.0, 20.0, 0.0, 0.02, 1.0)
COSTS = (5.0, 0.5)
REACH = (3.0, 11.0)
"""Limits of the driver: steering rate in rad/s and acceleration in m/s²."""


class Balance(NamedTuple):
    """Equilibrium of a car in a steady drift to the left."""

    z: Array
    """Values of the states `MOVING`."""
    u: Array
    """Steering rate in rad/s, which is 0, and acceleration in m/s²."""

    @property
    def radius(self) -> m:
        """Radius in m of the circle that the car drives."""
        return float(self.z[0] / self.z[2])


def rates(car: Vehicle, z: Any, u: Any) -> Array:
    """Time derivatives of the states `MOVING` for a steering rate and an acceleration."""
    rate = car.derivative(car.State(**dict(zip(MOVING, z, strict=True))), car.Input(*u))
    return np.array([getattr(rate, name) for name in MOVING], float)


def balance(car: Vehicle, v: m_s, beta: rad) -> Balance:
    """Find the drift with this speed and slip angle; negative angles drift to the left."""
    from scipy.optimize import least_squares

    p = car.params
    roll, grip = v / p.R_w, 9.0 * p.tyre.p_dy1
    # Wheel spins change a hundred times as fast as the other states.
    scale = np.array([1.0, 1.0, 1.0, 0.01, 0.01, 1.0])

    def unrest(q: Array) -> Array:
        omega, omega_f, omega_r, steer, a = q
        return scale * rates(car, (v, beta, omega, omega_f, omega_r, steer), (0.0, a))

    guess = [grip / v, 0.94 * roll, 1.45 * roll, -0.45, 0.3 * grip]
    solution = least_squares(unrest, guess, x_scale=[0.1, 1.0, 1.0, 0.1, 1.0])
    if solution.cost > 1e-12:
        raise InvalidValue(f"no steady drift at v = {v:g} m/s and beta = {beta:g} rad was found")
    omega, omega_f, omega_r, steer, a = solution.x.tolist()
    return Balance(np.array([v, beta, omega, omega_f, omega_r, steer]), np.array([0.0, a]))


class DriftDriver:
    """Driver that holds a steady drift; called once per step with the time and the state."""

    def __init__(self, car: Vehicle, held: Balance) -> None:
        self.car, self.held = car, held
        from scipy.linalg import solve_continuous_are

        A = _slopes(lambda z: rates(car, z, held.u), held.z)
        B = _slopes(lambda u: rates(car, held.z, u), held.u)
        R = np.diag(COSTS)
        P = solve_continuous_are(A, B, np.diag(WEIGHTS), R)
        self.gain = np.linalg.solve(R, B.T @ P)

    def __call__(self, t: s, x: Any) -> Any:
        z = np.array([getattr(x, name) for name in MOVING])
        command = self.held.u - self.gain @ (z - self.held.z)
        steer_rate, a = np.clip(command, [-REACH[0], -4.0], REACH).tolist()
        return self.car.Input(steer_rate=steer_rate, a=a)


def _slopes(function: Any, at: Array) -> Array:
    """Jacobian of a function at a point, by central differences."""
    h = 1e-5
    columns = [(function(at + e) - function(at - e)) / (2.0 * h) for e in h * np.eye(len(at))]
    return np.array(columns).T


DT: s = 0.01
SUBSTEPS = 13
"""Substeps per step; the wheels need steps below 0.78 ms with RK4."""
GRIPS: tuple[one, ...] = (0.55, 0.7, 0.85, 1.0, 1.15)
"""Friction relative to the standard tyre's."""
SPEED: m_s = 10.0
SLIP: rad = -0.6
ENTRY: rad = -0.3
"""Slip angle of the cars at the start, in rad."""


def car(grip: one) -> Vehicle:
    """Car with this relative friction, and the fast steering of a drift car."""
    standard = vehicles.commonroad_std()
    p = standard.params
    tyre = p.tyre._replace(p_dx1=grip * p.tyre.p_dx1, p_dy1=grip * p.tyre.p_dy1)
    return Vehicle(standard.model, p._replace(tyre=tyre, steer_rate_max=3.0, steer_max=0.9))


def show(seed: int) -> TrajectoryShow:
    """Show of the cars, which drift around a common centre; the seed has no effect."""
    drivers: dict[str, Driver] = {}
    radii: list[str] = []
    for grip in GRIPS:
        one_car = car(grip)
        held = balance(one_car, SPEED, SLIP)
        radii.append(f"{held.radius:.1f}")
        roll = SPEED / one_car.params.R_w
        start = {
            "y": -held.radius,
            "v": SPEED,
            "beta": ENTRY,
            "omega": float(held.z[2]),
            "omega_f": roll,
            "omega_r": 1.2 * roll,
        }
        drivers[f"{100 * grip:.0f} % grip"] = Driver(one_car, DriftDriver(one_car, held), start)
    return driving_show(
        drivers,
        dt=DT,
        integrator="rk4",
        substeps=SUBSTEPS,
        title="One drift, five kinds of tyres",
        duration=20.0,
        start_line=StartLine(0.0, -15.0, 0.0, 15.0),
        remarks=(f"radius of the circles: {', '.join(radii)} m",),
    )
