"""The vehicle under test, in one or several variants, and the requirements of manoeuvres.

Linear theory of a vehicle that drives straight on, from the exact derivatives of its model.

    x' = A x + B steer,    (v_y, omega, a_y, ...) = C x + D steer

States that do not affect lateral motion (position, speed, progress) are left out; fast ones
(steering lag, slip, roll) stay in. `Bicycle` is the classical model with two states that has the
same slow motion: axle stiffnesses, understeer gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import inf
from typing import Any, NamedTuple

import numpy as np

from ...control.car import Abilities, abilities_of
from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.body import Demand, Geometry, Limits, Pose, Velocity, body_of
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...road.records import record_of
from ...road.road import Road
from ...run.trim import slopes, straight
from ...units import N_rad, kg, kg_m2, m, m_s, m_s2, s
from ...vehicles.variants import what_it_lacks


class Bicycle(NamedTuple):
    """The linear single-track model with the same slow lateral motion."""

    m: kg
    I_z: kg_m2
    l_f: m
    l_r: m
    C_f: N_rad
    """Cornering stiffness of the front axle, both wheels, including steering and spring
    compliance."""
    C_r: N_rad
    """Cornering stiffness of the rear axle, both wheels, including spring compliance."""

    @property
    def understeer_gradient(self) -> float:
        """Understeer gradient m (l_r / C_f - l_f / C_r) / L: angle per lateral acceleration, in
        rad·s²/m."""
        return self.m * (self.l_r / self.C_f - self.l_f / self.C_r) / (self.l_f + self.l_r)

    @property
    def sideslip_gradient(self) -> float:
        """Sideslip gradient -m l_f / (L C_r): sideslip beyond the kinematic one per lateral
        acceleration.

        In rad·s²/m.
        """
        return -self.m * self.l_f / ((self.l_f + self.l_r) * self.C_r)

    @property
    def characteristic_speed(self) -> m_s:
        """Speed at which the car needs twice the kinematic angle; NaN for an oversteering car."""
        return self._speed(self.understeer_gradient)

    @property
    def critical_speed(self) -> m_s:
        """Speed above which the car is unstable; NaN for an understeering car."""
        return self._speed(-self.understeer_gradient)

    def _speed(self, K: float) -> m_s:
        return float(np.sqrt((self.l_f + self.l_r) / K)) if K > 0.0 else float("nan")


_NO_BICYCLE = Bicycle(*[float("nan")] * 6)


@dataclass(frozen=True, eq=False)
class LinearCar:
    """Linear system from the angle of the front wheels to lateral motion at one speed."""

    v: m_s
    A: Array
    B: Array
    """Input vector, (n,)."""
    C: Array
    """Output matrix, (outputs, n), with rows for v_y and omega at the centre of mass, a_y and
    the actual angle of the front wheels."""
    D: Array
    """Feedthrough, (outputs,)."""
    bicycle: Bicycle
    """Bicycle model; NaN if the vehicle has no tyres that slip."""

    OUTPUTS = ("v_y", "omega", "a_y", "steer")

    __repr__ = brief_repr

    def to_angle(self, frequency: Any) -> dict[str, AnyArray]:
        """Complex gains per rad of the actual front wheel angle, (F,), by output."""
        gains = self.response(frequency)
        return {name: gain / gains["steer"] for name, gain in gains.items()}

    def response(self, frequency: Any) -> dict[str, AnyArray]:
        """Complex gains per rad of the commanded angle at frequencies in Hz, (F,), by output."""
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
        """Response to an angle that rises linearly from 0 to 1 rad and stays, by output, each
        (samples,).

        At times k · period: exact, by the matrix exponential of the system with its input.
        """
        n = len(self.A)
        inner = np.zeros((n + 2, n + 2))
        inner[:n, :n], inner[:n, n], inner[n, n + 1] = self.A, self.B, 1.0
        state = np.zeros(n + 2)
        state[n + 1] = 1.0 / rise
        held = inner.copy()
        held[n, n + 1] = 0.0
        # The sample in which the ramp ends is split into two parts, each of which is exact.
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
        # A car without resistance keeps any speed, so A is singular, but the turn is still unique.
        states: Any = np.linalg.lstsq(self.A, self.B, rcond=1e-12)[0]
        missing = np.linalg.norm(self.A @ states - self.B)
        if missing > 1e-6 * np.linalg.norm(self.B):
            return dict.fromkeys(self.OUTPUTS, float("nan"))  # input: a steering rate
        out = self.D - self.C @ states
        return {name: float(value) for name, value in zip(self.OUTPUTS, out, strict=True)}

    @property
    def poles(self) -> AnyArray:
        """Poles of lateral motion in 1/s, complex, (n,)."""
        return np.linalg.eigvals(self.A)


def _exp(matrix: Array) -> Array:
    """Matrix exponential by scaling and squaring.

    SciPy's function uses a pool of threads even for a matrix of six rows, which on a busy machine
    takes a thousand times as long.
    """
    halvings = max(int(np.ceil(np.log2(max(np.abs(matrix).sum(axis=1).max(), 1e-3)))) + 4, 0)
    scaled = matrix * 0.5**halvings
    total = term = np.eye(len(matrix))
    for k in range(1, 12):  # the truncation error is at most (1/16)^12
        term = term @ scaled / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def _orbit(step: Array, state: Array, count: int) -> Array:
    """States (count, n) of repeated steps from `state`, twice as many with each product."""
    rows = state[None]
    while len(rows) < count:
        rows = np.concatenate([rows, rows @ step.T])
        step = step @ step
    return rows[:count]


@lru_cache(maxsize=256)
def linear_car(vehicle: Vehicle, v: m_s) -> LinearCar:
    """Linear theory of a vehicle for driving straight at a speed in m/s."""
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
    """Model with two states and the same steady response to the angle."""
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


MOST_THEORIES = 8
"""Number of variants up to which each has its linear theory."""


@dataclass(frozen=True, eq=False)
class Subject:
    """Vehicle under test, in one or several variants.

    Variants are vehicles that differ in parameters: `params` by name, each (V,). All variants drive
    a manoeuvre at once.
    """

    vehicle: Vehicle
    params: Mapping[str, Array] = field(default_factory=dict[str, Array])
    name: str = ""
    """Name in tables and reports; if empty, the name of the vehicle."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        body_of(self.vehicle, "a manoeuvre")
        rows = {name: np.atleast_1d(np.asarray(row, float)) for name, row in self.params.items()}
        known = record.names(self.vehicle.model.Params)
        for name in rows:
            if name not in known:
                raise InvalidValue(record.unknown_name(self.vehicle.name, name, known, "parameter"))
        lengths = {name: len(row) for name, row in rows.items()}
        if len(set(lengths.values())) > 1:
            raise InvalidValue(f"variants differ in number: {lengths}")
        object.__setattr__(self, "params", rows)
        object.__setattr__(self, "name", self.name or self.vehicle.name)

    @property
    def variants(self) -> int:
        """Number of variants."""
        return len(next(iter(self.params.values()))) if self.params else 1

    @cached_property
    def geometry(self) -> Geometry:
        """Shape and mass of the vehicle with its own parameters."""
        return self.vehicle.geometry

    @cached_property
    def each(self) -> tuple[Vehicle, ...]:
        """The variants as vehicles."""
        if not self.params:
            return (self.vehicle,)
        rows = (map(float, row) for row in zip(*self.params.values(), strict=True))
        changes = (dict(zip(self.params, row, strict=True)) for row in rows)
        return tuple(map(self.vehicle.with_params, changes))

    @cached_property
    def limits(self) -> Limits:
        return self.vehicle.limits

    @cached_property
    def abilities(self) -> Abilities:
        """Largest demands that a driver makes on the vehicle."""
        return abilities_of(self.vehicle)

    @cached_property
    def wheel_base(self) -> Array:
        """Wheelbase of each variant in m, (V,)."""
        return np.array([vehicle.geometry.wheel_base for vehicle in self.each])

    @cached_property
    def l_r(self) -> Array:
        """Distance from the rear axle to the centre of mass of each variant in m, (V,)."""
        shapes = (vehicle.geometry for vehicle in self.each)
        return np.array([shape.centre_of_mass[0] - shape.rear_axle for shape in shapes])

    def with_lengths(self, **lengths: float) -> Subject:
        """Subject with another `wheel_base` or `l_r` in m, for a log of a different vehicle.

        Everything else, including linear theory, is still that of its parameters.
        """
        other = replace(self)
        measured = {k: v for k, v in self.__dict__.items() if k in ("wheel_base", "l_r")}
        rows = {name: np.full(self.variants, length) for name, length in lengths.items()}
        other.__dict__.update(measured | rows)
        return other

    def part(self, begin: int, size: int) -> Subject:
        """The `size` variants from number `begin` on."""
        rows = {name: row[begin : begin + size] for name, row in self.params.items()}
        return Subject(self.vehicle, rows, self.name)

    def with_theory(self) -> Subject:
        """Subject reduced to the variants whose linear theory is computed: all, up to
        `MOST_THEORIES`.

        With more variants only the first one is kept, since computing a theory takes longer than a
        run.
        """
        return self if self.variants <= MOST_THEORIES else self.part(0, 1)

    @property
    def steers(self) -> bool:
        """Whether the vehicle steers with front wheels."""
        return self.limits.steer_max > 0.0 and self.vehicle.body.steer is not None

    @property
    def grip(self) -> m_s2:
        """Largest acceleration that the tyres transmit; infinite if nothing limits it."""
        return self.limits.grip

    @property
    def slides(self) -> bool:
        """Whether the vehicle can slide sideways because its tyres have limited grip."""
        return self.grip < inf

    def theory(self, v: float) -> LinearCar:
        """Linear theory of the vehicle with its own parameters, for driving straight at `v` in
        m/s."""
        return linear_car(self.vehicle, v)

    def theories(self, v: float) -> list[LinearCar]:
        """The linear theory of each variant."""
        return [linear_car(vehicle, v) for vehicle in self.each]


Requirement = Callable[[Subject, Any], str]
"""Function that returns why a vehicle cannot do a manoeuvre, as a sentence; empty if it can."""


def steering_needed(car: Subject, test: Any = None) -> str:
    """Requirement: steered front wheels."""
    if not car.steers:
        return f"{car.name} does not steer: it turns on the spot"
    steered = car.vehicle.body.steer is not None or car.limits.steer_max < inf
    return "" if steered else f"{car.name} has no wheels that steer"


def tyres_needed(car: Subject, test: Any = None) -> str:
    """Requirement: steering, tyres that slip, and no dead time."""
    if lacks := steering_needed(car):
        return lacks
    if not car.slides:
        return f"{car.name} has no tyres that slip: its turns are those of geometry"
    if not car.vehicle.model.continuous:
        return f"{car.name} is a discrete model"
    return loop_needed(car)


def loop_needed(car: Subject, test: Any = None) -> str:
    """Requirement: no dead time, so that a driver can close the loop."""
    late = car.vehicle.model.dead_times
    return f"{car.name} acts late ({', '.join(late)}): no driver can be in its loop" if late else ""


def speed_needed(car: Subject, test: Any) -> str:
    """Requirement: the vehicle reaches the `speed` of the test."""
    v, most = test.speed, car.limits.v_max
    return "" if v <= most else f"{car.name} reaches {most:.1f} m/s; the test needs {v:.1f} m/s"


def grip_needed(car: Subject, test: Any) -> str:
    """Requirement: grip for the lateral acceleration `a_y` of the test, with a margin."""
    if test.a_y <= 0.8 * car.grip:
        return ""
    return f"{car.name} has grip for {car.grip:.1f} m/s²; {test.a_y:g} m/s² is its limit"


def drive_needed(car: Subject, test: Any = None) -> str:
    """Requirement: drive and brakes that take a demanded acceleration and act through tyres."""
    if car.vehicle.body.imposed:
        return f"{car.name} has an imposed motion: nothing drives it"
    if not car.slides:
        return f"{car.name} has no tyres: it does exactly what is demanded"
    if not takes(car, "a"):
        return f"{car.name} takes a speed, not an acceleration"
    return loop_needed(car)


def takes(car: Subject, demanded: str) -> str:
    """Name of the input that a demand for "v", "a", "omega" or "steer" sets; empty without one."""
    vehicle, p = car.vehicle, car.vehicle.params
    pose, at = Pose(0.0, 0.0, 0.0), Velocity(1.0, 0.0, 0.0)
    x = vehicle.body.placed(record.build(vehicle.State), pose, at, p)
    rest: Demand = Demand(v=1.0)
    asked = rest._replace(**{demanded: getattr(rest, demanded) + 0.01})
    rows = (record.flatten(vehicle.body.command(x, demand, p)) for demand in (rest, asked))
    names = record.names(vehicle.Input)
    return next((n for n, a, b in zip(names, *rows, strict=True) if abs(a - b) > 1e-9), "")


def road_needed(car: Subject, road: Road) -> str:
    """Requirement: a vehicle that can be put on a road."""
    lacks = what_it_lacks(car.vehicle, record_of(road))
    return f"{car.name} cannot be put on a road: {lacks}" if lacks else ""
