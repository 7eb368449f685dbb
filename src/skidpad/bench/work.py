"""Workloads of all contenders: fleets, a slalom for single steps, gradients, cars, tyres, maps.

The same seed gives the same numbers in every process. The reference solutions are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import integrate, tyres, vehicles
from ..compile import gpu
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.model import Vehicle
from ..core.policy import Cost
from ..errors import InvalidValue
from ..geometry.maps.map import Map
from ..geometry.pose import to_world
from ..run.fleet import Fleet
from ..tyres.contract import Contact
from ..tyres.simple import LoadSensitiveTyre
from ..vehicles.parts.chassis import RollPitch
from ..vehicles.parts.spinning_wheel import FirstOrderSlip

SEED = 20240917
RK4_DT = 1e-3
"""Step of RK4 in s; with torque actuators of 1 ms it is stable up to 2.8 ms."""
RADAU_DT = 1e-2
"""Step of Radau in s, ten time constants of the torque actuators."""
CONTROL_PERIOD = 1e-2
"""Time in s for which an input of the slalom is constant."""
SPEED = 10.0
"""Speed at the start, in m/s."""
REFERENCE_TOLERANCE = 1e-12
"""Relative and absolute tolerance of the reference solution by DOP853."""


class FleetWork(NamedTuple):
    """Vehicles to roll out, each with an individual constant input."""

    vehicle: Vehicle
    dt: float
    steps: int
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (B, nu)."""
    checked: int
    """Number of vehicles, from the first, with a reference."""

    def rollout(self, fleet: Fleet) -> AnyArray:
        """End states (B, nx) of a fleet."""
        return fleet.rollout(self.x0, self.u, steps=self.steps, every=self.steps)[-1]

    def details(self) -> dict[str, Any]:
        return {"vehicles": len(self.x0), "steps": self.steps, "dt": self.dt}

    def first(self, count: int) -> FleetWork:
        """The work for the first vehicles only."""
        return self._replace(x0=self.x0[:count], u=self.u[:count])

    def cast(self, precision: str) -> FleetWork:
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


class Weave(NamedTuple):
    """Slalom at 10 m/s: steering 0.08 sin(π t), random constant torques that maintain the speed."""

    vehicle: Vehicle
    x0: AnyArray
    """Start state (nx,)."""
    rows: AnyArray
    """Inputs (T, nu), each constant for `CONTROL_PERIOD`."""

    def held_rows(self, dt: float) -> AnyArray:
        """Inputs for each step of `dt` in s."""
        return np.repeat(self.rows, round(CONTROL_PERIOD / dt), axis=0)


class Reference(NamedTuple):
    """Reference end states of the checked vehicles."""

    end: AnyArray
    """End states (K, nx)."""
    scale: AnyArray
    """Magnitude of each field (nx,)."""

    def error(self, end: Any) -> float:
        """Largest difference of end states (K, nx), or (nx,) of a single vehicle, relative to the
        scales."""
        scale = np.where(self.scale > 0.0, self.scale, 1.0)
        return float((self._difference(end) / scale).max())

    def distance(self, end: Any, fields: int) -> float:
        """Largest difference of the first `fields` fields, in their units."""
        return float(self._difference(end)[:, :fields].max())

    def _difference(self, end: Any) -> AnyArray:
        return np.abs(np.asarray(end, dtype=float).reshape(self.end.shape) - self.end)


def fleet_work(count: int, dt: float, steps: int, checked: int) -> FleetWork:
    """Work of `count` four-wheel cars at 10 m/s, steering within ±0.05 rad, torques from 0 to 20
    N·m."""
    car = vehicles.four_wheel()
    random = np.random.default_rng(SEED)
    u = random.uniform((-0.05, 0.0, 0.0, 0.0, 0.0), (0.05, 20.0, 20.0, 20.0, 20.0), (count, 5))
    x0 = np.tile(start_at(car, SPEED), (count, 1))
    return FleetWork(car, dt, steps, x0, u, min(checked, count))


def weave(duration: float) -> Weave:
    """The slalom, lasting `duration` in s."""
    car = vehicles.four_wheel()
    t = CONTROL_PERIOD * np.arange(round(duration / CONTROL_PERIOD))
    torques = np.random.default_rng(SEED).uniform(33.0, 53.0, 4)
    rows = np.column_stack([0.08 * np.sin(np.pi * t), np.tile(torques, (len(t), 1))])
    return Weave(car, start_at(car, SPEED), rows)


def start_at(vehicle: Vehicle, speed: float) -> AnyArray:
    """Start state (nx,) straight ahead at a speed in m/s, with rolling wheels."""
    start = record.build(vehicle.State, v_x=speed)
    if vehicle.model.settle is not None:
        start = vehicle.model.settle(start, vehicle.params)
    return np.array(record.flatten(start))


def derivative_of(vehicle: Vehicle, u: Any) -> Any:
    """Function from x (nx, ...) to x', evaluated directly on arrays, for constant inputs u (nu,
    ...)."""
    model = vehicle.model
    assert model.derivative is not None
    equations, kind = model.derivative, model.State
    held = record.unflatten(model.Input, tuple(u))
    w, p = record.build(model.Disturbance), vehicle.params

    def derivative(x: AnyArray) -> AnyArray:
        return np.array(record.flatten(equations(record.unflatten(kind, tuple(x)), held, w, p)))

    return derivative


def skip_transient(work: FleetWork, steps: int = 20) -> FleetWork:
    """The same work, started `steps` steps later, when the torques have reached their targets.

    An adaptive solver takes small steps at the start, which would weigh more in a timed run of a
    few steps than in a whole rollout; so peers are timed from here.
    """
    fleet = Fleet(work.vehicle, work.dt, "rk4", precision=str(work.x0.dtype), threads=1)
    return work._replace(x0=fleet.rollout(work.x0, work.u, steps=steps, every=steps)[-1])


def fleet_reference(work: FleetWork) -> Reference:
    """End states of the checked vehicles by DOP853 with the vehicle's function on arrays."""
    few = work.first(work.checked)
    derivative = derivative_of(work.vehicle, few.u.T)
    end = _solve(derivative, few.x0.T, work.steps * work.dt).T
    return Reference(end, np.abs(end).max(axis=0))


def weave_reference(course: Weave) -> Reference:
    """End state of the slalom, integrated piecewise over each constant input; scales are the
    largest values."""
    states = [course.x0]
    for row in course.rows:
        derivative = derivative_of(course.vehicle, row.tolist())
        # One vehicle is faster on Python floats than on arrays of one element.
        on_floats = partial(_on_floats, derivative)
        states.append(_solve(on_floats, states[-1], CONTROL_PERIOD))
    return Reference(states[-1][None], np.abs(states).max(axis=0))


def _on_floats(derivative: Any, x: AnyArray) -> AnyArray:
    return derivative(x.tolist())


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
"""Folder in a source checkout with the saved vehicles of its GPU tests."""

COST = Cost(
    stage=lambda x, u: (x.v_x - 10.0) ** 2 + 0.1 * u.steer * u.steer + x.y * x.y,
    terminal=lambda x: x.yaw * x.yaw + x.omega * x.omega,
)
"""Cost whose gradients are computed: 10 m/s along the x axis, little steering, straight at the
end. A saved vehicle must have the same cost."""


class Source(NamedTuple):
    """Source of fleets of the four-wheel car: traced, or loaded from a file."""

    file: Path | None
    """Path of a saved vehicle, or None to trace it."""

    @classmethod
    def of(cls, plants: Path | None = None) -> Source:
        """Source with the file in the folder `plants`; without a folder the traced car, or the file
        of this checkout if CasADi is not installed."""
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
        """Make a fleet with RK4 at 1 ms; options as for `Fleet`."""
        if self.file is None:
            return Fleet(vehicles.four_wheel(), RK4_DT, "rk4", **options)
        return Fleet.load(self.file, dt=RK4_DT, **options)

    @property
    def cost(self) -> Cost | None:
        """Cost for `Fleet.gradient`; None for a loaded fleet, which contains its cost."""
        return COST if self.file is None else None


LOWEST = (-0.009, 0.0, 0.0, 0.0, 0.0)
HIGHEST = (0.009, 20.0, 20.0, 20.0, 20.0)
"""Largest inputs, in rad and N·m."""
_STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of fourth order."""


class GradientWork(NamedTuple):
    """Vehicles to roll out, each with an individual random input at every step."""

    vehicle: Vehicle
    dt: float
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (T, B, nu)."""
    checked: int
    """Number of vehicles, from the first, with a reference."""

    @property
    def steps(self) -> int:
        return len(self.u)

    def details(self) -> dict[str, Any]:
        return {"vehicles": len(self.x0), "steps": self.steps, "dt": self.dt}

    def first(self, count: int) -> GradientWork:
        """The work for the first vehicles only."""
        return self._replace(x0=self.x0[:count], u=self.u[:, :count])

    def cast(self, precision: str) -> GradientWork:
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


def gradient_work(count: int, steps: int, checked: int) -> GradientWork:
    """Work of `count` four-wheel cars at 10 m/s, steering within ±0.009 rad, torques from 0 to 20
    N·m.

    The steering never reaches the limit of its rate, where the cost has a kink and central
    differences are useless.
    """
    held = fleet_work(count, RK4_DT, steps, checked)
    u = np.random.default_rng(SEED).uniform(LOWEST, HIGHEST, (steps, count, len(LOWEST)))
    return GradientWork(held.vehicle, RK4_DT, held.x0, u, held.checked)


def gradient_reference(work: GradientWork) -> Reference:
    """Derivatives (K T, nu) of the checked vehicles' costs, by central differences in float64.

    The vehicle's function is evaluated directly on arrays, one column for every perturbed input.
    """
    few = work.first(work.checked)
    steps, count, inputs = few.u.shape
    # Small compared with the range of each input, large compared with the rounding of the cost.
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
    """Costs (N,) of rollouts from x0 (N, nx) with inputs (T, N, nu)."""
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


TYRE_FILE = "tyre.mf61.program"
TYRE = "passenger_car"
V_X = 20.0
"""Speed in m/s; the wheel speed is that of zero slip and does not affect the forces."""
OMEGA = 65.0
TYRE_INPUTS = ("F_z", "kappa", "alpha", "gamma")
TYRE_OUTPUTS = ("F_x", "F_y", "M_z")
TYRE_LOW, TYRE_HIGH = (500.0, -0.3, -0.3, -0.08), (8000.0, 0.3, 0.3, 0.08)
"""Range of the inputs: F_z in N, kappa, alpha in rad and gamma in rad."""


class TyreWork(NamedTuple):
    """Contacts of a Magic Formula 6.1 tyre at one speed and pressure: combined slip and camber.

    All contenders evaluate the same function. The tyre's parameters are arguments of skidpad's
    kernel, which serves every tyre of its kind; for the peers they are constants, which is faster.
    """

    tyre: Any
    columns: AnyArray
    """Inputs (4, B)."""

    def cast(self, precision: str) -> TyreWork:
        return self._replace(columns=self.columns.astype(precision))

    @property
    def contacts(self) -> int:
        return self.columns.shape[1]

    def first(self, count: int) -> TyreWork:
        """Tyre work reduced to the first `count` contacts."""
        return self._replace(columns=self.columns[:, :count])

    def leaves(self) -> AnyArray:
        return np.array(record.flatten(self.tyre), dtype=self.columns.dtype)

    def error(self, forces: Any) -> float:
        """Largest difference of forces (3, B) from those in extended precision, each relative to
        its largest value."""
        exact = np.array(combined(self.tyre, *self.columns.astype(np.longdouble)))
        scale = np.abs(exact).max(axis=1, keepdims=True)
        return float((np.abs(np.asarray(forces, dtype=np.longdouble) - exact) / scale).max())


def tyre_work(count: int) -> TyreWork:
    random = np.random.default_rng(SEED)
    columns = random.uniform(TYRE_LOW, TYRE_HIGH, (count, len(TYRE_INPUTS))).T
    return TyreWork(tyres.get(TYRE).record, np.ascontiguousarray(columns))


def combined(tyre: Any, F_z: Any, kappa: Any, alpha: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """F_x and F_y in N and M_z in N·m at combined slip, for numbers, arrays or symbols."""
    at = Contact(
        F_z=F_z, kappa=kappa, alpha=alpha, gamma=gamma, v_x=V_X, omega=OMEGA, p=tyre.pressure
    )
    forces = tyre.forces(at)
    return forces.F_x, forces.F_y, forces.M_z


def tyre_program(plants: Path | None = None) -> Program:
    """Tyre evaluation as a Program: traced, or from a file if CasADi is not installed."""
    if plants is None and find_spec("casadi") is not None:
        return traced_tyre()
    file = (CHECKOUT if plants is None else plants) / TYRE_FILE
    if not file.is_file():
        raise InvalidValue(
            f"{file} is not there: install casadi, or write it with python tools/make_plants.py"
        )
    return Program.load(file)


def traced_tyre() -> Program:
    kind = type(tyres.get(TYRE).record)

    def function(at: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
        return (combined(record.unflatten(kind, leaves), *at),)

    inputs = (Port("at", TYRE_INPUTS), Port("tyre", record.names(kind)))
    return trace("mf61", function, inputs, (Port("forces", TYRE_OUTPUTS),))


CAR_SPEED = 20.0
"""Speed at the start, in m/s."""
CAR_RADAU_DT = 5e-3
"""Step of Radau in s."""


CARS: dict[str, Callable[[], Vehicle]] = {
    "two_track": lambda: vehicles.two_track(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
    "full_car": lambda: vehicles.full_car(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
    "two_track.roll_pitch": lambda: vehicles.two_track(
        tyre=tyres.get(TYRE), slip=FirstOrderSlip(), chassis=RollPitch()
    ),
    "two_track.load_sensitive": lambda: vehicles.two_track(
        tyre=LoadSensitiveTyre(), slip=FirstOrderSlip()
    ),
    "two_track.sports": lambda: vehicles.two_track("sports", slip=FirstOrderSlip()),
    "single_track": lambda: vehicles.single_track(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
}
"""Factories of the cars by name.

Each has first-order slip, and Magic Formula 6.1 tyres except with the simple tyre and the
parameter set.
"""


def car(name: str) -> Vehicle:
    """Build a car of this group by name."""
    return CARS[name]()


def available_cars() -> list[str]:
    return [name for name in CARS if name.partition(".")[0] in vehicles.names()]


def car_work(name: str, count: int, steps: int, checked: int) -> FleetWork:
    """Work of `count` coasting cars that steer individually within ±0.05 rad."""
    vehicle = car(name)
    u = np.zeros((count, record.size(vehicle.Input)))
    steer = record.names(vehicle.Input).index("steer")
    u[:, steer] = np.random.default_rng(SEED).uniform(-0.05, 0.05, count)
    x0 = np.tile(start_at(vehicle, CAR_SPEED), (count, 1))
    return FleetWork(vehicle, RK4_DT, steps, x0, u, min(checked, count))


ROOM = 50.0
"""Side length in m of the room of `clutter`."""
SQUARE = 0.3
"""Side length in m of a square in that room."""
CELLS = 1600
"""Number of rows and of columns of the grid of `corridor`."""
RESOLUTION = 0.05
"""Side length in m of the cells of `corridor`."""


class Scenery(NamedTuple):
    """Map with free sensor poses in it: x, y in m and yaw in rad, (B, 3)."""

    map: Map
    poses: Array


def clutter(segments: int, poses: int) -> Scenery:
    """Square room with randomly rotated squares in it, with `segments` edges in total."""
    rng = np.random.default_rng(SEED)
    count = (segments - 4) // 4
    centres = rng.uniform(SQUARE, ROOM - SQUARE, (count, 2))
    turns = rng.uniform(0.0, 0.5 * np.pi, count)
    corners = SQUARE / np.sqrt(2.0) * np.stack([np.cos(_QUARTERS), np.sin(_QUARTERS)], axis=1)
    x, y = to_world((centres[:, :1], centres[:, 1:], turns[:, None]), *corners.T)
    rings = [np.stack(ring, axis=1) for ring in zip(x, y, strict=True)]
    room = ROOM * np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    map_ = Map.from_polylines([room, *rings], closed=True, name=f"clutter{segments}")
    count = 4 * poses
    places = rng.uniform(1.0, ROOM - 1.0, (count, 2))
    free = np.column_stack([places, rng.uniform(-np.pi, np.pi, count)])
    nearest = np.full(len(free), np.inf)
    for centre in centres:
        nearest = np.minimum(nearest, np.hypot(*(free[:, :2] - centre).T))
    return Scenery(map_, free[nearest > SQUARE][:poses])


_QUARTERS = np.pi * (0.25 + 0.5 * np.arange(4))


def ring(segments: int, poses: int) -> Scenery:
    """Winding annular track between two closed polylines."""
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
    """Occupancy grid of 80 m by 80 m: a winding corridor about 3 m wide in solid ground."""
    rng = np.random.default_rng(SEED)
    side = CELLS * RESOLUTION
    t = np.linspace(0.0, 1.0, 20_000)
    # The corridor runs back and forth in nine wavy rows.
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


class Device(NamedTuple):
    name: str
    xp: Any
    """Array module, NumPy or CuPy."""
    wait: Callable[[], object]
    """Function that waits for all work on the device."""

    @classmethod
    def of(cls, name: str) -> Device:
        """Device with this name; raises if it is missing."""
        if name == "cpu":
            return cls(name, np, lambda: None)
        xp = gpu.cupy()
        return cls(name, xp, xp.cuda.Device().synchronize)

    def finished(self, call: Callable[[], object]) -> Callable[[], object]:
        """Wrap a call so that it waits for its result, for timing."""

        def and_wait() -> None:
            call()
            self.wait()

        return and_wait

    def vehicles_last(self, array: AnyArray) -> Any:
        """Copy an array (..., B, n) to the device, with the vehicle axis contiguous in memory."""
        rows = np.ascontiguousarray(np.swapaxes(array, -1, -2))
        return np.swapaxes(self.xp.asarray(rows), -1, -2)

    def free(self) -> None:
        if self.name == "cuda":
            self.xp.get_default_memory_pool().free_all_blocks()


def on_host(array: Any) -> AnyArray:
    return array.get() if hasattr(array, "get") else np.asarray(array)


def described(device: Device) -> dict[str, Any]:
    """Name, size and versions of a GPU; empty for the CPU, which `machine` describes."""
    if device.name == "cpu":
        return {}
    runtime, here = device.xp.cuda.runtime, device.xp.cuda.Device()
    properties, attributes = runtime.getDeviceProperties(here.id), here.attributes
    name = properties["name"]
    clock = attributes.get("ClockRate")
    return {
        "name": name.decode() if isinstance(name, bytes) else name,
        "memory_bytes": int(properties["totalGlobalMem"]),
        "multiprocessors": int(properties["multiProcessorCount"]),
        "clock_hz": None if clock is None else 1e3 * clock,
        "compute_capability": here.compute_capability,
        "cuda_driver": _dotted(runtime.driverGetVersion()),
        "cuda_runtime": _dotted(runtime.runtimeGetVersion()),
        "cupy": device.xp.__version__,
    }


def _dotted(version: int) -> str:
    """Version text from a CUDA version number, major × 1000 + minor × 10."""
    return f"{version // 1000}.{version % 1000 // 10}"


def resources(fleet: Fleet) -> dict[str, dict[str, int]]:
    """Registers and bytes of local memory per thread of the kernels that have run on a GPU.

    Local memory takes the values that do not fit into registers, so it should be 0.
    """
    # Engines are private, and no user needs these numbers.
    parts = vars(fleet)
    engines: dict[str, Any] = {"rollout": parts["_runner"].engines.rollout}
    if "_derivatives" in parts:
        for engine in vars(parts["_derivatives"])["_adjoints"].values():
            engines["adjoint"] = engine
    needs = {name: getattr(engine, "resources", {}) for name, engine in engines.items()}
    return {name: need for name, need in needs.items() if need}
