"""A vehicle in other libraries: CasADi expressions for MPC, JAX functions for learning.

The module contains no equation: it calls the model's own functions with the symbols or arrays of a
library. The entry points are `Vehicle.casadi`, in the forms that acados, do-mpc and Opti take, and
`Vehicle.jax`, whose functions work on flat arrays and can be differentiated and used with `jit`,
`vmap` and `scan`. JAX decides the precision: float32 unless
`jax.config.update("jax_enable_x64", True)` is called first. The functions compute in the precision
of their state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from .. import integrate
from ..compile.trace import explained
from ..core import record
from ..core.arrays import Array
from ..core.backends import inlined
from ..core.model import Model, Vehicle, port_kinds
from ..errors import InvalidValue, require
from ..integrate.base import Integrator, Update, flat_result, making_expressions


@dataclass(frozen=True, eq=False, repr=False)
class FlatModel:
    """Entry names of a vehicle's flat vectors, dotted where records are nested, and default
    values.
    """

    name: str
    """Name of the vehicle model."""
    x_names: tuple[str, ...]
    """Names of the states."""
    u_names: tuple[str, ...]
    """Names of the inputs."""
    w_names: tuple[str, ...]
    """Names of the disturbances; empty for a vehicle without disturbances."""
    p_names: tuple[str, ...]
    """Names of the parameters."""
    y_names: tuple[str, ...]
    """Names of the outputs."""
    w_values: Array
    """Neutral disturbance, (nw,). It is not all zeros: a factor is 1."""
    p_values: Array
    """Parameters of the vehicle, (np,)."""

    def __repr__(self) -> str:
        sizes = ", ".join(f"{len(getattr(self, f'{k}_names'))} {k}" for k in "xuwpy")
        return f"{type(self).__name__}({self.name!r}: {sizes})"

    def replaced(self, values: Mapping[str, Any]) -> list[Any]:
        """The default parameters as a list, with those named in `values` replaced."""
        flat: list[Any] = self.p_values.tolist()
        for name, value in values.items():
            if name not in self.p_names:
                raise InvalidValue(record.unknown_name("params", name, self.p_names))
            flat[self.p_names.index(name)] = value
        return flat


def flat_fields(vehicle: Vehicle) -> dict[str, Any]:
    """The fields of `FlatModel` for a vehicle."""
    model = vehicle.model
    calm = record.flatten(record.build(model.Disturbance))
    kinds = port_kinds(model) | {"y": model.Outputs}
    return {
        "name": vehicle.name,
        **{f"{port}_names": record.names(kind) for port, kind in kinds.items()},
        "w_values": np.array(calm, dtype=float),
        "p_values": np.array(record.flatten(vehicle.params), dtype=float),
    }


SX = Any
"""A column of CasADi's scalar symbolic type, which comes without annotations."""


@dataclass(frozen=True, eq=False, repr=False)
class CasadiModel(FlatModel):
    """Symbols and expressions of one vehicle, all columns.

    `f_expl`, `f_impl`, `f_disc` and `y` are expressions of the symbols `x`, `u`, `w`, `p`, `xdot`
    and `dt`. The methods evaluate them on numbers or on other symbols, such as variables of an
    `Opti` problem; if `w` or `p` is omitted, the vehicle's own values are used.
    """

    x: SX
    """State."""
    u: SX
    """Input."""
    w: SX
    """Disturbance."""
    p: SX
    """Parameters; `p_values` are their values."""
    xdot: SX
    """Time derivative of the state, a symbol for the implicit form."""
    dt: SX
    """Step in s."""
    f_expl: SX | None
    """Time derivative x' as an expression of x, u, w, p; None for a discrete model."""
    f_impl: SX | None
    """Implicit residual xdot - f_expl, zero along every motion; None for a discrete model."""
    f_disc: SX | None
    """Next state as an expression, after dt, in the model's sub-steps if it has some; None for a
    continuous model without an integrator.
    """
    residual: SX | None
    """Newton residual of `f_disc` (see `integrate.radau`); 0 for an explicit method."""
    y: SX
    """Outputs."""
    functions: Mapping[str, Any] = field(init=False)
    """The expressions as `casadi.Function`, for `map`, code generation and the like.

    `f_expl` and `outputs` of (x, u, w, p), `f_impl` of (x, xdot, u, w, p), `f_disc` of
    (x, u, w, p, dt).
    """

    def __post_init__(self) -> None:
        forms = {
            "f_expl": ("x u w p", {"xdot": self.f_expl}),
            "f_impl": ("x xdot u w p", {"zero": self.f_impl}),
            "f_disc": ("x u w p dt", {"x_next": self.f_disc, "residual": self.residual}),
            "outputs": ("x u w p", {"y": self.y}),
        }
        functions = {
            name: _function(name, {i: getattr(self, i) for i in inputs.split()}, results)
            for name, (inputs, results) in forms.items()
            if None not in results.values()
        }
        object.__setattr__(self, "functions", functions)

    def derivative(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """Time derivative x' of the state at a state and input."""
        return self._named("f_expl")(x, u, *self._defaults(w, p))

    def step(self, x: Any, u: Any, dt: Any, w: Any = None, p: Any = None) -> Any:
        """The state after dt seconds with the input held."""
        return self._named("f_disc")(x, u, *self._defaults(w, p), dt)[0]

    def outputs(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """The outputs at a state and input, in the order of `y_names`."""
        return self._named("outputs")(x, u, *self._defaults(w, p))

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """The parameter column with some values replaced by numbers or symbols."""
        return ca.vertcat(*self.replaced(values))

    def _defaults(self, w: Any, p: Any) -> tuple[Any, Any]:
        return self.w_values if w is None else w, self.p_values if p is None else p

    def _named(self, name: str) -> Any:
        if name in self.functions:
            return self.functions[name]
        if name == "f_disc":
            hint = 'name an integrator, as in vehicle.casadi(integrator="rk4")'
        else:
            hint = "it is a discrete model, which has step"
        raise InvalidValue(f"the CasADi model of {self.name!r} has no {name}; {hint}")


def casadi_model(vehicle: Vehicle, integrator: str | Integrator | None = None) -> CasadiModel:
    """Return the vehicle as CasADi expressions; with an integrator also its discrete step.

    They are plain expressions, as acados and do-mpc take them: called functions are inlined.
    """
    with inlined():
        return expressions(vehicle, integrator)


@making_expressions()
def expressions(vehicle: Vehicle, integrator: str | Integrator | None = None) -> CasadiModel:
    """Like `casadi_model`, but functions that a tracer handles as calls remain calls.

    See `skidpad.core.backends`.
    """
    model = vehicle.model
    kinds = port_kinds(model)
    symbols = {name: _symbols(name, kind) for name, kind in kinds.items()}
    records = [
        record.unflatten(kind, ca.vertsplit(symbols[name]) if symbols[name].numel() else [])
        for name, kind in kinds.items()
    ]
    xdot, dt = _symbols("xdot", model.State), ca.SX.sym("dt")
    f_expl, f_disc, residual = None, None, None
    with explained(model.name):
        if model.continuous:
            f_expl = _column(flat_result(model, "derivative", vehicle.derivative(*records)))
        if integrator is not None or not model.continuous:
            f_disc, residual = _step(model, _compiled(integrator or "euler"), records, dt)
        y = _column(flat_result(model, "outputs", vehicle.outputs(*records)))
    return CasadiModel(
        **flat_fields(vehicle),
        **symbols,
        xdot=xdot,
        dt=dt,
        f_expl=f_expl,
        f_impl=None if f_expl is None else xdot - f_expl,
        f_disc=f_disc,
        residual=residual,
        y=y,
    )


def _step(model: Model, method: Integrator, records: Sequence[Any], dt: SX) -> tuple[SX, SX]:
    """State after dt in the model's sub-steps (mostly one), and the largest residual of these."""
    start, *rest = records
    update = integrate.discretise(model, method)
    state, residual = start, ca.SX(0)
    for _ in range(model.substeps):
        state, left = update(state, *rest, dt / model.substeps, start)
        residual = ca.fmax(residual, left)
    return _column(record.flatten(state)), residual


def _compiled(spec: str | Integrator) -> Integrator:
    method = integrate.get(spec)
    if method.adaptive:
        raise InvalidValue(
            f"integrator = {method.name!r} chooses its steps by the numbers it meets, so it is no "
            "expression; allowed are "
            + ", ".join(n for n in integrate.names() if not n.startswith("scipy:"))
        )
    return method


def _symbols(name: str, kind: type) -> SX:
    """A column of symbols with the names of the record, without dots, for generated code."""
    names = (
        f"{leaf}_dot" if name == "xdot" else leaf.replace(".", "_") for leaf in record.names(kind)
    )
    return _stacked(map(ca.SX.sym, names))


def _column(leaves: Iterable[Any]) -> SX:
    return _stacked(ca.SX(value) for value in leaves)


def _stacked(values: Iterable[SX]) -> SX:
    # The empty column makes the result symbolic, (0, 1), where there are no values.
    return ca.vertcat(ca.SX(0, 1), *values)


def _function(name: str, inputs: Mapping[str, SX], results: Mapping[str, SX]) -> Any:
    values = list(inputs.values()), list(results.values())
    return ca.Function(name, *values, list(inputs), list(results), {"cse": True})


@dataclass(frozen=True, eq=False, repr=False)
class JaxModel(FlatModel):
    """One vehicle as pure functions of JAX arrays: state (nx,), input (nu,), parameters (np,).

    If `w` or `p` is None, the vehicle's own values are used. To differentiate with respect to
    parameters, pass `p`; see `parameters`.
    """

    vehicle: Vehicle
    integrator: Integrator
    update: Update
    """The step over records, from `integrate.discretise`."""
    numpy: Any
    fori_loop: Any

    def derivative(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """Time derivative x' of the state at a state and input, (nx,)."""
        records = self._records(x, u, w, p)
        rates = self.vehicle.derivative(*records)
        return self._flat(flat_result(self.vehicle.model, "derivative", rates))

    def step(self, x: Any, u: Any, dt: Any, w: Any = None, p: Any = None) -> Any:
        """The state after dt seconds with the input held, (nx,), in the model's sub-steps."""
        start, *rest = self._records(x, u, w, p)
        many = self.vehicle.model.substeps

        def once(_: Any, state: Any) -> Any:
            return self.update(state, *rest, dt / many, start)[0]

        # A loop keeps the compiled code as small as for one sub-step.
        end = once(0, start) if many == 1 else self.fori_loop(0, many, once, start)
        return self._flat(record.flatten(end))

    def outputs(self, x: Any, u: Any, w: Any = None, p: Any = None) -> Any:
        """The outputs at a state and input, in the order of `y_names`."""
        records = self._records(x, u, w, p)
        y = self.vehicle.outputs(*records)
        return self._flat(flat_result(self.vehicle.model, "outputs", y))

    def parameters(self, values: Mapping[str, Any]) -> Any:
        """The parameter vector with some values replaced, also by traced ones."""
        return self.numpy.stack([self.numpy.asarray(v) for v in self.replaced(values)])

    def _records(self, x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        values = (x, u, self.w_values if w is None else w, self.p_values if p is None else p)
        kinds, precision = port_kinds(self.vehicle.model), self.numpy.result_type(x, float)
        pairs = zip(kinds.items(), values, strict=True)
        return [self._record(name, kind, flat, precision) for (name, kind), flat in pairs]

    def _record(self, name: str, kind: type, values: Any, precision: Any) -> Any:
        flat = self.numpy.asarray(values, dtype=precision)
        if flat.shape != (record.size(kind),):
            raise InvalidValue(
                f"{name} has shape {flat.shape}; expected ({record.size(kind)},) with fields "
                f"{', '.join(record.names(kind)) or 'none'}. For many vehicles use jax.vmap"
            )
        # Replace all entries by one operation: indexing each doubled the compile time of a
        # gradient.
        return record.unflatten(kind, list(self.numpy.unstack(flat)))

    def _flat(self, leaves: Any) -> Any:
        return self.numpy.stack([self.numpy.asarray(leaf) for leaf in leaves])


def jax_model(vehicle: Vehicle, integrator: str | Integrator = "rk4") -> JaxModel:
    """Return the vehicle as JAX functions; its step uses an explicit integrator."""
    numpy = require("jax.numpy", purpose="Vehicle.jax")
    method = integrate.get(integrator)
    if method.implicit or method.adaptive:
        known = ((name, integrate.get(name)) for name in integrate.names())
        explicit = [name for name, one in known if not (one.implicit or one.adaptive)]
        raise InvalidValue(
            f"integrator = {method.name!r} does not run in JAX: implicit and adaptive methods work "
            "on traced or plain numbers only; allowed are " + ", ".join(explicit)
        )
    return JaxModel(
        **flat_fields(vehicle),
        vehicle=vehicle,
        integrator=method,
        update=integrate.discretise(vehicle.model, method),
        numpy=numpy,
        fori_loop=require("jax.lax", purpose="Vehicle.jax").fori_loop,
    )
