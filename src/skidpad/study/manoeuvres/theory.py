"""Linear theory of a vehicle that drives straight on, from the exact derivatives of its model.

    x' = A x + B steer,    (v_y, omega, a_y, ...) = C x + D steer

States that do not matter for lateral motion (position, speed, progress) are left out; those that
follow fast (steering lag, slip, roll) stay in. `Bicycle` is the classical model with two states
that has the same slow motion: axle stiffnesses, understeer gradient.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.body import Demand, body_of
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...run.linearisation import slopes, straight
from ...units import N_rad, kg, kg_m2, m, m_s, s


class Bicycle(NamedTuple):
    """The linear single-track model with the same slow lateral motion."""

    m: kg
    I_z: kg_m2
    l_f: m
    l_r: m
    C_f: N_rad
    """Cornering stiffness of the front axle, both wheels, with what its steering and springs give
    way."""
    C_r: N_rad
    """Cornering stiffness of the rear axle, likewise."""

    @property
    def understeer_gradient(self) -> float:
        """m (l_r / C_f - l_f / C_r) / L: angle per lateral acceleration, in rad·s²/m."""
        return self.m * (self.l_r / self.C_f - self.l_f / self.C_r) / (self.l_f + self.l_r)

    @property
    def sideslip_gradient(self) -> float:
        """-m l_f / (L C_r): sideslip beyond the kinematic one per lateral acceleration, in
        rad·s²/m."""
        return -self.m * self.l_f / ((self.l_f + self.l_r) * self.C_r)

    @property
    def characteristic_speed(self) -> m_s:
        """Speed at which it needs twice the kinematic angle, in m/s; NaN of an oversteering car."""
        K = self.understeer_gradient
        return float(np.sqrt((self.l_f + self.l_r) / K)) if K > 0.0 else float("nan")

    @property
    def critical_speed(self) -> m_s:
        """Speed above which it is unstable, in m/s; NaN of an understeering car."""
        K = self.understeer_gradient
        return float(np.sqrt(-(self.l_f + self.l_r) / K)) if K < 0.0 else float("nan")


_NO_BICYCLE = Bicycle(*[float("nan")] * 6)


@dataclass(frozen=True, eq=False)
class LinearCar:
    """A linear system from the angle of the front wheels to lateral motion at one speed."""

    v: m_s
    A: Array
    B: Array
    """(n,)."""
    C: Array
    """(outputs, n) with rows v_y and omega at the centre of mass, a_y and the angle of the front
    wheels as they are turned."""
    D: Array
    """(outputs,)."""
    bicycle: Bicycle
    """NaN where the vehicle has no tyres that slip."""

    OUTPUTS = ("v_y", "omega", "a_y", "steer")

    __repr__ = brief_repr

    def to_angle(self, frequency: Any) -> dict[str, AnyArray]:
        """Complex gains per rad of the front wheels as they are turned, (F,), by output."""
        gains = self.response(frequency)
        return {name: gain / gains["steer"] for name, gain in gains.items()}

    def response(self, frequency: Any) -> dict[str, AnyArray]:
        """Complex gains per rad that is asked for at frequencies in Hz, (F,), by output."""
        swept = 2.0j * np.pi * np.atleast_1d(np.asarray(frequency, dtype=float))
        eye = np.eye(len(self.A))
        inner = np.stack([np.linalg.solve(w * eye - self.A, self.B) for w in swept])
        gains = inner @ self.C.T + self.D
        return dict(zip(self.OUTPUTS, gains.T, strict=True))

    def step(self, t: Any) -> dict[str, Array]:
        """Response at times in s, (T,), to a step of 1 rad at time zero, by output."""
        times = np.asarray(t, dtype=float)
        values, vectors = np.linalg.eig(self.A)
        modal = np.linalg.solve(vectors, self.B.astype(complex))
        grown = np.where(times > 0.0, times, 0.0)[:, None] * values
        states = ((np.expm1(grown) / values) * modal) @ vectors.T
        after = (times >= 0.0)[:, None]
        out = np.where(after, (states @ self.C.T).real + self.D, 0.0)
        return dict(zip(self.OUTPUTS, out.T, strict=True))

    def ramp(self, rise: s, period: s, samples: int) -> dict[str, Array]:
        """Response to an angle that goes from 0 to 1 rad within a time and stays, each (samples,),
        at times k · period: exact, by the matrix exponential of the system with its input."""
        n = len(self.A)
        inner = np.zeros((n + 2, n + 2))
        inner[:n, :n], inner[:n, n], inner[n, n + 1] = self.A, self.B, 1.0
        state = np.zeros(n + 2)
        state[n + 1] = 1.0 / rise
        held = inner.copy()
        held[n, n + 1] = 0.0
        # Over the sample in which the angle arrives both parts are exact, too.
        whole = int(rise / period)
        left = rise - whole * period
        rising = _orbit(_exp(period * inner), state, whole + 1)
        corner = _exp((period - left) * held) @ _exp(left * inner)
        after = _orbit(_exp(period * held), corner @ rising[-1], samples)
        rows = np.concatenate([rising, after])[:samples]
        out = rows[:, :n] @ self.C.T + rows[:, n : n + 1] * self.D
        return dict(zip(self.OUTPUTS, out.T, strict=True))

    @property
    def gains(self) -> dict[str, float]:
        """Steady response per rad of the front wheels, by output."""
        # A car that nothing resists keeps any speed, so A is singular and the turn is still one.
        states: Any = np.linalg.lstsq(self.A, self.B, rcond=1e-12)[0]
        missing = np.linalg.norm(self.A @ states - self.B)
        if missing > 1e-6 * np.linalg.norm(self.B):
            return dict.fromkeys(self.OUTPUTS, float("nan"))  # the angle itself is an integral
        out = self.D - self.C @ states
        return {name: float(value) for name, value in zip(self.OUTPUTS, out, strict=True)}

    @property
    def poles(self) -> AnyArray:
        """Of lateral motion, in 1/s, complex, (n,)."""
        return np.linalg.eigvals(self.A)


def _exp(matrix: Array) -> Array:
    """Its exponential by scaling and squaring. SciPy's uses a pool of threads for a matrix of six
    rows, which on a busy machine takes a thousand times as long."""
    halvings = max(int(np.ceil(np.log2(max(np.abs(matrix).sum(axis=1).max(), 1e-3)))) + 4, 0)
    scaled = matrix * 0.5**halvings
    total = term = np.eye(len(matrix))
    for k in range(1, 12):  # at most 1/16 to the twelfth power is left out
        term = term @ scaled / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def _orbit(step: Array, state: Array, count: int) -> Array:
    """States (count, n) from a first one on, each a step later, twice as many with each product."""
    rows = state[None]
    while len(rows) < count:
        rows = np.concatenate([rows, rows @ step.T])
        step = step @ step
    return rows[:count]


def linear_car(vehicle: Vehicle, v: m_s) -> LinearCar:
    """The linear theory of a vehicle about driving straight at a speed in m/s."""
    body, p = body_of(vehicle, "linear theory"), vehicle.params
    com, base = vehicle.geometry.centre_of_mass[0], vehicle.geometry.wheel_base
    start, _, a = straight(vehicle, v, may_change_speed=True)

    def commanded(steer: float) -> Any:
        return body.command(start, Demand(steer=steer, a=a, v=v, omega=v * steer / base), p)

    def moving(x: Any, u: Any) -> tuple[float, float, float]:
        now = body.velocity(x, u, p)
        angle = 0.0 if body.steer is None else body.steer(x, u, p)
        return now.v_y + com * now.omega, now.omega, angle

    u = commanded(0.0)
    _, A, by_input = vehicle.linearise_continuous(start, u)
    b = by_input @ slopes(lambda e: record.flatten(commanded(e[0])), [0.0])[:, 0]
    C = slopes(lambda row: moving(record.unflatten(vehicle.State, row), u), record.flatten(start))
    d = slopes(lambda e: moving(start, commanded(e[0])), [0.0])[:, 0]
    # States that the angle reaches and that reach lateral motion.
    linked = np.abs(A) > 1e-9 * np.abs(A).max()
    reached, reaching = np.abs(b) > 0.0, (np.abs(C) > 1e-9).any(axis=0)
    for _ in range(len(A)):
        reached = reached | (linked & reached).any(axis=1)
        reaching = reaching | (linked.T & reaching).any(axis=1)
    kept = np.flatnonzero(reached & reaching).tolist()
    inner, b, rows = A[np.ix_(kept, kept)], b[kept], C[:, kept]
    # a_y = v_y' + v omega, where the angle itself has no rate.
    across = rows[0] @ inner + v * rows[1], rows[0] @ b + v * d[1]
    outputs = np.insert(rows, 2, across[0], axis=0), np.insert(d, 2, across[1])
    linear = LinearCar(v, inner, b, *outputs, _NO_BICYCLE)
    return replace(linear, bicycle=_bicycle(vehicle, linear))


def _bicycle(vehicle: Vehicle, linear: LinearCar) -> Bicycle:
    """The model with two states and the same steady turn per angle."""
    shape, v = vehicle.geometry, linear.v
    com = shape.centre_of_mass[0]
    l_f, l_r = shape.front_axle - com, com - shape.rear_axle
    L, gains = l_f + l_r, linear.gains
    K = (v / gains["omega"] - L) / (v * v)
    slip = l_r - gains["v_y"] / v * (L + K * v * v)
    if not vehicle.limits.grip < np.inf or not slip > 1e-6:
        return _NO_BICYCLE
    C_r = shape.mass * l_f * v * v / (L * slip)
    C_f = shape.mass * l_r / (K * L + shape.mass * l_f / C_r)
    return Bicycle(shape.mass, shape.inertia, l_f, l_r, C_f, C_r)
