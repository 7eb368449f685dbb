"""The work everybody gets: random fleets, a weave for single steps, and the reference solutions.

The same seed gives the same numbers in every process.

Where the four-wheel car comes from: traced here, or a file where CasADi is not installed.

Maps and poses that lidars are measured on, made with a seed: everybody gets the same ones.

The work of gradient benchmarks, and what its derivatives must be.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import integrate, vehicles
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.model import Vehicle
from ..core.policy import Cost
from ..errors import InvalidValue
from ..geometry.maps.map import Map
from ..geometry.pose import to_world
from ..run.fleet import Fleet

SEED = 20240917
RK4_DT = 1e-3
"""Step of RK4 in s; with the torque actuators' time constant of 1 ms it is stable up to 2.8 ms."""
RADAU_DT = 1e-2
"""Step of Radau in s, ten time constants of the torque actuators."""
CONTROL_PERIOD = 1e-2
"""How long an input of the weave is held, in s, whatever the step."""
SPEED = 10.0
"""Speed at the start, in m/s."""
REFERENCE_TOLERANCE = 1e-12
"""rtol and atol of the reference solution by DOP853."""


class FleetWork(NamedTuple):
    """Vehicles to roll out, each with an input of its own that it holds."""

    vehicle: Vehicle
    dt: float
    steps: int
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (B, nu)."""
    checked: int
    """How many of them, from the first, have a reference."""

    def first(self, count: int) -> FleetWork:
        """The same work with only the first vehicles."""
        return self._replace(x0=self.x0[:count], u=self.u[:count])

    def cast(self, precision: str) -> FleetWork:
        """The same work in another precision."""
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


class Weave(NamedTuple):
    """A slalom at 10 m/s: steering 0.08 sin(π t), random constant torques that keep the speed."""

    vehicle: Vehicle
    x0: AnyArray
    """Start state (nx,)."""
    rows: AnyArray
    """Inputs (T, nu), each held for `CONTROL_PERIOD`."""

    def held_rows(self, dt: float) -> AnyArray:
        """An input for each step of `dt`."""
        return np.repeat(self.rows, round(CONTROL_PERIOD / dt), axis=0)


class Reference(NamedTuple):
    """Where the checked vehicles end."""

    end: AnyArray
    """End states (K, nx)."""
    scale: AnyArray
    """How large each field is (nx,)."""

    def error(self, end: Any) -> float:
        """Largest difference of end states (K, nx), or (nx,) of one, relative to the scales."""
        scale = np.where(self.scale > 0.0, self.scale, 1.0)
        return float((self._difference(end) / scale).max())

    def distance(self, end: Any, fields: int) -> float:
        """Largest difference of the first `fields` fields, in their units."""
        return float(self._difference(end)[:, :fields].max())

    def _difference(self, end: Any) -> AnyArray:
        return np.abs(np.asarray(end, dtype=float).reshape(self.end.shape) - self.end)


def fleet_work(count: int, dt: float, steps: int, checked: int) -> FleetWork:
    """`count` four-wheel cars at 10 m/s, steering within ±0.05 rad, torques from 0 to 20 N·m."""
    car = vehicles.four_wheel()
    random = np.random.default_rng(SEED)
    u = random.uniform((-0.05, 0.0, 0.0, 0.0, 0.0), (0.05, 20.0, 20.0, 20.0, 20.0), (count, 5))
    x0 = np.tile(_start(car), (count, 1))
    return FleetWork(car, dt, steps, x0, u, min(checked, count))


def weave(duration: float) -> Weave:
    """The slalom of `duration` seconds."""
    car = vehicles.four_wheel()
    t = CONTROL_PERIOD * np.arange(round(duration / CONTROL_PERIOD))
    torques = np.random.default_rng(SEED).uniform(33.0, 53.0, 4)
    rows = np.column_stack([0.08 * np.sin(np.pi * t), np.tile(torques, (len(t), 1))])
    return Weave(car, _start(car), rows)


def _start(car: Vehicle) -> AnyArray:
    return np.array(record.flatten(record.build(car.State, v_x=SPEED)))


def derivative_of(vehicle: Vehicle, u: Any) -> Any:
    """x' as a function of x (nx, ...), called directly on arrays, for inputs u (nu, ...) held."""
    model = vehicle.model
    assert model.derivative is not None
    equations, kind = model.derivative, model.State
    held = record.unflatten(model.Input, tuple(u))
    w, p = record.build(model.Disturbance), vehicle.params

    def derivative(x: AnyArray) -> AnyArray:
        return np.array(record.flatten(equations(record.unflatten(kind, tuple(x)), held, w, p)))

    return derivative


def settled(work: FleetWork, steps: int = 20) -> FleetWork:
    """The same work some steps later, when the torques have reached their targets.

    An adaptive solver takes small steps at the start. Timed over a few steps, it would be charged
    for that more than over a whole rollout; so peers are timed from here.
    """
    fleet = Fleet(work.vehicle, work.dt, "rk4", precision=str(work.x0.dtype), threads=1)
    return work._replace(x0=fleet.rollout(work.x0, work.u, steps=steps, every=steps)[-1])


def fleet_reference(work: FleetWork) -> Reference:
    """The end of the checked vehicles by DOP853 on the vehicle's function called on arrays."""
    few = work.first(work.checked)
    derivative = derivative_of(work.vehicle, few.u.T)
    end = _solve(derivative, few.x0.T, work.steps * work.dt).T
    return Reference(end, np.abs(end).max(axis=0))


def weave_reference(course: Weave) -> Reference:
    """The end of the weave, solved anew for each held input; scales are the largest on the way."""
    states = [course.x0]
    for row in course.rows:
        derivative = _float_derivative(course.vehicle, row)
        states.append(_solve(derivative, states[-1], CONTROL_PERIOD))
    return Reference(states[-1][None], np.abs(states).max(axis=0))


def _float_derivative(vehicle: Vehicle, row: AnyArray) -> Any:
    # One vehicle is faster on Python floats than on arrays of one element.
    derivative = derivative_of(vehicle, row.tolist())
    return lambda x: derivative(x.tolist())


def _solve(derivative: Any, x: AnyArray, duration: float) -> AnyArray:
    from scipy.integrate import solve_ivp

    def right_hand_side(_: float, y: AnyArray) -> AnyArray:
        return np.ravel(derivative(y.reshape(x.shape)))

    tolerance = REFERENCE_TOLERANCE
    solution: Any = solve_ivp(
        right_hand_side,
        (0.0, duration),
        np.ravel(x),
        method="DOP853",
        t_eval=(duration,),
        rtol=tolerance,
        atol=tolerance,
    )
    if not solution.success:
        raise RuntimeError(f"the reference solution failed: {solution.message}")
    return solution.y[:, -1].reshape(x.shape)


FILE = "four_wheel.rk4.plant"
CHECKOUT = Path(__file__).parents[3] / "tests" / "data" / "plants"
"""Where a checkout of the repository keeps the vehicles that its GPU tests load."""

COST = Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer * u.steer + x.y * x.y,
    terminal=lambda x: x.yaw * x.yaw + x.omega * x.omega,
)
"""What gradients are taken of: speed 10 m/s on the x axis, little steering, straight at the end.
The file has to be saved with the same one."""


class Source(NamedTuple):
    """Makes fleets of the car."""

    file: Path | None
    """A saved vehicle, or None to trace it."""

    @classmethod
    def of(cls, plants: Path | None = None) -> Source:
        """The file in the folder `plants` if one is given; else traced if possible; else the file
        of the checkout that this runs from."""
        if plants is None and find_spec("casadi") is not None:
            return cls(None)
        file = (CHECKOUT if plants is None else plants) / FILE
        if file.is_file():
            return cls(file)
        where = "" if plants is None else f"{file} is not there; "
        raise InvalidValue(
            f"{where}this group needs a four-wheel car: install casadi, or name the folder of a "
            f"saved one, {FILE}, with --plants; python tools/make_plants.py writes it"
        )

    def fleet(self, **options: Any) -> Fleet:
        """A fleet with RK4 at 1 ms; options as for `Fleet`."""
        if self.file is None:
            return Fleet(vehicles.four_wheel(), RK4_DT, "rk4", **options)
        return Fleet.load(self.file, dt=RK4_DT, **options)

    @property
    def cost(self) -> Cost | None:
        """What to give to `Fleet.gradient`: a loaded fleet has the cost it was saved with."""
        return COST if self.file is None else None


ROOM = 50.0
"""Side of the room of `clutter` in m."""
SQUARE = 0.3
"""Side of a square in it, in m."""
CELLS = 1600
"""Rows and columns of `corridor`."""
RESOLUTION = 0.05
"""Side of its cells in m."""


class Scenery(NamedTuple):
    """A map with free poses x, y, yaw (B, 3) of sensors in it."""

    map: Map
    poses: Array


def clutter(segments: int, poses: int) -> Scenery:
    """A square room with randomly turned squares in it, `segments` edges altogether."""
    rng = np.random.default_rng(SEED)
    count = (segments - 4) // 4
    centres = rng.uniform(SQUARE, ROOM - SQUARE, (count, 2))
    turns = rng.uniform(0.0, 0.5 * np.pi, count)
    corners = SQUARE / np.sqrt(2.0) * np.stack([np.cos(_QUARTERS), np.sin(_QUARTERS)], axis=1)
    x, y = to_world((centres[:, :1], centres[:, 1:], turns[:, None]), *corners.T)
    rings = [np.stack(ring, axis=1) for ring in zip(x, y, strict=True)]
    room = ROOM * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    map_ = Map.from_polylines([room, *rings], closed=True, name=f"clutter{segments}")
    free = _random_poses(rng, 4 * poses, ROOM)
    nearest = np.full(len(free), np.inf)
    for centre in centres:
        nearest = np.minimum(nearest, np.hypot(*(free[:, :2] - centre).T))
    return Scenery(map_, free[nearest > SQUARE][:poses])


_QUARTERS = np.pi * (0.25 + 0.5 * np.arange(4))


def ring(segments: int, poses: int) -> Scenery:
    """A winding annular track between two closed polylines."""
    rng = np.random.default_rng(SEED)
    angle = np.linspace(0.0, 2.0 * np.pi, segments // 2, endpoint=False)
    radius = 20.0 + 3.0 * np.sin(3.0 * angle) + 1.5 * np.cos(7.0 * angle)
    direction = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    lines = [(radius + half)[:, None] * direction for half in (-1.5, 1.5)]
    at = rng.integers(len(angle), size=poses)
    places = (radius[at] + rng.uniform(-1.0, 1.0, poses))[:, None] * direction[at]
    turned = rng.uniform(-np.pi, np.pi, poses)
    map_ = Map.from_polylines(lines, closed=True, name=f"ring{segments}")
    return Scenery(map_, np.column_stack([places, turned]))


def corridor(poses: int) -> Scenery:
    """A raster of 80 m by 80 m: a winding corridor about 3 m wide in solid ground."""
    rng = np.random.default_rng(SEED)
    side = CELLS * RESOLUTION
    t = np.linspace(0.0, 1.0, 20_000)
    # Back and forth in nine rows, with waves.
    rows = 9
    row = np.minimum((t * rows).astype(int), rows - 1)
    along = t * rows - row
    x = 6.0 + (side - 12.0) * np.where(row % 2 == 0, along, 1.0 - along)
    y = 6.0 + (side - 12.0) * (row + np.clip((along - 0.9) / 0.1, 0.0, 1.0)) / rows
    y = np.clip(y + 1.2 * np.sin(0.35 * x), 3.0, side - 3.0)
    line = np.stack([x, y], axis=1)
    centre = (np.arange(CELLS) + 0.5) * RESOLUTION
    occupied = np.ones((CELLS, CELLS), bool)
    reach = int(1.6 / RESOLUTION)
    for p, q in line[::8]:
        i, j = int(q / RESOLUTION), int(p / RESOLUTION)
        part = slice(max(i - reach, 0), i + reach), slice(max(j - reach, 0), j + reach)
        distance = np.hypot(centre[part[1]][None, :] - p, centre[part[0]][:, None] - q)
        occupied[part] &= distance > 1.5
    map_ = Map.from_grid(occupied, resolution=RESOLUTION, name="corridor")
    at = rng.integers(len(line), size=poses)
    shift = rng.uniform(-0.7, 0.7, (poses, 2))
    return Scenery(map_, np.column_stack([line[at] + shift, rng.uniform(-np.pi, np.pi, poses)]))


def _random_poses(rng: np.random.Generator, count: int, side: float) -> Array:
    places = rng.uniform(1.0, side - 1.0, (count, 2))
    return np.column_stack([places, rng.uniform(-np.pi, np.pi, count)])


LOWEST = (-0.009, 0.0, 0.0, 0.0, 0.0)
HIGHEST = (0.009, 20.0, 20.0, 20.0, 20.0)
"""Range of the inputs, in rad and N·m."""
_STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Places and weights of a central difference of fourth order."""


class GradientWork(NamedTuple):
    """Vehicles to roll out, each with a random input of its own at every step."""

    vehicle: Vehicle
    dt: float
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (T, B, nu)."""
    checked: int
    """How many vehicles, from the first, have a reference."""

    @property
    def steps(self) -> int:
        """Steps of a rollout."""
        return len(self.u)

    def first(self, count: int) -> GradientWork:
        """The same work with only the first vehicles."""
        return self._replace(x0=self.x0[:count], u=self.u[:, :count])

    def cast(self, precision: str) -> GradientWork:
        """The same work in another precision."""
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


def gradient_work(count: int, steps: int, checked: int) -> GradientWork:
    """`count` four-wheel cars at 10 m/s, steering within ±0.009 rad, torques from 0 to 20 N·m.

    That is too little steering to reach the limit of its rate, where the cost has a kink and
    central differences would say nothing.
    """
    held = fleet_work(count, RK4_DT, steps, checked)
    u = np.random.default_rng(SEED).uniform(LOWEST, HIGHEST, (steps, count, len(LOWEST)))
    return GradientWork(held.vehicle, RK4_DT, held.x0, u, held.checked)


def gradient_reference(work: GradientWork) -> Reference:
    """Derivatives (K T, nu) of the checked vehicles' costs, by central differences in float64.

    The vehicle's function is called directly on arrays, one column for every moved input.
    """
    few = work.first(work.checked)
    steps, count, inputs = few.u.shape
    # Small beside the range of each input, large beside the rounding of the cost.
    moves = 2e-3 * np.array(HIGHEST)
    total = np.zeros((steps, inputs, count))
    for place, weight in _STENCIL:
        moved = np.broadcast_to(few.u[:, None, None], (steps, steps, inputs, count, inputs)).copy()
        at, of = np.ix_(range(steps), range(inputs))
        moved[at, at, of, :, of] += (place * moves)[None, :, None]
        x0 = np.broadcast_to(few.x0, (steps, inputs, *few.x0.shape))
        flat = moved.reshape(steps, -1, inputs)
        costs = _costs(few.vehicle, few.dt, x0.reshape(-1, few.x0.shape[1]), flat)
        total += weight * costs.reshape(steps, inputs, count) / moves[:, None]
    end = np.moveaxis(total, 2, 0).reshape(-1, inputs)
    return Reference(end, np.abs(end).max(axis=0))


def _costs(vehicle: Vehicle, dt: float, x0: AnyArray, u: AnyArray) -> AnyArray:
    """The cost (N,) of rollouts from x0 (N, nx) with inputs (T, N, nu)."""
    model, p = vehicle.model, vehicle.params
    update = integrate.discretise(model, integrate.get("rk4"))
    w = record.build(model.Disturbance)
    state: Any = record.unflatten(model.State, tuple(np.ascontiguousarray(x0.T)))
    cost: Any = 0.0
    for row in u:
        held = record.unflatten(model.Input, tuple(np.ascontiguousarray(row.T)))
        cost = cost + COST.at_step(state, held, p, None)
        state, _ = update(state, held, w, p, dt)
    return cost + COST.at_end(state, p, None)
