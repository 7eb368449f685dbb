"""`Simulation`: nominal and perturbed motion of a vehicle under one input, and its measurement.

The interface of commonroad-control's simulation, for any vehicle; docs/commonroad_vehicles.md
lists the differences. Disturbances are drawn from the channel `disturbance`, one step after another
over all calls of `simulate`, and measurements from the channel `noise`, one step each. The channels
are independent: a simulation without noise has the same disturbances.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import not_negative, one_of, positive
from ...core.files import brief_repr, shortened, shown
from ...core.model import Model, NoDisturbance, Vehicle, VehicleFactory
from ...errors import InvalidValue
from ...integrate.base import Integrator
from ...random import streams as seeds
from ...random.model import NoUncertainty, UncertaintyModel, checked_model, draw_sample
from ...random.streams import Draw
from ...run.arguments import check_sample_room
from ...run.fleet import Fleet
from ...run.trajectory import Trajectory
from ...run.trajectory_table import Layout, TrajectoryMode
from ...sensors.models import FullStateFeedback, SensorModel
from ...vehicles.parts.assembly import with_disturbance
from .motion import Grid, Motion, grid, motion, own_integrator, solver_class

if TYPE_CHECKING:
    from ...run.monte_carlo import MonteCarlo

BY_NAME = (
    "two orders of these arguments are in use, so write them by name: Simulation(vehicle_model, "
    "disturbance_model=..., sensor_model=..., random_disturbance=..., random_noise=..., "
    "delta_t_w=...)"
)
SMALLEST_RTOL = 100.0 * float(np.finfo(float).eps)
"""Least rtol of SciPy's methods."""
STUDY_OPTIONS = ("seed", "quantities", "events", "quantiles", "confidence", "progress")
FACTORY_METHODS = ("state_from_numpy_array", "trajectory_from_numpy_array")


def vehicle_of(vehicle: Any) -> Vehicle:
    """Return the vehicle itself, or the vehicle that a factory describes."""
    if isinstance(vehicle, VehicleFactory):
        return vehicle()
    if isinstance(vehicle, Vehicle):
        return vehicle
    raise InvalidValue(
        f"vehicle_model must be a Vehicle such as sp.vehicles.commonroad_kinematic_bicycle(), "
        f"got {_described(vehicle)}"
    )


def check_order(sidt_factory: Any, disturbance_model: Any, sensor_model: Any, **flags: Any) -> None:
    """Raise InvalidValue for positional arguments in the wrong order."""
    needs: list[tuple[str, Any, bool, str]] = [
        (name, value, value is None or isinstance(value, kind), f"be {what}")
        for name, value, kind, what in (
            ("disturbance_model", disturbance_model, UncertaintyModel, "an UncertaintyModel"),
            ("sensor_model", sensor_model, SensorModel, "a SensorModel"),
        )
    ]
    needs += [
        (name, value, isinstance(value, (bool, np.bool_)), "be True or False")
        for name, value in flags.items()
    ]
    fits = sidt_factory is None or all(hasattr(sidt_factory, m) for m in FACTORY_METHODS)
    methods = f"have the methods {', '.join(FACTORY_METHODS)}"
    for name, value, holds, what in (*needs, ("sidt_factory", sidt_factory, fits, methods)):
        if not holds:
            raise InvalidValue(f"{name} must {what}, got {_described(value)}; {BY_NAME}")


def tolerances(rtol: Any, atol: Any, size: int) -> dict[str, Any]:
    """Checked tolerances for SciPy's solvers; atol may have one value per state."""
    options: dict[str, Any] = {}
    for name, value, least in (("rtol", rtol, SMALLEST_RTOL), ("atol", atol, 0.0)):
        if value is None:
            continue
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            raise InvalidValue(f"{name} = {shown(value)} must be a number") from None
        if numbers.shape not in ((), (size,)) or not (np.isfinite(numbers) & (numbers > 0)).all():
            raise InvalidValue(
                f"{name} = {shown(value)} must be finite and greater than 0: one number or {size}"
            )
        if (numbers < least).any():
            raise InvalidValue(f"{name} = {value!r} must be at least {least:.3g}")
        options[name] = float(numbers) if numbers.ndim == 0 else numbers
    return options


def reader(name: str, kind: type, *, complete: bool) -> Callable[[Any], tuple[float, ...]]:
    """Return a function that reads the numbers of a state or an input.

    It takes a record, a mapping of names, an array, or an object with commonroad-control's
    `convert_to_array`. With `complete` a mapping must name every field.
    """
    ranged = any(leaf.allowed is not None for leaf in record.fields(kind))
    simple = not ranged and len(kind._fields) == record.size(kind)
    blank = record.unflatten(kind, (None,) * record.size(kind)) if complete else None
    size, finite = record.size(kind), math.isfinite

    def read(values: Any) -> tuple[float, ...]:
        # Fast path for the usual types; the general path raises all errors.
        row = values if type(values) is kind else None
        if type(values) is np.ndarray and values.dtype == np.float64 and values.shape == (size,):
            row = tuple(values.tolist())
        if simple and row is not None:
            try:
                if all(map(finite, row)):
                    return row
            except (TypeError, OverflowError):
                pass
        return _built(name, kind, values, blank)

    return read


def _built(name: str, kind: type, source: Any, blank: Any) -> tuple[float, ...]:
    if hasattr(source, "convert_to_array"):
        # Objects of commonroad-control may have fields that are None.
        values = np.ravel(np.asarray(source.convert_to_array(), dtype=object))
        names = record.names(kind)
        pairs = zip(names, values, strict=False)
        missing = [n for n, v in pairs if v is None or (isinstance(v, float) and math.isnan(v))]
        if len(values) == len(names) and missing:
            raise InvalidValue(f"{name}: {kind.__name__} needs a value for {', '.join(missing)}")
        source = values.tolist()
    if source is None or isinstance(source, str):
        raise InvalidValue(f"{name} = {source!r} must give {', '.join(record.names(kind))}")
    if record.is_record_type(type(source)) and not isinstance(source, kind):
        # Another class of record with the same fields is allowed.
        if record.names(type(source)) == record.names(kind):
            return _built(name, kind, list(record.flatten(source)), blank)
        raise InvalidValue(
            f"{name} is a record of {type(source).__qualname__}; expected are the fields "
            f"{', '.join(record.names(kind))}"
        )
    try:
        return record.flatten(record.build(kind, source, base=blank))
    except InvalidValue as error:
        raise InvalidValue(f"{name}: {error}") from None


def _described(value: Any) -> str:
    if isinstance(value, (bool, np.bool_, int, float, str)):
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__qualname__}"
    return f"a {type(value).__qualname__}"


def with_model(
    vehicle: Vehicle, model: UncertaintyModel | None
) -> tuple[Vehicle, UncertaintyModel]:
    """Vehicle whose disturbance has the size of the model, and the model.

    This is the vehicle itself, or the vehicle with a disturbance added to the derivative of its
    state, alone or before its own. None stands for no uncertainty.
    """
    own, state = record.size(vehicle.model.Disturbance), record.size(vehicle.State)
    if model is None:
        rest = record.flatten(record.build(vehicle.model.Disturbance))
        return vehicle, NoUncertainty(own, nominal_value=rest)
    fitting = vehicle
    if model.dim != own and vehicle.model.continuous:
        if model.dim == state:
            fitting = with_disturbance(Vehicle(_at_rest(vehicle.model), vehicle.params))
        elif model.dim == state + own:
            fitting = with_disturbance(vehicle)
    names = record.names(fitting.model.Disturbance)
    if model.dim != len(names):
        added = f" or, added to its derivative, {state} ({', '.join(record.names(vehicle.State))})"
        raise InvalidValue(
            f"disturbance_model has dim = {model.dim}; {vehicle.name!r} takes {own} disturbances "
            f"({', '.join(names) or 'none'})" + (added if vehicle.model.continuous else "")
        )
    checked_model("disturbance_model", model, names, f"the disturbance of {vehicle.name!r}")
    model.check_state(vehicle.State)
    return fitting, model


def _at_rest(model: Model) -> Model:
    """Model equations with the model's own disturbances fixed at their defaults."""
    if not record.size(model.Disturbance):
        return model
    rest = record.build(model.Disturbance)

    def calm(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda x, u, w, p: function(x, u, rest, p)

    functions = {name: getattr(model, name) for name in ("derivative", "outputs", "hold")}
    calmed = {name: calm(function) for name, function in functions.items() if function is not None}
    return replace(model, Disturbance=NoDisturbance, **calmed)


CHANNELS = ("disturbance", "noise")
"""Channel names, which a Monte Carlo study uses too."""


class Streams(NamedTuple):
    """Random streams for disturbance and noise from one seed, with their current positions."""

    disturbance: Draw
    noise: Draw
    memory: Any
    noise_memory: Any = None
    step: int = 0
    """Number of disturbances drawn so far."""
    time: float = 0.0
    """Time simulated so far, in s."""
    measured: int = 0
    """Number of measurement noises drawn so far."""

    @classmethod
    def of(cls, seed: int, model: UncertaintyModel) -> Self:
        return cls(*(Draw.of_seed(seed, name) for name in CHANNELS), memory=model.start(1))

    def disturbance_at(self, k: int, dt: float) -> Draw:
        """Draw for the k-th step from the current position; dt is the step length in s."""
        return self.disturbance.at(self.step + k, dt, self.time + k * dt)

    def noise_at(self, dt: float) -> Draw:
        """Draw for a measurement at the current position, dt in s after the last one."""
        return self.noise.at(self.measured, dt, self.time)


Result = tuple[Any, Any, Any]
"""Measurement, perturbed and nominal trajectory."""


class Outcome(NamedTuple):
    nominal: Array
    """Nominal states, (steps + 1, nx)."""
    perturbed: Array
    """Perturbed states, (steps + 1, nx); the array `nominal` itself without a perturbation."""
    drawn: Array | None
    """Disturbances, (steps, nw); None if the nominal value acted throughout."""
    measurement: Any
    streams: Streams
    grid: Grid


class Results:
    """Converts outcomes to records and trajectories of skidpad or of a factory.

    Args:
        vehicle: the simulated vehicle.
        factory: an object with commonroad-control's interface, or None.
    """

    def __init__(self, vehicle: Vehicle, factory: Any) -> None:
        self.factory = factory
        self._State = vehicle.State
        self._layout = Layout.of(vehicle.State, "state", vehicle.name)
        self._times: tuple[Grid, Array] = (Grid(-1, 0.0), np.zeros(1))

    def of(self, outcome: Outcome, method: str) -> Result:
        """Measurement, perturbed and nominal trajectory of an outcome; the trajectories' notes name
        `method`.
        """
        nominal = self._trajectory(outcome.nominal, outcome.grid, method)
        perturbed = nominal
        if outcome.perturbed is not outcome.nominal:
            perturbed = self._trajectory(outcome.perturbed, outcome.grid, method)
        y = outcome.measurement
        if self.factory is not None and isinstance(y, self._State):
            y = self.factory.state_from_numpy_array(np.array(record.flatten(y), dtype=float))
        return y, perturbed, nominal

    def _trajectory(self, states: Array, over: Grid, method: str) -> Any:
        if self.factory is not None:
            # Use the enumeration of its own module, since members of two enumerations are never
            # equal.
            module = sys.modules.get(getattr(self.factory, "__module__", ""))
            modes = getattr(module, "TrajectoryMode", TrajectoryMode)
            times = dict(time_steps=list(range(over.steps + 1)), t_0=0.0, delta_t=over.dt)
            return self.factory.trajectory_from_numpy_array(
                traj_np=states.T, mode=modes("state"), **times
            )
        states.flags.writeable = False
        notes = {"dt": over.dt, "integrator": method}
        return Trajectory.of_rows(self._time(over), states, self._layout, notes)

    def _time(self, over: Grid) -> Array:
        """Times of a grid, shared by trajectories on it."""
        if self._times[0] != over:
            t = np.arange(over.steps + 1, dtype=float) * over.dt
            t.flags.writeable = False
            self._times = (over, t)
        return self._times[1]


_LONG = 1e6
"""Number of steps above which the memory is checked."""


class Setup(NamedTuple):
    """Fleet arguments for a simulation: `Fleet(vehicle, dt, integrator, substeps=substeps)`."""

    vehicle: Vehicle
    """Vehicle with the disturbance of the disturbance model."""
    integrator: Integrator
    dt: float
    """Time over which a disturbance is constant, in s."""
    steps: int
    substeps: int
    """Steps of the integrator, or updates of a discrete vehicle, within dt."""

    __repr__ = brief_repr


class _Call(NamedTuple):
    """Checked arguments of `Simulation.simulate`."""

    x: tuple[float, ...]
    u: tuple[float, ...]
    t_final: float
    method: Any


class Simulation:
    """Simulates a vehicle under a constant input with disturbances and a noisy sensor.

    Args:
        vehicle_model: any vehicle, or its factory.
        sidt_factory: an object with commonroad-control's interface that makes states and
            trajectories; None for skidpad's records and `Trajectory`.
        disturbance_model: model of the vehicle's disturbance, or of one added to the derivative of
            its state; None for no disturbance.
        sensor_model: model of the measurement at the end; None for the whole state without noise.
        random_disturbance: draw disturbances; otherwise the model's nominal value acts.
        random_noise: draw noise; otherwise the nominal value of the noise is added.
        delta_t_w: longest time over which a disturbance is constant, in s.
        seed: seed of the random numbers, see `skidpad.random.streams`; None for a random one.
        rtol, atol: tolerances of SciPy's methods; None for 1e-3 and 1e-6.
        substep: longest step of skidpad's own integrators, in s; None for 0.0025 s. With None a
            discrete vehicle makes `Model.substeps` updates per disturbance, otherwise updates of
            at most this length.
        compat: "upstream" to repeat commonroad-control: an extra step when a ratio of times is
            rounded up, and the last state reached, without an error, when a solver fails.

    Pass all but the vehicle by name: the documents and the program of commonroad-control differ in
    the order.
    """

    def __init__(
        self,
        vehicle_model: Any,
        sidt_factory: Any = None,
        disturbance_model: UncertaintyModel | None = None,
        sensor_model: SensorModel | None = None,
        random_disturbance: bool = False,
        random_noise: bool = False,
        delta_t_w: float = 0.1,
        *,
        seed: int | None = None,
        rtol: Any = None,
        atol: Any = None,
        substep: float | None = None,
        compat: Literal["upstream"] | None = None,
    ) -> None:
        flags = {"random_disturbance": random_disturbance, "random_noise": random_noise}
        check_order(sidt_factory, disturbance_model, sensor_model, **flags)
        one_of("compat", compat, (None, "upstream"))
        vehicle = vehicle_of(vehicle_model)
        self._vehicle, self._disturbance = with_model(vehicle, disturbance_model)
        self._sensor = FullStateFeedback(self._vehicle) if sensor_model is None else sensor_model
        own = self._vehicle
        pairs = {
            "states": (self._sensor.State, own.State),
            "inputs": (self._sensor.Input, own.Input),
        }
        for name, kinds in pairs.items():
            seen, there = map(record.names, kinds)
            if len(seen) != len(there):
                raise InvalidValue(
                    f"sensor_model is for {len(seen)} {name}; {own.name!r} has "
                    f"{len(there)}: {', '.join(there)}"
                )
            if not (self._sensor.nameless or seen == there):
                raise InvalidValue(
                    f"sensor_model is for the {name} {', '.join(seen)}; "
                    f"{own.name!r} has {', '.join(there)}"
                )
        dimension, size = getattr(sidt_factory, "state_dimension", None), record.size(own.State)
        if dimension is not None and dimension != size:
            raise InvalidValue(
                f"sidt_factory has state_dimension = {dimension}; {own.name!r} has {size} states: "
                f"{', '.join(record.names(own.State))}"
            )
        self._upstream = compat == "upstream"
        self._random_disturbance = bool(random_disturbance) and disturbance_model is not None
        self._random_noise = bool(random_noise) and sensor_model is not None
        self._plain = sensor_model is None
        self._delta_t_w = positive("delta_t_w", delta_t_w, "s")
        self._substep = None if substep is None else positive("substep", substep, "s")
        self._options = tolerances(rtol, atol, record.size(self._vehicle.State))
        self._read_x0 = reader("x0", self._vehicle.State, complete=True)
        self._read_u = reader("u", self._vehicle.Input, complete=False)
        self._results = Results(self._vehicle, sidt_factory)
        self._motions: dict[Any, Motion] = {}
        self._last: tuple[_Call, Outcome | None] | None = None
        self.reset(seeds.fresh() if seed is None else seed)

    def __repr__(self) -> str:
        models = f"{type(self._disturbance).__name__}, {type(self._sensor).__name__}"
        return shortened(f"<Simulation of {self._vehicle!r}: {models}, seed {self._seed}>")

    @property
    def vehicle_model(self) -> Vehicle:
        """Vehicle, with the additive disturbance if the disturbance model needs one."""
        return self._vehicle

    @property
    def state_input_factory(self) -> Any:
        """Factory of the results; None for skidpad's own."""
        return self._results.factory

    @property
    def disturbance_model(self) -> UncertaintyModel:
        """Disturbance model; `NoUncertainty` if there is no uncertainty."""
        return self._disturbance

    @property
    def random_disturbance(self) -> bool:
        """Whether disturbances are drawn; never without a disturbance model."""
        return self._random_disturbance

    @property
    def sensor_model(self) -> SensorModel:
        """The sensor model; `FullStateFeedback` without noise by default."""
        return self._sensor

    @property
    def random_noise(self) -> bool:
        """Whether noise is drawn; never without a sensor model."""
        return self._random_noise

    @property
    def delta_t_w(self) -> float:
        """Longest time over which a disturbance is constant, in s."""
        return self._delta_t_w

    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
        return self._seed

    def reset(self, seed: int | None = None) -> None:
        """Restart the random streams, with the same or another seed."""
        number = self._seed if seed is None else seeds.checked(seed)
        self._streams = Streams.of(number, self._disturbance)
        self._seed = number

    def simulate(self, x0: Any, u: Any, t_final: float, ivp_method: Any = "RK45") -> Result:
        """Simulate the motion from x0 under a constant input u for t_final seconds.

        Args:
            x0, u: records, mappings of names, arrays, or objects with `convert_to_array`.
            t_final: time in s; with 0, x0 is measured and no disturbance drawn.
            ivp_method: a method of `scipy.integrate.solve_ivp` by name or class, or one of
                skidpad's own: "skidpad:rk4", "skidpad:radau", ...

        Returns:
            The measurement at the end, the perturbed and the nominal trajectory; these are the same
            object if no disturbance differs from the nominal value.

        Raises:
            StepNotConverged, SimulationDiverged: if the solver fails. A call that fails or is
                rejected draws nothing: the next one has the same random numbers.
        """
        call = self._checked(x0, u, t_final, ivp_method)
        outcome = self._run(call, self._streams)
        result = self._results.of(outcome, self._motions[call.method].name)
        self._streams, self._last = outcome.streams, (call, outcome)
        return result

    def replay(
        self,
        seed: int,
        x0: Any = None,
        u: Any = None,
        t_final: float | None = None,
        ivp_method: Any = None,
    ) -> Result:
        """Repeat `simulate` as the first call after `reset(seed)`; the streams are not advanced.

        Arguments default to those of the last call.
        """
        if self._last is None and (x0 is None or u is None or t_final is None):
            raise InvalidValue("nothing was simulated yet: replay needs x0, u and t_final")
        if self._last is not None:
            before = self._last[0]
            x0 = record.unflatten(self._vehicle.State, before.x) if x0 is None else x0
            u = record.unflatten(self._vehicle.Input, before.u) if u is None else u
            t_final = before.t_final if t_final is None else t_final
            ivp_method = before.method if ivp_method is None else ivp_method
        call = self._checked(x0, u, t_final, "RK45" if ivp_method is None else ivp_method)
        outcome = self._run(call, Streams.of(seeds.checked(seed), self._disturbance))
        return self._results.of(outcome, self._motions[call.method].name)

    def setup(self, x0: Any, u: Any, t_final: float, ivp_method: Any = "skidpad:rk4") -> Setup:
        """Arguments of a fleet that repeats this simulation many times, with the same bits.

        Takes the arguments of `simulate`, with an integrator of skidpad's own; they become the
        defaults of `replay`.
        """
        call = self._checked(x0, u, t_final, ivp_method)
        integrator = own_integrator(ivp_method)
        if integrator is None:
            raise InvalidValue(
                f"ivp_method = {solver_class(ivp_method)[1]!r} cannot be compiled, which a fleet "
                "needs; allowed are skidpad's own, such as 'skidpad:rk4'"
            )
        steps, dt = self._grid(call.t_final)
        moves: Any = self._motion(ivp_method)
        self._last = (call, None)
        return Setup(self._vehicle, integrator, dt, steps, moves.substeps(dt))

    def monte_carlo(
        self,
        x0: Any,
        u: Any,
        t_final: float,
        runs: int | Sequence[int],
        ivp_method: Any = "skidpad:rk4",
        *,
        on_diverge: str = "raise",
        **options: Any,
    ) -> MonteCarlo:
        """Run many simulations with random disturbances in a fleet; see `Fleet.monte_carlo`.

        `replay(case.seed)` repeats any of them with the same bits, including nominal motion and
        measurement. `options` are those of `Fleet.monte_carlo` that a simulation can repeat: seed,
        quantities, events, quantiles, confidence, progress. `on_diverge` is that of `Fleet`.
        """
        for name in options:
            if name not in STUDY_OPTIONS:
                raise InvalidValue(
                    f"monte_carlo of a Simulation has no option {name!r}; allowed are "
                    f"{', '.join(STUDY_OPTIONS)}, on_diverge. For others make a Fleet from what "
                    "`setup` returns"
                )
        if not (self._random_disturbance or isinstance(self._disturbance, NoUncertainty)):
            raise InvalidValue(
                "random_disturbance = False: every run would be the same; a Monte Carlo needs a "
                "Simulation with random_disturbance=True"
            )
        vehicle, integrator, dt, steps, substeps = self.setup(x0, u, t_final, ivp_method)
        fleet = Fleet(vehicle, dt, integrator, substeps=substeps, on_diverge=on_diverge)
        call = self._checked(x0, u, t_final, ivp_method)
        options["disturbance"] = self._disturbance if self._disturbance.dim else None
        return fleet.monte_carlo(
            np.array(call.x), np.array([call.u]), runs=runs, steps=steps, **options
        )

    @property
    def last_disturbances(self) -> Trajectory | None:
        """Disturbances of the last `simulate`, as a trajectory in disturbance mode.

        None before the first call, without a step, and for a vehicle without disturbances.
        `Recorded(last_disturbances.to_array())` repeats them.
        """
        outcome = None if self._last is None else self._last[1]
        if outcome is None or not outcome.grid.steps or not self._disturbance.dim:
            return None
        steps, drawn = outcome.grid.steps, outcome.drawn
        rows = np.tile(self._disturbance.nominal_value, (steps, 1)) if drawn is None else drawn
        dt, pair = outcome.grid.dt, (self._vehicle.model.Disturbance, rows)
        return Trajectory.from_arrays(
            dt * np.arange(steps), disturbances=pair, name=self._vehicle.name, meta={"dt": dt}
        )

    def _checked(self, x0: Any, u: Any, t_final: Any, method: Any) -> _Call:
        seconds = not_negative("t_final", t_final, "s")
        call = _Call(self._read_x0(x0), self._read_u(u), seconds, method)
        if call.t_final > _LONG * self._delta_t_w:
            check_sample_room(self._vehicle, self._grid(call.t_final).steps)
        self._motion(method)
        return call

    def _motion(self, method: Any) -> Motion:
        try:
            known = self._motions.get(method)
        except TypeError:  # an unhashable value cannot be a method
            solver_class(method)
            raise
        if known is None:
            nominal, options = self._disturbance.nominal_value, self._options
            known = self._motions[method] = motion(
                *(method, self._vehicle, nominal),
                substep=self._substep,
                options=options,
                frozen=self._upstream,
            )
        return known

    def _grid(self, t_final: float) -> Grid:
        return grid(t_final, self._delta_t_w, raw=self._upstream)

    def _run(self, call: _Call, streams: Streams) -> Outcome:
        """Simulate and measure, continuing these streams."""
        over = self._grid(call.t_final)
        moves = self._motions[call.method]
        if self._random_disturbance and over.steps:
            nominal, perturbed, drawn, streams = self._perturbed(call, moves, over, streams)
        else:
            nominal = perturbed = moves.alone(call.x, call.u, over)
            drawn = None
            if not self._plain:
                streams = streams._replace(time=streams.time + call.t_final)
        measurement, streams = self._measured(perturbed[-1], call, drawn, streams)
        return Outcome(nominal, perturbed, drawn, measurement, streams, over)

    def _perturbed(
        self, call: _Call, moves: Motion, over: Grid, streams: Streams
    ) -> tuple[Array, Array, Array, Streams]:
        """Perturbed and nominal motion, the disturbances, and the advanced streams."""
        nominal, perturbed = (np.empty((over.steps + 1, len(call.x))) for _ in range(2))
        nominal[0] = perturbed[0] = call.x
        drawn = np.empty((over.steps, self._disturbance.dim))
        memory = streams.memory
        for k in range(over.steps):
            draw = streams.disturbance_at(k, over.dt)
            rows, memory = draw_sample(self._disturbance, draw, memory, perturbed[k : k + 1])
            drawn[k] = rows[0]
            moves.pair(k, nominal, perturbed, call.u, drawn[k], over.dt)
        if (drawn == self._disturbance.nominal_value).all():
            perturbed = nominal
        after = streams._replace(
            memory=memory, step=streams.step + over.steps, time=streams.time + call.t_final
        )
        return nominal, perturbed, drawn, after

    def _measured(
        self, x: Array, call: _Call, drawn: Array | None, streams: Streams
    ) -> tuple[Any, Streams]:
        """Measurement at the end, and the advanced streams."""
        State = self._vehicle.State
        if self._plain:
            return record.unflatten(State, x.tolist()), streams
        sensor = self._sensor
        acting = self._disturbance.nominal_value if drawn is None else drawn[-1]
        state = record.unflatten(sensor.State, x.tolist())
        u = record.unflatten(sensor.Input, call.u)
        w = record.unflatten(self._vehicle.model.Disturbance, acting.tolist())
        draw, memory = streams.noise_at(call.t_final), streams.noise_memory
        seen, memory = sensor.measured(state, u, draw, memory, self._random_noise, w)
        if isinstance(sensor, FullStateFeedback):
            seen = record.unflatten(State, record.flatten(seen))
        if self._random_noise:
            streams = streams._replace(noise_memory=memory, measured=streams.measured + 1)
        return seen, streams
