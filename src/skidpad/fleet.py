"""Fleet: many vehicles at once. A rollout keeps every state in registers from start to end."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import batch, integrate, record
from .compile import host, pipeline
from .compile.host import Array
from .errors import InvalidValue, SimulationDiverged, StepNotConverged
from .integrate.base import Integrator
from .model import Vehicle
from .stepper import residual_tolerance

PRECISIONS = ("float64", "float32")


class Fleet:
    """Simulates many copies of a vehicle in lanes of SIMD instructions and in threads.

    A vehicle's result has the same bits whatever the lane width, the number of threads and the other
    vehicles in the batch, and the same bits as in a `Simulator` of the same precision.

    Args:
        vehicle: what to simulate; its parameters are the default for every vehicle of a rollout.
        dt: step in s.
        integrator: "rk4", "radau", ...; see `skidpad.integrate.names()`.
        precision: "float64" or "float32".
        device: "cpu".
        threads: threads to use; all processors if None.
        on_diverge: "raise" names the vehicles whose state became NaN or infinite; "mask" returns NaN
            for them from the first sample that is not finite and carries on with the others.
        lanes: vehicles per instruction (1, 4, 8, 16 or 32); chosen from the size of the program if None.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float,
        integrator: str | Integrator = "rk4",
        *,
        precision: str = "float64",
        device: str = "cpu",
        threads: int | None = None,
        on_diverge: str = "raise",
        lanes: int | None = None,
    ) -> None:
        _one_of("precision", precision, PRECISIONS)
        _one_of("device", device, ("cpu",))
        _one_of("on_diverge", on_diverge, ("raise", "mask"))
        if lanes is not None:
            _one_of("lanes", lanes, pipeline.LANES)
        if threads is not None and threads < 1:
            raise InvalidValue(f"threads = {threads} must be at least 1, or None for all processors")
        self.vehicle = vehicle
        self.dt = positive_step(dt)
        self.integrator = compiled_integrator(integrator)
        self.precision = precision
        self.on_diverge = on_diverge
        self.threads = threads or host.cores()
        self._dtype = np.dtype(precision)
        self._program = pipeline.step_program(vehicle, self.integrator)
        self._lanes = lanes or pipeline.default_lanes(self._program, precision)
        self._tolerance = residual_tolerance(precision)
        self._kernel: Any = None
        self._outputs_kernel: Any = None

    @property
    def lanes(self) -> int:
        """Vehicles per instruction."""
        return self._lanes

    def rollout(
        self,
        x0: Any,
        controls: Any = None,
        *,
        every: int = 1,
        steps: int | None = None,
        params: Any = None,
        disturbances: Any = None,
        layout: str = "aos",
    ) -> Array:
        """States of all vehicles at the start and then after every `every` steps.

        Args:
            x0: start states (B, nx), or one state for all.
            controls: inputs (T, B, nu), one row per step, or (B, nu) held; a record or mapping of names
                is held by all vehicles. T sets the number of steps; held controls need `steps`.
            every: steps between samples; must divide the number of steps.
            params: parameters that differ between vehicles: (B, np), or a mapping of names to (B,).
            disturbances: like `controls`, for the model's Disturbance record.
            layout: "aos" as above, or "soa" with the vehicle last in x0, controls, disturbances and
                the result: (nx, B), (T, nu, B), ...

        Returns:
            (steps / every + 1, B, nx) in the precision of the fleet, or (..., nx, B) for "soa".
        """
        _one_of("layout", layout, batch.LAYOUTS)
        model, dtype = self.vehicle.model, self._dtype
        x = batch.states(model.State, x0, dtype, layout)
        u = batch.series(model.Input, "controls", controls, dtype, layout)
        w = batch.series(model.Disturbance, "disturbances", disturbances, dtype, layout)
        p = batch.parameters(model.Params, self.vehicle.params, params, dtype)
        count = batch.batch_size(x0=x, controls=u, disturbances=w, params=p)
        total = _steps(steps, controls, disturbances)
        if every < 1 or total % every:
            raise InvalidValue(f"every = {every} must be at least 1 and divide the {total} steps")
        out = self._sampled(x, u, w, p, count, total, every, layout)
        return out if layout == "aos" else np.swapaxes(out, -1, -2)

    def _sampled(
        self, x: Array, u: Array, w: Array, p: Array, count: int, total: int, every: int, layout: str
    ) -> Array:
        samples = total // every
        shape = (samples + 1, count, x.shape[2])
        if layout == "aos":
            out = np.empty(shape, self._dtype)
        else:
            out = np.swapaxes(np.empty((shape[0], shape[2], count), self._dtype), 1, 2)
        out[0] = x[0]
        health = np.zeros((3, count), self._dtype)
        self._run(x, u, w, p, out, health, samples, every)
        if not np.isfinite(health[1]).all():
            what, kind, array = ("controls", self.vehicle.Input, u)
            if np.isfinite(u).all():
                what, kind, array = ("disturbances", self.vehicle.model.Disturbance, w)
            raise InvalidValue(batch.not_finite(kind, what, array))
        diverged = np.flatnonzero(~np.isfinite(health[0]))
        if len(diverged) and self.on_diverge == "raise":
            raise self._failure(diverged, out, u, w, p, every)
        for vehicle in diverged:
            first = np.argmax(~np.isfinite(out[:, vehicle]).all(axis=1))
            out[first:, vehicle] = np.nan
        return out

    def _run(
        self,
        x: Array,
        u: Array,
        w: Array,
        p: Array,
        out: Array,
        health: Array,
        samples: int,
        every: int,
    ) -> None:
        if self._kernel is None:
            self._kernel, _ = pipeline.rollout_kernel(self._program, self.precision, self.lanes)
        count = out.shape[1]
        kept = [host.strided(np.broadcast_to(x, (1, count, x.shape[2])), self.lanes)]
        kept += [host.strided(a, self.lanes) for a in (u, w, p)]
        words = [word for _, described in kept for word in described]
        words += host.writable(out)
        words += (health.ctypes.data, health.strides[0] // health.itemsize, 1, 0)
        tail = (
            samples,
            every,
            host.bits(self.dt, self._dtype),
            host.bits(self._tolerance, self._dtype),
        )
        host.run(self._kernel, words, tail, count, self.lanes, self.threads)

    def _failure(
        self, diverged: Array, out: Array, u: Array, w: Array, p: Array, every: int
    ) -> Exception:
        """The error for the first vehicle that failed, located by running it alone, step by step."""
        v = int(diverged[0])
        bad = int(np.argmax(~np.isfinite(out[:, v]).all(axis=1)))
        begin = (bad - 1) * every
        fine = np.empty((every + 1, 1, out.shape[2]), self._dtype)
        fine[0, 0] = out[bad - 1, v]
        health = np.zeros((3, 1), self._dtype)
        alone = [_only(a, v, begin, every) for a in (u, w, p)]
        self._run(fine[:1], *alone, fine, health, every, 1)
        last = int(np.argmax(~np.isfinite(fine[:, 0]).all(axis=1))) - 1
        time = (begin + last) * self.dt
        state = record.unflatten(self.vehicle.State, [float(s) for s in fine[last, 0]])
        who = f"{len(diverged)} of {out.shape[1]} vehicles"
        listed = ", ".join(map(str, diverged[:8])) + (", ..." if len(diverged) > 8 else "")
        residual = float(health[2, 0])
        if self.integrator.implicit and not residual <= self._tolerance:
            return StepNotConverged(
                f"{who} ({listed}): the step of vehicle {v} at t = {time:g} s left a Newton residual of "
                f"{residual:.3g}; allowed is {self._tolerance:g}. Take a smaller dt",
                time=time,
                residual=residual,
            )
        return SimulationDiverged(
            f"{who} diverged ({listed}); vehicle {v} last had a finite state at t = {time:g} s: {state}",
            time=time,
            last_state=state,
            vehicles=tuple(int(k) for k in diverged),
        )

    def outputs(
        self, x: Any, controls: Any = None, *, start: Any = None, params: Any = None
    ) -> Array:
        """Outputs (..., B, ny) at states (..., B, nx) with inputs of the same leading shape or held.

        `start` are the states at the start of the step that led to `x`; it matters only for models
        that sample their input there (`Model.hold`), and is `x` if not given.
        """
        model = self.vehicle.model
        states = np.asarray(x, dtype=self._dtype)
        if states.ndim == 0 or states.shape[-1] != record.size(model.State):
            raise InvalidValue(
                f"x has shape {states.shape}; expected (..., {record.size(model.State)})"
            )
        rows = states.reshape(1, -1, states.shape[-1])
        begun = rows if start is None else np.asarray(start, self._dtype).reshape(rows.shape)
        u = batch.series(model.Input, "controls", controls, self._dtype, "aos")
        u = np.broadcast_to(u, (*states.shape[:-1], u.shape[2]) if states.ndim == 3 else u.shape)
        u = u.reshape(1, -1, u.shape[-1])
        w = batch.series(model.Disturbance, "disturbances", None, self._dtype, "aos")
        p = batch.parameters(model.Params, self.vehicle.params, params, self._dtype)
        out = np.empty((1, rows.shape[1], record.size(model.Outputs)), self._dtype)
        self._apply_outputs(rows, begun, u, w, p, out)
        return out.reshape(*states.shape[:-1], out.shape[2])

    def _apply_outputs(self, *arrays: Array) -> None:
        if self._outputs_kernel is None:
            program = pipeline.outputs_program(self.vehicle)
            self._outputs_kernel = pipeline.apply_kernel(program, self.precision, None)
        kernel, lanes = self._outputs_kernel
        *given, out = arrays
        count = out.shape[1]
        whole = [a if a.shape[1] in (1, count) else None for a in given]
        if any(a is None for a in whole):
            raise InvalidValue(f"arrays of {[a.shape[1] for a in given]} vehicles do not match")
        kept = [host.strided(a, lanes) for a in given]
        words = [word for _, described in kept for word in described] + list(host.writable(out))
        host.run(kernel, words, (), count, lanes, self.threads)


def positive_step(dt: float) -> float:
    """dt as a float; raises unless it is a finite number above 0, in s."""
    try:
        value = float(dt)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"dt = {dt!r} must be a number of seconds") from error
    if not (np.isfinite(value) and value > 0.0):
        raise InvalidValue(f"dt = {value} s must be finite and greater than 0")
    return value


def compiled_integrator(spec: str | Integrator) -> Integrator:
    """The integrator, if it is one that can be compiled."""
    method = integrate.get(spec)
    if method.name.startswith("scipy:"):
        raise InvalidValue(
            f"integrator = {method.name!r} runs in a Simulator only; a Fleet takes "
            + ", ".join(n for n in integrate.names() if not n.startswith("scipy:"))
        )
    return method


def _one_of(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    if value not in allowed:
        raise InvalidValue(f"{name} = {value!r} is unknown; allowed are {', '.join(map(str, allowed))}")


def _steps(steps: int | None, *series: Any) -> int:
    """The number of steps that `steps` and the arrays with a row per step agree on."""
    lengths = {len(given) for given in series if np.ndim(given) == 3}
    if steps is not None:
        lengths.add(steps)
    if not lengths:
        raise InvalidValue("held controls do not say how long to run: give steps=")
    if len(lengths) > 1 or min(lengths) < 1:
        listed = " and ".join(map(str, sorted(lengths)))
        raise InvalidValue(f"number of steps = {listed}: must be one number, at least 1")
    return lengths.pop()


def _only(array: Array, vehicle: int, begin: int, steps: int) -> Array:
    """One vehicle's rows of an array (step, vehicle, field), from step `begin` on."""
    column = array if array.shape[1] == 1 else array[:, vehicle : vehicle + 1]
    return column if column.shape[0] == 1 else column[begin : begin + steps]
