"""Kalman filters of a vehicle: `ExtendedKalmanFilter` and `UnscentedKalmanFilter`.

    ekf = ExtendedKalmanFilter(car, dt=0.01, measured={"v_x": 0.05, "omega": 0.01, "a_y": 0.3},
                               parameters={"mu": 0.05})
    ekf.reset(v_x=20.0)
    now = ekf.step(u, {"v_x": 20.1, "omega": 0.2, "a_y": None})     # one update
    log = ekf.run(inputs, measurements)                             # a whole log
    fleet = Fleet(ekf.vehicle, dt=0.01)                             # the estimator is a vehicle

A filter is a vehicle itself (`filters.filter_model`), compiled like any other, so it runs in
simulators and fleets, can be saved, and is exported as C.
Their results are of the class `Estimate`: values with a covariance, of one moment or of a log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import AnyArray, Array
from ...core.checks import array, between, floats, not_negative, positive, positive_step
from ...core.model import Vehicle, vehicle_of
from ...errors import InvalidValue
from ...integrate import compiled_integrator
from ...integrate.base import Integrator
from ...run.simulator import Simulator
from ...run.stability import choose_integrator
from . import structure as structures
from .filters import Kind, Parts, filter_model
from .structure import Structure


class Moments(NamedTuple):
    """Numbers of an estimate; the leading axes are time and, for a fleet, vehicle."""

    values: Array
    """(..., n)"""
    covariances: Array
    """(..., n, n)"""
    simulated: Array
    """States that are simulated only, (..., r)."""
    innovations: Array
    """Measurement minus prediction, (..., m); NaN where there was no measurement."""
    scores: Array
    """Innovations in standard deviations, each after the measurements before it, (..., m)."""

    def only_measured(self, inputs: Array) -> Moments:
        """Replace innovations and scores of missing measurements by NaN.

        The moments (T + 1, ...) are those along `inputs` (T, ..., nu + 2 m) of a filter; there is
        no measurement at the first.
        """
        there = np.asarray(inputs)[..., -self.scores.shape[-1] :] > 0.0
        there = np.concatenate([np.zeros_like(there[:1]), there])
        parts = (np.where(there, part, np.nan) for part in (self.innovations, self.scores))
        return self._replace(**dict(zip(("innovations", "scores"), parts, strict=True)))


class Estimate:
    """Estimated states and parameters with their uncertainty.

    The leading axes of all arrays are those of the states it was made from: none for one moment,
    (T + 1,) for a log, (T + 1, B) for a fleet.
    """

    def __init__(
        self,
        names: tuple[str, ...],
        measured: tuple[str, ...],
        moments: Callable[[], Moments],
        t: Array | float,
    ) -> None:
        self.names, self.measured, self.t = names, measured, t
        self._made = moments
        self.notes: tuple[str, ...] = ()
        """What was done with the channels of a log; see `skidpad.control.estimators.estimate`."""

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the numbers, not the function that makes them."""
        return {**vars(self), "moments": self.moments, "_made": None}

    def __repr__(self) -> str:
        if np.ndim(self.t):
            span = np.asarray(self.t)
            return f"<Estimate of {', '.join(self.names)} at {span.size} times to {span[-1]:g} s>"
        pairs = zip(self.names, self.values, self.deviations, strict=True)
        return f"<Estimate: {', '.join(f'{n} = {v:.4g} ± {s:.2g}' for n, v, s in pairs)}>"

    @cached_property
    def moments(self) -> Moments:
        """Values, covariances, innovations and scores."""
        return self._made()

    @property
    def values(self) -> Array:
        """Estimated values (..., n), in the order of `names`."""
        return self.moments.values

    @property
    def covariances(self) -> Array:
        """Covariances (..., n, n)."""
        return self.moments.covariances

    @cached_property
    def deviations(self) -> Array:
        """Standard deviations (..., n)."""
        return np.sqrt(np.diagonal(self.covariances, axis1=-2, axis2=-1))

    @property
    def innovations(self) -> Array:
        """Measurement minus prediction (..., m), in the order of `measured`; NaN if missing."""
        return self.moments.innovations

    @property
    def nis(self) -> Array:
        """Normalised innovation squared (...,): the sum of the squared scores.

        It is chi-square distributed with `degrees` degrees of freedom if the noise is as declared.
        """
        return np.nansum(self.moments.scores**2, axis=-1)

    @property
    def degrees(self) -> Array:
        """Number of measurements in each update (...,)."""
        return np.isfinite(self.moments.scores).sum(axis=-1)

    def __getitem__(self, name: str) -> Array:
        """Values of one estimated state or parameter (...,)."""
        return self.values[..., self._place(name)]

    def deviation(self, name: str) -> Array:
        """Standard deviation of one estimated state or parameter (...,)."""
        return self.deviations[..., self._place(name)]

    def interval(self, name: str, level: float = 0.95) -> tuple[Array, Array]:
        """Ends (...,), (...,) of the interval that contains the value with probability `level`."""
        from scipy.special import ndtri

        reach = ndtri(0.5 + 0.5 * between("level", level, 0.0, 1.0))
        middle, far = self[name], reach * self.deviation(name)
        return middle - far, middle + far

    def nees(self, truth: Any) -> Array:
        """Normalised estimation error squared (...,) for true values (..., n).

        It is chi-square distributed with n degrees of freedom if the estimator is consistent.
        """
        true = floats("truth", truth)
        if true.shape != self.values.shape:
            raise InvalidValue(
                f"truth has shape {true.shape}; expected {self.values.shape} for "
                f"{', '.join(self.names)}"
            )
        error = true - self.values
        return (error * np.linalg.solve(self.covariances, error[..., None])[..., 0]).sum(axis=-1)

    def _place(self, name: str) -> int:
        record.check_names("this estimate", (name,), self.names, "name")
        return self.names.index(name)


SMALLEST_NOISE = 1e-6
"""Least process noise of smoothers per step, relative to the deviation of the start."""


class KalmanFilter:
    """Base class of the filters; see `ExtendedKalmanFilter` for the arguments."""

    _points = Kind("ekf")

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float = 0.01,
        measured: Mapping[str, float] | None = None,
        *,
        states: Sequence[str] | None = None,
        parameters: Mapping[str, float | None] | Sequence[str] = (),
        process: Mapping[str, float] | None = None,
        deviations: Mapping[str, float] | None = None,
        bounds: Mapping[str, tuple[float, float]] | None = None,
        gate: float | None = None,
        integrator: str | Integrator = "auto",
        substeps: int | None = None,
        precision: str = "float64",
    ) -> None:
        source, dt = vehicle_of(vehicle), positive_step(dt, precision)
        measured = measured or {}
        if not isinstance(measured, Mapping):
            raise InvalidValue(
                "measured must be a mapping of measurements to standard deviations, as "
                f'{{"omega": 0.01}}, got {measured!r:.80}'
            )
        noise = {name: positive(f"measured[{name!r}]", sd) for name, sd in measured.items()}
        walks = parameters if isinstance(parameters, Mapping) else dict.fromkeys(parameters)
        structure = structures.structure_of(source, noise, states, walks, bounds or {})
        self._source, self._structure = source, structure
        self._substeps = substeps or source.model.substeps
        self._method = compiled_integrator(choose_integrator(source, integrator, dt, substeps))
        spread = self._start_deviations(deviations or {})
        start = structures.start_values(source, structure, None, {})
        model = filter_model(
            source.model,
            self._method,
            self._substeps,
            structure,
            tuple(structures.leaf_of(source, structure, name) for name in structure.names),
            tuple(self._leaves(*start, spread)),
            self._points._replace(gate=None if gate is None else positive("gate", gate)),
        )
        record.check_names("process", process or {}, structure.states)
        given = {**(process or {}), **{name: sd for name, sd in walks.items() if sd is not None}}
        growth = structures.deviations_of(source, structure, structures.PROCESS, given)
        params = [*record.flatten(source.params), *growth, *noise.values()]
        self._vehicle = Vehicle(model, record.unflatten(model.Params, params))
        self._simulator = Simulator(self._vehicle, dt, precision=precision)
        self._spread = spread
        self._inputs = record.size(source.model.Input)
        self._start = record.build(source.model.Input)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle or copy the filter at its present estimate, without compiled code."""
        return {name: value for name, value in vars(self).items() if name != "_linearisation"}

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} of {self._source!r}: {', '.join(self.names)} "
            f"from {', '.join(self.measured)}>"
        )

    @property
    def vehicle(self) -> Vehicle:
        """The filter as a vehicle, for `Simulator`, `Fleet` and export."""
        return self._vehicle

    @property
    def source(self) -> Vehicle:
        """The vehicle whose state is estimated."""
        return self._source

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the estimated states and parameters."""
        return self._structure.names

    @property
    def measured(self) -> tuple[str, ...]:
        """Names of the measurements, in order."""
        return self._structure.measured

    @property
    def dt(self) -> float:
        """Length of an update in s."""
        return self._simulator.dt

    @property
    def estimate(self) -> Estimate:
        """The present estimate."""
        return self._present(self._simulator.state)

    def _present(self, state: Any) -> Estimate:
        """Estimate of one state of the filter; its arrays are computed on first use."""
        return Estimate(
            self.names, self.measured, lambda: self._moments(np.array(state)), self._simulator.time
        )

    def initial_state(
        self, state: Any = None, /, *, deviations: Mapping[str, float] | None = None, **values: Any
    ) -> Any:
        """State of the filter that starts at a vehicle state, a State record of `vehicle`.

        Args:
            state: record or mapping of the vehicle's state; missing fields have their defaults.
            deviations: standard deviations of the start by name; those of the filter for others.
            **values: fields of the vehicle's state and estimated parameters, by name; those with
                dots as in `**{"tyres.front.mu_y": 1.1}`.
        """
        means, rest = structures.start_values(self._source, self._structure, state, values)
        spread = dict(zip(self.names, self._spread, strict=True)) | dict(deviations or {})
        return self._vehicle.State._make(self._leaves(means, rest, self._start_deviations(spread)))

    def _start_deviations(self, given: Mapping[str, float]) -> list[float]:
        record.check_names("deviations", given, self.names)
        return structures.deviations_of(self._source, self._structure, structures.START, given)

    def _leaves(self, means: list[float], rest: list[float], sds: list[float]) -> list[float]:
        """State of the filter without correlations."""
        n, m = len(means), len(self._structure.measured)
        above = [0.0] * (n * (n - 1) // 2)
        return Parts(means, rest, [sd * sd for sd in sds], above, [0.0] * m, [0.0] * m).leaves()

    def reset(
        self,
        state: Any = None,
        /,
        *,
        time: float = 0.0,
        deviations: Mapping[str, float] | None = None,
        **values: Any,
    ) -> Estimate:
        """Start again at a state; the arguments are those of `initial_state`."""
        self._simulator.reset(self.initial_state(state, deviations=deviations, **values), time=time)
        return self.estimate

    def step(self, u: Any, y: Any, *, dt: float | None = None) -> Estimate:
        """Predict one step with the input held, then correct by the measurements at its end.

        Args:
            u: input of the vehicle: record, mapping or row of numbers.
            y: measurements: mapping of names, or one value per measurement in the order of
                `measured`. None and NaN are missing, as are names that a mapping lacks.
            dt: length of this step in s, if it differs.
        """
        inputs = self._vehicle.Input._make(self._row(u, y))
        return self._present(self._simulator.step(inputs, dt=dt))

    def _row(self, u: Any, y: Any) -> list[float]:
        """Row of the filter's input."""
        given = u if isinstance(u, (tuple, list)) else record.build(self._source.Input, u)
        row = [*given]
        if len(row) != self._inputs:
            row = [*record.flatten(record.build(self._source.Input, u))]
        names = self._structure.measured
        if isinstance(y, Mapping):
            values = [y.get(name) for name in names]
            if len(values) - values.count(None) < len(y):
                record.check_names("measurements", y, names, "measurement")
        else:
            values = list(y)
            if len(values) != len(names):
                raise InvalidValue(
                    f"y has {len(values)} values; expected one each for {', '.join(names)}"
                )
        there = [v is not None and v == v for v in values]
        row += [v if ok else 0.0 for v, ok in zip(values, there, strict=True)]
        row += [1.0 if ok else 0.0 for ok in there]
        return row

    def inputs(self, u: Any, y: Any) -> Array:
        """Inputs of the filter as a vehicle (..., nu + 2 m), for `Fleet.rollout`.

        Args:
            u: inputs of the vehicle (..., nu); mapping of names to arrays (...,); or one input that
                is held.
            y: measurements (..., m), NaN where missing, or mapping of names to arrays.
        """
        seen = _columns("measurements", y, self._structure.measured, None)
        rows = self._input_rows(u, seen.shape[:-1])
        there = np.isfinite(seen)
        return np.concatenate([rows, np.where(there, seen, 0.0), there], axis=-1)

    def run(self, u: Any, y: Any) -> Estimate:
        """Estimate along a log, from the present estimate.

        Row k of `u` is the input held over step k, row k of `y` is measured at its end. The result
        has T + 1 moments for T rows: the present one, then one after each step. Arguments: see
        `inputs`.
        """
        rows, begin = self.inputs(u, y), self._simulator.time
        return self.unpack(self._run(rows)[0], rows, time=begin)

    def smooth(self, u: Any, y: Any) -> Estimate:
        """Estimate along a log, where every moment uses the whole log, later measurements too.

        The arguments and the result are those of `run`; the innovations are those of the filter.
        """
        rows, begin = self.inputs(u, y), self._simulator.time
        return self._result(self._smoothed(rows)[2], begin)

    def unpack(self, states: Any, inputs: Any = None, *, time: float = 0.0) -> Estimate:
        """Convert states of the filter (T + 1, ..., nx), such as a rollout's, to an `Estimate`.

        With the `inputs` of the rollout, innovations of missing measurements are NaN.
        """
        moments = self._moments(np.asarray(states, dtype=float))
        return self._result(moments if inputs is None else moments.only_measured(inputs), time)

    def select(self, log: Estimate, names: Sequence[str], u: Any) -> Estimate:
        """Estimate of some states, parameters and measurable quantities along a log.

        Args:
            log: result of `run` or `smooth`.
            names: estimated states and parameters, and quantities such as "sideslip" or "a_y",
                whose deviation follows from their Jacobian.
            u: inputs of the vehicle in the steps of the log, as in `run`.
        """
        moments, structure = log.moments, self._structure
        derived = tuple(name for name in names if name not in self.names)
        record.check_names("names", derived, structures.measurable(self._source.model), "quantity")
        slopes = {name: np.eye(len(self.names))[k] for k, name in enumerate(self.names)}
        values = {name: log[name] for name in self.names}
        if derived:
            rows = self._input_rows(u, (len(moments.values) - 1,))
            # Biases belong to sensors, not to the quantities.
            own = tuple(() if at[0][0] == "y" else at for at in structure.targets)
            look = self._linearised(structure._replace(measured=derived, targets=own)).observed
            point = (moments.values, moments.simulated)
            found, jacobians = look(*point, *point, np.vstack([rows[:1], rows]))
            values |= dict(zip(derived, found.T, strict=True))
            slopes |= dict(zip(derived, jacobians.swapaxes(0, 1), strict=True))
        lead = moments.values.shape
        matrix = np.stack([np.broadcast_to(slopes[name], lead) for name in names], axis=-2)
        chosen = moments._replace(
            values=np.stack([values[name] for name in names], axis=-1),
            covariances=matrix @ moments.covariances @ matrix.swapaxes(-1, -2),
        )
        return Estimate(tuple(names), self.measured, lambda: chosen, log.t)

    def _input_rows(self, u: Any, shape: tuple[int, ...]) -> Array:
        """Inputs of the vehicle (..., nu)."""
        if isinstance(u, self._source.Input) or u is None:
            u = record.flatten(record.build(self._source.Input, u))
        given, default = record.names(self._source.Input), record.flatten(self._start)
        table = _columns("u", u, given, default)
        try:
            return np.broadcast_to(table, (*shape, len(given)))
        except ValueError:
            raise InvalidValue(
                f"u has shape {table.shape}; expected {(*shape, len(given))}, a row for each row "
                "of measurements"
            ) from None

    def _run(self, rows: Array) -> tuple[AnyArray, Array]:
        """States of the filter (T + 1, nx) and inputs of the vehicle in effect (T, nu)."""
        array("inputs", rows, ("T", self._inputs + 2 * len(self.measured)))
        if not self._source.model.dead_times:
            return self._simulator.run(rows).states, rows[:, : self._inputs]
        states, acted = [self._simulator.state], list[Any]()
        for row in rows:
            states.append(self._simulator.step(row))
            acted.append(self._simulator.input[: self._inputs])
        return np.array(states), np.array(acted)

    def _smoothed(self, rows: Array) -> tuple[AnyArray, Array, Moments]:
        """States of the filter and acting inputs along a log, and the smoothed moments."""
        from .system import Path, smoothed

        states, acted = self._run(rows)
        moments = self._moments(states).only_measured(rows)
        parts = Parts.split(states, self._structure)
        path = Path(parts.z, parts.s, acted)
        values, covariances = smoothed(
            self._linearisation, path, moments.covariances, self._step_variances()
        )
        values = np.clip(values, self._structure.low, self._structure.high)
        return states, acted, moments._replace(values=values, covariances=covariances)

    @cached_property
    def _linearisation(self) -> Any:
        """Compiled step and measurements with their Jacobians."""
        return self._linearised(self._structure)

    def _linearised(self, structure: Structure) -> Any:
        from .system import Linearisation, System

        source = self._source
        system = System(source.model, self._method, self._substeps, structure)
        return Linearisation(system, source, self.dt)

    def _step_variances(self) -> Array:
        """Variances of the process noise over a step (n,), tiny for constants."""
        least = SMALLEST_NOISE * np.array(self._spread)
        sds = np.array(record.flatten(self._vehicle.params.process)) * np.sqrt(self.dt)
        return np.maximum(sds, least) ** 2

    def _result(self, moments: Moments, begin: float) -> Estimate:
        t = begin + self.dt * np.arange(len(moments.values), dtype=np.float64)
        return Estimate(self.names, self.measured, lambda: moments, t)

    def _moments(self, states: Array) -> Moments:
        parts, n = Parts.split(states, self._structure), len(self.names)
        U = np.zeros((*states.shape[:-1], n, n))
        i, j = np.triu_indices(n, 1)
        U[..., i, j] = parts.U
        U[..., range(n), range(n)] = 1.0
        covariances = (U * parts.D[..., None, :]) @ np.swapaxes(U, -1, -2)
        return Moments(parts.z, covariances, parts.s, parts.innovations, parts.scores)


def _columns(what: str, values: Any, names: Sequence[str], default: Any) -> Array:
    """Array (..., names) from a mapping of names to arrays, or from such an array."""
    if not isinstance(values, Mapping):
        table = np.asarray(values, dtype=float)
        if table.shape[-1:] != (len(names),):
            raise InvalidValue(
                f"{what} has shape {table.shape}; expected (..., {len(names)}) for "
                f"{', '.join(names)}"
            )
        return table
    record.check_names(what, values, names)
    missing = [np.nan] * len(names) if default is None else default
    filled = [values.get(name, missing[k]) for k, name in enumerate(names)]
    return np.stack(np.broadcast_arrays(*(np.asarray(f, dtype=float) for f in filled)), axis=-1)


class ExtendedKalmanFilter(KalmanFilter):
    """Extended Kalman filter of a vehicle, with exact Jacobians of its step and measurements.

    Args:
        vehicle: any vehicle.
        dt: length of an update in s.
        measured: standard deviation of each measurement by name, in SI units. A name is a field of
            the vehicle's state or outputs, or one of x, y, yaw, v_x, v_y, omega, speed, sideslip,
            a_x, a_y and steer of its body.
        states: state fields to estimate; by default all that influence the measurements. Other
            fields that influence these are simulated without a correction.
        parameters: parameters to estimate, with the standard deviation of their random walk per
            square root of a second, or None for a default: leaves of the vehicle's parameters
            ("m"), disturbances ("F_y"), unknown inputs ("u_steer"), sensor biases
            ("log.omega_bias"), and "mu", the friction of the road under all wheels. Friction
            returns to its usual value with a deviation of 0.5 where the motion does not show it.
        process: process noise of the states: growth of the standard deviation per square root of a
            second; defaults by unit for others (`structure.PROCESS`).
        deviations: standard deviations of the start; defaults by unit for others.
        bounds: lowest and highest value of estimated states and parameters by name; by default the
            range that the record of a parameter allows. Estimates beyond are moved to the bound.
        gate: measurements farther than this number of standard deviations from their prediction are
            ignored; None for no limit.
        integrator, substeps: those of the vehicle's step, as of a `Simulator`.
        precision: "float64" or "float32".
    """


class UnscentedKalmanFilter(KalmanFilter):
    """Unscented Kalman filter of a vehicle: steps 2 n + 1 points instead of differentiating.

    Args:
        vehicle, dt, measured: as for `ExtendedKalmanFilter`.
        kappa: the points lie sqrt(n + kappa) standard deviations from the estimate; at least 0, the
            value of the cubature filter.
        **options: further arguments of `ExtendedKalmanFilter`.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float = 0.01,
        measured: Mapping[str, float] | None = None,
        *,
        kappa: float = 0.0,
        **options: Any,
    ) -> None:
        self._points = Kind("ukf", None, not_negative("kappa", kappa))
        super().__init__(vehicle, dt, measured, **options)
